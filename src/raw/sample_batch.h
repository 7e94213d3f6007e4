#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/recording.h"

namespace gosym::raw {

// The samples of one chunk, each distinct stack kept once. The recorder fills one sample by
// sample and writes it; the reader gets it back whole.
class SampleBatch {
public:
  // Where the chunk tells one sample from the others. Stack 0 is the empty stack.
  struct Row {
    uint64_t time;
    uint32_t pid;
    uint32_t tid;
    uint32_t cpu;
    StackEnd user_end;
    uint32_t kernel_stack;
    uint32_t user_stack;
  };

  void add(const RecordedSample& sample);
  void clear();

  bool empty() const { return rows_.empty(); }
  std::span<const Row> rows() const { return rows_; }
  // Valid until the batch changes.
  std::span<const uint64_t> stack(uint32_t index) const;
  uint32_t stack_count() const;
  // Bytes held, which bound those of encode(), so that a chunk can be cut in time.
  size_t size_in_memory() const;

  // The payload of a samples chunk (format.h), and back. A damaged payload is an error and no
  // part of it is used.
  std::string encode() const;
  static Result<SampleBatch> decode(Bytes payload);

private:
  std::vector<Row> rows_;
};

}  // namespace gosym::raw
