#include "raw/sample_batch.h"

#include <xxhash.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <protozero/pbf_writer.hpp>

#include "raw/format.h"
#include "raw/sample_fields.h"

namespace gosym::raw {

namespace {

using protozero::pbf_writer;

// A tag of up to two bytes and a length, or a number, of up to five.
constexpr size_t kMaxFieldOverhead = 7;
constexpr size_t kTableCount =
    kRegisterValues + (kSwitchFrames - kTexts);  // fields that are neither columns nor repeated
// A varint takes up to ten bytes for 64 bits and five for 32.
constexpr size_t kMaxAddressSize = 10;
constexpr size_t kMaxNodeSize = 5 + kMaxAddressSize;
constexpr size_t kMaxStackNodeSize = 5;  // and of the size of a top
constexpr size_t kMaxWordSize = 3 + kMaxAddressSize;
constexpr size_t kMaxSwitchSize = 3 * 5;

constexpr size_t max_row_size() {
  size_t size = 0;
  for_each_column([&]<class Owner, class T>(const Column<Owner, T>&) {
    size += (8 * sizeof(T) + 6) / 7;  // seven bits a byte
  });
  return size;
}

// Writes each value as its difference to the one before.
template <class Elements, class Member>
void write_differences(pbf_writer& out, uint32_t field, const Elements& elements,
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
void write_column(pbf_writer& out, uint32_t field, const Elements& elements, Member value_of) {
  protozero::packed_field_uint32 column(out, field);
  for (const auto& element : elements)
    column.add_element(static_cast<uint32_t>(std::invoke(value_of, element)));
}

size_t count_registers(std::span<const StackWord> top) {
  return static_cast<size_t>(std::ranges::count_if(top, &StackWord::is_register));
}

uint32_t code_of_register(const StackWord& word) {
  auto number = static_cast<uint32_t>((word.offset - kMaxWordOffset) / 8);
  RegisterKind kind = word.is_number()  ? kRegisterNumber
                      : word.is_place() ? kRegisterPlace
                                        : kRegisterAddress;
  return kRegisterKinds * number + kind;
}

void write_registers(pbf_writer& out, std::span<const uint32_t> sizes,
                     std::span<const StackWord> registers) {
  if (registers.empty())
    return;
  write_column(out, kDumpRegisters, sizes, std::identity{});
  write_column(out, kRegisters, registers, code_of_register);
  protozero::packed_field_uint64 values(out, kRegisterValues);
  for (const StackWord& word : registers)
    values.add_element(word.value & ~StackWord::kNumber);
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

void write_switches(pbf_writer& out, std::span<const uint32_t> sizes,
                    std::span<const StackSwitch> switches) {
  if (switches.empty())
    return;
  write_column(out, kListSwitches, sizes, std::identity{});
  write_column(out, kSwitchStarts, switches, &StackSwitch::start);
  write_column(out, kSwitchWords, switches, [](const StackSwitch& at) { return at.place + 1; });
  write_column(out, kSwitchFrames, switches,
               [](const StackSwitch& at) { return at.frame_offset + 1; });
}

void write_nodes(pbf_writer& out, const NewNodes& nodes) {
  out.add_uint32(kTree, nodes.tree);
  out.add_uint32(kFirstNode, nodes.first);
  write_column(out, kCallers, nodes.distances, std::identity{});
  write_differences(out, kNodeAddresses, nodes.addresses, std::identity{});
}

template <class Owner, class T>
uint64_t number_of(const Column<Owner, T>& column, const SampleBatch::Row& row) {
  auto value = static_cast<uint64_t>(row.*column.member);
  return column.coding == Coding::kPlusOne ? value + 1 : value;
}

template <class Owner, class T>
void write(pbf_writer& out, const Column<Owner, T>& column,
           std::span<const SampleBatch::Row> rows) {
  auto number = [&](const SampleBatch::Row& row) { return number_of(column, row); };
  if (column.presence == Presence::kOptional &&
      std::ranges::all_of(rows, [&](const auto& row) { return number(row) == 0; }))
    return;
  if (column.coding == Coding::kDifference)
    write_differences(out, column.field, rows, number);
  else
    write_column(out, column.field, rows, number);
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

}  // namespace

SampleBatch::SampleBatch() = default;
SampleBatch::SampleBatch(SampleBatch&&) noexcept = default;
SampleBatch& SampleBatch::operator=(SampleBatch&&) noexcept = default;
SampleBatch::~SampleBatch() = default;

Shortened SampleBatch::add(RecordedSample sample) {
  assert(sample.event < kMaxEvents);
  Shortened shortened = fitter_.fit(sample);
  Row row{sample};
  row.kernel_index = intern(sample.kernel_stack, addresses_, stack_begin_, known_stacks_);
  row.user_index = intern(sample.user_stack, addresses_, stack_begin_, known_stacks_);
  std::span creator(&sample.creator, sample.creator != 0 ? 1 : 0);
  row.creator_index = intern<uint64_t>(creator, addresses_, stack_begin_, known_stacks_);
  row.top_index = intern(sample.words, words_, top_begin_, known_tops_);
  row.switch_list = intern(sample.switches, switches_, switch_begin_, known_switches_);
  row.label_set = label_sets_.intern(sample.labels);
  row.kernel_stack = row.user_stack = {};
  row.words = {};
  row.switches = {};
  row.labels = {};
  row.state_text = intern_text(sample.state);
  row.waker_text = intern_text(sample.waker);
  row.state = row.waker = {};
  rows_.push_back(row);
  return shortened;
}

uint32_t SampleBatch::intern_text(std::string_view text) {
  if (text.empty())
    return 0;
  auto next = static_cast<uint32_t>(texts_.size());
  auto [known, is_new] = known_texts_.try_emplace(std::string(text), next);
  if (is_new) {
    texts_.push_back(known->first);
    texts_size_ += kMaxFieldOverhead + texts_.back().size();
  }
  return known->second;
}

RecordedSample SampleBatch::sample(const Row& row) const {
  RecordedSample sample = row;
  sample.kernel_stack = stack(row.kernel_index);
  sample.user_stack = stack(row.user_index);
  sample.words = top(row.top_index);
  sample.switches = switches(row.switch_list);
  sample.labels = labels(row.label_set);
  sample.state = texts_[row.state_text];
  sample.waker = texts_[row.waker_text];
  std::span<const uint64_t> creator = stack(row.creator_index);
  sample.creator = creator.empty() ? 0 : creator.front();
  return sample;
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

std::span<const StackSwitch> SampleBatch::switches(uint32_t list) const {
  assert(list < switch_list_count());
  return std::span(switches_).subspan(switch_begin_[list],
                                      switch_begin_[list + 1] - switch_begin_[list]);
}

size_t SampleBatch::size_in_memory() const {
  constexpr size_t kMaxRowSize = max_row_size();
  return (kTableCount + kColumnCount) * kMaxFieldOverhead + rows_.size() * kMaxRowSize +
         addresses_.size() * kMaxNodeSize + words_.size() * kMaxWordSize +
         switches_.size() * kMaxSwitchSize + label_sets_.size_in_memory() + texts_size_ +
         (stack_begin_.size() + top_begin_.size() + switch_begin_.size()) * kMaxStackNodeSize;
}

std::string SampleBatch::encode() const {
  StackTreeWriter alone;
  return encode(alone);
}

std::string SampleBatch::encode(StackTreeWriter& tree) const {
  tree.begin_chunk(addresses_.size());
  std::vector<uint32_t> stack_nodes;
  for (uint32_t i = 1; i < stack_count(); i++)
    stack_nodes.push_back(tree.add(stack(i)));
  std::vector<uint32_t> top_sizes;
  std::vector<uint32_t> register_sizes;
  for (uint32_t i = 1; i < top_count(); i++) {
    register_sizes.push_back(static_cast<uint32_t>(count_registers(top(i))));
    top_sizes.push_back(static_cast<uint32_t>(top(i).size()) - register_sizes.back());
  }
  std::vector<uint32_t> list_sizes;
  for (uint32_t i = 1; i < switch_list_count(); i++)
    list_sizes.push_back(static_cast<uint32_t>(switches(i).size()));
  std::vector<StackWord> words = words_;
  auto registers =
      std::stable_partition(words.begin(), words.end(), std::not_fn(&StackWord::is_register));

  std::string payload;
  payload.reserve(size_in_memory());
  pbf_writer out(payload);
  if (!stack_nodes.empty())
    write_nodes(out, tree.added());
  write_column(out, kStackNodes, stack_nodes, std::identity{});
  write_column(out, kDumpWords, top_sizes, std::identity{});
  write_words(out, std::span(words.begin(), registers));
  write_registers(out, register_sizes, std::span(registers, words.end()));
  write_switches(out, list_sizes, switches_);
  label_sets_.write(out, kLabelSets);
  for (const std::string& text : std::span(texts_).subspan(1))
    out.add_bytes(kTexts, text);
  for_each_column([&](const auto& column) { write(out, column, rows_); });
  return payload;
}

}  // namespace gosym::raw
