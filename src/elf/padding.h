#pragma once

#include "elf/image.h"

namespace gosym::elf {

// Bytes of `size` bytes of code from an address on that lie before the first place where a
// function seems to end: a return or a jump, and behind it nothing but what aligns the next to
// 16 bytes. All of it if there is no such place, or for machines other than x86.
uint64_t size_up_to_padding(const Image& image, ImageAddress address, uint64_t size);

// True if there is nothing from the address on but what aligns the next function to 16 bytes.
// False for machines other than x86, and where nothing has to be aligned.
bool is_padding(const Image& image, ImageAddress address);

}  // namespace gosym::elf
