#include "commands/resolve/address_filter.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

namespace gosym::address_filter_test {

namespace {

// Knows 0x400 to 0x4ff, of prog and of main.run.
CodeNames demo_names() {
  auto at = [](uint64_t address) {
    return address >= 0x400 && address < 0x500 ? fmt::format("code {:x}", address) : "";
  };
  CodeNames names;
  names.at = at;
  names.in_file = [at](std::string_view file, std::string_view function, uint64_t address) {
    uint64_t start = function == "main.run" ? 0x400 : 0;
    return file.ends_with("prog") ? at(start + address) : "";
  };
  names.in_function = [at](std::string_view function, uint64_t offset,
                           std::string_view position) {
    bool is_there = position.empty() || position == "main.go:12";
    return function == "main.run" && is_there ? at(0x400 + offset) : "";
  };
  return names;
}

std::string filtered(std::string_view text) {
  AddressFilter filter(demo_names());
  std::string output;
  filter.add(text, output);
  filter.finish(output);
  return output;
}

void check_unchanged(std::string_view text) {
  CAPTURE(text);
  CHECK(filtered(text) == text);
}

}  // namespace

TEST_CASE("address filter: addresses that stand for themselves") {
  CHECK(filtered("0x4ff\n") == "0x4ff <code 4ff>\n");
  CHECK(filtered("pc=0x410, sp=0x7f00") == "pc=0x410 <code 410>, sp=0x7f00");
  CHECK(filtered("[0x410]\r\n(0x00000411)\n") ==
        "[0x410 <code 410>]\r\n(0x00000411 <code 411>)\n");
  check_unchanged("a0x410 _0x410 0x410a0 0x410g 0x 0x3ff 0x500 410 /0x410 0X410\n");
  check_unchanged("0x410410410410410410410410\n");
  CHECK(filtered("0x00000000000000410") == "0x00000000000000410 <code 410>");
}

TEST_CASE("address filter: the name stands in place of a build id with an offset") {
  CodeNames names = demo_names();
  names.by_build_id = [](std::string_view id, uint64_t offset) {
    return id == "0123456789abcdef" ? fmt::format("<{:x}>", offset) : "";
  };
  auto told = [&](std::string_view text) {
    AddressFilter filter(names);
    std::string output;
    filter.add(text, output);
    filter.finish(output);
    return output;
  };
  CHECK(told(" 0123456789abcdef+0x410 1\n") == " <410> 1\n");
  CHECK(told("a;0123456789abcdef+0x1;0123456789abcdef+0x2 7") == "a;<1>;<2> 7");
  for (std::string_view text :
       {"0123456789abcdee+0x410", "00123456789abcdef+0x410", "x0123456789abcdef+0x410",
        "0123456789abcdef+410", "0123456789abcdef+0x410x", "+0x410"})
    CHECK(told(text) == text);
}

TEST_CASE("address filter: the address of a backtrace in C is behind the call") {
  CHECK(filtered("/bin/prog(+0x411)[0x7f0000000411]\n") ==
        "/bin/prog(+0x411)[0x7f0000000411] <code 410>\n");
  CHECK(filtered("./prog(main.run+0x11) [0x410] x") ==
        "./prog(main.run+0x11) [0x410] <code 410> x");
  CHECK(filtered("prog(+0x411)") == "prog(+0x411) <code 410>");
  CHECK(filtered("(main.run+0x20)") == "(main.run+0x20 <code 420>)");
  CHECK(filtered("./prog[0x411]") == "./prog[0x411 <code 410>]");
  check_unchanged("/bin/other(+0x411)[0x410]\nother(main.run+0x1)\n");
  check_unchanged("prog(+0x411\nprog +0x411)\n(+0x0)\n");
}

TEST_CASE("address filter: offsets in functions") {
  CHECK(filtered("main.run+0x20/0x100 [mod]\n") == "main.run+0x20/0x100 <code 420> [mod]\n");
  CHECK(filtered("main.run+0x20") == "main.run+0x20 <code 420>");
  CHECK(filtered("<main.run+0x20> [main.run+0x1]") ==
        "<main.run+0x20 <code 420>> [main.run+0x1 <code 401>]");
  check_unchanged("other+0x20/0x410 main.run +0x20 main.run+0x100 +0x410 xmain.run+0x1\n");
}

TEST_CASE("address filter: offsets of Go, in the function of the line before") {
  CHECK(filtered("main.run(0x1, {0x2, 0x3})\n\t/src/main.go:12 +0x1d\n") ==
        "main.run(0x1, {0x2, 0x3})\n\t/src/main.go:12 +0x1d <code 41d>\n");
  CHECK(filtered("created by main.run in goroutine 1\r\n\t/src/main.go:12 +0x1d\r\n") ==
        "created by main.run in goroutine 1\r\n\t/src/main.go:12 +0x1d <code 41d>\r\n");
  check_unchanged("main.run()\n\t/src/main.go:13 +0x1d\n");
  check_unchanged("main.run()\n\n\t/src/main.go:12 +0x1d\n");
  check_unchanged("main.run()\n/src/main.go:12 +0x1d\n\t/src/main.go +0x1d\n\t +0x1d\n");
}

TEST_CASE("address filter: all else passes byte for byte") {
  std::string bytes;
  for (int i = 0; i < 65536; i++)
    bytes += {static_cast<char>(i & 0xff), static_cast<char>(i >> 8)};
  check_unchanged(bytes);
  check_unchanged(std::string("\0\0\n\xff\xfe\n\n", 7));
  check_unchanged("");
  CHECK(filtered("\xff\xfe 0x410\xff") == "\xff\xfe 0x410 <code 410>\xff");
  for (std::string_view piece : {"0x", "+0x1", "(+0x1)[0x", "a+0x1/", "0x410", "\t:1 +0x1\n"}) {
    std::string many;
    while (many.size() < 500'000)
      many += piece;
    std::string output = filtered(many);
    CHECK(output.size() >= many.size());
  }
}

TEST_CASE("address filter: lines come in pieces, and leave when they are whole") {
  AddressFilter filter(demo_names());
  std::string output;
  filter.add("pc=0x4", output);
  CHECK(output.empty());
  filter.add("10\nnext 0x4", output);
  CHECK(output == "pc=0x410 <code 410>\n");
  filter.finish(output);
  CHECK(output == "pc=0x410 <code 410>\nnext 0x4");
}

TEST_CASE("address filter: a line beyond the limit is copied, the next one has names again") {
  AddressFilter filter(demo_names());
  std::string output;
  std::string expected;
  for (int i = 0; i < 20; i++) {
    std::string part = "0x410 " + std::string(100'000, 'x');
    filter.add(part, output);
    expected += part;
  }
  CHECK(output.size() > 1 << 20);  // nothing of it is held
  filter.add(" 0x410\n0x410\n", output);
  CHECK(output == expected + " 0x410\n0x410 <code 410>\n");
}

}  // namespace gosym::address_filter_test
