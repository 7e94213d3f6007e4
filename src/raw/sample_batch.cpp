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
};

// What fields 1 to 9 take at most: a tag byte and a length of up to five.
constexpr size_t kMaxFieldOverhead = 9 * 6;
// A varint takes up to ten bytes for 64 bits and five for 32.
constexpr size_t kMaxAddressSize = 10;
constexpr size_t kMaxStackSizeSize = 5;
constexpr size_t kMaxRowSize = 10 + 5 * 5 + 1;

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
    default:
      return in.skip();
  }
}

// Where each stack begins; an error unless they use up all addresses.
Result<std::vector<uint32_t>> stack_begins(const Columns& columns) {
  std::vector<uint32_t> begins = {0, 0};
  size_t left = columns.addresses.size();
  for (uint32_t size : columns.stack_sizes) {
    if (size > kMaxStackSize)
      return errorf("a stack of {} addresses, where {} are allowed", size, kMaxStackSize);
    if (size > left)
      return errorf("stacks of more than {} addresses", columns.addresses.size());
    left -= size;
    begins.push_back(begins.back() + size);
  }
  if (left != 0)
    return errorf("stacks leave {} of {} addresses over", left, columns.addresses.size());
  return begins;
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

// A later version may know more ways for a stack to end early.
StackEnd to_stack_end(uint32_t number) {
  return number <= static_cast<uint32_t>(StackEnd::kLimit) ? static_cast<StackEnd>(number)
                                                           : StackEnd::kUnreadable;
}

}  // namespace

void SampleBatch::add(const RecordedSample& sample) {
  rows_.push_back({.time = sample.time,
                   .pid = sample.pid,
                   .tid = sample.tid,
                   .cpu = sample.cpu,
                   .user_end = sample.user_end,
                   .kernel_stack = intern(sample.kernel_stack),
                   .user_stack = intern(sample.user_stack)});
}

void SampleBatch::clear() {
  rows_.clear();
  addresses_.clear();
  stack_begin_.assign({0, 0});
  stack_of_hash_.clear();
}

std::span<const uint64_t> SampleBatch::stack(uint32_t index) const {
  assert(index < stack_count());
  return std::span(addresses_)
      .subspan(stack_begin_[index], stack_begin_[index + 1] - stack_begin_[index]);
}

size_t SampleBatch::size_in_memory() const {
  return kMaxFieldOverhead + rows_.size() * kMaxRowSize + addresses_.size() * kMaxAddressSize +
         stack_begin_.size() * kMaxStackSizeSize;
}

// Two stacks with the same hash are not merged: the second is kept again each time.
uint32_t SampleBatch::intern(std::span<const uint64_t> stack) {
  if (stack.empty())
    return 0;
  uint64_t hash = XXH3_64bits(stack.data(), stack.size_bytes());
  auto [known, is_new] = stack_of_hash_.try_emplace(hash, stack_count());
  if (is_new || !std::ranges::equal(this->stack(known->second), stack))
    return append(stack);
  return known->second;
}

uint32_t SampleBatch::append(std::span<const uint64_t> stack) {
  uint32_t index = stack_count();
  addresses_.insert(addresses_.end(), stack.begin(), stack.end());
  stack_begin_.push_back(static_cast<uint32_t>(addresses_.size()));
  return index;
}

std::string SampleBatch::encode() const {
  std::vector<uint32_t> stack_sizes;
  for (uint32_t i = 1; i < stack_count(); i++)
    stack_sizes.push_back(static_cast<uint32_t>(stack(i).size()));

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
  auto begins = stack_begins(columns);
  if (!begins)
    return std::move(begins).error();
  if (auto sound = check_columns(columns); !sound)
    return std::move(sound).error();

  SampleBatch batch;
  batch.addresses_ = std::move(columns.addresses);
  batch.stack_begin_ = *std::move(begins);
  batch.rows_.reserve(columns.time.size());
  for (size_t i = 0; i < columns.time.size(); i++)
    batch.rows_.push_back({.time = columns.time[i],
                           .pid = columns.pid[i],
                           .tid = columns.tid[i],
                           .cpu = columns.cpu[i],
                           .user_end = to_stack_end(columns.user_end[i]),
                           .kernel_stack = columns.kernel_stack[i],
                           .user_stack = columns.user_stack[i]});
  return batch;
}

}  // namespace gosym::raw
