#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gosym::browser {

// The text behind the key ?: the keys, by what they are for, in lines of no more than `width`
// columns.
std::vector<std::string> help_lines(bool is_live, size_t width);

// What can be written of what is shown.
struct ExportChoice {
  char key;
  std::string_view format;     // as Format::name has it
  std::string_view extension;  // of the file
};
std::span<const ExportChoice> export_choices();

}  // namespace gosym::browser
