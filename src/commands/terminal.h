#pragma once

#include <string>
#include <string_view>

#include "commands/command_line.h"
#include "output/table.h"

namespace gosym {

enum class ColourMode : uint8_t { kAuto, kAlways, kNever };

// The options --color and --no-pager.
Option colour_option(ColourMode& mode);
Option pager_option(bool& has_pager);

// True if the terminal is to have colours: by kAuto, unless NO_COLOR is set.
bool wants_colour(ColourMode mode);

// Screen for standard output: the size of the terminal, or no limits. Colours as the mode says;
// by kAuto on a terminal that has them and is to have them.
Screen standard_output(ColourMode mode);

// Replaces the line of progress on standard error, if that is a terminal; "" erases it.
void show_progress(std::string_view text);

// Sleeps until the next of `count` looks is due, and shows meanwhile that look `number`
// follows; with a count of 0 nothing.
void wait_for_look(size_t number, size_t count, uint64_t interval_ns);

// The pager that GOSYM_PAGER or PAGER names, or less, as the shell understands it.
std::string pager_command();

// Shows text on the terminal through pager_command(), if it is longer than the screen. False if
// that is not so, or the pager did not start: then the text is the caller's to write.
bool show_in_pager(std::string_view text, const Screen& screen);

// From here on the C library encodes characters as LC_ALL, LC_CTYPE or LANG says, numbers as it
// did. Where the system has no such locale but its name has UTF-8, as in a small image, it is
// UTF-8; for that a file is made in a temporary directory and removed. Where no file can be
// made, characters stay ASCII. To be called while files can be opened.
void choose_character_set();

// True if the environment names a locale, and one without UTF-8: "C", "de_DE@euro".
bool wants_ascii();

// LC_CTYPE of C.UTF-8 as the C library reads it from a file, gzipped. Made by embed_locale.py.
extern const std::string_view kUtf8Locale;

}  // namespace gosym
