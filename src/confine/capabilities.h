#pragma once

#include <cstdint>

// Capabilities of this thread, a bit each, as <linux/capability.h> numbers them.

namespace gosym {

uint64_t permitted_capabilities();
bool set_capabilities(uint64_t permitted, uint64_t effective);

// Gives up, for good, all but these, and what programs that are executed would get of them.
// CAP_SYS_ADMIN is kept where it stands for one of these.
void keep_capabilities(uint64_t kept);

}  // namespace gosym
