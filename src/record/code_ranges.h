#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "record/sideband_record.h"

namespace gosym {

// Where each process has code, as far as the side-band has told: enough to see which words of a
// stack may be return addresses. What is unmapped, by an exec too, is not forgotten before the
// process is: samples from before may still come.
class CodeRanges {
public:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };

  void apply(const SidebandRecord& record);
  void add(uint32_t pid, Range range);
  // The process has ended, with all its threads, and all samples of it have come.
  void forget(uint32_t pid) { ranges_.erase(pid); }

  // In order, apart from one another; empty if nothing is known of the process. Valid until the
  // next call of another function.
  const std::vector<Range>& of(uint32_t pid) const;

private:
  std::unordered_map<uint32_t, std::vector<Range>> ranges_;  // by process
};

bool contains(const std::vector<CodeRanges::Range>& ranges, uint64_t address);

}  // namespace gosym
