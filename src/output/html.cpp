#include "output/html.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "output/difference_text.h"
#include "output/header.h"
#include "page/html.h"
#include "page/make_page.h"
#include "profile/accumulated_profile.h"

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

// A side of a comparison, with all of its files as one: "gosym record -a (a.raw b.raw --pid
// 7)".
ProfiledRecording side_of(std::string_view title, const Profile& profile) {
  ProfiledRecording side = {std::string(title), profile.info, profile.start_realtime_ns,
                            profile.duration_ns};
  std::string names;
  for (const ProfiledRecording& one : profile.recordings)
    names += (names.empty() ? "" : " ") + one.name;
  if (!profile.filter.empty())
    names += (names.empty() ? "" : " ") + profile.filter;
  side.info.command_line += side.info.command_line.empty() ? names : " (" + names + ")";
  return side;
}

// The samples of both, as recordings 0 and 1 of one event. What code is called, and where it
// is, are as in the profile after. Times are left out: the same second of two runs is not the
// same work.
Profile profile_of_both(const Profile& before, const Profile& after) {
  AccumulatedProfile sum(AccumulatedProfile::kNoLimits);
  sum.add(after, 1);
  sum.add(before, 0);
  Profile both = std::move(sum.profile());
  for (SampleCount& sample : both.samples)
    sample.event = sample.step = 0;
  both.time_step = 0;
  both.info.events = after.info.events;
  both.info.command_line.clear();
  both.filter.clear();
  both.start_realtime_ns = both.duration_ns = 0;
  // The notes have them of each side.
  both.stats = {};
  both.unwound = {};
  both.unwound_by_event.clear();
  both.recorded_amounts.clear();
  both.memory_limit = std::min(before.memory_limit, after.memory_limit);
  both.recordings = {side_of("before", before), side_of("after", after)};
  return both;
}

// What the page multiplies amounts before by, which it takes for amounts of the event after.
double scale_of_amounts(const Profile& before, const Profile& after, Per per, double scale) {
  return per == Per::kShare ? scale
                            : scale * static_cast<double>(before.period()) /
                                  static_cast<double>(after.period());
}

}  // namespace

void write_html_difference(const Difference& difference, const Profile& before,
                           const Profile& after, double scale, const Write& write) {
  Per per = difference.options.per;
  std::vector<page::Note> notes;
  append_notes(difference_notes(difference, before, after), notes);
  for (const Profile* side : {&before, &after}) {
    notes.push_back({"", side == &before ? "Before" : "After"});
    append_notes_of(*side, notes);
  }
  page::Page page = page::make_page(profile_of_both(before, after), std::move(notes));
  page.origin.compared_per = to_string(per);
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
