#include "goroutine/labels.h"

#include <algorithm>
#include <map>

#include "base/bytes.h"

// Labels lie behind pointers that change while they are read. So they are read in rounds for
// all sets together, each bounded by what the round before has found; at the end each
// goroutine is asked once more for its pointer, and gets the labels only if it is still the
// one that was read.

namespace gosym {

namespace {

using proc::MemoryPiece;
using LabelList = std::vector<GoroutineLabel>;

constexpr uint64_t kMaxLabels = 64;  // of a goroutine: runtime/pprof copies them all each time
constexpr uint64_t kMaxSets = 1 << 20;
// Limit for all sets: a program that has so many labels has none that tell anything.
constexpr uint64_t kMaxPairs = 4 << 20;

// A piece of memory to be read in the next round.
struct LabelPlace {
  size_t set = 0;  // whose it is; of texts, which of them
  uint64_t address = 0;
  uint64_t size = 0;
};

// A string's address and length.
struct LabelText {
  uint64_t address = 0;
  uint64_t size = 0;
};

struct LabelPair {
  size_t set = 0;
  LabelText key;
  LabelText value;
};

// Reads in rounds: pieces that a round finds out about are read in the next, for all sets
// together.
class LabelReader {
public:
  LabelReader(const go::RuntimeLayout& layout, const proc::ReadMemory& read_memory,
              const LabelLimits& limits)
      : has_maps_(layout.has_label_map),
        read_memory_(read_memory),
        limits_(limits),
        text_left_(limits.all_texts) {}

  // The labels that each of the pointers leads to, in the order of these. What they point to
  // depends on the release (go/goroutine_layout.h).
  Result<std::vector<LabelList>> read(std::span<const uint64_t> pointers) {
    // Counts are by set, for the limit of each.
    count_.assign(pointers.size(), 0);
    std::vector<LabelPlace> places;
    for (size_t i = 0; i < pointers.size(); i++)
      places.push_back({i, pointers[i], has_maps_ ? kGoWord : 3 * kGoWord});
    auto done = has_maps_ ? read_maps(std::move(places)) : read_slices(places);
    if (!done)
      return std::move(done).error();
    return read_texts(pointers.size());
  }

private:
  // Hands over the bytes of each place that can be read, by `take(place, bytes)`. Whoever makes
  // the places bounds their sizes.
  template <class Take>
  Result<> read_all(std::span<const LabelPlace> places, Take take) {
    constexpr size_t kMaxAtOnce = 4096;
    while (!places.empty()) {
      std::span<const LabelPlace> next = places.first(std::min(places.size(), kMaxAtOnce));
      uint64_t size = 0;
      for (const LabelPlace& place : next)
        size += place.size;
      // One piece of memory for a batch: the pieces point into it, so it is made before them.
      std::vector<std::byte> room(size);
      std::vector<MemoryPiece> pieces;
      uint64_t at = 0;
      for (const LabelPlace& place : next) {
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
  LabelText text(Bytes bytes, uint64_t offset) const {
    return {word(bytes, offset), std::min(word(bytes, offset + kGoWord), limits_.text)};
  }

  void add(size_t set, LabelText key, LabelText value) {
    // A set with too many labels keeps its first ones.
    bool fits = count_[set]++ < kMaxLabels && pairs_.size() < kMaxPairs &&
                key.size + value.size <= text_left_;
    if (!fits)
      return;
    text_left_ -= key.size + value.size;
    pairs_.push_back({set, key, value});
  }

  Result<> read_slices(std::span<const LabelPlace> headers) {
    constexpr uint64_t kPair = 4 * kGoWord;  // two strings, each of a pointer and a length
    std::vector<LabelPlace> arrays;
    auto done = read_all(headers, [&](const LabelPlace& place, Bytes slice) {
      uint64_t length = word(slice, kGoWord);
      // A slice that is longer than its room has been torn by a write.
      if (length <= word(slice, 2 * kGoWord))
        arrays.push_back({place.set, word(slice, 0), std::min(length, kMaxLabels) * kPair});
    });
    if (!done)
      return done;
    return read_all(arrays, [&](const LabelPlace& place, Bytes array) {
      for (uint64_t at = 0; at < array.size(); at += kPair)
        add(place.set, text(array, at), text(array, at + 2 * kGoWord));
    });
  }

  Result<> read_maps(std::vector<LabelPlace> pointers) {
    constexpr uint64_t kMap = 4 * kGoWord;
    // All sets go one step further at a time: a pointer, a map, its buckets, a chain of
    // overflows. So thousands of goroutines take a few calls, not a few each.
    std::vector<LabelPlace> maps;
    auto done = read_all(pointers, [&](const LabelPlace& place, Bytes pointer) {
      maps.push_back({place.set, word(pointer, 0), kMap});
    });
    if (!done)
      return done;
    std::vector<LabelPlace> buckets;
    done = read_all(maps, [&](const LabelPlace& place, Bytes map) {
      constexpr uint8_t kMaxLog = 6;  // 64 labels have 16 buckets, 2^4: beyond is torn memory
      uint8_t log = std::min(load<uint8_t>(map, kGoWord + 1).value_or(0), kMaxLog);
      uint64_t count = uint64_t{1} << log;
      add_buckets(place.set, word(map, 2 * kGoWord), count, buckets);  // goroutine_layout.h
      // A map that grows moves its pairs from half as many old ones.
      if (uint64_t old = word(map, 3 * kGoWord); old != 0)
        add_buckets(place.set, old, std::max<uint64_t>(count / 2, 1), buckets);
    });
    // Chains go on for a few buckets; torn memory might lead on for ever.
    for (int depth = 0; done && depth < kMaxChain && !buckets.empty(); depth++)
      done = read_buckets(std::exchange(buckets, {}), buckets);
    return done;
  }

  void add_buckets(size_t set, uint64_t address, uint64_t count,
                   std::vector<LabelPlace>& buckets) const {
    for (uint64_t i = 0; i < count && buckets.size() < limits_.buckets; i++)
      buckets.push_back({set, address + i * kBucket, kBucket});
  }

  Result<> read_buckets(const std::vector<LabelPlace>& buckets, std::vector<LabelPlace>& next) {
    return read_all(buckets, [&](const LabelPlace& place, Bytes bucket) {
      constexpr uint64_t kSlots = 8;
      // Smaller values mark slots that are empty (goroutine_layout.h).
      constexpr uint8_t kLeastUsed = 5;
      for (uint64_t slot = 0; slot < kSlots; slot++)
        if (load<uint8_t>(bucket, slot).value_or(0) >= kLeastUsed)
          add(place.set, text(bucket, kSlots + 2 * kGoWord * slot),
              text(bucket, kSlots + 2 * kGoWord * (kSlots + slot)));
      if (uint64_t more = word(bucket, kBucket - kGoWord); more != 0)
        next.push_back({place.set, more, kBucket});
    });
  }

  Result<std::vector<LabelList>> read_texts(size_t set_count) {
    std::vector<LabelPlace> texts;  // a key, its value, the next key, ...
    for (const LabelPair& pair : pairs_)
      for (const LabelText& text : {pair.key, pair.value})
        texts.push_back({texts.size(), text.address, text.size});
    std::vector<std::string> found(texts.size());
    auto done = read_all(texts, [&](const LabelPlace& place, Bytes bytes) {
      found[place.set] = std::string(as_text(bytes));
    });
    if (!done)
      return std::move(done).error();
    std::vector<LabelList> labels(set_count);
    for (size_t i = 0; i < pairs_.size(); i++)
      labels[pairs_[i].set].push_back({std::move(found[2 * i]), std::move(found[2 * i + 1])});
    // By key, whatever order the map had them in.
    for (LabelList& set : labels)
      std::ranges::sort(set);
    return labels;
  }

  static constexpr uint64_t kBucket = 8 + 8 * 16 + 8 * 16 + 8;
  static constexpr int kMaxChain = 8;  // of buckets that go on with one another

  bool has_maps_;
  const proc::ReadMemory& read_memory_;
  std::vector<uint64_t> count_;  // of pairs, by set
  std::vector<LabelPair> pairs_;
  LabelLimits limits_;
  uint64_t text_left_;
};

}  // namespace

Result<std::vector<std::vector<GoroutineLabel>>> read_labels(
    const std::vector<Goroutine>& all, const go::RuntimeLayout& layout,
    const proc::ReadMemory& read_memory, const LabelLimits& limits) {
  // Goroutines inherit labels, so that many share a set, which is read once.
  std::map<uint64_t, size_t> sets;  // by pointer
  std::vector<uint64_t> pointers;
  for (const Goroutine& goroutine : all)
    if (goroutine.labels != 0 && pointers.size() < kMaxSets)
      if (sets.try_emplace(goroutine.labels, pointers.size()).second)
        pointers.push_back(goroutine.labels);
  auto labels = LabelReader(layout, read_memory, limits).read(pointers);
  if (!labels)
    return std::move(labels).error();
  // Goroutines that still have them; a pointer of 0, to no labels, is none of the sets.
  std::vector<size_t> owners;
  for (size_t i = 0; i < all.size(); i++)
    if (sets.contains(all[i].labels))
      owners.push_back(i);
  std::vector<uint64_t> now(owners.size());
  std::vector<MemoryPiece> pieces;
  for (size_t i = 0; i < owners.size(); i++)
    pieces.push_back({all[owners[i]].address + layout.g_labels,
                      std::as_writable_bytes(std::span(&now[i], 1))});
  if (auto done = read_memory(pieces); !done)
    return std::move(done).error();
  std::vector<std::vector<GoroutineLabel>> result(all.size());
  for (size_t i = 0; i < owners.size(); i++)
    // A set that was given up meanwhile may be other memory by now.
    if (uint64_t pointer = all[owners[i]].labels; pieces[i].is_read && now[i] == pointer)
      result[owners[i]] = (*labels)[sets.at(pointer)];
  return result;
}

}  // namespace gosym
