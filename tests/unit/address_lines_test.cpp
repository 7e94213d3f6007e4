#include "commands/resolve/resolve.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "commands/resolve/build_id_names.h"

namespace gosym::address_lines_test {

namespace {

using Addresses = std::vector<uint64_t>;

struct Pipe {
  Pipe() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    reader.reset(ends[0]);
    writer.reset(ends[1]);
  }
  void write(std::string_view text) const {
    REQUIRE(::write(writer.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
  }

  UniqueFd reader;
  UniqueFd writer;
};

}  // namespace

TEST_CASE("address lines: what has come is given before more is waited for") {
  Pipe input;
  AddressLines lines(input.reader.get());
  input.write("10\n0x2f\n3");
  CHECK(*lines.next() == Addresses{0x10, 0x2f});
  input.write("0\n");
  CHECK(*lines.next() == Addresses{0x30});
  input.writer.reset(-1);
  CHECK(lines.next()->empty());
}

TEST_CASE("address lines: blank lines and those of Windows; the last may lack its end") {
  Pipe input;
  input.write("\n \t\r\n 10 \r\n\n20");
  input.writer.reset(-1);
  AddressLines lines(input.reader.get());
  CHECK(*lines.next() == Addresses{0x10});
  CHECK(*lines.next() == Addresses{0x20});
  CHECK(lines.next()->empty());
}

TEST_CASE("address lines: those before a wrong one are given, none after it") {
  for (std::string_view wrong : {"rubbish", "10 20", "-1", "12345678901234567", "0x"}) {
    CAPTURE(wrong);
    Pipe input;
    input.write(fmt::format("10\n\n{}\n30\n", wrong));
    AddressLines lines(input.reader.get());
    CHECK(*lines.next() == Addresses{0x10});
    for (int i = 0; i < 2; i++) {
      auto next = lines.next();
      REQUIRE_FALSE(next);
      std::string_view word = wrong.substr(0, wrong.find(' '));
      CHECK(next.error().message() ==
            fmt::format("standard input, line 3: '{}' is not a hexadecimal address", word));
    }
  }
}

TEST_CASE("address lines: a line has a limit, a stream may be unreadable") {
  Pipe input;
  input.write("10\n" + std::string(5000, '1'));
  AddressLines lines(input.reader.get());
  CHECK(*lines.next() == Addresses{0x10});
  CHECK(lines.next().error().message() == "standard input, line 2: longer than 4096 bytes");

  AddressLines closed(-1);
  CHECK(closed.next().error().message() == "cannot read standard input: Bad file descriptor");
}

TEST_CASE("code places: build ids of GNU and of Go with an offset") {
  auto told = [](std::string_view word) {
    auto place = parse_code_place(word);
    return place ? fmt::format("{} {:x}", place->build_id, place->offset) : "none";
  };
  CHECK(told("0123456789ABCDEF+0x1f") == "0123456789abcdef 1f");
  CHECK(told("a-b/c_d/e/fghijklm+0x0") == "a-b/c_d/e/fghijklm 0");
  for (std::string_view word :
       {"0123456789abcdef+1f", "0123456789abcde+0x1", "0123456789abcdefg+0x1", "+0x1",
        "0123456789abcdef0+0x1", "0123456789abcdef+0x", "0123456789abcdef+0x12345678901234567",
        "/usr/lib/libc.so.6+0x1", "0123456789abcdef", "main.main+0x20", ""})
    CHECK(told(word) == "none");
  CHECK(parse_code_place_line(" 0123456789abcdef 1f ")->offset == 0x1f);
  CHECK(parse_code_place_line("0123456789abcdef\t0x1f")->offset == 0x1f);
  CHECK(parse_code_place_line("0123456789abcdef+0x1f")->offset == 0x1f);
  for (std::string_view line : {"0123456789abcdef", "0123456789abcdef 1f 2", "0123 1f"})
    CHECK_FALSE(parse_code_place_line(line));
}

}  // namespace gosym::address_lines_test
