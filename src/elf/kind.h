#pragma once

#include <string>

#include "elf/image.h"

namespace gosym::elf {

// Description of an image in words, as file(1) gives one.
struct Kind {
  std::string type;          // "executable", "position-independent executable", "shared object"
  std::string machine;       // "x86-64"
  std::string linking;       // "statically linked", "dynamically linked"
  bool is_stripped = false;  // no .symtab
  bool has_dwarf = false;    // .debug_info, compressed or not
  bool is_packed = false;    // by UPX: its code is in memory only, and only while it runs
};

Kind kind_of(const Image& image);

}  // namespace gosym::elf
