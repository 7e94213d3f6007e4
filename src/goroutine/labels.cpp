#include "goroutine/labels.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"

namespace gosym {

namespace {

using proc::MemoryPiece;
using Labels = std::vector<GoroutineLabel>;

constexpr uint64_t kWord = 8;
constexpr uint64_t kMaxLabels = 64;  // of a goroutine: runtime/pprof copies them all each time
constexpr uint64_t kMaxText = 4096;
constexpr uint64_t kMaxSets = 1 << 20;

// What a round of reads finds out is read in the next, for all sets together.
struct Place {
  size_t set = 0;  // whose it is; of texts, which of them
  uint64_t address = 0;
  uint64_t size = 0;
};

// A string's address and length.
struct Text {
  uint64_t address = 0;
  uint64_t size = 0;
};

struct Pair {
  size_t set = 0;
  Text key;
  Text value;
};

class LabelReader {
public:
  LabelReader(const go::RuntimeLayout& layout, const proc::ReadMemory& read_memory)
      : has_maps_(layout.has_label_map), read_memory_(read_memory) {}

  // What the pointers lead to.
  Result<std::vector<Labels>> read(std::span<const uint64_t> pointers) {
    count_.assign(pointers.size(), 0);
    std::vector<Place> places;
    for (size_t i = 0; i < pointers.size(); i++)
      places.push_back({i, pointers[i], has_maps_ ? kWord : 3 * kWord});
    auto done = has_maps_ ? read_maps(std::move(places)) : read_slices(places);
    if (!done)
      return std::move(done).error();
    return read_texts(pointers.size());
  }

private:
  // Hands over the bytes of each place that can be read.
  template <class Take>
  Result<> read_all(std::span<const Place> places, Take take) {
    constexpr size_t kMaxAtOnce = 4096;
    while (!places.empty()) {
      std::span<const Place> next = places.first(std::min(places.size(), kMaxAtOnce));
      uint64_t size = 0;
      for (const Place& place : next)
        size += place.size;
      std::vector<std::byte> room(size);
      std::vector<MemoryPiece> pieces;
      uint64_t at = 0;
      for (const Place& place : next) {
        pieces.push_back({place.address, std::span(room).subspan(at, place.size)});
        at += place.size;
      }
      if (auto done = read_memory_(pieces); !done)
        return done;
      for (size_t i = 0; i < next.size(); i++)
        if (pieces[i].is_read)
          take(next[i], Bytes(pieces[i].bytes));
      places = places.subspan(next.size());
    }
    return Ok{};
  }

  static uint64_t word(Bytes bytes, uint64_t offset) {
    return load<uint64_t>(bytes, offset).value_or(0);
  }
  static Text text(Bytes bytes, uint64_t offset) {
    return {word(bytes, offset), std::min(word(bytes, offset + kWord), kMaxText)};
  }

  void add(size_t set, Text key, Text value) {
    if (count_[set]++ < kMaxLabels)
      pairs_.push_back({set, key, value});
  }

  Result<> read_slices(std::span<const Place> headers) {
    constexpr uint64_t kPair = 4 * kWord;
    std::vector<Place> arrays;
    auto done = read_all(headers, [&](const Place& place, Bytes slice) {
      uint64_t length = word(slice, kWord);
      if (length <= word(slice, 2 * kWord))
        arrays.push_back({place.set, word(slice, 0), std::min(length, kMaxLabels) * kPair});
    });
    if (!done)
      return done;
    return read_all(arrays, [&](const Place& place, Bytes array) {
      for (uint64_t at = 0; at < array.size(); at += kPair)
        add(place.set, text(array, at), text(array, at + 2 * kWord));
    });
  }

  Result<> read_maps(std::vector<Place> pointers) {
    constexpr uint64_t kMap = 4 * kWord;
    std::vector<Place> maps;
    auto done = read_all(pointers, [&](const Place& place, Bytes pointer) {
      maps.push_back({place.set, word(pointer, 0), kMap});
    });
    if (!done)
      return done;
    std::vector<Place> buckets;
    done = read_all(maps, [&](const Place& place, Bytes map) {
      constexpr uint8_t kMaxBuckets = 6;  // log2: of 64 labels there are 16
      uint8_t log = std::min(load<uint8_t>(map, kWord + 1).value_or(0), kMaxBuckets);
      uint64_t count = uint64_t{1} << log;
      add_buckets(place.set, word(map, 2 * kWord), count, buckets);
      // A map that grows moves its pairs from half as many old ones.
      if (uint64_t old = word(map, 3 * kWord); old != 0)
        add_buckets(place.set, old, std::max<uint64_t>(count / 2, 1), buckets);
    });
    for (int depth = 0; done && depth < kMaxChain && !buckets.empty(); depth++)
      done = read_buckets(std::exchange(buckets, {}), buckets);
    return done;
  }

  static void add_buckets(size_t set, uint64_t address, uint64_t count,
                          std::vector<Place>& buckets) {
    for (uint64_t i = 0; i < count; i++)
      buckets.push_back({set, address + i * kBucket, kBucket});
  }

  Result<> read_buckets(const std::vector<Place>& buckets, std::vector<Place>& next) {
    return read_all(buckets, [&](const Place& place, Bytes bucket) {
      constexpr uint64_t kSlots = 8;
      constexpr uint8_t kLeastUsed = 5;
      for (uint64_t slot = 0; slot < kSlots; slot++)
        if (load<uint8_t>(bucket, slot).value_or(0) >= kLeastUsed)
          add(place.set, text(bucket, kSlots + 2 * kWord * slot),
              text(bucket, kSlots + 2 * kWord * (kSlots + slot)));
      if (uint64_t more = word(bucket, kBucket - kWord); more != 0)
        next.push_back({place.set, more, kBucket});
    });
  }

  Result<std::vector<Labels>> read_texts(size_t set_count) {
    std::vector<Place> texts;  // a key, its value, the next key, ...
    for (const Pair& pair : pairs_)
      for (const Text& text : {pair.key, pair.value})
        texts.push_back({texts.size(), text.address, text.size});
    std::vector<std::string> found(texts.size());
    auto done = read_all(texts, [&](const Place& place, Bytes bytes) {
      found[place.set] = std::string(as_text(bytes));
    });
    if (!done)
      return std::move(done).error();
    std::vector<Labels> labels(set_count);
    for (size_t i = 0; i < pairs_.size(); i++)
      labels[pairs_[i].set].push_back({std::move(found[2 * i]), std::move(found[2 * i + 1])});
    for (Labels& set : labels)
      std::ranges::sort(set);
    return labels;
  }

  static constexpr uint64_t kBucket = 8 + 8 * 16 + 8 * 16 + 8;
  static constexpr int kMaxChain = 8;  // of buckets that go on with one another

  bool has_maps_;
  const proc::ReadMemory& read_memory_;
  std::vector<uint64_t> count_;  // of pairs, by set
  std::vector<Pair> pairs_;
};

}  // namespace

Result<std::vector<std::vector<GoroutineLabel>>> read_labels(
    const std::vector<Goroutine>& all, const go::RuntimeLayout& layout,
    const proc::ReadMemory& read_memory) {
  std::map<uint64_t, size_t> sets;  // by pointer
  std::vector<uint64_t> pointers;
  for (const Goroutine& goroutine : all)
    if (goroutine.labels != 0 && pointers.size() < kMaxSets)
      if (sets.try_emplace(goroutine.labels, pointers.size()).second)
        pointers.push_back(goroutine.labels);
  auto labels = LabelReader(layout, read_memory).read(pointers);
  if (!labels)
    return std::move(labels).error();
  std::vector<uint64_t> now(all.size());
  std::vector<MemoryPiece> pieces;
  for (size_t i = 0; i < all.size(); i++)
    pieces.push_back(
        {all[i].address + layout.g_labels, std::as_writable_bytes(std::span(&now[i], 1))});
  if (auto done = read_memory(pieces); !done)
    return std::move(done).error();
  std::vector<std::vector<GoroutineLabel>> result(all.size());
  for (size_t i = 0; i < all.size(); i++)
    if (auto set = sets.find(all[i].labels);
        set != sets.end() && pieces[i].is_read && now[i] == all[i].labels)
      result[i] = (*labels)[set->second];
  return result;
}

}  // namespace gosym
