#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "profile/profile.h"
#include "view/frame_keys.h"

namespace gosym {

// Functions that are meant: those whose names an expression matches, or one that was chosen.
class FunctionChoice {
public:
  FunctionChoice(Pattern pattern)  // NOLINT(google-explicit-constructor)
      : pattern_(std::move(pattern)) {}
  explicit FunctionChoice(ChosenKey chosen)
      : pattern_(Pattern::literal(chosen.text)), chosen_(std::move(chosen)) {}

  bool matches(const ViewKey& key) const { return matches(key.text, key.identity); }
  // A function by its name, and by its identity if it is of one.
  bool matches(std::string_view name, uint64_t identity) const {
    return chosen_.empty() ? pattern_.matches(name) : chosen_.identity == identity;
  }
  // True if the expression is, word for word, the name with its place that tells it from others
  // of its name: "main.main (link)", as views show it.
  bool is_label(const ChosenKey& key) const {
    return chosen_.empty() && !key.place.empty() && pattern_.text() == key.label();
  }
  bool begins_with(std::string_view name) const { return pattern_.text().starts_with(name); }
  // For the option of report that comes closest, and for people.
  std::string option_text() const;
  std::string text() const { return chosen_.empty() ? pattern_.text() : chosen_.label(); }
  bool operator==(const FunctionChoice& other) const {
    return pattern_.text() == other.pattern_.text() && chosen_ == other.chosen_;
  }

private:
  Pattern pattern_;
  ChosenKey chosen_;  // empty: by the expression
};

// The stacks of a profile that are shown, and which of their frames. Patterns are matched
// against the names of functions as they are shown, and against "[stripped libc.so.6]" where
// there is none. If there are several patterns of a kind, one match is enough. An entry of
// focus, ignore or hide may stand for one of several functions of a name:
// FunctionChoice::is_label().
struct Selection {
  std::vector<FunctionChoice> focus = {};   // only samples with such a frame
  std::vector<FunctionChoice> ignore = {};  // only samples without one
  std::vector<Pattern> modules = {};        // only samples with a frame of such a file
  std::vector<FunctionChoice> hide = {};    // frames that are left out
  std::vector<Pattern> show = {};           // the only frames that are not
  bool has_kernel = true;                   // its frames are shown
  // Only frames of own code are shown: by is_own(), or, if there are patterns, functions that
  // match one. Of a stack without any its kind of work stays.
  bool is_mine = false;
  std::vector<Pattern> mine = {};
  // Inlined calls are frames of their own; if not, they are part of the function that has their
  // code.
  bool has_inlines = true;

  bool keeps_all() const;
  // The options of report that make this selection; empty if it keeps everything.
  std::string to_string() const;
  bool operator==(const Selection& other) const;
};

// Leaves in the profile what is selected: samples, and frames of their stacks. Those of which
// no frame is left are dropped, but for those without own code where only that is shown: these
// become one frame, "[not in own code: garbage collection]". Stacks that have become equal
// become one.
void select(Profile& profile, const Selection& selection);

}  // namespace gosym
