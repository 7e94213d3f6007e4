#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image_builder.h"

namespace gosym {

// The Go releases whose tables or moduledata differ, by the oldest of each. k15 stands for
// those up to 1.7, whose file count is one less than that of 1.8 and 1.9.
enum class GoLayout { k12, k15, k19, k110, k112, k113, k116, k118, k120, k126, k127 };
inline constexpr GoLayout kGoLayouts[] = {GoLayout::k12,  GoLayout::k15,  GoLayout::k19,
                                          GoLayout::k110, GoLayout::k112, GoLayout::k113,
                                          GoLayout::k116, GoLayout::k118, GoLayout::k120,
                                          GoLayout::k126, GoLayout::k127};

// One pc-value row: the value holds up to `end`, counted from the entry.
struct PcRow {
  int32_t value;
  uint32_t end;
};
std::string build_pc_values(const std::vector<PcRow>& rows);

struct GoFunction {
  std::string name;
  uint32_t entry = 0;  // from the text base
  int32_t start_line = 0;
  uint8_t id = 0;
  uint8_t flags = 0;
  uint32_t first_file = 0;                               // of its unit: what `files` count from
  std::vector<PcRow> sp{}, files{}, lines{}, inlined{};  // none: no such table
  bool is_hole = false;
};

// A call in the inline tree, and where it was called from.
struct GoInlinedCall {
  std::string name;
  int16_t parent = -1;
  uint32_t parent_pc = 0;
  int32_t file = 0;
  int32_t line = 0;
  int32_t start_line = 0;
  uint8_t id = 0;
};

struct GoTextPart {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t address = 0;
};

// A function table, and where its parts are, from its start.
struct GoTable {
  std::string bytes;
  uint64_t names = 0, units = 0, files = 0, pc_values = 0, functions = 0;
  std::vector<uint64_t> records;
  uint64_t gofunc = 0;  // the inline tree lies 8 bytes further on
};

// By default a program of two functions at text base + 0 and + 0x40:
//
//   main.caller  /src/a.go:10, 0x30 bytes of code. [0x10, 0x20) is main.outer (/src/b.go:21,
//                called at a.go:12), of which [0x14, 0x18) is main.inner (/src/b.go:5, called
//                at b.go:22)
//   main.leaf    /src/a.go:30, 0x10 bytes of code
//
// The image has the parts .text, .gopclntab and moduledata, in this order; the last is missing
// where the release has none.
struct BuiltGoProgram {
  static std::vector<GoFunction> two_functions();
  static std::vector<GoInlinedCall> two_inlined_calls();

  ByteOrder order = ByteOrder::kLittle;
  uint8_t pointer_size = 8;
  GoLayout layout = GoLayout::k127;
  uint64_t text = 0x401000;
  uint64_t table_address = 0x500000;
  uint64_t module_address = 0x600000;
  uint64_t text_size = 0x60;
  std::vector<GoFunction> functions = two_functions();
  std::vector<std::string> files = {"/src/a.go", "/src/b.go"};
  std::vector<GoInlinedCall> tree = two_inlined_calls();  // of every function with `inlined`
  std::vector<GoTextPart> text_parts{};
  std::optional<uint32_t> magic{};  // in place of the layout's own
  uint32_t entry_key = 0;           // scrambles the entries of the records

  bool has_inlining() const { return layout >= GoLayout::k19; }
  bool has_module() const { return layout >= GoLayout::k15; }
  bool has_offsets() const { return layout >= GoLayout::k118; }

  GoTable build_table() const;
  std::string table() const { return build_table().bytes; }
  std::string module_data() const;
  ImageSpec image() const;
};

enum class RelocationForm {
  kRela,  // the words themselves are zero, as lld leaves them
  kRelaInPlace,
  kRel,
  kSymbolic,  // each word the address of a symbol and an addend
  kRelr,      // in place, and no table that names the words
};
// The program as a position-independent image, all addresses of which need relocation.
ImageSpec build_pie(const BuiltGoProgram& program, RelocationForm form);

}  // namespace gosym
