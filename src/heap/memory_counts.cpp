#include "heap/memory_counts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/exit_status.h"

// The runtime counts what it has handed out, and keeps a list of all spans. Both are read
// while the program goes on and compared: where the spans do not add up to the counts, either
// something else was read or the program changed too much meanwhile. It is read up to four
// times.

namespace gosym {

namespace {

// 32 GiB of spans of a page.
constexpr uint64_t kMaxSpans = 4 << 20;
constexpr uint64_t kMaxSpanPages = 1 << 27;
constexpr uint64_t kMaxCountedBytes = uint64_t{1} << 50;
constexpr size_t kSpansAtOnce = 4096;
constexpr uint64_t kMaxCountTime = 10'000'000'000;  // nanoseconds
constexpr int kMaxCountLooks = 4;
constexpr uint64_t kSpanAddress = 24;  // offsets
constexpr uint64_t kSpanPages = 32;
constexpr uint64_t kMaxSpanSize = 128;
enum class SpanState : uint8_t { kDead, kInUse, kManual };

Error not_as_counted(std::string_view what) {
  return errorf("the memory is not counted as Go counts it: {}", what)
      .with_exit_status(kUnsupported);
}

class MemoryCounter {
public:
  MemoryCounter(const MemoryRuntime& runtime, const proc::ReadMemory& read_memory)
      : runtime_(runtime),
        layout_(runtime.layout),
        read_memory_(read_memory),
        end_(monotonic_ns() + kMaxCountTime) {}

  Result<MemoryCounts> read() {
    for (int look = 0;; look++) {
      MemoryCounts counts;
      for (auto step : {&MemoryCounter::read_statistics, &MemoryCounter::read_collector,
                        &MemoryCounter::read_spans})
        if (auto done = (this->*step)(counts); !done)
          return std::move(done).error();
      // Counts and spans are read at different moments: as long as they nearly agree, none of
      // them changed by much.
      double off = difference_of(counts);
      counts.is_torn = off > kNear;
      if (!counts.is_torn)
        return counts;
      if (look + 1 < kMaxCountLooks)
        continue;
      if (off > kFar)
        return not_as_counted("its spans are not what it has counted");
      return counts;
    }
  }

private:
  // Parts of what was counted. What differs by more than the latter each time is not that
  // program's counts and spans, but other memory.
  static constexpr double kNear = 0.05;
  static constexpr double kFar = 0.5;

  // The part by which the spans are more or less than what was counted.
  static double difference_of(const MemoryCounts& counts) {
    constexpr double kSmall = 4 << 20;  // that counts little
    double counted = static_cast<double>(counts.in_spans + counts.in_stacks + counts.in_work);
    double found = static_cast<double>(counts.span_bytes + counts.manual_bytes);
    // In a small heap a few spans make a large part.
    return std::max(std::abs(counted - found) - kSmall, 0.0) / std::max(counted, kSmall);
  }

  Result<> read_at(uint64_t address, std::span<std::byte> room, std::string_view what) {
    proc::MemoryPiece piece = {address, room};
    if (auto done = read_memory_({&piece, 1}); !done)
      return done;
    return piece.is_read ? Result<>(Ok{}) : not_as_counted(what);
  }

  Result<> read_statistics(MemoryCounts& counts) {
    // One piece from the beginning of memstats to the last count.
    std::vector<std::byte> memory(layout_.collections() + 16);
    if (auto done = read_at(runtime_.statistics, memory, "its counts cannot be read"); !done)
      return done;
    auto word = [&](uint64_t offset) { return load<uint64_t>(memory, offset).value_or(0); };
    // The numbers of counts here and below are their places in memory_layout.h. Each of the
    // three sets may be negative, their sum is not.
    auto sum = [&](uint64_t number) {
      uint64_t all = 0;
      for (uint64_t set = 0; set < 3; set++)
        all += word(set * layout_.count_set + number * 8);
      return all;
    };
    counts.committed = sum(0);
    counts.in_spans = sum(2);
    counts.in_stacks = sum(3);
    counts.in_work = sum(4) + (layout_.has_bitmaps ? sum(5) : 0);
    auto own = [&](uint64_t number) { return word(layout_.statistics + number * 8); };
    counts.for_spans = own(1) + own(2);
    counts.for_profiles = own(3);
    counts.for_collector = own(4);
    counts.for_others = own(0) + own(5);
    counts.last_collection = own(6);
    counts.pause_total = own(7);
    counts.collections = load<uint32_t>(memory, layout_.collections()).value_or(0);
    counts.forced = load<uint32_t>(memory, layout_.collections() + 4).value_or(0);
    // A process may have written anything there, NaN for one, which JSON has no word for.
    double share = std::bit_cast<double>(word(layout_.collections() + 8));
    counts.cpu_share = share >= 0 && share <= 1 ? share : 0;
    // The runtime keeps the last 256 pauses, in a ring: they are read backwards from the last
    // collection.
    for (uint32_t back = 1; back <= std::min(counts.collections, 256U); back++)
      counts.pauses.push_back(
          word(layout_.pauses() + uint64_t{(counts.collections - back) % 256} * 8));
    for (uint64_t bytes :
         {counts.committed, counts.in_spans, counts.in_stacks, counts.in_work, counts.for_spans,
          counts.for_profiles, counts.for_collector, counts.for_others})
      if (bytes > kMaxCountedBytes)
        return not_as_counted("it has counts that no program can have");
    return Ok{};
  }

  Result<> read_collector(MemoryCounts& counts) {
    std::array<std::byte, 256> memory;  // all fields that the layouts know lie in these
    if (auto done = read_at(runtime_.collector, memory, "its collector cannot be read"); !done)
      return done;
    auto word = [&](uint64_t offset) { return load<uint64_t>(memory, offset).value_or(0); };
    // GOGC=off is -1.
    auto percent = static_cast<int32_t>(load<uint32_t>(memory, 0).value_or(0));
    if (percent >= 0)
      counts.gc_percent = percent;
    // GOMEMLIMIT lies at 8 (memory_layout.h). Without a limit it is the largest number.
    if (word(8) < INT64_MAX)
      counts.limit = word(8);
    counts.live = word(layout_.live);
    counts.marked = word(layout_.marked);
    if (percent >= 0 && word(layout_.goal) < kMaxCountedBytes)
      counts.goal = word(layout_.goal);
    return counts.live <= kMaxCountedBytes && counts.marked <= kMaxCountedBytes
               ? Result<>(Ok{})
               : not_as_counted("it has counts that no program can have");
  }

  Result<> read_spans(MemoryCounts& counts) {
    std::array<uint64_t, 3> slice = {};
    if (auto done =
            read_at(runtime_.heap + layout_.spans, std::as_writable_bytes(std::span(slice)),
                    "its list of spans cannot be read");
        !done)
      return done;
    auto [address, length, capacity] = slice;
    // The slice's words are checked before any of it is read, whatever length it says.
    // Spans are read in batches, within a limit of time: a wrong list may have any length.
    if (length > capacity || length > kMaxSpans || address % 8 != 0)
      return not_as_counted("its list of spans is none");
    std::set<uint64_t> arenas;
    for (uint64_t i = 0; i < length; i += kSpansAtOnce) {
      if (monotonic_ns() > end_)
        return not_as_counted("its list of spans is too long");
      std::vector<uint64_t> list(std::min<uint64_t>(kSpansAtOnce, length - i));
      if (auto done = read_at(address + i * 8, std::as_writable_bytes(std::span(list)),
                              "its list of spans cannot be read");
          !done)
        return done;
      if (auto done = add_spans(list, counts, arenas); !done)
        return done;
    }
    counts.arenas = {arenas.begin(), arenas.end()};
    return Ok{};
  }

  Result<> add_spans(std::span<const uint64_t> list, MemoryCounts& counts,
                     std::set<uint64_t>& arenas) {
    // One call reads many spans: one by one they would take a system call each.
    std::vector<std::byte> memory(list.size() * kMaxSpanSize);
    std::vector<proc::MemoryPiece> pieces;
    for (size_t i = 0; i < list.size(); i++)
      pieces.push_back({list[i], std::span(memory).subspan(i * kMaxSpanSize, kMaxSpanSize)});
    if (auto done = read_memory_(pieces); !done)
      return done;
    for (const proc::MemoryPiece& piece : pieces)
      if (piece.is_read)
        add_span(piece.bytes, counts, arenas);
    return Ok{};
  }

  // One that ended while the list was read may be used for something else.
  void add_span(Bytes span, MemoryCounts& counts, std::set<uint64_t>& arenas) const {
    uint64_t count_at = layout_.span_count;  // state and size lie behind: memory_layout.h
    uint64_t pages = load<uint64_t>(span, kSpanPages).value_or(0);
    uint64_t bytes = pages * go::kGoPage;
    auto state = SpanState{load<uint8_t>(span, count_at + 3).value_or(0)};
    if (pages > kMaxSpanPages || (state != SpanState::kInUse && state != SpanState::kManual))
      return;
    constexpr size_t kMaxArenas = 1 << 16;
    if (arenas.size() < kMaxArenas)
      arenas.insert(load<uint64_t>(span, kSpanAddress).value_or(0) / kArenaSize);
    if (state == SpanState::kManual) {
      counts.manual_bytes += bytes;
      return;
    }
    // From here on it is a span of objects.
    uint64_t objects = load<uint16_t>(span, count_at).value_or(0);
    uint64_t size = load<uint64_t>(span, count_at + 8).value_or(0);
    counts.span_count++;
    counts.span_bytes += bytes;
    // A large object has a span of its own, and may be smaller than that. The product fits, of
    // 16 bits and of no more than kMaxSpanPages.
    uint64_t taken = size > bytes ? bytes : std::min(objects * size, bytes);
    counts.object_bytes += taken;
    SizeClass& of_size = counts.classes[size > kLargestSlot ? UINT64_MAX : size];
    of_size.spans++;
    of_size.objects += objects;
    of_size.taken += taken;
    of_size.bytes += bytes;
  }

  const MemoryRuntime& runtime_;
  const go::MemoryLayout& layout_;
  const proc::ReadMemory& read_memory_;
  uint64_t end_;  // of all time, CLOCK_MONOTONIC
};

}  // namespace

Result<MemoryCounts> read_memory_counts(const MemoryRuntime& runtime,
                                        const proc::ReadMemory& read_memory) {
  return MemoryCounter(runtime, read_memory).read();
}

}  // namespace gosym
