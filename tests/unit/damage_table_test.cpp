// Damage to a record, and to what it points to, costs that one function, or a part of it.

#include <doctest/doctest.h>

#include <tuple>

#include "base/text.h"
#include "go_modules.h"

namespace gosym::damage_table_test {

namespace {

constexpr uint64_t kInner = 0x401016;
constexpr uint64_t kLeaf = 0x401041;

// Fields of a record of Go 1.20 and later, and of the tables that all layouts have alike.
constexpr uint64_t kNameField = 4;
constexpr uint64_t kPcFileField = 20;
constexpr uint64_t kPcLineField = 24;
constexpr uint64_t kPcDataCountField = 28;
constexpr uint64_t kUnitField = 32;
constexpr uint64_t kFuncDataCountField = 43;

// A program whose table is changed before it is read.
struct Damaged {
  explicit Damaged(BuiltGoProgram from = {})
      : program(std::move(from)),
        table(program.build_table()),
        spec(program.image()),
        patch(program, spec.parts[1].contents) {}

  std::string calls_at(uint64_t address) const {
    LoadedProgram loaded(spec);
    return gosym::calls_at(loaded.module(), address);
  }
  uint64_t leaf(uint64_t field) const { return table.records[1] + field; }

  BuiltGoProgram program;
  GoTable table;
  ImageSpec spec;
  Patch patch;
};

// The two answers of a program, the second with `offset` changed in the leaf's record.
void check_leaf_only(uint64_t field, uint64_t value, std::string_view leaf) {
  CAPTURE(field);
  CAPTURE(value);
  Damaged damaged;
  damaged.patch.u32(damaged.leaf(field), value);
  CHECK(damaged.calls_at(kInner) == kInnerCalls);
  CHECK(damaged.calls_at(kLeaf) == leaf);
}

}  // namespace

TEST_CASE("damage: a hole in the function table is no Go function, and no error") {
  for (GoLayout layout : {GoLayout::k113, GoLayout::k116}) {
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
      BuiltGoProgram program{.pointer_size = pointer_size, .layout = layout};
      program.functions.push_back({.name = "", .entry = 0x20 + 0x40, .is_hole = true});
      program.text_size = 0x80;
      LoadedProgram loaded(program);
      CHECK(loaded.module().table.is_hole(2));
      CHECK_FALSE(loaded.module().table.is_hole(1));
      CHECK(calls_at(loaded.module(), 0x40105f) == "main.leaf :0");
      CHECK(calls_at(loaded.module(), 0x401060) == "");
    }
  }
}

TEST_CASE("damage: a record that lies past the end, or at no record, costs its function") {
  for (GoLayout layout : {GoLayout::k12, GoLayout::k113, GoLayout::k116, GoLayout::k127}) {
    CAPTURE(static_cast<int>(layout));
    for (uint64_t offset :
         {uint64_t{0x7fffffff}, uint64_t{0xffffffff}, uint64_t{1}, uint64_t{0}}) {
      CAPTURE(offset);
      Damaged damaged({.layout = layout});
      bool has_offsets = damaged.program.has_offsets();
      if (has_offsets)
        damaged.patch.u32(damaged.table.functions + 12, offset);
      else
        damaged.patch.word(damaged.table.functions + 24, offset);
      CHECK(damaged.calls_at(kLeaf) == "");
      CHECK(damaged.calls_at(0x401000) == "main.caller /src/a.go:10");
    }
  }
}

TEST_CASE("damage: a record whose entry is not that of the table costs its function") {
  check_leaf_only(0, 0x41, "");
}

TEST_CASE("damage: entries that an obfuscator scrambled are known by their key") {
  for (GoLayout layout : {GoLayout::k118, GoLayout::k120, GoLayout::k127}) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program = scrambled({.layout = layout});
    LoadedProgram loaded(program);
    CHECK(loaded.module().table.is_obfuscated());
    CHECK(calls_at(loaded.module(), kInner) == kInnerCalls);
    CHECK(calls_at(loaded.module(), kLeaf) == kLeafCall);

    // One record that does not fit the key: then there is none.
    ImageSpec spec = program.image();
    Patch(program, spec.parts[1].contents).u32(program.build_table().records[3], 1);
    CHECK_FALSE(LoadedProgram(spec).module().table.is_obfuscated());
  }
}

TEST_CASE("damage: a name that is not there leaves the address to the next source") {
  for (uint64_t offset : {0xffffffffu, 0x80000000u, 0x7fffffffu, 0x1000u})
    check_leaf_only(kNameField, offset, "");
}

TEST_CASE("damage: a name without an end is none, and a name of megabytes neither") {
  BuiltGoProgram program{.table_address = 0x2000000};
  program.functions[1].name = std::string(kMaxNameSize, 'x');
  CHECK(Damaged(program).calls_at(kLeaf) == "");
  program.functions[1].name = std::string(10'000'000, 'x');
  CHECK(Damaged(program).calls_at(kLeaf) == "");
  program.functions[1].name.resize(kMaxNameSize - 1);
  CHECK(Damaged(program).calls_at(kLeaf).starts_with("xxx"));

  Damaged damaged;  // no NUL up to the end of the names
  uint64_t end = damaged.table.units;
  for (uint64_t i = damaged.table.names; i < end; i++)
    if (damaged.spec.parts[1].contents[i] == '\0')
      damaged.patch.u8(i, 'x');
  CHECK(damaged.calls_at(kLeaf) == "");
}

TEST_CASE("damage: the first name lies at offset 0, which is none before Go 1.16") {
  for (GoLayout layout : kGoLayouts) {
    LoadedProgram loaded(BuiltGoProgram{.layout = layout});
    auto caller = loaded.module().table.function(0);
    REQUIRE(caller);
    CHECK((caller->name_offset == 0) == (layout >= GoLayout::k116));
    CHECK(loaded.module().table.name(caller->name_offset) == "main.caller");
  }
}

TEST_CASE("damage: control bytes and broken UTF-8 in a name are escaped when printed") {
  BuiltGoProgram program;
  program.functions[1].name = "main.\x1b[31m\x07\xff\xc3(";
  std::string calls = Damaged(program).calls_at(kLeaf);
  CHECK(calls.starts_with(program.functions[1].name));
  CHECK(printable(calls) == "main.\\x1b[31m\\x07\\xff\\xc3( /src/a.go:30");
}

TEST_CASE("damage: more pcdata or funcdata than there is room for costs the function") {
  for (uint64_t count : {0xffffffffu, 0x40000000u, 0x1000u})
    check_leaf_only(kPcDataCountField, count, "");
  Damaged damaged;
  damaged.spec.parts[1].contents.resize(damaged.table.records[1] + 44 + 1000);
  damaged.patch.u8(damaged.leaf(kFuncDataCountField), 255);
  CHECK(damaged.calls_at(kLeaf) == "");
  damaged.spec.parts[1].contents.resize(damaged.table.records[1] + 44 + 255 * 4);
  CHECK(damaged.calls_at(kLeaf) == kLeafCall);
}

TEST_CASE("damage: without its table of lines, or of files, a function has neither") {
  for (uint64_t offset : {0xffffffffu, 0x7fffffffu, 0u}) {
    check_leaf_only(kPcLineField, offset, "main.leaf :0");
    check_leaf_only(kPcFileField, offset, "main.leaf :0");
  }
}

TEST_CASE("damage: a line table that goes on past the function answers for the function only") {
  BuiltGoProgram program;
  program.functions[1].lines = {{30, 0x1000}};
  program.functions[1].files = {{0, 0x1000}};
  Damaged damaged(program);
  CHECK(damaged.calls_at(0x40105f) == kLeafCall);
  CHECK(damaged.calls_at(0x401060) == "");
  LoadedProgram loaded(damaged.spec);
  CHECK(go::code_size(loaded.module().table, 1) == 0x20);
}

TEST_CASE("damage: a file past the units, or a unit past the files, is no file") {
  constexpr std::string_view kNoFile = "main.leaf :30";
  for (uint64_t unit : {0xffffffffu, 0xfffffffeu, 0x1000u, 2u})
    check_leaf_only(kUnitField, unit, kNoFile);
  for (uint64_t offset : {0xffffffffu, 0xfffffffeu, 0x1000u}) {
    Damaged damaged;
    damaged.patch.u32(damaged.table.units + 4 * 3, offset);
    CHECK(damaged.calls_at(kLeaf) == kNoFile);
  }
  for (int32_t number : {-2, 3, 100, INT32_MAX, INT32_MIN}) {
    BuiltGoProgram program;
    program.functions[1].files = {{number, 0x10}};
    CHECK(Damaged(program).calls_at(kLeaf) == (number < 0 ? "main.leaf :0" : kNoFile));
  }
}

TEST_CASE("damage: up to Go 1.15 a file past the table of files is no file") {
  for (int32_t number : {-1, 2, 100, INT32_MAX - 1}) {
    CAPTURE(number);
    BuiltGoProgram program{.layout = GoLayout::k113};
    program.functions[1].files = {{number, 0x10}};
    CHECK(Damaged(program).calls_at(kLeaf) == "main.leaf :30");
  }
}

TEST_CASE("damage: up to Go 1.15 more files than there is room for are those that are there") {
  for (GoLayout layout : {GoLayout::k12, GoLayout::k113}) {
    Damaged damaged({.layout = layout});
    uint64_t room = damaged.spec.parts[1].contents.size() - damaged.table.files;
    for (uint64_t count : {0xffffffffu, 0x80000000u, 0x1000u}) {
      damaged.patch.u32(damaged.table.files, count);
      LoadedProgram loaded(damaged.spec);
      CHECK(loaded.module().table.header().file_count == room / 4);
      CHECK(loaded.module().table.files().size() == room / 4 - 1);
      CHECK(damaged.calls_at(kLeaf) == kLeafCall);
    }
    damaged.patch.u32(damaged.table.files, 0);
    CHECK(damaged.calls_at(kLeaf) == "main.leaf :30");
    // A table of files that lies past the end is empty.
    uint64_t end = damaged.table.functions + 5 * 8;
    damaged.patch.u32(end, 0xffffffff);
    CHECK(damaged.calls_at(kLeaf) == "main.leaf :30");
  }
}

TEST_CASE("damage: more files than the table has are those that it has") {
  Damaged damaged;
  damaged.patch.word(16, UINT64_MAX);
  LoadedProgram loaded(damaged.spec);
  CHECK(loaded.module().table.files().size() >= 2);
  CHECK(loaded.module().table.files()[1] == "/src/b.go");
  CHECK(damaged.calls_at(kLeaf) == kLeafCall);
}

TEST_CASE("damage: names without files and lines, as an obfuscator leaves them, are names") {
  for (GoLayout layout : kGoLayouts) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program{.layout = layout};
    program.functions[0].name = "a1b2c3";
    for (GoFunction& function : program.functions) {
      function.lines = {{0, 0x10}};
      function.files.clear();
    }
    Damaged damaged(program);
    CHECK(damaged.calls_at(0x401004) == "a1b2c3 :0");
    CHECK(damaged.calls_at(kLeaf) == "main.leaf :0");
  }
}

TEST_CASE("damage: addresses near the end of 32 bits do not wrap") {
  for (GoLayout layout : kGoLayouts) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program{.pointer_size = 4, .layout = layout, .text = 0xffffff00};
    Damaged damaged(program);
    CHECK(damaged.calls_at(0xffffff41) == kLeafCall);
    CHECK(damaged.calls_at(0xffffff60) == "");
    CHECK(damaged.calls_at(0x41) == "");
    CHECK(damaged.calls_at(0x1ffffff41) == "");
  }
}

}  // namespace gosym::damage_table_test
