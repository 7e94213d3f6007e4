#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/clock.h"
#include "base/reader.h"
#include "base/shared_vector.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "base/unique_fd.h"
#include "bytes.h"
#include "temporary_directory.h"

namespace gosym::base_test {

TEST_CASE("slice: an offset and size that wrap around are out of range") {
  auto data = bytes(1, 2, 3, 4);
  CHECK(slice(data, 1, 3).value().size() == 3);
  CHECK(slice(data, 4, 0).has_value());
  CHECK_FALSE(slice(data, 5, 0));
  CHECK_FALSE(slice(data, 1, UINT64_MAX));
  CHECK_FALSE(slice(data, UINT64_MAX, 2));
}

TEST_CASE("load: both byte orders, at any alignment, never past the end") {
  auto data = bytes(0, 1, 2, 3, 4);
  CHECK(load<uint32_t>(data, 1) == 0x04030201);
  CHECK(load<uint32_t>(data, 1, ByteOrder::kBig) == 0x01020304);
  CHECK(load<uint16_t>(data, 3, ByteOrder::kBig) == 0x0304);
  CHECK_FALSE(load<uint32_t>(data, 2));
}

TEST_CASE("reader: the first read past the end fails it for good") {
  auto data = bytes(1, 2, 3);
  Reader in(data);
  CHECK(in.u16() == 0x0201);
  CHECK(in.u32() == 0);
  CHECK_FALSE(in.ok());
  CHECK(in.u8() == 0);
  CHECK(in.offset() == 2);
  CHECK(in.error("record").message() == "record: malformed or cut short at byte 0x2 of 0x3");
}

TEST_CASE("reader: varints have a largest value and a largest length") {
  auto fits = bytes(0xff, 0xff, 0xff, 0xff, 0x0f);
  CHECK(Reader(fits).uvarint32() == UINT32_MAX);
  auto too_large = bytes(0xff, 0xff, 0xff, 0xff, 0x1f);
  Reader large(too_large);
  large.uvarint32();
  CHECK_FALSE(large.ok());
  auto endless = bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
  Reader reader(endless);
  reader.uvarint32();
  CHECK_FALSE(reader.ok());
  auto widest = bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
  CHECK(Reader(widest).uvarint64() == UINT64_MAX);
  widest[9] = std::byte{2};
  Reader past(widest);
  past.uvarint64();
  CHECK_FALSE(past.ok());
}

TEST_CASE("reader: signed varints extend their sign, and have a largest length") {
  auto data = bytes(0x02, 0x7e, 0xff, 0x00, 0x80, 0x7f, 0xc0, 0x00);
  Reader in(data);
  for (int64_t expected : {2, -2, 127, -128, 64})
    CHECK(in.svarint64() == expected);
  auto least = bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f);
  CHECK(Reader(least).svarint64() == INT64_MIN);
  auto most = bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00);
  CHECK(Reader(most).svarint64() == INT64_MAX);
  auto endless = bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
  Reader past(endless);
  past.svarint64();
  CHECK_FALSE(past.ok());
  Reader empty(Bytes{});
  empty.svarint64();
  CHECK_FALSE(empty.ok());
}

TEST_CASE("reader: text needs its NUL") {
  auto data = bytes('a', 'b', 0, 'c');
  Reader in(data);
  CHECK(in.cstring() == "ab");
  CHECK(in.cstring().empty());
  CHECK_FALSE(in.ok());
}

TEST_CASE("load_cstring: a name has its NUL within 64 KiB") {
  std::string text = std::string(kMaxNameSize - 1, 'x') + '\0' + std::string(kMaxNameSize, 'y');
  CHECK(load_cstring(as_bytes(text), 0).value().size() == kMaxNameSize - 1);
  CHECK(load_cstring(as_bytes(text), kMaxNameSize - 1) == "");
  text += '\0';
  CHECK_FALSE(load_cstring(as_bytes(text), kMaxNameSize));
  CHECK(load_cstring(as_bytes(text), kMaxNameSize + 1).value().size() == kMaxNameSize - 1);
  CHECK_FALSE(load_cstring(as_bytes(text), text.size()));
}

TEST_CASE("printable: what could drive a terminal is shown as bytes") {
  CHECK(printable("main.(*T).M·f/日本") == "main.(*T).M·f/日本");
  CHECK(printable("a\x1b[2Jb\n") == "a\\x1b[2Jb\\x0a");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");           // C1: CSI
  CHECK(printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right-to-left override
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");           // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("\xe6\x97") == "\\xe6\\x97");  // cut short
}

TEST_CASE("printable: what nobody sees is shown as bytes") {
  for (std::string_view unseen :
       {"\u00ad", "\u034f", "\u061c", "\u115f", "\u17b4", "\u180b", "\u200b", "\u200d",
        "\u2060", "\u2063", "\u2800", "\u3164", "\ufe0f", "\uffa0", "\ufff9", "\U0001d173",
        "\U000e0041", "\U000e01ef"}) {
    std::string shown = printable(unseen);
    CAPTURE(shown);
    CHECK(is_plain(shown));
    CHECK(printable(shown) == shown);
  }
  CHECK(printable("·é\u2192\uff0c\U0001f600") == "·é\u2192\uff0c\U0001f600");
}

TEST_CASE("valid_utf8: only what is no character is replaced") {
  CHECK(valid_utf8("a\n·") == "a\n·");
  CHECK(valid_utf8("\xff\xe6\x97!") == "\ufffd\ufffd\ufffd!");
}

TEST_CASE("shell_quoted: one word, whatever it is") {
  CHECK(shell_quoted("/tmp/cpu-1.raw") == "/tmp/cpu-1.raw");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a b;$(id)") == "'a b;$(id)'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("a\x1b'\\\n") == "$'a\\x1b\\'\\\\\\x0a'");
  CHECK(as_operand("-rf") == "./-rf");
}

TEST_CASE("numbers as people write and read them") {
  CHECK(human_size(0) == "0 B");
  CHECK(human_size(1023) == "1023 B");
  CHECK(human_size(1536) == "1.5 KiB");
  CHECK(human_size(1048575) == "1.0 MiB");
  CHECK(human_size(UINT64_MAX) == "16.0 EiB");
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(29412) == "29,412");
  CHECK(with_commas(1000000) == "1,000,000");
  CHECK(hex("\x01\xff") == "01ff");
}

TEST_CASE("monotonic_offset_of: of a process's own namespace, or none") {
  struct {
    const char* own;
    const char* of_children;
    const char* offsets;
    std::optional<int64_t> offset;
  } cases[] = {
      {"time:[4026531834]", "time:[1]", "monotonic 7 0\n", 0},  // the kernel's
      {"time:[1]", "time:[1]", "monotonic 3600 5\nboottime 7 0\n", 3'600'000'000'005},
      {"time:[1]", "time:[1]", "boottime 7 0\nmonotonic -2 500000000\n", -1'500'000'000},
      {"time:[1]", "time:[2]", "monotonic 3600 0\n", {}},
      {"time:[1]", "time:[1]", "", {}},
      {"time:[1]", "time:[1]", "boottime 7 0\n", {}},
      {"time:[1]", "time:[1]", "monotonic 7\n", {}},
      {"time:[1]", "time:[1]", "monotonic 7x 0\n", {}},
      {"time:[1]", "time:[1]", "monotonic 7 -1\n", {}},
      {"time:[1]", "time:[1]", "monotonic 7 1000000000\n", {}},
      {"time:[1]", "time:[1]", "monotonic 9223372036 0\n", {}},
      {"time:[1]", "time:[1]", "monotonic -9223372036 0\n", {}},
  };
  for (const auto& [own, of_children, offsets, offset] : cases) {
    TemporaryDirectory process;
    std::filesystem::create_directory(process / "ns");
    std::filesystem::create_symlink(own, process / "ns/time");
    std::filesystem::create_symlink(of_children, process / "ns/time_for_children");
    std::string text = offsets;
    std::ofstream(process / "timens_offsets") << text;
    CAPTURE(text);
    CHECK(monotonic_offset_of(process / "") == offset);
  }
  CHECK(monotonic_offset_of("/no such process") == 0);  // nor such namespaces
}

TEST_CASE("parse_hex: with or without 0x, and nothing else") {
  CHECK(parse_hex("4a1b20") == 0x4a1b20);
  CHECK(parse_hex("0xFFFFFFFFFFFFFFFF") == UINT64_MAX);
  for (const char* bad : {"", "0x", "-1", "+1", " 1", "1 ", "0x10000000000000000", "g"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_hex(bad));
  }
}

TEST_CASE("parse_duration: seconds unless a unit says otherwise") {
  CHECK(parse_duration("10") == 10'000'000'000);
  CHECK(parse_duration("1.5s") == 1'500'000'000);
  CHECK(parse_duration("200ms") == 200'000'000);
  CHECK(parse_duration("2m") == 120'000'000'000);
  CHECK(parse_duration("1h") == 3'600'000'000'000);
  CHECK(parse_duration("0") == 0);
  for (const char* bad :
       {"", "s", "-1", "1x", "1 s", "nan", "inf", "1e3", "1e999", "9999999h"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_duration(bad));
  }
}

TEST_CASE("parse_size: bytes, or units of 1024") {
  CHECK(parse_size("500") == 500);
  CHECK(parse_size("1.5K") == 1536);
  CHECK(parse_size("10MiB") == 10 << 20);
  CHECK(parse_size("2G") == uint64_t{2} << 30);
  CHECK(parse_size("8000000T").has_value());
  for (std::string_view bad : {"", "K", "-1", "1k", "1KB", "1 K", "1P", "9000000T", "nan"})
    CHECK_FALSE(parse_size(bad));
}

TEST_CASE("text: pieces, lines and words") {
  CHECK(split("a,,b", ',') == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
  CHECK(base_name("/usr/lib/libc.so.6") == "libc.so.6");
  CHECK(base_name("demo") == "demo");

  std::string_view text = "one two\n\nthree";
  CHECK(take_line(text) == "one two");
  CHECK(take_line(text).empty());
  CHECK(take_line(text) == "three");
  CHECK(text.empty());

  std::string_view line = "  a\tb ";
  CHECK(take_word(line) == "a");
  CHECK(take_word(line) == "b");
  CHECK(take_word(line).empty());
}

TEST_CASE("first_of: three of many are named") {
  std::vector<std::string> items = {"one", "two", "three", "four", "five"};
  CHECK(first_of({}).empty());
  CHECK(first_of(std::span(items).first(2)) == "one, two");
  CHECK(first_of(std::span(items).first(3)) == "one, two, three");
  CHECK(first_of(items) == "one, two, three and 2 more");
  CHECK(first_of(items, ", ") == "one, two, three, 2 more");
}

TEST_CASE("beginning_of: no character of UTF-8 is cut") {
  CHECK(beginning_of("text", 3) == "tex");
  CHECK(beginning_of("x\u20acy", 4) == "x\u20ac");
  CHECK(beginning_of("x\u20acy", 3) == "x");
  CHECK(beginning_of("x\u20acy", 2) == "x");
  CHECK(beginning_of("\u20ac", 0).empty());
  // Bytes that only continue are no UTF-8: they are cut after a few steps.
  CHECK(beginning_of(std::string(20, '\x80'), 10).size() == 7);
  CHECK(beginning_of(std::string(20, '\x80'), 2).empty());
}

TEST_CASE("write_all, read_part: as the calls, without interruptions") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  CHECK(write_all(to.get(), ""));
  CHECK(write_all(to.get(), "text"));
  to.reset(-1);
  char part[16];
  CHECK(read_part(from.get(), std::span(part).first(3)) == 3);
  CHECK(read_part(from.get(), part) == 1);
  CHECK(read_part(from.get(), part) == 0);
  CHECK(read_part(-1, part) == -1);
  CHECK_FALSE(write_all(-1, "text"));
  CHECK(errno == EBADF);
  UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  CHECK_FALSE(write_all(full.get(), "text"));
  CHECK(errno == ENOSPC);
}

TEST_CASE("shared vector: a copy is the same rows until one of both changes") {
  SharedVector<int> one = {1, 2, 3};
  const SharedVector<int> other = one;
  CHECK(&std::as_const(one)[0] == &other[0]);
  one[0] = 7;
  CHECK(one[0] == 7);
  CHECK(other[0] == 1);
  const int* rows = &std::as_const(one)[0];
  one[1] = 8;  // they are its own by now
  CHECK(&std::as_const(one)[0] == rows);
}

TEST_CASE(
    "shared vector: it is empty, and may be filled, when nothing was put in or all moved "
    "away") {
  SharedVector<int> one;
  CHECK(one.empty());
  one.push_back(1);
  SharedVector<int> other = std::move(one);
  CHECK(one.size() == 0);
  one.emplace_back(2);
  CHECK(other.back() == 1);
  CHECK(one.back() == 2);
  SharedVector<int> third = other;
  third.clear();
  CHECK(other.size() == 1);
}

TEST_CASE("shared vector: it passes for a vector and for a span") {
  const SharedVector<int> one = std::vector{1, 2, 3};
  const std::vector<int>& rows = one;
  CHECK(rows.size() == 3);
  CHECK(std::span<const int>(one).size() == 3);
  CHECK(std::span(one).subspan(1).front() == 2);
}

}  // namespace gosym::base_test
