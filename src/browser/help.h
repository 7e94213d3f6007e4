#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gosym::browser {

// The text behind the key ?: the keys, by what they are for, in lines of no more than `width`
// columns.
std::vector<std::string> help_lines(bool is_live, size_t width);

// One of the formats that the view can be exported in.
struct ExportChoice {
  char key;
  std::string_view format;  // the name of a Format
  std::string_view extension;  // of the file
};
std::span<const ExportChoice> export_choices();

}  // namespace gosym::browser
