#include "elf/symbol_table.h"
#include "symbolize/sources.h"

namespace gosym {

namespace {

class SymtabSource final : public SymbolSource {
public:
  SymtabSource(FrameSource kind, elf::SymbolTable table)
      : kind_(kind), table_(std::move(table)) {}

  FrameSource kind() const override { return kind_; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    auto symbol = table_.find(address);
    if (!symbol)
      return false;
    calls.push_back({.function = symbol->name, .file = {}});
    return true;
  }

  bool guess(ImageAddress address, std::vector<Call>& calls) override {
    auto label = table_.guess(address);
    if (!label)
      return false;
    calls.push_back({.function = label->name, .file = {}});
    return true;
  }

  void list(std::vector<FunctionRange>& functions) override {
    for (const elf::Symbol& symbol : table_.functions())
      functions.push_back({symbol.address, symbol.size, symbol.name, {}, 0});
  }

private:
  FrameSource kind_;
  elf::SymbolTable table_;
};

std::unique_ptr<SymbolSource> open(const elf::Image& image, uint32_t section_type,
                                   FrameSource kind) {
  const elf::Section* section = image.find_section(section_type);
  if (!section)
    return nullptr;
  auto table = elf::SymbolTable::read(image, *section);
  if (table.functions().empty() && table.labels().empty())
    return nullptr;
  return std::make_unique<SymtabSource>(kind, std::move(table));
}

}  // namespace

std::unique_ptr<SymbolSource> open_symtab_source(const elf::Image& image) {
  return open(image, SHT_SYMTAB, FrameSource::kSymtab);
}

std::unique_ptr<SymbolSource> open_dynsym_source(const elf::Image& image) {
  return open(image, SHT_DYNSYM, FrameSource::kDynsym);
}

}  // namespace gosym
