#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/sequence_pool.h"

// The stacks of a recording as paths of a tree that grows from one samples chunk to the next
// (raw.proto): most stacks are new, but differ from others only in their innermost frames.

namespace gosym::raw {

// What a chunk adds to the tree. Nodes are numbered from 1; node 0 is the caller of outermost
// frames.
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
  // How a stack came out: whole, without those callers that are lost, not at all for it is at a
  // node that nobody added, or deeper than kMaxStackSize.
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

}  // namespace gosym::raw
