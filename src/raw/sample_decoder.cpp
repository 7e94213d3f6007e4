#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <vector>

#include "base/protobuf.h"
#include "raw/format.h"
#include "raw/sample_batch.h"
#include "raw/sample_fields.h"

namespace gosym::raw {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

using Row = SampleBatch::Row;

// What the rows of a payload refer to, as it was read, nothing in it believed yet.
struct Tables {
  NewNodes nodes;
  std::vector<uint32_t> stack_nodes;
  std::vector<uint32_t> top_sizes;
  std::vector<uint32_t> word_offsets;
  std::vector<uint64_t> word_addresses;
  std::vector<uint32_t> word_places;
  std::vector<uint32_t> register_sizes;
  std::vector<uint32_t> registers;
  std::vector<uint64_t> register_values;
  LabelSets label_sets;
  std::vector<std::string> texts = {""};
};

// What get_packed_uint64() gives, whose iterators read each number twice: to tell it, and to
// come to the next.
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
  read_numbers(in, [&](uint64_t number) { values.push_back(before += difference(number)); });
}

void read_column(pbf_reader& in, std::vector<uint32_t>& values) {
  read_numbers(in, [&](uint64_t number) { values.push_back(static_cast<uint32_t>(number)); });
}

void read_number(pbf_reader& in, Tables& tables) {
  switch (in.tag()) {
    case kTree:
      tables.nodes.tree = in.get_uint32();
      return;
    case kFirstNode:
      tables.nodes.first = in.get_uint32();
      return;
    default:
      return in.skip();
  }
}

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
    case kDumpRegisters:
      return read_column(in, tables.register_sizes);
    case kRegisters:
      return read_column(in, tables.registers);
    case kRegisterValues:
      return read_numbers(in, [&](uint64_t n) { tables.register_values.push_back(n); });
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

// Of the columns only how many numbers they have: of rows there is nothing before it is known
// that all columns have as many.
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
      protozero::data_view packed = in.get_view();
      std::string_view bytes(packed.data(), packed.size());
      sizes[number] += static_cast<size_t>(
          std::ranges::count_if(bytes, [](char byte) { return (byte & 0x80) == 0; }));
    };
    if (!at_column(in, count))
      read_table(in, tables);
  }
}

Result<size_t> count_rows(const ColumnSizes& sizes) {
  size_t count = sizes.front();  // of times
  Result<size_t> rows = count;
  size_t number = 0;
  for_each_column([&](const auto& column) {
    size_t size = sizes[number++];
    bool may_lack = column.presence == Presence::kOptional && size == 0;
    if (rows && size != count && !may_lack)
      rows = errorf("columns of {} and of {} samples", count, size);
  });
  return rows;
}

// A later version may know more ways for a stack to end early.
void set(StackEnd& value, uint64_t number) {
  value = number <= static_cast<uint64_t>(StackEnd::kLimit) ? static_cast<StackEnd>(number)
                                                            : StackEnd::kUnreadable;
}

template <std::unsigned_integral T>
void set(T& value, uint64_t number) {
  value = static_cast<T>(number);
}

template <class Owner, class T>
void fill(pbf_reader& in, const Column<Owner, T>& column, size_t& next, std::span<Row> rows) {
  uint64_t before = next == 0 ? 0 : static_cast<uint64_t>(rows[next - 1].*column.member);
  read_numbers(in, [&](uint64_t number) {
    if (column.coding == Coding::kDifference)
      number = before += difference(number);
    set(rows[next++].*column.member, column.coding == Coding::kPlusOne ? number - 1 : number);
  });
}

// Of a payload that was read once: it has as many numbers of each column as there are rows.
void fill_rows(pbf_reader in, std::span<Row> rows) {
  ColumnSizes next{};
  while (in.next()) {
    auto fill_column = [&](const auto& column, size_t number) {
      fill(in, column, next[number], rows);
    };
    if (in.wire_type() != pbf_wire_type::length_delimited || !at_column(in, fill_column))
      in.skip();
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

// The stacks of a chunk, out of the tree. Stack i is [begins[i], begins[i + 1]) of the
// addresses.
struct Stacks {
  std::vector<uint64_t> addresses;
  std::vector<uint32_t> begins = {0, 0};
  std::vector<bool> are_cut = {false};  // callers were lost

  uint32_t count() const { return static_cast<uint32_t>(are_cut.size()); }
  uint32_t size(uint32_t stack) const { return begins[stack + 1] - begins[stack]; }
};

Result<Stacks> take_stacks(const Tables& tables, StackTreeReader& tree) {
  Stacks stacks;
  bool has_nodes = tables.nodes.tree != 0 || tables.nodes.first != 0 ||
                   !tables.nodes.distances.empty() || !tables.stack_nodes.empty();
  if (!has_nodes)
    return stacks;
  if (auto added = tree.add(tables.nodes); !added)
    return std::move(added).error();
  for (uint32_t node : tables.stack_nodes) {
    auto is_whole = tree.append_stack(node, stacks.addresses);
    if (!is_whole)
      return std::move(is_whole).error();
    if (stacks.addresses.size() > kMaxStackAddresses)
      return errorf("stacks of more than {} addresses", kMaxStackAddresses);
    stacks.begins.push_back(static_cast<uint32_t>(stacks.addresses.size()));
    stacks.are_cut.push_back(!*is_whole);
  }
  return stacks;
}

// Of a sample only what lies within the cut is left: not the user code that lies outside of the
// kernel's, nor a goroutine's stack outside of the thread's.
void drop_beyond_cut(const Stacks& stacks, Row& row) {
  bool is_cut_in_kernel = stacks.are_cut[row.kernel_index];
  if (!is_cut_in_kernel && !stacks.are_cut[row.user_index])
    return;
  row.user_end = StackEnd::kUnreadable;
  if (is_cut_in_kernel) {
    row.user_index = row.top_index = 0;
    row.frame_offset = kNoFrame;
  }
  uint32_t size = stacks.size(row.user_index);
  if (row.goroutine_start >= size)
    row.goroutine_start = 0;
  if (row.gap >= size)
    row.gap = row.missing = 0;
}

Result<std::vector<StackWord>> words_of(const Tables& tables) {
  auto places = static_cast<size_t>(std::ranges::count_if(
      tables.word_offsets, [](uint32_t c) { return (c & kIsPlace) != 0; }));
  if (places != tables.word_places.size() ||
      tables.word_offsets.size() - places != tables.word_addresses.size())
    return errorf("{} words, where there are {} addresses and {} places",
                  tables.word_offsets.size(), tables.word_addresses.size(),
                  tables.word_places.size());
  std::vector<StackWord> words;
  words.reserve(tables.word_offsets.size());
  auto place = tables.word_places.begin();
  auto address = tables.word_addresses.begin();
  for (uint32_t coded : tables.word_offsets) {
    bool is_place = (coded & kIsPlace) != 0;
    uint32_t offset = coded & ~kIsPlace;
    if (offset % 8 != 0 || offset >= kMaxWordOffset)
      return errorf("a word at offset {} of a stack", offset);
    words.push_back({offset, is_place ? *place++ : *address++});
    if (words.back().is_place() != is_place)
      return errorf("a word of {:#x} as {}", words.back().value,
                    is_place ? "a place" : "an address");
  }
  return words;
}

Result<StackWord> to_register(uint32_t code, uint64_t value) {
  uint32_t number = code / kRegisterKinds;
  uint32_t kind = code % kRegisterKinds;
  StackWord word = {offset_of_register(number), value};
  bool is_address = !word.is_place() && !word.is_number();
  bool is_sound = (kind == kRegisterPlace && word.is_place()) ||
                  (kind == kRegisterNumber && value <= UINT32_MAX) ||
                  (kind == kRegisterAddress && is_address);
  if (number >= kMaxRegisters || !is_sound)
    return errorf("a register {} with {:#x}", code, value);
  if (kind == kRegisterNumber)
    word.value += StackWord::kNumber;
  return word;
}

// Puts the registers of each top behind its words.
Result<> add_registers(const Tables& tables, std::vector<uint32_t>& tops,
                       std::vector<StackWord>& words) {
  if (tables.register_sizes.empty() && tables.registers.empty())
    return Ok{};
  if (tables.register_sizes.size() != tables.top_sizes.size() ||
      tables.registers.size() != tables.register_values.size())
    return errorf("{} sizes of registers of {} tops, {} values of {}",
                  tables.register_sizes.size(), tables.top_sizes.size(),
                  tables.register_values.size(), tables.registers.size());
  auto begins = begins_of(tables.register_sizes, tables.registers.size(), kMaxRegisters, "top",
                          "registers");
  if (!begins)
    return std::move(begins).error();
  std::vector<StackWord> joined;
  joined.reserve(words.size() + tables.registers.size());
  for (size_t top = 1; top + 1 < tops.size(); top++) {
    auto first = words.begin();
    joined.insert(joined.end(), first + tops[top], first + tops[top + 1]);
    for (size_t i = (*begins)[top]; i < (*begins)[top + 1]; i++) {
      auto word = to_register(tables.registers[i], tables.register_values[i]);
      if (!word)
        return std::move(word).error();
      joined.push_back(*word);
    }
  }
  for (size_t top = 0; top < tops.size(); top++)
    tops[top] += (*begins)[top];
  words = std::move(joined);
  return Ok{};
}

Result<> check_texts(std::span<const std::string> texts) {
  for (const std::string& text : texts)
    if (text.size() > kMaxText)
      return errorf("a text of {} bytes, where {} are allowed", text.size(), kMaxText);
  return Ok{};
}

Result<> check_gap(const Row& row, uint32_t stack_size) {
  bool is_sound =
      row.gap == 0 ? row.missing == 0 : row.gap < stack_size && row.missing - 1 < kMaxMissing;
  if (is_sound)
    return Ok{};
  return errorf("{} frames missing before frame {} of {}", row.missing, row.gap, stack_size);
}

// How many there are of what rows refer to, besides stacks.
struct Counts {
  size_t tops;
  size_t label_sets;
  size_t texts;
};

// Whether all that a row refers to is there; its stacks are.
Result<> check_row(const Row& row, const Stacks& stacks, const Counts& counts) {
  uint32_t size = stacks.size(row.user_index);
  if (row.top_index >= counts.tops)
    return errorf("top {} of {}", row.top_index, counts.tops - 1);
  if (row.frame_offset != kNoFrame &&
      (row.frame_offset > kMaxFrameDistance || row.frame_offset % 8 != 0))
    return errorf("a frame pointer at offset {} of a stack", row.frame_offset);
  if (row.label_set >= counts.label_sets)
    return errorf("set of labels {} of {}", row.label_set, counts.label_sets - 1);
  for (uint32_t text : {row.state_text, row.waker_text})
    if (text >= counts.texts)
      return errorf("text {} of {}", text, counts.texts - 1);
  if (row.event >= kMaxEvents)
    return errorf("event {} of {}", row.event, kMaxEvents);
  if (row.goroutine_start != 0 && row.goroutine_start >= size)
    return errorf("a goroutine's stack from frame {} on, where there are {}",
                  row.goroutine_start, size);
  return check_gap(row, size);
}

Result<> check_rows(std::span<Row> rows, const Stacks& stacks, const Counts& counts) {
  for (Row& row : rows) {
    for (uint32_t stack : {row.kernel_index, row.user_index})
      if (stack >= stacks.count())
        return errorf("stack {} of {}", stack, stacks.count() - 1);
    drop_beyond_cut(stacks, row);
    if (auto sound = check_row(row, stacks, counts); !sound)
      return sound;
  }
  return Ok{};
}

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
  auto stacks = take_stacks(tables, tree);
  if (!stacks)
    return std::move(stacks).error();
  auto tops =
      begins_of(tables.top_sizes, tables.word_offsets.size(), kMaxTopWords, "top", "words");
  if (!tops)
    return std::move(tops).error();
  auto words = words_of(tables);
  if (!words)
    return std::move(words).error();
  if (auto added = add_registers(tables, *tops, *words); !added)
    return std::move(added).error();
  if (auto sound = tables.label_sets.check(); !sound)
    return std::move(sound).error();
  if (auto sound = check_texts(tables.texts); !sound)
    return std::move(sound).error();
  auto count = count_rows(sizes);
  if (!count)
    return std::move(count).error();
  std::vector<Row> rows(*count);
  if (done = read_protobuf(payload, [&](pbf_reader in) { fill_rows(in, rows); }); !done)
    return std::move(done).error();
  Counts counts = {tops->size() - 1, tables.label_sets.size(), tables.texts.size()};
  if (auto sound = check_rows(rows, *stacks, counts); !sound)
    return std::move(sound).error();

  SampleBatch batch;
  batch.addresses_ = std::move(stacks->addresses);
  batch.stack_begin_ = std::move(stacks->begins);
  batch.words_ = *std::move(words);
  batch.top_begin_ = *std::move(tops);
  batch.label_sets_ = std::move(tables.label_sets);
  batch.texts_ = std::move(tables.texts);
  batch.rows_ = std::move(rows);
  return batch;
}

}  // namespace gosym::raw
