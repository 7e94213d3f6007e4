#include "go/check_function.h"

#include "base/text.h"

namespace gosym::go {

namespace {

// Sixteen bytes of a file make up for one row at the most (measured); more than one a byte are
// in tables that were made to keep us busy.
constexpr uint64_t kRowsPerByte = 1;
// Names are shared by all calls of a function: at most 4 bytes of them are looked at for each
// of a file (measured).
constexpr uint64_t kNameBytesPerByte = 64;

bool is_name(std::string_view name) {
  return !name.empty() && is_printable(name);
}

}  // namespace

FunctionChecker::FunctionChecker(const Module& module)
    : module_(module),
      table_(module.table),
      rows_left_(kRowsPerByte * module.image->file.size()),
      name_bytes_left_(kNameBytesPerByte * module.image->file.size()) {
  checks_[kCode].invariant = "functions lie in code";
  checks_[kName].invariant = "functions have printable names";
  checks_[kUnit].invariant = "units lie in their table";
  checks_[kId].invariant = "ids are of one function, or of wrappers";
  checks_[kReturn].invariant = "deferreturn lies in the function";
  checks_[kEnd].invariant = "pc-value tables end in the function";
  checks_[kCodeEnd].invariant = "pcsp, pcfile and pcln end at one pc";
  checks_[kLines].invariant = "lines are positive";
  checks_[kFiles].invariant = "files have names";
  checks_[kInlined].invariant = "inlined calls have printable names";
  checks_[kCallers].invariant = "callers come before inlined calls";
  checks_[kFuncdata].invariant = "funcdata lies in the image";
}

void FunctionChecker::check(const Function& function) {
  function_ = function;
  check_record();
  check_positions();
  check_pcdata();
  check_funcdata();
}

template <class Describe>
bool FunctionChecker::expect(Invariant invariant, bool holds, Describe describe) {
  return checks_[invariant].expect(holds, [&] { return place() + ": " + describe(); });
}

std::string FunctionChecker::place() const {
  auto address = module_.address_of(function_.entry);
  return fmt::format("{:#x} {}", address ? to_integer(*address) : function_.entry,
                     printable(table_.name(function_.name_offset)));
}

void FunctionChecker::check_record() {
  uint64_t size = function_.end - function_.entry;
  auto address = module_.address_of(function_.entry);
  expect(kCode, address && module_.image->has_code(*address, size),
         [&] { return fmt::format("{:#x} bytes of code are not in the image", size); });
  std::string_view name = take_name(function_.name_offset);
  expect(kName, is_name(name),
         [&] { return fmt::format("the name is at {:#x}", function_.name_offset); });
  const PclntabHeader& header = table_.header();
  if (table_.format() >= Format::kGo1_16 && function_.unit != kNoUnit)
    expect(kUnit, function_.unit < (header.files - header.units) / 4,
           [&] { return fmt::format("the unit is {}", function_.unit); });
  expect(kReturn, function_.deferreturn <= size,
         [&] { return fmt::format("it is at {:#x}", function_.deferreturn); });
  check_id(name);
}

void FunctionChecker::check_id(std::string_view name) {
  if (function_.id == 0 || function_.id == module_.wrapper_id)
    return;
  auto known = names_by_id_.emplace(function_.id, name);
  expect(kId, known.second, [&] {
    return fmt::format("{} has the id {} too", printable(known.first->second), function_.id);
  });
}

PcTable FunctionChecker::read_table(uint32_t offset) {
  if (offset == 0)
    return {};
  size_t limit = std::min<uint64_t>(kMaxTableRows, rows_left_);
  PcTable table = read_pc_table(table_, function_, offset, limit);
  rows_left_ -= table.rows.size();
  expect(kEnd, table.is_whole, [&] {
    return fmt::format("the table at {:#x} is at pc {:#x} of {:#x} and has not ended", offset,
                       table.end, function_.end - function_.entry);
  });
  return table;
}

void FunctionChecker::check_positions() {
  PcTable depths = read_table(function_.pcsp);
  PcTable files = read_table(function_.pcfile);
  PcTable lines = read_table(function_.pcln);
  check_files(files);
  check_lines(lines);
  if (depths.is_whole && files.is_whole && lines.is_whole)
    expect(kCodeEnd, depths.end == files.end && lines.end <= files.end, [&] {
      return fmt::format("they end at {:#x}, {:#x} and {:#x}", depths.end, files.end,
                         lines.end);
    });
}

void FunctionChecker::check_files(const PcTable& files) {
  for (const PcValue& row : files.rows)
    if (row.begin < row.end)
      expect(kFiles, !table_.file(function_, row.value).empty(),
             [&] { return fmt::format("file {} at pc {:#x} has none", row.value, row.begin); });
}

void FunctionChecker::check_lines(const PcTable& lines) {
  int32_t lowest = table_.format() < Format::kGo1_10 ? 0 : 1;
  for (const PcValue& row : lines.rows)
    if (row.begin < row.end)
      expect(kLines, row.value >= lowest,
             [&] { return fmt::format("the line at pc {:#x} is {}", row.begin, row.value); });
}

void FunctionChecker::check_pcdata() {
  auto inline_indices = inline_index_table(table_, function_);
  for (uint32_t i = 0; i < table_.pcdata_count(function_); i++) {
    auto offset = table_.pcdata_table(function_, i);
    if (offset && offset != inline_indices)
      read_table(*offset);
  }
  if (inline_indices)
    check_inlined_calls(read_table(*inline_indices));
}

void FunctionChecker::check_inlined_calls(const PcTable& indices) {
  Bytes tree = inline_tree_of(module_, function_);
  std::set<uint32_t> seen;
  for (const PcValue& row : indices.rows) {
    auto index = static_cast<uint32_t>(row.value);
    if (row.value < 0 || !seen.insert(index).second)
      continue;
    auto call = read_inlined_call(table_, tree, index);
    std::string_view name = call ? take_name(call->name) : std::string_view();
    if (expect(kInlined, is_name(name), [&] {
          return fmt::format("that of inlined call {} at pc {:#x} is '{}'", index, row.begin,
                             printable(name));
        }))
      check_caller(indices, index, *call);
  }
}

// Names may overlap: a file of nothing else would keep us busy for hours.
std::string_view FunctionChecker::take_name(uint32_t offset) {
  std::string_view name = table_.name(offset);
  if (name.size() > name_bytes_left_)
    return {};
  name_bytes_left_ -= name.size();
  return name;
}

void FunctionChecker::check_caller(const PcTable& indices, uint32_t index,
                                   const InlinedCall& call) {
  bool has_parents = table_.format() < Format::kGo1_12;
  int64_t parent = has_parents ? call.parent : indices.at(call.parent_pc).value_or(-1);
  bool is_own = !has_parents && parent == index && call.parent_pc == 0;
  bool is_inside = call.parent_pc <= function_.end - function_.entry;
  expect(kCallers, is_inside && parent >= -1 && (parent < index || is_own), [&] {
    return fmt::format("inlined call {} is called by {}, at pc {:#x}", index, parent,
                       call.parent_pc);
  });
}

void FunctionChecker::check_funcdata() {
  for (uint32_t i = 0; i < table_.funcdata_count(function_); i++) {
    auto where = table_.funcdata(function_, i);
    if (!where)
      continue;
    bool is_inside = table_.has_offsets()
                         ? *where < module_.gofunc.size()
                         : module_.image->loaded_from(ImageAddress{*where}).has_value();
    expect(kFuncdata, is_inside,
           [&] { return fmt::format("funcdata {} at {:#x} does not", i, *where); });
  }
}

}  // namespace gosym::go
