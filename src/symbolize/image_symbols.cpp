#include "symbolize/image_symbols.h"

#include <algorithm>

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
  for (auto* open_source : {open_symtab_source, open_dynsym_source, open_plt_source})
    if (auto source = open_source(symbols->image_))
      symbols->sources_.push_back(std::move(source));
  return symbols;
}

std::optional<FrameSource> ImageSymbols::find(ImageAddress address,
                                              std::vector<Call>& calls) const {
  for (const auto& source : sources_)
    if (source->find(address, calls))
      return source->kind();
  for (const auto& source : sources_)
    if (source->guess(address, calls))
      return FrameSource::kLabel;
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
