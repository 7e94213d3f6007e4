#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>

#include "dwarf/debug_info.h"
#include "dwarf/package.h"
#include "dwarf/plain_file.h"
#include "image_builder.h"
#include "symbolize/image_symbols.h"
#include "temporary_directory.h"

namespace gosym::dwarf_test {
using dwarf::DebugInfo;

namespace {

constexpr uint64_t kText = 0x401000;

// A unit of DWARF 4 with the functions
//
//   outer   0x401010 to 0x401050, declared in line 7
//     inner   inlined at 0x401020 to 0x401030, called in line 9 of a.c
//       deep    of the namespace app, inlined at 0x401024 to 0x401028, called in line 3 of b.h
//   gone    discarded by the linker, at 0 to 0x402000
//
// and a line table in which the offset tells the line.
struct UnitSpec {
  uint16_t version = 4;
  uint64_t abbreviations = 0;
  uint64_t line_table = 0;
  uint64_t inner = 0;  // what the inlined call says it is; 0: inner
  int depth = 0;       // of namespaces before the functions, and of further calls in `outer`
};

enum Abbreviation : uint8_t {
  kUnit = 1,
  kFunction,
  kInline,
  kCall,
  kCallWithCalls,
  kNamespace
};

// Code, tag, whether there are children, then attributes with their forms.
const std::string kAbbreviations(
    "\x01\x11\x01\x1b\x08\x10\x17\x55\x17\0\0"      // unit: comp_dir, stmt_list, ranges
    "\x02\x2e\x01\x03\x08\x11\x01\x12\x06\x3a\x0b"  // function: name, low_pc, high_pc,
    "\x3b\x0b\0\0"                                  //   decl_file, decl_line
    "\x03\x2e\0\x03\x08\x20\x0b\0\0"                // to be inlined: name, inline
    "\x04\x1d\0\x31\x13\x11\x01\x12\x06\x58\x0b"    // inlined: abstract_origin, low_pc,
    "\x59\x0b\0\0"                                  //   high_pc, call_file, call_line
    "\x05\x1d\x01\x31\x13\x11\x01\x12\x06\x58\x0b"  // the same, with children
    "\x59\x0b\0\0"
    "\x06\x39\x01\x03\x08\0\0\0",  // namespace: name
    11 + 15 + 9 + 15 + 15 + 8);

std::string info(const UnitSpec& spec) {
  ByteWriter out;
  out.u16(spec.version).u32(spec.abbreviations).u8(8);
  constexpr uint64_t kHeader = 4;  // the length, which comes first
  out.u8(kUnit).text("/build").u8(0).u32(spec.line_table).u32(0);
  for (int i = 0; i < spec.depth; i++)
    out.u8(kNamespace).text("n").u8(0);
  out.text(std::string(spec.depth, '\0'));
  uint64_t inner = out.out.size() + kHeader;
  out.u8(kInline).text("inner").u8(0).u8(1);
  out.u8(kNamespace).text("app").u8(0);
  uint64_t deep = out.out.size() + kHeader;
  out.u8(kInline).text("deep").u8(0).u8(1).u8(0);
  out.u8(kFunction).text("gone").u8(0).u64(0).u32(0x402000).u8(1).u8(1).u8(0);
  out.u8(kFunction).text("outer").u8(0).u64(kText + 0x10).u32(0x40).u8(1).u8(7);
  out.u8(kCallWithCalls).u32(spec.inner == 0 ? inner : spec.inner);
  out.u64(kText + 0x20).u32(0x10).u8(1).u8(9);
  out.u8(kCall).u32(deep).u64(kText + 0x24).u32(4).u8(2).u8(3).u8(0);
  for (int i = 0; i < spec.depth; i++)
    out.u8(kCallWithCalls).u32(deep).u64(kText + 0x40).u32(4).u8(2).u8(3);
  out.text(std::string(spec.depth, '\0')).u8(0).u8(0);
  return ByteWriter().u32(out.out.size()).text(out.out).out;
}

// A line for each byte of code: one more than its offset in the section.
std::string lines() {
  ByteWriter header;
  header.u8(1).u8(1).u8(1).u8(1).u8(1).u8(10);
  header.text(std::string("\0\1\1\1\1\0\0\0\1", 9)).u8(0);
  header.text("a.c").u32(0).text("b.h").u32(0).u8(0);
  ByteWriter body;
  body.u16(4).u32(header.out.size()).text(header.out);
  // An address; a line up and a byte on with a row, over and over; the end.
  body.u8(0).u8(9).u8(2).u64(kText);
  for (int i = 0; i < 0x60; i++)
    body.u8(1).u8(3).u8(1).u8(2).u8(1);
  body.u8(0).u8(1).u8(1);
  return ByteWriter().u32(body.out.size()).text(body.out).out;
}

ImageSpec image_spec(const UnitSpec& unit) {
  ImageSpec spec;
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(0x60, '\x90'),
                        .address = kText,
                        .segment_flags = PF_R | PF_X});
  spec.parts.push_back({.name = ".debug_abbrev", .contents = kAbbreviations});
  spec.parts.push_back({.name = ".debug_info", .contents = info(unit)});
  spec.parts.push_back({.name = ".debug_line", .contents = lines()});
  spec.parts.push_back({.name = ".debug_ranges",
                        .contents = ByteWriter()
                                        .u64(0)
                                        .u64(0x402000)
                                        .u64(kText + 0x10)
                                        .u64(kText + 0x50)
                                        .u64(0)
                                        .u64(0)
                                        .out});
  return spec;
}

std::string describe(std::span<const Call> calls) {
  std::string text;
  for (const Call& call : calls)
    text += fmt::format("{}{}({}) {}:{}", text.empty() ? "" : " < ", call.function,
                        call.start_line, call.file, call.line);
  return text;
}

// The answers at a few addresses; "none" if no function is known there.
std::vector<std::string> answers(const ImageSpec& spec) {
  std::string file = build_image(spec);
  auto image = *elf::parse(as_bytes(file));
  auto info = DebugInfo::open(image, {});
  std::vector<std::string> result;
  for (uint64_t offset : {0x0f, 0x10, 0x20, 0x24, 0x28, 0x4f, 0x50}) {
    std::vector<Call> calls;
    bool is_known = info && info->find(ImageAddress{kText + offset}, calls);
    CHECK(is_known == !calls.empty());
    result.push_back(is_known ? describe(calls) : "none");
  }
  return result;
}

const std::vector<std::string> kAnswers = {
    "none",
    "outer(7) /build/a.c:17",
    "inner(0) /build/a.c:33 < outer(7) /build/a.c:9",
    "app::deep(0) /build/a.c:37 < inner(0) /build/b.h:3 < outer(7) /build/a.c:9",
    "inner(0) /build/a.c:41 < outer(7) /build/a.c:9",
    "outer(7) /build/a.c:80",
    "none"};

// Answers of a file that was cut off may be missing, but none is there that was not before.
void check_part(const std::vector<std::string>& answers) {
  REQUIRE(answers.size() == kAnswers.size());
  CHECK(answers.front() == "none");
  CHECK(answers.back() == "none");
  for (const std::string& answer : answers) {
    std::string_view name = std::string_view(answer).substr(0, answer.find('('));
    CAPTURE(answer);
    CHECK((name == "none" || name == "outer" || name == "inner" || name == "app::deep"));
  }
}

std::string join(const std::vector<std::string>& answers) {
  return fmt::format("{}", fmt::join(answers, "; "));
}

enum class Packing : uint8_t { kOldZlib = 0, kZlib = 1, kZstd = 2 };
constexpr Packing kPackings[] = {Packing::kOldZlib, Packing::kZlib, Packing::kZstd};

std::string packed(const std::string& contents, Packing packing) {
  if (packing == Packing::kZstd) {
    std::string out(ZSTD_compressBound(contents.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), contents.data(), contents.size(), 1));
    return out;
  }
  uLongf size = compressBound(contents.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size,
           reinterpret_cast<const Bytef*>(contents.data()), contents.size());
  out.resize(size);
  return out;
}

// Makes a section of debugging information a packed one.
void pack(const ImageSpec& spec, ImageSpec::Part& part, Packing packing) {
  std::string body = packed(part.contents, packing);
  if (packing == Packing::kOldZlib) {
    part.name = ".z" + part.name.substr(1);
    part.contents =
        ByteWriter(ByteOrder::kBig).text("ZLIB").u64(part.contents.size()).text(body).out;
    return;
  }
  ByteWriter out(spec.order, spec.pointer_size);
  out.u32(static_cast<uint64_t>(packing));
  if (spec.pointer_size == 8)
    out.u32(0);
  part.contents = out.word(part.contents.size()).word(1).text(body).out;
  part.flags = SHF_COMPRESSED;
}

ImageSpec packed_spec(Packing packing) {
  ImageSpec spec = image_spec({});
  for (ImageSpec::Part& part : spec.parts)
    if (part.name.starts_with(".debug_"))
      pack(spec, part, packing);
  return spec;
}

// Why nothing can be read; empty if it can.
std::string packing_problem(const ImageSpec& spec) {
  std::string file = build_image(spec);
  std::string problem;
  auto info = DebugInfo::open(*elf::parse(as_bytes(file)), {}, &problem);
  CHECK((info == nullptr) == !problem.empty());
  return problem;
}

}  // namespace

TEST_CASE("debug information: inlined calls, with where they were called") {
  CHECK(answers(image_spec({})) == kAnswers);
}

TEST_CASE("debug information: of assembly the lines are known") {
  std::string file = build_image(image_spec({}));
  auto image = *elf::parse(as_bytes(file));
  auto info = DebugInfo::open(image, {});
  REQUIRE(info);
  CHECK(info->find_position(ImageAddress{kText + 0x4f}).line == 80);
  CHECK(info->find_position(ImageAddress{kText + 0x4f}).file == "/build/a.c");
  CHECK(info->find_position(ImageAddress{kText + 0x50}).line == 0);
}

namespace {

// MiniDebugInfo with a function of 8 bytes at the begin of the code.
std::string packed_symbols() {
  ImageSpec spec;
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(0x60, '\x90'),
                        .address = kText,
                        .segment_flags = PF_R | PF_X});
  spec.parts.push_back(
      {.name = ".symtab",
       .type = SHT_SYMTAB,
       .contents = build_symbols(spec, {{.name = 1, .address = kText, .size = 8}}),
       .link = 3});
  spec.parts.push_back(
      {.name = ".strtab", .type = SHT_STRTAB, .contents = std::string("\0local\0", 7)});
  std::string image = build_image(spec);
  std::string out(lzma_stream_buffer_bound(image.size()), '\0');
  size_t size = 0;
  REQUIRE(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr,
                                  reinterpret_cast<const uint8_t*>(image.data()), image.size(),
                                  reinterpret_cast<uint8_t*>(out.data()), &size,
                                  out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

}  // namespace

TEST_CASE("debug information: a name of MiniDebugInfo has its line, as those of symbols have") {
  ImageSpec spec = image_spec({});
  // The unit has code before its function, as if of assembly.
  spec.parts[4].contents = ByteWriter().u64(kText).u64(kText + 0x50).u64(0).u64(0).out;
  spec.parts.push_back({.name = ".gnu_debugdata", .contents = packed_symbols()});
  TemporaryDirectory folder;
  std::ofstream(folder / "program", std::ios::binary) << build_image(spec);
  auto symbols = ImageSymbols::open(folder / "program");
  REQUIRE(symbols);
  std::vector<Call> calls;
  CHECK((*symbols)->find(ImageAddress{kText + 4}, calls) == FrameSource::kMiniDebugInfo);
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].function == "local");
  CHECK(calls[0].line == 5);
}

TEST_CASE("debug information: a twin answers alike; of packed information there is none") {
  TemporaryDirectory folder;
  std::ofstream(folder / "plain", std::ios::binary) << build_image(image_spec({}));
  std::ofstream(folder / "packed", std::ios::binary)
      << build_image(packed_spec(Packing::kZlib));
  auto symbols = ImageSymbols::open(folder / "plain");
  REQUIRE(symbols);
  auto twin = (*symbols)->twin();
  REQUIRE(twin);
  for (uint64_t offset = 0; offset < 0x60; offset++) {
    std::vector<Call> ours;
    std::vector<Call> theirs;
    CHECK((*symbols)->find(ImageAddress{kText + offset}, ours) ==
          twin->find(ImageAddress{kText + offset}, theirs));
    CHECK(describe(ours) == describe(theirs));
  }
  auto packed = ImageSymbols::open(folder / "packed");
  REQUIRE(packed);
  CHECK_FALSE((*packed)->twin());
}

TEST_CASE("debug information: packed sections are as good") {
  for (Packing packing : kPackings)
    CHECK(join(answers(packed_spec(packing))) == join(kAnswers));
}

TEST_CASE("debug information: sections that are not read stay packed") {
  ImageSpec spec = packed_spec(Packing::kZstd);
  spec.parts.push_back(
      {.name = ".debug_loclists", .contents = "no zstd", .flags = SHF_COMPRESSED});
  CHECK(join(answers(spec)) == join(kAnswers));
}

TEST_CASE("debug information: packed sections that are wrong are told") {
  for (Packing packing : kPackings) {
    const ImageSpec whole = packed_spec(packing);
    std::string_view name = ".debug_info";
    CHECK(packing_problem(whole).empty());
    ImageSpec spec = whole;
    std::string& contents = spec.parts[2].contents;
    contents.resize(contents.size() - 1);
    CHECK(packing_problem(spec) == fmt::format("{}: damaged, it cannot be unpacked", name));
    // Without the whole "ZLIB" at its begin a section of the old kind is not packed.
    for (size_t size = packing == Packing::kOldZlib ? 4 : 0; size < contents.size(); size++) {
      spec = whole;
      spec.parts[2].contents.resize(size);
      CHECK(packing_problem(spec).starts_with(name));
    }
  }
  ImageSpec spec = packed_spec(Packing::kZstd);
  spec.parts[2].contents[0] = 3;
  CHECK(packing_problem(spec) == ".debug_info: packed in a way that is not known (type 3)");
  // One byte more than there is, and far more than there can be.
  spec = packed_spec(Packing::kZstd);
  spec.parts[2].contents[8]++;
  CHECK(packing_problem(spec) == ".debug_info: damaged, it cannot be unpacked");
  for (size_t byte : {8 + 4, 8 + 7}) {
    spec = packed_spec(Packing::kZstd);
    spec.parts[2].contents[byte] = '\x7f';
    CHECK(packing_problem(spec).find("are said to unpack to") != std::string::npos);
  }
}

TEST_CASE("debug information: packed files of any class and byte order are made plain") {
  for (ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig})
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}})
      for (Packing packing : kPackings) {
        ImageSpec spec = {.order = order, .pointer_size = pointer_size, .parts = {}};
        spec.parts.push_back({.name = ".debug_str", .contents = std::string(900, 'x')});
        spec.parts.push_back({.name = ".debug_line", .contents = "plain"});
        pack(spec, spec.parts[0], packing);
        std::string file = build_image(spec);
        auto plain = dwarf::PlainFile::make(*elf::parse(as_bytes(file)));
        REQUIRE(plain);
        CHECK(plain->debug_size() == 905);
        auto image = elf::parse(plain->bytes());
        REQUIRE(image);
        CHECK(image->order == order);
        CHECK(image->pointer_size == pointer_size);
        CHECK(as_text(image->contents(".debug_str").value()) == std::string(900, 'x'));
        CHECK(as_text(image->contents(".debug_line").value()) == "plain");
      }
}

TEST_CASE("debug information: every prefix of each section") {
  for (size_t section : {1, 2, 3, 4}) {
    ImageSpec spec = image_spec({});
    std::string whole = spec.parts[section].contents;
    for (size_t size = 0; size < whole.size(); size++) {
      CAPTURE(section);
      CAPTURE(size);
      spec.parts[section].contents = whole.substr(0, size);
      check_part(answers(spec));
    }
  }
}

TEST_CASE("debug information: every byte of each section made wrong") {
  for (size_t section : {1, 2, 3, 4}) {
    ImageSpec spec = image_spec({});
    std::string whole = spec.parts[section].contents;
    for (size_t i = 0; i < whole.size(); i++)
      for (char wrong : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
        CAPTURE(section);
        CAPTURE(i);
        spec.parts[section].contents = whole;
        spec.parts[section].contents[i] = wrong;
        CHECK(answers(spec).size() == kAnswers.size());
      }
  }
}

TEST_CASE("debug information: scopes nested a million deep are passed over") {
  CHECK(join(answers(image_spec({.depth = 500}))) == join(kAnswers));
  CHECK(join(answers(image_spec({.depth = 1'000'000}))) == join(kAnswers));
}

TEST_CASE("debug information: fields of a unit that are wrong") {
  const std::string none = join(std::vector<std::string>(kAnswers.size(), "none"));
  CHECK(join(answers(image_spec({.version = 1}))) == none);
  CHECK(join(answers(image_spec({.version = 6}))) == none);
  CHECK(join(answers(image_spec({.abbreviations = 0x1000}))) == none);
  CHECK(answers(image_spec({.line_table = 0x1000}))[1] == "outer(7) :0");
  // An inlined call of nothing has no name: no answer there, and all others.
  auto nameless = answers(image_spec({.inner = 0x10000}));
  CHECK(nameless[1] == kAnswers[1]);
  CHECK(nameless[2] == "none");
  CHECK(nameless[3] == "none");
}

TEST_CASE("debug information: an inlined call of itself ends") {
  // Offset of the first inlined call: it says that it is what it says that it is.
  std::string whole = info({});
  size_t call = whole.find("outer") + 6 + 8 + 4 + 2;
  CHECK(answers(image_spec({.inner = call}))[2] == "none");
}

TEST_CASE("debug information: none without a unit that has code, or if it is a bomb") {
  auto opens = [](const ImageSpec& spec) {
    std::string file = build_image(spec);
    auto image = *elf::parse(as_bytes(file));
    return DebugInfo::open(image, {}) != nullptr;
  };
  ImageSpec spec = image_spec({});
  CHECK(opens(spec));
  spec.parts[4].contents.clear();
  CHECK_FALSE(opens(spec));

  // Says that 16 bytes make 1 GiB.
  spec = image_spec({});
  spec.parts.push_back({.name = ".zdebug_str",
                        .contents = "ZLIB" + std::string("\0\0\0\0\x40\0\0\0", 8) + "1234"});
  CHECK_FALSE(opens(spec));
  // One that is not packed, whatever its name.
  spec.parts.back().contents =
      std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff text", 17);
  CHECK(opens(spec));
  // Nobody reads that one.
  spec.parts.back().contents = "ZLIB" + std::string("\0\0\0\0\x40\0\0\0", 8) + "1234";
  spec.parts.back().name = ".gnu.debuglto_.zdebug_str";
  CHECK(opens(spec));
  spec.parts.pop_back();
  spec.parts.erase(spec.parts.begin() + 2);
  CHECK_FALSE(opens(spec));
}

TEST_CASE("debug information: an alternate file may have texts alone") {
  ImageSpec spec;
  spec.parts.push_back({.name = ".debug_str", .contents = std::string("main\0", 5)});
  std::string file = build_image(spec);
  auto plain = dwarf::PlainFile::make(*elf::parse(as_bytes(file)));
  REQUIRE(plain);
  std::string bytes(as_text(plain->bytes()));
  elf_version(EV_CURRENT);
  Elf* elf = elf_memory(bytes.data(), bytes.size());
  Dwarf* dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  CHECK(dwarf != nullptr);
  CHECK(as_text(dwarf::debug_section(elf, "str")) == std::string_view("main\0", 5));
  dwarf_end(dwarf);
  elf_end(elf);
}

TEST_CASE("debug information: an alternate file that is none is as good as none") {
  std::string file = build_image(image_spec({}));
  auto image = *elf::parse(as_bytes(file));
  for (std::string_view alternate : {std::string_view("no ELF"), std::string_view(file)}) {
    auto info = DebugInfo::open(image, {.alternate = as_bytes(alternate)});
    REQUIRE(info);
    std::vector<Call> calls;
    CHECK(info->find(ImageAddress{kText + 0x24}, calls));
    CHECK(describe(calls) == kAnswers[3]);
  }
}

namespace {

// An index of two units of two kinds of sections, in so many slots.
std::string package_index(uint32_t version, uint32_t second_row) {
  ByteWriter index;
  index.u32(version).u32(2).u32(2).u32(4);
  for (uint64_t id : {0, 0xaa, 0, 0xbb})
    index.u64(id);
  for (uint64_t row : {0u, 1u, 0u, second_row})
    index.u32(row);
  index.u32(1).u32(3);
  index.u32(0).u32(0).u32(4).u32(2);
  index.u32(4).u32(2).u32(6).u32(3);
  return index.out;
}

std::string package_file(const std::string& index) {
  ImageSpec spec;
  spec.parts.push_back({.name = ".debug_cu_index", .contents = index});
  spec.parts.push_back({.name = ".debug_info.dwo", .contents = "1111222222"});
  spec.parts.push_back({.name = ".debug_abbrev.dwo", .contents = "aabbb"});
  spec.parts.push_back({.name = ".debug_str.dwo", .contents = "texts"});
  return build_image(spec);
}

// The sections of the package that unit 0xbb has, or why they cannot be read.
std::string parts_of_second(const std::string& index) {
  std::string file = package_file(index);
  auto package = dwarf::Package::read(*elf::parse(as_bytes(file)));
  if (!package)
    return package.error().message();
  auto parts = package->find(0xbb);
  return parts ? fmt::format("{} {} {}", as_text(parts->info), as_text(parts->abbreviations),
                             as_text(parts->texts))
               : "none";
}

}  // namespace

TEST_CASE("package of split units: the parts of a unit are found by its id") {
  for (uint32_t version : {2, 5})
    CHECK(parts_of_second(package_index(version, 2)) == "222222 bbb texts");
  CHECK(parts_of_second(package_index(5, 0)) == "none");
  CHECK(parts_of_second(package_index(5, 3)) == "none");
  CHECK(parts_of_second(package_index(3, 2)) == "index of units: version 3 is not known");
}

TEST_CASE("package of split units: an index that is cut off is refused") {
  std::string index = package_index(5, 2);
  for (size_t size = 0; size < index.size(); size++)
    CHECK(parts_of_second(index.substr(0, size)).starts_with("index of units: malformed"));
}

TEST_CASE("package of split units: a part outside its section is empty") {
  std::string index = package_index(5, 2);
  index[index.size() - 8] = '\x7f';  // the size of the second of .debug_info
  CHECK(parts_of_second(index) == " bbb texts");
}

}  // namespace gosym::dwarf_test
