#include "dwarf/line_table.h"

#include <doctest/doctest.h>

#include <list>

#include "image_builder.h"

namespace gosym::line_table_test {
using dwarf::LineTable;

namespace {

constexpr uint64_t kCode = 0x1000;
constexpr uint64_t kCodeEnd = 0x2000;

std::string uleb(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string text(std::string_view value) {
  return std::string(value) + '\0';
}

std::string extended(const std::string& operand) {
  return '\0' + uleb(operand.size()) + operand;
}
std::string set_address(uint64_t address, ByteOrder order = ByteOrder::kLittle) {
  return extended(ByteWriter(order).u8(2).u64(address).out);
}
std::string end_sequence() {
  return extended("\1");
}
std::string advance_pc(uint64_t bytes) {
  return '\2' + uleb(bytes);
}
std::string advance_line(int lines) {
  return std::string("\3") + static_cast<char>(lines & 0x7f);
}
std::string set_file(uint64_t file) {
  return '\4' + uleb(file);
}
const std::string kRow = "\1";

// A table whose parts can be made wrong. The opcode base is 14: one more opcode than there are
// in the standard, number 13, has two operands.
struct TableSpec {
  int version = 4;
  bool is_64_bit = false;
  ByteOrder order = ByteOrder::kLittle;
  uint64_t header_excess = 0;
  uint8_t shortest_instruction = 1;
  uint8_t line_range = 10;
  uint8_t opcode_base = 14;
  std::string names;  // directories and files; empty: two of each
  std::string program;

  std::string offset(uint64_t value) const {
    ByteWriter out(order);
    return (is_64_bit ? out.u64(value) : out.u32(value)).out;
  }

  std::string names_or_default() const {
    if (!names.empty())
      return names;
    if (version < 5)
      return text("inc") + text("/usr/include") + '\0' + text("a.c") + std::string(3, '\0') +
             text("b.h") + "\1" + std::string(2, '\0') + text("c.h") + "\2" +
             std::string(3, '\0');
    // Directories: one format, a path in .debug_line_str. Files: a path in the table, its
    // directory, 16 bytes of MD5.
    return std::string("\1\1\x1f\3", 4) + offset(0) + offset(7) + offset(11) +
           std::string("\3\1\x08\2\x0b\5\x1e\2", 8) + text("a.c") + '\0' +
           std::string(16, 'x') + text("b.h") + '\1' + std::string(16, 'y');
  }

  std::string build() const {
    std::string header = ByteWriter(order).u8(shortest_instruction).out;
    if (version >= 4)
      header += '\1';
    // From line -3.
    header += ByteWriter(order).u8(1).u8(0xfd).u8(line_range).u8(opcode_base).out;
    header += std::string("\0\1\1\1\1\0\0\0\1\0\0\1\2", 13) + names_or_default();
    std::string body = ByteWriter(order).u16(static_cast<uint64_t>(version)).out;
    if (version >= 5)
      body += std::string("\10\0", 2);
    body += offset(header.size() + header_excess) + header + program;
    std::string escape = is_64_bit ? std::string(4, '\xff') : "";
    return escape + offset(body.size()) + body;
  }
};

const std::string kLineTexts("/build\0inc\0/usr/include", 24);

std::optional<LineTable> read(std::string bytes, ByteOrder order = ByteOrder::kLittle,
                              uint64_t left = 1 << 20) {
  static std::list<std::string> kept;  // tables borrow from it
  const std::string& lines = kept.emplace_back(std::move(bytes));
  auto is_code = [](uint64_t address) { return address >= kCode && address < kCodeEnd; };
  return LineTable::read({.lines = as_bytes(lines),
                          .line_texts = as_bytes(kLineTexts),
                          .texts = as_bytes("text"),
                          .order = order},
                         0, is_code, left);
}

std::string row_at(const LineTable& table, uint64_t address) {
  const LineTable::Row* row = table.find(address);
  return row == nullptr ? "none"
                        : table.path(row->file, "/build") + ":" + std::to_string(row->line);
}

// Lines 11 of a.c at 0x1000, 21 of b.h at 0x1010, and the end at 0x1018.
std::string program(ByteOrder order = ByteOrder::kLittle) {
  return set_address(kCode, order) + advance_line(10) + kRow + set_file(2) + advance_pc(16) +
         advance_line(10) + kRow + advance_pc(8) + end_sequence();
}

void check_program(const LineTable& table, std::string_view first, std::string_view second) {
  CHECK(row_at(table, 0xfff) == "none");
  CHECK(row_at(table, 0x1000) == first);
  CHECK(row_at(table, 0x100f) == first);
  CHECK(row_at(table, 0x1010) == second);
  CHECK(row_at(table, 0x1017) == second);
  CHECK(row_at(table, 0x1018) == "none");
}

}  // namespace

TEST_CASE("line table: versions 2 to 4, of each width and byte order") {
  for (int version : {2, 3, 4})
    for (bool is_64_bit : {false, true})
      for (ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
        CAPTURE(version);
        TableSpec spec{.version = version,
                       .is_64_bit = is_64_bit,
                       .order = order,
                       .names = {},
                       .program = program(order)};
        auto table = read(spec.build(), order);
        REQUIRE(table);
        check_program(*table, "/build/a.c:11", "/build/inc/b.h:21");
        CHECK(table->path(3, "/build") == "/usr/include/c.h");
        CHECK(table->path(0, "/build").empty());
        CHECK(table->path(4, "/build").empty());
        CHECK(table->path(UINT64_MAX, "/build").empty());
      }
}

TEST_CASE("line table: version 5 counts files from 0, and its directories too") {
  for (bool is_64_bit : {false, true}) {
    TableSpec spec{.version = 5, .is_64_bit = is_64_bit, .names = {}, .program = program()};
    auto table = read(spec.build());
    REQUIRE(table);
    check_program(*table, "/build/inc/b.h:11", ":21");
    CHECK(table->path(0, "/elsewhere") == "/build/a.c");
    CHECK(table->path(1, "/elsewhere") == "/elsewhere/inc/b.h");
    CHECK(table->path(2, "/build").empty());
  }
}

TEST_CASE("line table: every prefix is refused") {
  for (int version : {4, 5}) {
    std::string whole =
        TableSpec{.version = version, .names = {}, .program = program()}.build();
    for (size_t size = 0; size < whole.size(); size++)
      CHECK_FALSE(read(whole.substr(0, size)));
  }
}

TEST_CASE("line table: a program cut short keeps the sequences that have ended") {
  std::string second = set_address(0x1100) + kRow + advance_pc(4);
  std::string whole = program() + second + end_sequence();
  CHECK(row_at(*read(TableSpec{.names = {}, .program = whole}.build()), 0x1100) ==
        "/build/a.c:1");
  for (size_t size = 0; size < whole.size(); size++) {
    CAPTURE(size);
    auto table = read(TableSpec{.names = {}, .program = whole.substr(0, size)}.build());
    REQUIRE(table);
    CHECK(row_at(*table, 0x1000) == (size < program().size() ? "none" : "/build/a.c:11"));
    CHECK(row_at(*table, 0x1100) == "none");
  }
}

TEST_CASE("line table: a header that is wrong is refused") {
  auto is_refused = [](const TableSpec& spec) { return !read(spec.build()); };
  for (int version : {0, 1, 6})
    CHECK(is_refused({.version = version, .names = {}, .program = {}}));
  CHECK(is_refused({.header_excess = 1, .names = {}, .program = {}}));
  CHECK_FALSE(is_refused({.header_excess = 1, .names = {}, .program = "x"}));
  CHECK(is_refused({.line_range = 0, .names = {}, .program = {}}));
  CHECK(is_refused({.opcode_base = 0, .names = {}, .program = {}}));
  CHECK(is_refused({.opcode_base = 255, .names = {}, .program = {}}));

  auto is_refused_5 = [](const std::string& names) {
    return !read(TableSpec{.version = 5, .names = names, .program = {}}.build());
  };
  CHECK_FALSE(is_refused_5(std::string("\0\0\0\0", 4)));
  // An unknown form; more entries than bytes; entries that take none.
  CHECK(is_refused_5(std::string("\1\1\x7f\1x\0\0", 7)));
  CHECK(is_refused_5(std::string("\1\1\x08\5x\0\0\0", 8)));
  CHECK(is_refused_5(std::string("\0\x7f\0\0", 4)));
}

TEST_CASE("line table: each opcode moves what it should") {
  struct Case {
    std::string opcodes;
    uint64_t address;
    uint32_t line;
    uint32_t file;
  };
  // Opcode 14 + 2 * 10 + 5: 2 instructions, 5 - 3 lines.
  const Case cases[] = {
      {kRow, 0, 1, 1},
      {"\2\x10\1", 64, 1, 1},
      {std::string("\3\x7f\1"), 0, 0, 1},
      {"\4\x05\1", 0, 1, 5},
      {"\5\x09\1", 0, 1, 1},                            // column
      {"\6\1", 0, 1, 1},                                // is_stmt
      {"\7\1", 0, 1, 1},                                // basic block
      {"\x08\1", 96, 1, 1},                             // (255 - 14) / 10 instructions
      {std::string("\x09\x34\x02\1", 4), 0x234, 1, 1},  // not in instructions
      {"\x0a\x0b\1", 0, 1, 1},                          // prologue end, epilogue begin
      {"\x0c\x05\1", 0, 1, 1},                          // isa
      {"\x0d\x85\x01\x06\1", 0, 1, 1},                  // unknown, two operands
      {"\x27", 8, 3, 1},
      {extended("\4x") + kRow, 0, 1, 1},     // discriminator
      {extended("\x80xyz") + kRow, 0, 1, 1}  // unknown
  };
  for (const Case& opcode : cases) {
    CAPTURE(opcode.address);
    CAPTURE(opcode.line);
    auto table = read(TableSpec{
        .shortest_instruction = 4,
        .names = {},
        .program = set_address(kCode) + opcode.opcodes + advance_pc(1) + end_sequence()}
                          .build());
    REQUIRE(table);
    const LineTable::Row* row = table->find(kCode + opcode.address);
    REQUIRE(row != nullptr);
    CHECK(row->address == kCode + opcode.address);
    CHECK(row->line == opcode.line);
    CHECK(row->file == opcode.file);
    CHECK(table->find(kCode + opcode.address + 3) == row);
    CHECK(table->find(kCode + opcode.address + 4) == nullptr);
  }
}

TEST_CASE("line table: a program may define files") {
  std::string define = extended("\3" + text("late.h") + "\1" + std::string(2, '\0'));
  auto table = read(TableSpec{.names = {}, .program = define + program()}.build());
  REQUIRE(table);
  CHECK(table->path(4, "/build") == "/build/inc/late.h");
}

TEST_CASE("line table: code that the linker has discarded hides nothing") {
  for (uint64_t begin : {uint64_t{0}, uint64_t{1}, UINT64_MAX, UINT64_MAX - 1, kCodeEnd}) {
    CAPTURE(begin);
    std::string discarded =
        set_address(begin) + set_file(3) + kRow + advance_pc(0x1800) + end_sequence();
    for (const std::string& both : {discarded + program(), program() + discarded}) {
      auto table = read(TableSpec{.names = {}, .program = both}.build());
      REQUIRE(table);
      check_program(*table, "/build/a.c:11", "/build/inc/b.h:21");
    }
  }
}

TEST_CASE("line table: of rows at one address the last counts, and order does not matter") {
  std::string twice = set_address(kCode) + kRow + advance_line(1) + kRow;
  std::string back = set_address(kCode + 8) + kRow + set_address(kCode + 4) + advance_line(1) +
                     kRow + set_address(kCode + 16);
  auto table = read(TableSpec{.names = {}, .program = twice + back + end_sequence()}.build());
  REQUIRE(table);
  CHECK(row_at(*table, kCode + 3) == "/build/a.c:2");
  CHECK(row_at(*table, kCode + 4) == "/build/a.c:3");
  CHECK(row_at(*table, kCode + 8) == "/build/a.c:2");
}

TEST_CASE("line table: a path is no longer than Linux takes, and made when it is asked for") {
  std::string directory(4000, 'd');
  std::string names = text(directory) + '\0';
  for (int i = 0; i < 1000; i++)
    names += text("f") + "\1" + std::string(2, '\0');
  names += text(std::string(200, 'l')) + "\1" + std::string(3, '\0');
  auto table = read(TableSpec{.names = names, .program = {}}.build());
  REQUIRE(table);
  CHECK(table->memory_size() < 100000);
  CHECK(table->path(1, "").size() == directory.size() + 2);
  CHECK(table->path(1001, "").empty());
  CHECK(table->path(1, std::string(100, 'b')).empty());
}

TEST_CASE("line table: a file in a directory that is too long, or not there, has no path") {
  std::string lines = TableSpec{.version = 5, .names = {}, .program = {}}.build();
  for (size_t size : {4000, 4095, 4096, 5000}) {
    CAPTURE(size);
    std::string texts = text("/build") + text(std::string(size - 7, '/') + "inc") + text("/");
    uint64_t left = lines.size();
    auto table = LineTable::read(
        {.lines = as_bytes(lines), .line_texts = as_bytes(texts), .texts = {}}, 0,
        [](uint64_t) { return true; }, left);
    REQUIRE(table);
    CHECK(table->path(0, "") == "/build/a.c");
    CHECK(table->path(1, "").size() == (size <= 4096 ? size : 0));
  }
  std::string names = text("inc") + '\0' + text("a.c") + "\2" + std::string(3, '\0');
  auto table = read(TableSpec{.names = names, .program = {}}.build());
  REQUIRE(table);
  CHECK(table->path(1, "/build").empty());
}

TEST_CASE("line table: what is no path has no directory") {
  std::string names = std::string(1, '\0') + text("<built-in>") + std::string(4, '\0');
  auto table = read(TableSpec{.names = names, .program = {}}.build());
  REQUIRE(table);
  CHECK(table->path(1, "/build") == "<built-in>");
}

TEST_CASE("line table: nothing is read when nothing is left") {
  std::string whole = TableSpec{.names = {}, .program = program()}.build();
  CHECK(read(whole, ByteOrder::kLittle, whole.size() - 4));
  CHECK_FALSE(read(whole, ByteOrder::kLittle, whole.size() - 5));
}

}  // namespace gosym::line_table_test
