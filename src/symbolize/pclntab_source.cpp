#include "go/module.h"
#include "symbolize/sources.h"

namespace gosym {

namespace {

class PclntabSource final : public SymbolSource {
public:
  explicit PclntabSource(go::Module module) : module_(std::move(module)) {}

  FrameSource kind() const override { return FrameSource::kPclntab; }

  bool find(ImageAddress address, std::vector<Call>& calls) const override {
    return go::find_calls(module_, address, calls);
  }

  void list(std::vector<FunctionRange>& functions) const override {
    std::vector<Call> calls;
    for (uint32_t i = 0; i < module_.table.function_count(); i++) {
      ImageAddress entry{to_integer(module_.text) + module_.table.entry(i)};
      calls.clear();
      if (!find(entry, calls))
        continue;
      const Call& function = calls.back();  // what was inlined at its entry comes before
      functions.push_back({entry, go::code_size(module_.table, i), function.function,
                           function.file,
                           function.start_line == 0 ? function.line : function.start_line});
    }
  }

private:
  go::Module module_;
};

}  // namespace

Result<std::unique_ptr<SymbolSource>> open_pclntab_source(const elf::Image& image) {
  auto module = go::read_module(image);
  if (!module)
    return std::move(module).error().context("Go function table");
  std::unique_ptr<SymbolSource> source;
  if (*module)
    source = std::make_unique<PclntabSource>(std::move(**module));
  return source;
}

}  // namespace gosym
