#include <doctest/doctest.h>

#include "elf/image.h"
#include "image_builder.h"

namespace gosym::elf_test {

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
  CHECK(image.has_code(ImageAddress{0x401000}, 64));
  CHECK(image.has_code(ImageAddress{0x401010}, 48));
  CHECK_FALSE(image.has_code(ImageAddress{0x401010}, 49));
  CHECK_FALSE(image.has_code(ImageAddress{0x602000}, 1));
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
    CHECK(image->missing_bytes() == file.size() - size);
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
  CHECK(image.missing_bytes() > uint64_t{0x7f} << 40);
  CHECK(parse(file).missing_bytes() == 0);
  CHECK(parse(with_byte(file, 47, 0xff)).missing_bytes() > uint64_t{0xfe} << 56);
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

  std::vector<elf::FileExtent> tables = elf::header_tables(as_bytes(extended));
  REQUIRE(tables.size() == 3);
  CHECK(tables[1].offset == section_table);
  CHECK(tables[1].size == 5 * sizeof(Elf64_Shdr));
  // The first section is not read yet, or what it has makes no sense.
  CHECK(elf::header_tables(as_bytes(extended).first(section_table))[1].size ==
        sizeof(Elf64_Shdr));
  extended = with_byte(extended, section_table + 39, 5);
  CHECK(elf::header_tables(as_bytes(extended))[1].size == sizeof(Elf64_Shdr));
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

TEST_CASE("elf: the table of sections tells where their names are") {
  std::string file = build_image(sample_spec());
  auto tables = elf::header_tables(as_bytes(file));
  REQUIRE(tables.size() == 3);
  CHECK(file.substr(tables[2].offset, tables[2].size).find(".shstrtab") != std::string::npos);
  CHECK(elf::header_tables(as_bytes(file).first(file.size() - 1)).size() == 2);
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

TEST_CASE("kind: what UPX packed has no sections and its mark behind the headers") {
  std::string file = build_image({.parts = {{.name = ".note", .contents = "\1\2\3\4UPX!"}}});
  elf::Image image = parse(file);
  CHECK_FALSE(elf::kind_of(image).is_packed);
  image.sections.clear();
  CHECK(elf::kind_of(image).is_packed);
  for (size_t size = 0; size < file.find("UPX!") + 4; size++) {
    image.file = as_bytes(std::string_view(file).substr(0, size));
    CHECK_FALSE(elf::kind_of(image).is_packed);
  }
}

TEST_CASE("elf: code is in sections of code, in one range where they touch") {
  elf::Image image;
  auto add = [&](uint64_t flags, uint64_t address, uint64_t size) {
    image.sections.push_back(
        {.name = {}, .flags = flags, .address = ImageAddress{address}, .size = size});
  };
  add(SHF_EXECINSTR, 0x3000, 0x10);
  add(SHF_EXECINSTR, 0x1000, 0x10);
  add(SHF_ALLOC, 0x2000, 0x10);
  add(SHF_EXECINSTR, 0x1010, 0x10);
  add(SHF_EXECINSTR, 0x4000, 0);
  add(SHF_EXECINSTR, UINT64_MAX - 1, UINT64_MAX);
  CHECK(elf::code_ranges(image) ==
        std::vector<elf::AddressRange>{
            {0x1000, 0x1020}, {0x3000, 0x3010}, {UINT64_MAX - 1, UINT64_MAX}});

  image.sections.clear();
  image.segments = {
      {.type = PT_LOAD, .flags = PF_X, .address = ImageAddress{0x1000}, .memory_size = 4},
      {.type = PT_LOAD, .flags = PF_R, .address = ImageAddress{0x2000}, .memory_size = 4},
      {.type = PT_NOTE, .flags = PF_X, .address = ImageAddress{0x3000}, .memory_size = 4}};
  CHECK(elf::code_ranges(image) == std::vector<elf::AddressRange>{{0x1000, 0x1004}});
}

}  // namespace gosym::elf_test
