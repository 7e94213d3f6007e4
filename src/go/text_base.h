#pragma once

#include "elf/image.h"
#include "go/pclntab.h"

namespace gosym::go {

// Derives the address of the code of a table of offsets, if nothing in the file tells: from Go
// 1.26 on only moduledata has it.
//
// The linker fills the space between functions with one and the same byte, up to a multiple of
// the alignment of functions. So of all places in the executable segments the code can only lie
// where each gap of the table falls onto such filling. The answer is none unless there is just
// one such place; and unless it agrees with the ELF entry point, where that is Go's own.
std::optional<ImageAddress> derive_text_base(const elf::Image& image, const Pclntab& table);

}  // namespace gosym::go
