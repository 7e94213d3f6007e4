#include <algorithm>
#include <utility>

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

  std::optional<FunctionRange> guess(ImageAddress address) override {
    auto label = table_.guess(address);
    if (!label)
      return std::nullopt;
    return FunctionRange{label->address, label->size, label->name, {}, 0};
  }

  void list(std::vector<FunctionRange>& functions) override {
    for (const elf::Symbol& symbol : table_.functions())
      functions.push_back({symbol.address, symbol.size, symbol.name, {}, 0});
  }

  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    table_.add_edges(begin, end, edges);
  }

private:
  FrameSource kind_;
  std::vector<std::byte> storage_;
  elf::SymbolTable table_;
};

// A source that is read when it is asked. Where there is a better one it may never be, and the
// exported symbols alone of a program of 75 MB take 30 ms to read.
class LazySource final : public SymbolSource {
public:
  using Open = std::unique_ptr<SymbolSource>(const elf::Image&);

  LazySource(const elf::Image& image, FrameSource kind, Open* open)
      : image_(image), kind_(kind), open_(open) {}

  FrameSource kind() const override { return kind_; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    return source() && source()->find(address, calls);
  }
  std::optional<FunctionRange> guess(ImageAddress address) override {
    return source() ? source()->guess(address) : std::nullopt;
  }
  void list(std::vector<FunctionRange>& functions) override {
    if (source())
      source()->list(functions);
  }
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    if (source())
      source()->add_edges(begin, end, edges);
  }

private:
  SymbolSource* source() {
    if (open_)
      source_ = std::exchange(open_, nullptr)(image_);
    return source_.get();
  }

  const elf::Image& image_;
  FrameSource kind_;
  Open* open_;  // null once it has been called
  std::unique_ptr<SymbolSource> source_;
};

// Its stubs are no functions of the image: it lists none.
class PltSource final : public SymbolSource {
public:
  explicit PltSource(std::vector<elf::PltStub> stubs) : stubs_(std::move(stubs)) {}

  FrameSource kind() const override { return FrameSource::kPlt; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    // The last stub that begins at the address or before; there may be gaps behind it.
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

  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    for (const elf::PltStub& stub : stubs_)
      if (to_integer(stub.address) < end && to_integer(stub.address) + stub.size > begin)
        edges.insert(edges.end(),
                     {to_integer(stub.address), to_integer(stub.address) + stub.size});
  }

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
  auto read = [](const elf::Image& from) {
    return open(from, SHT_DYNSYM, FrameSource::kDynsym);
  };
  return std::make_unique<LazySource>(image, FrameSource::kDynsym, read);
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
  auto read = [](const elf::Image& from) -> std::unique_ptr<SymbolSource> {
    return std::make_unique<PltSource>(elf::read_plt(from));
  };
  return std::make_unique<LazySource>(image, FrameSource::kPlt, read);
}

}  // namespace gosym
