#include "commands/inspect/function_view.h"

#include <cassert>
#include <map>

#include "go/function_kind.h"
#include "go/table_names.h"

namespace gosym {

namespace {

// Functions have five pcdata at the most up to Go 1.27. A record that says more is damaged.
constexpr uint32_t kMaxPcdata = 16;

std::string_view kind_name(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::kNormal:
      return "normal";
    case FunctionKind::kWrapper:
      return "wrapper";
    case FunctionKind::kPanic:
      return "panic";
    case FunctionKind::kSigpanic:
      return "sigpanic";
    case FunctionKind::kInjected:
      return "injected";
  }
  assert(false);
  return {};
}

// "0x5 (root of a stack, assembly)"
std::string flags_text(uint8_t flags) {
  static constexpr std::pair<uint8_t, std::string_view> kFlags[] = {
      {1, "root of a stack"}, {2, "sets SP freely"}, {4, "assembly"}};
  std::string names;
  for (const auto& [bit, name] : kFlags)
    if ((flags & bit) != 0)
      names += fmt::format("{}{}", names.empty() ? " (" : ", ", name);
  return fmt::format("{:#x}{}{}", flags, names, names.empty() ? "" : ")");
}

std::string_view file_at_entry(const go::Pclntab& table, const go::Function& function) {
  auto number = table.value(function, function.pcfile, function.entry);
  return number ? table.file(function, *number) : std::string_view();
}

// The fields of the record that the format has, in their order.
class Fields {
public:
  void count(std::string_view name, uint64_t value) {
    fields.push_back({name, value, fmt::format("{}", value)});
  }
  void offset(std::string_view name, uint64_t value) {
    fields.push_back({name, value, fmt::format("{:#x}", value)});
  }
  void text(std::string_view name, std::string_view value) {
    fields.push_back({name, std::nullopt, std::string(value)});
  }
  std::vector<FunctionView::Field> fields;
};

std::vector<FunctionView::Field> fields_of(const go::Module& module,
                                           const go::Function& function) {
  const go::Pclntab& table = module.table;
  Fields to;
  to.offset("record", function.offset);
  to.count("record_size", function.size);
  to.offset("entry", function.entry);
  to.offset("name_offset", function.name_offset);
  if (function.arguments_size == INT32_MIN)
    to.text("arguments_size", "unknown");
  else
    to.count("arguments_size", static_cast<uint32_t>(function.arguments_size));
  if (table.format() >= go::Format::kGo1_12)
    to.offset("deferreturn", function.deferreturn);
  to.offset("pcsp", function.pcsp);
  to.offset("pcfile", function.pcfile);
  to.offset("pcln", function.pcln);
  to.count("pcdata_count", table.pcdata_count(function));
  if (table.format() >= go::Format::kGo1_16 && function.unit == go::kNoUnit)
    to.text("unit", "none");
  else if (table.format() >= go::Format::kGo1_16)
    to.count("unit", function.unit);
  if (table.has_start_lines())
    to.count("start_line", function.start_line);
  if (table.format() >= go::Format::kGo1_10)
    to.count("id", function.id);
  to.text("kind", kind_name(go::kind_of(table, module.wrapper_id, function.id,
                                        table.name(function.name_offset),
                                        file_at_entry(table, function))));
  if (table.format() >= go::Format::kGo1_16)
    to.fields.push_back({"flags", function.flags, flags_text(function.flags)});
  to.count("funcdata_count", table.funcdata_count(function));
  return to.fields;
}

void add_table(const go::Module& module, const go::Function& function, std::string name,
               std::string_view meaning, uint32_t offset, FunctionView& view) {
  if (offset == 0)
    return;
  view.tables.push_back({std::move(name),
                         meaning,
                         offset,
                         go::read_pc_table(module.table, function, offset),
                         {}});
}

void add_tables(const go::Module& module, const go::Function& function, FunctionView& view) {
  const go::Pclntab& table = module.table;
  add_table(module, function, "pcsp", "", function.pcsp, view);
  add_table(module, function, "pcfile", "", function.pcfile, view);
  if (function.pcfile != 0)
    for (const go::PcValue& row : view.tables.back().contents.rows)
      view.tables.back().files.push_back(table.file(function, row.value));
  add_table(module, function, "pcln", "", function.pcln, view);
  uint32_t count = std::min(table.pcdata_count(function), kMaxPcdata);
  for (uint32_t i = 0; i < count; i++)
    add_table(module, function, fmt::format("pcdata {}", i), go::pcdata_name(table.format(), i),
              table.pcdata_table(function, i).value_or(0), view);
}

// Address from which the offsets of funcdata count; none if it is not known.
std::optional<ImageAddress> gofunc_address(const go::Module& module) {
  if (!module.table.has_offsets())
    return ImageAddress{0};
  auto table = module.image->loaded_from(module.table_address);
  if (module.data)
    return ImageAddress{module.data->value("gofunc")};
  if (module.gofunc.empty() || !table)
    return std::nullopt;
  return ImageAddress{to_integer(module.table_address) +
                      static_cast<uint64_t>(module.gofunc.data() - table->data())};
}

void add_funcdata(const go::Module& module, const go::Function& function, FunctionView& view) {
  const go::Pclntab& table = module.table;
  auto base = gofunc_address(module);
  for (uint32_t i = 0; base && i < table.funcdata_count(function); i++)
    if (auto where = table.funcdata(function, i))
      view.funcdata.push_back(
          {i, go::funcdata_name(table.format(), i), ImageAddress{to_integer(*base) + *where}});
}

using Tree = std::map<uint32_t, go::InlinedCall>;

// The calls that have code, and up to Go 1.19 those around them.
Tree read_tree(const go::Module& module, const go::Function& function,
               const go::PcTable& indices) {
  Bytes bytes = go::inline_tree_of(module, function);
  Tree tree;
  for (const go::PcValue& row : indices.rows) {
    int32_t index = row.value;
    while (index >= 0 && !tree.contains(static_cast<uint32_t>(index))) {
      auto call = go::read_inlined_call(module.table, bytes, static_cast<uint32_t>(index));
      if (!call)
        break;
      tree.emplace(index, *call);
      index = call->parent;
    }
  }
  return tree;
}

// The calling entry: one before, or none; a damaged one, or one that calls itself, has none.
std::optional<uint32_t> caller_of(const Tree& tree, const go::PcTable& indices,
                                  const go::Pclntab& table, uint32_t index) {
  const go::InlinedCall& call = tree.at(index);
  int32_t parent =
      table.has_start_lines() ? indices.at(call.parent_pc).value_or(-1) : call.parent;
  auto caller = static_cast<uint32_t>(parent);
  return parent >= 0 && caller < index && tree.contains(caller) ? std::optional(caller)
                                                                : std::nullopt;
}

// A call from Go 1.20 on is where its parent pc is.
struct Positions {
  go::PcTable files;
  go::PcTable lines;
};

FunctionView::InlinedCall view_call(const go::Module& module, const go::Function& function,
                                    const Positions& positions, const go::InlinedCall& call) {
  const go::Pclntab& table = module.table;
  bool by_pc = table.has_start_lines();
  int32_t file = by_pc ? positions.files.at(call.parent_pc).value_or(-1) : call.file;
  FunctionView::InlinedCall view;
  view.function = table.name(call.name);
  view.file = table.file(function, file);
  view.line = by_pc ? positions.lines.at(call.parent_pc).value_or(0) : call.line;
  view.kind = kind_name(go::kind_of(table, module.wrapper_id, call.id, view.function, ""));
  view.parent_pc = call.parent_pc;
  return view;
}

void add_inlined(const go::Module& module, const go::Function& function, FunctionView& view) {
  auto offset = go::inline_index_table(module.table, function);
  if (!offset)
    return;
  go::PcTable indices = go::read_pc_table(module.table, function, *offset);
  Positions positions{go::read_pc_table(module.table, function, function.pcfile),
                      go::read_pc_table(module.table, function, function.pcln)};
  Tree tree = read_tree(module, function, indices);
  std::multimap<std::optional<uint32_t>, uint32_t> callees;
  for (const auto& [index, call] : tree)
    callees.emplace(caller_of(tree, indices, module.table, index), index);

  struct Place {
    uint32_t index = 0;
    int depth = 0;
  };
  std::vector<Place> pending;  // the next one last
  auto descend = [&](std::optional<uint32_t> caller, int depth) {
    auto [first, last] = callees.equal_range(caller);
    while (last != first)
      pending.push_back({(--last)->second, depth});
  };
  for (descend(std::nullopt, 0); !pending.empty();) {
    Place place = pending.back();
    pending.pop_back();
    view.inlined.push_back(view_call(module, function, positions, tree.at(place.index)));
    view.inlined.back().index = place.index;
    view.inlined.back().depth = place.depth;
    descend(place.index, place.depth + 1);
  }
}

}  // namespace

std::optional<FunctionView> view_function(const go::Module& module, uint32_t index) {
  auto function = module.table.function(index);
  auto begin = module.address_of(module.table.entry(index));
  if (!function || !begin)
    return std::nullopt;
  FunctionView view;
  view.name = module.table.name(function->name_offset);
  view.begin = *begin;
  view.end = ImageAddress{to_integer(*begin) + (function->end - function->entry)};
  view.fields = fields_of(module, *function);
  add_tables(module, *function, view);
  add_funcdata(module, *function, view);
  add_inlined(module, *function, view);
  return view;
}

}  // namespace gosym
