#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "go/pc_value.h"
#include "model/call.h"

namespace gosym::go {

// The function table of a Go program, which its runtime needs for stack growth, panics and
// garbage collection, and which therefore no linker flag and no strip removes. Go 1.2 to 1.27:
//
//   header    u32 magic: fffffffb (1.2 to 1.15), fffffffa (1.16, 1.17), fffffff0 (1.18, 1.19),
//             fffffff1 (1.20 and later)
//             u8 0, u8 0, u8 quantum (1, 2, 4: instruction alignment), u8 pointer size
//             words: function count;
//             from 1.16 on file count; from 1.18 on text start; from 1.16 on the offsets, from
//             the header, of names, units, files, pcvalues and functab
//   names     NUL-terminated function names
//   units     u32 offset into `files` of each file of each compilation unit; ffffffff: dropped
//   files     NUL-terminated file names
//   pcvalues  pc-value tables (pc_value.h); offset 0 is no table
//   functab   count pairs of entry and offset of the record; then the end of the last function.
//             Words up to 1.17, then u32. Offsets are from the header up to 1.15, from the
//             start of functab later; all ones (1.15 to 1.17): no Go function is there
//   records   each at a multiple of the pointer size; below
//
// Up to 1.15 functab lies behind the header, and behind its end is the u32 offset of the file
// table: u32 count, then u32 offsets of names, of which the first (number 0) is the count
// itself. Up to 1.7 the count leaves that one out, and the runtime therefore does not know the
// last file. The names lie behind the offsets, which tells whether there is one more. All
// offsets, those of names and pc-value tables too, are from the header.
//
//   record    1.2-1.4   1.5-1.9   1.10, 1.11  1.12-1.15  1.16, 1.17  1.18, 1.19  1.20-
//   entry     word      word      word        word       word        u32         u32
//             i32 name offset, i32 size of arguments
//             frame     01234567  function id deferreturn ...
//             u32 pcsp, u32 pcfile, u32 pcln, u32 npcdata
//             u32 nfuncdata ................  -
//             -         -         -           -          u32 unit, the index into `units` of
//                                                        its first file; ffffffff: none
//             -         -         -           -          -           -           i32 start line
//             -         -         -           u8 function id, u8 flags, u8 0, u8 nfuncdata
//             npcdata u32 offsets into pcvalues
//             funcdata: addresses as words, aligned to a word, 0: none ........  u32 offsets
//                       from gofunc (module.h), ffffffff: none
//
// Up to 1.17 entries are addresses, and relocated as such; from 1.18 on they are offsets from
// the text base, which module.h finds. Either is called a pc here. Integers have the byte order
// of the image; a word is as wide as a pointer. A function reaches up to the next one's entry,
// with the padding between them. Up to 1.12 several functions can have one entry, where C code
// was linked in by Go's own linker: all but the last of them have no code. In 1.3 and 1.4 the
// pc-value tables of C functions are empty, all three at the same offset, without an end.

inline constexpr uint32_t kMagic12 = 0xfffffffb;
inline constexpr uint32_t kMagic116 = 0xfffffffa;
inline constexpr uint32_t kMagic118 = 0xfffffff0;
inline constexpr uint32_t kMagic120 = 0xfffffff1;

// The releases whose tables are laid out alike, oldest first.
enum class Format : uint8_t {
  kGo1_2,   // to 1.4
  kGo1_5,   // to 1.9
  kGo1_10,  // and 1.11
  kGo1_12,
  kGo1_13,  // to 1.15
  kGo1_16,  // and 1.17
  kGo1_18,  // and 1.19
  kGo1_20,  // and later
};
std::string_view to_string(Format format);  // "Go 1.18 and 1.19"

struct PclntabHeader {
  uint32_t magic = 0;
  uint8_t quantum = 0;
  uint8_t pointer_size = 0;
  uint64_t function_count = 0;
  uint64_t file_count = 0;  // up to 1.15 with number 0
  uint64_t text_start = 0;  // address in the file; 0 from Go 1.26 on, and where relocated
  uint64_t names = 0;       // offsets from the header
  uint64_t units = 0;
  uint64_t files = 0;
  uint64_t pc_values = 0;
  uint64_t functions = 0;
};

constexpr uint32_t kNoUnit = 0xffffffff;

// A function record. Offsets of tables are into pcvalues.
struct Function {
  uint64_t entry = 0;
  uint64_t end = 0;  // entry of the next function
  uint32_t name_offset = 0;
  int32_t arguments_size = 0;  // INT32_MIN: unknown
  uint32_t deferreturn = 0;    // offset from the entry; 0: none, or not recorded
  uint32_t pcsp = 0;
  uint32_t pcfile = 0;
  uint32_t pcln = 0;
  uint32_t unit = 0;        // kNoUnit: without files
  uint32_t start_line = 0;  // 0: not recorded (before Go 1.20), or written by hand in assembly
  uint8_t id = 0;           // 0: not recorded (before Go 1.10), or nothing special
  uint8_t flags = 0;        // from Go 1.17 on: 1 root of a stack, 2 sets SP freely, 4 assembly
  Bytes pcdata;             // u32 each
  Bytes funcdata;           // words or u32 each

  uint64_t offset = 0;  // place of the record, as functab has it
  uint64_t size = 0;    // bytes of the record
};

// A table that has been checked as a whole; a single damaged record costs its function only.
// Everything borrows from the bytes that were parsed.
class Pclntab {
public:
  // `table` begins at the header and may go on past the end of the table. With `magic` the
  // table is read as if its header had that one.
  static Result<Pclntab> parse(Bytes table, ByteOrder order, uint8_t pointer_size,
                               std::optional<uint32_t> magic = std::nullopt);

  const PclntabHeader& header() const { return header_; }
  Format format() const { return format_; }
  ByteOrder order() const { return order_; }
  uint32_t function_count() const { return static_cast<uint32_t>(header_.function_count); }
  // True if pcs are offsets from a text base.
  bool has_offsets() const { return format_ >= Format::kGo1_18; }
  bool has_start_lines() const { return format_ >= Format::kGo1_20; }
  // True if the records' own entries are scrambled (by an obfuscator), which costs nothing.
  bool is_obfuscated() const { return entry_key_ != 0; }

  // Index of the function whose range holds `pc`; none before the first and after the last.
  std::optional<uint32_t> find(uint64_t pc) const;
  // True if no Go function lies there: code of the C linker's between that of Go.
  bool is_hole(uint32_t index) const;
  // None if the record is damaged, or a hole. `index` < function_count().
  std::optional<Function> function(uint32_t index) const;
  uint64_t entry(uint32_t index) const;  // index == function_count(): end of the last function

  // Empty if there is none: out of range, or not ended by a NUL.
  std::string_view name(uint32_t name_offset) const;
  std::string_view file(const Function& function, int32_t number) const;
  // All file names, as they lie in the table.
  std::vector<std::string_view> files() const;

  // `table` one of the offsets of the function; none if it has no such table, or no value
  // there.
  std::optional<int32_t> value(const Function& function, uint32_t table, uint64_t pc) const;
  // The rows of a table from its start; `table` must not be 0.
  PcValueRows rows(uint32_t table) const { return {tail(pc_values_, table), header_.quantum}; }
  // The offset of a pcdata table; none if the function has no such.
  std::optional<uint32_t> pcdata_table(const Function& function, uint32_t index) const;
  // An address, or from Go 1.18 on an offset from gofunc; none if the function has no such.
  std::optional<uint64_t> funcdata(const Function& function, uint32_t index) const;
  uint32_t pcdata_count(const Function& function) const;
  uint32_t funcdata_count(const Function& function) const;

private:
  Result<> split(Bytes table);
  Result<> split_before_116(Bytes table);
  uint64_t count_files_before_116() const;
  Result<> check_functions();
  Format detect_format() const;
  uint32_t find_entry_key() const;
  uint64_t record_offset(uint32_t index) const;
  uint64_t functab_word(uint64_t index) const;
  uint8_t pc_size() const { return has_offsets() ? 4 : header_.pointer_size; }

  PclntabHeader header_;
  Format format_ = Format::kGo1_20;
  ByteOrder order_ = ByteOrder::kLittle;
  uint32_t entry_key_ = 0;
  Bytes names_;
  Bytes units_;
  Bytes files_;
  Bytes pc_values_;
  Bytes functab_;
  Bytes records_;  // the bytes that the offsets of records count from
};

// A walk through one kind of pc-value table, left where the last value was found. Where
// addresses are asked for in order, each table is so walked but once: of 100,000 in the Go
// compiler each takes an eighth of the instructions that it takes in random order.
class PcValueWalk {
public:
  // See Pclntab::value(); faster where pcs come in order.
  std::optional<int32_t> value(const Pclntab& table, const Function& function, uint32_t offset,
                               uint64_t pc);

private:
  uint32_t offset_ = 0;  // offset of the table that is walked; 0: none
  PcValueRows rows_{{}, 1};
};

// Bytes of code of a function, without the padding up to the next: its file table ends with the
// code (that of lines may end before, in assembly). The distance to the next entry where there
// is no such table.
uint64_t code_size(const Pclntab& table, const Function& function);
// By index, as in Pclntab::function(); the distance also where the record is damaged.
uint64_t code_size(const Pclntab& table, uint32_t index);

// A pc-value table of a function, for one who needs all of it.
struct PcTable {
  std::vector<PcValue> rows;  // rows that lie in the function
  uint32_t end = 0;           // pc after the last row, wherever that lies
  bool is_whole = false;      // the table ended in the function

  std::optional<int32_t> at(uint32_t pc) const;
};

// The longest healthy table known has some ten thousand rows; the limit keeps memory small.
inline constexpr size_t kMaxTableRows = 1 << 18;

// `table` is the offset of a table of the function, not 0.
PcTable read_pc_table(const Pclntab& pclntab, const Function& function, uint32_t table,
                      size_t max_rows = kMaxTableRows);

// A number at the start of a function table, as it lies there.
struct HeaderField {
  std::string_view name;
  uint64_t offset = 0;  // from the header
  uint64_t value = 0;
  bool is_count = false;  // rather than an address, an offset or a mark
};

// The header of a table (pclntab.h), whether the table can be read or not: as many of its
// fields as are there. The order of its words follows from `magic`; of an unknown one only the
// start is known. Up to Go 1.15 the place of the file table and its count, which lie behind
// functab, are part of it.
std::vector<HeaderField> header_fields(Bytes table, ByteOrder order, uint8_t pointer_size,
                                       uint32_t magic);

// Names, in the words of Go's own sources (internal/abi/symtab.go), of the tables that
// functions have by number; empty if the format does not tell, or where it is not known. Those
// that came later are listed with the first release of the format:
//
//   pcdata    1.5-1.12  0 StackMapIndex, 1 InlTreeIndex (1.9), 2 RegMapIndex (1.11)
//             1.13-1.15 0 RegMapIndex, from 1.15 UnsafePoint; 1 StackMapIndex, 2 InlTreeIndex
//             1.16-     0 UnsafePoint, 1 StackMapIndex, 2 InlTreeIndex, 3 ArgLiveIndex (1.18),
//                       4 PanicBounds (1.26)
//   funcdata  1.5-1.12  0 ArgsPointerMaps, 1 LocalsPointerMaps, 2 InlTree (1.9),
//                       3 RegPointerMaps (1.11), 4 StackObjects (1.12)
//             1.13-1.15 0 ArgsPointerMaps, 1 LocalsPointerMaps, 2 RegPointerMaps,
//                       3 StackObjects, 4 InlTree, 5 OpenCodedDeferInfo (1.14)
//             1.16-     0 ArgsPointerMaps, 1 LocalsPointerMaps, 2 StackObjects, 3 InlTree,
//                       4 OpenCodedDeferInfo, 5 ArgInfo (1.17), 6 ArgLiveInfo (1.18),
//                       7 WrapInfo (1.19)
//
// Go 1.2 to 1.4 had other numbers each.
std::string_view pcdata_name(Format format, uint32_t index);
std::string_view funcdata_name(Format format, uint32_t index);

// The runtime marks the functions that it treats specially by ids, whose numbers change with
// every few releases. Ids exist from Go 1.10 on, that of wrappers from 1.12 on: before, a
// wrapper is known by its file, <autogenerated>; before 1.10 the runtime hid none.
//
// So the numbers are learned from the table: each id is that of a single function of the
// runtime, but that of wrappers, which is also the largest. 0 if there are no wrappers.
uint8_t learn_wrapper_id(const Pclntab& table);

// The kind of a function that is no wrapper.
FunctionKind kind_of_name(std::string_view name);

FunctionKind kind_of(const Pclntab& table, uint8_t wrapper_id, uint8_t id,
                     std::string_view name, std::string_view file);

}  // namespace gosym::go
