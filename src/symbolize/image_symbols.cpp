#include "symbolize/image_symbols.h"

#include <algorithm>

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
  if (symbols->go_module_)
    symbols->sources_.push_back(open_pclntab_source(*symbols->go_module_));

  auto symtab = open_symtab_source(symbols->image_);
  if (!symtab) {
    auto debug_file = open_debug_file(symbols->image_, path, options);
    if (!debug_file)
      symbols->add_problem(debug_file.error().message());
    else if (*debug_file)
      symtab = open_symtab_source((symbols->debug_file_ = **std::move(debug_file))->image);
  }
  if (symtab)
    symbols->sources_.push_back(std::move(symtab));
  if (auto dynsym = open_dynsym_source(symbols->image_))
    symbols->sources_.push_back(std::move(dynsym));
  return symbols;
}

void ImageSymbols::add_problem(std::string problem) {
  problem_ += (problem_.empty() ? "" : "; ") + std::move(problem);
}

std::optional<FrameSource> ImageSymbols::find(ImageAddress address,
                                              std::vector<Call>& calls) const {
  for (const auto& source : sources_)
    if (source->find(address, calls))
      return source->kind();
  return std::nullopt;
}

std::vector<FunctionRange> ImageSymbols::functions() const {
  std::vector<FunctionRange> result;
  for (const auto& source : sources_) {
    std::vector<FunctionRange> listed;
    source->list(listed);
    std::vector<Call> calls;
    for (const FunctionRange& function : listed)
      if (find(function.address, calls) == source->kind())
        result.push_back(function);
  }
  std::ranges::stable_sort(result, {}, &FunctionRange::address);
  return result;
}

bool ImageSymbols::has_code_names() const {
  auto is_symtab = [](const auto& source) { return source->kind() == FrameSource::kSymtab; };
  return go_module_ || std::ranges::any_of(sources_, is_symtab);
}

}  // namespace gosym
