#pragma once

#include "elf/image.h"

namespace gosym::elf {

// Whether the instruction before an address is a call, as it is before a return address. Also
// true where the machine is not known, or the file has no code there to look at.
bool may_follow_call(const Image& image, ImageAddress address);

}  // namespace gosym::elf
