#pragma once

#include <linux/perf_event.h>

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/recording.h"
#include "perf_data/sample.h"
#include "record/sideband_record.h"
#include "record/stacks/stack_slots.h"

namespace gosym::perf_data {

// Takes out of copies of stacks (perf record --call-graph dwarf) the words that point into code
// or to a place of the same stack, with the registers, as a recorder does. For that it has to
// know all mappings: they may come after samples of another CPU.
class ProcessStacks {
public:
  void add(const RawMapping& mapping);
  void add(const ForkEvent& fork);

  // Puts where the user code was in front of a stack that has none, and tells where its frame
  // pointer led. The words are valid until the next sample.
  std::span<const StackWord> words_of(Sample& sample, const perf_event_attr& attr,
                                      const std::string& machine, RecordedSample& recorded);

  uint64_t memory() const { return memory_; }

private:
  const CodeRanges& code_of(uint32_t pid);

  struct Process {
    CodeRanges code;
    uint32_t parent = 0;
  };
  std::unordered_map<uint32_t, Process> processes_;
  std::unordered_map<uint32_t, CodeRanges> with_parents_;
  size_t ranges_with_parents_ = 0;
  uint64_t memory_ = 0;
  std::vector<uint64_t> top_;
  std::vector<uint64_t> registers_;
  std::vector<StackWord> words_;
};

}  // namespace gosym::perf_data
