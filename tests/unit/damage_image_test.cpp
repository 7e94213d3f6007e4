// Damage to an image around its Go function table: the table is still found where it is whole,
// and refused with the reason where it is not.

#include <doctest/doctest.h>

#include "go_modules.h"

namespace gosym::damage_image_test {

namespace {

constexpr uint64_t kInner = 0x401016;
constexpr uint64_t kLeaf = 0x401041;
constexpr std::string_view kScan = "scan of the segments";

// Offsets in a 64-bit section header.
constexpr uint64_t kTypeField = 4;
constexpr uint64_t kFlagsField = 8;
constexpr uint64_t kOffsetField = 24;
constexpr uint64_t kSizeField = 32;

// Offset of the header of section .gopclntab: the third, behind the empty one and .text.
uint64_t section_header(const std::string& file) {
  return load<uint64_t>(as_bytes(file), 40).value() + 2 * 64;
}

// The program with a field of that header changed.
std::string with_section(uint64_t field, uint64_t value) {
  BuiltGoProgram program;
  std::string file = build_image(program.image());
  Patch(program, file).word(section_header(file) + field, value);
  return file;
}

// A second program elsewhere in the image.
ImageSpec with_second_table(const BuiltGoProgram& program, const std::string& second) {
  ImageSpec spec = program.image();
  spec.parts[1].name = ".rodata";
  spec.parts.insert(
      spec.parts.begin(),
      {.name = ".data.rel.ro", .contents = second, .address = 0x380000, .segment_flags = PF_R});
  return spec;
}

}  // namespace

TEST_CASE("damage: an image without section headers is scanned") {
  for (GoLayout layout : kGoLayouts) {
    BuiltGoProgram program{.layout = layout};
    program.functions[1].name = "runtime.leaf";
    std::string file = build_image(program.image());
    Patch(program, file).word(40, 0).u8(60, 0).u8(62, 0);  // shoff, shnum, shstrndx
    LoadedProgram loaded(file);
    CHECK(loaded.image.sections.empty());
    CHECK(loaded.module().found_by == kScan);
    CHECK(calls_at(loaded.module(), kLeaf) == "runtime.leaf /src/a.go:30");
    if (program.has_inlining())
      CHECK(calls_at(loaded.module(), kInner) == kInnerCalls);
  }
}

TEST_CASE("damage: a section without contents, as in a file of debug information") {
  BuiltGoProgram program;
  ImageSpec spec = program.image();
  for (ImageSpec::Part& part : spec.parts)
    part.type = SHT_NOBITS;
  CHECK(LoadedProgram(spec).problem == "section .gopclntab: has no contents in this file");
}

TEST_CASE("damage: a section that is compressed") {
  ImageSpec spec = BuiltGoProgram{}.image();
  spec.parts[1].address = 0;
  std::string file = build_image(spec);
  Patch({}, file).word(section_header(file) + kFlagsField, SHF_COMPRESSED);
  CHECK(LoadedProgram(file).problem == "section .gopclntab: is compressed");
}

TEST_CASE(
    "damage: a section that lies outside the file, or overflows, does not hide its table") {
  for (auto [field, value] :
       {std::pair{kOffsetField, uint64_t{0x7fffffff}}, std::pair{kOffsetField, UINT64_MAX},
        std::pair{kSizeField, UINT64_MAX}, std::pair{kSizeField, uint64_t{1} << 40},
        std::pair{kTypeField, uint64_t{SHT_NOBITS}}}) {
    LoadedProgram loaded(with_section(field, value));
    CHECK(loaded.module().found_by == kScan);
    CHECK(calls_at(loaded.module(), kInner) == kInnerCalls);
  }
  ImageSpec spec = BuiltGoProgram{}.image();
  spec.parts[1].address = 0;
  std::string file = build_image(spec);
  Patch({}, file).word(section_header(file) + kSizeField, UINT64_MAX);
  CHECK(LoadedProgram(file).problem == "section .gopclntab: lies outside the file");
}

TEST_CASE("damage: a section of something else does not hide a whole table") {
  ImageSpec spec = BuiltGoProgram{}.image();
  spec.parts[1].name = ".rodata";
  spec.parts.push_back({.name = ".gopclntab", .contents = "garbage garbage garbage"});
  CHECK(LoadedProgram(spec).module().found_by == kScan);
}

TEST_CASE("damage: a header that is cut short") {
  for (size_t size : {0u, 7u, 15u, 71u}) {
    ImageSpec spec = BuiltGoProgram{}.image();
    spec.parts[1].contents.resize(size);
    CHECK(LoadedProgram(spec).problem.starts_with(
        "section .gopclntab: header: malformed or cut short at byte "));
  }
}

TEST_CASE("damage: an unknown magic is read as what moduledata confirms, and told") {
  struct Case {
    GoLayout layout;
    std::string_view format;
  };
  for (auto [layout, format] :
       {Case{GoLayout::k118, "Go 1.18 and 1.19"}, Case{GoLayout::k120, "Go 1.20 and later"},
        Case{GoLayout::k127, "Go 1.20 and later"}, Case{GoLayout::k116, "Go 1.16 and 1.17"},
        Case{GoLayout::k113, "Go 1.13 to 1.15"}}) {
    BuiltGoProgram program{.layout = layout, .magic = 0x12345678};
    if (program.has_offsets())
      program = scrambled(program);
    LoadedProgram loaded(program);
    CHECK(loaded.module().assumption ==
          fmt::format("unknown magic 0x12345678 read as that of {}", format));
    CHECK(calls_at(loaded.module(), kInner) == kInnerCalls);
    CHECK(calls_at(loaded.module(), kLeaf) == kLeafCall);
  }
}

TEST_CASE("damage: an unknown magic that nothing confirms is refused") {
  ImageSpec spec = BuiltGoProgram{.magic = 0x12345678}.image();
  spec.parts.pop_back();
  CHECK(LoadedProgram(spec).problem == "section .gopclntab: header: unknown magic 0x12345678");
}

TEST_CASE("damage: of two tables that are scanned, that of moduledata is taken") {
  BuiltGoProgram embedded{.table_address = 0x380000};
  embedded.functions[1].name = "runtime.embedded";
  BuiltGoProgram program;
  LoadedProgram loaded(with_second_table(program, embedded.table()));
  CHECK(loaded.module().table_address == ImageAddress{0x500000});
  CHECK(calls_at(loaded.module(), kLeaf) == kLeafCall);
}

TEST_CASE("damage: of two tables without moduledata, the first of a Go program is taken") {
  BuiltGoProgram embedded{.layout = GoLayout::k12, .text = 0x900000};
  BuiltGoProgram program{.layout = GoLayout::k12};
  program.functions[1].name = "runtime.leaf";
  LoadedProgram loaded(with_second_table(program, embedded.table()));
  CHECK(calls_at(loaded.module(), kLeaf) == "runtime.leaf /src/a.go:30");
}

TEST_CASE("damage: a chance magic in an image that is not Go is no table") {
  BuiltGoProgram program{.layout = GoLayout::k12};
  std::string table = program.table();
  auto scanned = [&](const std::string& contents) {
    ImageSpec spec = program.image();
    spec.parts[1].name = ".rodata";
    spec.parts[1].contents = contents;
    LoadedProgram loaded(spec);
    CHECK(loaded.problem == "");
    return loaded.found.has_value();
  };
  CHECK_FALSE(scanned(table));  // whole, but without the runtime of Go
  CHECK_FALSE(scanned(table.substr(0, 8) + std::string(100, '\0')));
  CHECK_FALSE(scanned(table.substr(0, 4) + std::string(100, '\xff')));
  CHECK_FALSE(scanned(table.substr(0, 7)));
  program.functions[0].name = "runtime.caller";
  CHECK(scanned(program.table()));
}

TEST_CASE("damage: a scan gives up when nothing that looks like a header is one") {
  for (size_t false_headers : {15u, 17u}) {
    BuiltGoProgram program;
    ImageSpec spec = program.image();
    spec.parts[1].name = ".rodata";
    for (size_t i = 0; i < false_headers; i++)
      spec.parts[0].contents += program.table().substr(0, 8) + std::string(8, '\0');
    CHECK(LoadedProgram(spec).found.has_value() == (false_headers < 16));
  }
}

TEST_CASE("damage: no prefix of an image crashes, or invents a name") {
  for (GoLayout layout : {GoLayout::k12, GoLayout::k113, GoLayout::k127}) {
    BuiltGoProgram program{.layout = layout};
    std::string file = build_image(program.image());
    for (size_t size = 0; size < file.size(); size += 3) {
      CAPTURE(size);
      std::string prefix = file.substr(0, size);
      if (!elf::parse(as_bytes(prefix)))
        continue;
      LoadedProgram loaded(prefix);
      if (!loaded.found)
        continue;
      std::vector<Call> calls;
      if (go::find_calls(*loaded.found, ImageAddress{kLeaf}, calls))
        CHECK(calls[0].function == "main.leaf");
    }
  }
}

}  // namespace gosym::damage_image_test
