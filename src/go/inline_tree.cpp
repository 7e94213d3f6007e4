#include "go/module.h"

namespace gosym::go {

namespace {

constexpr uint32_t kInlineTreePcdata = 2;
constexpr uint32_t kInlineTreeFuncdata = 3;

// The compiler's own budget stops far below: the deepest chain seen has 21 calls. Damaged trees
// may loop.
constexpr int kMaxInlineDepth = 1000;

struct Position {
  std::string_view file;
  uint32_t line = 0;
  int32_t inline_index = -1;
};

uint32_t positive_or_zero(std::optional<int32_t> value) {
  return value && *value > 0 ? static_cast<uint32_t>(*value) : 0;
}

Position position_at(const Pclntab& table, const Function& function, uint32_t pc) {
  Position position;
  auto file = table.value(function, function.pcfile, pc);
  position.file = file ? table.file(function, *file) : std::string_view();
  position.line = positive_or_zero(table.value(function, function.pcln, pc));
  if (auto indices = table.pcdata_table(function, kInlineTreePcdata))
    position.inline_index = table.value(function, *indices, pc).value_or(-1);
  return position;
}

// Reads the entry at position.inline_index, appends the call it stands for and moves `position`
// to the place it was called from. False if the entry cannot be read.
bool step_out(const Pclntab& table, const Function& function, Bytes tree, Position& position,
              std::vector<Call>& calls) {
  Call call{.function = {}, .file = position.file, .line = position.line};
  uint64_t entry_size = table.has_start_lines() ? 16 : 20;
  uint64_t index = static_cast<uint32_t>(position.inline_index);
  Reader in(tail(tree, index * entry_size), table.order());
  if (table.has_start_lines()) {
    in.u32();  // function id
    call.function = table.name(in.u32());
    uint32_t parent_pc = in.u32();
    call.start_line = positive_or_zero(static_cast<int32_t>(in.u32()));
    position = position_at(table, function, function.entry + parent_pc);
  } else {
    position.inline_index = static_cast<int16_t>(in.u16());
    in.u16();  // function id
    position.file = table.file(function, static_cast<int32_t>(in.u32()));
    position.line = positive_or_zero(static_cast<int32_t>(in.u32()));
    call.function = table.name(in.u32());
  }
  if (!in.ok() || call.function.empty())
    return false;
  calls.push_back(call);
  return true;
}

Bytes inline_tree_of(const Module& module, const Function& function) {
  auto offset = module.table.funcdata_offset(function, kInlineTreeFuncdata);
  return offset ? tail(module.gofunc, *offset) : Bytes();
}

// Before Go 1.20 the table does not tell. But code that calls anything begins with the check of
// its stack, which has the line of the declaration; `go build -pgo` counts lines from there.
uint32_t start_line_of(const Pclntab& table, const Function& function) {
  if (table.has_start_lines())
    return function.start_line;
  Position entry = position_at(table, function, function.entry);
  return entry.inline_index < 0 ? entry.line : 0;
}

}  // namespace

bool find_calls(const Module& module, ImageAddress address, std::vector<Call>& calls) {
  uint64_t pc = to_integer(address) - to_integer(module.text);
  if (address < module.text || pc > UINT32_MAX)
    return false;
  const Pclntab& table = module.table;
  auto index = table.find(static_cast<uint32_t>(pc));
  auto function = index ? table.function(*index) : std::nullopt;
  std::string_view name = function ? table.name(function->name_offset) : std::string_view();
  if (name.empty())
    return false;

  Position outer = position_at(table, *function, static_cast<uint32_t>(pc));
  Position position = outer;
  Bytes tree = inline_tree_of(module, *function);
  size_t first_call = calls.size();
  int depth = 0;
  while (position.inline_index >= 0 && depth++ < kMaxInlineDepth) {
    if (!step_out(table, *function, tree, position, calls)) {
      // The line is of an inlined function we cannot name: it must not be given to another.
      calls.resize(first_call);
      position = {};
      break;
    }
  }
  calls.push_back({name, position.file, position.line, start_line_of(table, *function)});
  return true;
}

}  // namespace gosym::go
