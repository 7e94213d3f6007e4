#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "output/table.h"
#include "output/text.h"
#include "profile/profile.h"

namespace gosym {

// Something that a report says beside its tables: "processes" and "demo (4242) 98.2 %". Each
// form of output decides where the title stands, and whether lines are wrapped or cut.
struct Note {
  // A line below the note, in three columns.
  struct Row {
    std::string amount;
    std::string name;
    std::string text;
  };

  std::string title;  // empty: a sentence of its own, or the heading of rows
  std::string text;
  std::vector<Row> rows = {};
  std::string rest = {};  // how many more there are
};

// A note on a line: "processes  demo (4242) 98.2 %". Texts begin in one column.
inline constexpr size_t kNoteIndent = 11;
std::string line_of(const Note& note, size_t indent = kNoteIndent);
// The note on a line, then its rows and the rest.
std::vector<std::string> lines_of(const Note& note);

// All that a report says of a profile besides its tables.
struct About {
  std::string headline;
  std::vector<Note> facts;  // the command, host, time and events that were recorded
  // Everything that makes the figures less than the whole truth: losses, truncated stacks, few
  // samples, code without names. Empty if there is nothing to say.
  std::vector<Note> notes;
};

struct AboutOptions {
  size_t max_processes;     // that are named
  bool is_verbose = false;  // with details
  size_t top = 0;           // rows of code without names, of the details; 0 for all
  Screen screen = {};  // the headline and the picture of the load are made to fit its width
};
About make_about(const Profile& profile, const Amounts& amounts, const AboutOptions& options);

inline constexpr size_t kMaxProcessesShown = 5;  // and containers, unless all are to be shown

// "979 samples of cpu-clock at 99 Hz: 9.89 s of CPU time in 10.00 s, 0.99 of 4 CPUs". A clock's
// name is left out if the line would be wider than `width`.
std::string make_headline(const Profile& profile, const Amounts& amounts,
                          size_t width = SIZE_MAX);

// Parts of the input that could not be read. Forms that have no other notes have these.
std::vector<Note> damage_notes(const Profile& profile);

// Says in a few words how code gets a name that has none for this reason.
std::string_view remedy_of(Unnamed unnamed);

}  // namespace gosym
