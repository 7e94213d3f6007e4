#include "heap/heap_profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_set>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/exit_status.h"

namespace gosym {

namespace {

using proc::MemoryPiece;

constexpr uint64_t kHeapWord = 8;
// Addresses of a stack: what GODEBUG=profstackdepth allows, and some more.
constexpr uint64_t kMaxBucketStack = 1100;
constexpr size_t kMaxHeapWords = 16;  // in a record: the most that words_of() gives
// Large servers have some ten thousand.
constexpr size_t kMaxBuckets = 1 << 20;
constexpr uint64_t kMaxHeapAddresses = 32 << 20;  // in all stacks together
constexpr uint64_t kMaxBytesRead = uint64_t{1} << 30;
constexpr uint64_t kMaxBytesKept = 256 << 20;
constexpr uint64_t kMaxHeapTime = 10'000'000'000;  // nanoseconds
constexpr int kMaxHeapLooks = 6;
// No program has allocated so much of one size by one stack; the sum of a whole profile has to
// fit into 63 bits, as pprof has it.
constexpr uint64_t kMaxHeapBytes = uint64_t{1} << 50;
constexpr double kMaxAmount = 4e18;
constexpr double kMaxWaits = 1e12;  // of one stack

Error no_profile(std::string what) {
  return Error(std::move(what)).with_exit_status(kNoTarget);
}

Error unlike_go(std::string_view what) {
  return errorf("the heap profile is not as Go keeps it: {}", what)
      .with_exit_status(kUnsupported);
}

uint64_t clamped(double amount) {
  return static_cast<uint64_t>(std::clamp(amount, 0.0, kMaxAmount));
}

// Reads memory in blocks: buckets lie close to each other, and to ask for each by itself would
// take much longer.
class BlockMemory {
public:
  explicit BlockMemory(const proc::ReadMemory& read_memory) : read_memory_(read_memory) {}

  // True if all of it is there.
  Result<bool> read(uint64_t address, std::span<std::byte> room) {
    while (!room.empty()) {
      auto block = block_of(address);
      if (!block)
        return std::move(block).error();
      if (*block == nullptr)
        // A block may end where memory does: the bytes themselves are tried.
        return read_alone(address, room);
      uint64_t offset = address % kBlock;
      uint64_t size = std::min<uint64_t>(room.size(), kBlock - offset);
      std::ranges::copy(std::span(**block).subspan(offset, size), room.begin());
      room = room.subspan(size);
      address += size;
    }
    return true;
  }

  Result<std::optional<uint64_t>> word(uint64_t address) { return integer<uint64_t>(address); }

  template <class T>
  Result<std::optional<T>> integer(uint64_t address) {
    T value = 0;
    auto done = read(address, std::as_writable_bytes(std::span(&value, 1)));
    if (!done)
      return std::move(done).error();
    return *done ? std::optional(value) : std::nullopt;
  }

  // Reads anew from now on.
  void forget() { blocks_.clear(); }

private:
  static constexpr uint64_t kBlock = 16 << 10;
  using Block = std::vector<std::byte>;

  // Null: it is not there as a whole.
  Result<const Block*> block_of(uint64_t address) {
    auto [entry, is_new] = blocks_.try_emplace(address / kBlock);
    if (is_new) {
      // Buckets far apart could make blocks of any number: all are dropped and read again if
      // need be.
      if (blocks_.size() > kMaxBytesKept / kBlock)
        return forget_others(address);
      Block block(kBlock);
      auto done = read_piece(address / kBlock * kBlock, block);
      if (!done)
        return std::move(done).error();
      if (*done)
        entry->second = std::move(block);
    }
    return entry->second.empty() ? nullptr : &entry->second;
  }

  Result<const Block*> forget_others(uint64_t address) {
    blocks_.clear();
    return block_of(address);
  }

  Result<bool> read_alone(uint64_t address, std::span<std::byte> room) {
    return read_piece(address, room);
  }

  Result<bool> read_piece(uint64_t address, std::span<std::byte> room) {
    read_ += room.size();
    if (read_ > kMaxBytesRead)
      return unlike_go("it is too large, or never the same");
    MemoryPiece piece = {address, room};
    if (auto done = read_memory_({&piece, 1}); !done)
      return std::move(done).error();
    return piece.is_read;
  }

  const proc::ReadMemory& read_memory_;
  std::map<uint64_t, Block> blocks_;  // by number; empty: cannot be read
  uint64_t read_ = 0;                 // bytes
};

// A bucket as it lies in memory.
struct RawBucket {
  uint32_t stack = 0;
  uint64_t size = 0;
  std::array<uint64_t, kMaxHeapWords> words = {};  // of the record
};

// A list of buckets as it was at a moment.
struct RawList {
  uint32_t cycle = 0;
  std::vector<RawBucket> buckets;
};

class HeapReader {
public:
  HeapReader(const HeapRuntime& runtime, const proc::ReadMemory& read_memory)
      : runtime_(runtime), memory_(read_memory), end_(monotonic_ns() + kMaxHeapTime) {}

  Result<HeapProfile> read(HeapTime time) {
    auto rate = read_rate();
    if (!rate)
      return std::move(rate).error();
    // The runtime turns the profile off when it begins if nothing in the program asks for it
    // (from Go 1.17 on): the few samples from before mean nothing.
    if (*rate == 0 && !runtime_.is_used)
      return why_empty(*rate);
    auto place = find_list(go::BucketKind::kMemory);
    if (!place)
      return std::move(place).error();
    if (!*place)
      return why_empty(*rate);
    HeapProfile profile;
    // The program goes on running: a torn profile is taken again, and the last one is given as
    // it is.
    for (int look = 0; look < kMaxHeapLooks; look++) {
      auto taken = take(**place, time);
      if (!taken)
        return std::move(taken).error();
      profile = *std::move(taken);
      if (!profile.is_torn)
        break;
    }
    profile.rate = *rate;
    // A bucket that has as much as that may have had more: see clamped().
    if (sum_of(profile) >= kMaxAmount)
      return unlike_go("it has counts that no program can have");
    profile.stacks = std::move(stacks_);
    return profile;
  }

  Result<ContentionProfile> read_contention(go::BucketKind kind) {
    auto place = find_list(kind);
    if (!place)
      return std::move(place).error();
    auto list = *place ? read_list(**place, kind) : RawList();
    if (!list)
      return std::move(list).error();
    ContentionProfile profile;
    // A record has the number of waits as a float, then their ticks (heap_profile_layout.h).
    double ticks = 0;
    for (const RawBucket& bucket : list->buckets) {
      auto count = std::bit_cast<double>(bucket.words[0]);
      // Compared so that not-a-number fails.
      bool is_count = count >= 0 && count < kMaxWaits;
      ticks += static_cast<double>(bucket.words[1]);
      if (!is_count || ticks > kMaxAmount)
        return unlike_go("it has counts that no program can have");
      // Less than one wait counts as one, as the runtime has it.
      if (count > 0)
        profile.buckets.push_back({.stack = bucket.stack,
                                   .count = std::max<uint64_t>(1, clamped(count)),
                                   .ticks = bucket.words[1]});
    }
    if (profile.buckets.empty())
      return no_profile(
          kind == go::BucketKind::kMutexes
              ? "the program has no profile of mutexes: nobody has waited for one "
                "since it asked for it (runtime.SetMutexProfileFraction), if it did"
              : "the program has no profile of blocking: nobody has waited since it "
                "asked for it (runtime.SetBlockProfileRate), if it did");
    profile.stacks = std::move(stacks_);
    return profile;
  }

private:
  Result<uint64_t> read_rate() {
    if (runtime_.rate.size() != 1)
      return unlike_go("the code does not tell where its rate is");
    auto rate = memory_.word(runtime_.rate.front());
    if (!rate)
      return std::move(rate).error();
    if (!*rate)
      return unlike_go("its rate cannot be read");
    // MemProfileRate is an int: negative rates turn the profile off, as 0 does.
    return **rate > INT64_MAX ? 0 : **rate;
  }

  // The sum of all that was allocated, objects or bytes, whichever are more.
  static double sum_of(const HeapProfile& profile) {
    double sum = 0;
    for (const HeapBucket& bucket : profile.buckets) {
      HeapAmount amount = scaled_up(bucket.allocated, bucket.size, profile.rate);
      sum += static_cast<double>(std::max(amount.objects, amount.bytes));
    }
    return sum;
  }

  Error why_empty(uint64_t rate) const {
    if (rate != 0)
      return no_profile("the program has allocated too little to be sampled so far");
    return no_profile(runtime_.is_used
                          ? "the program keeps no heap profile: it has set MemProfileRate to 0"
                          : "the program keeps no heap profile: nothing in it asks for one, so "
                            "that the linker left it out");
  }

  // The place of the word that leads to the list of the kind; none: it is empty. Only the list
  // of memory is known by its code, so that one of another kind that is not found counts as
  // empty.
  Result<std::optional<uint64_t>> find_list(go::BucketKind kind) {
    bool may_be_empty = kind != go::BucketKind::kMemory;
    // The code refers to several words that may be the lists, in any order: a bucket of the
    // kind tells which it is.
    for (uint64_t place : runtime_.lists) {
      auto head = memory_.word(place);
      if (!head)
        return std::move(head).error();
      bool is_memory =
          std::ranges::find(runtime_.memory_lists, place) != runtime_.memory_lists.end();
      may_be_empty |= *head == 0 && is_memory;
      if (!*head || **head == 0)
        continue;
      std::vector<RawBucket> first;
      auto next = read_bucket(**head, kind, first);
      if (!next)
        return std::move(next).error();
      if (*next)
        return std::optional(place);
    }
    if (may_be_empty)
      return std::optional<uint64_t>();
    return unlike_go("no list of buckets is where the program's code says");
  }

  uint64_t words_of(go::BucketKind kind) const {
    return kind == go::BucketKind::kMemory ? 4 * uint64_t{runtime_.layout.words_of_count} : 2;
  }

  // Adds the bucket at the address, and gives that of the next. None: there is no bucket of
  // that kind.
  Result<std::optional<uint64_t>> read_bucket(uint64_t address, go::BucketKind kind,
                                              std::vector<RawBucket>& buckets) {
    std::array<uint64_t, go::kBucketStack / kHeapWord> header = {};
    auto in_header = [&](uint64_t offset) { return header[offset / kHeapWord]; };
    auto done = address % kHeapWord == 0
                    ? memory_.read(address, std::as_writable_bytes(std::span(header)))
                    : Result<bool>(false);
    if (!done)
      return std::move(done).error();
    uint64_t depth = in_header(go::kBucketStackSize);
    if (!*done || in_header(go::kBucketKind) != static_cast<uint64_t>(kind) ||
        depth > kMaxBucketStack)
      return std::optional<uint64_t>();
    // The depth was checked: memory may hold something else by now.
    std::vector<uint64_t> rest(depth + words_of(kind));
    done = memory_.read(address + go::kBucketStack, std::as_writable_bytes(std::span(rest)));
    if (!done)
      return std::move(done).error();
    auto stack = std::span(rest).first(depth);
    RawBucket bucket = {.size = in_header(go::kBucketSize)};
    // The hash in the header proves that this is a bucket, and read whole.
    if (!*done ||
        go::bucket_hash(std::as_bytes(stack), bucket.size) != in_header(go::kBucketHash))
      return std::optional<uint64_t>();
    uint32_t known = stacks_.size();
    bucket.stack = stacks_.intern(stack);
    addresses_ += stacks_.size() > known ? depth : 0;
    std::ranges::copy(std::span(rest).subspan(depth), bucket.words.begin());
    buckets.push_back(bucket);
    return std::optional(in_header(go::kBucketNext));
  }

  // Memory that was read before is not read anew: see forget().
  Result<RawList> read_list(uint64_t place, go::BucketKind kind) {
    RawList list;
    auto address = memory_.word(place);
    std::unordered_set<uint64_t> seen;
    while (address && *address && **address != 0) {
      if (seen.size() == kMaxBuckets || addresses_ > kMaxHeapAddresses || monotonic_ns() > end_)
        return unlike_go("its list is too long");
      // The program may change what lies there, and a file may claim anything: a list has an
      // end.
      if (!seen.insert(**address).second)
        return unlike_go("its list leads in a circle");
      address = read_bucket(**address, kind, list.buckets);
    }
    if (!address)
      return std::move(address).error();
    if (!*address)
      return unlike_go("its list leads to what is no bucket");
    return list;
  }

  Result<uint32_t> read_cycle() {
    if (runtime_.cycle.size() != 1)
      return unlike_go("the code does not tell where its cycle is");
    auto cycle = memory_.integer<uint32_t>(runtime_.cycle.front());
    if (!cycle)
      return std::move(cycle).error();
    if (!*cycle)
      return unlike_go("its cycle cannot be read");
    return **cycle;
  }

  Result<RawList> read_memory_list(uint64_t place) {
    memory_.forget();
    // The cycle is read before the list, so that a cycle that ends meanwhile shows when both
    // are compared.
    auto cycle = read_cycle();
    if (!cycle)
      return std::move(cycle).error();
    auto list = read_list(place, go::BucketKind::kMemory);
    if (list)
      list->cycle = *cycle;
    return list;
  }

  // Reads the list twice. Torn: a collection ended meanwhile, or what was published changed.
  Result<HeapProfile> take(uint64_t place, HeapTime time) {
    auto list = read_memory_list(place);
    if (!list)
      return std::move(list).error();
    // The second look tells whether the first is consistent: nothing stops the program in
    // between.
    auto again = read_memory_list(place);
    if (!again)
      return std::move(again).error();
    auto profile = profile_of(*list, time);
    auto other = profile_of(*again, time);
    if (!profile || !other)
      return std::move(profile ? other : profile).error();
    bool changes = time == HeapTime::kNow || other->is_before_first;
    // New buckets have nothing yet that is published: profile_of() leaves them out.
    profile->is_torn =
        list->cycle != again->cycle || (!changes && profile->buckets != other->buckets);
    return profile;
  }

  // The sum of one count of a record over what is published and some of the cycles. Count 0 is
  // of objects that were allocated, 1 of those that were freed, 2 and 3 of the bytes of both.
  uint64_t sum_of(const RawBucket& bucket, size_t count, std::span<const size_t> cycles) const {
    size_t words = runtime_.layout.words_of_count;
    uint64_t sum = bucket.words[count];
    for (size_t cycle : cycles)
      sum += bucket.words[words * (1 + cycle) + count];
    return sum;
  }

  Result<HeapProfile> profile_of(const RawList& list, HeapTime time) const {
    constexpr std::array<size_t, 3> kAll = {0, 1, 2};
    HeapProfile profile;
    profile.collections = list.cycle >> runtime_.layout.cycle_shift;
    // Counts that are about to be published count as if they were.
    // The records of three cycles are used in turn; this is the one that the last collection
    // ended.
    std::array<size_t, 1> ended = {profile.collections % kAll.size()};
    auto is_empty = [&](const RawBucket& bucket) {
      return sum_of(bucket, 0, ended) == 0 && sum_of(bucket, 1, ended) == 0;
    };
    profile.is_before_first = std::ranges::all_of(list.buckets, is_empty);
    bool is_all = time == HeapTime::kNow || profile.is_before_first;
    std::span<const size_t> cycles = is_all ? std::span<const size_t>(kAll) : ended;
    // A few buckets may be read while they change; if most are wrong, the layout is.
    size_t odd = 0;
    for (const RawBucket& bucket : list.buckets) {
      HeapBucket counted = {.stack = bucket.stack,
                            .size = bucket.size,
                            .allocated = sum_of(bucket, 0, cycles),
                            .freed = sum_of(bucket, 1, cycles)};
      // An object that is allocated and freed while it is read may be seen in part.
      counted.freed = std::min(counted.freed, counted.allocated);
      if (counted.allocated > kMaxHeapBytes / std::max<uint64_t>(counted.size, 1))
        return unlike_go("it has counts that no program can have");
      bool has_bytes = runtime_.layout.words_of_count == 4;
      odd += has_bytes && bucket.words[2] != bucket.words[0] * bucket.size;
      if (counted.allocated != 0)
        profile.buckets.push_back(counted);
    }
    if (odd > list.buckets.size() / 2)
      return unlike_go("the bytes of its buckets are not those of their objects");
    return profile;
  }

  const HeapRuntime& runtime_;
  BlockMemory memory_;
  uint64_t end_;  // of all time, CLOCK_MONOTONIC
  SequencePool<uint64_t> stacks_;
  uint64_t addresses_ = 0;  // of all stacks
};

}  // namespace

Result<HeapProfile> read_heap_profile(const HeapRuntime& runtime, HeapTime time,
                                      const proc::ReadMemory& read_memory) {
  return HeapReader(runtime, read_memory).read(time);
}

Result<ContentionProfile> read_contention_profile(const HeapRuntime& runtime,
                                                  go::BucketKind kind,
                                                  const proc::ReadMemory& read_memory) {
  return HeapReader(runtime, read_memory).read_contention(kind);
}

HeapAmount scaled_up(uint64_t sampled, uint64_t size, uint64_t rate) {
  if (sampled == 0 || size == 0)
    return {};
  double scale =
      rate <= 1 ? 1
                : 1 / (1 - std::exp(-static_cast<double>(size) / static_cast<double>(rate)));
  return {clamped(static_cast<double>(sampled) * scale),
          clamped(static_cast<double>(sampled * size) * scale)};
}

}  // namespace gosym
