#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/address.h"

namespace gosym {
struct LoadSegment;  // model/recording.h
}  // namespace gosym

namespace gosym::elf {

struct Section {
  std::string_view name;
  uint32_t type = 0;   // SHT_*
  uint64_t flags = 0;  // SHF_*
  ImageAddress address{};
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
  uint64_t entry_size = 0;
};

struct Segment {
  uint32_t type = 0;   // PT_*
  uint32_t flags = 0;  // PF_*
  uint64_t offset = 0;
  ImageAddress address{};
  uint64_t file_size = 0;
  uint64_t memory_size = 0;
};

// Bytes that the kernel loads from a file, with their address.
struct LoadedBytes {
  ImageAddress address{};
  Bytes bytes;
};

// An ELF file of any class and byte order, as its headers describe it (System V gABI, chapters
// 4 and 5):
//
//   ident    16 bytes: 7f 'E' 'L' 'F', class (1: 32 bits, 2: 64), data (1: little, 2: big), ...
//   header   type, machine, version, entry, phoff, shoff, flags, ehsize,
//            phentsize, phnum, shentsize, shnum, shstrndx
//   segments phnum entries of phentsize bytes at phoff: what the kernel maps
//   sections shnum entries of shentsize bytes at shoff: what the linker made
//
// The numbers that do not fit 16 bits are in section 0: shnum in its size, shstrndx in its
// link, phnum in its info. Sections are optional: a running program does not need them, and a
// file whose section table is damaged is read by its segments alone, which `section_problem`
// tells.
//
// Everything here borrows from the bytes that were parsed.
struct Image {
  Bytes file;
  ByteOrder order = ByteOrder::kLittle;
  uint8_t pointer_size = 8;  // 4 or 8
  uint16_t type = 0;         // ET_*
  uint16_t machine = 0;      // EM_*
  ImageAddress entry{};
  std::vector<Segment> segments;
  std::vector<Section> sections;   // without section 0
  std::string section_problem;     // why there are none; empty if the file says there are none
  uint64_t section_table_end = 0;  // its place in the file, which may be beyond the end

  const Section* find_section(std::string_view name) const;
  const Section* find_section(uint32_t type) const;

  // The bytes of a section as they lie in the file. None if it has none there (SHT_NOBITS), if
  // they would lie outside the file, or if they are compressed.
  std::optional<Bytes> contents(const Section& section) const;
  std::optional<Bytes> contents(std::string_view section_name) const;

  // The bytes in the file that are loaded at `address`, up to the end of their segment; none if
  // no loaded segment has file bytes there.
  std::optional<Bytes> loaded_from(ImageAddress address) const;

  // Bytes that segments with all of `flags` (PF_*) load, to be searched. A file whose segments
  // overlap over and over is cut off: no more bytes in all than twice those of the file.
  std::vector<LoadedBytes> loaded_segments(uint32_t flags) const;

  // Bytes that the file lacks by its own headers: 0 for a whole one.
  uint64_t missing_bytes() const;

  // An integer as wide as a pointer, as it lies in the file: no relocation is applied.
  std::optional<uint64_t> load_word(ImageAddress address) const;

  bool is_executable_at(ImageAddress address) const;
  // The place to which the kernel loads the code that lies at `offset` in the file; none if it
  // loads none.
  std::optional<ImageAddress> code_at_offset(uint64_t offset) const;
  // True if a segment of code has `size` bytes of the file there.
  bool has_code(ImageAddress address, uint64_t size) const;
};

// Code as the kernel loads it.
struct LoadedCode {
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;
  ImageAddress address{};
};

// All that an image has. Debug files made by objcopy have lost the offsets of the binary: there
// they are those that every linker gives to code that begins a page, or the file.
std::vector<LoadedCode> loaded_code(const Image& image);

struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool operator==(const AddressRange&) const = default;
};

// Ranges of code: sections of code; where there are no sections, segments, which may begin with
// headers. By address; none touches another.
std::vector<AddressRange> code_ranges(const Image& image);

// The loadable segments, as an image of a recording lists them.
std::vector<LoadSegment> load_segments(const Image& image);

struct FileExtent {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Places of the tables of segments and sections, for a reader without the whole file: the ELF
// header is enough, and the first section where their numbers do not fit that. With the table
// of sections, also the place of their names. Empty for a file that is not ELF. The tables
// come in this order: segments, sections, names.
std::vector<FileExtent> header_tables(Bytes file);

// Fails for what is not ELF, and for a damaged ELF header or table of segments. A damaged table
// of sections is no failure: `section_problem` says why there are none.
Result<Image> parse(Bytes file);

// Description of an image in words, as file(1) gives one.
struct Kind {
  std::string type;          // "executable", "position-independent executable", "shared object"
  std::string machine;       // "x86-64"
  std::string linking;       // "statically linked", "dynamically linked"
  bool is_stripped = false;  // no .symtab
  bool has_dwarf = false;    // .debug_info, compressed or not
  bool is_packed = false;    // by UPX: its code is in memory only, and only while it runs
};

Kind kind_of(const Image& image);

struct BuildIds {
  std::string gnu;  // raw bytes, usually 20; empty if there is none
  std::string go;   // text, four parts between slashes from Go 1.10 on; empty if there is none
  std::string package;  // JSON of who packaged the file (.note.package); empty if there is none
};

// The ids that a linker left in notes:
//
//   note := u32 name size, u32 description size, u32 type,
//           name (NUL at its end, padded to 4), description (padded to 4)
//
// GNU's has name "GNU" and type 3, Go's name "Go" and type 4, that of packages "FDO" and
// 0xcafe1a7e. Notes are looked for in the PT_NOTE segments and in the SHT_NOTE sections: the
// build id of a static binary of Go 1.24 and later lies outside PT_NOTE, where the kernel and
// perf do not see it.
BuildIds build_ids(const Image& image);
// Reads notes that are no part of a file: little-endian.
BuildIds build_ids(Bytes notes);

// The one id by which stores know a file, as raw bytes: GNU's, or, of a Go program that has
// none, what Go's linker makes of Go's id for one (-B gobuildid, its default since 1.24): the
// first 20 bytes of its SHA-256. Empty if there is neither.
std::string store_id(const BuildIds& ids);

// Parts of the file that build_ids looks at: 1 MiB at most, in all.
std::vector<FileExtent> note_extents(const Image& image);

// Name in a stripped image of the file that holds its debug information, `.gnu_debuglink`:
//
//   name (NUL at its end, padded to 4), u32 CRC-32 of all bytes of that file
//
// The CRC is that of ISO 3309, as in gzip, in the byte order of the image. The name is that of
// a file without directory: where to look for it is the reader's business.
struct DebugLink {
  std::string_view name;
  uint32_t crc = 0;
};

// Name in a debug file of the one to which dwz moved what several have in common,
// `.gnu_debugaltlink`:
//
//   name (NUL at its end), build id of that file: all the rest
//
// The name is absolute, or relative to the directory of the debug file.
struct AlternateLink {
  std::string_view name;
  std::string_view build_id;  // raw bytes
};

// None if the image has no such section; fails if the section is malformed.
Result<std::optional<DebugLink>> read_debug_link(const Image& image);
Result<std::optional<AlternateLink>> read_alternate_link(const Image& image);

}  // namespace gosym::elf
