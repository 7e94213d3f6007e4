#include "commands/load_profile.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/exit_status.h"
#include "base/text.h"
#include "commands/report_notes.h"
#include "profile/go_stacks.h"
#include "symbolize/make_profile.h"

namespace gosym {

namespace {

Result<raw::Recording> read_input(const ReportOptions& options) {
  auto recording = raw::read(options.input);
  if (recording || options.input == "-")
    return recording;
  if (access(options.input.c_str(), F_OK) != 0 && errno == ENOENT)
    return std::move(recording).error().with_hint(
        "make a recording first: gosym record -p PID -d 10s");
  if (access(options.input.c_str(), R_OK) != 0 && errno == EACCES)
    return std::move(recording).error().with_hint(
        "a recording is for those who made it: sudo gosym report");
  return recording;
}

NameForms name_forms(const ReportOptions& options, const Format& format) {
  NameForm go = format.is_for_tools ? NameForm::kNone : NameForm::kShort;
  return {.go = options.name_form.value_or(go),
          .native = options.name_form.value_or(NameForm::kShort),
          .has_system_names = format.is_for_tools};
}

using EventChoice = std::optional<uint32_t>;

// The event that the profile is to be of; none: all of them.
Result<EventChoice> choose_event(const RecordingInfo& info, const Format& format,
                                 const ReportOptions& options) {
  std::vector<std::string> names;
  for (const RecordedEvent& event : info.events)
    names.push_back(printable(event.name));
  if (!options.event.empty()) {
    auto found = std::ranges::find(info.events, options.event, &RecordedEvent::name);
    if (found == info.events.end())
      return errorf("--event: {} is of {}, not of {}", name_of(options.input),
                    joined(names, " and "), printable(options.event))
          .with_exit_status(kNoTarget);
    return EventChoice(static_cast<uint32_t>(found - info.events.begin()));
  }
  if (names.size() == 1 || format.events != EventsWritten::kFirst)
    return EventChoice();
  warn(options, "only {} is written, of {}; --event chooses another", names.front(),
       joined(names, " and "));
  return EventChoice(0);
}

uint64_t duration_of(const raw::Recording& recording) {
  uint64_t end = std::max(recording.end_time, recording.stats.time);
  return end - std::min(end, recording.begin_time);
}

// A round number of nanoseconds, so that there are no more steps of it than that.
uint64_t round_step(uint64_t duration, uint64_t steps) {
  for (uint64_t unit = 1'000'000;; unit *= 10)
    for (uint64_t step : {unit, 2 * unit, 5 * unit})
      if (step >= duration / steps)
        return step;
}

// Of --by time: what was asked for, or one that makes some twenty; 0: time is not asked for.
uint64_t time_step(const ViewOptions& view, uint64_t duration) {
  constexpr uint64_t kSteps = 20;
  auto by = std::ranges::find(view.by, Dimension::Kind::kTime, &Dimension::kind);
  if (by == view.by.end() || by->step != 0)
    return by == view.by.end() ? 0 : by->step;
  return round_step(duration, kSteps);
}

}  // namespace

GroupBy group_by_of(const ViewOptions& view, uint64_t duration) {
  auto is_by = [&](Dimension::Kind kind) {
    return std::ranges::find(view.by, kind, &Dimension::kind) != view.by.end();
  };
  return {.has_tids = is_by(Dimension::Kind::kThread),
          .has_goids = is_by(Dimension::Kind::kGoroutine),
          .has_cpus = is_by(Dimension::Kind::kCpu),
          .time_step = time_step(view, duration)};
}

GroupBy group_by_for_browser(uint64_t duration) {
  constexpr uint64_t kSteps = 200;  // as many as a screen has columns
  return {.has_goids = false, .time_step = round_step(duration, kSteps)};
}

Result<LoadedProfile> load_profile(const ReportOptions& options, const Format& format,
                                   const DebugFileOptions& files) {
  auto recording = read_input(options);
  if (!recording)
    return std::move(recording).error();
  auto event = choose_event(recording->info, format, options);
  if (!event)
    return std::move(event).error();

  Filter filter = options.filter;
  filter.event = *event;
  uint64_t duration = duration_of(*recording);
  GroupBy group_by =
      options.is_browsed ? group_by_for_browser(duration) : group_by_of(options.view, duration);
  group_by.has_tids |= options.format == "pprof";
  group_by.has_goids |= options.has_goids;
  auto named = make_profile(*recording, filter, group_by, name_forms(options, format), files);
  tell_damage(*recording, options);
  if (!named)
    return std::move(named).error().context(name_of(options.input));
  auto& [profile, symbols, held] = *named;
  if (profile.samples.empty())
    return no_samples(options, *recording, profile);

  // What is selected by names is left in the profile itself, so that all outputs agree.
  if (!options.keeps_wrappers)
    hide_wrappers(profile);
  select(profile, options.selection);
  if (profile.samples.empty())
    return no_samples(options, *recording, profile);
  return LoadedProfile{*std::move(recording), std::move(profile), std::move(symbols),
                       std::move(held)};
}

}  // namespace gosym
