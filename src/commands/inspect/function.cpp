#include "commands/inspect/function.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/views.h"
#include "dwarf/call_frames.h"
#include "go/pclntab.h"
#include "output/json.h"
#include "symbolize/find_functions.h"
#include "symbolize/names.h"

namespace gosym {

namespace {

// The table has the linker's names. Where they are shown otherwise, "main.F[...]" for a
// generic function or "gopkg.in/..." for an escaped path, both forms find the function. The
// name in full is worked out only for names with such marks: this is asked of every function
// of the table.
bool is_named(std::string_view name, const std::string& wanted) {
  if (name == wanted)
    return true;
  if (name.find_first_of("[%") == std::string_view::npos)
    return false;
  return display_name(name, FrameSource::kPclntab, NameForm::kShort) == wanted ||
         display_name(name, FrameSource::kPclntab, NameForm::kFull) == wanted;
}

// Finds the functions of the name; if there are none, and it can be an address, the one there.
std::vector<uint32_t> find_go_functions(const go::Module& module, const std::string& wanted) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < module.table.function_count(); i++)
    if (auto function = module.table.function(i);
        function && is_named(module.table.name(function->name_offset), wanted))
      found.push_back(i);
  auto address = parse_hex(wanted);
  if (!found.empty() || !address)
    return found;
  auto pc = module.pc_of(ImageAddress{*address});
  auto index = pc ? module.table.find(*pc) : std::nullopt;
  if (index && !module.table.is_hole(*index))
    found.push_back(*index);
  return found;
}

ImageAddress operator+(ImageAddress address, uint64_t offset) {
  return ImageAddress{to_integer(address) + offset};
}

void add_place(ImageAddress begin, ImageAddress end, Record& record) {
  record.add_line("address", fmt::format("{}-{}", as_hex(begin), as_hex(end)));
  record.add_member("begin", as_hex(begin));
  record.add_member("end", as_hex(end));
}

// Rows count from the entry of the function; people and programs get addresses.
void print_text(const FunctionView& view, const FunctionView::Table& table) {
  print(stdout, "{}{}{} at {:#x}\n", table.name, table.meaning.empty() ? "" : " ",
        table.meaning, table.offset);
  for (size_t i = 0; i < table.contents.rows.size(); i++) {
    const go::PcValue& row = table.contents.rows[i];
    std::string_view file = table.files.empty() ? std::string_view() : table.files[i];
    print(stdout, "  {}-{}  {}{}{}\n", as_hex(view.begin + row.begin),
          as_hex(view.begin + row.end), row.value, file.empty() ? "" : " ", printable(file));
  }
  if (!table.contents.is_whole)
    print(stdout, "  damaged: does not end in the function\n");
}

void print_text(const FunctionView::InlinedCall& call) {
  print(stdout, "  {:{}}{} {}", "", 2 * call.depth, call.index, printable(call.function));
  if (!call.file.empty())
    print(stdout, ", called at {}:{}", printable(call.file), call.line);
  print(stdout, "{}{}\n", call.kind == "normal" ? "" : ", ",
        call.kind == "normal" ? "" : call.kind);
}

void print_text(const FunctionView& view) {
  print_lines(view.record, 16);
  for (const FunctionView::Table& table : view.tables)
    print_text(view, table);
  for (const FunctionView::Funcdata& data : view.funcdata)
    print(stdout, "funcdata {} {} at {}\n", data.index, data.meaning, as_hex(data.address));
  if (!view.inlined.empty())
    print(stdout, "inlined calls\n");
  for (const FunctionView::InlinedCall& call : view.inlined)
    print_text(call);
}

void write_json(JsonWriter& json, const FunctionView& view, const FunctionView::Table& table) {
  json.field("name", table.name);
  json.field("meaning", table.meaning);
  json.field("offset", table.offset);
  json.field("whole", table.contents.is_whole);
  // JsonWriter hands out the rows alone, but the files lie beside them, by the same index.
  size_t row_number = 0;
  json.array("ranges", table.contents.rows, [&](const go::PcValue& row) {
    json.object([&] {
      json.field("begin", as_hex(view.begin + row.begin));
      json.field("end", as_hex(view.begin + row.end));
      json.field("value", row.value);
      if (!table.files.empty())
        json.field("file", table.files[row_number]);
    });
    row_number++;
  });
}

void write_json(JsonWriter& json, const FunctionView::InlinedCall& call) {
  json.field("index", call.index);
  json.field("depth", call.depth);
  json.field("function", call.function);
  json.field("file", call.file);
  json.field("line", call.line);
  json.field("kind", call.kind);
  json.field("parent_pc", call.parent_pc);
}

void print_json(const FunctionView& view) {
  JsonWriter json;
  json.object([&] {
    view.record.write_members(json);
    json.array("tables", view.tables, [&](const FunctionView::Table& table) {
      json.object([&] { write_json(json, view, table); });
    });
    json.array("funcdata", view.funcdata, [&](const FunctionView::Funcdata& data) {
      json.object([&] {
        json.field("index", data.index);
        json.field("meaning", data.meaning);
        json.field("address", as_hex(data.address));
      });
    });
    json.array("inlined", view.inlined, [&](const FunctionView::InlinedCall& call) {
      json.object([&] { write_json(json, call); });
    });
  });
  print(stdout, "{}\n", json.text());
}

}  // namespace

namespace {

Result<> show_go_functions(const go::Module& module, const std::vector<uint32_t>& found,
                           bool is_json) {
  for (uint32_t index : found) {
    auto view = view_function(module, index);
    if (!view)
      return errorf("the record of function {} cannot be read", index);
    if (index != found.front() && !is_json)
      print(stdout, "\n");
    is_json ? print_json(*view) : print_text(*view);
  }
  return Ok{};
}

// The one of Go's table that begins there.
std::optional<uint32_t> go_function_at(const ImageSymbols& symbols, ImageAddress address) {
  const auto& module = symbols.go_module();
  auto pc = module ? module->pc_of(address) : std::nullopt;
  return pc ? module->table.find(*pc) : std::nullopt;
}

}  // namespace

// Many may match what is only a part of their names: these are listed. The search goes from the
// exact to the vague: a Go function by name or address, any function by name or address, a
// regular expression, and at last a part of a name.
Result<int> show_function(const ImageSymbols& symbols, const InspectOptions& options) {
  if (const auto& module = symbols.go_module())
    if (auto found = find_go_functions(*module, options.function); !found.empty()) {
      auto shown = show_go_functions(*module, found, options.is_json);
      return shown ? Result<int>(kSuccess) : std::move(shown).error();
    }
  std::vector<FunctionRange> all = all_functions(symbols);
  auto found = find_functions(symbols, all, options.function);
  // "(*T).Read" is no regular expression.
  if (!found || found->functions.empty())
    if (auto parts = functions_with(symbols, all, options.function); !parts.empty())
      found = FoundFunctions{std::move(parts), false};
  if (!found)
    return std::move(found).error();
  const std::vector<FunctionRange>& functions = found->functions;
  if (functions.empty() && symbols.has_damaged_table())
    return Error(symbols.problem());
  if (functions.empty())
    return errorf("no function '{}'", printable(options.function)).with_exit_status(kNoTarget);
  // A list, not each in full: an expression may match thousands.
  if (functions.size() > 1 && !found->is_exact) {
    print_functions(functions, options.is_json);
    return kSuccess;
  }
  // A name may be that of several functions, as with static functions of C. A Go function that
  // only an expression found is shown from its table as well.
  for (const FunctionRange& function : functions) {
    if (&function != functions.data() && !options.is_json)
      print(stdout, "\n");
    if (auto index = go_function_at(symbols, function.address)) {
      if (auto shown = show_go_functions(*symbols.go_module(), {*index}, options.is_json);
          !shown)
        return std::move(shown).error();
    } else {
      print_native_function(symbols, function, options.is_json);
    }
  }
  return kSuccess;
}

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
  // The bits of internal/abi: FuncFlagTopFrame, FuncFlagSPWrite, FuncFlagAsm.
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
void add_fields(const go::Module& module, const go::Function& function, Record& to) {
  auto add_count = [&](std::string_view name, uint64_t value) {
    to.add(name, std::to_string(value), name, value);
  };
  auto add_offset = [&](std::string_view name, uint64_t value) {
    to.add(name, as_hex(value), name, value);
  };
  const go::Pclntab& table = module.table;
  add_offset("record", function.offset);
  add_count("record_size", function.size);
  add_offset("entry", function.entry);
  add_offset("name_offset", function.name_offset);
  // Assembly without a prototype: the runtime's ArgsSizeUnknown.
  if (function.arguments_size == INT32_MIN)
    to.add("arguments_size", "arguments_size", "unknown");
  else
    add_count("arguments_size", static_cast<uint32_t>(function.arguments_size));
  if (table.format() >= go::Format::kGo1_12)
    add_offset("deferreturn", function.deferreturn);
  add_offset("pcsp", function.pcsp);
  add_offset("pcfile", function.pcfile);
  add_offset("pcln", function.pcln);
  add_count("pcdata_count", table.pcdata_count(function));
  // A function that the linker itself made is of no compilation unit, and so has no files.
  if (table.format() >= go::Format::kGo1_16 && function.unit == go::kNoUnit)
    to.add("unit", "unit", "none");
  else if (table.format() >= go::Format::kGo1_16)
    add_count("unit", function.unit);
  if (table.has_start_lines())
    add_count("start_line", function.start_line);
  if (table.format() >= go::Format::kGo1_10)
    add_count("id", function.id);
  to.add(
      "kind", "kind",
      kind_name(go::kind_of(table, module.wrapper_id, function.id,
                            table.name(function.name_offset), file_at_entry(table, function))));
  if (table.format() >= go::Format::kGo1_16)
    to.add("flags", flags_text(function.flags), "flags", uint64_t{function.flags});
  add_count("funcdata_count", table.funcdata_count(function));
}

void add_table(const go::Module& module, const go::Function& function, std::string name,
               std::string_view meaning, uint32_t offset, FunctionView& view) {
  // Offset 0 is no table (go/pclntab.h).
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
  // The values of pcfile are numbers of files: a reader wants the names. back() is pcfile's
  // table, which add_table() adds for every offset but 0.
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
  // Up to Go 1.17 funcdata are addresses already, which is a base of 0. Later moduledata has
  // the base; without moduledata it is where module.h found it in the table.
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
    // The way outwards by the parents that entries name, which only entries up to Go 1.19 do.
    // Later the caller of a call is the index at its parent pc: a row of its own, which the
    // loop above comes to anyway. Each entry is read once, so that entries that name each
    // other in a circle end.
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
  // A caller has a lower index in every healthy table: what has not is cut off and shown as a
  // root, and so nothing is left out and no circle is left for the walk below.
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
  // A number of -1 is that of no file, whose name is empty.
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
  // The tables have the caller of each call; shown are calls below their callers, so the tree
  // is turned round. It is walked by a list: a damaged one may be deep. Calls in the function
  // itself are those of the caller none.
  std::multimap<std::optional<uint32_t>, uint32_t> callees;
  for (const auto& [index, call] : tree)
    callees.emplace(caller_of(tree, indices, module.table, index), index);

  // Callees are pushed last to first, so that the first is taken next: the order is that of
  // the table, a call with all that it contains before its next sibling.
  struct Pending {
    uint32_t index = 0;
    int depth = 0;
  };
  std::vector<Pending> pending;  // the next one last
  auto descend = [&](std::optional<uint32_t> caller, int depth) {
    auto [first, last] = callees.equal_range(caller);
    while (last != first)
      pending.push_back({(--last)->second, depth});
  };
  for (descend(std::nullopt, 0); !pending.empty();) {
    Pending place = pending.back();
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
  // The place comes from functab, and the record has to agree with it (Pclntab::function()).
  auto begin = module.address_of(module.table.entry(index));
  if (!function || !begin)
    return std::nullopt;
  FunctionView view;
  view.begin = *begin;
  ImageAddress end = *begin + (function->end - function->entry);
  view.record.add("function", "function", module.table.name(function->name_offset));
  add_place(*begin, end, view.record);
  add_fields(module, *function, view.record);
  add_tables(module, *function, view);
  add_funcdata(module, *function, view);
  add_inlined(module, *function, view);
  return view;
}

namespace {

// No compiler writes functions as large; a symbol may say anything.
constexpr uint64_t kMostCode = 1 << 20;

// The line that code came from, and the call that it is part of.
struct LineText {
  std::string_view file;
  uint32_t line = 0;
  std::string inlined;  // the function whose call was inlined there; empty: none was

  bool operator==(const LineText&) const = default;
};

// Code that has one answer.
template <class Value>
struct CodeRow {
  uint64_t begin = 0;
  uint64_t end = 0;
  Value value;
};

// Rows for all values that may differ at each address of a function; none is left out.
template <class Value, class Find>
std::vector<CodeRow<Value>> rows_of(const FunctionRange& function, Find find) {
  std::vector<CodeRow<Value>> rows;
  // No source says how far its answer reaches, so each address is asked: `kMostCode` bounds
  // the work. Addresses without an answer are in no row, and end the row before them.
  uint64_t begin = to_integer(function.address);
  uint64_t end = begin + std::min(function.size, kMostCode);
  for (uint64_t address = begin; address < end; address++) {
    std::optional<Value> value = find(ImageAddress{address});
    if (!value)
      continue;
    if (!rows.empty() && rows.back().end == address && rows.back().value == *value)
      rows.back().end++;
    else
      rows.push_back({address, address + 1, *std::move(value)});
  }
  return rows;
}

std::vector<CodeRow<LineText>> lines_of(const ImageSymbols& symbols,
                                        const FunctionRange& function) {
  std::vector<Call> calls;
  return rows_of<LineText>(function, [&](ImageAddress address) -> std::optional<LineText> {
    calls.clear();
    auto source = symbols.find(address, calls);
    if (!source || calls.front().line == 0)
      return std::nullopt;
    // The innermost call has the line of the code. Its function is named only if it was
    // inlined: else it is the one that is shown.
    const Call& call = calls.front();
    return LineText{call.file, call.line,
                    call.is_inlined ? display_name(call.function, *source, NameForm::kShort)
                                    : std::string()};
  });
}

std::vector<CodeRow<UnwindRule>> frames_of(const ImageSymbols& symbols,
                                           const FunctionRange& function) {
  auto frames = dwarf::CallFrames::open(symbols.image());
  if (!frames)
    return {};
  return rows_of<UnwindRule>(function,
                             [&](ImageAddress address) { return frames->find(address); });
}

// "sp+8"
std::string text_of_place(const StackPlace& place) {
  std::string_view anchor = place.anchor == Anchor::kStackPointer   ? "sp"
                            : place.anchor == Anchor::kFramePointer ? "fp"
                                                                    : "cfa";
  return place.offset == 0 ? std::string(anchor) : fmt::format("{}{:+}", anchor, place.offset);
}

// Places of the caller's values, by this function's rule.
struct RuleText {
  std::string cfa;
  std::string return_address;
  std::string frame_pointer;
};

// In this order: the CFA, the return address, the frame pointer of the caller. Empty: not told.
RuleText text_of_rule(const UnwindRule& rule) {
  using Return = UnwindRule::ReturnAddress;
  using Frame = UnwindRule::FramePointer;
  // A DWARF expression is evaluated with a thread's registers and memory; there is no text for
  // it.
  if (rule.is_evaluated)
    return {"an expression", "", ""};
  // The root of a stack: nothing is to be found behind it.
  if (rule.return_kind == Return::kNone)
    return {"none", "none", ""};
  // Brackets stand for the word in memory at that place, as in assembly.
  std::string cfa = text_of_place(rule.cfa);
  return {rule.is_cfa_loaded ? fmt::format("[{}]", cfa) : cfa,
          rule.return_kind == Return::kOnStack
              ? fmt::format("[{}]", text_of_place(rule.return_address))
              : "register",
          rule.frame_kind == Frame::kOnStack
              ? fmt::format("[{}]", text_of_place(rule.frame_pointer))
          : rule.frame_kind == Frame::kLost ? "lost"
                                            : "unchanged"};
}

std::string source_text(const ImageSymbols& symbols, const FunctionRange& function) {
  auto source = source_of(symbols, function);
  return source ? std::string(to_string(*source)) : "unknown";
}

void print_rule(const CodeRow<UnwindRule>& row) {
  RuleText rule = text_of_rule(row.value);
  print(stdout, "  {}-{}  cfa {}", as_hex(row.begin), as_hex(row.end), rule.cfa);
  if (!rule.return_address.empty() && rule.return_address != "none")
    print(stdout, ", return {}, fp {}", rule.return_address, rule.frame_pointer);
  print(stdout, "{}\n", row.value.is_signal_frame ? ", interrupted" : "");
}

void print_native_text(const ImageSymbols& symbols, const FunctionRange& function) {
  uint64_t begin = to_integer(function.address);
  print(stdout, "function        {}\n", printable(function.name));
  print(stdout, "address         {}-{}\n", as_hex(begin), as_hex(begin + function.size));
  print(stdout, "size            {}\n", function.size);
  print(stdout, "name from       {}\n", source_text(symbols, function));
  if (function.size > kMostCode)
    print(stdout, "shown           the first {}\n", human_size(kMostCode));
  // A part without rows has no heading: the file has no debugging information, or no call
  // frame information, for this code.
  auto lines = lines_of(symbols, function);
  if (!lines.empty())
    print(stdout, "lines\n");
  for (const auto& row : lines)
    print(stdout, "  {}-{}  {}:{}{}{}\n", as_hex(row.begin), as_hex(row.end),
          printable(row.value.file), row.value.line, row.value.inlined.empty() ? "" : " in ",
          printable(row.value.inlined));
  auto frames = frames_of(symbols, function);
  if (!frames.empty())
    print(stdout, "call frames\n");
  std::ranges::for_each(frames, print_rule);
}

void print_native_json(const ImageSymbols& symbols, const FunctionRange& function) {
  JsonWriter json;
  auto write_range = [&](uint64_t begin, uint64_t end) {
    json.field("begin", as_hex(begin));
    json.field("end", as_hex(end));
  };
  json.object([&] {
    uint64_t address = to_integer(function.address);
    write_range(address, address + function.size);
    json.field("function", function.name);
    json.field("size", function.size);
    json.field("source", source_text(symbols, function));
    json.array("lines", lines_of(symbols, function), [&](const CodeRow<LineText>& row) {
      json.object([&] {
        write_range(row.begin, row.end);
        json.field("file", row.value.file);
        json.field("line", row.value.line);
        json.field("inlined", row.value.inlined);
      });
    });
    json.array("call_frames", frames_of(symbols, function),
               [&](const CodeRow<UnwindRule>& row) {
                 RuleText rule = text_of_rule(row.value);
                 json.object([&] {
                   write_range(row.begin, row.end);
                   json.field("cfa", rule.cfa);
                   json.field("return_address", rule.return_address);
                   json.field("frame_pointer", rule.frame_pointer);
                   json.field("signal_frame", row.value.is_signal_frame);
                 });
               });
  });
  print(stdout, "{}\n", json.text());
}

}  // namespace

void print_native_function(const ImageSymbols& symbols, const FunctionRange& function,
                           bool is_json) {
  is_json ? print_native_json(symbols, function) : print_native_text(symbols, function);
}

}  // namespace gosym
