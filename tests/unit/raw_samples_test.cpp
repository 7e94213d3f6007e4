#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "bytes.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"

namespace gosym::raw_samples_test {
using raw::SampleBatch;

namespace {

using Stack = std::vector<uint64_t>;

RecordedSample sample(uint64_t time, const Stack& kernel, const Stack& user) {
  return {.time = time,
          .pid = 4242,
          .tid = 4243,
          .cpu = 3,
          .user_end = StackEnd::kBadFrame,
          .kernel_stack = kernel,
          .user_stack = user};
}

const Stack kKernel = {0xffffffff81000010, 0xffffffff81000020};
const std::vector<StackWord> kWords = {
    {0, 0x4a1c00}, {8, 0}, {16, kMaxTopSize}, {24, UINT64_MAX}, {kMaxWordOffset - 8, 0x4a1c00}};
const Stack kUser = {0x4a1b20, 0x4a1c00, 0x43f2a0};

bool same_samples(const SampleBatch& a, const SampleBatch& b) {
  auto same_stack = [&](uint32_t x, uint32_t y) {
    return std::ranges::equal(a.stack(x), b.stack(y));
  };
  return std::ranges::equal(a.rows(), b.rows(), [&](const auto& x, const auto& y) {
    return x.time == y.time && x.pid == y.pid && x.tid == y.tid && x.cpu == y.cpu &&
           x.user_end == y.user_end && same_stack(x.kernel_index, y.kernel_index) &&
           same_stack(x.user_index, y.user_index) && x.frame_offset == y.frame_offset &&
           x.goid == y.goid && x.goroutine_start == y.goroutine_start && x.gap == y.gap &&
           x.missing == y.missing && x.event == y.event && x.weight == y.weight &&
           x.cgroup == y.cgroup && x.doublings == y.doublings && x.objects == y.objects &&
           x.bytes == y.bytes && x.chance == y.chance &&
           a.sample(x).state == b.sample(y).state && a.sample(x).waker == b.sample(y).waker &&
           std::ranges::equal(a.switches(x.switch_list), b.switches(y.switch_list)) &&
           a.sample(x).creator == b.sample(y).creator &&
           std::ranges::equal(a.labels(x.label_set), b.labels(y.label_set)) &&
           std::ranges::equal(a.top(x.top_index), b.top(y.top_index));
  });
}

// Tells what is wrong with a payload, or with one of its samples.
std::string problem_of(const Result<SampleBatch>& batch) {
  return batch ? batch->problem() : batch.error().message();
}

// The columns of a samples payload, to be made wrong one at a time.
struct Columns {
  // Stack 1 is 0x1000, 0x1010; stack 2 is 0xff0.
  std::vector<uint32_t> callers = {1, 1, 3};
  std::vector<int64_t> node_addresses = {0x1010, -0x10, -0x10};
  std::vector<uint32_t> stack_nodes = {2, 3};
  std::vector<int64_t> time = {100, 10};
  std::vector<uint32_t> pid = {1, 2};
  std::vector<uint32_t> tid = {1, 2};
  std::vector<uint32_t> cpu = {0, 1};
  std::vector<uint32_t> kernel_stack = {0, 2};
  std::vector<uint32_t> user_stack = {1, 1};
  std::vector<uint32_t> user_end = {0, 3};
  std::vector<uint32_t> top_sizes = {1, 2};
  std::vector<uint32_t> word_offsets = {8, 0, 16 + 1};
  std::vector<int64_t> word_addresses = {0x400010, 0x10};
  std::vector<uint32_t> word_places = {0x20};
  std::vector<uint32_t> top = {0, 2};
  std::vector<uint32_t> frame = {0, 16 + 1};
  std::vector<uint32_t> goroutine_start = {0, 1};
  std::vector<uint32_t> gap;
  std::vector<uint32_t> missing;
  std::vector<uint32_t> event;
  std::vector<int64_t> goid = {7, -7};
  std::vector<uint32_t> label_set = {0, 1};
  size_t label_count = 1;
  std::vector<uint32_t> register_sizes;
  std::vector<uint32_t> registers;
  std::vector<uint64_t> register_values;
  std::vector<uint32_t> list_sizes;
  std::vector<uint32_t> switch_starts;
  std::vector<uint32_t> switch_words;
  std::vector<uint32_t> switch_frames;
  std::vector<uint32_t> switches;

  std::string encode() const {
    std::string payload;
    protozero::pbf_writer out(payload);
    auto add = [&](uint32_t number, const std::vector<uint32_t>& column) {
      out.add_packed_uint32(number, column.begin(), column.end());
    };
    auto add_differences = [&](uint32_t number, const std::vector<int64_t>& column) {
      out.add_packed_sint64(number, column.begin(), column.end());
    };
    out.add_uint32(1, 1);
    out.add_uint32(2, 1);
    add(3, callers);
    add_differences(4, node_addresses);
    add(5, stack_nodes);
    add(6, top_sizes);
    add(7, word_offsets);
    add_differences(8, word_addresses);
    add(9, word_places);
    add(10, register_sizes);
    add(11, registers);
    out.add_packed_uint64(12, register_values.begin(), register_values.end());
    out.add_message(13, labels());
    add_differences(14, time);
    add(15, pid);
    add(16, tid);
    add(17, cpu);
    add(18, kernel_stack);
    add(19, user_stack);
    add(21, top);
    add(22, frame);
    add(23, goroutine_start);
    add_differences(24, goid);
    add(25, label_set);
    add(26, gap);
    add(27, missing);
    add(28, event);
    add(35, list_sizes);
    add(36, switch_starts);
    add(37, switch_words);
    add(38, switch_frames);
    add(39, switches);
    add(20, user_end);
    return payload;
  }
  std::string labels() const {
    std::string set;
    protozero::pbf_writer out(set);
    for (size_t i = 0; i < label_count; i++) {
      protozero::pbf_writer label(out, 1);
      label.add_string(1, "key");
      label.add_string(2, "value");
    }
    return set;
  }
  Result<SampleBatch> decode() const { return SampleBatch::decode(as_bytes(encode())); }
  std::string error() const { return problem_of(decode()); }
};

}  // namespace

TEST_CASE("samples: a distinct stack is kept once, the empty one is stack 0") {
  SampleBatch batch;
  batch.add(sample(1, kKernel, kUser));
  batch.add(sample(2, {}, kUser));
  batch.add(sample(3, {}, kKernel));
  CHECK(batch.stack_count() == 3);
  CHECK(batch.rows()[0].kernel_index == batch.rows()[2].user_index);
  CHECK(batch.rows()[0].user_index == batch.rows()[1].user_index);
  CHECK(batch.rows()[1].kernel_index == 0);
  CHECK(batch.stack(0).empty());
  CHECK(std::ranges::equal(batch.stack(batch.rows()[0].user_index), kUser));
}

TEST_CASE("samples: what is encoded comes back, extremes included") {
  SampleBatch batch;
  batch.add(sample(UINT64_MAX, kKernel, {0, UINT64_MAX, 0, 1}));
  batch.add(sample(0, {}, {}));
  batch.add({.time = 5,
             .pid = UINT32_MAX,
             .tid = UINT32_MAX,
             .cpu = UINT32_MAX,
             .user_end = StackEnd::kLimit,
             .kernel_stack = kKernel,
             .user_stack = Stack(1024, 0x7fffffffffff),
             .frame_offset = kMaxFrameDistance,
             .words = kWords});
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->encode() == payload);
}

TEST_CASE("samples: the size told bounds the payload") {
  SampleBatch batch;
  for (uint64_t i = 0; i < 100; i++) {
    // Distances of 2^63 take ten bytes each.
    Stack stack(i % 7 + 1, i << 1);
    for (size_t j = 0; j < stack.size(); j += 2)
      stack[j] ^= uint64_t{1} << 63;
    std::vector<StackWord> words;
    for (size_t j = 0; j < i % 5; j++)
      words.push_back({kMaxWordOffset - 8, (j % 2 << 63) + kMaxTopSize + 1 + i});
    batch.add({.time = (i % 2) << 63,
               .pid = UINT32_MAX,
               .tid = UINT32_MAX,
               .cpu = UINT32_MAX,
               .user_end = {},
               .kernel_stack = stack,
               .user_stack = {},
               .frame_offset = kMaxFrameDistance,
               .words = words});
    REQUIRE(batch.encode().size() <= batch.size_in_memory());
  }
}

TEST_CASE("samples: an empty batch is an empty payload") {
  SampleBatch batch;
  CHECK(batch.empty());
  CHECK(batch.encode().empty());
  CHECK(batch.stack_count() == 1);
  REQUIRE(SampleBatch::decode({}));
  CHECK(SampleBatch::decode({})->empty());
}

TEST_CASE("samples: the columns mean what the format says") {
  auto batch = Columns{}.decode();
  REQUIRE(batch);
  REQUIRE(batch->rows().size() == 2);
  CHECK(batch->rows()[0].time == 100);
  CHECK(batch->rows()[1].time == 110);
  CHECK(batch->rows()[1].user_end == StackEnd::kLimit);
  CHECK(std::ranges::equal(batch->stack(1), Stack{0x1000, 0x1010}));
  CHECK(std::ranges::equal(batch->stack(2), Stack{0xff0}));
  CHECK(batch->top(0).empty());
  CHECK(std::ranges::equal(batch->top(1), std::vector<StackWord>{{8, 0x400010}}));
  CHECK(std::ranges::equal(batch->top(2), std::vector<StackWord>{{0, 0x400020}, {16, 0x20}}));
  CHECK(batch->rows()[0].top_index == 0);
  CHECK(batch->rows()[0].frame_offset == kNoFrame);
  CHECK(batch->rows()[1].top_index == 2);
  CHECK(batch->rows()[1].frame_offset == 16);
}

TEST_CASE("samples: each part of a payload that is wrong is an error") {
  Columns columns;
  SUBCASE("a stack beyond the table") {
    columns.user_stack = {3, 1};
    CHECK(columns.error() == "stack 3 of 2");
  }
  SUBCASE("a kernel stack beyond the table") {
    columns.kernel_stack = {0, UINT32_MAX};
    CHECK(columns.error() == "stack 4294967295 of 2");
  }
  SUBCASE("a stack at a node that nobody added") {
    columns.stack_nodes = {2, 4};
    CHECK(columns.error() == "stack at node 4 of 3");
  }
  SUBCASE("a node without an address") {
    columns.node_addresses.pop_back();
    CHECK(columns.error() == "3 nodes with 2 addresses, from number 1 on");
  }
  SUBCASE("a top beyond the table") {
    columns.top = {0, 3};
    CHECK(columns.error() == "top 3 of 2");
  }
  SUBCASE("tops larger than all words") {
    columns.top_sizes = {1, 3};
    CHECK(columns.error() == "tops of more than 3 words");
  }
  SUBCASE("a top of more words than there are") {
    columns.top_sizes = {1, 6145};
    columns.word_offsets.assign(6146, 8);
    columns.word_addresses.assign(6146, 0x400010);
    columns.word_places = {};
    CHECK(columns.error() == "a top of 6145 words, where 6144 are allowed");
  }
  SUBCASE("words of no top") {
    columns.top_sizes = {1};
    CHECK(columns.error() == "tops leave 2 of 3 words over");
  }
  SUBCASE("a word that is not aligned") {
    columns.word_offsets[0] = 12;
    CHECK(columns.error() == "a word at offset 12 of a stack");
  }
  SUBCASE("a word outside what is taken of a stack") {
    columns.word_offsets[0] = kMaxWordOffset;
    CHECK(columns.error() == "a word at offset 524288 of a stack");
  }
  SUBCASE("fewer addresses than words that are some") {
    columns.word_addresses.pop_back();
    CHECK(columns.error() == "3 words, where there are 1 addresses and 1 places");
  }
  SUBCASE("more places than words that are some") {
    columns.word_places.push_back(8);
    CHECK(columns.error() == "3 words, where there are 2 addresses and 2 places");
  }
  SUBCASE("an address where only a place can be") {
    columns.word_addresses[0] = kMaxTopSize;
    CHECK(columns.error() == "a word of 0x8000 as an address");
  }
  SUBCASE("a place outside what is taken of a stack") {
    columns.word_places[0] = kMaxTopSize + 1;
    CHECK(columns.error() == "a word of 0x8001 as a place");
  }
  SUBCASE("a frame pointer that is not aligned") {
    columns.frame = {0, 12};
    CHECK(columns.error() == "a frame pointer at offset 11 of a stack");
  }
  SUBCASE("a frame pointer that is farther away than stacks are large") {
    columns.frame = {0, kMaxFrameDistance + 9};
    CHECK(columns.error() == "a frame pointer at offset 1073741832 of a stack");
  }
  SUBCASE("a later column that is too short") {
    columns.top = {1};
    CHECK(columns.error() == "columns of 2 and of 1 samples");
  }
  SUBCASE("nothing of what is left of stacks is no error") {
    columns.top_sizes = columns.word_offsets = columns.word_places = {};
    columns.word_addresses = {};
    columns.top = columns.frame = {};
    auto batch = columns.decode();
    REQUIRE(batch);
    CHECK(batch->rows()[1].top_index == 0);
    CHECK(batch->rows()[1].frame_offset == kNoFrame);
  }
  for (auto column : {&Columns::pid, &Columns::tid, &Columns::cpu, &Columns::kernel_stack,
                      &Columns::user_stack, &Columns::user_end}) {
    Columns shorter;
    (shorter.*column).pop_back();
    CHECK(shorter.error() == "columns of 2 and of 1 samples");
  }
  columns = {};
  columns.time.push_back(1);
  CHECK(columns.error() == "columns of 3 and of 2 samples");
}

namespace {

// Words of a stack whose stack pointer is `depth` bytes further in than where the outer ones begin.
std::vector<StackWord> words_at(uint64_t depth, uint64_t leaf) {
  return {{0, leaf},
          {depth + 8, 0x4a1c00},
          {depth + 16, depth + 40},
          {depth + 40, 0x43f2a0},
          {depth + 48, 0}};
}

std::vector<uint32_t> numbers_of(std::string_view payload, uint32_t field) {
  protozero::pbf_reader in(payload.data(), payload.size());
  std::vector<uint32_t> numbers;
  while (in.next(field))
    for (uint32_t number : in.get_packed_uint32())
      numbers.push_back(number);
  return numbers;
}

// A chunk of one sample for each of these stacks, all of one thread.
SampleBatch batch_of(std::span<const std::vector<StackWord>> tops) {
  SampleBatch batch;
  for (const std::vector<StackWord>& words : tops) {
    RecordedSample given = sample(1024 * (batch.rows().size() + 1), {}, kUser);
    given.words = words;
    batch.add(given);
  }
  return batch;
}

constexpr uint32_t kWordsOfBomb = 6000;

// The dumps of a payload of version 2, to be made wrong one at a time: dump 1 has the words
// {0, 0x400010}, {8, 0x20}, and dump 2 has these 64 bytes further out, and {0, 0x400020}.
struct Dumps {
  std::vector<uint32_t> sizes = {2, 1};
  std::vector<uint32_t> bases = {0, 1};
  std::vector<uint32_t> shared = {0, 2};
  std::vector<uint32_t> outermost = {1, 9};
  std::vector<uint32_t> steps = {1, 2, 16};
  std::vector<uint32_t> heights = {3};
  std::vector<int64_t> addresses = {0x400010, 0x10};
  uint32_t time_shift = 10;

  Result<SampleBatch> decode() const {
    std::string payload;
    protozero::pbf_writer out(payload);
    auto add = [&](uint32_t number, const std::vector<uint32_t>& column) {
      out.add_packed_uint32(number, column.begin(), column.end());
    };
    add(6, sizes);
    add(42, bases);
    add(43, shared);
    add(44, outermost);
    add(45, steps);
    out.add_packed_sint64(8, addresses.begin(), addresses.end());
    add(46, heights);
    out.add_uint32(49, time_shift);
    std::vector<int64_t> times = {7, 1};
    out.add_packed_sint64(14, times.begin(), times.end());
    for (uint32_t column : {15U, 16U, 17U})
      add(column, {1, 1});
    add(21, {1, 2});
    add(20, {0, 0});
    return SampleBatch::decode(as_bytes(payload));
  }
  std::string error() const { return problem_of(decode()); }
};

}  // namespace

TEST_CASE("samples: stacks of a thread share their outer words") {
  const std::vector<std::vector<StackWord>> tops = {
      words_at(0, 0x4a1d00), words_at(64, 0x4a1d08), words_at(8, 0x4a1d00),
      words_at(8, 0x4a1d10)};
  SampleBatch batch = batch_of(tops);
  std::string payload = batch.encode();
  CHECK(numbers_of(payload, 6) == std::vector<uint32_t>{5, 1, 1, 1});
  CHECK(numbers_of(payload, 42) == std::vector<uint32_t>{0, 1, 1, 1});
  CHECK(numbers_of(payload, 43) == std::vector<uint32_t>{0, 4, 4, 4});
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->encode() == payload);
}

TEST_CASE("samples: words that only look alike are not shared") {
  std::vector<std::vector<StackWord>> tops(2, words_at(0, 0x4a1d00));
  SUBCASE("an outermost word of another value") {
    tops[1].back().value = 0x400000;
  }
  SUBCASE("a place that is another") {
    tops[1][2].value += 8;
  }
  SUBCASE("a place that would be too far away") {
    tops[0][2].value = kMaxTopSize;
    tops[1] = words_at(8, 0x4a1d00);
    tops[1][2].value = kMaxTopSize;
  }
  SUBCASE("a place of a number that is an address elsewhere") {
    tops[1][1].value = 0x20;
  }
  SUBCASE("a word that is missing") {
    tops[1].erase(tops[1].begin() + 3);
  }
  SUBCASE("registers and words below the outermost") {
    tops[1].push_back({kMaxWordOffset + 8, 0x4a1c00});
    tops[1].push_back({kMaxWordOffset + 16, StackWord::kNumber + 5});
  }
  SUBCASE("none but registers") {
    tops[1] = {{kMaxWordOffset + 8, 0x4a1c00}};
  }
  SampleBatch batch = batch_of(tops);
  auto decoded = SampleBatch::decode(as_bytes(batch.encode()));
  REQUIRE(decoded);
  CHECK(decoded->problem().empty());
  CHECK(same_samples(batch, *decoded));
}

TEST_CASE("samples: times are kept without their lower bits that are 0") {
  for (uint64_t unit : {1, 2, 1000, 1024}) {
    CAPTURE(unit);
    SampleBatch batch;
    for (uint64_t time : {uint64_t{5}, uint64_t{3}, uint64_t{1} << 50})
      batch.add(sample(unit * time, {}, kUser));
    auto decoded = SampleBatch::decode(as_bytes(batch.encode()));
    REQUIRE(decoded);
    CHECK(same_samples(batch, *decoded));
  }
}

TEST_CASE("samples: dumps with a base mean what the format says") {
  auto batch = Dumps{}.decode();
  REQUIRE(batch);
  CHECK(batch->problem().empty());
  CHECK(batch->rows()[0].time == 7 << 10);
  CHECK(batch->rows()[1].time == 8 << 10);
  CHECK(std::ranges::equal(batch->top(1), std::vector<StackWord>{{0, 0x400010}, {8, 0x20}}));
  CHECK(std::ranges::equal(batch->top(2),
                           std::vector<StackWord>{{0, 0x400020}, {64, 0x400010}, {72, 0x60}}));
}

TEST_CASE("samples: a dump whose base is wrong costs the samples that have it") {
  Dumps dumps;
  std::string problem = "top 2 with 2 words of another";
  SUBCASE("no base") {
    dumps.bases[1] = 0;
  }
  SUBCASE("itself") {
    dumps.bases[1] = 2;
  }
  SUBCASE("before the first") {
    dumps.bases[1] = UINT32_MAX;
  }
  SUBCASE("a base of fewer words") {
    dumps.shared[1] = 3;
    problem = "top 2 with 3 words of another";
  }
  SUBCASE("more words than a dump may have") {
    dumps.shared[1] = UINT32_MAX;
    problem = "a top of 4294967296 words, where 6144 are allowed";
  }
  SUBCASE("places too far away") {
    dumps.outermost[1] = (kMaxTopSize + 8) / 8;
  }
  SUBCASE("words beyond the last offset") {
    dumps.outermost[1] = kMaxWordOffset / 8;
  }
  SUBCASE("words below the stack pointer") {
    dumps.steps[2] = 18;
    problem = "a word at offset 18446744073709551608 of a stack";
  }
  SUBCASE("a base that is wrong itself") {
    dumps.addresses[0] = 8;
    dumps.addresses[1] = 0x400000;
    problem = "a word of 0x8 as an address";
  }
  CHECK(dumps.error() == problem);
  auto batch = dumps.decode();
  REQUIRE(batch);
  CHECK(batch->left_out() >= 1);
}

TEST_CASE("samples: columns of dumps that do not fit together cost the chunk") {
  Dumps dumps;
  SUBCASE("a base too few") {
    dumps.bases.pop_back();
  }
  SUBCASE("a shared too many") {
    dumps.shared.push_back(0);
  }
  SUBCASE("an outermost too few") {
    dumps.outermost.pop_back();
  }
  SUBCASE("a step too few") {
    dumps.steps.pop_back();
  }
  SUBCASE("a height too many") {
    dumps.heights.push_back(1);
  }
  SUBCASE("times without any bit") {
    dumps.time_shift = 64;
  }
  SUBCASE("a few bytes that stand for gigabytes") {
    dumps.sizes.assign(1000, 0);
    dumps.sizes[0] = kWordsOfBomb;
    dumps.steps.assign(kWordsOfBomb, 0);
    dumps.addresses.assign(kWordsOfBomb, 0);
    dumps.addresses[0] = 0x400010;
    dumps.heights.clear();
    dumps.bases.assign(1000, 1);
    dumps.shared.assign(1000, kWordsOfBomb);
    dumps.bases[0] = dumps.shared[0] = 0;
    dumps.outermost.assign(1000, 1);
    CHECK(dumps.error() == "tops of more than 1048576 words");
  }
  CHECK_FALSE(dumps.decode());
}

TEST_CASE("samples: a column in parts is read as one") {
  std::string payload = Columns{}.encode();
  Columns more;
  more.time = {-5};
  std::string part;
  protozero::pbf_writer out(part);
  out.add_packed_sint64(14, more.time.begin(), more.time.end());
  for (uint32_t number : {15, 16, 17, 18, 19, 20}) {
    const uint32_t value[] = {1};
    out.add_packed_uint32(number, std::begin(value), std::end(value));
  }
  for (uint32_t number : {21, 22, 23, 25}) {
    const uint32_t value[] = {0};
    out.add_packed_uint32(number, std::begin(value), std::end(value));
  }
  const int64_t goid[] = {9};
  out.add_packed_sint64(24, std::begin(goid), std::end(goid));
  auto batch = SampleBatch::decode(as_bytes(payload + part));
  REQUIRE(batch);
  REQUIRE(batch->rows().size() == 3);
  CHECK(batch->rows()[2].time == 105);
  CHECK(batch->rows()[2].goid == 9);
}

TEST_CASE("samples: what a row is made of is what was added") {
  SampleBatch batch;
  const std::vector<Label> labels = {{"k", "v"}};
  RecordedSample given = sample(7, kKernel, kUser);
  given.words = kWords;
  given.labels = labels;
  batch.add(given);
  RecordedSample back = batch.sample(batch.rows()[0]);
  CHECK(std::ranges::equal(back.kernel_stack, kKernel));
  CHECK(std::ranges::equal(back.user_stack, kUser));
  CHECK(std::ranges::equal(back.words, kWords));
  CHECK(std::ranges::equal(back.labels, labels));
  CHECK(batch.rows()[0].user_stack.empty());
}

TEST_CASE("samples: a stack end of a later version is one that is unreadable") {
  Columns columns;
  columns.user_end = {5, 3};
  auto batch = columns.decode();
  REQUIRE(batch);
  CHECK(batch->rows()[0].user_end == StackEnd::kUnreadable);
}

TEST_CASE("samples: columns of a later version are skipped") {
  std::string payload = Columns{}.encode();
  protozero::pbf_writer out(payload);
  out.add_packed_uint32(98, payload.begin(), payload.begin());
  out.add_uint64(99, 7);
  out.add_uint64(15, 7);  // the number of a column, but not its type
  auto batch = SampleBatch::decode(as_bytes(payload));
  REQUIRE(batch);
  CHECK(same_samples(*batch, *Columns{}.decode()));
}

TEST_CASE("samples: objects, bytes and a chance may be there, each without the others") {
  for (int present : {0, 1, 2, 4, 7}) {
    CAPTURE(present);
    RecordedSample counted = sample(1, kKernel, kUser);
    if ((present & 1) != 0)
      counted.objects = UINT64_MAX;
    if ((present & 2) != 0)
      counted.bytes = 4096;
    if ((present & 4) != 0)
      counted.chance = UINT32_MAX;
    SampleBatch some;
    some.add(sample(2, kKernel, kUser));
    some.add(counted);
    std::string payload = some.encode();
    CHECK(payload.size() <= some.size_in_memory());
    auto again = SampleBatch::decode(as_bytes(payload));
    REQUIRE(again);
    CHECK(same_samples(some, *again));
    CHECK(again->rows()[1].objects == counted.objects);
    CHECK(again->rows()[1].bytes == counted.bytes);
    CHECK(again->rows()[1].chance == counted.chance);
    // A gosym that does not know such a column reads all else.
    std::vector<uint32_t> fields;
    protozero::pbf_reader in(payload);
    for (; in.next(); in.skip())
      fields.push_back(in.tag());
    for (int i = 0; i < 3; i++)
      CHECK(std::ranges::count(fields, 50 + i) == (present >> i & 1));
  }
}

TEST_CASE("samples: no prefix of a payload gives a sample") {
  std::string payload = Columns{}.encode();
  for (size_t size = 1; size < payload.size(); size++) {
    CAPTURE(size);
    auto batch = SampleBatch::decode(as_bytes(payload).first(size));
    CHECK((!batch || batch->empty()));
  }
}

TEST_CASE("samples: a length beyond the payload allocates nothing") {
  // Field 4, packed, said to be of 2^32 - 1 bytes.
  auto payload = bytes(0x22, 0xff, 0xff, 0xff, 0xff, 0x0f, 0);
  CHECK(SampleBatch::decode(payload).error().message() ==
        "malformed protobuf: end of buffer exception");
}

TEST_CASE("samples: goroutines and their labels, each set once") {
  const std::vector<Label> labels = {{"empty", ""}, {"handler", "/index"}};
  SampleBatch batch;
  for (uint64_t goid : {uint64_t{18}, UINT64_MAX}) {
    RecordedSample of = sample(goid, {}, kUser);
    of.goid = goid;
    of.labels = labels;
    of.goroutine_start = 2;
    batch.add(of);
  }
  batch.add(sample(3, {}, kUser));
  CHECK(batch.rows()[0].label_set == 1);
  CHECK(batch.rows()[1].label_set == 1);
  CHECK(batch.rows()[2].label_set == 0);

  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(std::ranges::equal(decoded->labels(1), labels));
  CHECK(decoded->rows()[1].goid == UINT64_MAX);
  CHECK(decoded->rows()[1].goroutine_start == 2);
}

TEST_CASE("samples: columns of goroutines may be missing, but not wrong") {
  Columns columns;
  REQUIRE(columns.decode());
  CHECK(columns.decode()->labels(1)[0] == Label{"key", "value"});
  CHECK(columns.decode()->rows()[1].goid == 0);

  auto error_with = [](auto change) {
    Columns wrong;
    change(wrong);
    return problem_of(wrong.decode());
  };
  CHECK(error_with([](Columns& c) { c.goroutine_start = {}; }).empty());
  CHECK(error_with([](Columns& c) { c.goid = {}; }).empty());
  CHECK(error_with([](Columns& c) { c.label_set = {}; }).empty());
  CHECK(error_with([](Columns& c) { c.goroutine_start = {1}; }) ==
        "columns of 2 and of 1 samples");
  CHECK(error_with([](Columns& c) { c.goid = {1, 2, 3}; }) == "columns of 2 and of 3 samples");
  CHECK(error_with([](Columns& c) { c.label_set = {0}; }) == "columns of 2 and of 1 samples");
  CHECK(error_with([](Columns& c) { c.label_set = {0, 2}; }) == "set of labels 2 of 1");
  CHECK(error_with([](Columns& c) {
          c.goroutine_start = {0, 2};
        }) == "a goroutine's stack from frame 2 on, where there are 2");
  CHECK(error_with([](Columns& c) {
          c.user_stack = {1, 0};
        }) == "a goroutine's stack from frame 1 on, where there are 0");
  CHECK(error_with([](Columns& c) { c.label_count = 64; }).empty());
  CHECK(error_with([](Columns& c) { c.label_count = 65; }) ==
        "a set of 65 labels, where 64 are allowed");
}

namespace {

Columns with_switches() {
  Columns columns;
  columns.list_sizes = {1, 3};
  columns.switch_starts = {1, 1, 2, 5};
  columns.switch_words = {0, 8 + 1, 0, 16 + 1};
  columns.switch_frames = {0, 16 + 1, 0, 0};
  columns.switches = {0, 2};
  return columns;
}

}  // namespace

TEST_CASE("samples: lists of switches of stacks come back") {
  auto batch = with_switches().decode();
  REQUIRE(batch);
  std::vector<StackSwitch> second = {{1, 8, 16}, {2, kNoFrame, kNoFrame}, {5, 16, kNoFrame}};
  CHECK(batch->sample(batch->rows()[0]).switches.empty());
  CHECK(std::ranges::equal(batch->sample(batch->rows()[1]).switches, second));
  auto again = SampleBatch::decode(as_bytes(batch->encode()));
  REQUIRE(again);
  CHECK(same_samples(*batch, *again));
}

TEST_CASE("samples: switches of stacks that cannot be are refused") {
  auto error = [](auto change) {
    Columns columns = with_switches();
    change(columns);
    return columns.error();
  };
  CHECK(error([](Columns& c) { c.switch_words.pop_back(); }) ==
        "4 switches of stacks, with 3 offsets of words and 4 of frames");
  CHECK(error([](Columns& c) { c.list_sizes[1] = 4; }) == "lists of more than 4 switches");
  CHECK(error([](Columns& c) { c.switches[1] = 3; }) == "list of switches 3 of 2");
  const char* wrong = "list 2 of switches of stacks";
  for (uint32_t word : {1U, 9U + 1, uint32_t{kMaxWordOffset} + 1})
    CHECK(error([=](Columns& c) { c.switch_words[3] = word; }) == wrong);
  for (uint32_t start : {0U, 2U, 5000U})
    CHECK(error([=](Columns& c) { c.switch_starts[3] = start; }) == wrong);
  CHECK(error([](Columns& c) { c.switch_frames[1] = kMaxFrameDistance + 9; }) == wrong);
  CHECK(error([](Columns& c) {
          c.list_sizes = {0, 35};
          for (auto* numbers : {&c.switch_starts, &c.switch_words, &c.switch_frames})
            numbers->assign(35, 0);
          std::iota(c.switch_starts.begin(), c.switch_starts.end(), 1U);
        }) == wrong);

  // Only the samples with that list are left out.
  Columns columns = with_switches();
  columns.switch_starts[3] = 2;
  CHECK(columns.decode()->rows().size() == 1);

  // Anything that is written is sound.
  SampleBatch batch;
  std::vector<StackSwitch> unordered = {{2}, {1}};
  RecordedSample of = sample(1, {}, kUser);
  of.switches = unordered;
  batch.add(of);
  CHECK(batch.sample(batch.rows()[0]).switches.empty());
}

TEST_CASE("samples: what is left out of deep stacks comes back, or is refused") {
  SampleBatch batch;
  batch.add(sample(1, {}, kUser));
  RecordedSample deep = sample(2, {}, kUser);
  deep.gap = 1;
  deep.missing = raw::kMaxMissing;
  batch.add(deep);
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->rows()[1].missing == raw::kMaxMissing);

  auto error_with = [](std::vector<uint32_t> gap, std::vector<uint32_t> missing) {
    Columns columns;
    columns.gap = std::move(gap);
    columns.missing = std::move(missing);
    return problem_of(columns.decode());
  };
  CHECK(error_with({1, 0}, {7, 0}).empty());
  CHECK(error_with({1}, {7}) == "columns of 2 and of 1 samples");
  CHECK(error_with({1, 0}, {}) == "0 frames missing before frame 1 of 2");
  CHECK(error_with({2, 0}, {7, 0}) == "7 frames missing before frame 2 of 2");
  CHECK(error_with({1, 0}, {0, 0}) == "0 frames missing before frame 1 of 2");
  CHECK(error_with({1, 0}, {raw::kMaxMissing + 1, 0}) ==
        "1073741825 frames missing before frame 1 of 2");
  CHECK(error_with({0, 0}, {7, 0}) == "7 frames missing before frame 0 of 2");
}

TEST_CASE("samples: a column tells the event, unless all are of the first") {
  SampleBatch batch;
  RecordedSample first = sample(1, kKernel, kUser);
  batch.add(first);
  std::string of_one_event = batch.encode();
  RecordedSample other = sample(2, {}, kUser);
  other.event = raw::kMaxEvents - 1;
  batch.add(other);
  batch.add(first);
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->rows()[1].event == raw::kMaxEvents - 1);
  // No prefix passes for the whole: the others are errors.
  for (size_t size = 0; size < payload.size(); size++) {
    CAPTURE(size);
    auto part = SampleBatch::decode(as_bytes(payload).first(size));
    CHECK((!part || part->rows().empty()));
  }

  std::vector<uint32_t> fields;
  for (protozero::pbf_reader in(of_one_event); in.next(); in.skip())
    fields.push_back(in.tag());
  CHECK(std::ranges::count(fields, 28) == 0);
  CHECK(SampleBatch::decode(as_bytes(of_one_event))->rows()[0].event == 0);

  Columns columns;
  columns.event = {1, 0};
  CHECK(columns.decode()->rows()[0].event == 1);
  columns.event = {1};
  CHECK(columns.error() == "columns of 2 and of 1 samples");
  columns.event = {0, 1, 0};
  CHECK(columns.error() == "columns of 2 and of 3 samples");
  columns.event = {0, raw::kMaxEvents};
  CHECK(columns.error() == "event 64 of 64");
}

TEST_CASE("samples: weights and cgroups may be missing, but not wrong") {
  SampleBatch batch;
  for (uint64_t weight : {uint64_t{1}, UINT64_MAX, uint64_t{0}}) {
    RecordedSample of = sample(weight, {}, kUser);
    of.weight = weight;
    of.cgroup = weight / 2;
    batch.add(of);
  }
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->rows()[1].weight == UINT64_MAX);

  for (uint32_t column : {29, 30}) {
    std::string longer = Columns{}.encode();
    CHECK(SampleBatch::decode(as_bytes(longer))->rows()[1].weight == 0);
    const std::vector<int64_t> three = {1, 2, 3};
    protozero::pbf_writer(longer).add_packed_sint64(column, three.begin(), three.end());
    CHECK(SampleBatch::decode(as_bytes(longer)).error().message() ==
          "columns of 2 and of 3 samples");
  }
}

TEST_CASE("samples: how often a threshold was doubled, where it was") {
  auto has_column = [](const SampleBatch& batch) {
    std::string payload = batch.encode();
    bool has = false;
    for (protozero::pbf_reader in(payload); in.next(); in.skip())
      has |= in.tag() == 34;
    return has;
  };
  SampleBatch batch;
  batch.add(sample(1, {}, kUser));
  CHECK_FALSE(has_column(batch));
  RecordedSample of = sample(2, {}, kUser);
  for (uint32_t doublings : {3U, UINT32_MAX}) {
    of.doublings = doublings;
    batch.add(of);
  }
  CHECK(has_column(batch));
  auto decoded = SampleBatch::decode(as_bytes(batch.encode()));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
}

TEST_CASE("samples: states and wakers, each text once") {
  SampleBatch batch;
  for (std::string_view state : {"sleeping", "disk sleep", "sleeping", ""}) {
    RecordedSample of = sample(1, {}, kUser);
    of.state = state;
    of.waker = state.empty() ? std::string_view("sleeping") : std::string_view("nginx (7)");
    batch.add(of);
  }
  batch.add(sample(2, {}, kUser));
  CHECK(batch.rows()[0].state_text == batch.rows()[2].state_text);
  CHECK(batch.rows()[0].state_text == batch.rows()[3].waker_text);
  CHECK(batch.rows()[4].state_text == 0);
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->sample(decoded->rows()[1]).state == "disk sleep");
  CHECK(decoded->sample(decoded->rows()[1]).waker == "nginx (7)");

  RecordedSample of = sample(3, {}, kUser);
  std::string longer(raw::kMaxText + 1, 'x');
  of.state = longer;
  batch.add(of);
  decoded = SampleBatch::decode(as_bytes(batch.encode()));
  REQUIRE(decoded);
  CHECK(decoded->sample(decoded->rows()[5]).state == std::string(253, 'x') + "...");
}

TEST_CASE("samples: creators are beside the stacks") {
  SampleBatch batch;
  for (uint64_t creator : {uint64_t{0x401000}, uint64_t{0}, UINT64_MAX, uint64_t{0x401000}}) {
    RecordedSample of = sample(1, {}, kUser);
    of.creator = creator;
    batch.add(of);
  }
  CHECK(batch.stack_count() == 4);  // the empty one, the user's and those of two creators
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(same_samples(batch, *decoded));
  CHECK(decoded->sample(decoded->rows()[2]).creator == UINT64_MAX);

  auto read = [](const std::vector<uint32_t>& creators) {
    std::string wrong = Columns{}.encode();
    protozero::pbf_writer(wrong).add_packed_uint32(40, creators.begin(), creators.end());
    return SampleBatch::decode(as_bytes(wrong));
  };
  CHECK(problem_of(read({0, 2})).empty());
  CHECK(problem_of(read({0, 3})) == "stack 3 of 2");
  CHECK(problem_of(read({0})) == "columns of 2 and of 1 samples");
}

TEST_CASE("samples: states and wakers may be missing, but not wrong") {
  auto error_with = [](const std::vector<std::string>& texts, uint32_t column,
                       const std::vector<uint32_t>& numbers) {
    std::string payload = Columns{}.encode();
    protozero::pbf_writer out(payload);
    for (const std::string& text : texts)
      out.add_bytes(31, text);
    out.add_packed_uint32(column, numbers.begin(), numbers.end());
    return problem_of(SampleBatch::decode(as_bytes(payload)));
  };
  for (uint32_t column : {32, 33}) {
    CHECK(error_with({"a", "b"}, column, {2, 0}).empty());
    CHECK(error_with({"a", "b"}, column, {0, 3}) == "text 3 of 2");
    CHECK(error_with({}, column, {0, UINT32_MAX}) == "text 4294967295 of 0");
    CHECK(error_with({"a"}, column, {1}) == "columns of 2 and of 1 samples");
  }
  CHECK(error_with({std::string(256, 'x')}, 32, {1, 1}).empty());
  CHECK(error_with({std::string(257, 'x')}, 32, {1, 1}) ==
        "a text of 257 bytes, where 256 are allowed");
}

namespace {

Columns with_registers() {
  Columns columns;
  columns.register_sizes = {1, 3};
  columns.registers = {4 * 9 + 2, 1, 4 * 3, 4 * 63 + 2};
  columns.register_values = {UINT32_MAX, 0x8000, 0x400010, 0xff0};
  return columns;
}

}  // namespace

TEST_CASE("samples: registers lie behind the words of their top") {
  constexpr uint64_t kNumber = StackWord::kNumber;
  auto batch = with_registers().decode();
  REQUIRE(batch);
  std::vector<StackWord> first = {{8, 0x400010}, {offset_of_register(9), kNumber + UINT32_MAX}};
  std::vector<StackWord> second = {{0, 0x400020},
                                   {16, 0x20},
                                   {offset_of_register(0), 0x8000},
                                   {offset_of_register(3), 0x400010},
                                   {offset_of_register(63), kNumber + 0xff0}};
  CHECK(std::ranges::equal(batch->top(1), first));
  CHECK(std::ranges::equal(batch->top(2), second));
  auto again = SampleBatch::decode(as_bytes(batch->encode()));
  REQUIRE(again);
  CHECK(same_samples(*batch, *again));
}

TEST_CASE("samples: registers of any number that DWARF gives one come back") {
  SampleBatch batch;
  // The last ones of the general registers, of arm64's vectors and of what fits.
  std::vector<StackWord> words;
  for (uint64_t number : {46, 47, 63, 95, 959})
    words.push_back(
        {offset_of_register(place_of_register(number)), StackWord::kNumber + number});
  batch.add({.kernel_stack = {}, .user_stack = kUser, .words = words});
  auto again = SampleBatch::decode(as_bytes(batch.encode()));
  REQUIRE(again);
  CHECK(again->problem().empty());
  CHECK(std::ranges::equal(again->top(1), words));
  CHECK(place_of_register(960) == kNoRegister);
  CHECK(place_of_register(UINT64_MAX) == kNoRegister);
}

TEST_CASE("samples: registers that cannot be are refused") {
  auto error = [](auto change) {
    Columns columns = with_registers();
    change(columns);
    return columns.error();
  };
  CHECK(error([](Columns& c) { c.register_sizes.pop_back(); }) ==
        "1 sizes of registers of 2 tops, 4 values of 4");
  CHECK(error([](Columns& c) { c.register_values.pop_back(); }) ==
        "2 sizes of registers of 2 tops, 3 values of 4");
  CHECK(error([](Columns& c) {
          c.register_sizes = {1, 4};
        }) == "tops of more than 4 registers");
  CHECK(error([](Columns& c) {
          c.register_sizes = {1, 65};
          c.registers.assign(66, 2);
          c.register_values.assign(66, 1);
        }) == "a top of 65 registers, where 64 are allowed");
  CHECK(error([](Columns& c) { c.registers[0] = 4 * 1024 + 2; }) ==
        "a register 4098 with 0xffffffff");
  CHECK(error([](Columns& c) { c.registers[0] = 3; }) == "a register 3 with 0xffffffff");
  CHECK(error([](Columns& c) { c.register_values[0] = 1ull << 32; }) ==
        "a register 38 with 0x100000000");
  CHECK(error([](Columns& c) { c.register_values[1] = 0x8001; }) == "a register 1 with 0x8001");
  CHECK(error([](Columns& c) { c.register_values[2] = 0x8000; }) ==
        "a register 12 with 0x8000");
  CHECK(error([](Columns& c) { c.register_values[2] = 1ull << 63; }) ==
        "a register 12 with 0x8000000000000000");
}

// Written and read again, with nothing of it refused.
SampleBatch read_back(const SampleBatch& batch) {
  std::string payload = batch.encode();
  CHECK(payload.size() <= batch.size_in_memory());
  auto decoded = SampleBatch::decode(as_bytes(payload));
  REQUIRE(decoded);
  CHECK(decoded->problem().empty());
  CHECK(decoded->left_out() == 0);
  return *std::move(decoded);
}

RecordedSample read_back(const RecordedSample& sample, SampleBatch& room) {
  SampleBatch batch;
  batch.add(sample);
  room = read_back(batch);
  return room.sample(room.rows()[0]);
}

Stack counted(size_t size) {
  Stack stack;
  for (size_t i = 0; i < size; i++)
    stack.push_back(0x1000 + i);
  return stack;
}

TEST_CASE("samples: of a stack that is too deep both ends are kept") {
  constexpr size_t kMost = raw::kMaxStackSize;
  constexpr uint32_t kInner = 1536;
  SampleBatch batch;
  CHECK_FALSE(batch.add(sample(1, {}, counted(kMost))).stack);
  CHECK(batch.add(sample(2, {}, counted(kMost + 3))).stack);
  batch = read_back(batch);
  CHECK(batch.rows()[0].gap == 0);
  CHECK(batch.sample(batch.rows()[0]).user_stack.size() == kMost);
  RecordedSample deep = batch.sample(batch.rows()[1]);
  CHECK(deep.gap == kInner);
  CHECK(deep.missing == 3);
  CHECK(deep.user_end == StackEnd::kBadFrame);
  Stack expected = counted(kMost + 3);
  expected.erase(expected.begin() + kInner, expected.begin() + kInner + 3);
  CHECK(std::ranges::equal(deep.user_stack, expected));
}

TEST_CASE("samples: a gap that was there becomes part of the one that is made") {
  constexpr size_t kMost = raw::kMaxStackSize;
  SampleBatch room;
  for (uint32_t gap : {1U, 1000U, 1600U, 2047U, 2147U}) {
    CAPTURE(gap);
    Stack user = counted(kMost + 100);
    RecordedSample deep = sample(1, {}, user);
    deep.gap = gap;
    deep.missing = 7;
    deep = read_back(deep, room);
    CHECK(deep.missing == 107);
    CHECK(deep.user_stack.size() == kMost);
    CHECK(deep.gap <= gap);
    CHECK(gap <= deep.gap + 100);
    CHECK(deep.user_stack[deep.gap - 1] == 0x1000 + deep.gap - 1);
    CHECK(deep.user_stack[deep.gap] == 0x1000 + deep.gap + 100);
  }
}

TEST_CASE("samples: where a goroutine's stack begins moves with its frames") {
  constexpr uint32_t kInner = 1536;
  SampleBatch room;
  for (const auto& [begin, expected] : {std::pair(5U, 5U),
                                        {kInner, kInner},
                                        {kInner + 50, kInner},
                                        {kInner + 100, kInner},
                                        {kInner + 150, kInner + 50},
                                        {5000U, 0U}}) {
    uint32_t start = begin;  // clang 14 has no bindings in lambdas
    CAPTURE(start);
    Stack user = counted(raw::kMaxStackSize + 100);
    RecordedSample deep = sample(1, {}, user);
    deep.goroutine_start = start;
    CHECK(read_back(deep, room).goroutine_start == expected);
  }
}

TEST_CASE("samples: behind a kernel stack that is cut there is no user code") {
  SampleBatch room;
  Stack kernel = counted(raw::kMaxStackSize + 1);
  RecordedSample back = read_back(sample(1, kernel, kUser), room);
  CHECK(back.kernel_stack.size() == raw::kMaxStackSize);
  CHECK(back.user_stack.empty());
  CHECK(back.user_end == StackEnd::kUnreadable);
}

TEST_CASE("samples: texts are cut between characters, and of many labels the first are kept") {
  const std::string most(raw::kMaxLabelText, 'v');
  const std::string more = most + "v";
  // Two bytes each; the last that there is room for would be cut in half.
  std::string accents;
  while (accents.size() < 300)
    accents += "\u00e9";
  const std::vector<Label> labels = {{"a", most}, {more, "b"}, {"c", accents}};
  SampleBatch batch;
  RecordedSample of = sample(1, {}, kUser);
  of.labels = labels;
  CHECK(batch.add(of).texts);
  of.labels = std::span(labels).first(1);
  CHECK_FALSE(batch.add(of).texts);
  const std::vector<Label> many(raw::kMaxLabels + 1, {"k", "v"});
  of.labels = many;
  CHECK(batch.add(of).texts);
  of.labels = {};
  of.waker = more;
  CHECK(batch.add(of).texts);
  batch = read_back(batch);
  auto first = batch.sample(batch.rows()[0]).labels;
  CHECK(first[0].value == most);
  CHECK(first[1].key == most.substr(3) + "...");
  CHECK(first[2].value == accents.substr(0, 252) + "...");
  CHECK(batch.sample(batch.rows()[1]).labels[0].value == most);
  CHECK(batch.sample(batch.rows()[2]).labels.size() == raw::kMaxLabels);
  CHECK(batch.sample(batch.rows()[3]).waker == most.substr(3) + "...");
}

TEST_CASE("samples: words that cannot be are left out, those of others are kept") {
  std::vector<StackWord> words = {{8, 0x400010}, {13, 0x400020}, {0, 0x20}};
  for (uint64_t number = 0; number < kMaxRegisters + 2; number++)
    words.push_back({offset_of_register(number), StackWord::kNumber + number});
  words.push_back({offset_of_register(0), StackWord::kNumber + UINT32_MAX + 1});
  std::vector<StackWord> expected = {{0, 0x20}, {8, 0x400010}};
  for (uint64_t number = 0; number < kMaxRegisters; number++)
    expected.push_back({offset_of_register(number), StackWord::kNumber + number});
  RecordedSample of = sample(1, {}, kUser);
  of.words = words;
  of.frame_offset = 12;
  SampleBatch room;
  of = read_back(of, room);
  CHECK(std::ranges::equal(of.words, expected));
  CHECK(of.frame_offset == kNoFrame);

  words.assign(raw::kMaxTopWords + 1, {8, 0x400010});
  of.words = words;
  CHECK(read_back(of, room).words.size() == raw::kMaxTopWords);
}

TEST_CASE("samples: one that is wrong is left out, the others of its chunk are read") {
  Columns columns;
  columns.label_count = 65;  // of the second sample
  auto batch = columns.decode();
  REQUIRE(batch);
  CHECK(batch->left_out() == 1);
  REQUIRE(batch->rows().size() == 1);
  CHECK(batch->rows()[0].time == 100);
  CHECK(std::ranges::equal(batch->stack(batch->rows()[0].user_index), Stack{0x1000, 0x1010}));
  CHECK(batch->labels(1).empty());
  for (auto change : {+[](Columns& c) {
                        c.user_stack = {1, 3};
                      },
                      +[](Columns& c) {
                        c.top = {0, 3};
                      },
                      +[](Columns& c) {
                        c.event = {0, 64};
                      },
                      +[](Columns& c) {
                        c.frame = {0, 12};
                      },
                      +[](Columns& c) { c.word_offsets[1] = 4; },
                      +[](Columns& c) {
                        c.goroutine_start = {0, 9};
                      }}) {
    Columns wrong;
    change(wrong);
    batch = wrong.decode();
    REQUIRE(batch);
    CHECK(batch->left_out() == 1);
    REQUIRE(batch->rows().size() == 1);
    CHECK(batch->rows()[0].time == 100);
    CHECK(read_back(*batch).rows().size() == 1);
  }
}

}  // namespace gosym::raw_samples_test
