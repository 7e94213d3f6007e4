#pragma once

#include <linux/capability.h>

#include <cstdint>

// Capabilities of this thread, a bit each, as <linux/capability.h> numbers them.

namespace gosym {

// Before these were told apart, and where they are not given by name, they are parts of
// CAP_SYS_ADMIN.
inline constexpr uint64_t kPartsOfAdmin =
    uint64_t{1} << CAP_BPF | uint64_t{1} << CAP_PERFMON | uint64_t{1} << CAP_CHECKPOINT_RESTORE;

uint64_t permitted_capabilities();
bool set_capabilities(uint64_t permitted, uint64_t effective);

// Gives up, for good, all but these, and what programs that are executed would get of them.
// CAP_SYS_ADMIN is kept where it stands for one of these.
void keep_capabilities(uint64_t kept);

}  // namespace gosym
