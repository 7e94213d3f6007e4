#include "elf/symbol_table.h"

#include <doctest/doctest.h>

#include "elf/calls.h"
#include "image_builder.h"

namespace gosym::symbol_table_test {

namespace {

constexpr uint8_t kGlobal = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
constexpr uint8_t kWeak = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
constexpr uint8_t kLocal = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
constexpr uint8_t kIfunc = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
constexpr uint8_t kObject = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
constexpr uint8_t kUntyped = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);

struct Entry {
  std::string name;
  uint64_t address;
  uint64_t size;
  uint8_t info = kGlobal;
  uint16_t section = 1;
};

// An image whose code is .text at [0x1000, 0x1100), `code` and nops, and .fini at
// [0x1200, 0x1210), with data in the segment behind .text, and its symbols.
struct Sample {
  explicit Sample(const std::vector<Entry>& entries, const ImageSpec& form = {},
                  const std::string& code = "")
      : file(build(entries, form, code)), image(*elf::parse(as_bytes(file))) {}
  Sample(const Sample&) = delete;

  static std::string build(const std::vector<Entry>& entries, ImageSpec spec,
                           const std::string& code) {
    std::string names(1, '\0');
    std::vector<SymbolSpec> symbols;
    for (const Entry& entry : entries) {
      symbols.push_back({.name = static_cast<uint32_t>(names.size()),
                         .info = entry.info,
                         .section = entry.section,
                         .address = entry.address,
                         .size = entry.size});
      names += entry.name + '\0';
    }
    auto load = [&](const char* name, uint64_t address, size_t size, uint32_t flags,
                    std::string contents = "") {
      contents.resize(size, '\x90');
      spec.parts.push_back({.name = name,
                            .contents = std::move(contents),
                            .address = address,
                            .segment_flags = flags});
    };
    load(".text", 0x1000, 0x100, PF_R | PF_X, code);
    load(".fini", 0x1200, 0x10, PF_R | PF_X);
    load(".data", 0x2000, 0x100, PF_R | PF_W);
    spec.parts.push_back({.name = ".symtab",
                          .type = SHT_SYMTAB,
                          .contents = build_symbols(spec, symbols),
                          .link = 5});
    spec.parts.push_back({.name = ".strtab", .type = SHT_STRTAB, .contents = names});
    return build_image(spec);
  }

  elf::SymbolTable table() const { return elf::SymbolTable::read(image, section()); }
  const elf::Section& section() const { return *image.find_section(".symtab"); }

  std::string file;
  elf::Image image;
};

std::string_view name_at(const elf::SymbolTable& table, uint64_t address) {
  auto function = table.find(ImageAddress{address});
  return function ? function->name : "";
}

std::string_view guess_at(const elf::SymbolTable& table, uint64_t address) {
  auto label = table.guess(ImageAddress{address});
  return label ? label->name : "";
}

}  // namespace

TEST_CASE("symbols: a function answers for its size and not a byte more") {
  for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
      Sample sample({{"outer", 0x1000, 0x20}, {"inner", 0x1008, 4}},
                    {.order = order, .pointer_size = pointer_size, .parts = {}});
      elf::SymbolTable table = sample.table();
      CHECK(name_at(table, 0xfff) == "");
      CHECK(name_at(table, 0x1000) == "outer");
      CHECK(name_at(table, 0x1007) == "outer");
      CHECK(name_at(table, 0x1008) == "inner");
      CHECK(name_at(table, 0x100b) == "inner");
      CHECK(name_at(table, 0x100c) == "outer");
      CHECK(name_at(table, 0x101f) == "outer");
      CHECK(name_at(table, 0x1020) == "");
    }
  }
}

TEST_CASE("symbols: code is what has a type of code, a name, a section and bytes") {
  auto function = [](const Entry& entry) {
    Sample sample({entry});
    elf::SymbolTable table = sample.table();
    return table.functions().empty() ? std::string() : std::string(table.functions()[0].name);
  };
  CHECK(function({"f", 0x1000, 4}) == "f");
  CHECK(function({"f", 0x1000, 4, kIfunc}) == "f");
  CHECK(function({"f", 0x1000, 4, kUntyped}) == "f");
  CHECK(function({"f", 0x1000, 4, kObject}) == "");
  CHECK(function({"f", 0x1000, 4, kGlobal, SHN_UNDEF}) == "");
  CHECK(function({"f", 0x1000, 4, kGlobal, SHN_ABS}) == "");
  CHECK(function({"f", 0x2000, 4}) == "");           // not executable
  CHECK(function({"", 0x1000, 4}) == "");            // no name
  CHECK(function({"f", 0x1000, UINT64_MAX}) == "");  // wraps
}

TEST_CASE("symbols: untyped symbols are code in sections of code only") {
  Sample sample({{"typed", 0x1000, 4}, {"untyped", 0x1010, 4, kUntyped}});
  CHECK(sample.table().functions().size() == 2);
  sample.image.sections[0].flags = SHF_ALLOC;  // .rodata in an executable segment
  CHECK(sample.table().functions().size() == 1);
}

TEST_CASE("symbols: a name outside of the names is none") {
  Sample sample({{"f", 0x1000, 4}});
  sample.image.sections[4].size = 2;  // without the NUL
  CHECK(sample.table().functions().empty());
  CHECK(elf::symbol_name(sample.image, sample.section(), 1) == std::nullopt);
  sample.image.sections[4].size = 1;
  CHECK(sample.table().functions().empty());
}

TEST_CASE(
    "symbols: among aliases the global, then the weak, then the longest, the shortest name") {
  auto best = [](const std::vector<Entry>& entries) {
    return std::string(name_at(Sample(entries).table(), 0x1000));
  };
  Entry local{"l", 0x1000, 16, kLocal};
  Entry weak{"weak", 0x1000, 16, kWeak};
  Entry global{"__global", 0x1000, 8, kGlobal};
  CHECK(best({local, weak, global}) == "__global");
  CHECK(best({weak, local}) == "weak");
  CHECK(best({global, {"__longer_range", 0x1000, 9}}) == "__longer_range");
  CHECK(best({{"__libc_malloc", 0x1000, 8}, {"malloc", 0x1000, 8}}) == "malloc");
  CHECK(best({{"b", 0x1000, 8}, {"a", 0x1000, 8}, {"c", 0x1000, 8}}) == "a");
  CHECK(best({{"f", 0x1000, 8, ELF64_ST_INFO(STB_GNU_UNIQUE, STT_FUNC)}, weak}) == "f");
}

TEST_CASE("symbols: where the best alias ends, the longer one goes on") {
  Sample sample({{"global", 0x1000, 8}, {"weak", 0x1000, 16, kWeak}});
  elf::SymbolTable table = sample.table();
  CHECK(name_at(table, 0x1007) == "global");
  CHECK(name_at(table, 0x1008) == "weak");
}

TEST_CASE("symbols: where ranges overlap, the one that begins last answers while it lasts") {
  Sample sample({{"outer", 0x1000, 0x10},
                 {"inner", 0x1008, 0x10},
                 {"within", 0x100c, 2},
                 {"zz", 0x1000, 4},
                 {"last", 0x1030, 4}});
  elf::SymbolTable table = sample.table();
  std::string answers;
  for (uint64_t address = 0x1000; address < 0x1038; address += 2)
    answers += name_at(table, address).empty() ? '-' : name_at(table, address)[0];
  CHECK(answers == "ooooiiwiiiii------------ll--");
}

TEST_CASE("symbols: versions are no part of a name") {
  auto name = [](const std::string& linked) {
    return std::string(name_at(Sample({{linked, 0x1000, 4}}).table(), 0x1000));
  };
  CHECK(name("memcpy@@GLIBC_2.14") == "memcpy");
  CHECK(name("memcpy@GLIBC_2.2.5") == "memcpy");
  CHECK(name("@GLIBC_2.2.5") == "@GLIBC_2.2.5");
  CHECK(name("f@") == "f@");
  CHECK(name("f@@") == "f@@");
  CHECK(name("main.struct{A int \"json:@\"}") == "main.struct{A int \"json:@\"}");
}

TEST_CASE("symbols: bit 0 is no part of an address of 32-bit ARM") {
  Sample sample({{"thumb", 0x1011, 4}, {"data", 0x1021, 4, kUntyped}},
                {.pointer_size = 4, .machine = EM_ARM, .parts = {}});
  CHECK(name_at(sample.table(), 0x1010) == "thumb");
  CHECK(name_at(sample.table(), 0x1014) == "");
  CHECK(name_at(sample.table(), 0x1020) == "");
}

TEST_CASE("labels: one is guessed up to the next label or function, or the section's end") {
  Sample sample({{"first", 0x1000, 0, kUntyped},
                 {"second", 0x1010, 0},
                 {"function", 0x1020, 0x10},
                 {"inside", 0x1028, 0, kUntyped},
                 {"last", 0x10f0, 0, kUntyped},
                 {"_fini", 0x1200, 0},
                 {"etext", 0x1210, 0, kUntyped}});
  elf::SymbolTable table = sample.table();
  CHECK(guess_at(table, 0xfff) == "");
  CHECK(guess_at(table, 0x1000) == "first");
  CHECK(guess_at(table, 0x100f) == "first");
  CHECK(guess_at(table, 0x1010) == "second");
  CHECK(guess_at(table, 0x101f) == "second");
  CHECK(guess_at(table, 0x1020) == "");
  CHECK(guess_at(table, 0x1030) == "");  // nobody's: `inside` is a place in `function`
  CHECK(guess_at(table, 0x10ff) == "last");
  CHECK(guess_at(table, 0x1100) == "");
  CHECK(guess_at(table, 0x120f) == "_fini");
  CHECK(guess_at(table, 0x1210) == "");
  CHECK(name_at(table, 0x1000) == "");  // a guess is no answer
  CHECK(table.functions().size() == 1);
}

TEST_CASE("labels: one ends where data begins") {
  Sample sample({{"label", 0x1000, 0, kUntyped}, {"data", 0x1010, 8, kObject}});
  CHECK(guess_at(sample.table(), 0x100f) == "label");
  CHECK(guess_at(sample.table(), 0x1010) == "");
}

TEST_CASE("labels: of those that are exported the code seems to end before padding") {
  auto size = [](std::string code, uint64_t wanted = 0x40, uint16_t machine = EM_X86_64) {
    code.resize(0x40, '\x31');
    ImageSpec spec{.machine = machine, .parts = {}};
    spec.parts.push_back(
        {.name = ".text", .contents = code, .address = 0x1008, .segment_flags = PF_R | PF_X});
    std::string file = build_image(spec);
    return elf::size_up_to_padding(*elf::parse(as_bytes(file)), ImageAddress{0x1008}, wanted);
  };
  using namespace std::string_literals;
  CHECK(size("") == 0x40);
  CHECK(size("1234567\xc3") == 0x40);  // no padding needed
  CHECK(size("\xc3\x90\x90\x90\x90\x90\x90\x90") == 8);
  CHECK(size("123\xc3\xcc\xcc\xcc\xcc") == 8);
  CHECK(size("123\xc3\x0f\x1f\x40\0"s) == 8);
  CHECK(size("12345678123456\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0"s) == 0x40);
  CHECK(size("12345678123456\xc3\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0"s) == 0x40);
  CHECK(size("1234567812345\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0"s) == 0x18);
  CHECK(size("\xe9\x31\x31\x31\x31\x90\x90\x90") == 8);
  CHECK(size("\xeb\x31\x90\x90\x90\x90\x90\x90") == 8);
  CHECK(size("\x75\x31\x90\x90\x90\x90\x90\x90") == 0x40);  // goes on
  CHECK(size("\xc3\x90\x90\x90\x90\x90\x90\x31") == 0x40);
  CHECK(size("\xc3\x90\x90\x90\x90\x90\x90\x90", 7) == 7);
  CHECK(size("\xc3\x90\x90\x90\x90\x90\x90\x90", 0x40, EM_AARCH64) == 0x40);
  CHECK(size("", UINT64_MAX) == UINT64_MAX);
}

// The size of frame_dummy, behind which nothing else has a symbol.
uint64_t size_of_frame_dummy(const std::string& code, uint16_t machine = EM_X86_64,
                             const char* name = "frame_dummy") {
  Sample sample({{name, 0x1000, 0, kLocal}}, {.machine = machine, .parts = {}}, code);
  REQUIRE(sample.table().labels().size() == 1);
  return sample.table().labels()[0].size;
}

TEST_CASE("labels: those of the compiler's own object do not reach into the program") {
  using namespace std::string_literals;
  CHECK(size_of_frame_dummy("\xf3\x0f\x1e\xfa\xeb\x8a") == 6);
  CHECK(size_of_frame_dummy("\xf3\x0f\x1e\xfa\xe9\x77\xff\xff\xff") == 9);
  CHECK(size_of_frame_dummy("\xe9\x77\xff\xff\xff") == 5);
  CHECK(size_of_frame_dummy("\x55\x5d\xc3\x0f\x1f") == 128);
  CHECK(size_of_frame_dummy("\x55\x5d\xc3") == 16);
  CHECK(size_of_frame_dummy("\xdd\xff\xff\x17"s, EM_AARCH64) == 4);
  CHECK(size_of_frame_dummy("\x5f\x24\x03\xd5\xdd\xff\xff\x17"s, EM_AARCH64) == 8);
  CHECK(size_of_frame_dummy("\x00\x00\x00\x90"s, EM_AARCH64) == 128);
  CHECK(size_of_frame_dummy("", EM_RISCV) == 128);
  CHECK(size_of_frame_dummy("\xeb\x8a", EM_X86_64, "frame_dummies") == 0x100);
}

TEST_CASE("labels: the rule among aliases is that of functions") {
  Sample sample({{"__global", 0x1000, 0}, {"g", 0x1000, 0, kWeak}});
  elf::SymbolTable table = sample.table();
  CHECK(table.labels().size() == 1);
  CHECK(guess_at(table, 0x1008) == "__global");
}

TEST_CASE("labels: neither data nor marks of the toolchain") {
  auto count = [](const Entry& entry) { return Sample({entry}).table().labels().size(); };
  CHECK(count({"f", 0x1000, 0, kUntyped}) == 1);
  CHECK(count({".f", 0x1000, 0, kGlobal}) == 1);
  CHECK(count({"$x", 0x1000, 0, kUntyped}) == 0);
  CHECK(count({".Lpadding", 0x1000, 0, kUntyped}) == 0);
  CHECK(count({"f", 0x1000, 0, kObject}) == 0);
  CHECK(count({"f", 0x1000, 0, kUntyped, SHN_UNDEF}) == 0);
  CHECK(count({"f", 0x1000, 0, kUntyped, SHN_ABS}) == 0);
  CHECK(count({"f", 0x2000, 0, kUntyped}) == 0);
  CHECK(count({"", 0x1000, 0, kUntyped}) == 0);
}

TEST_CASE("symbols: tables cut anywhere give whole symbols only") {
  Sample sample({{"f", 0x1000, 4}, {"g", 0x1010, 4}});
  elf::Section section = sample.section();
  for (uint64_t size = 0; size <= 72; size++) {
    CAPTURE(size);
    section.size = size;
    size_t whole = size < 48 ? 0 : size < 72 ? 1 : 2;
    CHECK(elf::SymbolTable::read(sample.image, section).functions().size() == whole);
    CHECK(elf::symbol_name(sample.image, section, 2).has_value() == (whole == 2));
  }
  section.link = 0;
  CHECK(elf::SymbolTable::read(sample.image, section).functions().empty());
  section.link = 99;
  CHECK(elf::SymbolTable::read(sample.image, section).functions().empty());
}

TEST_CASE("symbols: an entry's name by its number") {
  Sample sample({{"f@@V1", 0x1000, 4}, {"g", 0, 0, kGlobal, SHN_UNDEF}});
  CHECK(elf::symbol_name(sample.image, sample.section(), 0) == std::nullopt);
  CHECK(elf::symbol_name(sample.image, sample.section(), 1) == "f");
  CHECK(elf::symbol_name(sample.image, sample.section(), 2) == "g");
  CHECK(elf::symbol_name(sample.image, sample.section(), 3) == std::nullopt);
  CHECK(elf::symbol_name(sample.image, sample.section(), UINT64_MAX) == std::nullopt);
}

}  // namespace gosym::symbol_table_test
