#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace gosym {

// A regular expression in the syntax of Go's regexp and of `go tool pprof`. To match takes time
// and memory in proportion to the text, whatever the expression and the text are.
class Pattern {
public:
  // The error names what is wrong with the expression.
  static Result<Pattern> parse(std::string_view expression);

  // Matches this text and no other.
  static Pattern literal(std::string_view text);

  // True if it matches anywhere in the text.
  bool matches(std::string_view text) const;
  // The text that was given to parse().
  const std::string& text() const;

private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;  // the library is known to pattern.cpp alone
};

}  // namespace gosym
