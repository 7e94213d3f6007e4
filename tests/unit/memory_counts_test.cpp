#include <doctest/doctest.h>

#include <map>

#include "base/exit_status.h"
#include "heap/memory_counts.h"
#include "proc/maps.h"

namespace gosym::memory_counts_test {

namespace {

constexpr uint64_t kStatistics = 0x10000;
constexpr uint64_t kCollector = 0x20000;
constexpr uint64_t kHeap = 0x30000;
constexpr uint64_t kList = 0x60000;
constexpr uint64_t kSpans = 0x70000;
constexpr uint64_t kEnd = 0x80000;

// The memory of a program; what was not set is 0.
struct Program {
  std::map<uint64_t, uint64_t> words;
  MemoryRuntime runtime = {.layout = *go::memory_layout("go1.26"),
                           .statistics = kStatistics,
                           .collector = kCollector,
                           .heap = kHeap};
  uint64_t count = 0;

  void set(uint64_t address, uint64_t value) { words[address] = value; }

  // One of the three sets.
  void count_bytes(uint64_t set_number, uint64_t what, uint64_t bytes) {
    set(kStatistics + set_number * runtime.layout.count_set + what * 8, bytes);
  }

  void add_span(uint64_t address, uint64_t pages, uint16_t taken, uint8_t state,
                uint64_t size) {
    uint64_t span = kSpans + 256 * count;
    set(span + 24, address);
    set(span + 32, pages);
    set(span + runtime.layout.span_count, taken | uint64_t{state} << 24);
    set(span + runtime.layout.span_count + 8, size);
    set(kList + 8 * count++, span);
    set(kHeap + runtime.layout.spans, kList);
    set(kHeap + runtime.layout.spans + 8, count);
    set(kHeap + runtime.layout.spans + 16, count);
  }

  Result<MemoryCounts> read() {
    return read_memory_counts(runtime, [this](std::span<proc::MemoryPiece> pieces) {
      for (proc::MemoryPiece& piece : pieces) {
        piece.is_read = piece.address < kEnd && piece.bytes.size() <= kEnd - piece.address;
        for (size_t i = 0; piece.is_read && i < piece.bytes.size(); i++) {
          auto word = words.find((piece.address + i) & ~uint64_t{7});
          uint64_t value = word == words.end() ? 0 : word->second;
          piece.bytes[i] = std::byte(value >> 8 * ((piece.address + i) % 8));
        }
      }
      return Result<>(Ok{});
    });
  }
};

// One that has 24 MiB of spans.
Program make_program() {
  Program program;
  program.add_span(0xc000000000, 2048, 1000, 1, 8192);
  program.add_span(0xc004000000, 512, 3, 2, 0);
  program.add_span(0xc004400000, 512, 1, 1, 5 << 20);
  program.add_span(0xc008000000, 4096, 1, 0, 8192);  // not in use
  program.count_bytes(0, 0, 40 << 20);
  program.count_bytes(1, 0, -(uint64_t{8} << 20));
  program.count_bytes(2, 2, 20 << 20);
  program.count_bytes(0, 3, 4 << 20);
  return program;
}

bool is_refused(const Result<MemoryCounts>& read, std::string_view why) {
  return !read && read.error().message().find(why) != std::string::npos &&
         read.error().exit_status() == kUnsupported;
}

}  // namespace

TEST_CASE("memory: what spans and counts say") {
  Program program = make_program();
  const go::MemoryLayout& layout = program.runtime.layout;
  program.set(kStatistics + layout.collections(), 3 | uint64_t{1} << 32);
  program.set(kStatistics + layout.pauses() + 8, 70);
  program.set(kStatistics + layout.pauses() + 16, 50);
  program.set(kCollector, 100);
  program.set(kCollector + 8, INT64_MAX);
  program.set(kCollector + layout.live, 9 << 20);
  auto read = program.read();
  REQUIRE(read);
  CHECK_FALSE(read->is_torn);
  CHECK(read->committed == 32 << 20);
  CHECK(read->in_spans == 20 << 20);
  CHECK(read->free_spans() == 8 << 20);
  CHECK(read->span_count == 2);
  CHECK(read->span_bytes == 20 << 20);
  CHECK(read->object_bytes == 8'192'000 + (4 << 20));
  REQUIRE(read->classes.size() == 2);
  CHECK(read->classes[8192].objects == 1000);
  CHECK(read->classes[8192].free() == 2048 * 8192 - 8'192'000);
  CHECK(read->classes[UINT64_MAX].spans == 1);
  CHECK(read->classes[UINT64_MAX].taken == 4 << 20);
  CHECK(read->manual_bytes == 4 << 20);
  CHECK(read->arenas == std::vector<uint64_t>{0x3000, 0x3001});
  CHECK(read->collections == 3);
  CHECK(read->forced == 1);
  CHECK(read->pauses == std::vector<uint64_t>{50, 70, 0});
  CHECK(read->gc_percent == 100);
  CHECK_FALSE(read->limit);
  CHECK(read->live == 9 << 20);
  program.set(kCollector, UINT32_MAX);
  CHECK_FALSE(program.read()->gc_percent);
}

TEST_CASE("memory: spans that are not what was counted") {
  Program program = make_program();
  program.count_bytes(0, 3, 12 << 20);
  auto read = program.read();
  REQUIRE(read);
  CHECK(read->is_torn);
  program.count_bytes(0, 3, 100 << 20);
  CHECK(is_refused(program.read(), "not what it has counted"));
  program.count_bytes(0, 3, uint64_t{1} << 60);
  CHECK(is_refused(program.read(), "no program can have"));
}

TEST_CASE("memory: a list of spans that is none") {
  uint64_t at = kHeap + go::memory_layout("go1.26")->spans;
  using Word = std::pair<uint64_t, uint64_t>;
  for (auto [offset, value] : {Word(8, uint64_t{1} << 40), Word(8, 5), Word(0, kList + 4)}) {
    Program program = make_program();
    program.set(at + offset, value);
    CHECK(is_refused(program.read(), "its list of spans is none"));
  }
  Program program = make_program();
  program.set(at, uint64_t{1} << 50);
  CHECK(is_refused(program.read(), "cannot be read"));
  program.runtime.collector = kEnd;
  CHECK(is_refused(program.read(), "its collector"));
  // Spans that cannot be read are as if they had ended.
  program = make_program();
  for (uint64_t i = 0; i < 3; i++)
    program.set(kList + 8 * i, UINT64_MAX - 7);
  CHECK(is_refused(program.read(), "not what it has counted"));
}

TEST_CASE("smaps: what mappings have in memory") {
  auto uses = proc::parse_smaps(
      "00400000-00500000 r-xp 00000000 08:01 123 /usr/bin/server\n"
      "Size:               1024 kB\nRss:                 512 kB\nSwap:                  8 kB\n"
      "VmFlags: rd ex mr mw me\n"
      "c000000000-c004000000 rw-p 00000000 00:00 0\n"
      "Rss:        99999999999999999999 kB\nRss: x\nnonsense\n");
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].mapping.path == "/usr/bin/server");
  CHECK(uses[0].resident == 512 << 10);
  CHECK(uses[0].swapped == 8 << 10);
  CHECK(uses[1].mapping.start == 0xc000000000);
  CHECK(uses[1].resident == 0);
  CHECK(proc::parse_smaps("Rss: 1 kB\n").empty());
}

TEST_CASE("memory: releases that are known") {
  CHECK_FALSE(go::memory_layout("go1.18.10"));
  CHECK(go::memory_layout("go1.19")->pauses() == 3608);
  CHECK(go::memory_layout("go1.24.1")->collections() == 7704);
  CHECK(go::memory_layout("go1.27")->collections() == 7680);
  CHECK_FALSE(go::memory_layout("go1.28"));
}

}  // namespace gosym::memory_counts_test
