#include "commands/load_profile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/workers.h"
#include "commands/report.h"
#include "exchange/gunzip.h"
#include "exchange/input_kind.h"
#include "perf_data/reader.h"
#include "profile/accumulated_profile.h"
#include "profile/rewrite_stacks.h"
#include "raw/messages.h"
#include "raw/reader.h"
#include "symbolize/make_profile.h"
#include "symbolize/symbol_cache.h"
#include "symbolize/symbolizer.h"
#include "view/difference.h"

namespace gosym {

// load_profile() is the way from files to a profile that can be shown. read_inputs() reads
// recordings, or files that have a profile already, never both. Recordings are counted and
// named one by one and added up (count_samples(), profile_of(), join_profiles()); profiles only
// have to be selected from and added up (join_read()). The passes at the end of load_profile()
// rewrite the stacks of the result.

namespace {

NameForms name_forms(const ReportOptions& options, const Format& format) {
  NameForm go = format.is_for_tools ? NameForm::kNone : NameForm::kShort;
  return {.go = options.name_form.value_or(go),
          .native = options.name_form.value_or(NameForm::kShort),
          .has_system_names = format.is_for_tools || options.format == "html"};
}

// The event that the profile is to be of; null: all of them.
Result<const RecordedEvent*> choose_event(const std::vector<RecordedEvent>& events,
                                          const Format& format, const ReportOptions& options) {
  std::vector<std::string> names;
  for (const RecordedEvent& event : events)
    names.push_back(printable(event.name));
  if (!options.event.empty()) {
    auto found = std::ranges::find(events, options.event, &RecordedEvent::name);
    if (found == events.end())
      return errorf("--event: {} is of {}, not of {}", name_of(options.inputs),
                    joined(names, " and "), printable(options.event))
          .with_exit_status(kNoTarget);
    return &*found;
  }
  // Formats that can show each event for itself get all of them.
  if (names.size() == 1 || format.events != EventsWritten::kFirst)
    return nullptr;
  warn(options, "only {} is written, of {}; --event chooses another", names.front(),
       joined(names, " and "));
  return &events.front();
}

// Step for --by time, in ns: the given one, or one that makes some twenty; 0: time is not asked
// for.
uint64_t time_step(const ViewOptions& view, uint64_t duration) {
  constexpr uint64_t kSteps = 20;
  auto by = std::ranges::find(view.by, Dimension::Kind::kTime, &Dimension::kind);
  if (by == view.by.end() || by->step != 0)
    return by == view.by.end() ? 0 : by->step;
  return round_step(duration, kSteps);
}

// Treatment of the samples of each recording.
struct Wanted {
  Filter filter;  // times count from the begin of the first recording
  GroupBy group_by;
  NameForms names;
  const RecordedEvent* event;  // null: all
  bool is_whole;               // as Format has it
  uint64_t memory;             // that may be taken for it
  bool is_aligned;             // the clocks of hosts do not count
};

// The filter for a recording that began so many nanoseconds after the first; none: no sample of
// it is wanted.
std::optional<Filter> filter_of(const Wanted& wanted, const RecordingInfo& info,
                                uint64_t offset) {
  Filter filter = wanted.filter;
  if (filter.time.end <= offset)
    return {};
  // Times of the filter count from the first recording: from this one they count less.
  filter.time.begin -= std::min(filter.time.begin, offset);
  if (filter.time.end != UINT64_MAX)
    filter.time.end -= offset;
  // Events are numbered by each recording for itself.
  if (wanted.event) {
    auto found = std::ranges::find(info.events, *wanted.event);
    if (found == info.events.end())
      return {};
    filter.event = static_cast<uint32_t>(found - info.events.begin());
  }
  return filter;
}

void add_to(SymbolizerReport& sum, const SymbolizerReport& part) {
  for (const auto& [source, locations] : part.locations_by_source)
    sum.locations_by_source[source] += locations;
  sum.image_problems.insert(part.image_problems.begin(), part.image_problems.end());
  sum.debug_files.insert(part.debug_files.begin(), part.debug_files.end());
  sum.cut_names += part.cut_names;
  sum.remade_places += part.remade_places;
}

// "web-1, web-2": the texts of several recordings, once each. A recording that has none, as one
// of gosym has no `source`, adds nothing.
std::string listed(std::span<const ProfiledRecording> recordings,
                   std::string RecordingInfo::*what) {
  std::vector<std::string> texts;
  for (const ProfiledRecording& one : recordings)
    if (!(one.info.*what).empty() && std::ranges::find(texts, one.info.*what) == texts.end())
      texts.push_back(one.info.*what);
  return joined(texts, ", ");
}

// `info` is that of the first recording so far, to which the others are added.
void join_infos(Profile& profile) {
  RecordingInfo& info = profile.info;
  info.source = listed(profile.recordings, &RecordingInfo::source);
  info.host = listed(profile.recordings, &RecordingInfo::host);
  info.kernel_release = listed(profile.recordings, &RecordingInfo::kernel_release);
  info.machine = listed(profile.recordings, &RecordingInfo::machine);
  info.command_line = listed(profile.recordings, &RecordingInfo::command_line);
  info.gosym_version = listed(profile.recordings, &RecordingInfo::gosym_version);
  info.sampler = listed(profile.recordings, &RecordingInfo::sampler);
  std::map<std::string_view, uint32_t> cpus;
  for (const ProfiledRecording& one : profile.recordings) {
    cpus[one.info.host] = std::max(cpus[one.info.host], one.info.cpu_count);
    info.has_user |= one.info.has_user;
    info.has_kernel |= one.info.has_kernel;
    info.is_system_wide |= one.info.is_system_wide;
    // Counts are those of all only if each recording has them.
    info.has_counts &= one.info.has_counts;
  }
  // CPUs of a host count once, however many recordings are of it.
  info.cpu_count = 0;
  for (const auto& [host, count] : cpus)
    info.cpu_count += count;
}

ProfiledRecording profiled(const NamedRecording& one) {
  return {one.name, one.recording.info, raw::start_realtime_ns(one.recording),
          raw::duration_ns(one.recording)};
}

// The host by which clocks are told apart: its name may be that of others too.
std::string clock_of(const RecordingInfo& info) {
  return info.machine_id.empty() ? info.host : info.machine_id;
}

// When each began, in nanoseconds from the first. Aligned, the first of each host is taken to
// have begun with that of all: what their clocks said does not count. None is negative:
// recordings are in order of their begins (read_inputs()).
std::vector<uint64_t> begins_of(const std::vector<NamedRecording>& recordings,
                                bool is_aligned) {
  uint64_t begin = raw::start_realtime_ns(recordings.front().recording);
  std::map<std::string, uint64_t> begins;  // of the first of each host
  std::vector<uint64_t> result;
  for (const NamedRecording& one : recordings) {
    uint64_t start = raw::start_realtime_ns(one.recording);
    auto first = begins.try_emplace(clock_of(one.recording.info), start).first;
    result.push_back(start - (is_aligned ? first->second : begin));
  }
  return result;
}

// Warns where the times of one host are compared with those of another whose clock may be
// wrong. Recordings are in order of their begins (read_inputs()), so that the last host found
// is the latest.
void tell_clocks(const std::vector<NamedRecording>& recordings, const ReportOptions& options) {
  constexpr uint64_t kUsual = 1'000'000'000;  // of clocks that are kept, and of starts by hand
  std::vector<uint64_t> begins = begins_of(recordings, /*is_aligned=*/false);
  std::set<std::string> seen = {clock_of(recordings.front().recording.info)};
  size_t latest = 0;
  for (size_t i = 1; i < recordings.size(); i++)
    if (seen.insert(clock_of(recordings[i].recording.info)).second && begins[i] > kUsual)
      latest = i;
  if (latest == 0 || options.is_aligned)
    return;
  warn(options,
       "by their hosts' clocks '{}' of {} began {:.1f} s after '{}' of {}; --align lets them "
       "begin together",
       printable(recordings[latest].name), printable(recordings[latest].recording.info.host),
       to_seconds(begins[latest]), printable(recordings.front().name),
       printable(recordings.front().recording.info.host));
}

// The profile of several recordings. A file that ran in more than one of them is opened once.
Result<NamedProfile> join_profiles(std::vector<NamedRecording>& recordings,
                                   const Wanted& wanted, const DebugFileOptions& files) {
  std::vector<uint64_t> begins = begins_of(recordings, wanted.is_aligned);
  SymbolCache cache;
  // Each recording numbers its images for itself: here equal files get one number.
  cache.images.numbers.emplace();
  // A file that one recording has kept names the code of all others that ran it.
  cache.archives = std::make_unique<OtherArchives>();
  for (const NamedRecording& one : recordings)
    cache.archives->add(one.recording);
  AccumulatedProfile sum(AccumulatedProfile::kNoLimits);
  NamedProfile result;
  for (NamedRecording& one : recordings) {
    raw::Recording& recording = one.recording;
    auto index = static_cast<uint32_t>(sum.profile().recordings.size());
    uint64_t offset = begins[index];
    // Also where the filter leaves nothing: `begins` and the owners of samples go by its
    // number.
    sum.profile().recordings.push_back(profiled(one));
    auto filter = filter_of(wanted, recording.info, offset);
    if (!filter)
      continue;
    // One after the other, each in what the sum of those before it leaves of the memory. The
    // budget of a recording counts what reading it has taken as well.
    uint64_t taken = memory_of(sum.profile());
    recording.memory_budget = recording.memory + wanted.memory - std::min(wanted.memory, taken);
    GroupBy group_by = wanted.group_by;
    group_by.time_offset = offset;
    auto part = make_profile(recording, *filter, group_by, wanted.names, files, &cache);
    if (!part)
      return std::move(part).error().context(name_of({one.name}));
    sum.add(part->profile, index);
    add_to(result.symbols, part->symbols);
  }
  result.profile = std::move(sum.profile());
  uint64_t taken = memory_of(result.profile);
  // Views of the profile may take what reading has left.
  result.profile.memory_limit = wanted.memory - std::min(wanted.memory, taken);
  result.profile.filter = wanted.filter.to_string();
  result.held = std::move(cache.images.held);
  // None had what the filters leave: the report that says so still names a recording.
  if (result.profile.mappings.empty())
    result.profile.info = recordings.front().recording.info;
  join_infos(result.profile);
  return result;
}

Result<NamedProfile> profile_of(std::vector<NamedRecording>& recordings, const Wanted& wanted,
                                const DebugFileOptions& files) {
  // One recording needs no sum, which would take the memory of a second profile.
  if (recordings.size() > 1)
    return join_profiles(recordings, wanted, files);
  auto& [name, recording, unchecked] = recordings.front();
  ProfiledRecording only = profiled(recordings.front());
  // There is a filter: the event is one of this recording's, keep_wanted() has left it for its
  // time, and --time ends after 0 (parse_time_range()).
  Filter filter = *filter_of(wanted, recording.info, 0);
  auto named = make_profile(recording, filter, wanted.group_by, wanted.names, files);
  if (!named)
    return std::move(named).error().context(name_of({name}));
  named->profile.recordings.push_back(std::move(only));
  return named;
}

// The span of time, which is of clocks, becomes one that counts from the first recording. No
// range of --time is lost by that: it excludes --since, --until and --spans.
Filter filter_with_span(const ReportOptions& options,
                        const std::vector<NamedRecording>& recordings) {
  Filter filter = options.filter;
  const Span& span = options.recordings.span;
  if (span == Span() || recordings.empty())
    return filter;
  uint64_t begin = raw::start_realtime_ns(recordings.front().recording);
  filter.time.begin = span.since - std::min(span.since, begin);
  if (span.until != UINT64_MAX)
    filter.time.end = span.until - std::min(span.until, begin);
  return filter;
}

// From the begin of the first to the end of the last.
uint64_t duration_of(const std::vector<NamedRecording>& recordings, bool is_aligned) {
  std::vector<uint64_t> begins = begins_of(recordings, is_aligned);
  uint64_t duration = 0;
  for (size_t i = 0; i < recordings.size(); i++)
    duration = std::max(duration, begins[i] + raw::duration_ns(recordings[i].recording));
  return duration;
}

// Sum for all recordings, one after the other.
uint64_t recorded_duration(const std::vector<NamedRecording>& recordings) {
  uint64_t duration = 0;
  for (const NamedRecording& one : recordings)
    duration += raw::duration_ns(one.recording);
  return duration;
}

// Refuses options for facts that profiles of others do not have: times, unless it is one page
// (join_read() drops the steps of several), and addresses, if it is any.
Result<> check_read(const ReadProfile& one, size_t count, const ReportOptions& options) {
  auto is_by = [&](Dimension::Kind kind) {
    return std::ranges::find(options.view.by, kind, &Dimension::kind) != options.view.by.end();
  };
  bool has_times = one.profile.time_step != 0 && count == 1;
  if (!has_times && (options.filter.time != TimeRange() || is_by(Dimension::Kind::kTime)))
    return errorf("{}: {} has no times of its samples: {} is for recordings",
                  name_of({one.name}), to_string(one.kind),
                  is_by(Dimension::Kind::kTime) ? "--by time" : "--time")
        .with_exit_status(kUsage);
  if (one.kind != InputKind::kPage)
    return Ok{};
  for (Dimension::Kind kind :
       {Dimension::Kind::kAddress, Dimension::Kind::kCpu, Dimension::Kind::kGoroutine})
    if (is_by(kind))
      return errorf("{}: {} does not say which {}: --by {} is for recordings",
                    name_of({one.name}), to_string(one.kind),
                    to_string(Dimension{.kind = kind}), to_string(Dimension{.kind = kind}))
          .with_exit_status(kUsage);
  return Ok{};
}

// Leaves the samples of one event; none if it is not among those of the profile.
void keep_event(const RecordedEvent& event, Profile& profile) {
  std::vector<RecordedEvent> shown = shown_events(profile.info.events);
  auto found = std::ranges::find(shown, event);
  if (found == shown.end()) {
    profile.samples.clear();
    return;
  }
  profile = of_event(profile, static_cast<uint32_t>(found - shown.begin()));
}

// Values that all files have stay together. Where files have others, each is an event of its
// own, so that those which several have are added up.
void take_values_apart(std::vector<ReadProfile>& profiles) {
  const std::vector<RecordedEvent>& first = profiles.front().profile.info.events;
  if (std::ranges::all_of(
          profiles, [&](const ReadProfile& one) { return one.profile.info.events == first; }))
    return;
  for (ReadProfile& one : profiles)
    if (has_values(one.profile.info.events))
      one.profile = with_values_apart(one.profile);
}

// The steps of time that are wanted of a page.
uint64_t wanted_step(const Profile& page, const Wanted& wanted, const ReportOptions& options) {
  if (wanted.is_whole)
    return page.time_step;
  if (options.is_compared && options.side)
    return page.time_step;  // as it was compared by
  if (options.is_compared)
    return block_step(page.duration_ns);
  return (options.is_browsed ? group_by_for_browser(page.duration_ns)
                             : group_by_of(options.view, page.duration_ns))
      .time_step;
}

// Samples of a page are of steps of time, of which none can be parted.
Filter in_steps(const ReadProfile& one, Filter filter, const ReportOptions& options) {
  uint64_t step = one.profile.time_step;
  TimeRange& time = filter.time;
  if (step == 0 || time == TimeRange())
    return filter;
  TimeRange asked = time;
  auto rounded = [&](uint64_t at) {
    return (at / step + (at % step >= (step + 1) / 2)) * step;
  };
  time.begin = rounded(time.begin);
  // One step at the least, or a short range would select nothing.
  if (time.end != UINT64_MAX)
    time.end = std::max(rounded(time.end), time.begin + step);
  if (time == asked)
    return filter;
  Filter shown;
  shown.time = time;
  warn(options, "{} has samples in steps of {:g} s: this is {}", name_of({one.name}),
       to_seconds(step), shown.to_string());
  return filter;
}

// Leaves of a profile that was read what is asked for.
void select_samples(ReadProfile& one, const Wanted& wanted, const ReportOptions& options) {
  Profile& profile = one.profile;
  if (wanted.event)
    keep_event(*wanted.event, profile);
  Filter filter = in_steps(one, wanted.filter, options);
  // keep_event() has left that event alone, and given it number 0.
  filter.event = {};
  apply(filter, profile);
  std::string made_by = filter.to_string();
  profile.filter += (profile.filter.empty() || made_by.empty() ? "" : " ") + made_by;
}

// The profile of those that were read, with the names and samples that are asked for.
Result<NamedProfile> join_read(std::vector<ReadProfile>& profiles, const Wanted& wanted,
                               const ReportOptions& options, const DebugFileOptions& files) {
  AccumulatedProfile sum(AccumulatedProfile::kNoLimits);
  NamedProfile result;
  take_values_apart(profiles);
  for (ReadProfile& one : profiles) {
    Profile& profile = one.profile;
    if (auto checked = check_read(one, profiles.size(), options); !checked)
      return std::move(checked).error();
    select_samples(one, wanted, options);
    // A page has each name in all forms; in others addresses may have been left without names.
    if (one.kind == InputKind::kPage)
      show_names(profile, wanted.names);
    else
      add_to(result.symbols, name_given(profile, wanted.names, files));
    // The only kind that knows when a sample was: times are of no use in a sum, whose parts
    // may lie days apart.
    if (profiles.size() == 1 && one.kind == InputKind::kPage) {
      widen_steps(profile, wanted_step(profile, wanted, options));
      result.profile = std::move(profile);
      return result;
    }
    // A step of 0: samples have no time any more.
    widen_steps(profile, 0);
    // A page may have had several recordings, whose numbers its samples have. It is one
    // recording of the sum, to which add() adds the number that this one has there.
    for (SampleCount& sample : profile.samples)
      profile.change_owner(sample, [](Owner& owner) { owner.recording = 0; });
    sum.profile().recordings.push_back(
        {one.name, profile.info, profile.start_realtime_ns, profile.duration_ns});
    if (profiles.size() > 1)
      sum.add(profile, static_cast<uint32_t>(sum.profile().recordings.size() - 1));
  }
  if (profiles.size() == 1)
    profiles.front().profile.recordings = std::move(sum.profile().recordings);
  result.profile = std::move(profiles.size() == 1 ? profiles.front().profile : sum.profile());
  join_infos(result.profile);
  return result;
}

// Leaves what is to be read of each, and gives the least share of them. `size` is in bytes of
// samples of one recording; UINT64_MAX: all of them.
double keep_first_samples(std::vector<NamedRecording>& recordings, uint64_t size) {
  double share = 1;
  for (NamedRecording& one : recordings)
    share = std::min(share, raw::keep_first_samples(one.recording, size));
  return share;
}

// Files with samples that are not known to be those that were recorded.
void note_unchecked(const Profile& profile, NamedRecording& one) {
  std::vector<std::string> names;
  for (const ProfileImage& image : profile.images)
    if (one.unchecked.contains(image.file.path))
      names.push_back(printable(image.file.path));
  if (names.empty())
    return;
  one.recording.notes.push_back(
      "perf wrote no build id of these files, which are taken to be those at their paths: " +
      first_of(names, ", "));
}

// Counts the samples of recordings.
Result<NamedProfile> count_samples(std::vector<NamedRecording>& recordings, Wanted wanted,
                                   const ReportOptions& options,
                                   const DebugFileOptions& files) {
  tell_clocks(recordings, options);
  uint64_t duration = duration_of(recordings, wanted.is_aligned);
  GroupBy& group_by = wanted.group_by;
  group_by =
      options.is_browsed ? group_by_for_browser(duration) : group_by_of(options.view, duration);
  // Blocks are compared by the time that was recorded: pauses between recordings have no
  // samples.
  if (options.is_compared)
    group_by.time_step = block_step(recorded_duration(recordings));
  // Formats for tools keep what their readers may ask for, though this view does not.
  group_by.has_tids |= options.format == "pprof" || wanted.is_whole;
  group_by.has_wakers |= options.format == "pprof" || wanted.is_whole;
  if (wanted.is_whole)
    group_by.time_step = step_of_page(duration);
  group_by.has_goids |= options.has_goids;
  group_by.has_creators = options.has_creators;
  auto named = profile_of(recordings, wanted, files);
  if (!named)
    return named;
  for (NamedRecording& one : recordings) {
    note_unchecked(named->profile, one);
    std::ranges::move(damage_of(one), std::back_inserter(named->profile.damage));
  }
  tell_damage(named->profile, options);
  return named;
}

}  // namespace

GroupBy group_by_of(const ViewOptions& view, uint64_t duration) {
  auto is_by = [&](Dimension::Kind kind) {
    return std::ranges::find(view.by, kind, &Dimension::kind) != view.by.end();
  };
  return {.has_tids = is_by(Dimension::Kind::kThread),
          .has_goids = is_by(Dimension::Kind::kGoroutine),
          .has_cpus = is_by(Dimension::Kind::kCpu),
          .has_wakers = is_by(Dimension::Kind::kWaker),
          .time_step = time_step(view, duration)};
}

GroupBy group_by_for_browser(uint64_t duration) {
  constexpr uint64_t kSteps = 200;  // as many as a screen has columns
  return {.has_goids = false, .time_step = round_step(duration, kSteps)};
}

bool apply(const StackPasses& passes, Profile& profile) {
  // The runtime's own frames go first: what follows is about those that a program has.
  hide_scheduler(profile);
  label_idle_threads(profile);
  if (passes.leaves_out_idle)
    leave_out_idle_threads(profile);
  if (!passes.keeps_wrappers)
    hide_wrappers(profile);
  bool are_named = true;
  if (passes.names_creators)
    are_named = name_creators(profile);
  else
    drop_creators(profile);
  if (passes.charges_collector)
    charge_collector(profile);
  // The passes look for functions of Go's runtime, which a selection may take out: so it comes
  // last, and chooses among what people are shown. It is left in the profile itself, so that
  // all outputs agree.
  if (passes.selection)
    select(profile, *passes.selection);
  return are_named;
}

Result<LoadedProfile> load_profile(const ReportOptions& options, const Format& format,
                                   const DebugFileOptions& files) {
  set_workers(options.jobs);
  auto inputs =
      read_inputs(options.inputs, options.recordings, options.event, files, options.side);
  if (!inputs)
    return std::move(inputs).error();
  auto& recordings = inputs->recordings;
  auto& profiles = inputs->profiles;

  // Seconds and page faults are never added: one event is shown, or each for itself by formats
  // that can.
  std::vector<RecordedEvent> events = events_of(*inputs);
  auto event = choose_event(events, format, options);
  if (!event)
    return std::move(event).error();

  Wanted wanted = {.filter = filter_with_span(options, recordings),
                   .group_by = {},
                   .names = name_forms(options, format),
                   .event = *event,
                   .is_whole = format.is_whole,
                   .memory = inputs->memory_left(),
                   .is_aligned = options.is_aligned};
  double share = keep_first_samples(recordings, options.most_samples);
  // Equal samples of recordings are counted first, as far as the output tells them apart, and
  // then named. Profiles of others are counted and mostly named already.
  auto named = profiles.empty() ? count_samples(recordings, wanted, options, files)
                                : join_read(profiles, wanted, options, files);
  if (!named)
    return std::move(named).error();
  auto& [profile, symbols, held] = *named;
  // Asked twice: filters leave samples out by now, passes and the selection do below.
  if (profile.samples.empty())
    return no_samples(options, recordings, profile);

  if (options.has_idle && profile.idle_ns > 0)
    warn(options,
         "--idle: the page was made without the waits of idle threads of Go's runtime; report "
         "--html --idle keeps them");
  StackPasses passes = {
      .leaves_out_idle = format.is_for_people && !options.has_idle && !options.is_compared,
      .keeps_wrappers = options.keeps_wrappers,
      .names_creators = options.has_creators,
      .charges_collector = options.charges_collector,
      .selection = &options.selection};
  if (!apply(passes, profile))
    warn(options, "--creators: no sample says where its goroutine was created");
  if (profile.samples.empty())
    return no_samples(options, recordings, profile);
  return LoadedProfile{std::move(recordings), std::move(profile), std::move(symbols),
                       std::move(held),       wanted.filter.time, share};
}

namespace {

// Whoever has more of them names those of an hour, or a day.
constexpr size_t kMaxRecordings = 10'000;

// A profile that was read is all in memory. Those of pprof have some megabytes, folded text of
// a day some hundred.
constexpr uint64_t kMaxProfileFile = uint64_t{4} << 30;

// For whoever named a file that cannot be read.
Error with_reason(Error error, const std::string& path) {
  if (path == "-")
    return error;
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    return std::move(error).with_hint("make a recording first: gosym record -p PID -d 10s");
  if (access(path.c_str(), R_OK) != 0 && errno == EACCES)
    return std::move(error).with_hint(
        "a recording is for those who made it: sudo gosym report");
  return error;
}

// Memory that the profile in a file may take for its size: a few bytes that were made for it
// could ask for any amount. Names of folded text are written out each time, and gzip makes a
// fifth of a pprof file.
uint64_t for_profile(InputKind kind, std::string_view begin, uint64_t size) {
  constexpr uint64_t kPlain = 8;
  constexpr uint64_t kPacked = 16;
  if (kind == InputKind::kPage)
    return raw::memory_budget(size);
  return size * (begin.starts_with(kGzipMagic) ? kPacked : kPlain);
}

Result<Profile> read_profile_of(InputKind kind, const raw::Input& file, uint64_t memory,
                                std::optional<Side> side) {
  if (file.size() > kMaxProfileFile)
    return errorf("{}: more than {}", human_size(file.size()), human_size(kMaxProfileFile));
  std::string text(file.size(), '\0');
  text.resize(file.read(0, text));
  return read_profile(kind, text, memory, side);
}

// A file of no kind that is known gets a hint that names those which are.
Error with_kinds(Error error, std::string_view begin) {
  bool is_known = begin.empty() || begin.starts_with(raw::kMagic) || !error.hint().empty();
  return is_known
             ? error
             : std::move(error).with_hint(
                   "read are recordings, perf.data, pprof profiles, folded text and pages of "
                   "gosym");
}

// When a file was written last, since 1970; 0: it is none.
uint64_t written_at(const std::string& path) {
  struct stat status {};
  bool is_file = path != "-" && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? static_cast<uint64_t>(mtime_ns(status)) : 0;
}

// The first file of a directory that perf record --threads writes; the others have numbers.
constexpr std::string_view kFileOfDirectory = "/data";

// The other files of such a directory, if the path is that of its first; else none.
perf_data::Inputs beside(const std::string& path) {
  perf_data::Inputs files;
  if (!path.ends_with(kFileOfDirectory))
    return files;
  // "data.0" is the first of them: each has the number of those before it.
  while (true) {
    std::string next = fmt::format("{}.{}", path, files.size());
    auto file = written_at(next) != 0 ? raw::Input::open(next) : Error("there is none");
    if (!file)
      return files;
    files.push_back(*std::move(file));
  }
}

Result<perf_data::ReadFile> read_recording(const std::string& path, std::string_view begin,
                                           std::shared_ptr<const raw::Input> file,
                                           uint64_t memory, const DebugFileOptions& files) {
  if (!perf_data::is_perf_data(begin)) {
    auto recording = raw::parse(std::move(file), memory);
    if (!recording)
      return std::move(recording).error();
    return perf_data::ReadFile{*std::move(recording)};
  }
  return perf_data::read(*file, memory, {files.symfs, written_at(path)}, files.kernel,
                         beside(path));
}

// Bytes of another program's profile that are read: as many as are allowed, and one that shows
// that it has more. Input::open() asks it of a pipe and the like, which is copied before it is
// read.
uint64_t limit_of_stream(std::string_view begin) {
  if (perf_data::is_perf_data(begin))
    return UINT64_MAX;
  return detect_input_kind(begin) == InputKind::kRecording
             ? raw::Input::limit_of_recording(begin)
             : kMaxProfileFile + 1;
}

// The one place where a file becomes something to report.
Result<> read_one(const std::string& path, std::optional<Side> side,
                  const DebugFileOptions& files, Inputs& inputs) {
  auto file = raw::Input::open(path, limit_of_stream);
  if (!file)
    return with_reason(std::move(file).error(), path);
  std::string begin(kKindBytes, '\0');
  begin.resize((*file)->read(0, begin));
  InputKind kind = detect_input_kind(begin);
  if (side && kind != InputKind::kPage)
    return no_sides().context(to_string(kind));
  // The budget grows with each file, and is counted against what those before it have taken.
  inputs.size += (*file)->size();
  if (kind == InputKind::kRecording) {
    auto read = read_recording(path, begin, *std::move(file), inputs.memory_left(), files);
    if (!read)
      return with_kinds(std::move(read).error(), begin);
    inputs.memory += read->recording.memory;
    inputs.recordings.push_back({path, std::move(read->recording), std::move(read->unchecked)});
    return Ok{};
  }
  inputs.for_profiles += for_profile(kind, begin, (*file)->size());
  auto profile = read_profile_of(kind, **file, inputs.memory_left(), side);
  if (!profile)
    return std::move(profile).error().context(to_string(kind));
  inputs.memory += memory_of(*profile);
  inputs.profiles.push_back({path, kind, *std::move(profile)});
  return Ok{};
}

// Samples of a file that is named twice would count twice.
Result<> check_distinct(const std::vector<FoundRecording>& files) {
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const auto& [file, was_listed] : files) {
    struct stat status {};
    // A second "-" is found as well, for both have the status of zeros. A file that is not
    // there is an error of read_one().
    if (file != "-" && stat(file.c_str(), &status) != 0)
      continue;
    if (!seen.emplace(status.st_dev, status.st_ino).second)
      return errorf("'{}' is given twice", printable(file)).with_exit_status(kUsage);
  }
  return Ok{};
}

// A copy has both clocks of the instant at which its original was begun. No two recordings of a
// host begin in one nanosecond of both.
Result<> check_copies(const std::vector<NamedRecording>& recordings) {
  std::map<std::tuple<uint64_t, uint64_t, std::string_view>, const std::string*> seen;
  for (const auto& [name, recording, unchecked] : recordings) {
    auto [known, is_new] = seen.try_emplace(
        {recording.monotonic_ns, recording.realtime_ns, recording.info.host}, &name);
    if (!is_new)
      return errorf("'{}' and '{}' are the same recording", printable(*known->second),
                    printable(name))
          .with_hint("its samples would count twice: leave one out")
          .with_exit_status(kUsage);
  }
  return Ok{};
}

// "web" of one machine and "web" of another become "web#1f03" and "web#c2aa".
void tell_hosts_apart(std::vector<NamedRecording>& recordings) {
  // Enough for a reader, who has few hosts of one name: two that agree in them stay one host.
  constexpr size_t kShownBytes = 2;
  std::map<std::string, std::set<std::string>> machines;
  for (const NamedRecording& one : recordings)
    if (const RecordingInfo& info = one.recording.info; !info.machine_id.empty())
      machines[info.host].insert(info.machine_id);
  for (NamedRecording& one : recordings)
    if (RecordingInfo& info = one.recording.info;
        !info.machine_id.empty() && machines[info.host].size() > 1)
      info.host += "#" + hex(info.machine_id.substr(0, kShownBytes));
}

// `wanted`: the one event that is reported; empty: any. Recordings are compared with the first
// that has the event by its name.
Result<> check_rates(const std::vector<NamedRecording>& recordings, const std::string& wanted) {
  std::vector<std::pair<const RecordedEvent*, const std::string*>> known;
  for (const auto& [name, recording, unchecked] : recordings)
    for (const RecordedEvent& event : recording.info.events) {
      if (!wanted.empty() && event.name != wanted)
        continue;
      auto same =
          std::ranges::find(known, event.name, [](const auto& one) { return one.first->name; });
      if (same == known.end())
        known.emplace_back(&event, &name);
      else if (*same->first != event)
        return errorf("'{}' has {}, '{}' has {}: samples of different rates do not add up",
                      printable(*same->second), printable(event_text(*same->first)),
                      printable(name), printable(event_text(event)))
            .with_hint("report them one by one, or --event another");
    }
  return Ok{};
}

}  // namespace

namespace {

// Samples of a clock and amounts that another tool has counted are not the same thing.
Error mixed_kinds(const Inputs& inputs) {
  return errorf("'{}' is a recording, '{}' is {}: they do not add up",
                printable(inputs.recordings.front().name),
                printable(inputs.profiles.front().name),
                to_string(inputs.profiles.front().kind))
      .with_hint("gosym report --pprof FILE makes a profile of a recording")
      .with_exit_status(kUsage);
}

}  // namespace

uint64_t Inputs::memory_left() const {
  constexpr uint64_t kLeast = 256 << 20;
  uint64_t budget = for_profiles > 0 ? kLeast + for_profiles : raw::memory_budget(size);
  return budget - std::min(budget, memory);
}

namespace {

// The files, as far as there may be so many at once.
Result<std::vector<FoundRecording>> files_of(const std::vector<std::string>& inputs,
                                             const WantedRecordings& wanted) {
  auto files = find_recordings(inputs, wanted);
  if (!files)
    return files;
  if (files->size() > kMaxRecordings)
    return errorf("{} recordings: more than {} at once", files->size(), kMaxRecordings)
        .with_exit_status(kUsage);
  if (auto checked = check_distinct(*files); !checked)
    return std::move(checked).error();
  return files;
}

// Whoever keeps a directory in order may be faster than we are.
bool was_removed(const FoundRecording& file) {
  return file.was_listed && access(file.path.c_str(), F_OK) != 0 && errno == ENOENT;
}

// Removes the recordings that are not of a wanted host or not of the wanted time.
// find_recordings() chose by names and times of change of files alone; host and clocks inside
// the recordings decide here.
Result<> keep_wanted(const WantedRecordings& wanted, Inputs& inputs) {
  if (wanted == WantedRecordings())
    return Ok{};
  if (!inputs.profiles.empty())
    return errorf("--since, --until and --host are for recordings: '{}' is {}",
                  printable(inputs.profiles.front().name),
                  to_string(inputs.profiles.front().kind))
        .with_exit_status(kUsage);
  auto is_wanted = [&](const NamedRecording& one) {
    uint64_t begin = raw::start_realtime_ns(one.recording);
    return wanted.is_host(one.recording.info.host) &&
           wanted.span.overlaps(begin, begin + raw::duration_ns(one.recording));
  };
  size_t count = inputs.recordings.size();
  std::erase_if(inputs.recordings, [&](const NamedRecording& one) { return !is_wanted(one); });
  if (!inputs.recordings.empty())
    return Ok{};
  return errorf("none of {} is of that time and host", count_text(count, "recording"))
      .with_exit_status(kNoTarget);
}

}  // namespace

Result<Inputs> read_inputs(const std::vector<std::string>& inputs,
                           const WantedRecordings& wanted, const std::string& event,
                           const DebugFileOptions& where, std::optional<Side> side) {
  auto files = files_of(inputs, wanted);
  if (!files)
    return std::move(files).error();
  Inputs result;
  for (const FoundRecording& file : *files) {
    if (auto added = read_one(file.path, side, where, result); !added && !was_removed(file))
      return std::move(added).error().context(
          file.path == "-" ? "standard input" : fmt::format("'{}'", printable(file.path)));
    if (!result.recordings.empty() && !result.profiles.empty())
      return mixed_kinds(result);
  }
  // All that follows has a first one.
  if (result.recordings.empty() && result.profiles.empty())
    return errorf("each of {} was removed before it could be read",
                  count_text(files->size(), "recording"))
        .with_exit_status(kNoTarget);
  if (auto kept = keep_wanted(wanted, result); !kept)
    return std::move(kept).error();
  // In order of their begins, which all that follows takes for granted: times count from the
  // first.
  std::ranges::stable_sort(result.recordings, {}, [](const NamedRecording& one) {
    return raw::start_realtime_ns(one.recording);
  });
  std::ranges::stable_sort(result.profiles, {}, [](const ReadProfile& one) {
    return one.profile.start_realtime_ns;
  });
  if (auto checked = check_copies(result.recordings); !checked)
    return std::move(checked).error();
  if (auto checked = check_rates(result.recordings, event); !checked)
    return std::move(checked).error();
  tell_hosts_apart(result.recordings);
  return result;
}

bool is_recording(std::string_view begin) {
  return begin.starts_with(raw::kMagic) || perf_data::is_perf_data(begin);
}

std::vector<RecordedEvent> events_of(const Inputs& inputs) {
  std::vector<RecordedEvent> events;
  auto add = [&](const RecordingInfo& info) {
    // An event of several values counts as one for each of them.
    for (const RecordedEvent& event : shown_events(info.events))
      if (std::ranges::find(events, event) == events.end())
        events.push_back(event);
  };
  for (const NamedRecording& one : inputs.recordings)
    add(one.recording.info);
  for (const ReadProfile& one : inputs.profiles)
    add(one.profile.info);
  return events;
}

}  // namespace gosym
