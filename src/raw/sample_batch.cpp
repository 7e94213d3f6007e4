#include "raw/sample_batch.h"

#include <xxhash.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <concepts>
#include <functional>
#include <optional>
#include <vector>

#include "base/protobuf.h"
#include "raw/messages.h"
#include "raw/sample_fields.h"
#include "raw/sample_limits.h"

// A chunk of samples is a set of tables and rows that refer to them by number. The first part
// interns what a recorder adds and writes it in columns, coded to keep the numbers small. The
// second part reads them back in this order: tables; then the length of columns, which must
// agree; then rows; then the check that drops rows that refer to something wrong. The third is
// the tree of stacks that chunks share, the last the sets of labels.

namespace gosym::raw {

namespace {

using protozero::pbf_writer;

// Size of a field without its contents: a tag of up to two bytes and a length, or a number, of
// up to five.
constexpr size_t kMaxFieldOverhead = 7;
constexpr size_t kTableCount =
    kRegisterValues + (kTimeShift - kTexts);  // fields that are neither columns nor repeated
// A varint takes up to ten bytes for 64 bits and five for 32.
constexpr size_t kMaxAddressSize = 10;
constexpr size_t kMaxNodeSize = 5 + kMaxAddressSize;
constexpr size_t kMaxStackNodeSize = 5;  // and of each of what a top has once
constexpr size_t kTopNumbers = 5;        // its sizes, its base and its outermost word
constexpr size_t kMaxWordSize = 5 + kMaxAddressSize;
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
  protozero::packed_field_uint64 column(out, field);
  for (const auto& element : elements)
    column.add_element(static_cast<uint64_t>(std::invoke(value_of, element)));
}

// The number of the register and the kind of its value in one number.
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

// These are behind all others.
std::span<const StackWord> without_registers(std::span<const StackWord> top) {
  while (!top.empty() && top.back().is_register())
    top = top.first(top.size() - 1);
  return top;
}

// A place is told by how far above its word it is. Such distances are multiples of 8, as a
// rule, and small if the three bits that are 0 come last. Places and offsets are far below
// 4 GiB; only the distance of a word that is 0 is negative, and goes round in both directions.
uint32_t height_of(const StackWord& word) {
  return std::rotr(static_cast<uint32_t>(word.value - word.offset), 3);
}

uint64_t place_at(uint64_t offset, uint32_t height) {
  return static_cast<uint32_t>(offset) + std::rotl(height, 3);
}

// A word, told from a stack pointer that is `shift` bytes further in; none if it is beyond the
// limits of a word there.
std::optional<StackWord> moved(StackWord word, uint64_t shift) {
  bool is_place = word.is_place() && !word.is_zero();
  word.offset += shift;
  if (is_place)
    word.value += shift;
  bool is_still_place = word.is_place() && !word.is_zero();
  if (word.offset >= kMaxWordOffset || (is_place && !is_still_place))
    return std::nullopt;
  return word;
}

// The number of outermost words that two stacks share, the outermost of both taken to be at one
// place: a thread is mostly sampled again before it returns to its outer callers.
uint32_t count_shared(std::span<const StackWord> before, std::span<const StackWord> now) {
  if (before.empty() || now.empty())
    return 0;
  // The words are compared from the outermost inward, as offsets from where both begin.
  uint64_t shift = now.back().offset - before.back().offset;
  auto [in_before, in_now] = std::ranges::mismatch(
      before.rbegin(), before.rend(), now.rbegin(), now.rend(),
      [&](const StackWord& one, const StackWord& other) { return moved(one, shift) == other; });
  return static_cast<uint32_t>(in_now - now.rbegin());
}

// The columns of the tops: of each the words that it does not share with its base, from the
// outermost inward. Distances repeat where code is run again, which offsets from the stack
// pointer do not.
class TopColumns {
public:
  // `distance` is how many tops before it the base is.
  void add(std::span<const StackWord> top, std::span<const StackWord> base, uint32_t distance) {
    std::span<const StackWord> words = without_registers(top);
    uint32_t shared = count_shared(without_registers(base), words);
    sizes_.push_back(static_cast<uint32_t>(words.size()) - shared);
    bases_.push_back(shared == 0 ? 0 : distance);
    shared_.push_back(shared);
    outermost_.push_back(words.empty() ? 0 : words.back().offset / 8);
    // The outermost word counts from itself, each other one from the word further out.
    size_t outer = words.size() - std::max(shared, 1U);
    for (size_t i = words.size() - shared; i-- > 0; outer = i)
      add_word(words[i], words[outer].offset);
    std::span<const StackWord> registers = top.subspan(words.size());
    register_sizes_.push_back(static_cast<uint32_t>(registers.size()));
    registers_.insert(registers_.end(), registers.begin(), registers.end());
  }

  void write(pbf_writer& out) const {
    write_column(out, kDumpWords, sizes_, std::identity{});
    write_column(out, kDumpBases, bases_, std::identity{});
    write_column(out, kDumpShared, shared_, std::identity{});
    write_column(out, kDumpOutermost, outermost_, std::identity{});
    write_column(out, kWordSteps, steps_, std::identity{});
    write_differences(out, kWordAddresses, addresses_, std::identity{});
    write_column(out, kWordHeights, heights_, std::identity{});
    write_registers(out, register_sizes_, registers_);
  }

private:
  void add_word(const StackWord& word, uint64_t outer_offset) {
    uint64_t step = (outer_offset - word.offset) / 8;
    steps_.push_back(static_cast<uint32_t>(2 * step + (word.is_place() ? kIsPlace : 0)));
    if (word.is_place())
      heights_.push_back(height_of(word));
    else
      addresses_.push_back(word.value);
  }

  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> bases_;
  std::vector<uint32_t> shared_;
  std::vector<uint64_t> outermost_;
  std::vector<uint32_t> steps_;
  std::vector<uint64_t> addresses_;
  std::vector<uint32_t> heights_;
  std::vector<uint32_t> register_sizes_;
  std::vector<StackWord> registers_;
};

// The low bits that are 0 in all times. Recorders round these: times are otherwise a third of a
// sample of Go code.
uint32_t common_shift(std::span<const SampleBatch::Row> rows) {
  uint64_t bits = 0;
  for (const SampleBatch::Row& row : rows)
    // A bit that is 1 in any of the times stays.
    bits |= row.time;
  // Times of 0 have no bit to stop at: a reader refuses a shift by 64.
  return bits == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(bits));
}

// Codes numbers that are mostly 0 or one more than the largest so far: 0 as itself, others as 1
// and their distance below the largest, which is negative for a new one. Writer and reader pass
// the same numbers in the same order.
class NewestCoding {
public:
  uint64_t encode(uint64_t number) {
    if (number == 0)
      return 0;
    uint64_t coded = 1 + protozero::encode_zigzag64(static_cast<int64_t>(newest_ - number));
    pass(number);
    return coded;
  }
  uint64_t decode(uint64_t coded) {
    if (coded == 0)
      return 0;
    uint64_t number = newest_ - static_cast<uint64_t>(protozero::decode_zigzag64(coded - 1));
    pass(number);
    return number;
  }
  void pass(uint64_t number) { newest_ = std::max(newest_, number); }

private:
  uint64_t newest_ = 0;
};

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
           std::span<const SampleBatch::Row> rows, uint32_t time_shift) {
  // Columns that older versions had are read, and no longer written.
  if (column.presence == Presence::kOld)
    return;
  auto number = [&](const SampleBatch::Row& row) { return number_of(column, row); };
  if (column.presence == Presence::kOptional &&
      std::ranges::all_of(rows, [&](const auto& row) { return number(row) == 0; }))
    return;
  NewestCoding newest;
  switch (column.coding) {
    case Coding::kDifference:
      return write_differences(out, column.field, rows, number);
    case Coding::kTime:
      return write_differences(out, column.field, rows,
                               [&](const auto& row) { return number(row) >> time_shift; });
    case Coding::kNewest:
      return write_column(out, column.field, rows,
                          [&](const auto& row) { return newest.encode(number(row)); });
    case Coding::kPlain:
    case Coding::kPlusOne:
      return write_column(out, column.field, rows, number);
  }
}

// Keeps one copy of each sequence and gives its number i: it is [begins[i], begins[i + 1]) of
// the elements, and 0 is the empty one. Two with the same hash are not merged: the second is
// kept again each time.
template <class T>
uint32_t intern(std::span<const T> sequence, std::vector<T>& elements,
                std::vector<uint32_t>& begins, tsl::robin_map<uint64_t, uint32_t>& known) {
  if (sequence.empty())
    return 0;
  // The hash is of the bytes: elements have no padding.
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
  // The creator is a stack of one address, so that it is interned and coded as stacks are.
  std::span creator(&sample.creator, sample.creator != 0 ? 1 : 0);
  row.creator_index = intern<uint64_t>(creator, addresses_, stack_begin_, known_stacks_);
  row.top_index = intern(sample.words, words_, top_begin_, known_tops_);
  row.switch_list = intern(sample.switches, switches_, switch_begin_, known_switches_);
  row.label_set = label_sets_.intern(sample.labels);
  // The row has indices only: what the sample borrowed is gone when this returns.
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
  // Numbers become spans again, which are valid as long as the batch. None is beyond its table:
  // add() has made them, or decode() has left out rows with others.
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
         (stack_begin_.size() + kTopNumbers * top_begin_.size() + switch_begin_.size()) *
             kMaxStackNodeSize;
}

bool SampleBatch::is_full() const {
  // With more of them the tree of stacks would begin anew with each chunk.
  constexpr size_t kUsualAddresses = kUsualTreeSize / 4;
  return size_in_memory() >= kUsualSamplesSize || addresses_.size() >= kUsualAddresses;
}

std::string SampleBatch::encode() const {
  StackTreeWriter alone;
  return encode(alone);
}

std::string SampleBatch::encode(StackTreeWriter& tree) const {
  // Entry 0 of each table is the empty one, which is never written.
  tree.begin_chunk(addresses_.size());
  std::vector<uint32_t> stack_nodes;
  for (uint32_t i = 1; i < stack_count(); i++)
    stack_nodes.push_back(tree.add(stack(i)));
  std::vector<uint32_t> list_sizes;
  for (uint32_t i = 1; i < switch_list_count(); i++)
    list_sizes.push_back(static_cast<uint32_t>(switches(i).size()));
  TopColumns tops;
  std::vector<uint32_t> bases = top_bases();
  for (uint32_t i = 1; i < top_count(); i++)
    tops.add(top(i), top(bases[i]), i - bases[i]);
  uint32_t time_shift = common_shift(rows_);

  // The tables come before the rows, as readers check the one by the other.
  std::string payload;
  payload.reserve(size_in_memory());
  pbf_writer out(payload);
  if (!stack_nodes.empty())
    write_nodes(out, tree.added());
  // Stacks are mostly new, hence near the end of the tree: distances from there are small.
  write_column(out, kStackEnds, stack_nodes, [&](uint32_t node) { return tree.size() - node; });
  tops.write(out);
  write_switches(out, list_sizes, switches_);
  label_sets_.write(out, kLabelSets);
  for (const std::string& text : std::span(texts_).subspan(1))
    out.add_bytes(kTexts, text);
  // A column of zeros is left out, so new columns cost nothing where they are not used.
  if (time_shift != 0)
    out.add_uint32(kTimeShift, time_shift);
  for_each_column([&](const auto& column) { write(out, column, rows_, time_shift); });
  return payload;
}

// The top before it of the thread that first has it; 0 if there is none. A base has a smaller
// number than its top: readers, who take tops in their order, have it by then.
std::vector<uint32_t> SampleBatch::top_bases() const {
  std::vector<uint32_t> bases(top_count());
  std::vector<bool> are_known(top_count());
  tsl::robin_map<uint32_t, uint32_t> last;  // of each thread
  for (const Row& row : rows_) {
    if (row.top_index == 0)
      continue;
    // A thread's stack shares most with the one that the thread had before.
    uint32_t& before = last.try_emplace(row.tid, 0).first.value();
    if (!are_known[row.top_index] && before < row.top_index)
      bases[row.top_index] = before;
    are_known[row.top_index] = true;
    before = row.top_index;
  }
  return bases;
}

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

using Row = SampleBatch::Row;

// The tables that rows of a payload refer to, as they were read: nothing is checked yet.
struct Tables {
  NewNodes nodes;
  std::vector<uint32_t> stack_nodes;
  std::vector<uint32_t> top_sizes;
  std::vector<uint32_t> word_offsets;
  std::vector<uint64_t> word_addresses;
  std::vector<uint32_t> word_places;
  std::vector<uint32_t> top_bases;
  std::vector<uint32_t> top_shared;
  std::vector<uint32_t> top_outermost;
  std::vector<uint32_t> word_steps;
  std::vector<uint32_t> word_heights;
  std::vector<uint32_t> register_sizes;
  std::vector<uint32_t> registers;
  std::vector<uint64_t> register_values;
  std::vector<uint32_t> list_sizes;
  std::vector<uint32_t> switch_starts;
  std::vector<uint32_t> switch_words;
  std::vector<uint32_t> switch_frames;
  LabelSets label_sets;
  std::vector<std::string> texts = {""};
  std::vector<uint32_t> stack_ends;
  uint32_t time_shift = 0;

  // Version 1 tells words by their offsets.
  bool has_offsets() const { return top_outermost.empty(); }
};

// Notes parts of a payload that are beyond the limits of the format, or not there: only the
// rows that refer to them are left out.
class Damage {
public:
  // Gives `is_wrong`; of the first that is wrong `describe` says how.
  template <class Describe>
  bool has(bool is_wrong, Describe describe) {
    if (is_wrong && problem_.empty())
      problem_ = describe();
    return is_wrong;
  }
  std::string take_problem() { return std::move(problem_); }

private:
  std::string problem_;
};

// Reads a packed field in place of get_packed_uint64(), whose iterators decode each number
// twice: for its value, and to come to the next. A malformed number throws, which
// read_protobuf() makes an error.
template <class Take>
void read_numbers(pbf_reader& in, Take take) {
  protozero::data_view packed = in.get_view();
  const char* end = packed.data() + packed.size();
  for (const char* next = packed.data(); next != end;)
    take(protozero::decode_varint(&next, end));
}

uint64_t difference(uint64_t number) {
  return static_cast<uint64_t>(protozero::decode_zigzag64(number));
}

void read_differences(pbf_reader& in, std::vector<uint64_t>& values) {
  uint64_t before = values.empty() ? 0 : values.back();
  // A packed field may be split into several by the format; the next part goes on where the
  // last one ended.
  read_numbers(in, [&](uint64_t number) { values.push_back(before += difference(number)); });
}

// The most numbers that can be read of a packed field. Each ends with its only byte below 0x80:
// to count these takes no decoding.
size_t count_numbers(protozero::data_view packed) {
  std::string_view bytes(packed.data(), packed.size());
  return static_cast<size_t>(
      std::ranges::count_if(bytes, [](char byte) { return (byte & 0x80) == 0; }));
}

// Most numbers of a recording are in such columns: room for all of one is made at once.
void read_column(pbf_reader& in, std::vector<uint32_t>& values) {
  pbf_reader ahead = in;
  size_t known = values.size();
  values.resize(known + count_numbers(ahead.get_view()));
  // Each number that is read has been counted.
  uint32_t* next = values.data() + known;
  read_numbers(in, [&](uint64_t number) { *next++ = static_cast<uint32_t>(number); });
}

// Reads a field that the caller has found to be a number.
void read_number(pbf_reader& in, Tables& tables) {
  switch (in.tag()) {
    case kTree:
      tables.nodes.tree = in.get_uint32();
      return;
    case kFirstNode:
      tables.nodes.first = in.get_uint32();
      return;
    case kTimeShift:
      tables.time_shift = in.get_uint32();
      return;
    default:
      return in.skip();
  }
}

// Takes the tables of both versions, a payload having those of one: Tables::has_offsets() tells
// them apart. A field that comes in several parts goes on, and one of a later version is
// skipped.
void read_table(pbf_reader& in, Tables& tables) {
  switch (in.tag()) {
    case kCallers:
      return read_column(in, tables.nodes.distances);
    case kNodeAddresses:
      return read_differences(in, tables.nodes.addresses);
    case kStackNodes:
      return read_column(in, tables.stack_nodes);
    case kDumpWords:
      return read_column(in, tables.top_sizes);
    case kWordOffsets:
      return read_column(in, tables.word_offsets);
    case kWordAddresses:
      return read_differences(in, tables.word_addresses);
    case kWordPlaces:
      return read_column(in, tables.word_places);
    case kStackEnds:
      return read_column(in, tables.stack_ends);
    case kDumpBases:
      return read_column(in, tables.top_bases);
    case kDumpShared:
      return read_column(in, tables.top_shared);
    case kDumpOutermost:
      return read_column(in, tables.top_outermost);
    case kWordSteps:
      return read_column(in, tables.word_steps);
    case kWordHeights:
      return read_column(in, tables.word_heights);
    case kDumpRegisters:
      return read_column(in, tables.register_sizes);
    case kRegisters:
      return read_column(in, tables.registers);
    case kRegisterValues:
      return read_numbers(in, [&](uint64_t n) { tables.register_values.push_back(n); });
    case kListSwitches:
      return read_column(in, tables.list_sizes);
    case kSwitchStarts:
      return read_column(in, tables.switch_starts);
    case kSwitchWords:
      return read_column(in, tables.switch_words);
    case kSwitchFrames:
      return read_column(in, tables.switch_frames);
    case kLabelSets:
      return tables.label_sets.read(in.get_message());
    case kTexts:
      tables.texts.push_back(in.get_string());
      return;
    default:
      return in.skip();
  }
}

// Calls `use(column, its number among the columns)` where `in` stands at one; false elsewhere.
template <class Use>
bool at_column(const pbf_reader& in, Use use) {
  bool is_found = false;
  size_t number = 0;
  for_each_column([&](const auto& column) {
    if (column.field == in.tag()) {
      use(column, number);
      is_found = true;
    }
    number++;
  });
  return is_found;
}

using ColumnSizes = std::array<size_t, kColumnCount>;

// Reads the tables, and of the columns only how many numbers they have: rows are allocated
// once all columns are known to have equally many.
void read_tables(pbf_reader in, Tables& tables, ColumnSizes& sizes) {
  while (in.next()) {
    if (in.wire_type() == pbf_wire_type::varint) {
      read_number(in, tables);
      continue;
    }
    if (in.wire_type() != pbf_wire_type::length_delimited) {
      in.skip();
      continue;
    }
    auto count = [&](const auto&, size_t number) {
      sizes[number] += count_numbers(in.get_view());
    };
    if (!at_column(in, count))
      read_table(in, tables);
  }
}

Result<size_t> count_rows(const ColumnSizes& sizes) {
  // Times are the first column, and every version has them.
  size_t count = sizes.front();  // of times
  Result<size_t> rows = count;
  size_t number = 0;
  for_each_column([&](const auto& column) {
    size_t size = sizes[number++];
    bool may_lack = column.presence != Presence::kNeeded && size == 0;
    if (rows && size != count && !may_lack)
      rows = errorf("columns of {} and of {} samples", count, size);
  });
  return rows;
}

// A later version may know more ways for a stack to end early.
void set(StackEnd& value, uint64_t number) {
  value = number <= static_cast<uint64_t>(StackEnd::kCallFromC) ? static_cast<StackEnd>(number)
                                                                : StackEnd::kUnreadable;
}

template <std::unsigned_integral T>
void set(T& value, uint64_t number) {
  value = static_cast<T>(number);
}

template <class Owner, class T>
void fill(pbf_reader& in, const Column<Owner, T>& column, size_t& next, std::span<Row> rows) {
  // A column may come in several parts, too: its state is that of the rows that are filled
  // already. `next` cannot pass the end: read_tables() has counted the numbers of all parts,
  // and there are as many rows.
  uint64_t before = next == 0 ? 0 : static_cast<uint64_t>(rows[next - 1].*column.member);
  NewestCoding newest;
  if (column.coding == Coding::kNewest)
    for (const Row& row : rows.first(next))
      newest.pass(static_cast<uint64_t>(row.*column.member));
  read_numbers(in, [&](uint64_t number) {
    if (column.coding == Coding::kDifference || column.coding == Coding::kTime)
      number = before += difference(number);
    else if (column.coding == Coding::kNewest)
      number = newest.decode(number);
    else if (column.coding == Coding::kPlusOne)
      number--;
    set(rows[next++].*column.member, number);
  });
}

// Reads the columns in a second pass: each is known to have as many numbers as there are rows.
void fill_rows(pbf_reader in, std::span<Row> rows, uint32_t time_shift) {
  ColumnSizes next{};
  while (in.next()) {
    auto fill_column = [&](const auto& column, size_t number) {
      fill(in, column, next[number], rows);
    };
    if (in.wire_type() != pbf_wire_type::length_delimited || !at_column(in, fill_column))
      in.skip();
  }
  // A separate pass, since the differences of the column are of shifted times.
  for (Row& row : rows)
    row.time <<= time_shift;
}

// Fails unless the sizes use up all elements.
Result<> check_sizes(const std::vector<uint32_t>& sizes, size_t count, std::string_view what,
                     std::string_view element) {
  size_t left = count;
  for (uint32_t size : sizes) {
    if (size > left)
      return errorf("{}s of more than {} {}", what, count, element);
    left -= size;
  }
  if (left != 0)
    return errorf("{}s leave {} of {} {} over", what, left, count, element);
  return Ok{};
}

// The stacks of a chunk, out of the tree. Stack i is [begins[i], begins[i + 1]) of the
// addresses.
struct Stacks {
  std::vector<uint64_t> addresses;
  std::vector<uint32_t> begins = {0, 0};
  std::vector<bool> are_cut = {false};  // callers were lost
  std::vector<bool> are_wrong = {false};

  uint32_t count() const { return static_cast<uint32_t>(are_cut.size()); }
  uint32_t size(uint32_t stack) const { return begins[stack + 1] - begins[stack]; }
};

Result<Stacks> take_stacks(const Tables& tables, StackTreeReader& tree, Damage& damage) {
  using Found = StackTreeReader::Found;
  Stacks stacks;
  // A chunk whose samples have no stacks does not move the tree: nothing that came before is
  // forgotten.
  bool has_nodes = tables.nodes.tree != 0 || tables.nodes.first != 0 ||
                   !tables.nodes.distances.empty() || !tables.stack_nodes.empty() ||
                   !tables.stack_ends.empty();
  if (!has_nodes)
    return stacks;
  if (auto added = tree.add(tables.nodes); !added)
    return std::move(added).error();
  // A node of a few bytes may stand for kMaxStackSize addresses, any number of times: what is
  // read is bounded as a whole, or a small payload could ask for all memory.
  size_t read = 0;  // addresses, those of stacks that are left out included
  std::vector<uint32_t> nodes = tables.stack_nodes;
  for (uint32_t end : tables.stack_ends)
    nodes.push_back(tree.size() - end);  // of one before node 0 a number that no node has
  for (uint32_t node : nodes) {
    size_t begin = stacks.addresses.size();
    Found found = tree.append_stack(node, stacks.addresses);
    read += stacks.addresses.size() - begin;
    if (read > kMaxStackAddresses)
      return errorf("stacks of more than {} addresses", kMaxStackAddresses);
    // A wrong stack costs the samples that refer to it, not the chunk: it stays in the table,
    // as an empty one, so that numbers of those behind it are right.
    bool is_wrong = damage.has(found == Found::kNoNode, [&] {
      return fmt::format("stack at node {} of {}", node, tree.size());
    });
    is_wrong |= damage.has(found == Found::kTooDeep, [&] {
      return fmt::format("a stack of more than {} addresses", kMaxStackSize);
    });
    if (is_wrong)
      stacks.addresses.resize(begin);
    stacks.begins.push_back(static_cast<uint32_t>(stacks.addresses.size()));
    stacks.are_cut.push_back(found == Found::kCut);
    stacks.are_wrong.push_back(is_wrong);
  }
  return stacks;
}

// Drops what lies outside of a cut: a kernel stack that was cut has no user code as its caller,
// a thread's stack that was cut no goroutine's stack.
void drop_beyond_cut(const Stacks& stacks, Row& row) {
  bool is_cut_in_kernel = stacks.are_cut[row.kernel_index];
  if (!is_cut_in_kernel && !stacks.are_cut[row.user_index])
    return;
  // The stack ends there for the report as well, which tells it as cut.
  row.user_end = StackEnd::kUnreadable;
  if (is_cut_in_kernel) {
    row.user_index = row.top_index = 0;
    row.frame_offset = kNoFrame;
  }
  // From here on numbers of frames are those of the stack that is left.
  uint32_t size = stacks.size(row.user_index);
  if (row.goroutine_start >= size)
    row.goroutine_start = 0;
  if (row.gap >= size)
    row.gap = row.missing = 0;
  // The creator of a goroutine lies beyond the outermost frame of its stack.
  row.creator_index = 0;
}

// The tops of a chunk. Top i is [begins[i], begins[i + 1]) of the words; one that is wrong has
// none.
struct Tops {
  std::vector<StackWord> words;
  std::vector<uint32_t> begins = {0, 0};
  std::vector<bool> are_wrong = {false};
};

// Fails unless there are as many of all that belongs together.
Result<> check_tops(const Tables& tables) {
  bool is_old = tables.has_offsets();
  const std::vector<uint32_t>& words = is_old ? tables.word_offsets : tables.word_steps;
  size_t place_count = (is_old ? tables.word_places : tables.word_heights).size();
  if (auto sound = check_sizes(tables.top_sizes, words.size(), "top", "words"); !sound)
    return sound;
  auto places = static_cast<size_t>(
      std::ranges::count_if(words, [](uint32_t c) { return (c & kIsPlace) != 0; }));
  if (places != place_count || words.size() - places != tables.word_addresses.size())
    return errorf("{} words, where there are {} addresses and {} places", words.size(),
                  tables.word_addresses.size(), place_count);
  size_t tops = is_old ? 0 : tables.top_sizes.size();
  if (tables.top_outermost.size() != tops || tables.top_bases.size() != tops ||
      tables.top_shared.size() != tops)
    return errorf("{} tops, where there are {} outermost words and {} bases of which {} share",
                  tops, tables.top_outermost.size(), tables.top_bases.size(),
                  tables.top_shared.size());
  if (tables.register_sizes.empty() && tables.registers.empty())
    return Ok{};
  if (tables.register_sizes.size() != tables.top_sizes.size() ||
      tables.registers.size() != tables.register_values.size())
    return errorf("{} sizes of registers of {} tops, {} values of {}",
                  tables.register_sizes.size(), tables.top_sizes.size(),
                  tables.register_values.size(), tables.registers.size());
  return check_sizes(tables.register_sizes, tables.registers.size(), "top", "registers");
}

// Reads the tops one after the other, after check_tops(): the columns have as many numbers as
// all tops together take, so that none is read beyond the end.
class TopReader {
public:
  TopReader(const Tables& tables, Damage& damage) : tables_(tables), damage_(damage) {}

  Result<Tops> read() {
    Tops tops;
    for (size_t i = 0; i < tables_.top_sizes.size(); i++) {
      uint32_t registers = tables_.register_sizes.empty() ? 0 : tables_.register_sizes[i];
      size_t begin = tops.words.size();
      bool is_wrong = is_too_large(registers, kMaxRegisters, "registers");
      // All of a dump is taken from the columns even if it is wrong, or those behind it would
      // get its words.
      is_wrong |= tables_.has_offsets() ? !add_words_by_offset(i, tops.words)
                                        : !add_words_by_step(i, tops);
      for (uint32_t j = 0; j < registers; j++)
        is_wrong |= !add_register(tops.words);
      // Stacks are bounded in this way, too: a few bytes may stand for kMaxTopWords words, any
      // number of times.
      if (tops.words.size() > kMaxChunkWords)
        return errorf("tops of more than {} words", kMaxChunkWords);
      if (is_wrong)
        tops.words.resize(begin);
      tops.begins.push_back(static_cast<uint32_t>(tops.words.size()));
      tops.are_wrong.push_back(is_wrong);
    }
    return tops;
  }

private:
  // Version 1: each word with its offset from the stack pointer, innermost first.
  bool add_words_by_offset(size_t top, std::vector<StackWord>& words) {
    uint32_t size = tables_.top_sizes[top];
    bool is_sound = !is_too_large(size, kMaxTopWords, "words");
    for (uint32_t i = 0; i < size; i++) {
      uint32_t coded = tables_.word_offsets[word_++];
      bool is_place = (coded & kIsPlace) != 0;
      uint64_t value =
          is_place ? tables_.word_places[place_++] : tables_.word_addresses[address_++];
      is_sound &= add_word({coded & ~kIsPlace, value}, is_place, words);
    }
    return is_sound;
  }

  // Outermost first, as the columns have them; then they are turned round.
  bool add_words_by_step(size_t top, Tops& tops) {
    size_t begin = tops.words.size();
    uint64_t offset = uint64_t{8} * tables_.top_outermost[top];
    uint64_t size = uint64_t{tables_.top_sizes[top]} + tables_.top_shared[top];
    bool is_sound = !is_too_large(size, kMaxTopWords, "words") && add_shared(top, offset, tops);
    if (tops.words.size() > begin)
      offset = tops.words.back().offset;
    for (uint32_t i = 0; i < tables_.top_sizes[top]; i++) {
      uint32_t coded = tables_.word_steps[word_++];
      bool is_place = (coded & kIsPlace) != 0;
      // One below the stack pointer wraps around, to an offset that no word may have.
      offset -= uint64_t{8} * (coded / 2);
      uint64_t value = is_place ? place_at(offset, tables_.word_heights[place_++])
                                : tables_.word_addresses[address_++];
      is_sound &= add_word({offset, value}, is_place, tops.words);
    }
    std::reverse(tops.words.begin() + static_cast<ptrdiff_t>(begin), tops.words.end());
    return is_sound;
  }

  // The words that a top has in common with its base, of which the outermost is at this offset.
  bool add_shared(size_t top, uint64_t outermost, Tops& tops) {
    uint32_t count = tables_.top_shared[top];
    uint32_t distance = tables_.top_bases[top];
    size_t number = top + 1;
    if (count == 0)
      return true;
    auto tell = [&] { return fmt::format("top {} with {} words of another", number, count); };
    if (damage_.has(distance == 0 || distance >= number, tell))
      return false;
    // Tops are numbered from 1, and those before this one have been read: `begins` has them.
    // Registers, which lie behind the words, are never shared.
    size_t base_begin = tops.begins[number - distance];
    size_t base_size =
        without_registers(
            std::span(tops.words)
                .subspan(base_begin, tops.begins[number - distance + 1] - base_begin))
            .size();
    if (damage_.has(count > base_size, tell))
      return false;
    size_t next = base_begin + base_size;
    uint64_t shift = outermost - tops.words[next - 1].offset;
    for (uint32_t i = 0; i < count; i++) {
      auto word = moved(tops.words[--next], shift);
      if (damage_.has(!word || !is_possible(*word), tell))
        return false;
      tops.words.push_back(*word);
    }
    return true;
  }

  bool is_too_large(uint64_t size, uint64_t most, std::string_view element) {
    return damage_.has(size > most, [&] {
      return fmt::format("a top of {} {}, where {} are allowed", size, element, most);
    });
  }

  bool add_word(const StackWord& word, bool is_place, std::vector<StackWord>& words) {
    words.push_back(word);
    return !damage_.has(word.offset >= kMaxWordOffset || !is_possible(word), [&] {
      return fmt::format("a word at offset {} of a stack", word.offset);
    }) && !damage_.has(word.is_place() != is_place, [&] {
      return fmt::format("a word of {:#x} as {}", word.value,
                         is_place ? "a place" : "an address");
    });
  }

  bool add_register(std::vector<StackWord>& words) {
    uint32_t code = tables_.registers[register_];
    uint64_t value = tables_.register_values[register_++];
    uint32_t kind = code % kRegisterKinds;
    StackWord word = {offset_of_register(code / kRegisterKinds), value};
    bool is_address = !word.is_place() && !word.is_number();
    bool is_of_kind = (kind == kRegisterPlace && word.is_place()) || kind == kRegisterNumber ||
                      (kind == kRegisterAddress && is_address);
    // A number is marked in the word, and so must not have that bit itself.
    if (kind == kRegisterNumber)
      word.value |= StackWord::kNumber;
    bool is_wrong = !is_of_kind || !is_possible(word) ||
                    (kind == kRegisterNumber && value >= StackWord::kNumber);
    words.push_back(word);
    return !damage_.has(is_wrong,
                        [&] { return fmt::format("a register {} with {:#x}", code, value); });
  }

  const Tables& tables_;
  Damage& damage_;
  size_t word_ = 0;
  size_t place_ = 0;
  size_t address_ = 0;
  size_t register_ = 0;
};

// The lists of switches of a chunk. List i is [begins[i], begins[i + 1]) of the switches; one
// that is wrong has none.
struct SwitchLists {
  std::vector<StackSwitch> switches;
  std::vector<uint32_t> begins = {0, 0};
  std::vector<bool> are_wrong = {false};
};

Result<SwitchLists> take_switches(const Tables& tables, Damage& damage) {
  size_t count = tables.switch_starts.size();
  if (tables.switch_words.size() != count || tables.switch_frames.size() != count)
    return errorf("{} switches of stacks, with {} offsets of words and {} of frames", count,
                  tables.switch_words.size(), tables.switch_frames.size());
  // From here on the sizes add up to the length of the columns: the loops below need no bounds.
  if (auto sound = check_sizes(tables.list_sizes, count, "list", "switches"); !sound)
    return std::move(sound).error();
  // Undoes kPlusOne, the coding of such columns.
  auto offset = [](uint32_t number) { return number == 0 ? kNoFrame : uint64_t{number} - 1; };
  SwitchLists lists;
  size_t next = 0;
  for (uint32_t size : tables.list_sizes) {
    size_t begin = lists.switches.size();
    for (uint32_t i = 0; i < size; i++, next++)
      lists.switches.push_back({tables.switch_starts[next], offset(tables.switch_words[next]),
                                offset(tables.switch_frames[next])});
    // A wrong list is emptied and keeps its number, as a stack does.
    bool is_wrong = damage.has(!are_sound(std::span(lists.switches).subspan(begin)), [&] {
      return fmt::format("list {} of switches of stacks", lists.begins.size() - 1);
    });
    if (is_wrong)
      lists.switches.resize(begin);
    lists.begins.push_back(static_cast<uint32_t>(lists.switches.size()));
    lists.are_wrong.push_back(is_wrong);
  }
  return lists;
}

// Tells which sets are wrong, and empties them.
std::vector<bool> check_labels(LabelSets& sets, Damage& damage) {
  std::vector<bool> are_wrong(sets.size());
  for (uint32_t i = 0; i < sets.size(); i++) {
    std::span<const Label> set = sets[i];
    are_wrong[i] = damage.has(set.size() > kMaxLabels, [&] {
      return fmt::format("a set of {} labels, where {} are allowed", set.size(), kMaxLabels);
    });
    for (const Label& label : set) {
      size_t size = std::max(label.key.size(), label.value.size());
      are_wrong[i] = are_wrong[i] || damage.has(size > kMaxLabelText, [&] {
        return fmt::format("a label of {} bytes, where {} are allowed", size, kMaxLabelText);
      });
    }
    if (are_wrong[i])
      sets.clear(i);
  }
  return are_wrong;
}

// Does the same with texts.
std::vector<bool> check_texts(std::span<std::string> texts, Damage& damage) {
  std::vector<bool> are_wrong;
  for (std::string& text : texts) {
    are_wrong.push_back(damage.has(text.size() > kMaxText, [&] {
      return fmt::format("a text of {} bytes, where {} are allowed", text.size(), kMaxText);
    }));
    if (are_wrong.back())
      text.clear();
  }
  return are_wrong;
}

// All that rows refer to.
struct Referred {
  Stacks stacks;
  Tops tops;
  SwitchLists lists;
  std::vector<bool> wrong_sets;
  std::vector<bool> wrong_texts;
};

// Leaves out the rows that refer to what is wrong or not there.
class RowChecker {
public:
  RowChecker(const Referred& referred, Damage& damage) : referred_(referred), damage_(damage) {}

  // Returns the number of samples that are left out.
  size_t check(std::vector<Row>& rows) {
    return std::erase_if(rows, [this](Row& row) {
      const Stacks& stacks = referred_.stacks;
      if (is_wrong(row.kernel_index, stacks.are_wrong, "stack") ||
          is_wrong(row.user_index, stacks.are_wrong, "stack") ||
          is_wrong(row.creator_index, stacks.are_wrong, "stack"))
        return true;
      // Before the others are checked: places beyond a cut are none that a sample refers to.
      drop_beyond_cut(stacks, row);
      return is_wrong(row.top_index, referred_.tops.are_wrong, "top") || is_wrong_frame(row) ||
             is_wrong(row.switch_list, referred_.lists.are_wrong, "list of switches") ||
             is_wrong(row.label_set, referred_.wrong_sets, "set of labels") ||
             is_wrong(row.state_text, referred_.wrong_texts, "text") ||
             is_wrong(row.waker_text, referred_.wrong_texts, "text") || is_wrong_event(row) ||
             is_wrong_goroutine(row) || is_wrong_gap(row);
    });
  }

private:
  // A number beyond the table is told here; the others were, where the table was read.
  bool is_wrong(uint32_t number, const std::vector<bool>& are_wrong, std::string_view what) {
    return damage_.has(number >= are_wrong.size(), [&] {
      return fmt::format("{} {} of {}", what, number, are_wrong.size() - 1);
    }) || are_wrong[number];
  }

  bool is_wrong_frame(const Row& row) {
    return damage_.has(!is_frame_offset(row.frame_offset), [&] {
      return fmt::format("a frame pointer at offset {} of a stack", row.frame_offset);
    });
  }

  bool is_wrong_event(const Row& row) {
    return damage_.has(row.event >= kMaxEvents,
                       [&] { return fmt::format("event {} of {}", row.event, kMaxEvents); });
  }

  bool is_wrong_goroutine(const Row& row) {
    uint32_t size = referred_.stacks.size(row.user_index);
    return damage_.has(row.goroutine_start != 0 && row.goroutine_start >= size, [&] {
      return fmt::format("a goroutine's stack from frame {} on, where there are {}",
                         row.goroutine_start, size);
    });
  }

  // A gap of 0 is none, and has nothing missing; else 1 to kMaxMissing frames are.
  bool is_wrong_gap(const Row& row) {
    uint32_t size = referred_.stacks.size(row.user_index);
    bool is_sound =
        row.gap == 0 ? row.missing == 0 : row.gap < size && row.missing - 1 < kMaxMissing;
    return damage_.has(!is_sound, [&] {
      return fmt::format("{} frames missing before frame {} of {}", row.missing, row.gap, size);
    });
  }

  const Referred& referred_;
  Damage& damage_;
};

}  // namespace

Result<> SampleBatch::read_ids(Bytes payload, const std::function<void(uint32_t)>& take) {
  return read_protobuf(payload, [&](pbf_reader in) {
    while (in.next()) {
      bool has_ids = in.wire_type() == pbf_wire_type::length_delimited &&
                     (in.tag() == kPids.field || in.tag() == kTids.field);
      if (!has_ids) {
        in.skip();
        continue;
      }
      std::optional<uint32_t> before;
      // Most samples follow one of the same thread: each run of equal numbers is told once.
      read_numbers(in, [&](uint64_t number) {
        auto id = static_cast<uint32_t>(number);
        if (id != before)
          take(id);
        before = id;
      });
    }
  });
}

Result<SampleBatch> SampleBatch::decode(Bytes payload) {
  StackTreeReader alone;
  return decode(payload, alone);
}

Result<SampleBatch> SampleBatch::decode(Bytes payload, StackTreeReader& tree) {
  Tables tables;
  ColumnSizes sizes{};
  auto done = read_protobuf(payload, [&](pbf_reader in) { read_tables(in, tables, sizes); });
  if (!done)
    return std::move(done).error();
  // Tables are checked one by one. A wrong entry is noted in `damage`; a table whose sizes do
  // not fit together ends the payload.
  Damage damage;
  auto stacks = take_stacks(tables, tree, damage);
  if (!stacks)
    return std::move(stacks).error();
  if (auto sound = check_tops(tables); !sound)
    return std::move(sound).error();
  auto lists = take_switches(tables, damage);
  if (!lists)
    return std::move(lists).error();
  // All columns have to be of one length before rows are made: a payload of a few bytes could
  // claim any number of them.
  auto count = count_rows(sizes);
  if (!count)
    return std::move(count).error();
  auto tops = TopReader(tables, damage).read();
  if (!tops)
    return std::move(tops).error();
  if (tables.time_shift >= 64)
    return errorf("times without their lower {} bits", tables.time_shift);
  Referred referred = {.stacks = *std::move(stacks),
                       .tops = *std::move(tops),
                       .lists = *std::move(lists),
                       .wrong_sets = check_labels(tables.label_sets, damage),
                       .wrong_texts = check_texts(tables.texts, damage)};
  SampleBatch batch;
  // A second pass over the payload writes the numbers into the rows, in place.
  batch.rows_.resize(*count);
  if (done = read_protobuf(
          payload, [&](pbf_reader in) { fill_rows(in, batch.rows_, tables.time_shift); });
      !done)
    return std::move(done).error();
  // Rows that refer to entries that are wrong, or not there, go. Whatever is left may be used
  // without a check.
  batch.left_out_ = RowChecker(referred, damage).check(batch.rows_);
  batch.problem_ = damage.take_problem();
  batch.addresses_ = std::move(referred.stacks.addresses);
  batch.stack_begin_ = std::move(referred.stacks.begins);
  batch.words_ = std::move(referred.tops.words);
  batch.top_begin_ = std::move(referred.tops.begins);
  batch.switches_ = std::move(referred.lists.switches);
  batch.switch_begin_ = std::move(referred.lists.begins);
  batch.label_sets_ = std::move(tables.label_sets);
  batch.texts_ = std::move(tables.texts);
  return batch;
}

namespace {

// Chunks that share a tree, each of a second or less. When one is lost, stacks in up to so many
// chunks are cut short; four times as many would save 1.5 bytes of 33 a sample of prometheus.
constexpr uint32_t kChunksOfTree = 20;

constexpr uint32_t kLost = UINT32_MAX;

}  // namespace

void StackTreeWriter::begin_chunk(size_t address_count) {
  // The check is by what the chunk may add at most, before any of it is added.
  bool is_full = size() + address_count > kUsualTreeSize;
  if (is_full || chunks_ == kChunksOfTree) {
    added_.tree++;
    chunks_ = 0;
    known_.clear();
  }
  chunks_++;
  added_.first = size() + 1;
  added_.distances.clear();
  added_.addresses.clear();
}

uint32_t StackTreeWriter::add(std::span<const uint64_t> stack) {
  uint32_t node = 0;
  // From the outermost frame inward, as each node needs that of its caller.
  for (size_t i = stack.size(); i-- > 0;) {
    uint32_t next = size() + 1;
    auto [known, is_new] = known_.try_emplace({stack[i], node}, next);
    if (is_new) {
      added_.distances.push_back(next - node);
      added_.addresses.push_back(stack[i]);
    }
    node = known->second;
  }
  return node;
}

Result<> StackTreeReader::add(const NewNodes& nodes) {
  if (nodes.first == 0 || nodes.distances.size() != nodes.addresses.size())
    return errorf("{} nodes with {} addresses, from number {} on", nodes.distances.size(),
                  nodes.addresses.size(), nodes.first);
  if (nodes.first > kMaxTreeSize || nodes.distances.size() > kMaxTreeSize - nodes.first)
    return errorf("{} nodes from number {} on, where {} are allowed", nodes.distances.size(),
                  nodes.first, kMaxTreeSize);
  if (nodes.tree == tree_ && nodes.first <= size())
    return errorf("node {} of tree {} again", nodes.first, nodes.tree);
  // A caller has a smaller number than its node. So there are no cycles, and a walk to the root
  // ends.
  for (size_t i = 0; i < nodes.distances.size(); i++)
    if (nodes.distances[i] == 0 || nodes.distances[i] > nodes.first + i)
      return errorf("node {} is called by one {} before it", nodes.first + i,
                    nodes.distances[i]);

  // Numbers between what is known and the first new node were in chunks that are lost: they are
  // filled with kLost, at which append_stack() cuts a stack.
  size_t kept = nodes.tree == tree_ ? callers_.size() : 1;
  tree_ = nodes.tree;
  callers_.resize(kept);
  callers_.resize(nodes.first, kLost);
  addresses_.resize(kept);
  addresses_.resize(nodes.first);
  for (uint32_t distance : nodes.distances)
    callers_.push_back(static_cast<uint32_t>(callers_.size()) - distance);
  addresses_.insert(addresses_.end(), nodes.addresses.begin(), nodes.addresses.end());
  return Ok{};
}

StackTreeReader::Found StackTreeReader::append_stack(uint32_t node,
                                                     std::vector<uint64_t>& addresses) const {
  if (node > size())
    return Found::kNoNode;
  // Callers have smaller numbers (add() has seen to it), so that this ends.
  for (uint32_t depth = 0; node != 0; node = callers_[node], depth++) {
    if (callers_[node] == kLost)
      return Found::kCut;
    if (depth == kMaxStackSize)
      return Found::kTooDeep;
    addresses.push_back(addresses_[node]);
  }
  return Found::kWhole;
}

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr uint32_t kLabel = 1;
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;

}  // namespace

uint32_t LabelSets::intern(std::span<const Label> labels) {
  if (labels.empty())
    return 0;
  std::vector<Label> set(labels.begin(), labels.end());
  auto [known, is_new] = numbers_.try_emplace(set, size());
  if (is_new) {
    encoded_size_ += kMaxFieldOverhead;
    // A label is a field itself, and has two.
    for (const Label& label : set)
      encoded_size_ += 3 * kMaxFieldOverhead + label.key.size() + label.value.size();
    sets_.push_back(std::move(set));
  }
  return known->second;
}

void LabelSets::write(pbf_writer& out, uint32_t field) const {
  for (const std::vector<Label>& set : std::span(sets_).subspan(1)) {
    pbf_writer labels(out, field);
    for (const Label& label : set) {
      pbf_writer texts(labels, kLabel);
      texts.add_string(kKey, label.key);
      texts.add_string(kValue, label.value);
    }
  }
}

// A set is a message of labels, each of them a message of a key and a value.
void LabelSets::read(pbf_reader in) {
  std::vector<Label>& set = sets_.emplace_back();
  while (in.next(kLabel, pbf_wire_type::length_delimited)) {
    Label& label = set.emplace_back();
    pbf_reader texts = in.get_message();
    while (texts.next()) {
      if (texts.tag_and_type() == tag_and_type(kKey, pbf_wire_type::length_delimited))
        label.key = texts.get_string();
      else if (texts.tag_and_type() == tag_and_type(kValue, pbf_wire_type::length_delimited))
        label.value = texts.get_string();
      else
        texts.skip();
    }
  }
}

}  // namespace gosym::raw
