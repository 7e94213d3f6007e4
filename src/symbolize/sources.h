#pragma once

#include <memory>

#include "elf/image.h"
#include "go/module.h"
#include "symbolize/symbol_source.h"

namespace gosym {

// Each opens one source of an image or of its Go module, which it borrows; null if the image
// has none of that kind. Those of .dynsym and of stubs are there always, and read when asked.
std::unique_ptr<SymbolSource> open_pclntab_source(const go::Module& module);
std::unique_ptr<SymbolSource> open_symtab_source(const elf::Image& image);
std::unique_ptr<SymbolSource> open_dynsym_source(const elf::Image& image);
// Fails if the image has MiniDebugInfo that cannot be read.
Result<std::unique_ptr<SymbolSource>> open_minidebuginfo_source(const elf::Image& image);
std::unique_ptr<SymbolSource> open_plt_source(const elf::Image& image);

}  // namespace gosym
