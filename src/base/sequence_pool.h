#pragma once

#include <tsl/robin_map.h>
// The compiler shall know how long the keys are.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gosym {

// Hashes a key by its bytes, so the key must not have padding.
struct BytesHash {
  template <class Key>
  size_t operator()(const Key& key) const {
    static_assert(std::has_unique_object_representations_v<Key>);
    return XXH3_64bits(&key, sizeof(key));
  }
};

// The XXH128 of bytes in canonical form, which is the same on machines of either byte order.
inline std::string hash_of_bytes(std::string_view bytes) {
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(hash.digest), sizeof(hash.digest)};
}

// The memory of a table of so many bytes that grows by being copied: its former memory stays in
// the heap, and if it has little room left, it is about to be twice as large.
inline uint64_t memory_while_growing(uint64_t bytes, uint64_t size, uint64_t room) {
  constexpr uint64_t kLittle = 128 << 10;  // what is added between two looks at the memory
  return size + kLittle >= room ? 3 * bytes : bytes + bytes / 2;
}

// In bytes, about.
template <class Table>
uint64_t memory_of_table(const Table& table) {
  auto buckets = static_cast<uint64_t>(table.bucket_count());
  auto room = static_cast<uint64_t>(static_cast<double>(buckets) * table.max_load_factor());
  return memory_while_growing(buckets * (sizeof(typename Table::value_type) + sizeof(uint64_t)),
                              table.size(), room);
}

// Gives out dense ids of sequences of integers, in order of first use, and keeps none of them.
//
// Sequences are told apart by 128 bits of hash alone. A recording made to collide mixes up its
// own stacks, and no other's.
template <class T>
class SequenceNumbers {
public:
  uint32_t number(std::span<const T> sequence) {
    return ids_.try_emplace(key_of(sequence), size()).first->second;
  }
  // True if the pool has the sequence.
  bool contains(std::span<const T> sequence) const { return ids_.contains(key_of(sequence)); }
  uint32_t size() const { return static_cast<uint32_t>(ids_.size()); }
  // In bytes, about.
  uint64_t memory() const { return ids_.bucket_count() * 2 * sizeof(Key); }

private:
  struct Key {
    uint64_t low;
    uint64_t high;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const { return key.low; }
  };
  static Key key_of(std::span<const T> sequence) {
    XXH128_hash_t hash = XXH3_128bits(sequence.data(), sequence.size_bytes());
    return {hash.low64, hash.high64};
  }

  tsl::robin_map<Key, uint32_t, Hash> ids_;
};

// Numbers sequences as SequenceNumbers does, and keeps one copy of each.
template <class T>
class SequencePool {
public:
  uint32_t intern(std::span<const T> sequence) {
    uint32_t id = numbers_.number(sequence);
    // Numbers are given in order: the next one is that of a sequence that was not there.
    if (id == size()) {
      items_.insert(items_.end(), sequence.begin(), sequence.end());
      begins_.push_back(items_.size());
    }
    return id;
  }

  bool contains(std::span<const T> sequence) const { return numbers_.contains(sequence); }

  // Valid until the next call of intern().
  std::span<const T> operator[](uint32_t id) const {
    return std::span(items_).subspan(begins_[id], begins_[id + 1] - begins_[id]);
  }
  // All of them: sequence i is [begins[i], begins[i + 1]) of the items.
  void take(std::vector<T>& items, std::vector<size_t>& begins) && {
    items = std::move(items_);
    begins = std::move(begins_);
  }
  uint32_t size() const { return static_cast<uint32_t>(begins_.size() - 1); }
  // In bytes, about.
  uint64_t memory() const {
    return items_.capacity() * sizeof(T) + begins_.capacity() * sizeof(size_t) +
           numbers_.memory();
  }
  // The most that it takes while a sequence of so many items is added: where there is no room,
  // all are copied to a place of twice the size.
  uint64_t memory_to_add(size_t count) const {
    bool grows = items_.size() + count > items_.capacity();
    return memory() + (grows ? 2 * items_.capacity() * sizeof(T) : 0);
  }

private:
  std::vector<T> items_;
  std::vector<size_t> begins_ = {0};  // of sequence i, and where the last one ends
  SequenceNumbers<T> numbers_;
};

}  // namespace gosym
