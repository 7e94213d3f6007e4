#include "profile/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "base/sequence_pool.h"
#include "profile/location_table.h"
#include "profile/sample_counter.h"

namespace gosym {

namespace {

// Numbers are not used again while the machine runs.
tsl::robin_map<uint64_t, std::string, BytesHash> cgroups_in(std::span<const Event> events) {
  tsl::robin_map<uint64_t, std::string, BytesHash> cgroups;
  for (const Event& event : events)
    if (const auto* cgroup = std::get_if<CgroupEvent>(&event))
      cgroups[cgroup->id] = cgroup->path;
  return cgroups;
}

// To two digits: stacks that differ in what is left out of them would otherwise seldom be the
// same.
uint32_t rounded(uint32_t missing) {
  uint32_t unit = 1;
  while (missing / unit >= 100)
    unit *= 10;
  return (missing + unit / 2) / unit * unit;
}

}  // namespace

class Replay::Tables {
public:
  Tables(RecordingInfo info, std::vector<RecordedImage> images, std::vector<Event> events,
         std::span<const RecordedPerfMap> perf_maps, GroupBy group_by);

  SampleNames names(const RecordedSample& sample);
  uint32_t number_stack(std::span<const uint64_t> stack) { return raw_stacks_.intern(stack); }
  uint32_t number_top(std::span<const StackWord> top) { return raw_tops_.number(top); }
  uint32_t number_switches(std::span<const StackSwitch> switches) {
    return switches_.number(switches);
  }
  uint32_t number_labels(std::span<const Label> labels);
  void add(const RecordedSample& sample, const Numbers& numbers);
  uint64_t memory() const;
  bool find_callers(uint64_t least, const FindCallers& find);
  void set_begin(uint64_t time, uint64_t later) {
    begin_ = time;
    timeline_begin_ = later;
  }
  Replayed finish() &&;

private:
  // Keys of the tables below, made of integers of one size because they are hashed by bytes.
  struct StackContext {
    uint32_t program;
    uint32_t map_count;
    uint32_t told_code;
    uint32_t kernel_count;  // as KernelHistory has it; 0 without a kernel stack
    uint32_t end;
    uint32_t goroutine_start;
    uint32_t switches;
    uint32_t gap;
    uint32_t missing;  // as it is shown
    bool operator==(const StackContext&) const = default;
  };
  struct SeenStack {
    uint32_t context;  // there are few, and the table of all stacks is half as large
    uint32_t kernel;
    uint32_t user;
    uint32_t top;
    uint32_t frame_offset;
    uint32_t creator;  // 0 where creators are not wanted
    bool operator==(const SeenStack&) const = default;
  };

  StackId add_stack(const StackContext& context, const Numbers& numbers,
                    const RecordedSample& sample);
  std::optional<LocationId> creator(AddressSpace space, uint32_t stack);
  uint32_t top(uint32_t number, std::span<const StackWord> words);
  LocationTable& locations() { return *dumps_.locations; }
  const ProcessHistory& history() const { return dumps_.locations->processes(); }

  void add_interval(SampleCount sample, uint64_t end);
  void note_threshold(uint32_t pid, StringId process, uint64_t threshold);
  uint32_t step_of(uint64_t time) const {
    return group_by_.time_step == 0 ? 0
                                    : static_cast<uint32_t>(std::min<uint64_t>(
                                          time / group_by_.time_step, UINT32_MAX));
  }

  GroupBy group_by_;
  uint64_t begin_ = 0;
  uint64_t timeline_begin_ = 0;                               // since then
  tsl::robin_map<uint64_t, std::string, BytesHash> cgroups_;  // paths
  SequencePool<uint64_t> raw_stacks_;
  SequenceNumbers<StackWord> raw_tops_;
  SequenceNumbers<StackSwitch> switches_;
  SequencePool<ProfileLabel> label_sets_;
  std::string unknown_thread_;        // that names() gave last
  std::string unknown_process_;       // likewise
  std::vector<LocationId> resolved_;  // scratch of add_stack()

  tsl::robin_map<StackContext, uint32_t, BytesHash> contexts_;
  tsl::robin_map<SeenStack, StackId, BytesHash> seen_;
  std::vector<ProfileLabel> resolved_labels_;           // scratch of number_labels()
  tsl::robin_map<uint32_t, uint32_t, BytesHash> tops_;  // that dumps_ has, by number
  struct Process {
    uint32_t pid;
    uint32_t name;
    bool operator==(const Process&) const = default;
  };
  tsl::robin_map<Process, uint32_t, BytesHash> raised_;  // indexes of raised_thresholds
  SampleCounter samples_;
  Profile profile_;
  StackDumps dumps_;
};

Replay::Tables::Tables(RecordingInfo info, std::vector<RecordedImage> images,
                       std::vector<Event> events, std::span<const RecordedPerfMap> perf_maps,
                       GroupBy group_by)
    : group_by_(group_by), cgroups_(cgroups_in(events)) {
  dumps_.locations =
      std::make_shared<LocationTable>(std::move(images), std::move(events), perf_maps);
  // Set 0 is the empty one, which samples without labels have.
  label_sets_.intern({});
  profile_.info = std::move(info);
  add_fixed_mappings(profile_);
  profile_.timelines.resize(profile_.info.events.size());
  profile_.time_step = group_by.time_step;
}

SampleNames Replay::Tables::names(const RecordedSample& sample) {
  SampleNames names = {.thread = history().comm(sample.pid, sample.tid, sample.time),
                       .process = history().process_name(sample.pid, sample.time),
                       .cgroup = {}};
  // A thread or process whose name no event told is shown by its number.
  if (names.thread.empty())
    names.thread = unknown_thread_ = fmt::format(":{}", sample.tid);
  if (names.process.empty())
    names.process = unknown_process_ = fmt::format(":{}", sample.pid);
  if (auto known = cgroups_.find(sample.cgroup); known != cgroups_.end())
    names.cgroup = known->second;
  return names;
}

void Replay::Tables::add(const RecordedSample& sample, const Numbers& numbers) {
  AddressSpace space = locations().address_space(sample.pid, sample.time);
  // Equal addresses are an equal stack only in the same program with the same mappings, kernel
  // code, and shape of the stack: all of that is the context.
  StackContext context = {
      space.program,
      space.map_count,
      space.told_code,
      sample.kernel_stack.empty() ? 0 : locations().kernel_history().count_at(sample.time),
      static_cast<uint32_t>(sample.user_end),
      sample.goroutine_start,
      numbers.switches,
      sample.gap,
      rounded(sample.missing)};
  // Most samples are of a stack that was seen before: then only its number is looked up, and no
  // address is.
  auto number = contexts_.try_emplace(context, static_cast<uint32_t>(contexts_.size()));
  // An offset of the frame is kNoFrame or at most kMaxFrameDistance, as is_frame_offset() of
  // raw/ has it: 32 bits tell all of them apart.
  SeenStack seen = {number.first->second,
                    numbers.kernel_stack,
                    numbers.user_stack,
                    numbers.top,
                    static_cast<uint32_t>(sample.frame_offset),
                    group_by_.has_creators ? numbers.creator : 0};
  auto [known, is_new] = seen_.try_emplace(seen);
  if (is_new)
    known.value() = add_stack(context, numbers, sample);

  // The recorder's first samples may be a little older than its note of when it began.
  uint64_t since_begin = sample.time - std::min(sample.time, begin_);
  SampleNames named = names(sample);
  // Attributes that the output does not tell apart are left at 0, so that equal samples become
  // one count.
  Owner owner = {
      .goid = group_by_.has_goids ? sample.goid : 0,
      .event = sample.event,
      .pid = sample.pid,
      .tid = group_by_.has_tids ? sample.tid : 0,
      .comm = profile_.strings.intern(named.thread),
      .process = profile_.strings.intern(named.process),
      .cgroup = profile_.strings.intern(named.cgroup),
      .label_set = numbers.label_set,
      .state = profile_.strings.intern(sample.state),
      .waker = group_by_.has_wakers ? profile_.strings.intern(sample.waker) : StringId{}};
  SampleCount counted = {.stack = known->second,
                         .owner = profile_.owners.intern(owner),
                         .count = 1,
                         .weight = sample.weight,
                         .skipped = profile_.skipped_in(sample.weight, sample.event),
                         .step = step_of(group_by_.time_offset + since_begin),
                         .cpu = group_by_.has_cpus ? sample.cpu : 0};
  // A point in time falls into one step; a wait is spread over those that it lasted.
  uint64_t shown = since_begin - std::min(since_begin, timeline_begin_);
  const RecordedEvent& event = profile_.info.events[sample.event];
  if (sample.doublings > 0 && has_intervals(event))
    note_threshold(sample.pid, owner.process, threshold_of(event, sample));
  if (!is_interval(event, sample)) {
    samples_.add(counted, profile_.samples);
    profile_.timelines[sample.event].add(shown, profile_.amount(counted));
    return;
  }
  add_interval(counted, group_by_.time_offset + since_begin);
  profile_.timelines[sample.event].add_interval(shown - std::min(shown, sample.weight), shown,
                                                sample.weight);
}

// Called for a wait that was chosen by a doubled threshold: of each process, told by its name
// as well, the largest is kept.
void Replay::Tables::note_threshold(uint32_t pid, StringId process, uint64_t threshold) {
  auto next = static_cast<uint32_t>(profile_.raised_thresholds.size());
  auto [known, is_new] = raised_.try_emplace({pid, static_cast<uint32_t>(process)}, next);
  if (is_new)
    profile_.raised_thresholds.push_back({.pid = pid, .process = process});
  uint64_t& largest = profile_.raised_thresholds[known->second].nanoseconds;
  largest = std::max(largest, threshold);
}

// A sample of an interval that ends at a time, as those of the steps it lies in. It counts
// once. A file can say that there are any number of steps: what lies before the last ones is of
// the first of these.
void Replay::Tables::add_interval(SampleCount sample, uint64_t end) {
  constexpr int kMaxSteps = 2000;  // samples that one wait may become
  uint64_t left = sample.weight;
  // From the end of the interval to its begin. The step that it ends in has the count, the
  // others have weight alone.
  for (int i = 1; i < kMaxSteps && sample.step > 0; i++) {
    uint64_t of_step = end - sample.step * group_by_.time_step;
    if (of_step >= left)
      break;
    sample.weight = of_step;
    samples_.add(sample, profile_.samples);
    sample.count = 0;
    left -= of_step;
    end -= of_step;
    sample.step--;
  }
  sample.weight = left;
  samples_.add(sample, profile_.samples);
}

// Called for the first sample of each stack: gives its addresses locations, and notes how it
// was found, for unwind(). Innermost frames come first.
StackId Replay::Tables::add_stack(const StackContext& context, const Numbers& numbers,
                                  const RecordedSample& sample) {
  AddressSpace space = {context.program, context.map_count, context.told_code};
  resolved_.clear();
  // The innermost kernel frame was interrupted, the others are returned to.
  bool is_return = false;
  for (uint64_t address : raw_stacks_[numbers.kernel_stack]) {
    resolved_.push_back(
        locations().in_kernel(profile_, context.kernel_count, address, is_return));
    is_return = true;
  }
  // Then the user's part, in which the recorder said where the goroutine's stack ends and where
  // frames are left out; both are counted in frames of this stack from here on.
  // Under a kernel stack, the innermost user frame is where the kernel was entered.
  is_return = false;
  auto end = static_cast<StackEnd>(context.end);
  // An older recording knows one switch at the most, and no place of its words; at 0 there is
  // none.
  std::vector<StackSwitch> unknown = {{.start = context.goroutine_start}};
  std::span<const StackSwitch> switches = sample.switches.empty() ? unknown : sample.switches;
  size_t first_switch = dumps_.switches.size();
  size_t kernel_depth = resolved_.size();
  size_t gap = 0;
  std::span<const uint64_t> user = raw_stacks_[numbers.user_stack];
  for (size_t i = 0; i < user.size(); i++) {
    LocationId id = locations().in_user(profile_, space, user[i], is_return);
    // The gap is a frame of its own, so that later indexes in this stack are one larger.
    if (i == context.gap && i > 0) {
      gap = resolved_.size() - kernel_depth;
      resolved_.push_back(locations().left_out(profile_, context.missing));
    }
    // No code was there at that time, so it is no return address, nor are those above it.
    if (is_return && profile_.locations[to_index(id)].mapping == kNoMapping) {
      end = StackEnd::kBadFrame;
      break;
    }
    // A switch before the first frame divides nothing. Starts rise (are_sound() of raw/), so
    // that only the front one has to be asked.
    if (!switches.empty() && i == switches.front().start) {
      if (i > 0) {
        dumps_.switches.push_back(switches.front());
        dumps_.switches.back().start = resolved_.size() - kernel_depth;
      }
      switches = switches.subspan(1);
    }
    resolved_.push_back(id);
    is_return = true;
  }
  if (end == StackEnd::kCallFromC && user.empty())
    resolved_.push_back(locations().call_from_c(profile_));
  auto id = static_cast<StackId>(profile_.stack_count());
  profile_.add_stack(resolved_);
  // States are in step with the profile's stacks, from dumps_.first_stack on.
  dumps_.states.push_back({sample.frame_offset, space, top(numbers.top, sample.words), end,
                           static_cast<uint32_t>(first_switch),
                           static_cast<uint32_t>(dumps_.switches.size() - first_switch),
                           !sample.switches.empty(), static_cast<uint32_t>(gap),
                           creator(space, numbers.creator)});
  return id;
}

// Known of a goroutine only, and found where it is wanted.
std::optional<LocationId> Replay::Tables::creator(AddressSpace space, uint32_t stack) {
  std::span<const uint64_t> address = raw_stacks_[stack];
  if (!group_by_.has_creators || address.empty())
    return {};
  return locations().in_user(profile_, space, address.front(), true);
}

uint32_t Replay::Tables::number_labels(std::span<const Label> labels) {
  resolved_labels_.clear();
  for (const Label& label : labels)
    resolved_labels_.push_back(
        {profile_.strings.intern(label.key), profile_.strings.intern(label.value)});
  return label_sets_.intern(resolved_labels_);
}

uint32_t Replay::Tables::top(uint32_t number, std::span<const StackWord> words) {
  // Words of one number are stored once, for many stacks have the same top. `begins` has one
  // more than there are dumps.
  auto next = static_cast<uint32_t>(dumps_.begins.size() - 1);
  auto [known, is_new] = tops_.try_emplace(number, next);
  if (!is_new)
    return known->second;
  dumps_.words.insert(dumps_.words.end(), words.begin(), words.end());
  dumps_.begins.push_back(dumps_.words.size());
  return next;
}

uint64_t Replay::Tables::memory() const {
  auto of = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  // The former memory of a vector that grew stays in the heap, and while it grows both are
  // there.
  constexpr uint64_t kGrowth = 3;
  return kGrowth * (raw_stacks_.memory() + of(profile_.stack_locations)) + raw_tops_.memory() +
         switches_.memory() + kGrowth * of(dumps_.words) + of(dumps_.switches) +
         of(dumps_.begins) + label_sets_.memory() + samples_.memory(profile_.samples) +
         profile_.owners.memory() + memory_of_table(contexts_) + memory_of_table(seen_) +
         memory_of_table(tops_) + memory_of_table(raised_) +
         kGrowth * of(profile_.raised_thresholds) + dumps_.locations->memory() +
         of(profile_.locations) + of(profile_.mappings) + of(profile_.stack_begin) +
         of(dumps_.states) + profile_.strings.memory();
}

bool Replay::Tables::find_callers(uint64_t least, const FindCallers& find) {
  if (dumps_.words.size() * sizeof(StackWord) < least)
    return true;
  if (!find(profile_, dumps_))
    return false;
  dumps_.clear();
  tops_.clear();
  // The callers are found, and the stacks handed on: only their numbers are kept, and seen_
  // still refers to these. A begin of 0 makes each an empty stack.
  profile_.stack_locations.clear();
  std::ranges::fill(profile_.stack_begin, 0);
  return true;
}

Replayed Replay::Tables::finish() && {
  std::ranges::stable_sort(profile_.raised_thresholds, std::greater<>(),
                           &RaisedThreshold::nanoseconds);
  // Set 0 is empty, and is in each profile from the beginning.
  for (uint32_t set = 1; set < label_sets_.size(); set++)
    profile_.label_sets.emplace_back(label_sets_[set].begin(), label_sets_[set].end());
  return {std::move(profile_), std::move(dumps_)};
}

Replay::Replay(RecordingInfo info, std::vector<RecordedImage> images, std::vector<Event> events,
               std::span<const RecordedPerfMap> perf_maps, GroupBy group_by)
    : tables_(std::make_unique<Tables>(std::move(info), std::move(images), std::move(events),
                                       perf_maps, group_by)) {}

Replay::Replay(Replay&&) noexcept = default;
Replay::~Replay() = default;

SampleNames Replay::names(const RecordedSample& sample) {
  return tables_->names(sample);
}

uint32_t Replay::number_stack(std::span<const uint64_t> stack) {
  return tables_->number_stack(stack);
}

uint32_t Replay::number_top(std::span<const StackWord> top) {
  return tables_->number_top(top);
}

uint32_t Replay::number_switches(std::span<const StackSwitch> switches) {
  return tables_->number_switches(switches);
}

uint32_t Replay::number_labels(std::span<const Label> labels) {
  return tables_->number_labels(labels);
}

void Replay::add(const RecordedSample& sample, const Numbers& numbers) {
  tables_->add(sample, numbers);
}

void Replay::add(const RecordedSample& sample) {
  std::span creator(&sample.creator, sample.creator != 0 ? 1 : 0);
  add(sample, {number_stack(sample.kernel_stack), number_stack(sample.user_stack),
               number_stack(creator), number_top(sample.words),
               number_switches(sample.switches), number_labels(sample.labels)});
}

uint64_t Replay::memory() const {
  return tables_->memory();
}

bool Replay::find_callers(uint64_t least, const FindCallers& find) {
  return tables_->find_callers(least, find);
}

void Replay::set_begin(uint64_t time, uint64_t later) {
  tables_->set_begin(time, later);
}

Replayed Replay::finish() && {
  return std::move(*tables_).finish();
}

}  // namespace gosym
