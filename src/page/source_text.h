#pragma once

#include <string>

namespace gosym {

// A source file, for a page that is to hold it.
struct SourceText {
  std::string path;  // as functions have it
  std::string text;  // printable lines, each with its end
};

}  // namespace gosym
