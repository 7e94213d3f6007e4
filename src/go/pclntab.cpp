#include "go/pclntab.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "base/reader.h"

// parse() reads the header and divides the bytes into tables, by their offsets from Go 1.16 on
// and by what is known of their order before. Functab is checked as a whole, so that searches
// need no further check; records are read anew at each question, and a damaged one costs its
// function. The rest answers by format: each function that reads a field says in which
// releases it is there.

namespace gosym::go {

namespace {

// The offset that stands for "none" in the table of units and in funcdata.
constexpr uint32_t kNone = 0xffffffff;
// The runtime's own index into a function table has 27 bits to spare at the most.
constexpr uint64_t kMaxFunctions = 1 << 27;

std::string_view text_at(Bytes table, uint64_t offset) {
  return load_cstring(table, offset).value_or("");
}

// The oldest format that has the magic; none if no format has it.
std::optional<Format> format_of(uint32_t magic) {
  switch (magic) {
    case kMagic12:
      return Format::kGo1_2;
    case kMagic116:
      return Format::kGo1_16;
    case kMagic118:
      return Format::kGo1_18;
    case kMagic120:
      return Format::kGo1_20;
    default:
      return std::nullopt;
  }
}

Result<> check_start(const PclntabHeader& header, uint16_t padding, uint8_t pointer_size) {
  if (padding != 0)
    return errorf("header: bytes 4 and 5 are {:#x}, not 0", padding);
  if (header.pointer_size != pointer_size)
    return errorf("header: pointer size is {}, not {} as the image has it", header.pointer_size,
                  pointer_size);
  if (header.quantum != 1 && header.quantum != 2 && header.quantum != 4)
    return errorf("header: instruction quantum is {}, not 1, 2 or 4", header.quantum);
  return Ok{};
}

}  // namespace

std::string_view to_string(Format format) {
  switch (format) {
    case Format::kGo1_2:
      return "Go 1.2 to 1.4";
    case Format::kGo1_5:
      return "Go 1.5 to 1.9";
    case Format::kGo1_10:
      return "Go 1.10 and 1.11";
    case Format::kGo1_12:
      return "Go 1.12";
    case Format::kGo1_13:
      return "Go 1.13 to 1.15";
    case Format::kGo1_16:
      return "Go 1.16 and 1.17";
    case Format::kGo1_18:
      return "Go 1.18 and 1.19";
    case Format::kGo1_20:
      return "Go 1.20 and later";
  }
  assert(false);
  return {};
}

// With `magic` the header's own is not looked at: an obfuscator may have changed it.
Result<Pclntab> Pclntab::parse(Bytes table, ByteOrder order, uint8_t pointer_size,
                               std::optional<uint32_t> magic) {
  Pclntab result;
  result.order_ = order;
  PclntabHeader& header = result.header_;
  Reader in(table, order);
  header.magic = in.u32();
  uint16_t padding = in.u16();
  header.quantum = in.u8();
  header.pointer_size = in.u8();
  header.function_count = in.word(pointer_size);
  if (!in.ok())
    return in.error("header");
  auto format = format_of(magic.value_or(header.magic));
  if (!format)
    return errorf("header: unknown magic {:#x}", header.magic);
  if (auto checked = check_start(header, padding, pointer_size); !checked)
    return std::move(checked).error();

  // The magic alone does not tell the format before Go 1.16: records do, and they are found
  // first.
  result.format_ = *format;
  auto divided =
      *format < Format::kGo1_16 ? result.split_before_116(table) : result.split(table);
  if (!divided)
    return std::move(divided).error();
  if (*format < Format::kGo1_16)
    result.format_ = result.detect_format();
  if (result.has_offsets())
    result.entry_key_ = result.find_entry_key();
  return result;
}

// Divides a table of Go 1.16 or later, whose header has the offsets of its parts.
Result<> Pclntab::split(Bytes table) {
  PclntabHeader& header = header_;
  Reader in(table, order_);
  in.bytes(8u + header.pointer_size);  // parse() has read these
  header.file_count = in.word(header.pointer_size);
  if (has_offsets())
    header.text_start = in.word(header.pointer_size);
  for (uint64_t* word :
       {&header.names, &header.units, &header.files, &header.pc_values, &header.functions})
    *word = in.word(header.pointer_size);
  if (!in.ok())
    return in.error("header");

  // Tables that lie in this order can be divided without a further check of bounds.
  const uint64_t offsets[] = {in.offset(),      header.names,     header.units, header.files,
                              header.pc_values, header.functions, table.size()};
  for (size_t i = 1; i < std::size(offsets); i++)
    if (offsets[i] < offsets[i - 1])
      return errorf("header: table at {:#x} begins before {:#x}", offsets[i], offsets[i - 1]);
  names_ = table.subspan(header.names, header.units - header.names);
  units_ = table.subspan(header.units, header.files - header.units);
  files_ = table.subspan(header.files, header.pc_values - header.files);
  pc_values_ = table.subspan(header.pc_values, header.functions - header.pc_values);
  functab_ = table.subspan(header.functions);
  records_ = functab_;  // whose offsets count from there
  return check_functions();
}

// Likewise of Go 1.2 to 1.15, whose header has none: functab lies right behind it.
Result<> Pclntab::split_before_116(Bytes table) {
  header_.functions = 8u + header_.pointer_size;
  functab_ = table.subspan(header_.functions);
  // All offsets count from the header here, and nothing says where each table ends.
  names_ = pc_values_ = records_ = table;
  if (auto checked = check_functions(); !checked)
    return checked;
  // Behind the pairs and the end of the last function lies the offset of the file table.
  uint64_t end = (2 * header_.function_count + 1) * header_.pointer_size;
  header_.files = load<uint32_t>(functab_, end, order_).value_or(0);
  files_ = tail(table, header_.files);
  header_.file_count = count_files_before_116();
  return Ok{};
}

// Counts the files that there is room for, if the table says that there are more. Up to Go 1.7
// it leaves the last one out (pclntab.h): one more is there if no name begins before the end of
// its offset.
uint64_t Pclntab::count_files_before_116() const {
  uint64_t room = files_.size() / 4;
  uint64_t said = load<uint32_t>(files_, 0, order_).value_or(0);
  if (said == 0 || said >= room)
    return std::min(said, room);
  uint64_t end = header_.files + (said + 1) * 4;
  for (uint64_t i = 1; i <= said; i++)
    if (load<uint32_t>(files_, i * 4, order_).value_or(0) < end)
      return said;
  return said + 1;
}

namespace {

// The first of `count` pairs of words whose first word is larger than that of the next pair;
// none if they are in order. On its own because all of it is looked at before the first answer:
// with Pclntab::entry() it takes four times as long, half a millisecond for 150,000 functions.
template <class Word>
std::optional<uint64_t> find_disorder(Bytes pairs, uint64_t count, ByteOrder order) {
  Word last = 0;
  for (uint64_t i = 0; i <= count; i++) {
    Word entry = load<Word>(pairs, i * 2 * sizeof(Word), order).value_or(0);
    if (entry < last)
      return i - 1;
    last = entry;
  }
  return std::nullopt;
}

}  // namespace

// A search needs the entries in order; a sorted table also is one that was not hit by chance.
Result<> Pclntab::check_functions() {
  uint64_t count = header_.function_count;
  // A pair for each function, and the end of the last.
  if (count == 0 || count >= kMaxFunctions || functab_.size() < pc_size() ||
      count > (functab_.size() - pc_size()) / (2u * pc_size()))
    return errorf("function table: {} functions do not fit in {:#x} bytes", count,
                  functab_.size());
  auto disorder = pc_size() == 4 ? find_disorder<uint32_t>(functab_, count, order_)
                                 : find_disorder<uint64_t>(functab_, count, order_);
  if (!disorder)
    return Ok{};
  // The place of the disorder is told, as a damaged file often begins to differ there.
  auto i = static_cast<uint32_t>(*disorder);
  return errorf("function table: entry {} at {:#x} lies after the next, {:#x}", i, entry(i),
                entry(i + 1));
}

// Go 1.2 to 1.15 share a magic; only what the records hold tells them apart:
//   1.5 to 1.9 have a constant in place of the frame size;
//   1.12 to 1.15 end the fixed part with single bytes, which as an integer are far too many
//   funcdata; 1.10 and 1.11 have function ids in place of the frame size, of which there are
//   few; 1.12 numbers pcdata differently from 1.13 (pcdata_name): of functions with three the
//   second is that of inlined calls, which most do not have, where 1.13 has that of stack maps.
Format Pclntab::detect_format() const {
  // Constant that the compilers of Go 1.5 to 1.9 wrote in place of the frame size.
  constexpr uint32_t kFrameMark = 0x01234567;
  constexpr uint32_t kMaxId = 24;
  bool are_marked = true;
  bool are_ids = true;
  bool has_bytes = false;
  uint32_t with_three = 0;
  uint32_t without_second = 0;
  // The magic is the same from Go 1.2 to 1.15. All records are read as if they were of one
  // shape, and what the fields would have to be tells which one it is.
  for (uint32_t i = 0; i < function_count(); i++) {
    Reader in(tail(records_, record_offset(i)), order_);
    in.word(pc_size());
    in.bytes(8);  // the name, and the size of arguments
    uint32_t frame = in.u32();
    in.bytes(12);  // pcsp, pcfile, pcln
    uint32_t pcdata = in.u32();
    uint32_t funcdata = in.u32();
    in.u32();  // the first of pcdata
    uint32_t second = in.u32();
    // A record at the end of the table may be cut off: it tells nothing.
    if (!in.ok())
      continue;
    are_marked &= frame == kFrameMark;
    are_ids &= frame <= kMaxId;
    has_bytes |= funcdata > 0xffffff;
    with_three += pcdata == 3;
    without_second += pcdata == 3 && second == 0;
  }
  // The tests go from what only one format can have to what several could.
  if (are_marked)
    return Format::kGo1_5;
  if (has_bytes)
    return without_second * 2 > with_three ? Format::kGo1_12 : Format::kGo1_13;
  return are_ids ? Format::kGo1_10 : Format::kGo1_2;
}

// An obfuscator (garble) scrambles the entries of the records: entry ^ (name offset * key). The
// key follows from one record with an odd name offset, and then has to fit the others too. 0 if
// nothing is scrambled.
uint32_t Pclntab::find_entry_key() const {
  constexpr uint32_t kEnough = 64;
  uint32_t key = 0;
  uint32_t fitting = 0;
  for (uint32_t i = 0; i < function_count() && fitting < kEnough; i++) {
    Reader in(tail(records_, record_offset(i)), order_);
    uint32_t difference = in.u32() ^ static_cast<uint32_t>(entry(i));
    uint32_t name_offset = in.u32();
    if (!in.ok())
      continue;
    if (key == 0) {
      if (difference == 0 && name_offset != 0)
        return 0;
      if (name_offset % 2 == 0)  // 0, as that of the first function, leaves the entry as it is
        continue;
      // The inverse of an odd number modulo 2^32, by Newton: each step doubles the right bits.
      uint32_t inverse = name_offset;
      for (int step = 0; step < 4; step++)
        inverse *= 2 - name_offset * inverse;
      key = difference * inverse;
    }
    if (difference != name_offset * key)
      return 0;
    fitting++;
  }
  return fitting > 1 ? key : 0;  // a single record fits any key
}

uint64_t Pclntab::functab_word(uint64_t index) const {
  if (pc_size() == 4) {
    auto word = load<uint32_t>(functab_, index * 4, order_);
    assert(word);
    return *word;
  }
  auto word = load<uint64_t>(functab_, index * 8, order_);
  assert(word);
  return *word;
}

uint64_t Pclntab::entry(uint32_t index) const {
  assert(index <= header_.function_count);
  return functab_word(uint64_t{index} * 2);
}

uint64_t Pclntab::record_offset(uint32_t index) const {
  return functab_word(uint64_t{index} * 2 + 1);
}

bool Pclntab::is_hole(uint32_t index) const {
  // The linker writes a record of all ones for code between that of Go which is not Go's.
  uint64_t all_ones = pc_size() == 4 ? UINT32_MAX : UINT64_MAX;
  return !has_offsets() && record_offset(index) == all_ones;
}

namespace {

// The last of `count` pairs of words whose first word is not above `pc`; find() has seen to it
// that the first pair's is not. On its own for the width of the words, as find_disorder().
template <class Word>
uint32_t find_last(Bytes pairs, uint32_t count, uint64_t pc, ByteOrder order) {
  uint32_t low = 0;
  uint32_t high = count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    Word entry = load<Word>(pairs, uint64_t{middle} * 2 * sizeof(Word), order).value_or(0);
    (entry <= pc ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::optional<uint32_t> Pclntab::find(uint64_t pc) const {
  if (pc < entry(0) || pc >= entry(function_count()))
    return std::nullopt;
  return pc_size() == 4 ? find_last<uint32_t>(functab_, function_count(), pc, order_)
                        : find_last<uint64_t>(functab_, function_count(), pc, order_);
}

std::optional<Function> Pclntab::function(uint32_t index) const {
  Function function;
  function.entry = entry(index);
  function.end = entry(index + 1);
  function.offset = record_offset(index);

  // The fields up to the number of pcdata are the same in all releases; what follows depends
  // on the format.
  Reader in(tail(records_, function.offset), order_);
  uint64_t recorded_entry = in.word(pc_size());
  function.name_offset = in.u32();
  function.arguments_size = static_cast<int32_t>(in.u32());
  uint32_t third = in.u32();  // by the release a frame size, an id or deferreturn
  function.pcsp = in.u32();
  function.pcfile = in.u32();
  function.pcln = in.u32();
  uint32_t pcdata_count = in.u32();
  uint32_t funcdata_count = 0;
  if (format_ >= Format::kGo1_12)
    function.deferreturn = third;
  if (format_ >= Format::kGo1_16)
    function.unit = in.u32();
  if (format_ >= Format::kGo1_20)
    function.start_line = in.u32();
  if (format_ >= Format::kGo1_12) {
    function.id = in.u8();
    function.flags = in.u8();
    in.u8();
    funcdata_count = in.u8();
  } else {
    function.id = static_cast<uint8_t>(format_ == Format::kGo1_10 ? third : 0);
    funcdata_count = in.u32();
  }
  function.pcdata = in.bytes(uint64_t{pcdata_count} * 4);
  // Records are aligned to words, so that the offset in the record is as good as the address.
  if (!has_offsets() && funcdata_count > 0 && in.offset() % header_.pointer_size != 0)
    in.u32();
  function.funcdata = in.bytes(uint64_t{funcdata_count} * pc_size());
  // Go 1.2 gives functions without tables the same offset for all three.
  if (format_ == Format::kGo1_2 && function.pcsp == function.pcfile &&
      function.pcfile == function.pcln)
    function.pcsp = function.pcfile = function.pcln = 0;
  function.size = in.offset();
  // A record begins with its entry: if it is another, offsets of the table are damaged. The key
  // is 0 unless an obfuscator has scrambled entries.
  if (!in.ok() ||
      recorded_entry != (function.entry ^ uint32_t{function.name_offset * entry_key_}))
    return std::nullopt;
  return function;
}

std::string_view Pclntab::name(uint32_t name_offset) const {
  return text_at(names_, name_offset);
}

std::string_view Pclntab::file(const Function& function, int32_t number) const {
  if (format_ < Format::kGo1_16) {
    auto offset = load<uint32_t>(files_, uint64_t{static_cast<uint32_t>(number)} * 4, order_);
    // Number 0 is no file in these formats.
    bool is_one = number > 0 && static_cast<uint32_t>(number) < header_.file_count && offset;
    return is_one ? text_at(names_, *offset) : std::string_view();
  }
  if (function.unit == kNoUnit || number < 0)
    return {};
  // A unit's files are numbered from its first on.
  uint64_t index = uint64_t{function.unit} + static_cast<uint32_t>(number);
  uint32_t offset = load<uint32_t>(units_, index * 4, order_).value_or(kNone);
  return offset == kNone ? std::string_view() : text_at(files_, offset);
}

std::vector<std::string_view> Pclntab::files() const {
  std::vector<std::string_view> result;
  // The offset with number 0 is the count, in these formats.
  if (format_ < Format::kGo1_16) {
    for (uint64_t i = 1; i < header_.file_count; i++)
      result.push_back(text_at(names_, load<uint32_t>(files_, i * 4, order_).value_or(kNone)));
    return result;
  }
  Reader in(files_, order_);
  for (uint64_t i = 0; i < header_.file_count; i++) {
    std::string_view file = in.cstring();
    if (!in.ok())
      break;
    result.push_back(file);
  }
  return result;
}

std::optional<int32_t> Pclntab::value(const Function& function, uint32_t table,
                                      uint64_t pc) const {
  return PcValueWalk().value(*this, function, table, pc);
}

std::optional<uint32_t> Pclntab::pcdata_table(const Function& function, uint32_t index) const {
  auto table = load<uint32_t>(function.pcdata, uint64_t{index} * 4, order_);
  return table == 0u ? std::nullopt : table;
}

std::optional<uint64_t> Pclntab::funcdata(const Function& function, uint32_t index) const {
  if (has_offsets()) {
    auto offset = load<uint32_t>(function.funcdata, uint64_t{index} * 4, order_);
    return offset == kNone ? std::nullopt : std::optional<uint64_t>(offset);
  }
  Reader in(tail(function.funcdata, uint64_t{index} * header_.pointer_size), order_);
  uint64_t address = in.word(header_.pointer_size);
  return address == 0 ? std::nullopt : std::optional(address);
}

uint32_t Pclntab::pcdata_count(const Function& function) const {
  return static_cast<uint32_t>(function.pcdata.size() / 4);
}

uint32_t Pclntab::funcdata_count(const Function& function) const {
  return static_cast<uint32_t>(function.funcdata.size() / pc_size());
}

std::optional<int32_t> PcValueWalk::value(const Pclntab& table, const Function& function,
                                          uint32_t offset, uint64_t pc) {
  uint64_t distance = pc - function.entry;
  if (offset == 0 || distance > UINT32_MAX)
    return std::nullopt;
  // A copy, which compilers keep in registers from row to row: a byte that is read might be
  // part of a member.
  bool goes_on = offset == offset_ && distance >= rows_.begin();
  PcValueRows rows = goes_on ? rows_ : table.rows(offset);
  auto value = rows.value_at(static_cast<uint32_t>(distance));
  rows_ = rows;
  offset_ = value ? offset : 0;
  return value;
}

uint64_t code_size(const Pclntab& table, const Function& function) {
  uint64_t size = function.end - function.entry;
  if (function.pcfile == 0)
    return size;
  // The end of a function is where the next one begins, padding included; its files end with
  // its code.
  uint64_t code_end = 0;
  PcValueRows rows = table.rows(function.pcfile);
  while (code_end < size) {
    auto row = rows.next();
    if (!row)
      break;
    code_end = row->end;
  }
  return code_end == 0 ? size : std::min(size, code_end);
}

uint64_t code_size(const Pclntab& table, uint32_t index) {
  auto function = table.function(index);
  return function ? code_size(table, *function) : table.entry(index + 1) - table.entry(index);
}

std::optional<int32_t> PcTable::at(uint32_t pc) const {
  auto row = std::ranges::upper_bound(rows, pc, {}, &PcValue::end);
  // Rows are in order, and each ends where the next begins.
  return row == rows.end() ? std::nullopt : std::optional(row->value);
}

PcTable read_pc_table(const Pclntab& pclntab, const Function& function, uint32_t table,
                      size_t max_rows) {
  PcTable result;
  PcValueRows rows = pclntab.rows(table);
  while (auto row = rows.next()) {
    result.end = row->end;
    // A row that goes beyond the function belongs to no table of it.
    if (row->end > function.end - function.entry || result.rows.size() == max_rows)
      return result;
    result.rows.push_back(*row);
  }
  result.is_whole = rows.has_ended();
  return result;
}

namespace {

constexpr std::string_view kWords118[] = {"file_count", "text_start", "names",  "units",
                                          "files",      "pc_values",  "functab"};
constexpr std::string_view kWords116[] = {"file_count", "names",     "units",
                                          "files",      "pc_values", "functab"};

std::span<const std::string_view> words_of(uint32_t magic) {
  switch (magic) {
    case kMagic116:
      return kWords116;
    case kMagic118:
    case kMagic120:
      return kWords118;
    default:
      return {};
  }
}

// Adds the place of the file table, a u32 behind a functab of so many functions, and the u32
// there that counts the files: the form of Go 1.2 to 1.15.
void add_file_table(Bytes table, ByteOrder order, uint8_t pointer_size, uint64_t count,
                    std::vector<HeaderField>& fields) {
  // The count is not checked against the table yet: the product must not wrap around.
  uint64_t pairs = count < table.size() ? 2 * count + 1 : table.size();
  uint64_t end = 8u + pointer_size + pairs * pointer_size;
  auto files = load<uint32_t>(table, end, order);
  if (!files)
    return;
  fields.push_back({"files", end, *files});
  if (auto file_count = load<uint32_t>(table, *files, order))
    fields.push_back({"file_count", *files, *file_count, /*is_count=*/true});
}

}  // namespace

std::vector<HeaderField> header_fields(Bytes table, ByteOrder order, uint8_t pointer_size,
                                       uint32_t magic) {
  std::vector<HeaderField> fields;
  Reader in(table, order);
  auto add = [&](std::string_view name, auto read) {
    HeaderField field{.name = name, .offset = in.offset(), .value = read()};
    field.is_count = name.ends_with("_count") || name == "quantum" || name == "pointer_size";
    if (in.ok())
      fields.push_back(field);
    return field.value;
  };
  auto word = [&] { return in.word(pointer_size); };
  add("magic", [&] { return in.u32(); });
  add("padding", [&] { return in.u16(); });
  add("quantum", [&] { return in.u8(); });
  add("pointer_size", [&] { return in.u8(); });
  uint64_t function_count = add("function_count", word);
  for (std::string_view name : words_of(magic))
    add(name, word);
  if (magic == kMagic12 && in.ok())
    add_file_table(table, order, pointer_size, function_count, fields);
  return fields;
}

namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kPcdata15[] = {"StackMapIndex", "InlTreeIndex", "RegMapIndex"};
constexpr std::string_view kPcdata113[] = {"RegMapIndex or UnsafePoint", "StackMapIndex",
                                           "InlTreeIndex"};
constexpr std::string_view kPcdata116[] = {"UnsafePoint", "StackMapIndex", "InlTreeIndex",
                                           "ArgLiveIndex", "PanicBounds"};
constexpr std::string_view kFuncdata15[] = {"ArgsPointerMaps", "LocalsPointerMaps", "InlTree",
                                            "RegPointerMaps", "StackObjects"};
constexpr std::string_view kFuncdata113[] = {"ArgsPointerMaps", "LocalsPointerMaps",
                                             "RegPointerMaps",  "StackObjects",
                                             "InlTree",         "OpenCodedDeferInfo"};
constexpr std::string_view kFuncdata116[] = {
    "ArgsPointerMaps",    "LocalsPointerMaps", "StackObjects", "InlTree",
    "OpenCodedDeferInfo", "ArgInfo",           "ArgLiveInfo",  "WrapInfo"};

std::string_view name_at(Names names, uint32_t index) {
  return index < names.size() ? names[index] : std::string_view();
}

Names choose(Format format, Names before_113, Names before_116, Names after) {
  if (format == Format::kGo1_2)
    return {};
  if (format < Format::kGo1_13)
    return before_113;
  return format < Format::kGo1_16 ? before_116 : after;
}

}  // namespace

std::string_view pcdata_name(Format format, uint32_t index) {
  return name_at(choose(format, kPcdata15, kPcdata113, kPcdata116), index);
}

std::string_view funcdata_name(Format format, uint32_t index) {
  return name_at(choose(format, kFuncdata15, kFuncdata113, kFuncdata116), index);
}

uint8_t learn_wrapper_id(const Pclntab& table) {
  if (table.format() < Format::kGo1_12)
    return 0;
  // Two functions might share an id by an oversight of some release, three are a kind. Tables
  // have a wrapper every few dozen functions, so that this ends early.
  constexpr int kEnough = 3;
  std::array<int, 256> counts{};
  uint8_t largest = 0;
  std::string_view last;  // that has the largest
  for (uint32_t i = 0; i < table.function_count(); i++) {
    auto function = table.function(i);
    if (!function || function->id == 0)
      continue;
    if (function->id >= largest) {
      largest = function->id;
      last = table.name(function->name_offset);
    }
    if (++counts[function->id] == kEnough)
      return function->id;
  }
  // A small module, of those that share one runtime, may have but one: outside of the runtime
  // no other function has an id. The number is at least 20 in all releases (1.12: 20, 1.27:
  // 23).
  bool is_alone = largest >= 20 && !last.starts_with("runtime.");
  return counts[largest] > 1 || is_alone ? largest : uint8_t{0};
}

FunctionKind kind_of(const Pclntab& table, uint8_t wrapper_id, uint8_t id,
                     std::string_view name, std::string_view file) {
  // The id of wrappers is learned from Go 1.12 on; before, their file tells them.
  bool has_ids = table.format() > Format::kGo1_10;
  if (has_ids ? id != 0 && id == wrapper_id
              : table.format() == Format::kGo1_10 && file == "<autogenerated>")
    return FunctionKind::kWrapper;
  return kind_of_name(name);
}

FunctionKind kind_of_name(std::string_view name) {
  if (!name.starts_with("runtime."))
    return FunctionKind::kNormal;
  name.remove_prefix(8);
  if (name == "gopanic" || name == "panicwrap")
    return FunctionKind::kPanic;
  if (name == "sigpanic" || name == "sigpanic0")
    return FunctionKind::kSigpanic;
  if (name == "asyncPreempt" || name.starts_with("debugCallV"))
    return FunctionKind::kInjected;
  return FunctionKind::kNormal;
}

}  // namespace gosym::go
