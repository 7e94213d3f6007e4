#include "proc/perf_map.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace gosym::perf_map_test {

namespace {

// The name at an address, or "-".
std::string name_at(std::string_view text, uint64_t address) {
  auto names = proc::find_in_perf_map(text, {{.address = address}});
  auto name = names.find({.address = address});
  return name == names.end() ? "-" : std::string(name->second);
}

}  // namespace

TEST_CASE("perf map: a line is start, size and name, with or without 0x") {
  auto entry =
      proc::parse_perf_map_line("3ea8b7a04c40 1f8 JS:*handle file:///srv/a b.js:31:16");
  REQUIRE(entry);
  CHECK(entry->start == 0x3ea8b7a04c40);
  CHECK(entry->last == 0x3ea8b7a04e37);
  CHECK(entry->name == "JS:*handle file:///srv/a b.js:31:16");
  CHECK(proc::parse_perf_map_line("0x10 0X20 py::f:/srv/a.py")->last == 0x2f);
  CHECK(proc::parse_perf_map_line("10 1 \x1b[31mred")->name == "\x1b[31mred");
  CHECK(proc::parse_perf_map_line("ffffffffffffffff 1 top")->last == UINT64_MAX);
  CHECK(proc::parse_perf_map_line("0 ffffffffffffffff all but one")->last == UINT64_MAX - 1);
}

TEST_CASE("perf map: a wrong field makes it no line") {
  CHECK(proc::parse_perf_map_line("10 20 name"));
  for (const char* line :
       {"", " ", "10", "10 20", "10 20 ", "x 20 name", "10 x name", "-10 20 name",
        "10 -20 name", "10 0 name", "10,20 name", "0x 20 name", "10000000000000000 20 name",
        "10 10000000000000000 name", "ffffffffffffffff 2 name", "1 ffffffffffffffffff name",
        "2 ffffffffffffffff name"}) {
    CAPTURE(line);
    CHECK_FALSE(proc::parse_perf_map_line(line));
  }
}

TEST_CASE("perf map: an address has the name of the code that it lies in") {
  std::string text = "1000 10 first\n1010 10 second\nnonsense\n\n3000 1 third\n";
  CHECK(name_at(text, 0xfff) == "-");
  CHECK(name_at(text, 0x1000) == "first");
  CHECK(name_at(text, 0x100f) == "first");
  CHECK(name_at(text, 0x1010) == "second");
  CHECK(name_at(text, 0x1020) == "-");
  CHECK(name_at(text, 0x3000) == "third");
  CHECK(name_at(text, 0x3001) == "-");
  CHECK(name_at("", 0x1000) == "-");
  CHECK(name_at("\n", 0x1000) == "-");

  auto names = proc::find_in_perf_map(text, {{0x1000}, {0x1004}, {0x1018}, {0x2000}});
  CHECK(names.size() == 3);
  CHECK(names.at({0x1004}) == "first");
  CHECK(names.at({0x1018}) == "second");
}

TEST_CASE("perf map: where code was made anew, the later line counts") {
  std::string text = "1000 100 old\n1040 10 new\n";
  CHECK(name_at(text, 0x103f) == "old");
  CHECK(name_at(text, 0x1040) == "new");
  CHECK(name_at(text, 0x104f) == "new");
  CHECK(name_at(text, 0x1050) == "old");
  text += "1000 ffffffffffffefff all\n";
  CHECK(name_at(text, 0x1040) == "all");
  CHECK(name_at(text, UINT64_MAX - 1) == "all");
  CHECK(name_at(text, UINT64_MAX) == "-");
}

TEST_CASE("perf map: a place has the last name that was there, or else the first one after") {
  std::string text = "1000 10 a\n1000 20 b\n1000 10 c\n1018 4 d\n";
  std::set<proc::PerfMapPlace> places;
  for (uint64_t address : {0x1000, 0x1018, 0x2000})
    for (size_t size : {0, 9, 10, 20, 30, 40, 100})
      places.insert({address, size});
  auto names = proc::find_in_perf_map(text, places);
  std::string found;
  for (const proc::PerfMapPlace& place : places)
    found += names.contains(place) ? names[place] : "-";
  CHECK(found ==
        "aaabccc"
        "bbbbbdd"
        "-------");
}

TEST_CASE("perf map: every prefix has the names of its whole lines, and no others") {
  std::string text = "1000 10 first\n0x2000 0x10 second one\n3000 10 third\n";
  constexpr std::string_view kNames[] = {"first", "second one", "third"};
  for (size_t size = 0; size <= text.size(); size++) {
    CAPTURE(size);
    std::string_view prefix = std::string_view(text).substr(0, size);
    auto whole = static_cast<size_t>(std::count(prefix.begin(), prefix.end(), '\n'));
    auto names = proc::find_in_perf_map(prefix, {{0x1000}, {0x2000}, {0x3000}});
    CHECK(names.size() == whole);
    for (size_t i = 0; i < whole; i++)
      CHECK(names[{0x1000 * (i + 1)}] == kNames[i]);
  }
}

}  // namespace gosym::perf_map_test
