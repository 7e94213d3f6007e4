#include "record/stacks/stack_slots.h"

#include <doctest/doctest.h>

namespace gosym::code_ranges_test {

namespace {

std::vector<std::pair<uint64_t, uint64_t>> pairs(const CodeRanges& ranges) {
  std::vector<std::pair<uint64_t, uint64_t>> result;
  for (const CodeRange& range : ranges)
    result.emplace_back(range.begin, range.end);
  return result;
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

}  // namespace

TEST_CASE("code ranges: those that meet are one") {
  CodeRanges code;
  add(code, {100, 200});
  add(code, {300, 400});
  add(code, {500, 600});
  CHECK(pairs(code) == Pairs{{100, 200}, {300, 400}, {500, 600}});
  add(code, {200, 250});
  CHECK(pairs(code) == Pairs{{100, 250}, {300, 400}, {500, 600}});
  add(code, {240, 500});
  CHECK(pairs(code) == Pairs{{100, 600}});
  add(code, {150, 160});
  add(code, {50, 60});
  add(code, {70, 70});
  CHECK(pairs(code) == Pairs{{50, 60}, {100, 600}});
}

TEST_CASE("code ranges: a range is in one, or not") {
  CodeRanges code;
  CHECK_FALSE(contains(code, {0, 1}));
  add(code, {100, 200});
  add(code, {300, 400});
  CHECK(contains(code, {100, 200}));
  CHECK(contains(code, {350, 400}));
  CHECK_FALSE(contains(code, {99, 150}));
  CHECK_FALSE(contains(code, {150, 201}));
  CHECK_FALSE(contains(code, {150, 350}));
  CHECK_FALSE(contains(code, {250, 260}));
  CHECK_FALSE(contains(code, {400, 410}));
}

TEST_CASE("code ranges: an address is in one, or not") {
  CodeRanges code;
  CHECK_FALSE(contains(code, 0));
  add(code, {100, 200});
  add(code, {300, 400});
  for (uint64_t address : {100, 199, 300, 399})
    CHECK(contains(code, address));
  for (uint64_t address : {0, 99, 200, 299, 400})
    CHECK_FALSE(contains(code, address));
}

TEST_CASE("code ranges: one of no sane length is left out") {
  CodeRanges code;
  add(code, {UINT64_MAX, 1});
  CHECK(code.empty());
}

}  // namespace gosym::code_ranges_test
