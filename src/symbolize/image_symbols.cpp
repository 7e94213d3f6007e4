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

  auto pclntab = open_pclntab_source(symbols->image_);
  if (!pclntab)
    symbols->problem_ = pclntab.error().message();
  else if (*pclntab)
    symbols->sources_.push_back(*std::move(pclntab));
  for (auto* open_source : {open_symtab_source, open_dynsym_source})
    if (auto source = open_source(symbols->image_))
      symbols->sources_.push_back(std::move(source));
  return symbols;
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

bool ImageSymbols::has_source(FrameSource kind) const {
  for (const auto& source : sources_)
    if (source->kind() == kind)
      return true;
  return false;
}

bool ImageSymbols::has_code_names() const {
  return has_source(FrameSource::kPclntab) || has_source(FrameSource::kSymtab);
}

}  // namespace gosym
