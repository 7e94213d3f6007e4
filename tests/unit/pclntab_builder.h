#pragma once

#include <string>
#include <vector>

#include "go/pclntab.h"
#include "image_builder.h"

namespace gosym {

// The Go versions whose layouts differ, as far as a table and its moduledata go.
enum class GoLayout { k118, k120, k126, k127 };

// One pc-value row: the value holds up to `end`, counted from the entry.
struct PcRow {
  int32_t value;
  uint32_t end;
};

inline std::string build_pc_values(const std::vector<PcRow>& rows) {
  std::string out;
  auto varint = [&](uint32_t value) {
    for (; value >= 0x80; value >>= 7)
      out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  PcRow last{-1, 0};
  for (const PcRow& row : rows) {
    int32_t delta = row.value - last.value;
    varint(static_cast<uint32_t>(delta) << 1 ^ static_cast<uint32_t>(delta >> 31));
    varint(row.end - last.end);
    last = row;
  }
  return out + '\0';
}

// A program of two functions at text base + 0 and + 0x40:
//
//   main.caller  /src/a.go:10, 0x30 bytes of code. [0x10, 0x20) is main.outer (/src/b.go:21,
//                called at a.go:12), of which [0x14, 0x18) is main.inner (/src/b.go:5, called
//                at b.go:22)
//   main.leaf    /src/a.go:30, 0x10 bytes of code
struct GoProgram {
  ByteOrder order = ByteOrder::kLittle;
  uint8_t pointer_size = 8;
  GoLayout layout = GoLayout::k127;
  uint64_t text = 0x401000;
  uint64_t table_address = 0x500000;
  uint64_t module_address = 0x600000;

  bool is_118() const { return layout == GoLayout::k118; }

  // The header with its tables, and where gofunc is in it: at the end.
  std::string table() const;
  uint64_t gofunc_offset() const { return gofunc_offset_of(table()); }
  std::string module_data() const;
  ImageSpec image() const;

private:
  std::string inline_tree() const;
  uint64_t gofunc_offset_of(const std::string& table) const {
    return table.size() - inline_tree().size();
  }
};

namespace go_names {
// Offsets in the name table.
inline constexpr std::string_view kNames("\0main.caller\0main.outer\0main.inner\0main.leaf\0",
                                         45);
inline constexpr uint32_t kCaller = 1, kOuter = 13, kInner = 24, kLeaf = 35;
}  // namespace go_names

inline std::string GoProgram::inline_tree() const {
  ByteWriter out(order, pointer_size);
  using namespace go_names;
  if (is_118()) {
    out.u16(0xffff).u16(0).u32(0).u32(12).u32(kOuter).u32(0x0f);
    out.u16(0).u16(0).u32(1).u32(22).u32(kInner).u32(0x13);
  } else {
    out.u32(0).u32(kOuter).u32(0x0f).u32(20);
    out.u32(0).u32(kInner).u32(0x13).u32(4);
  }
  return out.out;
}

inline std::string GoProgram::table() const {
  std::string files("/src/a.go\0/src/b.go\0", 20);
  ByteWriter units(order);
  units.u32(0).u32(10);

  std::string pc_values(1, '\0');
  auto add = [&](const std::vector<PcRow>& rows) {
    auto offset = static_cast<uint32_t>(pc_values.size());
    pc_values += build_pc_values(rows);
    return offset;
  };
  uint32_t caller_sp = add({{0, 4}, {8, 0x30}});
  uint32_t caller_file = add({{0, 0x10}, {1, 0x20}, {0, 0x30}});
  uint32_t caller_line =
      add({{10, 0x0c}, {12, 0x10}, {21, 0x13}, {22, 0x14}, {5, 0x18}, {21, 0x20}, {13, 0x30}});
  uint32_t caller_inline = add({{-1, 0x10}, {0, 0x14}, {1, 0x18}, {0, 0x20}, {-1, 0x30}});
  uint32_t leaf_sp = add({{0, 0x10}});
  uint32_t leaf_file = add({{0, 0x10}});
  uint32_t leaf_line = add({{30, 4}, {31, 0x10}});

  auto record = [&](uint32_t entry, uint32_t name, uint32_t sp, uint32_t file, uint32_t line,
                    uint32_t start_line) {
    ByteWriter out(order);
    out.u32(entry).u32(name).u32(0).u32(0).u32(sp).u32(file).u32(line);
    out.u32(name == go_names::kCaller ? 3 : 0).u32(0);
    if (!is_118())
      out.u32(start_line);
    out.u8(0).u8(0).u8(0).u8(name == go_names::kCaller ? 4 : 0);
    if (name == go_names::kCaller) {
      out.u32(0).u32(0).u32(caller_inline);
      out.u32(0xffffffff).u32(0xffffffff).u32(0xffffffff).u32(0);
    }
    return out.pad_to((out.out.size() + 7) / 8 * 8).out;
  };
  std::string caller = record(0, go_names::kCaller, caller_sp, caller_file, caller_line, 10);
  std::string leaf = record(0x40, go_names::kLeaf, leaf_sp, leaf_file, leaf_line, 30);
  ByteWriter functions(order);
  uint32_t records = 24;
  functions.u32(0).u32(records).u32(0x40).u32(records + caller.size()).u32(0x60);
  functions.pad_to(records).text(caller).text(leaf);

  auto aligned = [](std::string part) {
    part.resize((part.size() + 7) / 8 * 8);
    return part;
  };
  std::vector<std::string> tables = {aligned(std::string(go_names::kNames)), aligned(units.out),
                                     aligned(files), aligned(pc_values), functions.out};
  ByteWriter out(order, pointer_size);
  bool has_text_start = layout == GoLayout::k118 || layout == GoLayout::k120;
  out.u32(is_118() ? go::kMagic118 : go::kMagic120).u16(0).u8(1).u8(pointer_size);
  out.word(2).word(2).word(has_text_start ? text : 0);
  uint64_t offset = 8 + 8 * pointer_size;
  for (const std::string& part : tables) {
    out.word(offset);
    offset += part.size();
  }
  for (const std::string& part : tables)
    out.text(part);
  return out.text(inline_tree()).out;
}

inline std::string GoProgram::module_data() const {
  std::vector<uint64_t> words(48, 0);
  uint64_t gofunc = table_address + gofunc_offset();
  words[0] = table_address;
  words[1] = table_address + 8 + 8 * pointer_size;  // names
  words[2] = words[3] = go_names::kNames.size();
  words[17] = words[18] = 3;
  words[20] = words[22] = text;
  words[21] = words[23] = text + 0x60;
  words[37] = 0x700000;
  switch (layout) {
    case GoLayout::k118:
      words[38] = gofunc;
      break;
    case GoLayout::k120:
      words[40] = gofunc;
      break;
    case GoLayout::k126:
      words[38] = 0x710000;
      words[40] = gofunc;
      words[41] = gofunc + 0x100;
      break;
    case GoLayout::k127:
      words[38] = 0x20;
      words[39] = 0x710000;
      words[40] = 0x100;
      words[43] = gofunc;
      words[44] = gofunc + 0x100;
      break;
  }
  ByteWriter out(order, pointer_size);
  for (uint64_t word : words)
    out.word(word);
  return out.out;
}

inline ImageSpec GoProgram::image() const {
  ImageSpec spec{.order = order, .pointer_size = pointer_size, .entry = text, .parts = {}};
  bool has_module_section = layout == GoLayout::k126 || layout == GoLayout::k127;
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(0x80, '\xcc'),
                        .address = text,
                        .segment_flags = PF_R | PF_X});
  spec.parts.push_back({.name = ".gopclntab",
                        .contents = table(),
                        .address = table_address,
                        .segment_flags = PF_R});
  spec.parts.push_back({.name = has_module_section ? ".go.module" : ".data",
                        .contents = module_data(),
                        .address = module_address,
                        .segment_flags = PF_R | PF_W});
  return spec;
}

}  // namespace gosym
