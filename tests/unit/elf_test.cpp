#include <doctest/doctest.h>

#include "elf/build_ids.h"
#include "elf/image.h"
#include "elf/kind.h"
#include "elf/symbol_table.h"
#include "image_builder.h"

using namespace gosym;

namespace {

ImageSpec sample_spec(ByteOrder order = ByteOrder::kLittle, uint8_t pointer_size = 8) {
  ImageSpec spec{.order = order, .pointer_size = pointer_size, .entry = 0x401000, .parts = {}};
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(64, '\x90'),
                        .address = 0x401000,
                        .segment_flags = PF_R | PF_X});
  spec.parts.push_back({.name = ".data",
                        .contents = ByteWriter(order, pointer_size).word(0x1234).out,
                        .address = 0x602000,
                        .segment_flags = PF_R | PF_W});
  spec.parts.push_back({.name = ".bss", .type = SHT_NOBITS, .contents = "12345678"});
  return spec;
}

elf::Image parse(const std::string& file) {
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  return *image;
}

std::string message_of(const std::string& file) {
  auto image = elf::parse(as_bytes(file));
  return image ? "" : image.error().message();
}

std::string with_byte(std::string file, size_t offset, int value) {
  file.replace(offset, 1, 1, static_cast<char>(value));
  return file;
}

}  // namespace

TEST_CASE("elf: both classes and byte orders give the same facts") {
  for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
      std::string file = build_image(sample_spec(order, pointer_size));
      elf::Image image = parse(file);
      CHECK(image.order == order);
      CHECK(image.pointer_size == pointer_size);
      CHECK(image.entry == ImageAddress{0x401000});
      REQUIRE(image.segments.size() == 2);
      CHECK(image.segments[0].flags == (PF_R | PF_X));
      REQUIRE(image.sections.size() == 4);
      CHECK(image.sections[0].name == ".text");
      CHECK(image.contents(".text").value().size() == 64);
      CHECK_FALSE(image.contents(".bss"));
      CHECK_FALSE(image.contents(".nowhere"));
      CHECK(image.load_word(ImageAddress{0x602000}) == 0x1234);
      CHECK_FALSE(image.load_word(ImageAddress{0x602001}));
    }
  }
}

TEST_CASE("elf: addresses outside of the loaded bytes have none") {
  std::string file = build_image(sample_spec());
  elf::Image image = parse(file);
  CHECK(image.loaded_from(ImageAddress{0x401000}).value().size() == 64);
  CHECK(image.loaded_from(ImageAddress{0x40103f}).value().size() == 1);
  CHECK_FALSE(image.loaded_from(ImageAddress{0x401040}));
  CHECK_FALSE(image.loaded_from(ImageAddress{0x400fff}));
  CHECK_FALSE(image.loaded_from(ImageAddress{UINT64_MAX}));
  CHECK(image.is_executable_at(ImageAddress{0x40103f}));
  CHECK_FALSE(image.is_executable_at(ImageAddress{0x401040}));
  CHECK_FALSE(image.is_executable_at(ImageAddress{0x602000}));
}

TEST_CASE("elf: every prefix is refused or gives sections that lie within it") {
  std::string file = build_image(sample_spec());
  for (size_t size = 0; size < file.size(); size++) {
    CAPTURE(size);
    std::string prefix = file.substr(0, size);
    auto image = elf::parse(as_bytes(prefix));
    if (!image)
      continue;
    CHECK(image->sections.empty());
    CHECK_FALSE(image->section_problem.empty());
    if (auto text = image->loaded_from(ImageAddress{0x401000}))
      CHECK(text->size() <= size);
  }
}

TEST_CASE("elf: what is wrong with a header is told") {
  std::string file = build_image(sample_spec());
  CHECK(message_of("") == "not an ELF file");
  CHECK(message_of("#!/bin/sh") == "not an ELF file");
  CHECK(message_of(file.substr(0, 10)) ==
        "ELF header: malformed or cut short at byte 0x0 of 0xa");
  CHECK(message_of(file.substr(0, 40)) ==
        "ELF header: malformed or cut short at byte 0x18 of 0x18");
  CHECK(message_of(with_byte(file, EI_CLASS, 3)) == "ELF header: unknown class 3");
  CHECK(message_of(with_byte(file, EI_DATA, 0)) == "ELF header: unknown byte order 0");
  CHECK(message_of(with_byte(file, 47, 0xff)) == "");  // where sections are
  CHECK(
      message_of(with_byte(file, 39, 0xff)).starts_with("program headers: 2 entries of 0x38"));
  CHECK(message_of(with_byte(file, 54, 8)) ==
        "program headers: an entry of 0x8 bytes is too short");
  CHECK(message_of(with_byte(file, 54, 0)).starts_with("program headers: 2 entries of 0x0"));
}

TEST_CASE("elf: a damaged section table leaves the segments") {
  std::string file = build_image(sample_spec());
  elf::Image image = parse(with_byte(file, 46, 0x7f));
  CHECK(image.sections.empty());
  CHECK(image.section_problem.starts_with("section headers: 5 entries of 0x40 bytes at 0x7f"));
  CHECK(image.segments.size() == 2);
  CHECK(parse(with_byte(file, 58, 9)).section_problem ==
        "section headers: an entry of 0x9 bytes is too short");
}

TEST_CASE("elf: counts that do not fit the header are taken from section 0") {
  std::string file = build_image(sample_spec());
  size_t section_table = static_cast<uint8_t>(file[40]) | static_cast<uint8_t>(file[41]) << 8;
  std::string extended = with_byte(with_byte(file, 60, 0), 62, 0xff);
  extended = with_byte(extended, 63, 0xff);
  extended = with_byte(extended, section_table + 32, 5);  // size: count
  extended = with_byte(extended, section_table + 40, 4);  // link: names
  elf::Image image = parse(extended);
  REQUIRE(image.sections.size() == 4);
  CHECK(image.sections[0].name == ".text");
}

TEST_CASE("build ids: from sections and from segments, of both kinds") {
  ImageSpec spec = sample_spec();
  spec.parts.push_back({.name = ".note.go.buildid",
                        .type = SHT_NOTE,
                        .contents = build_note("Go", 4, "abc/def")});
  spec.parts.push_back({.name = ".note.gnu.build-id",
                        .type = SHT_NOTE,
                        .contents = build_note("GNU", 3, "\x01\x02\xff")});
  std::string file = build_image(spec);
  elf::BuildIds ids = elf::build_ids(parse(file));
  CHECK(ids.go == "abc/def");
  CHECK(ids.gnu == "\x01\x02\xff");

  ImageSpec plain = sample_spec();
  plain.parts.push_back({.name = ".note",
                         .contents = build_note("GNU", 3, "id"),
                         .address = 0x700000,
                         .segment_flags = PF_R});
  std::string loaded = build_image(plain);
  elf::Image image = parse(loaded);
  image.segments.back().type = PT_NOTE;
  CHECK(elf::build_ids(image).gnu == "id");
}

TEST_CASE("build ids: every prefix of a note gives the whole id or none") {
  std::string note = build_note("XYZ", 3, "other") + build_note("GNU", 3, "0123456789");
  for (size_t size = 0; size <= note.size(); size++) {
    CAPTURE(size);
    ImageSpec spec;
    spec.parts.push_back({.name = ".note", .type = SHT_NOTE, .contents = note.substr(0, size)});
    std::string file = build_image(spec);
    std::string id = elf::build_ids(parse(file)).gnu;
    CHECK(id == (size + 2 < note.size() ? "" : "0123456789"));
  }
}

namespace {

// .text is section 1 at [0x401000, 0x401040), the symbols are section 4.
std::string image_with_symbols(ImageSpec spec, const std::vector<SymbolSpec>& symbols) {
  std::string names("\0outer\0inner\0weak\0local\0zz\0", 27);
  spec.parts.push_back({.name = ".symtab",
                        .type = SHT_SYMTAB,
                        .contents = build_symbols(spec, symbols),
                        .link = 5});
  spec.parts.push_back({.name = ".strtab", .type = SHT_STRTAB, .contents = names});
  return build_image(spec);
}

constexpr uint32_t kOuter = 1, kInner = 7, kWeak = 13, kLocal = 18, kZz = 24;
constexpr uint8_t kGlobalFunction = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);

elf::SymbolTable symbols_of(const elf::Image& image) {
  return elf::SymbolTable::read(image, *image.find_section(uint32_t{SHT_SYMTAB}));
}

std::string_view name_at(const elf::SymbolTable& table, uint64_t address) {
  auto symbol = table.find(ImageAddress{address});
  return symbol ? symbol->name : "";
}

}  // namespace

TEST_CASE("symbols: a symbol answers for its size and not a byte more") {
  for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
      std::string file =
          image_with_symbols(sample_spec(order, pointer_size),
                             {{.name = kOuter, .address = 0x401000, .size = 0x20},
                              {.name = kInner, .address = 0x401008, .size = 4}});
      elf::Image image = parse(file);
      elf::SymbolTable table = symbols_of(image);
      CHECK(name_at(table, 0x400fff) == "");
      CHECK(name_at(table, 0x401000) == "outer");
      CHECK(name_at(table, 0x401008) == "inner");
      CHECK(name_at(table, 0x40100b) == "inner");
      CHECK(name_at(table, 0x40100c) == "outer");
      CHECK(name_at(table, 0x40101f) == "outer");
      CHECK(name_at(table, 0x401020) == "");
    }
  }
}

TEST_CASE("symbols: what is no function with a size answers for nothing") {
  auto only = [](const SymbolSpec& symbol) {
    std::string file = image_with_symbols(sample_spec(), {symbol});
    elf::Image image = parse(file);
    return symbols_of(image).symbols().size();
  };
  CHECK(only({.name = kOuter, .address = 0x401000, .size = 4}) == 1);
  CHECK(only({.name = kOuter, .address = 0x401000, .size = 0}) == 0);
  CHECK(only({.name = kOuter, .section = SHN_UNDEF, .address = 0x401000, .size = 4}) == 0);
  CHECK(only({.name = kOuter, .section = SHN_ABS, .address = 0x401000, .size = 4}) == 0);
  CHECK(only({.name = kOuter,
              .info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
              .address = 0x401000,
              .size = 4}) == 0);
  CHECK(only({.name = kOuter, .address = 0x602000, .size = 4}) == 0);  // not code
  CHECK(only({.name = 0, .address = 0x401000, .size = 4}) == 0);       // no name
  CHECK(only({.name = 9999, .address = 0x401000, .size = 4}) == 0);
  CHECK(only({.name = kOuter, .address = 0x401000, .size = UINT64_MAX}) == 0);  // wraps
}

TEST_CASE("symbols: among aliases the global, then the weak, then the longest") {
  constexpr uint8_t kWeakFunction = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
  constexpr uint8_t kLocalFunction = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
  auto best = [](const std::vector<SymbolSpec>& symbols) {
    std::string file = image_with_symbols(sample_spec(), symbols);
    elf::Image image = parse(file);
    return std::string(name_at(symbols_of(image), 0x401000));
  };
  SymbolSpec local{.name = kLocal, .info = kLocalFunction, .address = 0x401000, .size = 8};
  SymbolSpec weak{.name = kWeak, .info = kWeakFunction, .address = 0x401000, .size = 8};
  SymbolSpec global{.name = kInner, .info = kGlobalFunction, .address = 0x401000, .size = 8};
  CHECK(best({local, weak, global}) == "inner");
  CHECK(best({weak, local}) == "weak");
  SymbolSpec longer{.name = kZz, .info = kGlobalFunction, .address = 0x401000, .size = 16};
  CHECK(best({global, longer}) == "zz");
  SymbolSpec outer{.name = kOuter, .info = kGlobalFunction, .address = 0x401000, .size = 8};
  SymbolSpec shorter{.name = kZz, .info = kGlobalFunction, .address = 0x401000, .size = 8};
  CHECK(best({outer, shorter}) == "zz");
  CHECK(best({outer, global}) == "inner");  // same length: the first in the alphabet
}

TEST_CASE("symbols: where ranges overlap, the one that begins last answers while it lasts") {
  std::string file =
      image_with_symbols(sample_spec(), {{.name = kOuter, .address = 0x401000, .size = 0x10},
                                         {.name = kInner, .address = 0x401008, .size = 0x10},
                                         {.name = kWeak, .address = 0x40100c, .size = 2},
                                         {.name = kZz, .address = 0x401000, .size = 4},
                                         {.name = kLocal, .address = 0x401030, .size = 4}});
  elf::Image image = parse(file);
  elf::SymbolTable table = symbols_of(image);
  std::string answers;
  for (uint64_t address = 0x401000; address < 0x401038; address += 2)
    answers += name_at(table, address).empty() ? '-' : name_at(table, address)[0];
  CHECK(answers == "ooooiiwiiiii------------ll--");
}

TEST_CASE("symbols: tables cut anywhere give whole symbols only") {
  std::string file =
      image_with_symbols(sample_spec(), {{.name = kOuter, .address = 0x401000, .size = 4},
                                         {.name = kInner, .address = 0x401010, .size = 4}});
  elf::Image image = parse(file);
  elf::Section section = *image.find_section(uint32_t{SHT_SYMTAB});
  for (uint64_t size = 0; size <= 72; size++) {
    CAPTURE(size);
    section.size = size;
    CHECK(elf::SymbolTable::read(image, section).symbols().size() == (size < 48   ? 0
                                                                      : size < 72 ? 1
                                                                                  : 2));
  }
  section.link = 0;
  CHECK(elf::SymbolTable::read(image, section).symbols().size() == 0);
  section.link = 99;
  CHECK(elf::SymbolTable::read(image, section).symbols().size() == 0);
}

TEST_CASE("elf: tables larger than a program has are refused") {
  std::string file = build_image(sample_spec());
  size_t section_table = static_cast<uint8_t>(file[40]) | static_cast<uint8_t>(file[41]) << 8;
  std::string many = with_byte(with_byte(file, 56, 0xff), 57, 0xff);  // PN_XNUM
  many = with_byte(many, section_table + 46, 1);                      // info: 65536
  CHECK(message_of(many) == "program headers: 65536 entries, more than Linux takes");
  std::string sections = with_byte(with_byte(file, 60, 0), section_table + 35, 1);
  CHECK(parse(sections).section_problem ==
        "section headers: 16777216 entries, where 1048576 are allowed");
}

TEST_CASE("elf: the header tells where the tables are") {
  std::string file = build_image(sample_spec());
  auto tables = elf::header_tables(as_bytes(file).first(64));
  REQUIRE(tables.size() == 2);
  CHECK(tables[0].offset == 64);
  CHECK(tables[0].size == 2 * 56);
  CHECK(tables[1].offset + tables[1].size == file.size());
  CHECK(elf::header_tables(as_bytes(file).first(63)).empty());
  CHECK(elf::header_tables({}).empty());
}

TEST_CASE("build ids: notes are read up to a limit, however often they are named") {
  ImageSpec spec;
  std::string filler = build_note("XYZ", 1, std::string(700 << 10, 'x'));
  spec.parts.push_back({.name = ".first", .type = SHT_NOTE, .contents = filler});
  spec.parts.push_back({.name = ".again", .type = SHT_NOTE, .contents = filler});
  spec.parts.push_back(
      {.name = ".note", .type = SHT_NOTE, .contents = build_note("GNU", 3, "id")});
  std::string file = build_image(spec);
  CHECK(elf::note_extents(parse(file)).size() == 2);  // not the second of the large ones
  CHECK(elf::build_ids(parse(file)).gnu == "id");
}

TEST_CASE("kind: what file(1) says") {
  std::string file = build_image(sample_spec());
  elf::Kind kind = elf::kind_of(parse(file));
  CHECK(kind.type == "executable");
  CHECK(kind.machine == "x86-64");
  CHECK(kind.linking == "statically linked");
  CHECK(kind.is_stripped);
  CHECK_FALSE(kind.has_dwarf);

  elf::Image image = parse(file);
  image.type = ET_DYN;
  CHECK(elf::kind_of(image).type == "shared object");
  image.segments[1].type = PT_INTERP;
  CHECK(elf::kind_of(image).type == "position-independent executable");
}
