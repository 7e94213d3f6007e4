#pragma once

#include <cstddef>

namespace gosym::browser {

// A terminal's description as ncurses(3X) takes it in place of a file: the compiled entry of
// terminfo(5) in base 64, after "b64:". Made by embed_terminals.py.
struct KnownTerminal {
  const char* name;  // "xterm-256color"
  const char* description;
};

constexpr size_t kKnownTerminalCount = 7;
extern const KnownTerminal kKnownTerminals[kKnownTerminalCount];

}  // namespace gosym::browser
