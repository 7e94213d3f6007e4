#include <doctest/doctest.h>

#include "base/text.h"
#include "elf/image.h"
#include "gsym/gsym_file.h"
#include "gsym/gsym_writer.h"
#include "symbolize/gsym_source.h"

namespace gosym::gsym_test {

using gsym::Facts;
using gsym::GsymFile;
using gsym::GsymWriter;

namespace {

Call call(std::string_view function, std::string_view file, uint32_t line,
          bool is_inlined = false) {
  return {.function = function, .file = file, .line = line, .is_inlined = is_inlined};
}

const std::vector<Call> kPlain = {call("main.main", "/src/main.go", 7)};
const std::vector<Call> kNested = {call("inner", "in.c", 400, true),
                                   call("middle", "/mid.c", 3, true),
                                   call("main.main", "/src/main.go", 9)};
const std::vector<Call> kNoLine = {call("inner", "", 0, true), call("main.main", "", 0)};
const std::vector<Call> kAssembly = {call("memmove", "", 0)};

const Facts kFacts{.is_go = true, .code = {{0x1000, 0x500, 0x401000}, {0x9000, 1, 0x509000}}};

std::string finish(GsymWriter& writer, std::string_view id = "0123456789abcdefghijklm",
                   const Facts& facts = kFacts) {
  std::string file;
  REQUIRE(writer.finish(id, facts, [&](std::string_view part) { file += part; }));
  return file;
}

std::string small_file() {
  GsymWriter writer;
  writer.add(0x401000, 0x401004, kPlain, true);
  writer.add(0x401004, 0x401010, kNested, false);
  writer.add(0x401010, 0x401400, kPlain, false);
  writer.add(0x401400, 0x401410, kNoLine, false);
  writer.add(0x401410, 0x401420, kNested, false);
  writer.add(0x401500, 0x401510, kAssembly, true);
  return finish(writer);
}

std::string text_of(const std::vector<Call>& calls) {
  std::string text;
  for (const Call& one : calls)
    text +=
        fmt::format("{}{} {}:{}", one.is_inlined ? "<" : "|", one.function, one.file, one.line);
  return text;
}

std::string at(GsymFile& file, uint64_t address) {
  std::vector<Call> calls;
  bool is_found = file.find(address, calls);
  CHECK(is_found == !calls.empty());
  return text_of(calls);
}

void ask_all(const std::string& bytes) {
  auto file = GsymFile::parse(as_bytes(bytes));
  if (!file)
    return;
  std::vector<Call> calls;
  for (uint64_t address = 0x400ff0; address < 0x401520; address += 3)
    (void)file->find(address, calls);
  for (uint32_t i = 0; i < file->function_count() && i < 10; i++)
    (void)file->function(i);
}

}  // namespace

TEST_CASE(
    "stores: a Go program is known by what Go's linker makes of its id, unless it has GNU's") {
  // The beginning of SHA-256 of "abc" (FIPS 180-4).
  CHECK(hex(elf::store_id({.gnu = {}, .go = "abc", .package = {}})) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a3");
  CHECK(elf::store_id({.gnu = "GNU", .go = "abc", .package = {}}) == "GNU");
  CHECK(elf::store_id({}).empty());
}

TEST_CASE("GSYM: what was written is read") {
  std::string bytes = small_file();
  auto file = GsymFile::parse(as_bytes(bytes));
  REQUIRE(file);
  CHECK(file->id() == "0123456789abcdefghij");
  CHECK(file->facts().is_go);
  REQUIRE(file->facts().code.size() == 2);
  CHECK(file->facts().code[1].address == 0x509000);
  REQUIRE(file->function_count() == 2);
  CHECK(file->function(0)->size == 0x420);
  CHECK(at(*file, 0x400fff).empty());
  CHECK(at(*file, 0x401000) == text_of(kPlain));
  CHECK(at(*file, 0x401003) == text_of(kPlain));
  CHECK(at(*file, 0x401004) == text_of(kNested));
  CHECK(at(*file, 0x40100f) == text_of(kNested));
  CHECK(at(*file, 0x401010) == text_of(kPlain));
  CHECK(at(*file, 0x4013ff) == text_of(kPlain));
  CHECK(at(*file, 0x401400) == text_of(kNoLine));
  CHECK(at(*file, 0x401410) == text_of(kNested));
  CHECK(at(*file, 0x401420).empty());
  CHECK(at(*file, 0x40150f) == text_of(kAssembly));
  CHECK(at(*file, 0x401510).empty());
}

TEST_CASE("GSYM: what kind of program it is stays known, of however many pieces of code") {
  for (uint64_t count : {100, 100'000}) {
    Facts facts{.is_go = true};
    for (uint64_t i = 0; i < count; i++)
      facts.code.push_back({i << 12, 0x1000, (i << 12) + 0x400000});
    GsymWriter writer;
    std::string bytes = finish(writer, "", facts);
    auto file = GsymFile::parse(as_bytes(bytes));
    REQUIRE(file);
    CHECK(file->facts().is_go);
    REQUIRE(file->facts().code.size() >= 100);
    CHECK(file->facts().code.back().size == 0x1000);
    CHECK((file->facts().code.size() == count) == (count == 100));
  }
}

TEST_CASE("GSYM: of calls that are inlined too deep none are told, nor of those behind them") {
  std::vector<Call> deep(600, call("f", "f.c", 5, true));
  deep.push_back(call("main.main", "/src/main.go", 9));
  GsymWriter writer;
  writer.add(0x401000, 0x401004, kNested, true);
  writer.add(0x401004, 0x401008, deep, false);
  writer.add(0x401008, 0x401010, kNoLine, false);
  std::string bytes = finish(writer);
  auto file = GsymFile::parse(as_bytes(bytes));
  REQUIRE(file);
  CHECK(at(*file, 0x401000) == text_of(kNested));
  CHECK(at(*file, 0x401004) == "|main.main f.c:5");
  CHECK(at(*file, 0x401008) == "|main.main :0");
}

TEST_CASE("GSYM: the same pieces make the same bytes, and none a file without functions") {
  CHECK(small_file() == small_file());
  GsymWriter writer;
  std::string bytes = finish(writer, "");
  auto file = GsymFile::parse(as_bytes(bytes));
  REQUIRE(file);
  CHECK(file->function_count() == 0);
  CHECK(file->id().empty());
  CHECK(at(*file, 0).empty());
}

TEST_CASE("GSYM: functions far apart, large steps of lines, and one name twice") {
  GsymWriter writer;
  writer.add(0x10, 0x20, kPlain, true);
  writer.add(0x20, 0x30, kPlain, true);
  std::vector<Call> far = {call("far", "/x", 4'000'000'000)};
  std::vector<Call> near = {call("far", "/x", 1)};
  writer.add(0x7f0000000000, 0x7f0000001000, far, true);
  writer.add(0x7f0000001000, 0x7f0000001001, near, false);
  std::string bytes = finish(writer);
  auto file = GsymFile::parse(as_bytes(bytes));
  REQUIRE(file);
  CHECK(file->function_count() == 3);
  CHECK(at(*file, 0x2f) == text_of(kPlain));
  CHECK(at(*file, 0x7f0000000fff) == text_of(far));
  CHECK(at(*file, 0x7f0000001000) == text_of(near));
}

TEST_CASE("GSYM: wrappers of Go are known by their names and files") {
  GsymWriter writer;
  std::vector<std::pair<Call, FunctionKind>> wanted = {
      {call("main.run.gowrap1", "/src/main.go", 3), FunctionKind::kWrapper},
      {call("main.run.deferwrap12", "/src/main.go", 3), FunctionKind::kWrapper},
      {call("main.(*T).Run", "<autogenerated>", 1), FunctionKind::kWrapper},
      {call("main.gowrap", "/src/main.go", 3), FunctionKind::kNormal},
      {call("gowrapper", "", 0), FunctionKind::kNormal},
      {call("runtime.gopanic", "/src/panic.go", 3), FunctionKind::kPanic}};
  for (size_t i = 0; i < wanted.size(); i++)
    writer.add(16 * i, 16 * i + 16, std::span(&wanted[i].first, 1), true);
  std::string bytes = finish(writer);
  auto file = GsymFile::parse(as_bytes(bytes));
  REQUIRE(file);
  GsymSource source(*std::move(file));
  CHECK(source.kind() == FrameSource::kGsymGo);
  for (size_t i = 0; i < wanted.size(); i++) {
    std::vector<Call> calls;
    REQUIRE(source.find(ImageAddress{16 * i}, calls));
    CHECK(calls[0].function == wanted[i].first.function);
    CHECK(calls[0].kind == wanted[i].second);
  }
}

TEST_CASE("GSYM: every prefix and every damaged byte is refused or read within its bounds") {
  std::string whole = small_file();
  for (size_t size = 0; size < whole.size(); size++)
    ask_all(whole.substr(0, size));
  for (size_t i = 0; i < whole.size(); i++)
    for (int flipped : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flipped);
      ask_all(damaged);
    }
}

TEST_CASE("GSYM: each field of the header that makes no sense is told") {
  auto error = [](size_t at, std::string_view bytes) {
    std::string damaged = small_file();
    damaged.replace(at, bytes.size(), bytes);
    auto file = GsymFile::parse(as_bytes(damaged));
    return file ? std::string() : file.error().message();
  };
  using namespace std::literals;
  std::string cut = "GSYM file: cut short, or its tables lie outside of it";
  CHECK(error(0, "ELF") == "not a GSYM file");
  CHECK(error(4, "\2\0"sv) == "GSYM of version 2 is not known, only version 1");
  CHECK(error(6, "\3") == "GSYM header: address offsets of 3 bytes");
  CHECK(error(7, "\x15") == "GSYM header: an id of 21 bytes");
  CHECK(error(16, "\xff\xff\xff\x7f") == cut);
  CHECK(error(20, "\xff\xff\xff\x7f") == cut);
  CHECK(error(24, "\xff\xff\xff\x7f") == cut);
  CHECK(error(8, "\xff\xff\xff\xff\xff\xff\xff\xff").empty());
}

}  // namespace gosym::gsym_test
