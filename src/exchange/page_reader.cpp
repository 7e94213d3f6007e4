#include "exchange/page_reader.h"
#include "base/sequence_pool.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "exchange/profile_builder.h"
#include "page/html.h"

namespace gosym {

namespace {

using page::Column;
using page::Page;

// Recordings have no more (raw/messages.h).
constexpr size_t kMaxPageEvents = 64;
// printable() makes four bytes of one of a name.
constexpr size_t kMaxPageText = 4 * kMaxNameSize;
// Frames of all stacks, one after the other: those of a day of a large host are some ten
// million.
constexpr uint64_t kMaxStackFrames = 500'000'000;
// Each text is hashed whole, however little of the file it takes.
constexpr uint64_t kMaxTextBytes = uint64_t{4} << 30;
// A byte of a message becomes a row of Frames, which has 12 numbers of 4 bytes.
constexpr uint64_t kMemoryPerByte = 48;

// A column that has nothing is all zeros.
template <class T>
T at(const std::vector<T>& column, size_t row) {
  return row < column.size() ? column[row] : T{};
}

// The length that some columns have in common.
template <class... Columns>
Result<size_t> length_of(std::string_view table, const Columns&... columns) {
  size_t rows = 0;
  ((rows = std::max(rows, columns.size())), ...);
  if (((columns.empty() || columns.size() == rows) && ...))
    return rows;
  return errorf("{}: columns of different lengths", table);
}

Result<> check_reference(std::string_view what, uint64_t number, uint64_t count) {
  if (number < count)
    return Ok{};
  return errorf("{} {} of {}", what, number, count);
}

class PageReader {
public:
  PageReader(const Page& page, uint64_t memory_budget)
      : page_(page),
        origin_(page.origin),
        events_(page.events),
        recordings_(page.recordings),
        builder_(memory_budget) {}

  // Selects a side of a page that compares: the samples of some of its recordings.
  Result<> choose(std::optional<Side> side) {
    // Either is in pages of gosym diff alone.
    bool is_comparison = page_.origin.scale_before != 0 || !page_.sides.empty();
    if (!is_comparison && !side)
      return Ok{};
    if (!is_comparison)
      return no_sides();
    if (!side)
      return Error("it compares two profiles")
          .with_hint(
              "gosym report --side before, or after, shows one, and gosym diff compares them "
              "again");
    const std::vector<page::Side>& sides = page_.sides;
    // make_page() writes both sides' recordings in one table, those before first.
    if (sides.size() != 2 || page_.events.size() != 1 ||
        uint64_t{sides[0].recordings} + sides[1].recordings != page_.recordings.size())
      return Error("what it compares is not two sides of recordings");
    auto index = static_cast<size_t>(*side);
    first_recording_ = index == 0 ? 0 : sides[0].recordings;
    origin_ = sides[index].origin;
    events_ = {&sides[index].event, 1};
    recordings_ = recordings_.subspan(first_recording_, sides[index].recordings);
    return Ok{};
  }

  Result<Profile> read() && {
    for (Result<> (PageReader::*part)() :
         {&PageReader::read_texts, &PageReader::read_origin, &PageReader::read_modules,
          &PageReader::read_functions, &PageReader::read_frames, &PageReader::read_owners,
          &PageReader::read_tree}) {
      if (auto done = (this->*part)(); !done)
        return std::move(done).error();
      // Each part is bounded by the budget, so that a small file cannot ask for more than one
      // part beyond it.
      if (builder_.is_full())
        return Error("it asks for more memory than a page of its size needs");
    }
    Profile profile = std::move(builder_).finish();
    set_counts(profile);
    fill_timelines(profile);
    return profile;
  }

private:
  Result<> read_texts() {
    const page::Texts& table = page_.texts;
    auto rows = length_of("texts", table.shared, table.rest);
    if (!rows)
      return std::move(rows).error();
    std::string text;
    uint64_t text_bytes = 0;
    std::string_view bytes = table.bytes;
    // Each text may be as long as the one before for two bytes of the page: the sum is bounded,
    // as well as each.
    for (size_t i = 0; i < *rows && !builder_.is_full(); i++) {
      size_t shared = at(table.shared, i);
      size_t rest = at(table.rest, i);
      // A text is a beginning of the one before it and `rest` bytes of its own.
      if (shared > text.size() || rest > bytes.size() || shared + rest > kMaxPageText)
        return errorf("text {} of {}: it has {} and {} bytes", i, *rows, shared, rest);
      text_bytes += shared + rest;
      if (text_bytes > kMaxTextBytes)
        return errorf("texts of more than {} in all", human_size(kMaxTextBytes));
      text.resize(shared);
      text += bytes.substr(0, rest);
      bytes.remove_prefix(rest);
      texts_.push_back(builder_.intern(text));
    }
    return Ok{};
  }

  Result<StringId> text(uint64_t number) const {
    if (number == 0)
      return StringId{};
    if (auto checked = check_reference("text", number, texts_.size()); !checked)
      return std::move(checked).error();
    return texts_[number];
  }

  Result<> read_origin() {
    const page::Origin& origin = origin_;
    if (events_.empty() || events_.size() > kMaxPageEvents)
      return errorf("{} events, where 1 to {} are allowed", events_.size(), kMaxPageEvents);
    Profile& profile = builder_.profile();
    RecordingInfo& info = profile.info;
    info.gosym_version = origin.gosym_version;
    info.host = origin.host;
    info.kernel_release = origin.kernel_release;
    info.machine = origin.machine;
    info.command_line = origin.command_line;
    info.cpu_count = origin.cpu_count;
    info.has_user = origin.has_user;
    info.has_kernel = origin.has_kernel;
    info.is_system_wide = origin.is_system_wide;
    info.sampler = origin.sampler;
    info.source = origin.source;
    info.has_counts = !origin.lacks_counts;
    info.events.clear();
    for (const page::Event& event : events_) {
      if (auto checked = check_event(event); !checked)
        return checked;
      info.events.push_back({.name = event.name,
                             .frequency = event.frequency,
                             .period = event.period,
                             .unit = event.unit});
    }
    profile.start_realtime_ns = origin.start_realtime_ns;
    profile.duration_ns = origin.duration_ns;
    profile.time_step = origin.time_step_ns;
    profile.filter = origin.selection;
    // The sum is kept for its limit alone, here and in check_event().
    if (auto added = add_to_sum(counted_, origin.idle_ns, 1); !added)
      return added;
    profile.idle_ns = origin.idle_ns;
    // first_step() below counts from the first of these.
    for (const page::Recording& one : recordings_) {
      ProfiledRecording& recording = profile.recordings.emplace_back();
      recording.name = one.name;
      // Recordings of a page have all of `info` alike but these.
      recording.info = info;
      recording.info.host = one.host;
      recording.info.command_line = one.command_line;
      recording.start_realtime_ns = one.start_realtime_ns;
      recording.duration_ns = one.duration_ns;
    }
    // Damage is kept as a note only, which has the words for people.
    for (const page::Note& note : page_.notes)
      if (note.title == "damaged")
        profile.damage.push_back(printable(note.text));
    first_step_ = profile.first_step();
    return Ok{};
  }

  // The limits keep the sum of its amounts, in nanoseconds or events, within 64 bits, as for
  // samples.
  Result<> check_event(const page::Event& event) {
    if (event.frequency > kMaxFrequency || event.period > kMaxAmount)
      return errorf("event {}: a rate of {} Hz or one of {}", printable(event.name),
                    event.frequency, event.period);
    uint64_t unit = unit_of(event);
    for (auto [count, worth] : {std::pair(event.recorded_samples, unit),
                                {event.lost_samples, unit},
                                {event.skipped_ticks, unit},
                                {event.recorded_amount, unit},
                                {event.throttled_ns, uint64_t{1}},
                                {event.lost_ns, uint64_t{1}},
                                {event.repaired, uint64_t{1}},
                                {event.cut, uint64_t{1}},
                                {event.unknown, uint64_t{1}},
                                {event.deep, uint64_t{1}},
                                {event.bridged, uint64_t{1}},
                                {event.walked_samples, uint64_t{1}}})
      if (auto added = add_to_sum(counted_, count, worth); !added)
        return added;
    return Ok{};
  }

  static uint64_t unit_of(const page::Event& event) {
    return std::max({uint64_t{1}, event.unit_ns, event.unit_events});
  }

  static Result<> add_to_sum(uint64_t& sum, uint64_t count, uint64_t worth) {
    uint64_t amount = 0;
    if (__builtin_mul_overflow(count, worth, &amount) || amount > kMaxAmount - sum)
      return Error("amounts that have no sum of 63 bits");
    sum += amount;
    return Ok{};
  }

  Result<> read_modules() {
    for (const page::Module& module : page_.modules) {
      auto path = text(module.path);
      if (!path)
        return std::move(path).error().context("module");
      auto kind = static_cast<ProfileImage::Kind>(module.kind);
      if (module.kind > static_cast<uint32_t>(ProfileImage::Kind::kAnonymous))
        return errorf("module of kind {}", module.kind);
      // The profile has a mapping of the kernel already, as every one has.
      if (kind == ProfileImage::Kind::kKernel) {
        mappings_.push_back(kKernelMapping);
        continue;
      }
      ProfileImage image;
      image.kind = kind;
      image.file.path = builder_.profile().strings[*path];
      image.file.gnu_build_id = module.gnu_build_id;
      image.file.go_build_id = module.go_build_id;
      image.debug_package = module.debug_package;
      // Import paths with a space between.
      for (std::string_view own : split(module.own_modules, ' '))
        if (!own.empty() && image.own.modules.size() < OwnCode::kMaxModules)
          image.own.modules.emplace_back(own);
      image.own.is_executable = module.is_executable != 0;
      image.own.has_sources = module.has_sources != 0;
      // Pages have no addresses: a mapping of no range stands for the file.
      Mapping mapping;
      mapping.image = builder_.add_image(std::move(image));
      mappings_.push_back(builder_.add_mapping(mapping));
    }
    return Ok{};
  }

  Result<> read_functions() {
    const page::Functions& table = page_.functions;
    auto rows = page::rows_of("functions", table);
    if (!rows)
      return std::move(rows).error();
    for (size_t i = 0; i < *rows; i++) {
      // Text 0 is none. Frames know a function by its row and 1 more.
      auto name = text(at(table.name, i));
      auto system_name = text(at(table.system_name, i));
      auto file = text(at(table.file, i));
      auto package = text(at(table.package, i));
      auto declared = text(at(table.declared, i));
      for (const auto* one : {&name, &system_name, &file, &package, &declared})
        if (!*one)
          return errorf("function {}: {}", i, one->error().message());
      // A name that is shown as it is linked is in the page once.
      StringId linked = *system_name == StringId{} ? *name : *system_name;
      builder_.add_function({.name = linked,
                             .system_name = linked,
                             .file = *file,
                             .start_line = at(table.start_line, i),
                             .package = *package,
                             .declared = *declared});
    }
    return Ok{};
  }

  Result<> read_frames() {
    const page::Frames& table = page_.frames;
    auto rows = page::rows_of("frames", table);
    if (!rows)
      return std::move(rows).error();
    frame_count_ = *rows;
    for (size_t i = 0; i < *rows; i++)
      if (auto checked = check_frame(i); !checked)
        return std::move(checked).error().context(fmt::format("frame {}", i));
    return Ok{};
  }

  // Checks the numbers of a row, which step_to() and add_location() use as they are.
  Result<> check_frame(size_t i) const {
    const page::Frames& table = page_.frames;
    struct Cell {
      std::string_view what;
      uint64_t number;
      uint64_t count;
    };
    // In function and module 0 is none, so that one more is allowed than there are.
    for (const auto& [what, number, count] :
         {Cell{"function", at(table.function, i), page_.functions.name.size() + 1},
          Cell{"module", at(table.module, i), mappings_.size() + 1},
          Cell{"source", at(table.source, i), std::size(kSourceRows)},
          Cell{"kind", at(table.kind, i), static_cast<uint64_t>(FunctionKind::kInjected) + 1},
          Cell{"reason", at(table.unnamed, i), std::size(kUnnamedRows)}})
      if (auto checked = check_reference(what, number, count); !checked)
        return checked;
    return Ok{};
  }

  Result<> read_owners() {
    auto rows = page::rows_of("owners", page_.owners);
    if (!rows)
      return std::move(rows).error();
    if (auto read = read_label_sets(); !read)
      return read;
    for (size_t i = 0; i < *rows; i++)
      if (auto read = read_owner(i); !read)
        return std::move(read).error().context(fmt::format("owner {}", i));
    return Ok{};
  }

  // A field without a column in the page, such as goid, stays as in Owner().
  Result<> read_owner(size_t row) {
    Owner owner;
    Result<> read = Ok{};
    for_each_owner_field([&](const auto& field) {
      const Column* column = page::column_of(page_.owners, field.name);
      if (!column || !read)
        return;
      auto number = owner_number(field.role, at(*column, row));
      auto& member = owner.*field.member;
      if (number)
        member = static_cast<std::decay_t<decltype(member)>>(*number);
      else
        read = std::move(number).error();
    });
    owners_.push_back({owner});
    return read;
  }

  // The profile's number for what a column of owners has.
  Result<uint32_t> owner_number(OwnerRole role, uint32_t number) const {
    Result<> checked = Ok{};
    switch (role) {
      case OwnerRole::kNumber:
      case OwnerRole::kTask:
        break;
      case OwnerRole::kText: {
        auto id = text(number);
        if (!id)
          return std::move(id).error();
        return static_cast<uint32_t>(*id);
      }
      case OwnerRole::kLabelSet:
        checked = check_reference("label set", number, label_sets_.size());
        number = checked ? label_sets_[number] : 0;
        break;
      case OwnerRole::kEvent:
        checked = check_reference("event", number, events_.size());
        break;
      case OwnerRole::kRecording:
        // The reference is to the whole page: samples of the side that is not asked for are
        // skipped later.
        checked =
            check_reference("recording", number, std::max<size_t>(page_.recordings.size(), 1));
        break;
    }
    if (!checked)
      return std::move(checked).error();
    return number;
  }

  Result<> read_label_sets() {
    for (const page::LabelSet& set : page_.label_sets) {
      std::vector<ProfileLabel> labels;
      auto rows = length_of("labels", set.key, set.value);
      for (size_t i = 0; rows && i < *rows; i++) {
        auto key = text(at(set.key, i));
        auto value = text(at(set.value, i));
        if (!key || !value)
          return errorf("labels: {}", (key ? value : key).error().message());
        labels.push_back({*key, *value});
      }
      if (!rows)
        return std::move(rows).error();
      label_sets_.push_back(builder_.add_label_set(labels));
    }
    return Ok{};
  }

  struct PageOwner {
    Owner owner;
    std::optional<OwnerId> number = {};  // once a sample of it was added
  };

  // A node on the path from the root.
  struct Step {
    uint32_t frame = 0;
    LocationId location{};
    bool is_part = false;  // of one location with the step before
  };

  Result<> read_tree() {
    const page::Tree& tree = page_.tree;
    auto rows = length_of("tree", tree.up, tree.added, tree.samples);
    if (!rows)
      return std::move(rows).error();
    auto sample_rows = page::rows_of("samples", page_.samples);
    if (!sample_rows)
      return std::move(sample_rows).error();
    sample_count_ = *sample_rows;
    // Followers are learned as the tree is read: a node names a frame by its number among those
    // that followed the one above before, and 0 stands for a new one.
    followers_.resize(frame_count_ + 1);
    if (auto read = read_samples(tree.root_samples); !read)
      return read;
    for (size_t i = 0; i < *rows && !builder_.is_full(); i++)
      if (auto read = read_stack(i); !read)
        return std::move(read).error().context(fmt::format("stack {}", i));
    // A full builder left stacks out, and read() says so: counts would not agree.
    if (builder_.is_full())
      return Ok{};
    if (next_sample_ != sample_count_)
      return errorf("{} samples are of no stack", sample_count_ - next_sample_);
    if (next_node_ != tree.next.size())
      return errorf("{} nodes are of no stack", tree.next.size() - next_node_);
    return Ok{};
  }

  // Row i of the tree leads from the stack before to the next: so many nodes up, so many new
  // ones down, and samples that end there.
  Result<> read_stack(size_t i) {
    const page::Tree& tree = page_.tree;
    uint32_t up = at(tree.up, i);
    uint32_t added = at(tree.added, i);
    if (up > path_.size())
      return errorf("{} up from depth {}", up, path_.size());
    // A stack without a node of its own would be the one before it again.
    if (added == 0 || added > tree.next.size() - next_node_)
      return errorf("{} nodes, where {} are left", added, tree.next.size() - next_node_);
    path_.resize(path_.size() - up);
    for (uint32_t k = 0; k < added; k++)
      if (auto read = read_node(tree.next[next_node_++]); !read)
        return read;
    return read_samples(at(tree.samples, i));
  }

  // `next` is the rank of the node's frame among those that have followed the frame above, from
  // 1, or 0: one that has not yet, and that tree.first has (page.proto). read_tree() has made
  // room for the root's followers.
  Result<> read_node(uint32_t next) {
    std::vector<uint32_t>& followers = followers_[path_.empty() ? 0 : path_.back().frame + 1];
    if (next == 0) {
      if (next_first_ == page_.tree.first.size())
        return Error("its frame is missing");
      uint32_t first = page_.tree.first[next_first_++];
      if (auto checked = check_reference("frame", first, frame_count_); !checked)
        return checked;
      followers.push_back(first);
      next = static_cast<uint32_t>(followers.size());
    }
    if (next > followers.size())
      return errorf("frame {} of {} that follow the one above", next, followers.size());
    uint32_t frame = followers[next - 1];
    path_.push_back(step_to(frame));
    return Ok{};
  }

  // Its location has the frames above, too, that it is inlined into.
  Step step_to(uint32_t frame) {
    const page::Frames& table = page_.frames;
    // An inlined frame and the frames above it that it is inlined into make up one location. A
    // file may say so of what has nothing above, or nothing with a name: that is its own.
    bool is_part = !path_.empty() && at(table.is_inlined, frame) != 0 &&
                   at(table.function, frame) != 0 && has_frames(path_.back().location);
    uint64_t outer = is_part ? to_index(path_.back().location) + 1 : 0;
    auto [known, is_new] = locations_.try_emplace(outer << 32 | frame);
    if (is_new)
      known.value() = add_location(frame, is_part);
    return {frame, known->second, is_part};
  }

  bool has_frames(LocationId location) {
    return builder_.profile().locations[to_index(location)].frame_count > 0;
  }

  LocationId add_location(uint32_t row, bool is_part) {
    const page::Frames& table = page_.frames;  // whose numbers check_frame() has checked
    Location location;
    uint32_t module = at(table.module, row);
    location.mapping = module == 0 ? kNoMapping : mappings_[module - 1];
    location.unnamed = static_cast<Unnamed>(at(table.unnamed, row));
    std::vector<Frame> frames;  // innermost first
    if (uint32_t function = at(table.function, row); function > 0)
      frames.push_back({.function = FunctionId{function - 1},
                        .line = at(table.line, row),
                        .source = static_cast<FrameSource>(at(table.source, row)),
                        .kind = static_cast<FunctionKind>(at(table.kind, row))});
    else if (location.unnamed == Unnamed::kLeftOut)
      location.address = RuntimeAddress{at(table.left_out, row)};
    // An inlined call is a node of its own in the page: here it is one location with the frames
    // that it was inlined into.
    if (is_part) {
      const Profile& profile = builder_.profile();
      const Location& outer = profile.locations[to_index(path_.back().location)];
      std::span<const Frame> above = profile.frames_of(outer);
      frames.insert(frames.end(), above.begin(), above.end());
      location.mapping = outer.mapping;
    }
    return builder_.add_location(location, frames);
  }

  // Reads the samples whose stack ends in the last node of the path.
  Result<> read_samples(uint32_t count) {
    if (count > sample_count_ - next_sample_)
      return errorf("{} samples, where {} are left", count, sample_count_ - next_sample_);
    if (count == 0)
      return Ok{};
    // next_sample_ is the row of the first: samples stand in the order of the tree.
    // Stacks are added whole, and a tree of few bytes can have deep ones any number of times:
    // `up` and `added` of two bytes make another stack of all that is above.
    stack_frames_ += path_.size();
    if (stack_frames_ > kMaxStackFrames)
      return errorf("stacks of more than {} frames in all", with_commas(kMaxStackFrames));
    std::optional<StackId> stack;
    for (uint32_t i = 0; i < count; i++, next_sample_++) {
      uint32_t owner = at(page_.samples.owner, next_sample_);
      if (auto checked = check_reference("owner", owner, owners_.size()); !checked)
        return checked;
      if (!is_chosen(owners_[owner].owner))
        continue;
      // Stacks of no sample that is chosen are not added.
      if (!stack)
        stack = add_stack();
      if (auto added = add_sample(owner, *stack); !added)
        return added;
    }
    return Ok{};
  }

  // All are, but of a page that compares.
  bool is_chosen(const Owner& owner) const {
    // The difference of unsigned numbers is large for recordings before the first: one
    // comparison is enough.
    return owner.recording - first_recording_ < std::max<size_t>(1, recordings_.size());
  }

  // Adds the stack of the path.
  StackId add_stack() {
    stack_.clear();
    // A step that the next one is a part of is in the location of that.
    for (size_t depth = path_.size(); depth-- > 0;)
      if (depth + 1 == path_.size() || !path_[depth + 1].is_part)
        stack_.push_back(path_[depth].location);
    return builder_.add_stack(stack_);
  }

  Result<> add_sample(uint32_t owner, StackId stack) {
    const page::Samples& table = page_.samples;
    uint32_t step = at(table.step, next_sample_);
    if (step > last_step() || first_step_ + step > UINT32_MAX)
      return errorf("step {} of time, where {} fit into its duration", step, last_step() + 1);
    PageOwner& whose = owners_[owner];
    if (!whose.number) {
      Owner shown = whose.owner;
      shown.recording -= first_recording_;
      whose.number = builder_.add_owner(shown);
    }
    SampleCount sample = {.stack = stack, .owner = *whose.number};
    // Steps of a page count from its begin, those of a profile from that of its first
    // recording.
    sample.step = static_cast<uint32_t>(first_step_ + step);
    sample.count = table.count.empty() ? 1 : at(table.count, next_sample_);
    sample.weight = at(table.weight, next_sample_);
    sample.skipped = at(table.skipped, next_sample_);
    uint64_t unit = unit_of(events_[whose.owner.event]);
    // Whichever of these an amount is made of (Profile::amount()), no sum of amounts overflows.
    for (auto [count, worth] :
         {std::pair(sample.weight, uint64_t{1}), {sample.skipped, unit}, {sample.count, unit}})
      if (auto added = add_to_sum(amount_, count, worth); !added)
        return added;
    builder_.add_sample(sample);
    return Ok{};
  }

  // Samples of the last moment may come after the end.
  uint64_t last_step() const {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    uint64_t step = origin_.time_step_ns;
    return step == 0 ? 0 : std::min(kMost, origin_.duration_ns / step + 1);
  }

  // Sets the counts of the recorder, by event.
  void set_counts(Profile& profile) const {
    profile.stats = {};
    profile.stats.lost_events = origin_.lost_events;
    bool has_amounts = false;
    std::vector<uint64_t> samples(events_.size());
    for (const SampleCount& sample : profile.samples)
      samples[profile.owner(sample).event] += sample.count;
    // The page has the counts of each event in one row: they become those of one CPU. Events of
    // the side-band are of none: those that were lost stand with the first.
    for (const page::Event& event : events_) {
      CpuCounts counts;
      counts.event = static_cast<uint32_t>(profile.stats.cpus.size());
      counts.samples = event.recorded_samples;
      counts.lost_samples = event.lost_samples;
      counts.skipped = event.skipped_ticks;
      counts.throttled_ns = event.throttled_ns;
      counts.lost_ns = event.lost_ns;
      counts.lost_events = counts.event == 0 ? origin_.lost_events : 0;
      profile.stats.samples += counts.samples;
      profile.stats.lost_samples += counts.lost_samples;
      profile.stats.cpus.push_back(counts);
      // 0 where the page does not tell: then all stacks were walked.
      uint64_t walked =
          event.walked_samples == 0 ? samples[counts.event] : event.walked_samples;
      UnwindCounts unwound = {walked,        event.repaired, event.cut,
                              event.unknown, event.deep,     event.bridged};
      profile.unwound_by_event.push_back(unwound);
      profile.unwound.samples += unwound.samples;
      profile.unwound.repaired += unwound.repaired;
      profile.unwound.cut += unwound.cut;
      profile.unwound.unknown += unwound.unknown;
      profile.unwound.deep += unwound.deep;
      profile.unwound.bridged += unwound.bridged;
      profile.recorded_amounts.push_back(event.recorded_amount);
      has_amounts |= event.recorded_amount != 0;
    }
    // A page without these amounts had nothing selected.
    if (!has_amounts)
      profile.recorded_amounts.clear();
  }

  // The limit that keeps the sum over all samples, in nanoseconds or events, within 64 bits.
  static constexpr uint64_t kMaxAmount = uint64_t{1} << 63;
  static constexpr uint64_t kMaxFrequency = 1'000'000'000;

  const Page& page_;
  page::Origin origin_;
  std::span<const page::Event> events_;
  std::span<const page::Recording> recordings_;
  uint32_t first_recording_ = 0;  // of these
  uint64_t first_step_ = 0;       // as Profile has it
  ProfileBuilder builder_;
  std::vector<StringId> texts_;
  std::vector<MappingId> mappings_;  // of modules
  size_t frame_count_ = 0;
  std::vector<uint32_t> label_sets_ = {0};
  std::vector<PageOwner> owners_;
  std::vector<std::vector<uint32_t>> followers_;  // of frame i at i + 1; of the root at 0
  size_t next_first_ = 0;
  size_t next_node_ = 0;
  std::vector<Step> path_;
  tsl::robin_map<uint64_t, LocationId, BytesHash>
      locations_;  // by the outer one + 1, and the frame
  std::vector<LocationId> stack_;
  uint64_t stack_frames_ = 0;
  size_t sample_count_ = 0;
  size_t next_sample_ = 0;
  uint64_t amount_ = 0;   // of all samples
  uint64_t counted_ = 0;  // while it was recorded
};

}  // namespace

Result<Profile> read_page(std::string_view file, uint64_t memory_budget,
                          std::optional<Side> side) {
  auto page = page::read_html(file, memory_budget / kMemoryPerByte);
  if (!page)
    return std::move(page).error();
  return make_profile_of(*page, memory_budget, side);
}

Result<Profile> make_profile_of(const page::Page& page, uint64_t memory_budget,
                                std::optional<Side> side) {
  PageReader reader(page, memory_budget);
  if (auto chosen = reader.choose(side); !chosen)
    return std::move(chosen).error();
  return std::move(reader).read();
}

}  // namespace gosym
