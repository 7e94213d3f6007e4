#include "output/html.h"

#include <vector>

#include "base/text.h"
#include "output/header.h"
#include "page/html.h"
#include "page/make_page.h"

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

}  // namespace

void write_html(const Profile& profile, const Write& write) {
  write(page::make_html(page::make_page(profile, notes_of(profile))));
}

}  // namespace gosym
