#pragma once

#include "elf/image.h"

namespace gosym::elf {

// Puts into a position-independent image the words that the dynamic linker would, for a load
// address of zero, so that what they point to can be found as in any other image. Words that
// already are what they should be are left alone, and so are their pages.
//
// The table of DT_RELA has DT_RELASZ bytes, that of DT_REL DT_RELSZ:
//
//   word offset   the address that is relocated
//   word info     64-bit: u32 type, u32 symbol (the upper half); 32-bit: u8 type, u24 symbol
//   word addend   in RELA only; in REL it is what lies at the address
//
// Two kinds put a pointer into data: RELATIVE (load address + addend) and the plain symbol of
// a word's width (value of the symbol + addend). Linkers that write RELA may leave the words
// themselves zero, as lld does. RELR needs nothing: its addends are in place.
//
// `file` are the bytes of `image`, private to us. What would lie outside of them is skipped.
// False if nothing had to be changed.
bool relocate(const Image& image, std::span<std::byte> file);

}  // namespace gosym::elf
