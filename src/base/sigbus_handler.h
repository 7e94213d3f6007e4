#pragma once

#include <cstdint>

namespace gosym {

// A mapped file may be cut short by whoever else may write it, or its disk may fail, and the
// kernel then ends those who look at what is gone (SIGBUS). After this call it reads as zeros
// instead.
void install_sigbus_handler();

// The number of pages that were gone when they were read: the data read there is wrong.
uint64_t cut_page_count();

}  // namespace gosym
