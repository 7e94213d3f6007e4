#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/recording.h"
#include "raw/label_sets.h"
#include "raw/sample_limits.h"
#include "raw/stack_tree.h"

namespace gosym::raw {

// The samples of one chunk, each distinct stack kept once. The recorder fills one sample by
// sample and writes it; the reader gets it back whole.
class SampleBatch {
public:
  // A sample as the chunk has it: its spans and texts are empty, sample() fills them. Number 0
  // of stacks, tops, lists of switches, sets of labels and texts is the empty one.
  struct Row : RecordedSample {
    uint32_t kernel_index = 0;
    uint32_t user_index = 0;
    uint32_t top_index = 0;
    uint32_t label_set = 0;
    uint32_t state_text = 0;
    uint32_t waker_text = 0;
    uint32_t switch_list = 0;
    uint32_t creator_index = 0;  // of a stack
  };

  SampleBatch();
  SampleBatch(SampleBatch&&) noexcept;
  SampleBatch& operator=(SampleBatch&&) noexcept;
  ~SampleBatch();

  // What the format has no room for is left out of the sample (sample_limits.h). Its event is
  // below kMaxEvents.
  Shortened add(RecordedSample sample);

  bool empty() const { return rows_.empty(); }
  std::span<const Row> rows() const { return rows_; }
  // These are valid until the batch changes.
  RecordedSample sample(const Row& row) const;
  std::span<const uint64_t> stack(uint32_t index) const;
  std::span<const StackWord> top(uint32_t index) const;
  std::span<const StackSwitch> switches(uint32_t list) const;
  std::span<const Label> labels(uint32_t set) const { return label_sets_[set]; }
  uint32_t stack_count() const { return static_cast<uint32_t>(stack_begin_.size() - 1); }
  uint32_t label_set_count() const { return label_sets_.size(); }
  uint32_t top_count() const { return static_cast<uint32_t>(top_begin_.size() - 1); }
  uint32_t switch_list_count() const { return static_cast<uint32_t>(switch_begin_.size() - 1); }
  // Of a batch that was decoded: how many samples were left out, for what they have is beyond
  // the limits of the format or not there, and what is wrong with the first; empty if nothing
  // is.
  size_t left_out() const { return left_out_; }
  const std::string& problem() const { return problem_; }
  // About the bytes held, and never less than encode() will give: a chunk is cut by it.
  size_t size_in_memory() const;

  // The payload of a samples chunk (Samples in raw.proto), and back, of a tree that has come as
  // far as this chunk. Of a damaged payload, which is an error, at most nodes of the tree are
  // used.
  std::string encode(StackTreeWriter& tree) const;
  static Result<SampleBatch> decode(Bytes payload, StackTreeReader& tree);
  // Of a chunk that stands alone.
  std::string encode() const;
  static Result<SampleBatch> decode(Bytes payload);

  // Gives the numbers of the processes and threads of a payload, many of them several times.
  static Result<> read_ids(Bytes payload, const std::function<void(uint32_t)>& take);

private:
  uint32_t intern_text(std::string_view text);

  SampleFitter fitter_;
  size_t left_out_ = 0;
  std::string problem_;
  std::vector<Row> rows_;
  // Stack i is [stack_begin_[i], stack_begin_[i + 1]) of the addresses, top i likewise of the
  // words, and list i of the switches.
  std::vector<uint64_t> addresses_;
  std::vector<uint32_t> stack_begin_ = {0, 0};
  std::vector<StackWord> words_;
  std::vector<uint32_t> top_begin_ = {0, 0};
  std::vector<StackSwitch> switches_;
  std::vector<uint32_t> switch_begin_ = {0, 0};
  LabelSets label_sets_;
  std::vector<std::string> texts_ = {""};
  size_t texts_size_ = 0;
  // Of what add() has seen, by hash.
  tsl::robin_map<uint64_t, uint32_t> known_stacks_;
  tsl::robin_map<uint64_t, uint32_t> known_tops_;
  tsl::robin_map<uint64_t, uint32_t> known_switches_;
  tsl::robin_map<std::string, uint32_t> known_texts_;
};

}  // namespace gosym::raw
