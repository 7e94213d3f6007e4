#include "commands/resolve/address_lines.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/unique_fd.h"

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

}  // namespace gosym::address_lines_test
