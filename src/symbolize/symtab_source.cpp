#include <algorithm>

#include "elf/minidebuginfo.h"
#include "elf/plt.h"
#include "elf/symbol_table.h"
#include "symbolize/sources.h"

namespace gosym {

namespace {

class SymtabSource final : public SymbolSource {
public:
  // `storage` is what the table borrows from, where that is not the image.
  SymtabSource(FrameSource kind, elf::SymbolTable table, std::vector<std::byte> storage)
      : kind_(kind), storage_(std::move(storage)), table_(std::move(table)) {}

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
  std::vector<std::byte> storage_;
  elf::SymbolTable table_;
};

// Its stubs are no functions of the image: it lists none.
class PltSource final : public SymbolSource {
public:
  explicit PltSource(std::vector<elf::PltStub> stubs) : stubs_(std::move(stubs)) {}

  FrameSource kind() const override { return FrameSource::kPlt; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    auto next = std::ranges::upper_bound(stubs_, address, {}, &elf::PltStub::address);
    if (next == stubs_.begin())
      return false;
    const elf::PltStub& stub = *std::prev(next);
    if (to_integer(address) - to_integer(stub.address) >= stub.size)
      return false;
    calls.push_back({.function = stub.name, .file = {}});
    return true;
  }

  void list(std::vector<FunctionRange>&) override {}

private:
  std::vector<elf::PltStub> stubs_;
};

std::unique_ptr<SymbolSource> open(const elf::Image& image, uint32_t section_type,
                                   FrameSource kind, std::vector<std::byte> storage = {}) {
  const elf::Section* section = image.find_section(section_type);
  if (!section)
    return nullptr;
  auto table = elf::SymbolTable::read(image, *section);
  if (table.functions().empty() && table.labels().empty())
    return nullptr;
  return std::make_unique<SymtabSource>(kind, std::move(table), std::move(storage));
}

}  // namespace

std::unique_ptr<SymbolSource> open_symtab_source(const elf::Image& image) {
  return open(image, SHT_SYMTAB, FrameSource::kSymtab);
}

std::unique_ptr<SymbolSource> open_dynsym_source(const elf::Image& image) {
  return open(image, SHT_DYNSYM, FrameSource::kDynsym);
}

Result<std::unique_ptr<SymbolSource>> open_minidebuginfo_source(const elf::Image& image) {
  auto section = image.contents(".gnu_debugdata");
  if (!section)
    return std::unique_ptr<SymbolSource>();
  auto unpacked = elf::unpack_minidebuginfo(*section);
  if (!unpacked)
    return std::move(unpacked).error().context(".gnu_debugdata");
  auto unpacked_image = elf::parse(*unpacked);
  if (!unpacked_image)
    return std::move(unpacked_image).error().context(".gnu_debugdata");
  return open(*unpacked_image, SHT_SYMTAB, FrameSource::kMiniDebugInfo, *std::move(unpacked));
}

std::unique_ptr<SymbolSource> open_plt_source(const elf::Image& image) {
  auto stubs = elf::read_plt(image);
  return stubs.empty() ? nullptr : std::make_unique<PltSource>(std::move(stubs));
}

}  // namespace gosym
