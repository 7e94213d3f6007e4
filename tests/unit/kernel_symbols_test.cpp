#include "record/kernel_symbols.h"

#include <doctest/doctest.h>

#include "proc/kallsyms.h"

namespace gosym::kernel_symbols_test {

namespace {

constexpr const char* kText =
    "1000 T first\n"
    "1100 d data\n"
    "1200 t alias_one\n"
    "1200 T alias_two\n"
    "1300 t local\n"
    "1400 T last\t[module]\n";

std::string lines_for(KernelSymbols& symbols, std::vector<uint64_t> stack) {
  symbols.want(stack);
  return symbols.take();
}

}  // namespace

TEST_CASE("kernel symbols: a function with all its names, and where it ends") {
  KernelSymbols symbols(kText);
  CHECK(lines_for(symbols, {0x1210}) == "1200 t alias_one\n1200 t alias_two\n1300 t local\n");
  CHECK(lines_for(symbols, {0x1210, 0x12ff}).empty());
  CHECK(lines_for(symbols, {0x1400}) ==
        "1400 t last\t[module]\n1300 t local\n1400 t last\t[module]\n");
  CHECK(lines_for(symbols, {0x1500}).empty());
}

TEST_CASE("kernel symbols: a return address may be the first after its function") {
  KernelSymbols symbols(kText);
  CHECK(lines_for(symbols, {0x1200}) ==
        "1200 t alias_one\n1200 t alias_two\n1300 t local\n1000 t first\n1200 t alias_one\n");
}

TEST_CASE("kernel symbols: none are wanted before the first, or without any") {
  KernelSymbols symbols(kText);
  CHECK(lines_for(symbols, {0, 1, 0xfff}).empty());
  KernelSymbols none;
  CHECK(none.empty());
  CHECK(lines_for(none, {0x1000}).empty());
  CHECK(KernelSymbols("0 T hidden\n").empty());
}

TEST_CASE("kernel symbols: what is wanted has the names that the whole text gives it") {
  KernelSymbols symbols(kText);
  Kallsyms whole(kText);
  std::string told;
  for (uint64_t address = 0x1440; address >= 0xff0; address -= 0x10) {
    told += lines_for(symbols, {address});
    Kallsyms part(told);
    for (uint64_t asked : {address, address - 1}) {
      CAPTURE(asked);
      auto expected = whole.find(asked);
      auto got = part.find(asked);
      REQUIRE(expected.has_value() == got.has_value());
      if (!expected)
        continue;
      CHECK(got->name == expected->name);
      CHECK(got->module == expected->module);
    }
  }
}

}  // namespace gosym::kernel_symbols_test
