#pragma once

#include <tsl/robin_map.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/sequence_pool.h"
#include "model/recording.h"
#include "raw/sample_limits.h"

namespace gosym::raw {

// The distinct sets of labels of a chunk of samples, as raw.proto has them. Set 0 is empty.
class LabelSets {
public:
  uint32_t intern(std::span<const Label> labels);

  // Valid until the next call of another function.
  std::span<const Label> operator[](uint32_t number) const { return sets_[number]; }
  uint32_t size() const { return static_cast<uint32_t>(sets_.size()); }
  // At least what write() takes.
  size_t size_in_memory() const { return encoded_size_; }

  void write(protozero::pbf_writer& out, uint32_t field) const;
  // Appends a set as the reader has it.
  void read(protozero::pbf_reader in);
  void clear(uint32_t number) { sets_[number].clear(); }

private:
  std::vector<std::vector<Label>> sets_ = {{}};
  std::map<std::vector<Label>, uint32_t> numbers_;  // of those that intern() has seen
  size_t encoded_size_ = 0;
};

// The stacks of a recording as paths of a tree that grows from one samples chunk to the next
// (raw.proto): most stacks are new, but differ from others only in their innermost frames.

// The nodes that a chunk adds to the tree. They are numbered from 1; node 0 is the caller of
// outermost frames.
struct NewNodes {
  uint32_t tree = 0;                // another number than that of the tree before
  uint32_t first = 0;               // the number of the first of them
  std::vector<uint32_t> distances;  // number of a node less that of its caller
  std::vector<uint64_t> addresses;
};

// The tree as a recorder makes it.
class StackTreeWriter {
public:
  // The number of the first tree. If it is a random one, chunks of another recording do not
  // pass for parts of it.
  explicit StackTreeWriter(uint32_t first = 1) { added_.tree = first; }

  // A new one is begun when the stacks of the next chunk could make this one too large, and
  // from time to time: a chunk that is lost takes callers from those that come after it.
  void begin_chunk(size_t address_count);
  // Addresses are innermost first.
  uint32_t add(std::span<const uint64_t> stack);
  uint32_t size() const { return static_cast<uint32_t>(known_.size()); }
  // Since begin_chunk().
  const NewNodes& added() const { return added_; }

private:
  struct Key {
    uint64_t address;
    uint64_t caller;
    bool operator==(const Key&) const = default;
  };

  uint32_t chunks_ = 0;  // of this tree
  tsl::robin_map<Key, uint32_t, BytesHash> known_;
  NewNodes added_;
};

// The tree as far as a reader has come.
class StackTreeReader {
public:
  // Nodes between the last one and the first of these were in chunks that are lost.
  Result<> add(const NewNodes& nodes);
  uint32_t size() const { return static_cast<uint32_t>(callers_.size() - 1); }
  // The outcome of a look-up: the whole stack; cut, because a chunk with callers is lost; none,
  // because no chunk has added the node; or none, because it is deeper than kMaxStackSize.
  enum class Found : uint8_t { kWhole, kCut, kNoNode, kTooDeep };
  // Appends the addresses of a stack, innermost first, kMaxStackSize of them at the most.
  Found append_stack(uint32_t node, std::vector<uint64_t>& addresses) const;
  // In bytes, also while it grows.
  uint64_t memory() const {
    constexpr uint64_t kGrowth = 3;
    return kGrowth * callers_.capacity() * (sizeof(callers_[0]) + sizeof(addresses_[0]));
  }

private:
  uint32_t tree_ = 0;
  std::vector<uint32_t> callers_ = {0};
  std::vector<uint64_t> addresses_ = {0};
};

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

  // Adds a sample, without what the format has no room for (sample_limits.h). Its event is
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
  // Samples that decode() left out, because they are beyond the limits of the format or refer
  // to what is not there; and what is wrong with the first of them, empty if nothing is.
  size_t left_out() const { return left_out_; }
  const std::string& problem() const { return problem_; }
  // About the bytes held, and never less than encode() will give.
  size_t size_in_memory() const;
  // It has as much as a chunk shall have.
  bool is_full() const;

  // The payload of a samples chunk (Samples in raw.proto), and back, of a tree that has come as
  // far as this chunk. Of a damaged payload, which is an error, at most nodes of the tree are
  // used.
  std::string encode(StackTreeWriter& tree) const;
  static Result<SampleBatch> decode(Bytes payload, StackTreeReader& tree);
  // Payload of a chunk that stands alone, with a tree of its own.
  std::string encode() const;
  static Result<SampleBatch> decode(Bytes payload);

  // Gives the numbers of the processes and threads of a payload, many of them several times.
  static Result<> read_ids(Bytes payload, const std::function<void(uint32_t)>& take);

private:
  uint32_t intern_text(std::string_view text);
  std::vector<uint32_t> top_bases() const;

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
  // The stacks, tops and lists that add() has seen, by hash.
  tsl::robin_map<uint64_t, uint32_t> known_stacks_;
  tsl::robin_map<uint64_t, uint32_t> known_tops_;
  tsl::robin_map<uint64_t, uint32_t> known_switches_;
  tsl::robin_map<std::string, uint32_t> known_texts_;
};

}  // namespace gosym::raw
