#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "base/reader.h"
#include "model/address.h"

namespace gosym::dwarf {

// Call frame information: the entries of functions, and those of what they have in common.
// DWARF 2 to 5, section 6.4 (.debug_frame), and the Linux Standard Base, chapter 10
// (.eh_frame):
//
//   entry     u32 length of what follows; ffffffff: then it is u64; in .eh_frame 0 is the end
//             u32 id, in .debug_frame u64 if the length is. Of a common entry: 0, in
//             .debug_frame all ones; of a function: where its common entry begins, as distance
//             back from the id, in .debug_frame as offset in the section
//   common    u8 version: 1, 3, or 4 (.debug_frame)
//             augmentation, a NUL-terminated text; in version 4 u8 size of addresses, u8 0
//             uleb code alignment, sleb data alignment
//             column of the return address: uleb, in version 1 u8
//             augmentation data, a part for each letter:
//               z  uleb size of the parts that follow; functions have such data too
//               R  u8 encoding of the addresses of functions
//               P  u8 encoding, and so encoded the address of the personality routine
//               L  u8 encoding of the addresses of exception tables, which functions have
//               S  the functions are signal frames
//               B, G  (64-bit ARM) keys and tags of return addresses: no data
//             instructions (frame_program.h) up to the end of the entry
//   function  address encoded, size in the same form
//             uleb size and augmentation data, if the common entry has a z
//             instructions up to the end of the entry
//
// Encodings of addresses (DW_EH_PE): bits 0 to 3 are the form: 0 a word, 1 uleb, 2 u16, 3 u32,
// 4 u64, 9 sleb, a to c like 2 to 4 but signed. Bits 4 to 6 are what is to be added: 0 nothing,
// 1 the address where it lies, 3 the start of .eh_frame_hdr, in which alone that occurs. With
// bit 7 it lies where that points, as those of personality routines do.

// Reads an encoded address; none if it is malformed or has to be looked up. `start` is the
// address of the first byte of the reader.
std::optional<uint64_t> read_encoded(Reader& in, uint8_t encoding, uint8_t pointer_size,
                                     ImageAddress start);

struct FrameSection {
  Bytes bytes{};
  ImageAddress address{};
  bool is_debug_frame = false;
  ByteOrder order{};
  uint8_t pointer_size = 8;
};

// Layout of .eh_frame_hdr:
//
//   header  u8 version, 1
//           u8 encodings of the address of .eh_frame, of the number of functions, of the table
//           address of .eh_frame and number of functions, so encoded
//           functions by address; encoded as linkers do (3b), of each i32 its address and i32
//           that of its entry, both counted from the header
struct FrameHeader {
  ImageAddress address{};   // of the header
  ImageAddress eh_frame{};  // where .eh_frame begins
  Bytes entries{};          // empty if the table is missing, or not encoded so

  // None if there is no sound header.
  static std::optional<FrameHeader> read(Bytes bytes, ImageAddress address, ByteOrder order,
                                         uint8_t pointer_size);
  // The address of the entry of the last function that does not begin above an address.
  std::optional<uint64_t> find(uint64_t wanted, ByteOrder order) const;
};

// A common entry.
struct FrameSetup {
  uint8_t pointer_size = 8;
  uint64_t code_alignment = 0;
  int64_t data_alignment = 0;
  uint64_t return_column = 0;
  uint8_t encoding = 0;
  bool has_augmentation_size = false;
  bool is_signal_frame = false;
  Bytes instructions{};
};

// The entry of a function.
struct FrameEntry {
  uint64_t begin = 0;  // addresses in the image
  uint64_t end = 0;
  FrameSetup setup;
  Bytes instructions{};
};

// Finds the entry of an address. Borrows from the bytes of the section.
//
// All entries are read once, which takes a few milliseconds for the largest programs: so there
// is no need to believe .eh_frame_hdr, which has them sorted. A malformed entry costs its
// function; a length that does not fit, all that follows. Who has no such time to spend gives
// the header: what it has wrong is not found.
class FrameTable {
public:
  explicit FrameTable(const FrameSection& section);
  FrameTable(const FrameSection& section, const FrameHeader& header);

  bool is_empty() const { return places_.empty() && header_.entries.empty(); }
  std::optional<FrameEntry> find(ImageAddress address) const;
  // All functions, by address; none if there is only a header.
  std::vector<FrameEntry> functions() const;
  // True if no function here begins or ends between the two addresses, so that code may run
  // from the lower one to the upper one. Asked before code is named by a label that lies below
  // it.
  bool is_one_piece(ImageAddress begin, ImageAddress address) const;

private:
  struct Place {
    uint64_t begin = 0;
    uint64_t offset = 0;  // of the entry
  };

  std::optional<FrameEntry> read_function(uint64_t offset) const;
  std::optional<FrameSetup> setup_at(uint64_t offset) const;
  std::optional<uint64_t> offset_of(uint64_t address) const;

  FrameSection section_;
  FrameHeader header_;
  std::unordered_map<uint64_t, FrameSetup> setups_;  // by offset; empty with a header
  std::vector<Place> places_;                        // by address; likewise
};

}  // namespace gosym::dwarf
