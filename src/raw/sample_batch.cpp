#include "raw/sample_batch.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <protozero/pbf_writer.hpp>

#include "raw/format.h"
#include "raw/protobuf.h"

namespace gosym::raw {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

// The fields of a samples payload, as format.h numbers them.
enum Field : uint32_t {
  kStackSizes = 1,
  kAddresses,
  kTime,
  kPid,
  kTid,
  kCpu,
  kKernelStack,
  kUserStack,
  kUserEnd,
  kTopSizes,
  kWordOffsets,
  kWordAddresses,
  kWordPlaces,
  kTop,
  kFrame,
  kBridge,
  kGoid,
  kLabelSet,
  kLabelSets,
  kWeight,
  kCgroup,
};

// What all fields but 19 take at most: a tag of one byte, or two, and a length of up to five.
constexpr size_t kMaxFieldOverhead = 15 * 6 + 5 * 7;
// A varint takes up to ten bytes for 64 bits and five for 32.
constexpr size_t kMaxAddressSize = 10;
constexpr size_t kMaxStackSizeSize = 5;
constexpr size_t kMaxWordSize = 3 + kMaxAddressSize;
constexpr size_t kMaxRowSize = 4 * 10 + 9 * 5 + 1;

constexpr uint32_t kIsPlace = 1;  // in an offset of a word

// Writes each value as its difference to the one before.
template <class Elements, class Member>
void write_differences(pbf_writer& out, Field field, const Elements& elements,
                       Member value_of) {
  protozero::packed_field_sint64 column(out, field);
  uint64_t before = 0;
  for (const auto& element : elements) {
    uint64_t value = std::invoke(value_of, element);
    column.add_element(static_cast<int64_t>(value - before));
    before = value;
  }
}

template <class Elements, class Member>
void write_column(pbf_writer& out, Field field, const Elements& elements, Member value_of) {
  protozero::packed_field_uint32 column(out, field);
  for (const auto& element : elements)
    column.add_element(static_cast<uint32_t>(std::invoke(value_of, element)));
}

void write_words(pbf_writer& out, std::span<const StackWord> words) {
  std::vector<uint64_t> addresses;
  std::vector<uint64_t> places;
  for (const StackWord& word : words)
    (word.is_place() ? places : addresses).push_back(word.value);
  write_column(out, kWordOffsets, words, [](const StackWord& word) {
    return word.offset + (word.is_place() ? kIsPlace : 0);
  });
  write_differences(out, kWordAddresses, addresses, std::identity{});
  write_column(out, kWordPlaces, places, std::identity{});
}

// A payload as it was read, nothing in it believed yet.
struct Columns {
  std::vector<uint32_t> stack_sizes;
  std::vector<uint64_t> addresses;
  std::vector<uint64_t> time;
  std::vector<uint32_t> pid;
  std::vector<uint32_t> tid;
  std::vector<uint32_t> cpu;
  std::vector<uint32_t> kernel_stack;
  std::vector<uint32_t> user_stack;
  std::vector<uint32_t> user_end;
  std::vector<uint32_t> top_sizes;
  std::vector<uint32_t> word_offsets;
  std::vector<uint64_t> word_addresses;
  std::vector<uint32_t> word_places;
  std::vector<uint32_t> top;
  std::vector<uint32_t> frame;
  std::vector<uint32_t> bridge;
  std::vector<uint64_t> goid;
  std::vector<uint32_t> label_set;
  std::vector<uint64_t> weight;
  std::vector<uint64_t> cgroup;
  LabelSets label_sets;
};

void read_differences(pbf_reader& in, std::vector<uint64_t>& values) {
  uint64_t before = values.empty() ? 0 : values.back();
  for (int64_t difference : in.get_packed_sint64())
    values.push_back(before += static_cast<uint64_t>(difference));
}

void read_column(pbf_reader& in, std::vector<uint32_t>& values) {
  for (uint32_t value : in.get_packed_uint32())
    values.push_back(value);
}

void read_field(pbf_reader& in, Columns& columns) {
  if (in.wire_type() != pbf_wire_type::length_delimited)
    return in.skip();
  switch (in.tag()) {
    case kStackSizes:
      return read_column(in, columns.stack_sizes);
    case kAddresses:
      return read_differences(in, columns.addresses);
    case kTime:
      return read_differences(in, columns.time);
    case kPid:
      return read_column(in, columns.pid);
    case kTid:
      return read_column(in, columns.tid);
    case kCpu:
      return read_column(in, columns.cpu);
    case kKernelStack:
      return read_column(in, columns.kernel_stack);
    case kUserStack:
      return read_column(in, columns.user_stack);
    case kUserEnd:
      return read_column(in, columns.user_end);
    case kTopSizes:
      return read_column(in, columns.top_sizes);
    case kWordOffsets:
      return read_column(in, columns.word_offsets);
    case kWordAddresses:
      return read_differences(in, columns.word_addresses);
    case kWordPlaces:
      return read_column(in, columns.word_places);
    case kTop:
      return read_column(in, columns.top);
    case kFrame:
      return read_column(in, columns.frame);
    case kBridge:
      return read_column(in, columns.bridge);
    case kGoid:
      return read_differences(in, columns.goid);
    case kLabelSet:
      return read_column(in, columns.label_set);
    case kLabelSets:
      return columns.label_sets.read(in.get_message());
    case kWeight:
      return read_differences(in, columns.weight);
    case kCgroup:
      return read_differences(in, columns.cgroup);
    default:
      return in.skip();
  }
}

// Where each of what has these sizes begins; an error unless they use up all elements.
Result<std::vector<uint32_t>> begins_of(const std::vector<uint32_t>& sizes, size_t count,
                                        uint32_t max_size, std::string_view what,
                                        std::string_view element) {
  std::vector<uint32_t> begins = {0, 0};
  size_t left = count;
  for (uint32_t size : sizes) {
    if (size > max_size)
      return errorf("a {} of {} {}, where {} are allowed", what, size, element, max_size);
    if (size > left)
      return errorf("{}s of more than {} {}", what, count, element);
    left -= size;
    begins.push_back(begins.back() + size);
  }
  if (left != 0)
    return errorf("{}s leave {} of {} {} over", what, left, count, element);
  return begins;
}

Result<std::vector<StackWord>> words_of(const Columns& columns) {
  std::vector<StackWord> words;
  words.reserve(columns.word_offsets.size());
  size_t addresses = 0;
  size_t places = 0;
  for (uint32_t coded : columns.word_offsets) {
    bool is_place = (coded & kIsPlace) != 0;
    uint32_t offset = coded & ~kIsPlace;
    if (offset % 8 != 0 || offset >= kMaxTopSize)
      return errorf("a word at offset {} of a stack", offset);
    bool is_there = is_place ? places < columns.word_places.size()
                             : addresses < columns.word_addresses.size();
    if (!is_there)
      return errorf("{} words, where there are {} addresses and {} places",
                    columns.word_offsets.size(), columns.word_addresses.size(),
                    columns.word_places.size());
    words.push_back({offset, is_place ? columns.word_places[places++]
                                      : columns.word_addresses[addresses++]});
    if (words.back().is_place() != is_place)
      return errorf("a word of {:#x} as {}", words.back().value,
                    is_place ? "a place" : "an address");
  }
  if (addresses != columns.word_addresses.size() || places != columns.word_places.size())
    return errorf("{} words, where there are {} addresses and {} places",
                  columns.word_offsets.size(), columns.word_addresses.size(),
                  columns.word_places.size());
  return words;
}

Result<> check_columns(const Columns& columns) {
  size_t count = columns.time.size();
  for (const auto* column : {&columns.pid, &columns.tid, &columns.cpu, &columns.kernel_stack,
                             &columns.user_stack, &columns.user_end})
    if (column->size() != count)
      return errorf("columns of {} and of {} samples", count, column->size());
  for (const auto* column : {&columns.kernel_stack, &columns.user_stack})
    for (uint32_t stack : *column)
      if (stack > columns.stack_sizes.size())
        return errorf("stack {} of {}", stack, columns.stack_sizes.size());
  return Ok{};
}

// The columns that recorders before 1.2 or 1.3 did not write.
Result<> check_later_columns(const Columns& columns) {
  size_t count = columns.time.size();
  for (size_t size :
       {columns.top.size(), columns.frame.size(), columns.bridge.size(), columns.goid.size(),
        columns.label_set.size(), columns.weight.size(), columns.cgroup.size()})
    if (size != 0 && size != count)
      return errorf("columns of {} and of {} samples", count, size);
  for (uint32_t top : columns.top)
    if (top > columns.top_sizes.size())
      return errorf("top {} of {}", top, columns.top_sizes.size());
  for (uint32_t frame : columns.frame)
    if (frame > kMaxTopSize + 1 || (frame != 0 && (frame - 1) % 8 != 0))
      return errorf("a frame pointer at offset {} of a stack", frame - 1);
  for (uint32_t set : columns.label_set)
    if (set >= columns.label_sets.size())
      return errorf("set of labels {} of {}", set, columns.label_sets.size() - 1);
  for (size_t i = 0; i < columns.bridge.size(); i++)
    if (uint32_t stack = columns.user_stack[i], bridge = columns.bridge[i];
        bridge != 0 && (stack == 0 || bridge >= columns.stack_sizes[stack - 1]))
      return errorf("a goroutine's stack from frame {} on, where there are {}", bridge,
                    stack == 0 ? 0 : columns.stack_sizes[stack - 1]);
  return columns.label_sets.check();
}

uint64_t to_frame_offset(uint32_t coded) {
  return coded == 0 ? kNoFrame : coded - 1;
}

uint32_t from_frame_offset(uint64_t offset) {
  return offset == kNoFrame ? 0 : static_cast<uint32_t>(offset) + 1;
}

// Keeps one copy of each sequence: its number. Two with the same hash are not merged: the
// second is kept again each time.
template <class T>
uint32_t intern(std::span<const T> sequence, std::vector<T>& elements,
                std::vector<uint32_t>& begins, tsl::robin_map<uint64_t, uint32_t>& known) {
  if (sequence.empty())
    return 0;
  uint64_t hash = XXH3_64bits(sequence.data(), sequence.size_bytes());
  auto next = static_cast<uint32_t>(begins.size() - 1);
  auto [slot, is_new] = known.try_emplace(hash, next);
  if (!is_new) {
    auto begin = elements.begin() + begins[slot->second];
    auto end = elements.begin() + begins[slot->second + 1];
    if (std::ranges::equal(begin, end, sequence.begin(), sequence.end()))
      return slot->second;
  }
  elements.insert(elements.end(), sequence.begin(), sequence.end());
  begins.push_back(static_cast<uint32_t>(elements.size()));
  return next;
}

// A later version may know more ways for a stack to end early.
StackEnd to_stack_end(uint32_t number) {
  return number <= static_cast<uint32_t>(StackEnd::kLimit) ? static_cast<StackEnd>(number)
                                                           : StackEnd::kUnreadable;
}

}  // namespace

void SampleBatch::add(const RecordedSample& sample) {
  rows_.push_back(
      {.time = sample.time,
       .pid = sample.pid,
       .tid = sample.tid,
       .cpu = sample.cpu,
       .user_end = sample.user_end,
       .kernel_stack = intern(sample.kernel_stack, addresses_, stack_begin_, known_stacks_),
       .user_stack = intern(sample.user_stack, addresses_, stack_begin_, known_stacks_),
       .top = intern(sample.words, words_, top_begin_, known_tops_),
       .frame_offset = sample.frame_offset,
       .goid = sample.goid,
       .label_set = label_sets_.intern(sample.labels),
       .bridge = sample.bridge,
       .weight = sample.weight,
       .cgroup = sample.cgroup});
}

void SampleBatch::clear() {
  rows_.clear();
  addresses_.clear();
  stack_begin_.assign({0, 0});
  known_stacks_.clear();
  words_.clear();
  top_begin_.assign({0, 0});
  known_tops_.clear();
  label_sets_.clear();
}

std::span<const uint64_t> SampleBatch::stack(uint32_t index) const {
  assert(index < stack_count());
  return std::span(addresses_)
      .subspan(stack_begin_[index], stack_begin_[index + 1] - stack_begin_[index]);
}

std::span<const StackWord> SampleBatch::top(uint32_t index) const {
  assert(index < top_count());
  return std::span(words_).subspan(top_begin_[index],
                                   top_begin_[index + 1] - top_begin_[index]);
}

size_t SampleBatch::size_in_memory() const {
  return kMaxFieldOverhead + rows_.size() * kMaxRowSize + addresses_.size() * kMaxAddressSize +
         words_.size() * kMaxWordSize + label_sets_.size_in_memory() +
         (stack_begin_.size() + top_begin_.size()) * kMaxStackSizeSize;
}

std::string SampleBatch::encode() const {
  std::vector<uint32_t> stack_sizes;
  for (uint32_t i = 1; i < stack_count(); i++)
    stack_sizes.push_back(static_cast<uint32_t>(stack(i).size()));
  std::vector<uint32_t> top_sizes;
  for (uint32_t i = 1; i < top_count(); i++)
    top_sizes.push_back(static_cast<uint32_t>(top(i).size()));

  std::string payload;
  payload.reserve(size_in_memory());
  pbf_writer out(payload);
  write_column(out, kStackSizes, stack_sizes, std::identity{});
  write_differences(out, kAddresses, addresses_, std::identity{});
  write_differences(out, kTime, rows_, &Row::time);
  write_column(out, kPid, rows_, &Row::pid);
  write_column(out, kTid, rows_, &Row::tid);
  write_column(out, kCpu, rows_, &Row::cpu);
  write_column(out, kKernelStack, rows_, &Row::kernel_stack);
  write_column(out, kUserStack, rows_, &Row::user_stack);
  write_column(out, kTopSizes, top_sizes, std::identity{});
  write_words(out, words_);
  write_column(out, kTop, rows_, &Row::top);
  write_column(out, kFrame, rows_,
               [](const Row& row) { return from_frame_offset(row.frame_offset); });
  write_column(out, kBridge, rows_, &Row::bridge);
  write_differences(out, kGoid, rows_, &Row::goid);
  write_column(out, kLabelSet, rows_, &Row::label_set);
  label_sets_.write(out, kLabelSets);
  write_differences(out, kWeight, rows_, &Row::weight);
  write_differences(out, kCgroup, rows_, &Row::cgroup);
  // Last, for it may not be missing: so no part of a payload passes for a whole one.
  write_column(out, kUserEnd, rows_, &Row::user_end);
  return payload;
}

Result<SampleBatch> SampleBatch::decode(Bytes payload) {
  Columns columns;
  auto done = read_protobuf(payload, [&](pbf_reader in) {
    while (in.next())
      read_field(in, columns);
  });
  if (!done)
    return std::move(done).error();
  auto stacks = begins_of(columns.stack_sizes, columns.addresses.size(), kMaxStackSize, "stack",
                          "addresses");
  if (!stacks)
    return std::move(stacks).error();
  auto tops =
      begins_of(columns.top_sizes, columns.word_offsets.size(), kMaxTopWords, "top", "words");
  if (!tops)
    return std::move(tops).error();
  auto words = words_of(columns);
  if (!words)
    return std::move(words).error();
  if (auto sound = check_columns(columns); !sound)
    return std::move(sound).error();
  if (auto sound = check_later_columns(columns); !sound)
    return std::move(sound).error();

  size_t count = columns.time.size();
  columns.top.resize(count);
  columns.frame.resize(count);
  columns.bridge.resize(count);
  columns.goid.resize(count);
  columns.label_set.resize(count);
  columns.weight.resize(count);
  columns.cgroup.resize(count);
  SampleBatch batch;
  batch.addresses_ = std::move(columns.addresses);
  batch.stack_begin_ = *std::move(stacks);
  batch.words_ = *std::move(words);
  batch.top_begin_ = *std::move(tops);
  batch.label_sets_ = std::move(columns.label_sets);
  batch.rows_.reserve(columns.time.size());
  for (size_t i = 0; i < columns.time.size(); i++)
    batch.rows_.push_back({.time = columns.time[i],
                           .pid = columns.pid[i],
                           .tid = columns.tid[i],
                           .cpu = columns.cpu[i],
                           .user_end = to_stack_end(columns.user_end[i]),
                           .kernel_stack = columns.kernel_stack[i],
                           .user_stack = columns.user_stack[i],
                           .top = columns.top[i],
                           .frame_offset = to_frame_offset(columns.frame[i]),
                           .goid = columns.goid[i],
                           .label_set = columns.label_set[i],
                           .bridge = columns.bridge[i],
                           .weight = columns.weight[i],
                           .cgroup = columns.cgroup[i]});
  return batch;
}

}  // namespace gosym::raw
