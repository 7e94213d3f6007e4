#include "profile/accumulated_profile.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <type_traits>

namespace gosym {

namespace {

void add_to(UnwindCounts& sum, const UnwindCounts& part) {
  sum.samples += part.samples;
  sum.repaired += part.repaired;
  sum.cut += part.cut;
  sum.unknown += part.unknown;
  sum.deep += part.deep;
  sum.bridged += part.bridged;
}

void add_to(CpuCounts& sum, const CpuCounts& part) {
  sum.samples += part.samples;
  sum.lost_samples += part.lost_samples;
  sum.lost_events += part.lost_events;
  sum.throttled_ns += part.throttled_ns;
  sum.skipped += part.skipped;
  sum.lost_ns += part.lost_ns;
}

// The counts with the number that their event has in the sum.
CpuCounts renumbered_event(CpuCounts counts, std::span<const uint32_t> events) {
  counts.event = counts.event < events.size() ? events[counts.event] : 0;
  return counts;
}

void add_to(RecordingStats& sum, const RecordingStats& part, std::span<const uint32_t> events,
            bool is_first) {
  // The time that the kernel charged is known for the sum only if each part knows it.
  bool is_known = part.charged_ns != 0 && (is_first || sum.charged_ns != 0);
  sum.charged_ns = is_known ? sum.charged_ns + part.charged_ns : 0;
  sum.time = part.time;
  sum.samples += part.samples;
  sum.lost_samples += part.lost_samples;
  sum.lost_events += part.lost_events;
  for (const CpuCounts& counts : part.cpus) {
    CpuCounts cpu = renumbered_event(counts, events);
    auto same = std::ranges::find_if(sum.cpus, [&](const CpuCounts& known) {
      return known.cpu == cpu.cpu && known.event == cpu.event;
    });
    if (same == sum.cpus.end())
      sum.cpus.push_back(cpu);
    else
      add_to(*same, cpu);
  }
}

// Adds what a part has of each event, by its number there, to what the sum has of it; `events`
// are the numbers there. Tables may be short, of events that nothing was counted of.
template <class Thing, class Add>
void add_by_event(std::vector<Thing>& sum, const std::vector<Thing>& part,
                  std::span<const uint32_t> events, Add add) {
  for (size_t event = 0; event < std::min(part.size(), events.size()); event++) {
    sum.resize(std::max<size_t>(sum.size(), events[event] + 1));
    add(sum[events[event]], part[event]);
  }
}

uint64_t number_of(uint32_t high, uint32_t low) {
  return uint64_t{high} << 32 | low;
}

}  // namespace

void AccumulatedProfile::add(const Profile& part, uint32_t first_recording) {
  bool is_first = std::exchange(is_empty_, false);
  if (is_first) {
    profile_.info = part.info;
    profile_.start_realtime_ns = part.start_realtime_ns;
    profile_.filter = part.filter;
    // These two are the same in every profile (add_fixed_mappings()), and so are the images
    // that they refer to: as the first of the part these are numbered alike below.
    profile_.mappings = {part.mappings[0], part.mappings[1]};
    profile_.time_step = part.time_step;
  }
  // Each table of the part is added before those that refer to it, and its numbers are
  // translated by `ids`.
  NewIds ids;
  ids.events = add_events(part.info);
  ids.first_recording = first_recording;
  for (size_t i = 0; i < part.strings.size(); i++)
    ids.strings.push_back(profile_.strings.intern(part.strings[static_cast<StringId>(i)]));
  for (const ProfileImage& image : part.images)
    ids.images.push_back(add_image(image));
  for (const Function& function : part.functions)
    ids.functions.push_back(add_function(function, ids));
  for (const Location& location : part.locations)
    ids.locations.push_back(add_location(part, location, ids));
  for (size_t i = 0; i < part.stack_count(); i++) {
    std::vector<LocationId> stack;
    for (LocationId id : part.stack(static_cast<StackId>(i)))
      stack.push_back(ids.locations[to_index(id)]);
    // Beyond a limit a stack is cut: see add_stack().
    auto [id, is_short] = add_stack(std::move(stack));
    ids.stacks.push_back(id);
    ids.is_short.push_back(is_short);
  }
  for (const std::vector<ProfileLabel>& labels : part.label_sets)
    ids.label_sets.push_back(add_label_set(labels, ids));
  // Owners that are of no sample any more are not added.
  std::vector<std::optional<OwnerId>> owners(part.owners.size());
  for (SampleCount sample : part.samples) {
    std::optional<OwnerId>& owner = owners[to_index(sample.owner)];
    if (!owner)
      owner = add_owner(part.owner(sample), ids);
    std::span<const uint64_t> others = part.others_of(sample);
    bool is_short = ids.is_short[to_index(sample.stack)];
    sample.stack = ids.stacks[to_index(sample.stack)];
    sample.owner = *owner;
    add_sample(sample, others, is_short);
  }
  // Damage, recordings and the memory limit are left to the caller, who knows all parts.
  profile_.idle_ns += part.idle_ns;
  for (RaisedThreshold raised : part.raised_thresholds) {
    raised.recording += first_recording;
    raised.process = ids.strings[static_cast<size_t>(raised.process)];
    profile_.raised_thresholds.push_back(raised);
  }
  std::ranges::stable_sort(profile_.raised_thresholds, std::greater<>(),
                           &RaisedThreshold::nanoseconds);
  add_counts(part, ids, is_first);
}

std::vector<uint32_t> AccumulatedProfile::add_events(const RecordingInfo& info) {
  std::vector<RecordedEvent>& known = profile_.info.events;
  std::vector<uint32_t> ids;
  // Events are few: a search is enough.
  for (const RecordedEvent& event : info.events) {
    auto same = std::ranges::find(known, event);
    ids.push_back(static_cast<uint32_t>(same - known.begin()));
    if (same == known.end())
      known.push_back(event);
  }
  return ids;
}

// The numbers that what is shown of a part has in the sum.
std::vector<uint32_t> AccumulatedProfile::shown_numbers(const RecordingInfo& part,
                                                        const NewIds& ids) const {
  std::vector<uint32_t> firsts = first_shown(profile_.info.events);
  std::vector<uint32_t> numbers;
  for (size_t event = 0; event < part.events.size(); event++)
    for (uint32_t value = 0; value < value_count(part.events[event]); value++)
      numbers.push_back(firsts[ids.events[event]] + value);
  return numbers;
}

uint32_t AccumulatedProfile::add_image(const ProfileImage& image) {
  auto next = static_cast<uint32_t>(profile_.images.size());
  // The id alone is not enough: images without a number in the recording, such as [vdso], all
  // have 0.
  auto [known, is_new] = images_.try_emplace({image.file.id, image.file.path}, next);
  if (is_new)
    profile_.images.push_back(image);
  return known->second;
}

FunctionId AccumulatedProfile::add_function(Function function, const NewIds& ids) {
  for (StringId* id : {&function.name, &function.system_name, &function.file, &function.package,
                       &function.declared})
    *id = ids.strings[static_cast<size_t>(*id)];
  auto next = static_cast<FunctionId>(profile_.functions.size());
  auto [known, is_new] = functions_.try_emplace(
      {static_cast<uint32_t>(function.name), static_cast<uint32_t>(function.system_name),
       static_cast<uint32_t>(function.file), static_cast<uint32_t>(function.package),
       static_cast<uint32_t>(function.declared), function.start_line},
      next);
  if (is_new)
    profile_.functions.push_back(function);
  return known->second;
}

// The frames of a location of the part, as they are here; the number of the sequence. None: it
// would be a new one, beyond the limit of locations.
std::optional<uint32_t> AccumulatedProfile::add_frames(const Profile& part, Location& location,
                                                       const NewIds& ids) {
  // Frames are compared as sequences of numbers, so that equal ones are stored once.
  std::vector<uint64_t> numbers;
  std::vector<Frame> frames;
  for (Frame frame : part.frames_of(location)) {
    frame.function = ids.functions[to_index(frame.function)];
    numbers.push_back(number_of(static_cast<uint32_t>(frame.function), frame.line));
    numbers.push_back(
        number_of(static_cast<uint32_t>(frame.source), static_cast<uint32_t>(frame.kind)));
    frames.push_back(frame);
  }
  if (is_full() && !frames_.contains(numbers))
    return std::nullopt;
  // A sequence that is new gets the next number, and its frames are appended.
  uint32_t known = frames_.size();
  uint32_t id = frames_.intern(numbers);
  if (id == known) {
    frames_begin_.push_back(static_cast<uint32_t>(profile_.frames.size()));
    profile_.frames.insert(profile_.frames.end(), frames.begin(), frames.end());
  }
  location.first_frame = frames_begin_[id];
  return id;
}

MappingId AccumulatedProfile::add_mapping(Mapping mapping, const NewIds& ids) {
  mapping.image = ids.images[mapping.image];
  auto next = static_cast<MappingId>(profile_.mappings.size());
  auto [known, is_new] = mappings_.try_emplace(
      {mapping.image, mapping.start, mapping.limit, mapping.file_offset, mapping.perf_map},
      next);
  if (is_new)
    profile_.mappings.push_back(mapping);
  return known->second;
}

LocationId AccumulatedProfile::add_location(const Profile& part, const Location& location,
                                            const NewIds& ids) {
  Location added = location;
  added.kernel_name = ids.strings[static_cast<size_t>(location.kernel_name)];
  std::optional<uint32_t> frames = add_frames(part, added, ids);
  const Mapping& mapping = part.mappings[to_index(location.mapping)];
  // Code of a file is told by its image address, which is the same wherever it was mapped.
  bool has_place = location.image_address.has_value();
  LocationKey key = {
      has_place ? to_integer(*location.image_address) : to_integer(location.address),
      ids.images[mapping.image], frames.value_or(0), static_cast<uint32_t>(added.kernel_name),
      static_cast<uint32_t>(location.unnamed) << 3 | uint32_t{location.is_creator} << 2 |
          uint32_t{has_place} << 1 | uint32_t{location.is_return}};
  auto next = static_cast<LocationId>(profile_.locations.size());
  if (!frames || (is_full() && !locations_.contains(key))) {
    // One location stands for all that are too many. The address of kLeftOut is a number of
    // frames, and each of these locations is one frame of its stack.
    added = {};
    added.address = RuntimeAddress{1};
    added.unnamed = Unnamed::kLeftOut;
    key = {1, 0, 0, 0, static_cast<uint32_t>(Unnamed::kLeftOut) << 3};
  }
  auto [known, is_new] = locations_.try_emplace(key, next);
  if (!is_new)
    return known->second;
  // Mappings 0 and 1 are the same in every profile.
  if (to_index(added.mapping) > to_index(kKernelMapping))
    added.mapping = add_mapping(mapping, ids);
  profile_.locations.push_back(added);
  return next;
}

// True: only its innermost frame.
std::pair<StackId, bool> AccumulatedProfile::add_stack(std::vector<LocationId> stack) {
  // Beyond the limit new stacks are cut to their innermost frame, which keeps the self amounts
  // right; there are no more of these than locations.
  bool is_full = profile_.stack_locations.size() + stack.size() > limits_.stack_locations;
  bool is_short = is_full && stack.size() > 1 && !stacks_.contains(stack);
  if (is_short)
    stack.resize(1);
  uint32_t number = stacks_.number(stack);
  if (number == profile_.stack_count())
    profile_.add_stack(stack);
  return {StackId{number}, is_short};
}

uint32_t AccumulatedProfile::add_label_set(std::vector<ProfileLabel> labels,
                                           const NewIds& ids) {
  std::vector<std::pair<StringId, StringId>> key;
  for (ProfileLabel& label : labels) {
    label = {ids.strings[static_cast<size_t>(label.key)],
             ids.strings[static_cast<size_t>(label.value)]};
    key.emplace_back(label.key, label.value);
  }
  if (key.empty())
    return 0;
  auto next = static_cast<uint32_t>(profile_.label_sets.size());
  auto [known, is_new] = label_sets_.try_emplace(std::move(key), next);
  if (is_new)
    profile_.label_sets.push_back(std::move(labels));
  return known->second;
}

OwnerId AccumulatedProfile::add_owner(const Owner& owner, const NewIds& ids) {
  Owner added;
  for_each_owner_field([&](const auto& field) {
    // Fields that are numbers of something in the part become those of the sum: their roles
    // tell of what (owners.h).
    auto number = static_cast<uint64_t>(owner.*field.member);
    switch (field.role) {
      case OwnerRole::kNumber:
      case OwnerRole::kTask:
        break;
      case OwnerRole::kText:
        number = static_cast<uint64_t>(ids.strings[number]);
        break;
      case OwnerRole::kLabelSet:
        number = ids.label_sets[number];
        break;
      case OwnerRole::kEvent:
        number = ids.events[number];
        break;
      case OwnerRole::kRecording:
        number += ids.first_recording;
        break;
    }
    auto& member = added.*field.member;
    member = static_cast<std::decay_t<decltype(member)>>(number);
  });
  return profile_.owners.intern(added);
}

void AccumulatedProfile::add_sample(SampleCount sample, std::span<const uint64_t> others,
                                    bool is_short) {
  // Beyond the limit samples lose the details of their owner, so that they fall together with
  // others: amounts stay right.
  if (profile_.samples.size() >= limits_.samples &&
      !samples_.contains(sample, profile_.samples)) {
    profile_.change_owner(sample, [](Owner& owner) {
      for_each_owner_field([&](const auto& field) {
        if (field.is_detail)
          owner.*field.member = {};
      });
    });
    sample.cpu = 0;
    is_short = true;
  }
  shortened_ += is_short ? sample.count : 0;
  samples_.add(sample, others, profile_.samples, profile_.other_amounts);
}

void AccumulatedProfile::add_counts(const Profile& part, const NewIds& ids, bool is_first) {
  constexpr size_t kMaxLosses = 1000;  // the last ones are told when they were
  // Parts may begin before the first one did by the wall clock, which somebody can set.
  uint64_t begin =
      part.start_realtime_ns - std::min(part.start_realtime_ns, profile_.start_realtime_ns);
  profile_.duration_ns = std::max(profile_.duration_ns, begin + part.duration_ns);
  add_by_event(profile_.timelines, part.timelines, ids.events,
               [begin](Timeline& sum, const Timeline& timeline) { sum.add(timeline, begin); });
  add_to(profile_.stats, part.stats, ids.events, is_first);
  for (const Loss& loss : part.losses)
    profile_.losses.push_back(
        {begin + loss.begin, begin + loss.end, renumbered_event(loss.counts, ids.events)});
  if (profile_.losses.size() > kMaxLosses)
    // Their counts stay in the statistics; only the times of the older ones are forgotten.
    profile_.losses.erase(profile_.losses.begin(), profile_.losses.end() - kMaxLosses);
  add_to(profile_.unwound, part.unwound);
  add_by_event(profile_.unwound_by_event, part.unwound_by_event, ids.events,
               [](UnwindCounts& sum, const UnwindCounts& counts) { add_to(sum, counts); });
  add_by_event(profile_.recorded_amounts, part.recorded_amounts, shown_numbers(part.info, ids),
               [](uint64_t& sum, uint64_t amount) { sum += amount; });
}

}  // namespace gosym
