#pragma once

#include <cstdint>
#include <vector>

namespace gosym::proc {

// Bytes that the kernel may need to save the state of the FPU for a signal handler, the usual
// number first, at most `limit` numbers. None for machines other than x86-64.
std::vector<uint32_t> fpu_state_sizes(size_t limit);

}  // namespace gosym::proc
