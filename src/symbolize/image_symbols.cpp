#include "symbolize/image_symbols.h"

#include <algorithm>

#include "elf/kind.h"
#include "symbolize/sources.h"

namespace gosym {

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file)
    return std::move(file).error();
  return open(*std::move(file));
}

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(std::unique_ptr<MappedFile> file) {
  auto image = elf::parse(file->bytes());
  if (!image)
    return std::move(image).error();
  std::unique_ptr<ImageSymbols> symbols(new ImageSymbols);
  symbols->file_ = std::move(file);
  symbols->image_ = *std::move(image);

  auto module = go::read_module(symbols->image_, symbols->file_->writable_bytes());
  if (!module)
    symbols->problem_ = std::move(module).error().context("Go function table").message();
  else
    symbols->go_module_ = *std::move(module);
  if (symbols->go_module_)
    symbols->sources_.push_back(open_pclntab_source(*symbols->go_module_));
  if (elf::kind_of(symbols->image_).has_dwarf) {
    auto dwarf = std::make_unique<DwarfSource>(symbols->image_, Bytes{});
    symbols->dwarf_ = dwarf.get();
    symbols->sources_.push_back(std::move(dwarf));
  }
  if (auto symtab = open_symtab_source(symbols->image_)) {
    symbols->symtab_ = symtab.get();
    symbols->sources_.push_back(std::move(symtab));
  }
  if (auto dynsym = open_dynsym_source(symbols->image_))
    symbols->sources_.push_back(std::move(dynsym));
  return symbols;
}

namespace {

// Assembly has lines, although no function of a language with a compiler.
void set_position(const dwarf::Position& position, Call& call) {
  call.file = position.file;
  call.line = position.line;
}

}  // namespace

std::optional<FrameSource> ImageSymbols::find(ImageAddress address,
                                              std::vector<Call>& calls) const {
  for (const auto& source : sources_) {
    if (!source->find(address, calls))
      continue;
    FrameSource kind = source->kind();
    if (kind == FrameSource::kDwarf)
      name_by_symbol(address, calls.back());
    else if (dwarf_ && (kind == FrameSource::kSymtab || kind == FrameSource::kDynsym))
      set_position(dwarf_->find_position(address), calls.back());
    return kind;
  }
  if (!may_guess(address))
    return std::nullopt;
  for (const auto& source : sources_)
    if (source->guess(address, calls)) {
      if (dwarf_)
        set_position(dwarf_->find_position(address), calls.back());
      return FrameSource::kLabel;
    }
  return std::nullopt;
}

// A few labels of C that survived in a Go program say nothing of the code of Go.
bool ImageSymbols::may_guess(ImageAddress address) const {
  if (!go_module_)
    return problem_.empty();
  auto pc = go_module_->pc_of(address);
  return !pc || !go_module_->table.find(*pc);
}

// Debugging information has the plain names of some constructors and of parts that the compiler
// split off; the linker's tell them apart.
void ImageSymbols::name_by_symbol(ImageAddress address, Call& call) const {
  std::vector<Call> symbol;
  if (symtab_ && symtab_->find(address, symbol))
    call.function = symbol.back().function;
}

std::vector<FunctionRange> ImageSymbols::functions() const {
  std::vector<FunctionRange> result;
  std::vector<SymbolSource*> better;  // that have listed theirs
  std::vector<Call> calls;
  for (const auto& source : sources_) {
    std::vector<FunctionRange> listed;
    source->list(listed);
    for (const FunctionRange& function : listed) {
      auto knows = [&](SymbolSource* other) { return other->find(function.address, calls); };
      if (std::ranges::none_of(better, knows))
        result.push_back(function);
    }
    if (!listed.empty())
      better.push_back(source.get());
  }
  std::ranges::stable_sort(result, {}, &FunctionRange::address);
  return result;
}

bool ImageSymbols::has_code_names() const {
  return go_module_ || dwarf_ || symtab_;
}

}  // namespace gosym
