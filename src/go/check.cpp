#include "go/check.h"

#include <algorithm>

#include "base/text.h"

// check_module() goes through the table once and counts, for each invariant, how often it
// held. Nothing ends the walk: a record that cannot be read is one failure, and what it would
// have is not checked. Rows and bytes of names are counted down over the whole file, as a
// table that was made for it could have each function refer to the same long tables.

namespace gosym::go {

namespace {

// True if the table names no file for any code of the function.
bool is_empty(const Pclntab& table, const std::optional<Function>& function) {
  if (!function)
    return false;
  auto row = function->pcfile == 0 ? std::nullopt : table.rows(function->pcfile).next();
  return !row || row->begin == row->end;
}

// The pairs of functab, and where the records lie. Passes each record that reads on.
//
//   entries rise      except behind functions without code, which C code has up to Go 1.12
//   records read      and have the entry that functab has
//   records follow    one another, aligned to a pointer
void check_functab(const Module& module, CheckReport& report, FunctionChecker& functions) {
  const Pclntab& table = module.table;
  Check entries{"entries rise"};
  Check readable{"records can be read"};
  Check order{"records follow one another, aligned"};
  uint64_t records_end = 0;
  // Each record is compared with the one before, so that a gap or an overlap is told where it
  // is. Entry function_count() is the end of the last function.
  for (uint32_t i = 0; i < table.function_count(); i++) {
    auto function = table.function(i);
    entries.expect(table.entry(i) < table.entry(i + 1) || is_empty(table, function), [&] {
      return fmt::format("entries {} and {} are both {:#x}", i, i + 1, table.entry(i));
    });
    if (table.is_hole(i)) {
      report.holes++;
      continue;
    }
    if (!readable.expect(function.has_value(), [&] {
          return fmt::format("that of function {}, at {:#x}, cannot", i, table.entry(i));
        }))
      continue;
    bool is_aligned = function->offset % table.header().pointer_size == 0;
    order.expect(is_aligned && function->offset >= records_end, [&] {
      return fmt::format("that of function {} is at {:#x}, the last ends at {:#x}", i,
                         function->offset, records_end);
    });
    // Functions are checked only if their record is whole, so that one damage is one failure.
    records_end = function->offset + function->size;
    functions.check(*function);
  }
  report.checks = {entries, readable, order};
}

}  // namespace

bool CheckReport::is_whole() const {
  return std::ranges::all_of(checks, [](const Check& check) { return check.failed == 0; });
}

CheckReport check_module(const Module& module) {
  CheckReport report;
  report.functions = module.table.function_count();
  FunctionChecker functions(module);
  check_functab(module, report, functions);
  auto add = [&](const auto& checks) {
    report.checks.insert(report.checks.end(), checks.begin(), checks.end());
  };
  add(functions.checks());
  add(check_tables(module));
  return report;
}

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
  // The units, of 4 bytes each, lie right before the files: parse() has checked the order.
  if (table_.format() >= Format::kGo1_16 && function_.unit != kNoUnit)
    expect(kUnit, function_.unit < (header.files - header.units) / 4,
           [&] { return fmt::format("the unit is {}", function_.unit); });
  expect(kReturn, function_.deferreturn <= size,
         [&] { return fmt::format("it is at {:#x}", function_.deferreturn); });
  check_id(name);
}

void FunctionChecker::check_id(std::string_view name) {
  // Id 0 means nothing special, and the one of wrappers is shared by design.
  if (function_.id == 0 || function_.id == module_.wrapper_id)
    return;
  auto known = names_by_id_.emplace(function_.id, name);
  expect(kId, known.second, [&] {
    return fmt::format("{} has the id {} too", printable(known.first->second), function_.id);
  });
}

PcTable FunctionChecker::read_table(uint32_t offset) {
  if (offset == 0)
    return {};  // the function has no such table: it counts as not whole, and as no failure
  // Once no rows are left tables read as cut, and are told as such.
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
  // The three tables are read first, since the last check compares their ends.
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
  // Up to Go 1.9 some wrappers have line 0.
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
    // The table of inline indices is pcdata like the others, and has a check of its own.
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
    // A call may have several pieces of code: it is checked once.
    if (row.value < 0 || !seen.insert(index).second)
      continue;
    auto call = read_inlined_call(table_, tree, index);
    // Without the call the name is empty, which fails: behind that there is a call.
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
  // Up to Go 1.11 an entry names its parent, later the pc of the call does. -1 is the function
  // itself.
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
    // An offset counts from gofunc, an address is one of the image.
    bool is_inside = table_.has_offsets()
                         ? *where < module_.gofunc.size()
                         : module_.image->loaded_from(ImageAddress{*where}).has_value();
    expect(kFuncdata, is_inside,
           [&] { return fmt::format("funcdata {} at {:#x} does not", i, *where); });
  }
}

namespace {

Check check_file_names(const Pclntab& table) {
  Check check{"file names are as many as said"};
  auto files = table.files();
  // Up to Go 1.15 the first of them is the count itself.
  uint64_t expected = table.header().file_count;
  if (table.format() < Format::kGo1_16 && expected > 0)
    expected--;
  auto named = static_cast<uint64_t>(
      std::ranges::count_if(files, [](auto file) { return !file.empty(); }));
  check.expect(named == expected,
               [&] { return fmt::format("there are {}, not {}", named, expected); });
  return check;
}

Check check_units(const Module& module, Bytes table) {
  const PclntabHeader& header = module.table.header();
  // The header gives where each table begins; that of units ends where that of files does
  // begin.
  Check check{"units lead to file names"};
  Bytes units = slice(table, header.units, header.files - header.units).value_or(Bytes{});
  Bytes files = slice(table, header.files, header.pc_values - header.files).value_or(Bytes{});
  for (uint64_t i = 0; i + 4 <= units.size(); i += 4) {
    auto offset = load<uint32_t>(units, i, module.table.order());
    bool is_left_out = offset == 0xffffffff;
    bool is_start =
        *offset < files.size() && (*offset == 0 || files[*offset - 1] == std::byte{0});
    check.expect(is_left_out || is_start,
                 [&] { return fmt::format("element {} is {:#x}", i / 4, *offset); });
  }
  return check;
}

Check check_places(const Module& module) {
  Check check{"moduledata has the tables of the header"};
  const PclntabHeader& header = module.table.header();
  auto expect = [&](std::string_view field, uint64_t offset) {
    uint64_t address = to_integer(module.table_address) + offset;
    uint64_t found = module.data->value(field);
    check.expect(found == address, [&] {
      return fmt::format("{} is at {:#x}, not {:#x}", field, found, address);
    });
  };
  // Tables stand twice: by offset in the header, by address in moduledata.
  expect("ftab", header.functions);
  expect("filetab", header.files);
  bool is_old = module.table.format() < Format::kGo1_16;
  expect("pclntable", is_old ? 0 : header.functions);
  if (!is_old) {
    expect("funcnametab", header.names);
    expect("cutab", header.units);
    expect("pctab", header.pc_values);
  }
  return check;
}

Check check_slices(const ModuleData& data) {
  Check check{"slices of moduledata lie in the image"};
  for (const ModuleField& field : data.fields()) {
    if (!field.is_slice)
      continue;
    uint64_t length = data.word(field.word + 1u);
    uint64_t capacity = data.word(field.word + 2u);
    auto bytes = data.image->loaded_from(ImageAddress{data.word(field.word)});
    // Slices of tables are made by the linker, which gives them no room to grow: length and
    // capacity are equal. An element has a byte at the least.
    bool is_inside = length == 0 || (bytes && length <= bytes->size());
    check.expect(is_inside && length == capacity, [&] {
      return fmt::format("{} has {} of {} elements at {:#x}", field.name, length, capacity,
                         data.word(field.word));
    });
  }
  return check;
}

Check check_ranges(const ModuleData& data) {
  struct Range {
    std::string_view begin;
    std::string_view end;
  };
  static constexpr Range kRanges[] = {
      {"minpc", "maxpc"},      {"text", "etext"},   {"noptrdata", "enoptrdata"},
      {"data", "edata"},       {"bss", "ebss"},     {"noptrbss", "enoptrbss"},
      {"covctrs", "ecovctrs"}, {"types", "etypes"}, {"gofunc", "epclntab"},
  };
  Check check{"ranges of moduledata end after they begin"};
  // Fields that the layout of a release does not have are not compared.
  auto has = [&](std::string_view name) {
    return std::ranges::find(data.fields(), name, &ModuleField::name) != data.fields().end();
  };
  for (const Range& range : kRanges)
    if (has(range.begin) && has(range.end))
      check.expect(data.value(range.begin) <= data.value(range.end), [&] {
        return fmt::format("{} is {:#x}, {} is {:#x}", range.begin, data.value(range.begin),
                           range.end, data.value(range.end));
      });
  return check;
}

Check check_bounds(const Module& module) {
  Check check{"moduledata has the bounds of functab"};
  auto expect = [&](std::string_view field, uint64_t pc) {
    // A pc without an address counts as 0, which no field has.
    uint64_t address = to_integer(module.address_of(pc).value_or(ImageAddress{0}));
    uint64_t found = module.data->value(field);
    check.expect(found == address,
                 [&] { return fmt::format("{} is {:#x}, not {:#x}", field, found, address); });
  };
  expect("minpc", module.table.entry(0));
  expect("maxpc", module.table.entry(module.table.function_count()));
  return check;
}

Check check_index(const Module& module) {
  constexpr uint64_t kBucketBytes = 20;
  constexpr uint64_t kBucketCode = 4096;
  constexpr uint64_t kPartCode = 256;
  Check check{"findfunctab leads to the function"};
  const Pclntab& table = module.table;
  ImageAddress address{module.data->value("findfunctab")};
  Bytes index = module.image->loaded_from(address).value_or(Bytes{});
  // A bucket is a u32 base and 16 bytes, each for 256 bytes of code (check.h): one look for
  // each of these, as the index has no finer grain.
  uint64_t begin = table.entry(0);
  uint64_t end = table.entry(table.function_count());
  for (uint64_t pc = begin; pc < end; pc += kPartCode) {
    uint64_t bucket = (pc - begin) / kBucketCode * kBucketBytes;
    uint64_t part = (pc - begin) % kBucketCode / kPartCode;
    auto base = load<uint32_t>(index, bucket, table.order());
    auto offset = load<uint8_t>(index, bucket + 4 + part);
    uint64_t found = uint64_t{base.value_or(0)} + offset.value_or(0);
    uint32_t function = table.find(pc).value_or(0);
    // The runtime goes on from where the index leads, so it may lead to a function before, but
    // to none behind. Functions without code share an entry.
    bool leads =
        found <= function && table.entry(static_cast<uint32_t>(found)) == table.entry(function);
    check.expect(base && offset && leads, [&] {
      return fmt::format("pc {:#x} leads to {}, not {}", pc, found, function);
    });
    if (!base || !offset)  // and so on up to the end, which need not be near
      break;
  }
  return check;
}

}  // namespace

std::vector<Check> check_tables(const Module& module) {
  std::vector<Check> checks = {check_file_names(module.table)};
  if (module.table.format() >= Format::kGo1_16)
    checks.push_back(
        check_units(module, module.image->loaded_from(module.table_address).value_or(Bytes{})));
  if (!module.data)
    return checks;
  for (const Check& check :
       {check_places(module), check_slices(*module.data), check_ranges(*module.data),
        check_bounds(module), check_index(module)})
    checks.push_back(check);
  return checks;
}

}  // namespace gosym::go
