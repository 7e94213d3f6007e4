#pragma once

#include <cstddef>
#include <cstdint>

namespace gosym::browser {

// One input of a person: a key, or an action of the mouse.
struct Key {
  enum class Kind : uint8_t {
    kCharacter,
    kUp,
    kDown,
    kLeft,
    kRight,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kTab,
    kBackTab,
    kClick,  // pressed and let go at (x, y)
    kDrag,   // pressed at (x, y), let go at (to_x, y)
    kWheelUp,
    kWheelDown,
  };
  Kind kind = Kind::kCharacter;
  char32_t character = 0;
  size_t x = 0;  // in columns and lines from 0
  size_t y = 0;
  size_t to_x = 0;
};

inline bool is_character(const Key& key, char32_t character) {
  return key.kind == Key::Kind::kCharacter && key.character == character;
}

inline Key character_key(char32_t character) {
  return {.kind = Key::Kind::kCharacter, .character = character};
}

}  // namespace gosym::browser
