#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.h"
#include "go/module_data.h"
#include "go/pclntab.h"
#include "model/call.h"

namespace gosym::go {

// Source of the text base, from which the pcs of Go 1.18 and later count.
enum class TextBase : uint8_t {
  kAbsolute,    // not needed: pcs are addresses
  kModuleData,  // the runtime's own record
  kHeader,      // the header of the table, up to Go 1.25
  kDerived,     // as good as certain, but nothing in the file says it
};
std::string_view to_string(TextBase base);

// A part of the code of a program too large for the branches of its machine, by pc. External
// linkers for arm and ppc64 divide such code; between the parts lies code of their own. From
// moduledata's textsectmap, records of three words: first pc, pc after the last (up to Go 1.17
// the size, but there pcs are addresses anyway), address.
struct TextPart {
  uint64_t begin = 0;
  uint64_t end = 0;
  ImageAddress address{};
};

// One Go module: a function table, and what gives it a place in the image.
struct Module {
  const elf::Image* image = nullptr;
  Pclntab table;
  ImageAddress table_address{};
  std::string found_by{};  // "section .gopclntab", "scan of the segments"
  std::optional<ModuleData> data{};

  TextBase text_base{};
  ImageAddress text{};                 // address of pc 0; 0 for pcs that are addresses
  std::vector<TextPart> text_parts{};  // in order; none if there is but one
  // The base of funcdata from Go 1.18 on, and with it of the inline trees; empty if it is not
  // known: then no inlined call is found.
  Bytes gofunc{};
  uint8_t wrapper_id = 0;  // the id of functions that are wrappers; 0: none has one
  // Assumption that was needed to read it: "unknown magic 0x1234 read as that of Go 1.20".
  std::string assumption{};

  std::optional<uint64_t> pc_of(ImageAddress address) const;
  std::optional<ImageAddress> address_of(uint64_t pc) const;
};

// The section where linkers put the table: .data.rel.ro.gopclntab in PIE of Go 1.8 to 1.25.
// Null if there is none: then it lies wherever the linker had room.
const elf::Section* find_table_section(const elf::Image& image);

// Bytes that may be a function table.
struct TablePlace {
  ImageAddress address{};
  Bytes bytes{};  // from the header to the end of the section or segment
  std::string found_by{};
};

// Places where a function table lies, or seems to, whether it can be read or not: in its
// section, or without one wherever a segment has what looks like a header.
std::vector<TablePlace> find_table_places(const elf::Image& image);

// None if the image has no Go function table; an error if it has one that cannot be used.
//
// Relocates the image if it has a table that cannot be read otherwise, as those of some linkers
// (lld): `file` are the image's bytes, private to us; `has_relocated` says whether any was
// changed; null: nobody asks. `image` must outlive the module.
Result<std::optional<Module>> read_module(const elf::Image& image, std::span<std::byte> file,
                                          bool* has_relocated = nullptr);

// The module whose table lies in its section, where that is certain without a look through the
// file and without relocation: for one who may not take long. It is what read_module() gives.
std::optional<Module> read_module_of_section(const elf::Image& image);

// Derives the address of the code of a table of offsets, if nothing in the file tells: from Go
// 1.26 on only moduledata has it.
//
// The linker fills the space between functions with one and the same byte, up to a multiple of
// the alignment of functions. So of all places in the executable segments the code can only lie
// where each gap of the table falls onto such filling. The answer is none unless there is just
// one such place; and unless it agrees with the ELF entry point, where that is Go's own.
std::optional<ImageAddress> derive_text_base(const elf::Image& image, const Pclntab& table);

}  // namespace gosym::go
