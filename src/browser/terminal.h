#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "browser/grid.h"
#include "browser/key.h"

namespace gosym::browser {

// True if a terminal of this name can be browsed: it is known, and can move its cursor.
bool can_browse_on(const std::string& name);

// The sequence that asks a terminal to put text onto the clipboard (OSC 52).
std::string clipboard_sequence(std::string_view text);

// The terminal of standard input and output, with its screen to ourselves. One at a time. It is
// left as it was found when this ends, or the program by a crash.
class Terminal {
public:
  // Fails if it is no terminal, or one that cannot move its cursor. Without colours it is as
  // one that has none; characters are those of the locale that has been set.
  static Result<Terminal> open(bool has_colour = true);
  ~Terminal();
  Terminal(Terminal&& other) noexcept : is_open_(std::exchange(other.is_open_, false)) {}
  Terminal& operator=(Terminal&&) = delete;

  Size size() const;
  void show(const Grid& grid);
  // The next input; none if there is nothing yet.
  std::optional<Key> read();
  void copy(std::string_view text);
  // Gives the screen to another program, as the terminal was found, and takes it again.
  void leave();
  void come_back();

private:
  Terminal() = default;

  bool is_open_ = true;
};

}  // namespace gosym::browser
