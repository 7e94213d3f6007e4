#pragma once

#include <span>
#include <string_view>

#include "output/write.h"
#include "profile/profile.h"

namespace gosym {

struct OutputOptions {
  size_t top = 20;  // functions in a table; 0: all
};

// A form that a profile can be written in.
struct Format {
  std::string_view name;
  bool is_binary;
  bool is_for_tools;              // that know functions by the names that the linker gave them
  std::string_view next_command;  // what may be done with the file, "{}"; empty: read it
  void (*write)(const Profile& profile, const OutputOptions& options, const Write& write);
};

// All formats; the first is the default.
std::span<const Format> formats();
// Null if there is none of this name.
const Format* find_format(std::string_view name);

}  // namespace gosym
