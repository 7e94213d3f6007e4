#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/function_view.h"
#include "commands/inspect/views.h"
#include "output/json.h"
#include "symbolize/find_functions.h"
#include "symbolize/names.h"

namespace gosym {

namespace {

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
  print(stdout, "function        {}\n", printable(view.name));
  print(stdout, "address         {}-{}\n", as_hex(view.begin), as_hex(view.end));
  for (const FunctionView::Field& field : view.fields)
    print(stdout, "{:<15} {}\n", field.name, field.text);
  for (const FunctionView::Table& table : view.tables)
    print_text(view, table);
  for (const FunctionView::Funcdata& data : view.funcdata)
    print(stdout, "funcdata {} {} at {}\n", data.index, data.meaning, as_hex(data.address));
  if (!view.inlined.empty())
    print(stdout, "inlined calls\n");
  for (const FunctionView::InlinedCall& call : view.inlined)
    print_text(call);
}

void write_json(JsonWriter& json, const FunctionView::Field& field) {
  if (field.number)
    json.field(field.name, *field.number);
  else
    json.field(field.name, field.text);
}

void write_json(JsonWriter& json, const FunctionView& view, const FunctionView::Table& table) {
  json.begin_object();
  json.field("name", table.name);
  json.field("meaning", table.meaning);
  json.field("offset", table.offset);
  json.field("whole", table.contents.is_whole);
  json.key("ranges");
  json.begin_array();
  for (size_t i = 0; i < table.contents.rows.size(); i++) {
    const go::PcValue& row = table.contents.rows[i];
    json.begin_object();
    json.field("begin", as_hex(view.begin + row.begin));
    json.field("end", as_hex(view.begin + row.end));
    json.field("value", row.value);
    if (!table.files.empty())
      json.field("file", table.files[i]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_json(JsonWriter& json, const FunctionView::Funcdata& data) {
  json.begin_object();
  json.field("index", data.index);
  json.field("meaning", data.meaning);
  json.field("address", as_hex(data.address));
  json.end_object();
}

void write_json(JsonWriter& json, const FunctionView::InlinedCall& call) {
  json.begin_object();
  json.field("index", call.index);
  json.field("depth", call.depth);
  json.field("function", call.function);
  json.field("file", call.file);
  json.field("line", call.line);
  json.field("kind", call.kind);
  json.field("parent_pc", call.parent_pc);
  json.end_object();
}

template <class Items, class Write>
void write_array(JsonWriter& json, std::string_view key, const Items& items, Write write_one) {
  json.key(key);
  json.begin_array();
  for (const auto& item : items)
    write_one(item);
  json.end_array();
}

void print_json(const FunctionView& view) {
  JsonWriter json;
  json.begin_object();
  json.field("function", view.name);
  json.field("begin", as_hex(view.begin));
  json.field("end", as_hex(view.end));
  for (const FunctionView::Field& field : view.fields)
    write_json(json, field);
  write_array(json, "tables", view.tables,
              [&](const FunctionView::Table& table) { write_json(json, view, table); });
  write_array(json, "funcdata", view.funcdata,
              [&](const FunctionView::Funcdata& data) { write_json(json, data); });
  write_array(json, "inlined", view.inlined,
              [&](const FunctionView::InlinedCall& call) { write_json(json, call); });
  json.end_object();
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

// Many may match what is only a part of their names: these are listed.
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
  if (functions.size() > 1 && !found->is_exact) {
    print_functions(functions, options.is_json);
    return kSuccess;
  }
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

}  // namespace gosym
