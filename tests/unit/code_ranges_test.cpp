#include "record/code_ranges.h"

#include <doctest/doctest.h>

using namespace gosym;

namespace {

using Range = CodeRanges::Range;

std::vector<std::pair<uint64_t, uint64_t>> pairs(const std::vector<Range>& ranges) {
  std::vector<std::pair<uint64_t, uint64_t>> result;
  for (const Range& range : ranges)
    result.emplace_back(range.begin, range.end);
  return result;
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

RawMapping mapping(uint32_t pid, uint64_t start, uint64_t length) {
  RawMapping mapping;
  mapping.pid = pid;
  mapping.start = start;
  mapping.length = length;
  return mapping;
}

}  // namespace

TEST_CASE("code ranges: those that meet are one") {
  CodeRanges code;
  code.add(1, {100, 200});
  code.add(1, {300, 400});
  code.add(1, {500, 600});
  CHECK(pairs(code.of(1)) == Pairs{{100, 200}, {300, 400}, {500, 600}});
  code.add(1, {200, 250});
  CHECK(pairs(code.of(1)) == Pairs{{100, 250}, {300, 400}, {500, 600}});
  code.add(1, {240, 500});
  CHECK(pairs(code.of(1)) == Pairs{{100, 600}});
  code.add(1, {150, 160});
  code.add(1, {50, 60});
  code.add(1, {70, 70});
  CHECK(pairs(code.of(1)) == Pairs{{50, 60}, {100, 600}});
}

TEST_CASE("code ranges: an address is in one, or not") {
  CodeRanges code;
  CHECK_FALSE(contains(code.of(1), 0));
  code.add(1, {100, 200});
  code.add(1, {300, 400});
  for (uint64_t address : {100, 199, 300, 399})
    CHECK(contains(code.of(1), address));
  for (uint64_t address : {0, 99, 200, 299, 400})
    CHECK_FALSE(contains(code.of(1), address));
  CHECK_FALSE(contains(code.of(2), 100));
}

TEST_CASE("code ranges: a child has those of its parent, until it is forgotten") {
  CodeRanges code;
  code.apply(mapping(1, 0x1000, 0x100));
  code.apply(ForkEvent{1, 2, 2, 1, 1});
  code.apply(mapping(1, 0x2000, 0x100));
  CHECK(pairs(code.of(2)) == Pairs{{0x1000, 0x1100}});
  code.apply(ForkEvent{2, 2, 3, 2, 2});  // a thread
  code.apply(ExitEvent{3, 2, 2});
  CHECK(contains(code.of(2), 0x1000));  // which goes on when the first has ended
  code.forget(2);
  CHECK(code.of(2).empty());
  CHECK_FALSE(code.of(1).empty());
}

TEST_CASE("code ranges: a mapping of no sane length is left out") {
  CodeRanges code;
  code.apply(mapping(1, UINT64_MAX, 2));
  CHECK(code.of(1).empty());
}
