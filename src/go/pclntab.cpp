#include "go/pclntab.h"

#include <cassert>

#include "base/reader.h"

namespace gosym::go {

namespace {

constexpr uint32_t kNone = 0xffffffff;

std::string_view text_at(Bytes table, uint64_t offset) {
  return load_cstring(table, offset).value_or("");
}

Result<> check_header(const PclntabHeader& header, uint16_t padding, uint8_t pointer_size,
                      size_t size) {
  if (header.magic != kMagic118 && header.magic != kMagic120)
    return errorf("header: unknown magic {:#x}", header.magic);
  if (padding != 0)
    return errorf("header: bytes 4 and 5 are {:#x}, not 0", padding);
  if (header.pointer_size != pointer_size)
    return errorf("header: pointer size is {}, not {} as the image has it", header.pointer_size,
                  pointer_size);
  if (header.quantum != 1 && header.quantum != 2 && header.quantum != 4)
    return errorf("header: instruction quantum is {}, not 1, 2 or 4", header.quantum);

  const uint64_t offsets[] = {
      8u + 8u * pointer_size, header.names,     header.units, header.files,
      header.pc_values,       header.functions, size};
  for (size_t i = 1; i < std::size(offsets); i++)
    if (offsets[i] < offsets[i - 1])
      return errorf("header: table at {:#x} begins before {:#x}", offsets[i], offsets[i - 1]);
  return Ok{};
}

}  // namespace

Result<Pclntab> Pclntab::parse(Bytes table, ByteOrder order, uint8_t pointer_size) {
  Pclntab result;
  result.order_ = order;
  PclntabHeader& header = result.header_;
  Reader in(table, order);
  header.magic = in.u32();
  uint16_t padding = in.u16();
  header.quantum = in.u8();
  header.pointer_size = in.u8();
  for (uint64_t* word :
       {&header.function_count, &header.file_count, &header.text_start, &header.names,
        &header.units, &header.files, &header.pc_values, &header.functions})
    *word = in.word(pointer_size);
  if (!in.ok())
    return in.error("header");
  if (auto checked = check_header(header, padding, pointer_size, table.size()); !checked)
    return std::move(checked).error();

  result.names_ = table.subspan(header.names, header.units - header.names);
  result.units_ = table.subspan(header.units, header.files - header.units);
  result.files_ = table.subspan(header.files, header.pc_values - header.files);
  result.pc_values_ = table.subspan(header.pc_values, header.functions - header.pc_values);
  result.functions_ = table.subspan(header.functions);
  if (auto checked = result.check_functions(); !checked)
    return std::move(checked).error();
  return result;
}

// A search needs the entries in order; a sorted table also is one that was not hit by chance.
Result<> Pclntab::check_functions() {
  uint64_t count = header_.function_count;
  // One pair of words for each function, and the end of the last.
  if (count == 0 || functions_.size() < 4 || count > (functions_.size() - 4) / 8)
    return errorf("function table: {} functions do not fit in {:#x} bytes", count,
                  functions_.size());
  for (uint32_t i = 0; i < count; i++)
    if (entry(i) > entry(i + 1))
      return errorf("function table: entry {} at {:#x} lies after the next, {:#x}", i, entry(i),
                    entry(i + 1));
  return Ok{};
}

uint32_t Pclntab::functab_word(uint64_t index) const {
  auto word = load<uint32_t>(functions_, index * 4, order_);
  assert(word);
  return *word;
}

uint32_t Pclntab::entry(uint32_t index) const {
  assert(index <= header_.function_count);
  return functab_word(uint64_t{index} * 2);
}

std::optional<uint32_t> Pclntab::find(uint32_t pc) const {
  if (pc < entry(0) || pc >= entry(function_count()))
    return std::nullopt;
  // The last function that begins at or before pc.
  uint32_t low = 0;
  uint32_t high = function_count();
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    (entry(middle) <= pc ? low : high) = middle;
  }
  return low;
}

std::optional<Function> Pclntab::function(uint32_t index) const {
  Function function;
  function.entry = entry(index);
  function.end = entry(index + 1);

  Reader in(tail(functions_, functab_word(uint64_t{index} * 2 + 1)), order_);
  uint32_t record_entry = in.u32();
  function.name_offset = in.u32();
  in.u32();  // size of arguments
  in.u32();  // deferreturn
  function.pcsp = in.u32();
  function.pcfile = in.u32();
  function.pcln = in.u32();
  uint32_t pcdata_count = in.u32();
  function.unit = in.u32();
  if (has_start_lines())
    function.start_line = in.u32();
  function.id = in.u8();
  function.flags = in.u8();
  in.u8();
  uint8_t funcdata_count = in.u8();
  function.pcdata = in.bytes(uint64_t{pcdata_count} * 4);
  function.funcdata = in.bytes(uint64_t{funcdata_count} * 4);
  if (!in.ok() || record_entry != function.entry)
    return std::nullopt;
  return function;
}

std::string_view Pclntab::name(uint32_t name_offset) const {
  return text_at(names_, name_offset);
}

std::string_view Pclntab::file(const Function& function, int32_t number) const {
  if (function.unit == kNone || number < 0)
    return {};
  uint64_t index = uint64_t{function.unit} + static_cast<uint32_t>(number);
  uint32_t offset = load<uint32_t>(units_, index * 4, order_).value_or(kNone);
  return offset == kNone ? std::string_view() : text_at(files_, offset);
}

std::optional<int32_t> Pclntab::value(const Function& function, uint32_t table,
                                      uint32_t pc) const {
  if (table == 0)
    return std::nullopt;
  return value_at(rows(table), pc - function.entry);
}

std::optional<uint32_t> Pclntab::pcdata_table(const Function& function, uint32_t index) const {
  auto table = load<uint32_t>(function.pcdata, uint64_t{index} * 4, order_);
  return table == 0u ? std::nullopt : table;
}

std::optional<uint32_t> Pclntab::funcdata_offset(const Function& function,
                                                 uint32_t index) const {
  auto offset = load<uint32_t>(function.funcdata, uint64_t{index} * 4, order_);
  return offset == kNone ? std::nullopt : offset;
}

uint32_t code_size(const Pclntab& table, uint32_t index) {
  uint32_t size = table.entry(index + 1) - table.entry(index);
  auto function = table.function(index);
  if (!function || function->pcln == 0)
    return size;
  uint32_t code_end = 0;
  PcValueRows rows = table.rows(function->pcln);
  while (code_end < size) {
    auto row = rows.next();
    if (!row)
      break;
    code_end = row->end;
  }
  return code_end == 0 ? size : std::min(size, code_end);
}

}  // namespace gosym::go
