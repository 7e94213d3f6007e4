#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace gosym::dwarf {

// The sections that line tables are made of, as they are when unpacked.
struct LineSections {
  Bytes lines;       // .debug_line
  Bytes line_texts;  // .debug_line_str
  Bytes texts;       // .debug_str
  ByteOrder order = ByteOrder::kLittle;
};

// The line table of a unit: which line each address came from. DWARF 2 to 5, chapter 6.2:
//
//   table := length, u16 version, 5: u8 address size and u8 segment selector size,
//            offset size of the header from here on,
//            u8 shortest instruction, from 4 on: u8 operations an instruction,
//            u8 is_stmt at first, i8 line base, u8 line range, u8 opcode base,
//            u8 number of operands of each opcode below the opcode base but 0,
//            directories, files, [what the size of the header skips], program
//   length and offset are u32; 64-bit DWARF has u32 0xffffffff first, then both are u64
//
//   2 to 4: directories := (text NUL)... NUL             counted from 1; 0: see `path`
//           files := (text NUL, uleb directory, uleb time, uleb size)... NUL        from 1
//   5:      directories := entries, files := entries                                from 0
//           entries := u8 n, n times (uleb what it is, uleb form), uleb count,
//                      count times n values
//
// The program makes rows of a state that has address 0, file 1 and line 1 first. Each opcode is
// a byte, and its operands follow:
//
//   0            extended: uleb size, u8 code of 1 end of sequence, a row, and the first state
//                again; 2 address; 3 one more file, as in `files`; others are skipped
//   1            a row
//   2, 3         uleb to add to the address, in shortest instructions; sleb to the line
//   4            uleb file
//   8            to add to the address what opcode 255 adds
//   9            u16 to add to the address
//   below base   nothing that we keep: as many uleb as the header says
//   from base    (opcode - base) / range to add to the address, in shortest instructions,
//                line base + (opcode - base) % range to the line; a row
//
// A sequence is the code of one section of an object file: its rows have rising addresses, each
// for the code up to the next. Those of code that the linker has discarded begin where no code
// is, mostly at 0, and reach into what is.
//
// Read here and not by libdw, which makes a path of each directory and file, terabytes from
// names of a kilobyte, and does not tell sequences apart. Borrows from the sections.
class LineTable {
public:
  struct Row {
    uint64_t address = 0;
    uint32_t file = 0;
    uint32_t line = 0;  // 0 if of no line
  };

  // Reads the table at `offset`, and takes the bytes it has from `left`. None if the header is
  // damaged or there is nothing left; of a damaged program the sequences before the damage
  // stay. Sequences are kept that begin where `is_code` is true.
  static std::optional<LineTable> read(const LineSections& sections, uint64_t offset,
                                       const std::function<bool(uint64_t)>& is_code,
                                       uint64_t& left);

  // The row that an address belongs to; null if there is none.
  const Row* find(uint64_t address) const;

  // Appends the places of all rows within [begin, end), and where their sequences end.
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) const;

  // The path of a file by its number; empty if there is none. Directories are relative to where
  // the compiler was run, `base`. What is no path is in angle brackets.
  std::string path(uint64_t file, std::string_view base) const;

  // Bytes of memory that the table takes, about.
  uint64_t memory_size() const;

private:
  friend class LineTableReader;

  struct File {
    std::string_view name;
    uint64_t directory = 0;
  };
  struct Sequence {
    uint64_t begin = 0;
    uint64_t end = 0;
    size_t first_row = 0;
    size_t row_count = 0;
  };

  std::vector<std::string_view> directories_;
  std::vector<File> files_;
  std::vector<Sequence> sequences_;  // by begin
  std::vector<Row> rows_;
};

}  // namespace gosym::dwarf
