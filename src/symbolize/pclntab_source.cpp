#include "go/inline_tree.h"
#include "symbolize/sources.h"

namespace gosym {

namespace {

class PclntabSource final : public SymbolSource {
public:
  explicit PclntabSource(const go::Module& module) : module_(module) {}

  FrameSource kind() const override {
    return module_.text_base == go::TextBase::kDerived ? FrameSource::kPclntabDerived
                                                       : FrameSource::kPclntab;
  }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    return go::find_calls(module_, address, calls, walk_);
  }

  void list(std::vector<FunctionRange>& functions) override {
    std::vector<Call> calls;
    functions.reserve(functions.size() + module_.table.function_count());
    for (uint32_t i = 0; i < module_.table.function_count(); i++) {
      auto function = module_.table.function(i);
      auto address = module_.address_of(module_.table.entry(i));
      calls.clear();
      if (!function || !address ||
          !go::find_calls(module_, *function, function->entry, calls, walk_))
        continue;
      const Call& call = calls.back();  // what was inlined at its entry comes before
      functions.push_back({*address, go::code_size(module_.table, *function), call.function,
                           call.file, call.start_line == 0 ? call.line : call.start_line});
    }
  }

private:
  const go::Module& module_;
  go::CallWalk walk_;
};

}  // namespace

std::unique_ptr<SymbolSource> open_pclntab_source(const go::Module& module) {
  return std::make_unique<PclntabSource>(module);
}

}  // namespace gosym
