#include "dwarf/line_table.h"

#include <dwarf.h>
#include <fmt/core.h>

#include <algorithm>

#include "base/reader.h"

// A table is read in one pass: header, names, then the program, which appends rows. A sequence
// becomes part of the table when its end is read; until then its rows lie behind `first_row_`
// and can be dropped. Look-ups search the sequences first and the rows of one of them second.
// Limits on rows, names and the bytes of a path bound the memory that a damaged table can ask
// for, and `left` bounds the time that all tables of a file can take together.
//
// A Reader that has run past its end gives 0 and empty texts from then on, and ok() is false:
// loops over texts end by that, and what was read is believed only after ok() was asked.

namespace gosym::dwarf {

namespace {

// Several times what the largest units of programs that were optimized as a whole have.
constexpr size_t kMaxRows = 1 << 24;
constexpr size_t kMaxFiles = 1 << 20;
// Linux takes no longer path (PATH_MAX).
constexpr size_t kMaxPath = 4096;

// A value of an entry: a text or a number, by its form.
struct Value {
  std::string_view text;
  uint64_t number = 0;
};

struct Format {
  uint64_t content = 0;  // DW_LNCT_*
  uint64_t form = 0;     // DW_FORM_*
};

// One that is too long for a path is cut where it still is.
std::string_view text_at(Bytes section, uint64_t offset) {
  Bytes rest = tail(section, offset);
  std::string_view text = as_text(rest.first(std::min(rest.size(), kMaxPath + 1)));
  size_t end = text.find('\0');
  if (end == std::string_view::npos)
    // No end and too long a text is cut; no end though the section ends is damage.
    return text.size() > kMaxPath ? text : "";
  return text.substr(0, end);
}

}  // namespace

class LineTableReader {
public:
  LineTableReader(const LineSections& sections, const std::function<bool(uint64_t)>& is_code)
      : sections_(sections), is_code_(is_code) {}

  std::optional<LineTable> read(uint64_t offset, uint64_t& left);

private:
  uint64_t read_offset(Reader& in) const { return in.word(offset_size_); }
  Value read_value(Reader& in, uint64_t form) const;
  bool read_header(Reader& in);
  void read_names(Reader& in);
  LineTable::File read_file(Reader& in) const;
  template <class Add>
  void read_entries(Reader& in, Add add);
  void run(Reader in);
  void run_extended(Reader& in);
  void run_standard(Reader& in, uint8_t opcode);
  void run_special(uint8_t opcode);
  void advance(uint64_t instructions) { row_.address += instructions * shortest_instruction_; }
  void end_sequence();

  const LineSections& sections_;
  const std::function<bool(uint64_t)>& is_code_;
  uint8_t offset_size_ = 4;
  uint16_t version_ = 0;
  uint8_t shortest_instruction_ = 1;
  int8_t line_base_ = 0;
  uint8_t line_range_ = 1;
  uint8_t opcode_base_ = 1;
  Bytes operand_counts_;
  LineTable::Row row_{0, 1, 1};
  size_t first_row_ = 0;  // of the sequence
  LineTable table_;
};

std::optional<LineTable> LineTableReader::read(uint64_t offset, uint64_t& left) {
  Reader in(tail(sections_.lines, offset), sections_.order);
  uint64_t size = in.u32();
  if (size == 0xffffffff) {
    offset_size_ = 8;
    size = in.u64();
  }
  Bytes bytes = in.bytes(size);
  if (!in.ok() || size > left)
    return std::nullopt;
  // Units may share a table, or say that they do: each reading is paid for.
  left -= size;

  Reader body(bytes, sections_.order);
  version_ = body.u16();
  if (version_ < 2 || version_ > 5)
    return std::nullopt;
  if (version_ == 5)
    body.u16();  // sizes of addresses and segment selectors
  // The header says how long it is: fields that a later version or a vendor adds are passed
  // over, and the program begins behind it in any case.
  Reader header(body.bytes(read_offset(body)), sections_.order);
  if (!body.ok() || !read_header(header))
    return std::nullopt;
  run(body);
  // Sequences are sorted, not rows: a discarded one, at address 0, then hides nothing.
  std::ranges::stable_sort(table_.sequences_, {}, &LineTable::Sequence::begin);
  return std::move(table_);
}

bool LineTableReader::read_header(Reader& in) {
  shortest_instruction_ = in.u8();
  if (version_ >= 4)
    in.u8();  // is 1 where instructions are not bundled
  in.u8();    // is_stmt
  line_base_ = static_cast<int8_t>(in.u8());
  line_range_ = in.u8();
  opcode_base_ = in.u8();
  // Special opcodes divide by the one and count from the other.
  if (line_range_ == 0 || opcode_base_ == 0)
    return false;
  operand_counts_ = in.bytes(opcode_base_ - 1u);
  if (version_ < 5) {
    read_names(in);
  } else {
    read_entries(
        in, [this](std::string_view text, uint64_t) { table_.directories_.push_back(text); });
    read_entries(in, [this](std::string_view text, uint64_t directory) {
      table_.files_.push_back({text, directory});
    });
  }
  return in.ok();
}

void LineTableReader::read_names(Reader& in) {
  // Numbers begin with 1 before DWARF 5. Number 0 of directories is that of the compiler; of
  // files it names none.
  table_.directories_.emplace_back();
  table_.files_.emplace_back();
  while (table_.directories_.size() < kMaxFiles) {
    std::string_view directory = in.cstring();
    if (directory.empty())
      break;
    table_.directories_.push_back(directory);
  }
  while (table_.files_.size() < kMaxFiles) {
    LineTable::File file = read_file(in);
    if (file.name.empty())
      break;
    table_.files_.push_back(file);
  }
}

// No name if it is none but the end of all.
LineTable::File LineTableReader::read_file(Reader& in) const {
  LineTable::File file;
  file.name = in.cstring();
  if (file.name.empty())
    return {};
  file.directory = in.uvarint64();
  in.uvarint64();  // time
  in.uvarint64();  // size
  return file;
}

// Reads one of the two lists of DWARF 5, and calls `add(path, number of its directory)` for
// each of its entries.
template <class Add>
void LineTableReader::read_entries(Reader& in, Add add) {
  std::vector<Format> formats(in.u8());
  for (Format& format : formats) {
    format.content = in.uvarint64();
    format.form = in.uvarint64();
  }
  uint64_t count = in.uvarint64();
  // Each takes a byte at the least.
  if (count > std::min(in.remaining(), kMaxFiles))
    // The reader's error is sticky, so that a read of more than there is marks it as damaged.
    in.bytes(UINT64_MAX);  // fails
  // Entries have whatever columns the formats list, checksums and texts of sources included.
  for (uint64_t i = 0; i < count && in.ok(); i++) {
    Value path;
    Value directory;
    for (const Format& format : formats) {
      Value value = read_value(in, format.form);
      if (format.content == DW_LNCT_path)
        path = value;
      else if (format.content == DW_LNCT_directory_index)
        directory = value;
    }
    add(path.text, directory.number);
  }
}

// Fails the reader if no such form is known: its size is not, either.
Value LineTableReader::read_value(Reader& in, uint64_t form) const {
  // Forms that compilers use for paths, directory numbers, times, sizes and MD5 sums. A number
  // for a text, or the reverse, reads as empty or 0.
  switch (form) {
    case DW_FORM_string:
      return {in.cstring(), 0};
    case DW_FORM_line_strp:
      return {text_at(sections_.line_texts, read_offset(in)), 0};
    case DW_FORM_strp:
      return {text_at(sections_.texts, read_offset(in)), 0};
    case DW_FORM_udata:
      return {{}, in.uvarint64()};
    case DW_FORM_data1:
      return {{}, in.u8()};
    case DW_FORM_data2:
      return {{}, in.u16()};
    case DW_FORM_data4:
      return {{}, in.u32()};
    case DW_FORM_data8:
      return {{}, in.u64()};
    case DW_FORM_data16:
      in.bytes(16);
      return {};
    case DW_FORM_block:
      in.bytes(in.uvarint64());
      return {};
    default:
      in.bytes(UINT64_MAX);
      return {};
  }
}

void LineTableReader::run(Reader in) {
  while (in.ok() && in.remaining() > 0 && table_.rows_.size() < kMaxRows) {
    uint8_t opcode = in.u8();
    if (opcode >= opcode_base_)
      run_special(opcode);
    else if (opcode == 0)
      run_extended(in);
    else
      run_standard(in, opcode);
  }
  // A sequence without end_sequence is damaged: its rows are dropped.
  table_.rows_.resize(first_row_);
}

void LineTableReader::run_special(uint8_t opcode) {
  auto adjusted = static_cast<uint8_t>(opcode - opcode_base_);
  // One byte moves both address and line: most of a program consists of these.
  advance(adjusted / line_range_);
  row_.line += static_cast<uint32_t>(line_base_ + adjusted % line_range_);
  table_.rows_.push_back(row_);
}

void LineTableReader::run_extended(Reader& in) {
  uint64_t size = in.uvarint64();
  // Its operands have a reader of their own. What they leave unread, or lack, does not move
  // the program away from where the next opcode is.
  Reader operand(in.bytes(size), sections_.order);
  switch (operand.u8()) {
    case DW_LNE_end_sequence:
      return end_sequence();
    case DW_LNE_set_address:
      // Sizes of addresses are not in headers before DWARF 5: the operand's length tells.
      row_.address = operand.word(operand.remaining() == 4 ? 4 : 8);
      return;
    case DW_LNE_define_file:
      if (table_.files_.size() < kMaxFiles)
        table_.files_.push_back(read_file(operand));
      return;
    default:
      return;
  }
}

void LineTableReader::run_standard(Reader& in, uint8_t opcode) {
  // run() gives opcodes from 1 to below the base here, for each of which the header has a
  // count.
  switch (opcode) {
    case DW_LNS_copy:
      table_.rows_.push_back(row_);
      return;
    case DW_LNS_advance_pc:
      return advance(in.uvarint64());
    case DW_LNS_advance_line:
      row_.line += static_cast<uint32_t>(in.svarint64());
      return;
    case DW_LNS_set_file:
      row_.file = static_cast<uint32_t>(std::min<uint64_t>(in.uvarint64(), UINT32_MAX));
      return;
    case DW_LNS_const_add_pc:
      // A range of 0 was refused when the header was read. The opcode moves the address as far
      // as special opcode 255, which reaches farthest, and makes no row.
      return advance(static_cast<uint8_t>(255 - opcode_base_) / line_range_);
    case DW_LNS_fixed_advance_pc:
      row_.address += in.u16();
      return;
    default:
      // The header tells how many operands an opcode has, so that unknown ones can be passed
      // over.
      for (auto left = std::to_integer<int>(operand_counts_[opcode - 1u]); left > 0; left--)
        in.uvarint64();
  }
}

void LineTableReader::end_sequence() {
  std::span<LineTable::Row> rows = std::span(table_.rows_).subspan(first_row_);
  // Compilers write rows in order, save a few releases of some.
  if (!std::ranges::is_sorted(rows, {}, &LineTable::Row::address))
    std::ranges::stable_sort(rows, {}, &LineTable::Row::address);
  // Empty sequences are dropped, and those that the linker has discarded: they begin where no
  // code is, and could otherwise answer for code that lies behind. `row_` is the state at the
  // end: its address is where the sequence ends.
  if (rows.empty() || rows.front().address >= row_.address || !is_code_(rows.front().address))
    table_.rows_.resize(first_row_);
  else
    table_.sequences_.push_back({rows.front().address, row_.address, first_row_, rows.size()});
  first_row_ = table_.rows_.size();
  row_ = {0, 1, 1};
}

std::optional<LineTable> LineTable::read(const LineSections& sections, uint64_t offset,
                                         const std::function<bool(uint64_t)>& is_code,
                                         uint64_t& left) {
  return LineTableReader(sections, is_code).read(offset, left);
}

const LineTable::Row* LineTable::find(uint64_t address) const {
  auto sequence = std::ranges::upper_bound(sequences_, address, {}, &Sequence::begin);
  // Sequences of sound tables do not overlap: the last that begins before the address is the
  // only one to hold it.
  if (sequence == sequences_.begin() || (--sequence)->end <= address)
    return nullptr;
  auto rows = std::span(rows_).subspan(sequence->first_row, sequence->row_count);
  // A sequence begins with its first row, so that one lies at or before the address.
  // The last of those with the same address counts: the others hold for no byte.
  return &*std::prev(std::ranges::upper_bound(rows, address, {}, &Row::address));
}

void LineTable::add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) const {
  for (const Sequence& sequence : sequences_) {
    if (sequence.begin >= end)
      // Sequences are sorted by begin: none that follows reaches into the range.
      return;
    if (sequence.end <= begin)
      continue;
    auto rows = std::span(rows_).subspan(sequence.first_row, sequence.row_count);
    auto row = std::ranges::lower_bound(rows, begin, {}, &Row::address);
    for (; row != rows.end() && row->address < end; row++)
      edges.push_back(row->address);
    edges.push_back(sequence.end);
  }
}

std::string LineTable::path(uint64_t file, std::string_view base) const {
  std::string_view name = file < files_.size() ? files_[file].name : "";
  // Absolute names need no directory. A name in angle brackets is no path but what a compiler
  // has for code without a source, "<built-in>" or Go's "<autogenerated>".
  if (name.empty() || name.starts_with('/') || name.starts_with('<'))
    return std::string(name.substr(0, kMaxPath));
  // It has a name, and so its number is in the table.
  uint64_t number = files_[file].directory;
  if (number >= directories_.size())
    return "";
  std::string_view directory = directories_[number];
  std::string result(name);
  // Directories are relative to that of the unit in turn, up to the first absolute part.
  for (std::string_view outer : {directory, base})
    if (!result.starts_with('/') && !outer.empty())
      result = fmt::format("{}/{}", outer, result);
  return result.size() <= kMaxPath ? result : "";
}

uint64_t LineTable::memory_size() const {
  return rows_.size() * sizeof(Row) + sequences_.size() * sizeof(Sequence) +
         files_.size() * sizeof(File) + directories_.size() * sizeof(std::string_view);
}

}  // namespace gosym::dwarf
