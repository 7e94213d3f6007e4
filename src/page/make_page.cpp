#include "page/make_page.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>

#include "base/sequence_pool.h"
#include "base/text.h"
#include "profile/own_code.h"
#include "view/frame_keys.h"

// page.proto tells of the tables and columns that are made here. Frames, owners and texts are
// numbered as they come, and at the end anew in the order that the page has them in.
namespace gosym::page {

namespace {

constexpr uint32_t kNone = UINT32_MAX;  // no frame, as of the root; or no node yet

// A file may say of any number of frames that they are left out.
uint32_t in_column(uint64_t number) {
  return static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
}

// Texts are numbered when all are known, for they are sorted then. Until then a column has the
// order in which they came.
class TextTable {
public:
  TextTable() { add({}); }

  uint32_t add(std::string_view text) {
    return static_cast<uint32_t>(texts_.intern(printable(text, room_)));
  }

  // The table, and the number of each text by the order in which they came.
  std::vector<uint32_t> write(Texts& table) const {
    // Sorted texts share their beginnings with the one before, of which only the length is
    // written.
    std::vector<uint32_t> order(texts_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [this](uint32_t id) { return texts_[StringId{id}]; });
    std::vector<uint32_t> numbers(texts_.size());
    std::string_view before;
    for (uint32_t id : order) {
      numbers[id] = static_cast<uint32_t>(table.shared.size());
      std::string_view text = texts_[StringId{id}];
      size_t shared = std::ranges::mismatch(before, text).in2 - text.begin();
      table.shared.push_back(static_cast<uint32_t>(shared));
      table.rest.push_back(static_cast<uint32_t>(text.size() - shared));
      table.bytes += text.substr(shared);
      before = text;
    }
    return numbers;
  }

private:
  StringPool texts_;
  std::string room_;
};

// A row of Frames, with the profile's numbers of functions and images.
struct FrameRow {
  uint32_t function = 0;  // 1 + its id
  uint32_t line = 0;
  uint32_t image = 0;
  uint32_t source = 0;
  uint32_t kind = 0;
  uint32_t is_inlined = 0;
  uint32_t unnamed = 0;
  uint32_t text = 0;
  uint32_t left_out = 0;
  uint32_t category = 0;
  uint32_t category_kind = 0;
  uint32_t is_own = 0;
  bool operator==(const FrameRow&) const = default;
};

// The frames of stacks.
class FrameTable {
public:
  FrameTable(const Profile& profile, TextTable& texts)
      : profile_(profile),
        texts_(texts),
        names_(profile, Dimension::Kind::kFunction),
        categories_(profile, Dimension::Kind::kCategory),
        frames_(profile.locations.size()) {}

  // The frames of a location, outermost first. Valid until the next call.
  std::span<const uint32_t> of(LocationId id) {
    std::vector<uint32_t>& frames = frames_[to_index(id)];
    if (frames.empty())
      add_location(id, frames);
    return frames;
  }

  // So many frames that are left out. No location of the profile stands for them, so that they
  // are not among frames_. Locations of kLeftOut have that number in the place of an address.
  uint32_t gap(uint64_t count) {
    Location location;
    location.address = RuntimeAddress{count};
    location.unnamed = Unnamed::kLeftOut;
    return add({.unnamed = static_cast<uint32_t>(location.unnamed),
                .text = texts_.add(profile_.unnamed_text(location)),
                .left_out = in_column(count)},
               {}, 0);
  }

  const FrameRow& operator[](uint32_t frame) const { return rows_[frame]; }

private:
  void add_location(LocationId id, std::vector<uint32_t>& frames) {
    const Location& location = profile_.locations[to_index(id)];
    FrameRow common = {.image = profile_.mappings[to_index(location.mapping)].image};
    // Code of FrameSource::kCallFrames has both, a function that tells where it begins and the
    // reason why it has no name.
    if (!profile_.is_named(location))
      common.unnamed = static_cast<uint32_t>(location.unnamed);
    std::span<const Frame> of_location = profile_.frames_of(location);
    std::span<const KeyId> categories = categories_.of(id);
    if (of_location.empty()) {
      // A location without frames has one key as a function, a gap as well.
      common.text = texts_.add(names_[names_.of(id).front()].text);
      // The address of a gap is the number of its frames.
      if (location.unnamed == Unnamed::kLeftOut)
        common.left_out = in_column(to_integer(location.address));
      common.is_own = is_own(profile_, location) ? 1 : 0;
      frames.push_back(add(common, categories, 0));
      return;
    }
    // Locations have the innermost frame first, paths the outermost.
    for (size_t i = of_location.size(); i-- > 0;) {
      FrameRow row = common;
      row.function = static_cast<uint32_t>(of_location[i].function) + 1;
      row.line = of_location[i].line;
      row.source = static_cast<uint32_t>(of_location[i].source);
      row.kind = static_cast<uint32_t>(of_location[i].kind);
      row.is_inlined = i + 1 < of_location.size() ? 1 : 0;
      row.is_own = is_own(profile_, location, of_location[i]) ? 1 : 0;
      frames.push_back(add(row, categories, i));
    }
  }

  // A gap in a stack has no category.
  // `frame` is its index in the location, as `categories` has them.
  uint32_t add(FrameRow row, std::span<const KeyId> categories, size_t frame) {
    if (frame < categories.size()) {
      const ViewKey& category = categories_[categories[frame]];
      row.category = texts_.add(category.text);
      row.category_kind = static_cast<uint32_t>(category.category);
    }
    auto next = static_cast<uint32_t>(rows_.size());
    auto [known, is_new] = numbers_.try_emplace(row, next);
    if (is_new)
      rows_.push_back(row);
    return known->second;
  }

  const Profile& profile_;
  TextTable& texts_;
  FrameKeys names_;
  FrameKeys categories_;
  std::vector<std::vector<uint32_t>> frames_;  // by LocationId; empty: not needed yet
  std::vector<FrameRow> rows_;
  tsl::robin_map<FrameRow, uint32_t, BytesHash> numbers_;
};

// Writes the tables that frames are made of, in the order in which they are added.
class FrameWriter {
public:
  FrameWriter(const Profile& profile, TextTable& texts, Page& page)
      : profile_(profile),
        texts_(texts),
        page_(page),
        functions_(profile.functions.size()),
        modules_(profile.images.size()) {}

  void add(const FrameRow& row) {
    Frames& table = page_.frames;
    // Both numbers of functions begin at 1: those of a row by id, those of the page by their
    // order.
    table.function.push_back(row.function == 0 ? 0 : function_of(row.function - 1));
    table.line.push_back(row.line);
    table.module.push_back(module_of(row.image));
    table.source.push_back(row.source);
    table.kind.push_back(row.kind);
    table.is_inlined.push_back(row.is_inlined);
    table.unnamed.push_back(row.unnamed);
    table.text.push_back(row.text);
    table.left_out.push_back(row.left_out);
    table.category.push_back(row.category);
    table.category_kind.push_back(row.category_kind);
    table.is_own.push_back(row.is_own);
  }

private:
  // 1 + its row.
  uint32_t function_of(uint32_t id) {
    uint32_t& number = functions_[id];
    if (number > 0)
      return number;
    const Function& function = profile_.functions[id];
    const StringPool& strings = profile_.strings;
    Functions& table = page_.functions;
    // Most names are shown as they are linked: 0 says so, and takes no text.
    bool has_system_name =
        function.system_name != StringId{} && function.system_name != function.name;
    table.name.push_back(texts_.add(strings[function.name]));
    table.system_name.push_back(has_system_name ? texts_.add(strings[function.system_name])
                                                : 0);
    table.file.push_back(texts_.add(strings[function.file]));
    table.start_line.push_back(function.start_line);
    table.package.push_back(texts_.add(strings[function.package]));
    table.declared.push_back(texts_.add(strings[function.declared]));
    number = static_cast<uint32_t>(table.name.size());
    return number;
  }

  // Number of an image's module in the page; image 0 has none.
  uint32_t module_of(uint32_t image) {
    uint32_t& number = modules_[image];
    if (number > 0 || image == 0)
      return number;
    const ProfileImage& of = profile_.images[image];
    page_.modules.push_back({.path = texts_.add(of.file.path),
                             .kind = static_cast<uint32_t>(of.kind),
                             .gnu_build_id = of.file.gnu_build_id,
                             .go_build_id = printable(of.file.go_build_id),
                             .debug_package = printable(of.debug_package),
                             .own_modules = printable(joined(of.own.modules, " ")),
                             .is_executable = of.own.is_executable,
                             .has_sources = of.own.has_sources});
    number = static_cast<uint32_t>(page_.modules.size());
    return number;
  }

  const Profile& profile_;
  TextTable& texts_;
  Page& page_;
  std::vector<uint32_t> functions_;  // 1 + row, by FunctionId
  std::vector<uint32_t> modules_;    // the same by image
};

// A row of Samples.
struct SampleRow {
  uint32_t node = 0;
  uint32_t step = 0;
  uint32_t owner = 0;
  uint64_t count = 0;
  uint64_t weight = 0;
  uint64_t skipped = 0;
};

// All stacks, as paths from node 0, which is the root.
class StackPaths {
public:
  // Stacks that have nothing in common have as many nodes as frames, of which a few bytes of a
  // recording say any number. When there are more than the profile may take memory for, what is
  // new of a stack is a gap.
  StackPaths(const Profile& profile, FrameTable& frames)
      : frames_(frames), max_nodes_(profile.memory_limit / kNodeSize) {}

  uint32_t add(std::span<const LocationId> stack) {
    uint32_t node = 0;
    uint64_t left_out = 0;  // frames
    // Once a frame is left out all further ones are, so that the gap is the end of the path.
    for (size_t i = stack.size(); i-- > 0;)
      for (uint32_t frame : frames_.of(stack[i]))
        if (left_out > 0 || (nodes_.size() >= max_nodes_ && !has_child(node, frame)))
          left_out++;
        else
          node = child_of(node, frame);
    return left_out == 0 ? node : child_of(node, frames_.gap(left_out));
  }

  void count(uint32_t node, uint64_t samples) { nodes_[node].samples += samples; }

  // The numbers of the nodes in preorder: what has more samples comes first. Frames are
  // numbered anew, by where they come first.
  std::vector<uint32_t> write(Tree& tree, FrameWriter& writer);
  void write_stacks(std::span<const uint32_t> order, const Column& ending, Tree& tree) const;

private:
  static constexpr uint64_t kNodeSize = 128;  // with its places in all tables

  struct Node {
    uint32_t parent = 0;
    uint32_t frame = kNone;
    uint64_t samples = 0;  // that end here; with those below it when it is written
  };

  bool has_child(uint32_t parent, uint32_t frame) const {
    return children_.contains(uint64_t{parent} << 32 | frame);
  }

  uint32_t child_of(uint32_t parent, uint32_t frame) {
    auto next = static_cast<uint32_t>(nodes_.size());
    uint64_t key = uint64_t{parent} << 32 | frame;
    auto [known, is_new] = children_.try_emplace(key, next);
    if (is_new)
      nodes_.push_back({.parent = parent, .frame = frame});
    return known->second;
  }

  std::vector<uint32_t> in_preorder();

  FrameTable& frames_;
  uint64_t max_nodes_;
  std::vector<Node> nodes_ = {{}};
  tsl::robin_map<uint64_t, uint32_t, BytesHash> children_;  // by parent and frame
};

// A node comes after its parent, so that one way through them is enough for each step. By a
// stack of its own: a recursion may be any depth.
std::vector<uint32_t> StackPaths::in_preorder() {
  // Children come after their parents, so that their sums are complete when they are added.
  for (size_t i = nodes_.size(); i-- > 1;)
    nodes_[nodes_[i].parent].samples += nodes_[i].samples;
  std::vector<uint32_t> siblings(nodes_.size());  // by parent, and then in order
  std::iota(siblings.begin(), siblings.end(), 0);
  std::sort(siblings.begin() + 1, siblings.end(), [this](uint32_t a, uint32_t b) {
    return std::tuple(nodes_[a].parent, nodes_[b].samples, a) <
           std::tuple(nodes_[b].parent, nodes_[a].samples, b);
  });
  // First child of a node, as an index of siblings; 0, which is the root's: it has none.
  std::vector<uint32_t> first(nodes_.size(), 0);
  // Going down, the last index that is kept is that of the largest child.
  for (size_t i = siblings.size(); i-- > 1;)
    first[nodes_[siblings[i]].parent] = static_cast<uint32_t>(i);

  std::vector<uint32_t> order;
  std::vector<uint32_t> open = {0};
  while (!open.empty()) {
    uint32_t node = open.back();
    open.pop_back();
    order.push_back(node);
    if (first[node] == 0)
      continue;
    size_t begin = open.size();
    for (size_t i = first[node]; i < siblings.size() && nodes_[siblings[i]].parent == node; i++)
      open.push_back(siblings[i]);
    // The largest child is taken first, from the back.
    std::reverse(open.begin() + static_cast<ptrdiff_t>(begin), open.end());
  }
  return order;
}

std::vector<uint32_t> StackPaths::write(Tree& tree, FrameWriter& writer) {
  std::vector<uint32_t> order = in_preorder();
  tsl::robin_map<uint64_t, uint32_t, BytesHash> ranks;  // by the frame above, and the frame
  tsl::robin_map<uint32_t, uint32_t, BytesHash> followers;
  tsl::robin_map<uint32_t, uint32_t, BytesHash> new_frames;
  // Most calls are followed by one of few others: the rank among the followers of a frame is a
  // smaller number than that of the frame, and deflates to less.
  for (uint32_t id : std::span(order).subspan(1)) {
    const Node& node = nodes_[id];
    // kNone below the root, which counts as a frame here.
    uint32_t above = nodes_[node.parent].frame;
    // A frame that has followed the one above before is told by its rank among those.
    auto [rank, is_new] = ranks.try_emplace(uint64_t{above} << 32 | node.frame, 0);
    tree.next.push_back(rank->second);
    if (!is_new)
      continue;
    rank.value() = ++followers[above];
    auto [frame, is_first] =
        new_frames.try_emplace(node.frame, static_cast<uint32_t>(new_frames.size()));
    // writer.add() gives the frame the next row of Frames, which is its number in new_frames.
    if (is_first)
      writer.add(frames_[node.frame]);
    tree.first.push_back(frame->second);
  }
  return order;
}

// Writes the columns `up`, `added` and `samples` of Tree in page.proto. `order` is that of
// write(); `ending`: how many samples end in each node, by its place there.
void StackPaths::write_stacks(std::span<const uint32_t> order, const Column& ending,
                              Tree& tree) const {
  std::vector<uint32_t> depth(nodes_.size(), 0);
  uint32_t depth_before = 0;  // of the node before
  uint32_t up = 0;
  uint32_t added = 0;
  for (size_t place = 1; place < order.size(); place++) {
    uint32_t id = order[place];
    depth[id] = depth[nodes_[id].parent] + 1;
    // In preorder a node is at most one deeper than the one before, so that this is 0 or more.
    // `up` adds up over nodes in which no sample ends: they are written with the next stack.
    up += depth_before + 1 - depth[id];
    depth_before = depth[id];
    added++;
    if (ending[place] == 0)
      continue;
    tree.up.push_back(up);
    tree.added.push_back(added);
    tree.samples.push_back(ending[place]);
    up = added = 0;
  }
  tree.root_samples = ending[0];
}

// Numbers the owners of samples, as far as the page tells them apart.
class OwnerTable {
public:
  OwnerTable(const Profile& profile, TextTable& texts)
      : profile_(profile), texts_(texts), numbers_(profile.owners.size()) {}

  uint32_t of(const SampleCount& sample) {
    std::optional<uint32_t>& number = numbers_[to_index(sample.owner)];
    if (!number)
      number = static_cast<uint32_t>(owners_.intern(told_of(profile_.owner(sample))));
    return *number;
  }

  // Writes those that samples have, and numbers them anew, by when their first sample was.
  void write(std::span<SampleRow> rows, Owners& table) const {
    constexpr uint64_t kNever = UINT64_MAX;
    std::vector<uint64_t> begin(owners_.size(), kNever);
    for (const SampleRow& row : rows)
      begin[row.owner] = std::min<uint64_t>(begin[row.owner], row.step);
    std::vector<uint32_t> order;
    for (uint32_t owner = 0; owner < begin.size(); owner++)
      if (begin[owner] != kNever)
        order.push_back(owner);
    // Samples are in order of time, so that owners that begin together have numbers close
    // together, which deflate well.
    std::ranges::stable_sort(order, {}, [&](uint32_t owner) { return begin[owner]; });
    std::vector<uint32_t> numbers(begin.size());
    for (size_t i = 0; i < order.size(); i++)
      numbers[order[i]] = static_cast<uint32_t>(i);
    for (SampleRow& row : rows)
      row.owner = numbers[row.owner];
    for_each_owner_field([&](const auto& field) {
      if (Column* column = column_of(table, field.name))
        for (uint32_t owner : order)
          column->push_back(static_cast<uint32_t>(owners_[OwnerId{owner}].*field.member));
    });
  }

private:
  // The owner with what the page has a column of, texts by their numbers there.
  Owner told_of(const Owner& owner) {
    Owner told;
    for_each_owner_field([&](const auto& field) {
      auto& member = told.*field.member;
      if (!column_of(columns_, field.name))
        return;
      member = owner.*field.member;
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, StringId>)
        member = StringId{texts_.add(profile_.strings[member])};
    });
    return told;
  }

  const Profile& profile_;
  TextTable& texts_;
  std::vector<std::optional<uint32_t>> numbers_;  // by OwnerId of the profile
  const Owners columns_;                          // empty: it tells which columns there are
  gosym::Owners owners_;
};

Origin origin_of(const Profile& profile) {
  const RecordingInfo& info = profile.info;
  return {.gosym_version = printable(info.gosym_version),
          .host = printable(info.host),
          .kernel_release = printable(info.kernel_release),
          .machine = printable(info.machine),
          .command_line = printable(info.command_line),
          .selection = printable(profile.filter),
          .cpu_count = info.cpu_count,
          .start_realtime_ns = profile.start_realtime_ns,
          .duration_ns = profile.duration_ns,
          .time_step_ns = profile.time_step,
          .sampler = printable(info.sampler),
          .has_user = info.has_user,
          .has_kernel = info.has_kernel,
          .is_system_wide = info.is_system_wide,
          .lost_events = profile.stats.lost_events,
          .source = printable(info.source),
          .lacks_counts = !info.has_counts,
          // write_html_difference() sets both for a page that compares.
          .compared_per = {},
          .scale_before = 0,
          .idle_ns = profile.idle_ns};
}

Event event_of(const Profile& profile, uint32_t index) {
  const RecordedEvent& event = profile.info.events[index];
  // Events of a page have one value each, so that the number of an event is that in
  // shown_events(), too.
  EventCounts part = counts_of(profile, index);
  // Without counts by CPU and event there is one event, to which all of them belong.
  if (profile.stats.cpus.empty())
    part.stats = profile.stats;
  uint64_t unit = profile.period(index);
  bool is_time = measures_time(event);
  return {.name = printable(event.name),
          .frequency = event.frequency,
          .period = event.period,
          .unit_ns = is_time ? unit : 0,
          .unit_events = is_time ? 0 : unit,
          .lost_samples = part.stats.lost_samples,
          .repaired = part.unwound.repaired,
          .cut = part.unwound.cut,
          .unknown = part.unwound.unknown,
          .deep = part.unwound.deep,
          .bridged = part.unwound.bridged,
          .recorded_samples = part.stats.samples,
          .skipped_ticks = part.stats.sum_of(&CpuCounts::skipped),
          .throttled_ns = part.stats.sum_of(&CpuCounts::throttled_ns),
          .lost_ns = part.stats.sum_of(&CpuCounts::lost_ns),
          .recorded_amount = part.recorded_amounts.empty() ? 0 : part.recorded_amounts.front(),
          .is_weighted = is_weighted(event),
          .amount = printable(amount_text(event)),
          .unit = printable(event.unit),
          .walked_samples = part.unwound.samples};
}

std::vector<Recording> recordings_of(const Profile& profile) {
  std::vector<Recording> recordings;
  for (const ProfiledRecording& one : profile.recordings)
    recordings.push_back({.name = printable(one.name),
                          .host = printable(one.info.host),
                          .start_realtime_ns = one.start_realtime_ns,
                          .duration_ns = one.duration_ns,
                          .command_line = printable(one.info.command_line)});
  return recordings;
}

// Equal ones of a step are added up, though their CPUs or goroutines differ. How many end in
// each node, by its place in `order`. Rows have the owners' new numbers by now
// (OwnerTable::write()).
Column write_samples(std::vector<SampleRow> rows, std::span<const uint32_t> order,
                     Samples& samples) {
  std::vector<uint32_t> place(order.size());  // of a node
  for (size_t i = 0; i < order.size(); i++)
    place[order[i]] = static_cast<uint32_t>(i);
  auto key = [&](const SampleRow& row) {
    return std::tuple(place[row.node], row.owner, row.step);
  };
  // In the order of the tree's stacks, which say how many of these samples are theirs.
  std::ranges::sort(rows, {}, key);

  Column ending(order.size());
  const SampleRow* before = nullptr;
  for (const SampleRow& row : rows) {
    if (before && key(*before) == key(row)) {
      samples.count.back() += row.count;
      samples.weight.back() += row.weight;
      samples.skipped.back() += row.skipped;
      continue;
    }
    samples.owner.push_back(row.owner);
    samples.step.push_back(row.step);
    samples.count.push_back(row.count);
    samples.weight.push_back(row.weight);
    samples.skipped.push_back(row.skipped);
    ending[place[row.node]]++;
    before = &row;
  }
  // A column of ones is left out: readers take 1 for it.
  if (std::ranges::all_of(samples.count, [](uint64_t count) { return count == 1; }))
    samples.count.clear();
  return ending;
}

void number_texts(const TextTable& texts, Page& page) {
  std::vector<uint32_t> numbers = texts.write(page.texts);
  // page_schema.py makes this of the fields with the note [text] in page.proto.
  for_each_text(page, [&](auto& place) {
    if constexpr (std::is_same_v<std::decay_t<decltype(place)>, Column>)
      for (uint32_t& text : place)
        text = numbers[text];
    else
      place = numbers[place];
  });
}

// Labels are most of the text where each sample has others, of which a few bytes of a recording
// say any number. Beyond a part of the memory that is left, values are told as left out.
void add_labels(const Profile& profile, TextTable& texts, std::vector<LabelSet>& sets) {
  constexpr uint64_t kCopies = 4;  // of a text, until the page is written
  uint64_t room = profile.memory_limit / kCopies;
  // Set 0 is the empty one, which the page does not have.
  for (const std::vector<ProfileLabel>& labels : std::span(profile.label_sets).subspan(1)) {
    LabelSet& set = sets.emplace_back();
    for (const ProfileLabel& label : labels) {
      std::string_view value = profile.strings[label.value];
      bool has_room = value.size() <= room;
      room -= has_room ? value.size() : 0;
      set.key.push_back(texts.add(profile.strings[label.key]));
      set.value.push_back(texts.add(has_room ? value : "[left out]"));
    }
  }
}

}  // namespace

Page make_page(const Profile& profile, std::vector<Note> notes,
               std::span<const SourceText> sources) {
  // Samples of a page have one value.
  if (has_values(profile.info.events))
    return make_page(with_values_apart(profile), std::move(notes), sources);
  Page page;
  page.version = kVersion;
  page.origin = origin_of(profile);
  for (uint32_t event = 0; event < profile.info.events.size(); event++)
    page.events.push_back(event_of(profile, event));
  page.recordings = recordings_of(profile);
  page.notes = std::move(notes);

  TextTable texts;
  add_labels(profile, texts, page.label_sets);
  for (const SourceText& source : sources)
    page.sources.push_back({texts.add(source.path), source.text});

  // Each stack becomes a path of the tree, and each sample one of the node that it ends in.
  FrameTable frames(profile, texts);
  StackPaths paths(profile, frames);
  OwnerTable owners(profile, texts);
  std::vector<uint32_t> nodes(profile.stack_count(), kNone);
  std::vector<SampleRow> rows;
  // Steps of the page count from the time that was chosen.
  auto first_step = static_cast<uint32_t>(std::min<uint64_t>(profile.first_step(), UINT32_MAX));
  for (const SampleCount& sample : profile.samples) {
    uint32_t& node = nodes[to_index(sample.stack)];
    if (node == kNone)
      node = paths.add(profile.stack(sample.stack));
    paths.count(node, sample.count);
    bool has_weight = is_weighted(profile.info.events[profile.owner(sample).event]);
    rows.push_back({.node = node,
                    .step = sample.step - std::min(sample.step, first_step),
                    .owner = owners.of(sample),
                    .count = sample.count,
                    .weight = has_weight ? sample.weight : 0,
                    .skipped = sample.skipped});
  }
  // Numbers are final only when all are known: frames get theirs by the order of the tree,
  // owners by time, and texts by the alphabet.
  FrameWriter writer(profile, texts, page);
  std::vector<uint32_t> order = paths.write(page.tree, writer);
  owners.write(rows, page.owners);
  Column ending = write_samples(std::move(rows), order, page.samples);
  paths.write_stacks(order, ending, page.tree);
  number_texts(texts, page);
  return page;
}

Side make_side(const Profile& profile) {
  return {.origin = origin_of(profile),
          .event = event_of(profile, 0),
          .recordings = static_cast<uint32_t>(std::max<size_t>(1, profile.recordings.size()))};
}

}  // namespace gosym::page
