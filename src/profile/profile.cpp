#include "profile/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>

#include "base/text.h"

namespace gosym {

namespace {

// The upper half of memory, as x86-64 and arm64 have it: the same in every profile, so that
// profiles can be merged.
constexpr uint64_t kKernelStart = 0xffff800000000000;
constexpr uint64_t kKernelLimit = UINT64_MAX;

}  // namespace

std::span<const LocationId> Profile::stack(StackId id) const {
  size_t begin = stack_begin[to_index(id)];
  size_t end = stack_begin[to_index(id) + 1];
  return std::span(stack_locations).subspan(begin, end - begin);
}

void Profile::add_stack(std::span<const LocationId> stack) {
  stack_locations.insert(stack_locations.end(), stack.begin(), stack.end());
  stack_begin.push_back(stack_locations.size());
}

std::span<const Frame> Profile::frames_of(const Location& location) const {
  return std::span(frames).subspan(location.first_frame, location.frame_count);
}

const ProfileImage& Profile::image_of(MappingId id) const {
  return images[mappings[to_index(id)].image];
}

std::optional<ImageAddress> Profile::find_image_address(const Location& location) const {
  const ProfileImage& image = image_of(location.mapping);
  const Mapping& place = mappings[to_index(location.mapping)];
  if (image.kind == ProfileImage::Kind::kFile)
    return code_at(image.file.segments, place.file_offset_of(location.address));
  if (image.kind == ProfileImage::Kind::kVdso)
    return ImageAddress{to_integer(location.address) - place.start};  // it is linked at 0
  return std::nullopt;
}

std::string Profile::unnamed_text(const Location& location) const {
  uint64_t address = to_integer(location.address);
  // Locations of no code have something else in their address: a number of frames, or nothing.
  if (location.unnamed == Unnamed::kLeftOut)
    return fmt::format("… {} frames …", address);
  if (location.unnamed == Unnamed::kCallFromC)
    return fmt::format("[{}]", to_string(location.unnamed));
  if (is_kernel(location))
    return fmt::format("[kernel {:#x}]", address);
  // Without an address in the file the distance from the begin of the mapping is shown.
  uint64_t offset = location.image_address
                        ? to_integer(*location.image_address)
                        : address - mappings[to_index(location.mapping)].start;
  std::string_view word = to_string(location.unnamed);
  if (location.unnamed == Unnamed::kVdso)
    return fmt::format("[{}+{:#x}]", word, offset);
  if (!is_about_file(location.unnamed))
    return fmt::format("[{} {:#x}]", word, address);
  std::string_view file = base_name(image_of(location.mapping).file.path);
  return fmt::format("[{} {}+{:#x}]", word, file, offset);
}

uint64_t Profile::period(uint32_t event) const {
  const RecordedEvent& of = info.events[event];
  // Weighted samples have their amount themselves.
  if (is_weighted(of))
    return 1;
  return of.frequency == 0 ? of.period : 1'000'000'000 / of.frequency;
}

uint64_t Profile::skipped_in(uint64_t weight, uint32_t event) const {
  uint64_t tick = period(event);
  // A sample of a clock stands for itself and for the ticks that did not come before it.
  bool is_time = gosym::measures_cpu_time(info.events[event]);
  // Whole ticks alone are counted: the rest of the weight is less than one.
  return is_time && tick > 0 && weight > tick ? weight / tick - 1 : 0;
}

uint64_t Profile::total_count() const {
  uint64_t total = 0;
  for (const SampleCount& sample : samples)
    total += sample.count;
  return total;
}

uint64_t Profile::total_amount() const {
  uint64_t total = 0;
  for (const SampleCount& sample : samples)
    total += amount(sample);
  return total;
}

uint64_t memory_of(const Profile& profile) {
  // Twice the size: a vector that grows has up to as much room again.
  auto of = [](const auto& table) { return 2 * table.size() * sizeof(table[0]); };
  return of(profile.samples) + of(profile.other_amounts) + profile.owners.memory() +
         of(profile.stack_locations) + of(profile.stack_begin) + of(profile.locations) +
         of(profile.frames) + of(profile.functions) + of(profile.mappings) +
         of(profile.images) + profile.strings.memory();
}

void add_fixed_mappings(Profile& profile) {
  ProfileImage none;
  none.kind = ProfileImage::Kind::kAnonymous;
  ProfileImage kernel;
  kernel.kind = ProfileImage::Kind::kKernel;
  kernel.file.path = "[kernel.kallsyms]";
  profile.images = {none, kernel};
  // kNoMapping and kKernelMapping: image 0 is none, image 1 the kernel.
  profile.mappings = {{}, {1, kKernelStart, kKernelLimit, 0}};
}

uint64_t Profile::time_begin() const {
  uint64_t first = recordings.empty() ? 0 : recordings.front().start_realtime_ns;
  // Without the time of the first recording, or if a clock was set back, steps begin with the
  // profile.
  bool is_known = first != 0 && first <= start_realtime_ns;
  return is_known ? start_realtime_ns - first : 0;
}

void fill_timelines(Profile& profile) {
  profile.timelines.clear();
  if (profile.time_step == 0)
    return;
  // All that is known of a sample's time is the step that it lies in.
  profile.timelines.assign(profile.info.events.size(), Timeline(profile.time_step));
  uint64_t begin = profile.time_begin();
  for (const SampleCount& sample : profile.samples) {
    uint64_t time = sample.step * profile.time_step;
    profile.timelines[profile.owner(sample).event].add(time - std::min(time, begin),
                                                       profile.amount(sample));
  }
}

namespace {

// The event that is shown by a number, and the number of its value.
std::pair<uint32_t, uint32_t> event_and_value(std::span<const RecordedEvent> events,
                                              uint32_t shown) {
  uint32_t event = 0;
  for (; shown >= value_count(events[event]); event++)
    shown -= value_count(events[event]);
  return {event, shown};
}

// Leaves of a sample this amount of one of its values. False: it is none.
bool keep_value(uint64_t amount, SampleCount& sample) {
  sample.weight = amount;
  sample.skipped = 0;
  // Some of those that were added up had none of it; how many is not kept.
  sample.count = std::min(sample.count, amount);
  return amount != 0;
}

}  // namespace

EventCounts counts_of(const Profile& profile, uint32_t shown) {
  auto [event, value] = event_and_value(profile.info.events, shown);
  EventCounts counts;
  counts.stats = profile.stats;
  counts.losses = profile.losses;
  if (event < profile.unwound_by_event.size())
    counts.unwound = profile.unwound_by_event[event];
  // Counts of all events are replaced by those of the one.
  counts.stats.samples = counts.stats.lost_samples = 0;
  for (CpuCounts& cpu : counts.stats.cpus) {
    cpu = of_event(cpu, event);
    counts.stats.samples += cpu.samples;
    counts.stats.lost_samples += cpu.lost_samples;
  }
  for (Loss& loss : counts.losses)
    loss.counts = of_event(loss.counts, event);
  // Profiles of other tools have none of these.
  if (shown < profile.recorded_amounts.size())
    counts.recorded_amounts = {profile.recorded_amounts[shown]};
  // Profiles with timelines were recorded: by the event's own value, which is number 0.
  if (event < profile.timelines.size() && value == 0)
    counts.timelines = {profile.timelines[event]};
  return counts;
}

Profile of_event(const Profile& profile, uint32_t shown) {
  auto [event, value] = event_and_value(profile.info.events, shown);
  bool is_one_of_several = !profile.info.events[event].others.empty();
  Profile one = profile;
  one.info.events = {shown_events(profile.info.events)[shown]};
  one.other_amounts.clear();
  EventCounts counts = counts_of(profile, shown);
  one.unwound_by_event = {counts.unwound};
  one.unwound = counts.unwound;
  one.stats = std::move(counts.stats);
  one.losses = std::move(counts.losses);
  one.recorded_amounts = std::move(counts.recorded_amounts);
  one.timelines = std::move(counts.timelines);
  // It has one event, number 0, so whoever takes it knows of no others: owners are those that
  // have samples of it, numbered anew.
  std::vector<SampleCount> samples;
  std::vector<std::optional<OwnerId>> owners(profile.owners.size());
  one.owners = {};
  for (SampleCount sample : profile.samples) {
    Owner owner = profile.owner(sample);
    if (owner.event != event)
      continue;
    if (is_one_of_several && !keep_value(profile.amount(sample, value), sample))
      continue;
    std::optional<OwnerId>& known = owners[to_index(sample.owner)];
    owner.event = 0;
    if (!known)
      known = one.owners.intern(owner);
    sample.owner = *known;
    samples.push_back(sample);
  }
  one.samples = std::move(samples);
  return one;
}

void add_with_values(Profile& profile, SampleCount sample, std::span<const uint64_t> amounts) {
  sample.weight = amounts[0];
  if (amounts.size() > 1)
    sample.set_others(amounts.subspan(1), profile.other_amounts);
  profile.samples.push_back(sample);
}

Profile with_values_apart(const Profile& profile) {
  std::span<const RecordedEvent> events = profile.info.events;
  std::vector<uint32_t> firsts = first_shown(events);
  Profile apart = profile;
  apart.info.events = shown_events(events);
  apart.other_amounts.clear();
  // Counts of an event stay with its first value.
  size_t counted = std::min(profile.unwound_by_event.size(), events.size());
  apart.unwound_by_event.assign(counted == 0 ? 0 : firsts.back(), {});
  for (size_t event = 0; event < counted; event++)
    apart.unwound_by_event[firsts[event]] = profile.unwound_by_event[event];
  auto renumber = [&](CpuCounts& counts) {
    counts.event = counts.event < events.size() ? firsts[counts.event] : 0;
  };
  std::ranges::for_each(apart.stats.cpus, renumber);
  for (Loss& loss : apart.losses)
    renumber(loss.counts);
  std::vector<SampleCount> samples;
  apart.owners = {};
  for (const SampleCount& whole : profile.samples) {
    Owner owner = profile.owner(whole);
    const RecordedEvent& event = events[owner.event];
    uint32_t first = firsts[owner.event];
    for (uint32_t place = 0; place < value_count(event); place++) {
      uint32_t value = in_file_order(event, place);
      owner.event = first + value;
      SampleCount sample = whole;
      sample.owner = apart.owners.intern(owner);
      if (event.others.empty() || keep_value(profile.amount(whole, value), sample))
        samples.push_back(sample);
    }
  }
  apart.samples = std::move(samples);
  if (!profile.timelines.empty())
    fill_timelines(apart);
  return apart;
}

StringPool::StringPool() {
  intern("");
}

StringPool::StringPool(const StringPool& other) = default;
StringPool& StringPool::operator=(const StringPool& other) = default;
StringPool::StringPool(StringPool&&) noexcept = default;
StringPool& StringPool::operator=(StringPool&&) noexcept = default;
StringPool::~StringPool() = default;

// Keys are views of a table's own texts.
StringPool::Table::Table(const Table& other) : text_size(other.text_size), texts(other.texts) {
  ids.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); i++)
    ids.emplace(texts[i], static_cast<StringId>(i));
}

StringId StringPool::intern(std::string_view text) {
  if (auto known = table_->ids.find(text); known != table_->ids.end())
    return known->second;
  // Another pool shares the table: it is copied before the first text that only this one has.
  if (table_.use_count() > 1)
    table_ = std::make_shared<Table>(*table_);
  auto id = static_cast<StringId>(table_->texts.size());
  table_->ids.emplace(table_->texts.emplace_back(text), id);
  table_->text_size += text.size();
  return id;
}

uint64_t StringPool::memory() const {
  constexpr uint64_t kEntry = sizeof(std::string_view) + 2 * sizeof(uint64_t);
  return table_->text_size + size() * sizeof(std::string) + table_->ids.bucket_count() * kEntry;
}

namespace {

constexpr uint64_t kMaxTimeSteps = 20'000;

}  // namespace

uint64_t round_step(uint64_t duration, uint64_t steps) {
  for (uint64_t unit = 1'000'000;; unit *= 10)
    for (uint64_t step : {unit, 2 * unit, 5 * unit})
      if (step >= duration / steps)
        return step;
}

uint64_t step_of_page(uint64_t duration) {
  constexpr uint64_t kLeast = 20'000'000;
  constexpr uint64_t kSteps = 3000;
  return std::max(kLeast, round_step(duration, kSteps));
}

void Timeline::add(uint64_t time, uint64_t amount) {
  while (time / step_ >= kMaxTimeSteps)
    lengthen_steps(10);
  size_t index = time / step_;
  if (index >= amounts_.size())
    amounts_.resize(index + 1);
  amounts_[index] += amount;
}

// Adds up each `factor` steps that follow one another, in place.
void Timeline::lengthen_steps(uint64_t factor) {
  for (size_t i = 0; i < amounts_.size(); i++) {
    uint64_t taken = amounts_[i];
    // Step i / factor is at or before i: what is there was taken already, or is this very one.
    amounts_[i] = 0;
    amounts_[i / factor] += taken;
  }
  amounts_.resize((amounts_.size() + factor - 1) / factor);
  step_ *= factor;
}

void Timeline::add(const Timeline& other, uint64_t begin) {
  // An amount of a step lies anywhere in it, so that this has no shorter ones. Steps of which
  // no common one has 64 bits are those of a damaged file: they stay as they are.
  uint64_t common = 0;
  if (!__builtin_mul_overflow(step_ / std::gcd(step_, other.step_), other.step_, &common) &&
      common > step_)
    lengthen_steps(common / step_);
  for (size_t i = 0; i < other.amounts_.size(); i++)
    if (other.amounts_[i] > 0)
      add(begin + i * other.step_, other.amounts_[i]);
}

void Timeline::add_interval(uint64_t begin, uint64_t end, uint64_t amount) {
  add(end, 0);  // from now on there is room for it, and steps stay as long as they are
  for (uint64_t step = end / step_; step > begin / step_; step--) {
    uint64_t of_step = end - step * step_;
    // Parts are rounded down; the first step takes what is left, so that the sum is the amount.
    auto part =
        static_cast<uint64_t>(static_cast<double>(amount) * static_cast<double>(of_step) /
                              static_cast<double>(end - begin));
    amounts_[step] += part;
    amount -= part;
    end -= of_step;
  }
  amounts_[begin / step_] += amount;
}

std::vector<double> Timeline::parts(size_t count, uint64_t duration) const {
  return spread(amounts_, static_cast<double>(step_), static_cast<double>(duration), count);
}

std::vector<double> spread(const std::vector<uint64_t>& amounts, double step, double length,
                           size_t count) {
  std::vector<double> parts(count);
  if (count == 0 || length == 0)
    return parts;
  // Each step is laid over the parts that it touches, by the share of it that lies in each.
  double part = length / static_cast<double>(count);
  for (size_t i = 0; i < amounts.size(); i++) {
    double begin = static_cast<double>(i) * step;
    double end = begin + step;
    for (auto at = static_cast<size_t>(begin / part); at < count; at++) {
      double from = std::max(begin, static_cast<double>(at) * part);
      double to = std::min(end, static_cast<double>(at + 1) * part);
      if (to <= from)
        break;
      parts[at] += static_cast<double>(amounts[i]) * (to - from) / step;
    }
  }
  return parts;
}

FunctionId CalledFunctions::add(const Call& call) {
  StringPool& strings = profile_.strings;
  StringId name = strings.intern(call.function);
  Function function = {
      .name = name, .system_name = name, .file = strings.intern(call.file), .package = {}};
  function.start_line = call.start_line;
  auto next = FunctionId{static_cast<uint32_t>(profile_.functions.size())};
  auto [known, is_new] = ids_.try_emplace({function.name, function.file}, next);
  if (is_new)
    profile_.functions.push_back(function);
  return known->second;
}

}  // namespace gosym
