#include "output/html.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "output/difference_text.h"
#include "output/header.h"
#include "page/html.h"
#include "page/make_page.h"
#include "profile/accumulated_profile.h"
#include "profile/filter.h"

namespace gosym {

namespace {

// Lines of a header or of notes: a word, spaces, and what it says; or a line that says it all,
// or goes on with what the one before says.
void append_notes(std::string_view lines, std::vector<page::Note>& notes) {
  while (!lines.empty()) {
    std::string_view line = take_line(lines);
    if (line.empty())
      continue;
    size_t gap = line.find("  ");
    size_t text = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
    bool has_title = text != line.npos && gap > 0;
    notes.push_back({std::string(line.substr(0, has_title ? gap : 0)),
                     std::string(line.substr(has_title ? text : 0))});
  }
}

void append_notes_of(const Profile& profile, std::vector<page::Note>& notes) {
  constexpr size_t kProcesses = 50;  // named in the note; the page has them all
  append_notes(make_header(profile, Amounts(profile), kProcesses, Screen()), notes);
  append_notes(make_notes(profile, /*is_verbose=*/true, /*top=*/0, Screen()), notes);
}

std::vector<page::Note> notes_of(const Profile& profile) {
  std::vector<page::Note> notes;
  size_t count = profile.info.events.size();
  if (count == 1) {
    append_notes_of(profile, notes);
    return notes;
  }
  Profile copy = profile;
  for (uint32_t event = 0; event < count; event++) {
    EventPart part = select_event(copy, event);
    exchange(part, copy);
    append_notes_of(copy, notes);
    exchange(part, copy);
  }
  return notes;
}

// A side as the page has it, of which gosym diff makes the same comparison again: with its
// recordings, and with steps of time where these are too few to be blocks. Steps of a time that
// was chosen are left out, for the page does not tell where it begins.
Profile side_of(const ComparedProfile& compared) {
  Profile side = compared.profile;
  if (side.recordings.empty())
    side.recordings.push_back({"", side.info, side.start_realtime_ns, side.duration_ns});
  for (size_t i = 0; i < side.recordings.size(); i++) {
    TimeRange time = recorded_time(compared, i);
    side.recordings[i].duration_ns = time.end - time.begin;
  }
  bool is_part = compared.time != TimeRange() || side.time_begin() != 0;
  if (is_part || side.recordings.size() >= kManyRuns)
    widen_steps(side, 0);
  return side;
}

// The samples of both, of one event. What code is called, and where it is, are as in the
// profile after. The page has no times for people: the same second of two runs is not the same
// work.
Profile profile_of_both(const Profile& before, const Profile& after) {
  AccumulatedProfile sum(AccumulatedProfile::kNoLimits);
  sum.add(after, static_cast<uint32_t>(before.recordings.size()));
  sum.add(before);
  Profile both = std::move(sum.profile());
  for (SampleCount& sample : both.samples)
    sample.event = 0;
  both.time_step = 0;
  both.info.events = after.info.events;
  both.info.command_line.clear();
  both.filter.clear();
  both.start_realtime_ns = both.duration_ns = 0;
  // Each side has its own.
  both.stats = {};
  both.unwound = {};
  both.unwound_by_event.clear();
  both.recorded_amounts.clear();
  both.memory_limit = std::min(before.memory_limit, after.memory_limit);
  both.recordings = before.recordings;
  both.recordings.insert(both.recordings.end(), after.recordings.begin(),
                         after.recordings.end());
  return both;
}

// What the page multiplies amounts before by, which it takes for amounts of the event after.
double scale_of_amounts(const Profile& before, const Profile& after, Per per, double scale) {
  return per == Per::kShare ? scale
                            : scale * static_cast<double>(before.period()) /
                                  static_cast<double>(after.period());
}

}  // namespace

void write_html_difference(const Difference& difference, const ComparedProfile& compared_before,
                           const ComparedProfile& compared_after, const Write& write) {
  Per per = difference.options.per;
  Profile before = side_of(compared_before);
  Profile after = side_of(compared_after);
  std::vector<page::Note> notes;
  append_notes(difference_notes(difference, compared_before.profile, compared_after.profile),
               notes);
  for (const ComparedProfile* side : {&compared_before, &compared_after}) {
    notes.push_back({"", side == &compared_before ? "Before" : "After"});
    append_notes_of(side->profile, notes);
  }
  page::Page page = page::make_page(profile_of_both(before, after), std::move(notes));
  page.sides = {page::make_side(before), page::make_side(after)};
  page.origin.compared_per = to_string(per);
  double scale = scale_of(compared_before, compared_after, per);
  constexpr double kBillion = 1e9;
  constexpr double kMost = 1e18;  // of 64 bits
  page.origin.scale_before = static_cast<uint64_t>(
      std::clamp(scale_of_amounts(before, after, per, scale) * kBillion, 1.0, kMost));
  write(page::make_html(page));
}

void write_html(const Profile& profile, const Write& write) {
  write(page::make_html(page::make_page(profile, notes_of(profile))));
}

}  // namespace gosym
