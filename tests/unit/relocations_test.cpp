#include "elf/relocations.h"

#include <doctest/doctest.h>

#include "image_builder.h"

namespace gosym::relocations_test {

namespace {

constexpr uint64_t kData = 0x10000;
constexpr uint64_t kTable = 0x20000;
constexpr uint64_t kSymbols = 0x30000;
constexpr uint64_t kOld = 0x1111;  // in each word of the data, before

struct Entry {
  uint64_t address = kData;
  uint64_t type = R_X86_64_RELATIVE;
  uint64_t symbol = 0;
  uint64_t addend = 0x5000;
};

// An image with four words of data, relocated.
struct Program {
  ByteOrder order = ByteOrder::kLittle;
  uint8_t pointer_size = 8;
  uint16_t machine = EM_X86_64;
  uint16_t type = ET_DYN;
  bool is_rela = true;
  std::vector<Entry> entries{{}};
  std::vector<SymbolSpec> symbols{{.address = 0x7000},
                                  {.section = SHN_UNDEF, .address = 0x8000}};
  uint64_t size_told = UINT64_MAX;  // in place of the size of the table

  ByteWriter writer() const { return ByteWriter(order, pointer_size); }
  uint64_t info(const Entry& entry) const {
    return pointer_size == 8 ? ELF64_R_INFO(entry.symbol, entry.type)
                             : ELF32_R_INFO(entry.symbol, entry.type);
  }
  std::string table() const {
    ByteWriter out = writer();
    for (const Entry& entry : entries) {
      out.word(entry.address).word(info(entry));
      if (is_rela)
        out.word(entry.addend);
    }
    return out.out;
  }
  ImageSpec image() const;
};

ImageSpec Program::image() const {
  ByteWriter data = writer();
  data.word(kOld).word(kOld).word(kOld).word(kOld);
  ByteWriter dynamic = writer();
  dynamic.word(DT_SYMTAB).word(kSymbols).word(is_rela ? DT_RELA : DT_REL).word(kTable);
  dynamic.word(is_rela ? DT_RELASZ : DT_RELSZ);
  dynamic.word(size_told == UINT64_MAX ? table().size() : size_told).word(DT_NULL).word(0);
  ImageSpec spec{.order = order,
                 .pointer_size = pointer_size,
                 .type = type,
                 .machine = machine,
                 .parts = {}};
  auto add = [&](const char* name, std::string contents, uint64_t address, uint32_t segment) {
    spec.parts.push_back({.name = name,
                          .contents = std::move(contents),
                          .address = address,
                          .segment_flags = PF_R,
                          .segment_type = segment});
  };
  add(".data", data.out, kData, PT_LOAD);
  add(".rela.dyn", table(), kTable, PT_LOAD);
  add(".dynsym", build_symbols(spec, symbols), kSymbols, PT_LOAD);
  add(".dynamic", dynamic.out, 0x40000, PT_DYNAMIC);
  return spec;
}

// The words of the data after relocation.
std::vector<uint64_t> relocated(std::string file) {
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  elf::relocate(*image, std::as_writable_bytes(std::span(file)));
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < 4; i++)
    words.push_back(
        image->load_word(ImageAddress{kData + i * image->pointer_size}).value_or(0));
  return words;
}
std::vector<uint64_t> relocated(const Program& program) {
  return relocated(build_image(program.image()));
}
uint64_t first_word(const Program& program) {
  return relocated(program)[0];
}

constexpr uint16_t kLoongArch = 258;

}  // namespace

TEST_CASE("relocations: the two kinds of every machine") {
  struct Machine {
    uint16_t machine;
    uint8_t pointer_size;
    uint64_t relative;
    uint64_t symbol;
  };
  for (const Machine& known : {Machine{EM_X86_64, 8, 8, 1}, Machine{EM_AARCH64, 8, 1027, 257},
                               Machine{EM_386, 4, 8, 1}, Machine{EM_ARM, 4, 23, 2},
                               Machine{EM_PPC64, 8, 22, 38}, Machine{EM_S390, 8, 12, 22},
                               Machine{EM_RISCV, 8, 3, 2}, Machine{kLoongArch, 8, 3, 2}}) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      CAPTURE(known.machine);
      Program program{.order = order,
                      .pointer_size = known.pointer_size,
                      .machine = known.machine,
                      .entries = {{.type = known.relative, .addend = 0x5000},
                                  {.address = kData + 2u * known.pointer_size,
                                   .type = known.symbol,
                                   .symbol = 1,
                                   .addend = 0x10}}};
      CHECK(relocated(program) == std::vector<uint64_t>{0x5000, kOld, 0x7010, kOld});
      program.is_rela = false;
      CHECK(relocated(program) == std::vector<uint64_t>{kOld, kOld, 0x7000 + kOld, kOld});
    }
  }
}

TEST_CASE("relocations: negative addends wrap at the width of a word") {
  Program program{.entries = {{.type = R_X86_64_64, .symbol = 1, .addend = UINT64_MAX}}};
  CHECK(first_word(program) == 0x6fff);
  program.pointer_size = 4;
  program.machine = EM_386;
  CHECK(first_word(program) == 0x6fff);
}

TEST_CASE("relocations: other kinds, other machines and fixed images are left alone") {
  CHECK(first_word({}) == 0x5000);
  CHECK(first_word({.entries = {{.type = R_X86_64_GLOB_DAT, .symbol = 1}}}) == kOld);
  CHECK(first_word({.machine = EM_MIPS}) == kOld);
  CHECK(first_word({.type = ET_EXEC}) == kOld);
  CHECK(first_word({.entries = {}}) == kOld);
}

TEST_CASE("relocations: a symbol that is undefined, or is not there, has no value") {
  for (uint64_t symbol : {uint64_t{0}, uint64_t{2}, uint64_t{3}, uint64_t{UINT32_MAX}}) {
    CAPTURE(symbol);
    CHECK(first_word({.entries = {{.type = R_X86_64_64, .symbol = symbol}}}) == kOld);
  }
}

TEST_CASE("relocations: targets outside the image are skipped, those after them are not") {
  for (uint64_t address :
       {uint64_t{0}, kData - 8, kData + 25, kData + 32, UINT64_MAX, UINT64_MAX - 7}) {
    CAPTURE(address);
    Program program{.entries = {{.address = address}, {.address = kData + 8}}};
    CHECK(relocated(program) == std::vector<uint64_t>{kOld, 0x5000, kOld, kOld});
  }
}

TEST_CASE("relocations: a table that says to be larger than its segment ends with it") {
  for (uint64_t size : {uint64_t{24} * 100'000'000, UINT64_MAX - 1, uint64_t{1} << 63})
    CHECK(first_word({.size_told = size}) == 0x5000);
  CHECK(first_word({.size_told = 23}) == kOld);
  CHECK(first_word({.size_told = 0}) == kOld);
}

TEST_CASE("relocations: a table that relocates itself ends") {
  Program program{
      .entries = {{.address = kTable + 24, .addend = kData}, {.address = 0, .addend = 0x6000}}};
  CHECK(first_word(program) == 0x6000);
}

TEST_CASE("relocations: of every prefix of an image what is left is relocated, or nothing") {
  std::string file = build_image(Program{}.image());
  for (size_t size = 0; size < file.size(); size++) {
    CAPTURE(size);
    std::string prefix = file.substr(0, size);
    if (!elf::parse(as_bytes(prefix)))
      continue;
    uint64_t word = relocated(prefix)[0];
    CHECK((word == 0 || word == kOld || word == 0x5000));
  }
}

}  // namespace gosym::relocations_test
