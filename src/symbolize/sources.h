#pragma once

#include <memory>

#include "base/result.h"
#include "elf/image.h"
#include "symbolize/symbol_source.h"

namespace gosym {

// Each opens one source of an image, which it borrows; null if the image has none of that kind.
Result<std::unique_ptr<SymbolSource>> open_pclntab_source(const elf::Image& image);
std::unique_ptr<SymbolSource> open_symtab_source(const elf::Image& image);
std::unique_ptr<SymbolSource> open_dynsym_source(const elf::Image& image);

}  // namespace gosym
