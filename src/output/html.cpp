#include "output/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "base/text.h"
#include "output/difference_text.h"
#include "output/notes.h"
#include "output/text.h"
#include "page/html.h"
#include "page/make_page.h"
#include "profile/accumulated_profile.h"

namespace gosym {

namespace {

// A page lays notes out by itself: the title and the text are apart, further lines have no
// title.
void append_notes(const std::vector<Note>& from, std::vector<page::Note>& notes) {
  for (const Note& note : from) {
    notes.push_back({note.title, note.text});
    std::vector<std::string> lines = lines_of(note);
    for (std::string& line : std::span(lines).subspan(1))
      notes.push_back({"", std::move(line)});
  }
}

void append_notes_of(const Profile& profile, std::vector<page::Note>& notes) {
  constexpr size_t kProcesses = 50;  // named in the note; the page has them all
  About about =
      make_about(profile, Amounts(profile), {.max_processes = kProcesses, .is_verbose = true});
  notes.push_back({"", std::move(about.headline)});
  append_notes(about.facts, notes);
  append_notes(about.notes, notes);
}

std::vector<page::Note> notes_of(const Profile& profile) {
  std::vector<page::Note> notes;
  uint32_t count = shown_count(profile.info.events);
  if (count == 1) {
    append_notes_of(profile, notes);
    return notes;
  }
  for (uint32_t shown = 0; shown < count; shown++)
    append_notes_of(of_event(profile, shown), notes);
  return notes;
}

// True if the page keeps steps of time of a side, so that gosym diff can repeat the comparison:
// it needs them if there are too few recordings to be blocks. A part of the time has none, for
// the page does not tell where that begins.
bool has_steps(const ComparedProfile& side) {
  return side.time == TimeRange() && side.profile.time_begin() == 0 &&
         side.profile.recordings.size() < kManyRuns;
}

// The recordings of a side, each as long as what was chosen of it.
std::vector<ProfiledRecording> recordings_of(const ComparedProfile& side) {
  const Profile& profile = side.profile;
  std::vector<ProfiledRecording> recordings = profile.recordings;
  if (recordings.empty())
    recordings.push_back({"", profile.info, profile.start_realtime_ns, profile.duration_ns});
  for (size_t i = 0; i < recordings.size(); i++) {
    TimeRange time = recorded_time(side, i);
    recordings[i].duration_ns = time.end - time.begin;
  }
  return recordings;
}

page::Side page_side(const ComparedProfile& side) {
  page::Side result = page::make_side(side.profile);
  if (!has_steps(side))
    result.origin.time_step_ns = 0;
  return result;
}

// The samples of both, of one event. What code is called, and where it is, are as in the
// profile after. The page has no times for people: the same second of two runs is not the same
// work.
Profile profile_of_both(const ComparedProfile& before, const ComparedProfile& after) {
  std::vector<ProfiledRecording> recordings = recordings_of(before);
  size_t before_count = recordings.size();
  AccumulatedProfile sum(AccumulatedProfile::kNoLimits);
  // `after` comes first, so that names and places are its own where both have them; its
  // recordings are numbered behind those of before.
  sum.add(after.profile, static_cast<uint32_t>(before_count));
  sum.add(before.profile);
  Profile both = std::move(sum.profile());
  for (SampleCount& sample : both.samples) {
    both.change_owner(sample, [](Owner& owner) { owner.event = 0; });
    if (!has_steps(both.owner(sample).recording < before_count ? before : after))
      sample.step = 0;
  }
  // Steps of samples stay, which gosym diff reads with the step of their side (page_side()).
  // The page's own is 0, so that the viewer draws no time.
  both.time_step = 0;
  both.info.events = after.profile.info.events;
  both.info.command_line.clear();
  both.filter.clear();
  both.start_realtime_ns = both.duration_ns = 0;
  // Each side has its own.
  both.stats = {};
  both.unwound = {};
  both.unwound_by_event.clear();
  both.recorded_amounts.clear();
  both.memory_limit = std::min(before.profile.memory_limit, after.profile.memory_limit);
  std::ranges::move(recordings_of(after), std::back_inserter(recordings));
  both.recordings = std::move(recordings);
  return both;
}

// The factor by which the page multiplies amounts of `before`; it takes all amounts for those
// of the event of `after`.
double scale_of_amounts(const Profile& before, const Profile& after, Per per, double scale) {
  return per == Per::kShare ? scale
                            : scale * static_cast<double>(before.period()) /
                                  static_cast<double>(after.period());
}

}  // namespace

void write_html_difference(const Difference& difference, const ComparedProfile& before,
                           const ComparedProfile& after, const Write& write) {
  Per per = difference.options.per;
  std::vector<page::Note> notes;
  append_notes(difference_notes(difference, before.profile, after.profile), notes);
  for (const ComparedProfile* side : {&before, &after}) {
    notes.push_back({"", side == &before ? "Before" : "After"});
    append_notes_of(side->profile, notes);
  }
  page::Page page = page::make_page(profile_of_both(before, after), std::move(notes));
  page.sides = {page_side(before), page_side(after)};
  page.origin.compared_per = to_string(per);
  double scale = scale_of(before, after, per);
  // The page has the scale as a whole number of billionths (page.proto).
  constexpr double kBillion = 1e9;
  constexpr double kLeast = 1;    // 0 would say that nothing is compared
  constexpr double kMost = 1e18;  // of 64 bits
  page.origin.scale_before = static_cast<uint64_t>(std::clamp(
      scale_of_amounts(before.profile, after.profile, per, scale) * kBillion, kLeast, kMost));
  write(page::make_html(page));
}

void write_html(const Profile& profile, const Write& write) {
  write_html_with({}, profile, write);
}

void write_html_with(std::span<const SourceText> sources, const Profile& profile,
                     const Write& write) {
  std::vector<page::Note> notes = notes_of(profile);
  if (!sources.empty())
    notes.push_back({"sources", fmt::format("source texts of {} file{} are in this page",
                                            sources.size(), sources.size() == 1 ? "" : "s")});
  write(page::make_html(page::make_page(profile, std::move(notes), sources)));
}

}  // namespace gosym
