#include "base/pattern.h"

#include <re2/re2.h>

#include "base/text.h"

namespace gosym {

Result<Pattern> Pattern::parse(std::string_view expression) {
  RE2::Options options;
  // RE2 would write to standard error what is returned as an error here.
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(
      re2::StringPiece(expression.data(), expression.size()), options);
  if (!compiled->ok())
    return errorf("'{}' is not a regular expression: {}", printable(expression),
                  printable(compiled->error()));
  return Pattern(std::move(compiled));
}

Pattern Pattern::literal(std::string_view text) {
  // Anchored at both ends, since matches() looks anywhere in the text.
  std::string expression =
      "^" + RE2::QuoteMeta(re2::StringPiece(text.data(), text.size())) + "$";
  return *parse(expression);
}

bool Pattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

const std::string& Pattern::text() const {
  return compiled_->pattern();
}

}  // namespace gosym
