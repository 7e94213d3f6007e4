#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "go/pc_value.h"

namespace gosym::go {

// The function table of a Go program, which its runtime needs for stack growth, panics and
// garbage collection, and which therefore no linker flag and no strip removes. Go 1.18 to 1.27:
//
//   header    u32 magic: fffffff0 (1.18, 1.19), fffffff1 (1.20 and later)
//             u8 0, u8 0, u8 quantum (1, 2, 4: instruction alignment), u8 pointer size
//             words: function count, file count, text start, then the offsets, from the header,
//             of: names, units, files, pc-value tables, function table
//   names     NUL-terminated function names
//   units     u32 offset into `files` of each file of each compilation unit; ffffffff: dropped
//   files     NUL-terminated file names
//   pcvalues  pc-value tables (pc_value.h); offset 0 is no table
//   functab   count pairs u32 entry, u32 offset of the record from the start of functab;
//             then u32 end of the last function
//   records   after functab, each at a multiple of the pointer size:
//             u32 entry, i32 name offset, i32 size of arguments, u32 deferreturn,
//             u32 pcsp, u32 pcfile, u32 pcln, u32 npcdata, u32 unit (index into `units` of its
//             first file; ffffffff: none), i32 start line (1.20 and later),
//             u8 function id, u8 flags, u8 0, u8 nfuncdata,
//             npcdata u32 offsets into pcvalues,
//             nfuncdata u32 offsets from gofunc (module.h); ffffffff: none
//
// Entries are offsets from the text base, which module.h finds. Integers have the byte order of
// the image; a word is as wide as a pointer. A function reaches up to the next one's entry,
// with the padding between them.

inline constexpr uint32_t kMagic118 = 0xfffffff0;
inline constexpr uint32_t kMagic120 = 0xfffffff1;

struct PclntabHeader {
  uint32_t magic = 0;
  uint8_t quantum = 0;
  uint8_t pointer_size = 0;
  uint64_t function_count = 0;
  uint64_t file_count = 0;
  uint64_t text_start = 0;  // as it lies in the file; 0 from Go 1.26 on, and where relocated
  uint64_t names = 0;       // offsets from the header
  uint64_t units = 0;
  uint64_t files = 0;
  uint64_t pc_values = 0;
  uint64_t functions = 0;
};

// A function record. Offsets of tables are into pcvalues.
struct Function {
  uint32_t entry = 0;  // from the text base, as are all pcs of functab
  uint32_t end = 0;    // entry of the next function
  uint32_t name_offset = 0;
  uint32_t pcsp = 0;
  uint32_t pcfile = 0;
  uint32_t pcln = 0;
  uint32_t unit = 0;
  uint32_t start_line = 0;  // 0: not recorded (before Go 1.20), or written by hand in assembly
  uint8_t id = 0;
  uint8_t flags = 0;
  Bytes pcdata;    // u32 each
  Bytes funcdata;  // u32 each
};

// A table that has been checked as a whole; a single damaged record costs its function only.
// Everything borrows from the bytes that were parsed.
class Pclntab {
public:
  // `table` begins at the header and may go on past the end of the table.
  static Result<Pclntab> parse(Bytes table, ByteOrder order, uint8_t pointer_size);

  const PclntabHeader& header() const { return header_; }
  ByteOrder order() const { return order_; }
  uint32_t function_count() const { return static_cast<uint32_t>(header_.function_count); }
  bool has_start_lines() const { return header_.magic == kMagic120; }

  // Index of the function whose range holds `pc`; none before the first and after the last.
  std::optional<uint32_t> find(uint32_t pc) const;
  // None if the record is damaged. `index` < function_count().
  std::optional<Function> function(uint32_t index) const;
  uint32_t entry(uint32_t index) const;  // index == function_count(): end of the last function

  // Empty if there is none: out of range, or not ended by a NUL.
  std::string_view name(uint32_t name_offset) const;
  std::string_view file(const Function& function, int32_t number) const;

  // `pc` from the text base, `table` one of the offsets of the function; none if it has no such
  // table, or no value there.
  std::optional<int32_t> value(const Function& function, uint32_t table, uint32_t pc) const;
  // The rows of a table from its start; `table` must not be 0.
  PcValueRows rows(uint32_t table) const { return {tail(pc_values_, table), header_.quantum}; }
  // The offset of a pcdata table, or of funcdata from gofunc; none if the function has no such.
  std::optional<uint32_t> pcdata_table(const Function& function, uint32_t index) const;
  std::optional<uint32_t> funcdata_offset(const Function& function, uint32_t index) const;

private:
  Result<> check_functions();
  uint32_t functab_word(uint64_t index) const;

  PclntabHeader header_;
  ByteOrder order_ = ByteOrder::kLittle;
  Bytes names_;
  Bytes units_;
  Bytes files_;
  Bytes pc_values_;
  Bytes functions_;  // functab and records
};

// Bytes of code of a function, without the padding up to the next: its line table ends with the
// code. The distance to the next entry where there is no such table. `index` as in function().
uint32_t code_size(const Pclntab& table, uint32_t index);

}  // namespace gosym::go
