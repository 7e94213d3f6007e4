#include "go/inline_tree.h"

#include "go/pclntab.h"

// A pc has an index into the tree of its function, or -1. An entry of the tree gives the name
// of the inlined call and the pc of its caller, whose index gives the next entry, until -1 is
// reached: then the position is that of the function itself. Walks remember where the last
// look-up ended.

namespace gosym::go {

namespace {

// Numbers of the tables for inlined calls, by format.
uint32_t pcdata_index(Format format) {
  return format <= Format::kGo1_12 ? 1 : 2;
}
uint32_t funcdata_index(Format format) {
  if (format <= Format::kGo1_12)
    return 2;
  return format == Format::kGo1_13 ? 4 : 3;
}
uint64_t entry_size(Format format) {
  return format >= Format::kGo1_12 && format <= Format::kGo1_18 ? 20 : 16;
}

// The compiler's own budget stops far below: the deepest chain seen has 21 calls. Each costs a
// walk through the tables of the function.
constexpr int kMaxNesting = 1000;

struct Position {
  std::string_view file;
  uint32_t line = 0;
  int32_t inline_index = -1;
};

uint32_t positive_or_zero(std::optional<int32_t> value) {
  return value && *value > 0 ? static_cast<uint32_t>(*value) : 0;
}

// The runtime gives neither the file nor the line if one of them is unknown.
Position position_at(const Pclntab& table, const Function& function, uint64_t pc,
                     PositionWalk& walk) {
  Position position;
  int32_t file = walk.files.value(table, function, function.pcfile, pc).value_or(-1);
  int32_t line = walk.lines.value(table, function, function.pcln, pc).value_or(-1);
  if (file >= 0 && line >= 0) {
    position.file = table.file(function, file);
    position.line = static_cast<uint32_t>(line);
  }
  if (auto indices = inline_index_table(table, function))
    position.inline_index = walk.indices.value(table, function, *indices, pc).value_or(-1);
  return position;
}

// Position that an inlined call was called from.
Position caller_of(const Pclntab& table, const Function& function, const InlinedCall& inlined,
                   PositionWalk& walk) {
  // From Go 1.12 on the caller is a pc like any other, and its tables tell file, line and
  // index.
  if (table.format() >= Format::kGo1_12)
    return position_at(table, function, function.entry + inlined.parent_pc, walk);
  return {table.file(function, inlined.file), positive_or_zero(inlined.line), inlined.parent};
}

// Appends the inlined calls at `position`, and moves it to where the outermost was called from.
// False if there is an entry that cannot be read.
bool expand(const Module& module, const Function& function, Position& position,
            PositionWalk& walk, std::vector<Call>& calls) {
  const Pclntab& table = module.table;
  Bytes tree = inline_tree_of(module, function);
  // Each round moves to an entry that comes before, or ends: see below.
  for (int depth = 0; position.inline_index >= 0; depth++) {
    if (depth == kMaxNesting)
      return false;
    auto index = static_cast<uint32_t>(position.inline_index);
    auto inlined = read_inlined_call(table, tree, index);
    std::string_view name = inlined ? table.name(inlined->name) : std::string_view();
    if (name.empty())
      return false;
    calls.push_back({name, position.file, position.line, inlined->start_line,
                     kind_of(table, module.wrapper_id, inlined->id, name, position.file),
                     /*is_inlined=*/true});
    position = caller_of(table, function, *inlined, walk);
    // Entries come after their parents. Initializers of packages have some that do not, of Go
    // 1.24 to 1.27: they give the start of the call itself for that of its caller. Where it was
    // called from is then unknown.
    if (position.inline_index >= static_cast<int32_t>(index))
      position = {};
  }
  return true;
}

// Before Go 1.20 the table does not tell. But code that calls anything begins with the check of
// its stack, which has the line of the declaration; `go build -pgo` counts lines from there.
uint32_t start_line_of(const Pclntab& table, const Function& function) {
  if (table.has_start_lines())
    return function.start_line;
  PositionWalk walk;
  Position entry = position_at(table, function, function.entry, walk);
  return entry.inline_index < 0 ? entry.line : 0;
}

}  // namespace

Bytes inline_tree_of(const Module& module, const Function& function) {
  auto where = module.table.funcdata(function, funcdata_index(module.table.format()));
  if (!where)
    return {};
  // The end of the funcdata of one function is not recorded: an index that is too large reads
  // what follows.
  if (module.table.has_offsets())
    return tail(module.gofunc, *where);
  return module.image->loaded_from(ImageAddress{*where}).value_or(Bytes{});
}

std::optional<uint32_t> inline_index_table(const Pclntab& table, const Function& function) {
  // Go 1.9 shares its format with releases that had other things there, but never this many.
  bool may_have_trees =
      table.format() > Format::kGo1_5 ||
      (table.format() == Format::kGo1_5 && table.pcdata_count(function) >= 2 &&
       table.funcdata_count(function) >= 3);
  if (!may_have_trees)
    return std::nullopt;
  return table.pcdata_table(function, pcdata_index(table.format()));
}

std::optional<InlinedCall> read_inlined_call(const Pclntab& table, Bytes tree, uint32_t index) {
  Format format = table.format();
  // An index beyond the tree leaves no bytes: `in` is not ok then.
  Reader in(tail(tree, index * entry_size(format)), table.order());
  InlinedCall call;
  // Since Go 1.20 an entry has the pc of its call in the caller, of which the tables of files
  // and lines tell the rest; before, entries have the index of their parent, and file and line.
  if (format >= Format::kGo1_20) {
    call.id = in.u8();
    in.bytes(3);
    call.name = in.u32();
    call.parent_pc = in.u32();
    call.start_line = positive_or_zero(static_cast<int32_t>(in.u32()));
  } else {
    if (format >= Format::kGo1_12) {
      call.parent = static_cast<int16_t>(in.u16());
      call.id = in.u8();
      in.u8();
    } else {
      call.parent = static_cast<int32_t>(in.u32());
    }
    call.file = static_cast<int32_t>(in.u32());
    call.line = static_cast<int32_t>(in.u32());
    call.name = in.u32();
    if (format >= Format::kGo1_12)
      call.parent_pc = in.u32();
  }
  return in.ok() ? std::optional(call) : std::nullopt;
}

bool find_calls(const Module& module, ImageAddress address, std::vector<Call>& calls) {
  CallWalk walk;
  return find_calls(module, address, calls, walk);
}

bool find_calls(const Module& module, ImageAddress address, std::vector<Call>& calls,
                CallWalk& walk) {
  auto pc = module.pc_of(address);
  if (!pc)
    return false;
  auto& function = walk.function;
  // Addresses in order mostly stay in one function, and a search through functab is saved.
  if (!function || *pc < function->entry || *pc >= function->end) {
    auto index = module.table.find(*pc);
    function = index ? module.table.function(*index) : std::nullopt;
  }
  return function && find_calls(module, *function, *pc, calls, walk);
}

bool find_calls(const Module& module, const Function& function, uint64_t pc,
                std::vector<Call>& calls, CallWalk& walk) {
  const Pclntab& table = module.table;
  std::string_view name = table.name(function.name_offset);
  if (name.empty())
    return false;

  Position position = position_at(table, function, pc, walk.innermost);
  size_t first_call = calls.size();
  // A tree that cannot be read takes the calls that it gave so far with it.
  if (!expand(module, function, position, walk.callers, calls)) {
    calls.resize(first_call);
    position = {};
  }
  calls.push_back({name, position.file, position.line, start_line_of(table, function),
                   kind_of(table, module.wrapper_id, function.id, name, position.file)});
  return true;
}

}  // namespace gosym::go
