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

  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    for (uint32_t i = first_function(begin); i < module_.table.function_count(); i++) {
      auto entry = module_.address_of(module_.table.entry(i));
      auto next = module_.address_of(module_.table.entry(i + 1));
      if (entry && to_integer(*entry) >= end)
        return;
      for (auto place : {entry, next})
        if (place)
          edges.push_back(to_integer(*place));
      if (auto function = module_.table.function(i); function && entry)
        add_rows(*function, to_integer(*entry), end, edges);
    }
  }

private:
  // The function that holds the address; of one before or between all code the next.
  uint32_t first_function(uint64_t address) const {
    uint32_t low = 0;
    uint32_t high = module_.table.function_count();
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      auto next = module_.address_of(module_.table.entry(middle + 1));
      if (next && to_integer(*next) <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  void add_rows(const go::Function& function, uint64_t entry, uint64_t end,
                std::vector<uint64_t>& edges) const {
    auto indices = go::inline_index_table(module_.table, function);
    for (uint32_t table : {function.pcfile, function.pcln, indices.value_or(0)}) {
      if (table == 0)
        continue;
      auto rows = module_.table.rows(table);
      uint64_t size = function.end - function.entry;
      for (auto row = rows.next(); row && row->begin < size && entry + row->begin < end;
           row = rows.next())
        edges.insert(edges.end(), {entry + row->begin, entry + row->end});
    }
  }

  const go::Module& module_;
  go::CallWalk walk_;
};

}  // namespace

std::unique_ptr<SymbolSource> open_pclntab_source(const go::Module& module) {
  return std::make_unique<PclntabSource>(module);
}

}  // namespace gosym
