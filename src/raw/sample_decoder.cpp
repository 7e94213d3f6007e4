#include <algorithm>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <vector>

#include "raw/format.h"
#include "raw/protobuf.h"
#include "raw/sample_batch.h"
#include "raw/sample_fields.h"

namespace gosym::raw {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

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
  std::vector<uint32_t> register_sizes;
  std::vector<uint32_t> registers;
  std::vector<uint64_t> register_values;
  std::vector<uint32_t> top;
  std::vector<uint32_t> frame;
  std::vector<uint32_t> bridge;
  std::vector<uint32_t> gap;
  std::vector<uint32_t> missing;
  std::vector<uint64_t> goid;
  std::vector<uint32_t> label_set;
  std::vector<uint32_t> event;
  std::vector<uint64_t> weight;
  std::vector<uint64_t> cgroup;
  LabelSets label_sets;
  NewNodes nodes;
  std::vector<uint32_t> stack_nodes;
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

void read_differences(pbf_reader& in, std::vector<uint64_t>& values) {
  uint64_t before = values.empty() ? 0 : values.back();
  read_numbers(in, [&](uint64_t number) {
    values.push_back(before += static_cast<uint64_t>(protozero::decode_zigzag64(number)));
  });
}

void read_column(pbf_reader& in, std::vector<uint32_t>& values) {
  read_numbers(in, [&](uint64_t number) { values.push_back(static_cast<uint32_t>(number)); });
}

void read_number(pbf_reader& in, Columns& columns) {
  switch (in.tag()) {
    case kTree:
      columns.nodes.tree = in.get_uint32();
      return;
    case kFirstNode:
      columns.nodes.first = in.get_uint32();
      return;
    default:
      return in.skip();
  }
}

void read_field(pbf_reader& in, Columns& columns) {
  if (in.wire_type() == pbf_wire_type::varint)
    return read_number(in, columns);
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
    case kRegisterSizes:
      return read_column(in, columns.register_sizes);
    case kRegisters:
      return read_column(in, columns.registers);
    case kRegisterValues:
      return read_numbers(in, [&](uint64_t n) { columns.register_values.push_back(n); });
    case kTop:
      return read_column(in, columns.top);
    case kFrame:
      return read_column(in, columns.frame);
    case kBridge:
      return read_column(in, columns.bridge);
    case kGap:
      return read_column(in, columns.gap);
    case kMissing:
      return read_column(in, columns.missing);
    case kGoid:
      return read_differences(in, columns.goid);
    case kLabelSet:
      return read_column(in, columns.label_set);
    case kLabelSets:
      return columns.label_sets.read(in.get_message());
    case kEvent:
      return read_column(in, columns.event);
    case kWeight:
      return read_differences(in, columns.weight);
    case kCgroup:
      return read_differences(in, columns.cgroup);
    case kCallers:
      return read_column(in, columns.nodes.distances);
    case kNodeAddresses:
      return read_differences(in, columns.nodes.addresses);
    case kStackNodes:
      return read_column(in, columns.stack_nodes);
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

// The stacks of the tree as if the chunk held them itself. Gives which of them are cut short.
Result<std::vector<bool>> take_stacks(Columns& columns, StackTree& tree) {
  std::vector<bool> are_cut(1 + columns.stack_nodes.size() + columns.stack_sizes.size());
  bool has_nodes = columns.nodes.tree != 0 || columns.nodes.first != 0 ||
                   !columns.nodes.distances.empty() || !columns.stack_nodes.empty();
  if (!has_nodes)
    return are_cut;
  if (!columns.stack_sizes.empty())
    return Error("stacks of two forms");
  if (auto added = tree.add(columns.nodes); !added)
    return std::move(added).error();
  for (size_t i = 0; i < columns.stack_nodes.size(); i++) {
    size_t begin = columns.addresses.size();
    auto is_whole = tree.append_stack(columns.stack_nodes[i], columns.addresses);
    if (!is_whole)
      return std::move(is_whole).error();
    if (columns.addresses.size() > kMaxStackAddresses)
      return errorf("stacks of more than {} addresses", kMaxStackAddresses);
    columns.stack_sizes.push_back(static_cast<uint32_t>(columns.addresses.size() - begin));
    are_cut[1 + i] = !*is_whole;
  }
  return are_cut;
}

// Of a sample only what lies within the cut is left: not the user code that lies outside of the
// kernel's, nor a goroutine's stack outside of the thread's.
void drop_beyond_cut(const std::vector<bool>& are_cut, Columns& columns) {
  auto clear = [](std::vector<uint32_t>& column, size_t i) {
    if (i < column.size())
      column[i] = 0;
  };
  auto clear_beyond = [&](uint32_t size, size_t i) {
    if (i < columns.bridge.size() && columns.bridge[i] >= size)
      clear(columns.bridge, i);
    if (i < columns.gap.size() && columns.gap[i] >= size) {
      clear(columns.gap, i);
      clear(columns.missing, i);
    }
  };
  for (size_t i = 0; i < columns.user_end.size(); i++) {
    bool is_cut_in_kernel = are_cut[columns.kernel_stack[i]];
    uint32_t stack = columns.user_stack[i];
    if (!is_cut_in_kernel && !are_cut[stack])
      continue;
    columns.user_end[i] = static_cast<uint32_t>(StackEnd::kUnreadable);
    if (is_cut_in_kernel)
      for (auto* column : {&columns.user_stack, &columns.top, &columns.frame, &columns.bridge,
                           &columns.gap, &columns.missing})
        clear(*column, i);
    else
      clear_beyond(columns.stack_sizes[stack - 1], i);
  }
}

Result<std::vector<StackWord>> words_of(const Columns& columns) {
  auto places = static_cast<size_t>(std::ranges::count_if(
      columns.word_offsets, [](uint32_t c) { return (c & kIsPlace) != 0; }));
  if (places != columns.word_places.size() ||
      columns.word_offsets.size() - places != columns.word_addresses.size())
    return errorf("{} words, where there are {} addresses and {} places",
                  columns.word_offsets.size(), columns.word_addresses.size(),
                  columns.word_places.size());
  std::vector<StackWord> words;
  words.reserve(columns.word_offsets.size());
  auto place = columns.word_places.begin();
  auto address = columns.word_addresses.begin();
  for (uint32_t coded : columns.word_offsets) {
    bool is_place = (coded & kIsPlace) != 0;
    uint32_t offset = coded & ~kIsPlace;
    if (offset % 8 != 0 || offset >= kMaxTopSize)
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
Result<> add_registers(const Columns& columns, std::vector<uint32_t>& tops,
                       std::vector<StackWord>& words) {
  if (columns.register_sizes.empty() && columns.registers.empty())
    return Ok{};
  if (columns.register_sizes.size() != columns.top_sizes.size() ||
      columns.registers.size() != columns.register_values.size())
    return errorf("{} sizes of registers of {} tops, {} values of {}",
                  columns.register_sizes.size(), columns.top_sizes.size(),
                  columns.register_values.size(), columns.registers.size());
  auto begins = begins_of(columns.register_sizes, columns.registers.size(), kMaxRegisters,
                          "top", "registers");
  if (!begins)
    return std::move(begins).error();
  std::vector<StackWord> joined;
  joined.reserve(words.size() + columns.registers.size());
  for (size_t top = 1; top + 1 < tops.size(); top++) {
    auto first = words.begin();
    joined.insert(joined.end(), first + tops[top], first + tops[top + 1]);
    for (size_t i = (*begins)[top]; i < (*begins)[top + 1]; i++) {
      auto word = to_register(columns.registers[i], columns.register_values[i]);
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

Result<> check_gaps(const Columns& columns) {
  if (columns.gap.size() != columns.missing.size())
    return errorf("gaps of {} stacks, and what is missing in {}", columns.gap.size(),
                  columns.missing.size());
  for (size_t i = 0; i < columns.gap.size(); i++) {
    uint32_t gap = columns.gap[i];
    uint32_t stack = columns.user_stack[i];
    uint32_t size = stack == 0 ? 0 : columns.stack_sizes[stack - 1];
    bool is_sound =
        gap == 0 ? columns.missing[i] == 0 : gap < size && columns.missing[i] - 1 < kMaxMissing;
    if (!is_sound)
      return errorf("{} frames missing before frame {} of {}", columns.missing[i], gap, size);
  }
  return Ok{};
}

// The columns that recorders before 1.2, 1.3 or 2.2 did not write.
Result<> check_later_columns(const Columns& columns) {
  size_t count = columns.time.size();
  for (size_t size :
       {columns.top.size(), columns.frame.size(), columns.bridge.size(), columns.gap.size(),
        columns.missing.size(), columns.goid.size(), columns.label_set.size(),
        columns.event.size(), columns.weight.size(), columns.cgroup.size()})
    if (size != 0 && size != count)
      return errorf("columns of {} and of {} samples", count, size);
  for (uint32_t top : columns.top)
    if (top > columns.top_sizes.size())
      return errorf("top {} of {}", top, columns.top_sizes.size());
  for (uint32_t frame : columns.frame)
    if (frame > kMaxFrameDistance + 1 || (frame != 0 && (frame - 1) % 8 != 0))
      return errorf("a frame pointer at offset {} of a stack", frame - 1);
  for (uint32_t set : columns.label_set)
    if (set >= columns.label_sets.size())
      return errorf("set of labels {} of {}", set, columns.label_sets.size() - 1);
  for (uint32_t event : columns.event)
    if (event >= kMaxEvents)
      return errorf("event {} of {}", event, kMaxEvents);
  for (size_t i = 0; i < columns.bridge.size(); i++)
    if (uint32_t stack = columns.user_stack[i], bridge = columns.bridge[i];
        bridge != 0 && (stack == 0 || bridge >= columns.stack_sizes[stack - 1]))
      return errorf("a goroutine's stack from frame {} on, where there are {}", bridge,
                    stack == 0 ? 0 : columns.stack_sizes[stack - 1]);
  if (auto sound = check_gaps(columns); !sound)
    return sound;
  return columns.label_sets.check();
}

uint64_t to_frame_offset(uint32_t coded) {
  return coded == 0 ? kNoFrame : coded - 1;
}

// A later version may know more ways for a stack to end early.
StackEnd to_stack_end(uint32_t number) {
  return number <= static_cast<uint32_t>(StackEnd::kLimit) ? static_cast<StackEnd>(number)
                                                           : StackEnd::kUnreadable;
}

}  // namespace

Result<> SampleBatch::read_ids(Bytes payload, const std::function<void(uint32_t)>& take) {
  return read_protobuf(payload, [&](pbf_reader in) {
    while (in.next()) {
      bool has_ids = in.wire_type() == pbf_wire_type::length_delimited &&
                     (in.tag() == kPid || in.tag() == kTid);
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
  StackTree alone;
  return decode(payload, alone);
}

Result<SampleBatch> SampleBatch::decode(Bytes payload, StackTree& tree) {
  Columns columns;
  auto done = read_protobuf(payload, [&](pbf_reader in) {
    while (in.next())
      read_field(in, columns);
  });
  if (!done)
    return std::move(done).error();
  auto are_cut = take_stacks(columns, tree);
  if (!are_cut)
    return std::move(are_cut).error();
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
  if (auto added = add_registers(columns, *tops, *words); !added)
    return std::move(added).error();
  if (auto sound = check_columns(columns); !sound)
    return std::move(sound).error();
  drop_beyond_cut(*are_cut, columns);
  if (auto sound = check_later_columns(columns); !sound)
    return std::move(sound).error();

  size_t count = columns.time.size();
  columns.top.resize(count);
  columns.frame.resize(count);
  columns.bridge.resize(count);
  columns.gap.resize(count);
  columns.missing.resize(count);
  columns.goid.resize(count);
  columns.label_set.resize(count);
  columns.event.resize(count);
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
                           .gap = columns.gap[i],
                           .missing = columns.missing[i],
                           .event = columns.event[i],
                           .weight = columns.weight[i],
                           .cgroup = columns.cgroup[i]});
  return batch;
}

}  // namespace gosym::raw
