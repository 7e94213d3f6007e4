#pragma once

#include <cstdint>
#include <vector>

namespace gosym {

struct CodeRange {
  uint64_t begin;
  uint64_t end;
};

// Code of a process, as the side-band told of it: enough to see which words of a stack may be
// return addresses. A range stays when it is unmapped, by an exec too: samples from before may
// still come. In order, apart from one another.
using CodeRanges = std::vector<CodeRange>;

void add(CodeRanges& ranges, CodeRange range);
bool contains(const CodeRanges& ranges, uint64_t address);
bool contains(const CodeRanges& ranges, CodeRange range);  // all of it

}  // namespace gosym
