#pragma once

#include <string_view>

namespace gosym {

// From here on the C library encodes characters as LC_ALL, LC_CTYPE or LANG says, numbers as it
// did. Where the system has no such locale but its name ends in UTF-8, as in a small image, it
// is UTF-8; for that a file is made in a temporary directory and removed. Where no file can be
// made, characters stay ASCII. To be called while files can be opened.
void choose_character_set();

// True if the environment names a locale, and one without UTF-8: "C", "de_DE@euro".
bool wants_ascii();

// LC_CTYPE of C.UTF-8 as the C library reads it from a file, gzipped. Made by embed_locale.py.
extern const std::string_view kUtf8Locale;

}  // namespace gosym
