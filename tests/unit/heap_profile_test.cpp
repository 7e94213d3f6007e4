#include "heap/heap_profile.h"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "base/exit_status.h"
#include "go/code_operands.h"

namespace gosym::heap_profile_test {

namespace {

constexpr uint64_t kRate = 0x1000;
constexpr uint64_t kCycle = 0x1008;
constexpr uint64_t kList = 0x1010;
constexpr uint64_t kOther = 0x1018;        // a variable that is no list
constexpr uint64_t kFirst = 0x10000;       // a bucket each 0x1000
constexpr uint64_t kLastBucket = 0x20000;  // behind them nothing is mapped

using Counts = std::array<uint64_t, 8>;  // allocated and freed: published, and of each cycle

// The memory of a program with a heap profile.
struct Program {
  std::map<uint64_t, uint64_t> words;
  HeapRuntime runtime;
  uint64_t count = 0;
  int reads = 0;
  std::function<void()> before_read = [] {};

  explicit Program(std::string_view version = "go1.27")
      : runtime{.layout = *go::heap_profile_layout(version),
                .lists = {kOther, kList},
                .memory_lists = {kList},
                .rate = {kRate},
                .cycle = {kCycle}} {
    words[kRate] = 1;
    set_cycle(4);
    words[kList] = 0;
    words[kOther] = 0x1000;
  }

  void set_cycle(uint64_t cycle) { words[kCycle] = cycle << runtime.layout.cycle_shift; }

  uint64_t add(uint64_t size, const std::vector<uint64_t>& stack, const Counts& counts) {
    uint64_t bucket = kFirst + 0x1000 * count++;
    words[bucket] = 0;
    words[bucket + go::kBucketNext] = words[kList];
    words[bucket + go::kBucketKind] = 1;
    words[bucket + go::kBucketHash] = go::bucket_hash(std::as_bytes(std::span(stack)), size);
    words[bucket + go::kBucketSize] = size;
    words[bucket + go::kBucketStackSize] = stack.size();
    uint64_t at = bucket + go::kBucketStack;
    for (uint64_t address : stack)
      words[std::exchange(at, at + 8)] = address;
    for (size_t i = 0; i < counts.size(); i++) {
      words[std::exchange(at, at + 8)] = counts[i];
      if (runtime.layout.words_of_count == 4 && i % 2 == 1)
        for (size_t of : {i - 1, i})
          words[std::exchange(at, at + 8)] = counts[of] * size;
    }
    words[kList] = bucket;
    return bucket;
  }

  proc::ReadMemory reader() {
    return [this](std::span<proc::MemoryPiece> pieces) -> Result<> {
      for (proc::MemoryPiece& piece : pieces) {
        reads++;
        before_read();
        uint64_t end = piece.address + piece.bytes.size();
        piece.is_read = piece.address < end && end <= kLastBucket + 0x10000;
        for (size_t i = 0; piece.is_read && i < piece.bytes.size(); i++) {
          auto word = words.find((piece.address + i) & ~uint64_t{7});
          uint64_t value = word == words.end() ? 0 : word->second;
          piece.bytes[i] = std::byte(value >> 8 * ((piece.address + i) % 8));
        }
      }
      return Ok{};
    };
  }

  Result<HeapProfile> read(HeapTime time = HeapTime::kCollection) {
    return read_heap_profile(runtime, time, reader());
  }
};

std::vector<uint64_t> stack_of(const HeapProfile& profile, size_t i) {
  auto stack = profile.stacks[profile.buckets[i].stack];
  return {stack.begin(), stack.end()};
}

bool is_refused(const Result<HeapProfile>& read, std::string_view why,
                int status = kUnsupported) {
  return !read && read.error().message().find(why) != std::string::npos &&
         read.error().exit_status() == status;
}

}  // namespace

TEST_CASE("heap: what is in use is what is published, and what is about to be") {
  for (const char* version : {"go1.15.3", "go1.19", "go1.26", "go1.27.1"}) {
    CAPTURE(version);
    Program program(version);
    // Cycle 4: the second of three is about to be published.
    program.add(48, {0x401000, 0x402000}, {10, 4, 100, 100, 3, 1, 1000, 1000});
    program.add(64, {0x403000}, {0, 0, 7, 0, 0, 0, 0, 0});
    auto read = program.read();
    REQUIRE(read);
    CHECK(read->collections == 4);
    CHECK(read->rate == 1);
    CHECK_FALSE(read->is_torn);
    CHECK_FALSE(read->is_before_first);
    REQUIRE(read->buckets.size() == 1);
    CHECK(read->buckets[0].size == 48);
    CHECK(read->buckets[0].allocated == 13);
    CHECK(read->buckets[0].freed == 5);
    CHECK(stack_of(*read, 0) == std::vector<uint64_t>{0x401000, 0x402000});
    auto now = program.read(HeapTime::kNow);
    REQUIRE(now);
    REQUIRE(now->buckets.size() == 2);
    CHECK(now->buckets[0].allocated == 7);
    CHECK(now->buckets[1].allocated == 1113);
  }
}

TEST_CASE("heap: waits are what is counted, and counts that no program can have are refused") {
  Program program("go1.27");
  auto add_waits = [&](double count, uint64_t ticks) {
    uint64_t bucket =
        program.add(0, {0x401000, 0x402000}, {std::bit_cast<uint64_t>(count), ticks});
    program.words[bucket + go::kBucketKind] = static_cast<uint64_t>(go::BucketKind::kMutexes);
    return bucket;
  };
  auto read = [&](go::BucketKind kind = go::BucketKind::kMutexes) {
    return read_contention_profile(program.runtime, kind, program.reader());
  };
  program.runtime.cycle = {};  // it has none
  program.words[kOther] = 0;
  auto empty = read();
  REQUIRE_FALSE(empty);
  CHECK(empty.error().exit_status() == kNoTarget);
  add_waits(2.75, 1000);
  add_waits(0.25, 10);
  add_waits(0, 0);
  auto found = read();
  REQUIRE(found);
  REQUIRE(found->buckets.size() == 2);
  CHECK(found->buckets[0] ==
        ContentionBucket{.stack = found->buckets[0].stack, .count = 1, .ticks = 10});
  CHECK(found->buckets[1] ==
        ContentionBucket{.stack = found->buckets[1].stack, .count = 2, .ticks = 1000});
  CHECK_FALSE(read(go::BucketKind::kBlocking));
  for (auto [count, ticks] :
       {std::pair(std::nan(""), uint64_t{1}), {-1.0, 1}, {1e300, 1}, {1.0, UINT64_MAX}}) {
    Program other = program;
    uint64_t bucket = add_waits(count, ticks);
    auto refused = read();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("no program can have") != std::string::npos);
    program = other;
    CHECK(bucket != 0);
  }
}

TEST_CASE("heap: before the first collection all that was allocated is in use") {
  Program program;
  program.set_cycle(0);
  program.add(48, {0x401000}, {0, 0, 0, 0, 2, 0, 5, 1});
  auto read = program.read();
  REQUIRE(read);
  CHECK(read->is_before_first);
  REQUIRE(read->buckets.size() == 1);
  CHECK(read->buckets[0].allocated == 7);
  CHECK(read->buckets[0].freed == 1);
}

TEST_CASE("heap: what changes while it is read is read again, and told if it never ends") {
  Program program;
  uint64_t bucket = program.add(48, {0x401000}, {10, 4, 0, 0, 0, 0, 0, 0});
  int changes = 6;
  program.before_read = [&] {
    if (changes > 0)
      program.set_cycle(4 + static_cast<uint64_t>(changes--));
  };
  auto read = program.read();
  REQUIRE(read);
  CHECK_FALSE(read->is_torn);
  CHECK(read->collections == 5);
  program.before_read = [&] { program.words[bucket + go::kBucketStack + 8]++; };
  read = program.read();
  REQUIRE(read);
  CHECK(read->is_torn);
  CHECK(read->buckets[0].allocated > 10);
  // The counts for later collections move all the time.
  program.set_cycle(4);
  program.before_read = [&] { program.words[bucket + go::kBucketStack + 8 + 48]++; };
  read = program.read();
  REQUIRE(read);
  CHECK_FALSE(read->is_torn);
}

TEST_CASE("heap: a list that leads astray is refused") {
  Program program;
  uint64_t first = program.add(48, {0x401000}, {10, 4, 0, 0, 0, 0, 0, 0});
  program.add(48, {0x402000}, {10, 4, 0, 0, 0, 0, 0, 0});
  auto with = [&](uint64_t offset, uint64_t value) {
    uint64_t before = std::exchange(program.words[first + offset], value);
    auto read = program.read();
    program.words[first + offset] = before;
    return read;
  };
  CHECK(is_refused(with(go::kBucketNext, first), "in a circle"));
  CHECK(is_refused(with(go::kBucketNext, program.words[kList]), "in a circle"));
  for (uint64_t wild : {uint64_t{0x90000}, first + 1, UINT64_MAX - 7, uint64_t{1} << 63})
    CHECK(is_refused(with(go::kBucketNext, wild), "what is no bucket"));
  CHECK(is_refused(with(go::kBucketStackSize, 1 << 20), "what is no bucket"));
  CHECK(is_refused(with(go::kBucketStackSize, UINT64_MAX), "what is no bucket"));
  CHECK(is_refused(with(go::kBucketKind, 2), "what is no bucket"));
  CHECK(is_refused(with(go::kBucketSize, 49), "what is no bucket"));
  CHECK(is_refused(with(go::kBucketStack + 8, UINT64_MAX), "no program can have"));
  CHECK(with(go::kBucketStack + 16, UINT64_MAX)->buckets[1].freed == 10);
  program.words[kList] = kOther;
  CHECK(is_refused(program.read(), "no list of buckets"));
}

TEST_CASE("heap: one that stands for more than there can be is refused") {
  Program program;
  program.add(48, {0x401000}, {10, 4, 0, 0, 0, 0, 0, 0});
  CHECK(program.read());
  program.words[kRate] = INT64_MAX;
  CHECK(is_refused(program.read(), "no program can have"));
}

TEST_CASE("heap: bytes that are not those of the objects are of another layout") {
  Program program("go1.26");
  uint64_t bucket = program.add(48, {0x401000}, {10, 4, 0, 0, 0, 0, 0, 0});
  program.words[bucket + go::kBucketStack + 8 + 16]++;
  CHECK(is_refused(program.read(), "not those of their objects"));
}

TEST_CASE("heap: why a program has none") {
  Program program;
  CHECK(is_refused(program.read(), "too little", kNoTarget));
  program.words[kRate] = 0;
  CHECK(is_refused(program.read(), "MemProfileRate to 0", kNoTarget));
  program.runtime.is_used = false;
  CHECK(is_refused(program.read(), "the linker left it out", kNoTarget));
  program.runtime.rate = {};
  CHECK(is_refused(program.read(), "where its rate is"));
  program.runtime.rate = {0x900000};
  CHECK(is_refused(program.read(), "rate cannot be read"));
  program.runtime.rate = {kRate};
  program.words[kRate] = 1;
  program.add(48, {0x401000}, {10, 4, 0, 0, 0, 0, 0, 0});
  program.runtime.cycle = {};
  CHECK(is_refused(program.read(), "where its cycle is"));
}

TEST_CASE("heap: samples stand for others as the runtime has it") {
  CHECK(scaled_up(0, 48, 4096).objects == 0);
  CHECK(scaled_up(3, 0, 4096).bytes == 0);
  CHECK(scaled_up(3, 48, 1).objects == 3);
  CHECK(scaled_up(3, 48, 0).bytes == 144);
  CHECK(scaled_up(1, 4096, 524288).objects == 128);
  CHECK(scaled_up(1, 4096, 524288).bytes == 526338);
  CHECK(scaled_up(2, 1 << 30, 524288).objects == 2);
  CHECK(scaled_up(1 << 30, 1, UINT64_MAX).bytes > 0);  // no more than fits
}

TEST_CASE("heap: releases that are known") {
  CHECK_FALSE(go::heap_profile_layout("go1.14.2"));
  CHECK(go::heap_profile_layout("go1.18")->cycle_shift == 0);
  CHECK(go::heap_profile_layout("go1.19")->cycle_shift == 1);
  CHECK(go::heap_profile_layout("go1.26.3")->words_of_count == 4);
  CHECK(go::heap_profile_layout("go1.27")->words_of_count == 2);
  for (const char* unknown : {"go1.28", "go1.27-devel_abc", "", "devel"})
    CHECK_FALSE(go::heap_profile_layout(unknown));
}

TEST_CASE("code operands: what instructions of amd64 name, and how much of it they move") {
  using namespace std::string_literals;
  // mov 0x10(%rip), %eax; lea 0x20(%rip), %rdx; cmpq $0, 0x30(%rip); mov %eax, %ecx;
  // movslq 0x40(%rip), %rax
  std::string code =
      "\x8b\x05\x10\0\0\0\x48\x8d\x15\x20\0\0\0\x48\x83\x3d\x30\0\0\0\0\x89\xc1"
      "\x48\x63\x05\x40\0\0\0"s;
  CHECK(go::code_operands(EM_X86_64, as_bytes(code), ImageAddress{0x1000}) ==
        go::CodeOperands{{0x1016, 4}, {0x102d, 0}, {0x1045, 8}, {0x105e, 0}});
  CHECK(go::code_operands(EM_386, as_bytes(code), ImageAddress{0x1000}).empty());
}

}  // namespace gosym::heap_profile_test
