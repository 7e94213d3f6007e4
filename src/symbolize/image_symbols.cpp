#include "symbolize/image_symbols.h"

#include <algorithm>

#include "elf/kind.h"
#include "symbolize/sources.h"

namespace gosym {

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(const std::string& path,
                                                         const DebugFileOptions& options) {
  auto file = MappedFile::open(path, options.symfs);
  if (!file)
    return std::move(file).error();
  return open(*std::move(file), path, options);
}

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(std::unique_ptr<MappedFile> file,
                                                         const std::string& path,
                                                         const DebugFileOptions& options) {
  auto image = elf::parse(file->bytes());
  if (!image)
    return std::move(image).error();
  std::unique_ptr<ImageSymbols> symbols(new ImageSymbols);
  symbols->file_ = std::move(file);
  symbols->image_ = *std::move(image);

  auto module = go::read_module(symbols->image_, symbols->file_->writable_bytes());
  if (!module)
    symbols->add_problem(std::move(module).error().context("Go function table").message());
  else
    symbols->go_module_ = *std::move(module);
  symbols->find_debug_files(path, options);
  symbols->open_sources();
  return symbols;
}

void ImageSymbols::find_debug_files(const std::string& path, const DebugFileOptions& options) {
  bool has_dwarf = elf::kind_of(image_).has_dwarf;
  if (!has_dwarf) {
    auto file = open_debug_file(image_, path, options);
    if (!file)
      return add_problem(file.error().message());
    debug_file_ = *std::move(file);
    if (!debug_file_)
      return;
  }
  auto alternate = has_dwarf
                       ? open_alternate_file(image_, path, options)
                       : open_alternate_file(debug_file_->image, debug_file_->path, options);
  if (!alternate)
    return add_problem(alternate.error().message());
  alternate_file_ = *std::move(alternate);
}

void ImageSymbols::open_sources() {
  if (go_module_)
    sources_.push_back(open_pclntab_source(*go_module_));
  const elf::Image& dwarf_image = debug_file_ ? debug_file_->image : image_;
  if (elf::kind_of(dwarf_image).has_dwarf) {
    Bytes alternate = alternate_file_ ? alternate_file_->image.file : Bytes{};
    auto dwarf = std::make_unique<DwarfSource>(dwarf_image, alternate);
    dwarf_ = dwarf.get();
    sources_.push_back(std::move(dwarf));
  }
  auto symtab = open_symtab_source(image_);
  if (!symtab && debug_file_)
    symtab = open_symtab_source(debug_file_->image);
  if (symtab) {
    symtab_ = symtab.get();
    sources_.push_back(std::move(symtab));
  }
  if (auto dynsym = open_dynsym_source(image_))
    sources_.push_back(std::move(dynsym));
}

void ImageSymbols::add_problem(std::string problem) {
  problem_ += (problem_.empty() ? "" : "; ") + std::move(problem);
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
  return std::nullopt;
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
