#include "view/selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "base/text.h"
#include "profile/own_code.h"
#include "profile/rewrite_stacks.h"
#include "view/frame_keys.h"

// All decisions are made before the samples are looked at: for each key whether patterns match
// it, for each location what is left of it. A stack is then put together from numbers.
namespace gosym {

namespace {

bool matches_any(const std::vector<Pattern>& patterns, std::string_view text) {
  return std::ranges::any_of(patterns,
                             [&](const Pattern& pattern) { return pattern.matches(text); });
}

// The selection's answer for frames with one name: each name is matched once.
struct Verdict {
  bool is_focus = false;
  bool is_ignored = false;
  bool is_shown = true;
};

class Selector {
public:
  Selector(Profile& profile, const Selection& selection)
      : profile_(profile), selection_(selection), keys_(profile, Dimension::Kind::kFunction) {
    for (const ViewKey& key : keys_.all())
      verdicts_.push_back(verdict_of(key));
    // Own locations are decided before filtered() appends locations: those are parts of earlier
    // ones, and not asked about.
    size_t count = profile.locations.size();
    if (!selection_.modules.empty())
      find_modules();
    if (selection_.is_mine)
      find_mine();
    for (size_t i = 0; i < count; i++)
      shown_.push_back(filtered(static_cast<LocationId>(i)));
  }

  // Appends what is left of a stack; nothing if its samples are dropped.
  void append(StackId stack, std::vector<LocationId>& locations) {
    if (!is_selected(profile_.stack(stack)))
      return;
    for (LocationId location : profile_.stack(stack))
      if (shown_[to_index(location)] != kNothing)
        locations.push_back(shown_[to_index(location)]);
    // A stack that had own code, all of which is hidden, is dropped like any other without
    // frames.
    if (selection_.is_mine && locations.empty() && !has_mine(profile_.stack(stack)))
      locations.push_back(location_without_own(profile_.stack(stack)));
  }

private:
  static constexpr LocationId kNothing{UINT32_MAX};

  void find_modules() {
    FrameKeys modules(profile_, Dimension::Kind::kModule);
    // All frames of a location are of one module. A gap has no key, and is of none.
    for (size_t i = 0; i < profile_.locations.size(); i++) {
      std::span<const KeyId> module = modules.of(static_cast<LocationId>(i));
      is_of_module_.push_back(!module.empty() &&
                              matches_any(selection_.modules, modules[module.front()].text));
    }
  }

  void find_mine() {
    categories_.emplace(profile_, Dimension::Kind::kCategory);
    for (size_t i = 0; i < profile_.locations.size(); i++)
      has_mine_.push_back(has_mine(static_cast<LocationId>(i)));
  }

  bool matches_any(const std::vector<FunctionChoice>& choices, const ViewKey& key) const {
    return std::ranges::any_of(choices, [&](const FunctionChoice& choice) {
      // Making a label compares the key with all others, so it is tried only if the pattern
      // begins with the name.
      return choice.matches(key) || (choice.begins_with(key.text + " (") &&
                                     choice.is_label(keys_.choose(profile_, key)));
    });
  }
  static bool matches_any(const std::vector<Pattern>& patterns, std::string_view text) {
    return gosym::matches_any(patterns, text);
  }

  Verdict verdict_of(const ViewKey& key) const {
    bool is_shown = (selection_.show.empty() || matches_any(selection_.show, key.text)) &&
                    !matches_any(selection_.hide, key) &&
                    (selection_.has_kernel || !key.is_kernel);
    return {matches_any(selection_.focus, key), matches_any(selection_.ignore, key), is_shown};
  }

  bool is_selected(std::span<const LocationId> stack) const {
    bool has_focus = selection_.focus.empty();
    bool has_module = selection_.modules.empty();
    for (LocationId location : stack) {
      // is_of_module_ is empty if no module is asked for: then has_module is true, and it is
      // not read.
      has_module = has_module || is_of_module_[to_index(location)];
      for (KeyId key : frames_of(location)) {
        // --ignore wins over --focus.
        if (verdicts_[to_index(key)].is_ignored)
          return false;
        has_focus = has_focus || verdicts_[to_index(key)].is_focus;
      }
    }
    return has_focus && has_module;
  }

  // The frames that patterns are matched against: without inlined calls only the function that
  // the code belongs to.
  std::span<const KeyId> frames_of(LocationId id) const {
    std::span<const KeyId> keys = keys_.of(id);
    return selection_.has_inlines || keys.empty() ? keys : keys.last(1);
  }

  bool is_mine(const Location& location, size_t frame, const ViewKey& key) const {
    if (!selection_.is_mine)
      return true;
    if (!selection_.mine.empty())
      return matches_any(selection_.mine, key.text);
    return location.frame_count == 0
               ? is_own(profile_, location)
               : is_own(profile_, location, profile_.frames[location.first_frame + frame]);
  }

  bool has_mine(std::span<const LocationId> stack) const {
    return std::ranges::any_of(stack, [&](LocationId id) { return has_mine_[to_index(id)]; });
  }

  bool has_mine(LocationId id) const {
    const Location& location = profile_.locations[to_index(id)];
    std::span<const KeyId> keys = keys_.of(id);
    for (size_t i = keys.size() - frames_of(id).size(); i < keys.size(); i++)
      if (is_mine(location, i, keys_[keys[i]]))
        return true;
    return false;
  }

  // Stands for a stack without own code: the kind of work of what ran. An empty stack has none,
  // and neither has one of a gap alone.
  LocationId location_without_own(std::span<const LocationId> stack) {
    std::vector<KeyId> keys;
    categories_->append(stack, keys);
    std::string work = keys.empty() ? "not known" : (*categories_)[keys.front()].text;
    std::string name = fmt::format("[not in own code: {}]", work);
    auto next = static_cast<LocationId>(profile_.locations.size());
    auto [known, is_new] = without_own_.try_emplace(profile_.strings.intern(name), next);
    if (!is_new)
      return known->second;
    Location location;
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = 1;
    profile_.locations.push_back(location);
    // kGiven, as of names that no file has: nothing looks for this one in one.
    profile_.frames.push_back({.function = static_cast<FunctionId>(profile_.functions.size()),
                               .source = FrameSource::kGiven});
    profile_.functions.push_back({.name = known->first, .system_name = known->first});
    return next;
  }

  // The location with those of its frames that are shown. Called of each location once, before
  // any stack is asked for, so that what it appends is not looked for again.
  LocationId filtered(LocationId id) {
    Location location = profile_.locations[to_index(id)];
    std::span<const KeyId> keys = keys_.of(id);
    // Code without a name has one key and no frame: it is there or not, as a whole.
    if (location.frame_count == 0) {
      bool is_shown = keys.empty() ? !selection_.is_mine
                                   : verdicts_[to_index(keys.front())].is_shown &&
                                         is_mine(location, 0, keys_[keys.front()]);
      return is_shown ? id : kNothing;
    }
    // Frames are innermost first, so the last one is the function itself, which the others were
    // inlined into.
    size_t first = selection_.has_inlines ? 0 : location.frame_count - 1;
    std::vector<Frame> shown;
    for (size_t i = first; i < location.frame_count; i++)
      if (verdicts_[to_index(keys[i])].is_shown && is_mine(location, i, keys_[keys[i]]))
        shown.push_back(profile_.frames[location.first_frame + i]);
    // An unchanged location keeps its number, and with it its address; a copy is made only for
    // the rest.
    if (shown.size() == location.frame_count)
      return id;
    if (shown.empty())
      return kNothing;
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = static_cast<uint32_t>(shown.size());
    profile_.frames.insert(profile_.frames.end(), shown.begin(), shown.end());
    profile_.locations.push_back(location);
    return static_cast<LocationId>(profile_.locations.size() - 1);
  }

  Profile& profile_;
  const Selection& selection_;
  FrameKeys keys_;
  std::optional<FrameKeys> categories_;         // if only own code is shown
  std::vector<bool> has_mine_;                  // each location; likewise
  std::map<StringId, LocationId> without_own_;  // by the name of what stands for such stacks
  std::vector<Verdict> verdicts_;               // of each key
  std::vector<bool> is_of_module_;              // each location; empty: no module is asked for
  std::vector<LocationId> shown_;               // what is left of each location
};

void append_options(std::string_view option, const std::vector<Pattern>& patterns,
                    std::vector<std::string>& options) {
  for (const Pattern& pattern : patterns)
    options.push_back(fmt::format("{} {}", option, shell_quoted(pattern.text())));
}
void append_options(std::string_view option, const std::vector<FunctionChoice>& choices,
                    std::vector<std::string>& options) {
  for (const FunctionChoice& choice : choices)
    options.push_back(fmt::format("{} {}", option, choice.option_text()));
}

}  // namespace

// The option would take all of one name: which one it was is added.
std::string FunctionChoice::option_text() const {
  std::string option = shell_quoted(pattern_.text());
  return chosen_.place.empty() ? option : fmt::format("{} ({})", option, chosen_.place);
}

// Options tell a chosen key by its text alone: the lists that may have such are compared, too.
bool Selection::operator==(const Selection& other) const {
  return to_string() == other.to_string() && focus == other.focus && ignore == other.ignore &&
         hide == other.hide;
}

bool Selection::keeps_all() const {
  return to_string().empty();
}

std::string Selection::to_string() const {
  std::vector<std::string> options;
  append_options("--focus", focus, options);
  append_options("--ignore", ignore, options);
  append_options("--module", modules, options);
  append_options("--hide", hide, options);
  append_options("--show", show, options);
  if (is_mine && mine.empty())
    options.emplace_back("--mine");
  for (const Pattern& pattern : mine)
    options.push_back(fmt::format("--mine={}", shell_quoted(pattern.text())));
  if (!has_kernel)
    options.emplace_back("--no-kernel");
  if (!has_inlines)
    options.emplace_back("--no-inlines");
  return joined(options, " ");
}

void select(Profile& profile, const Selection& selection) {
  if (selection.keeps_all())
    return;
  // Notes need the amounts of the whole recording after most samples are gone.
  // first_shown() ends with the number of all values, each of which gets an amount.
  std::vector<uint32_t> firsts = first_shown(profile.info.events);
  profile.recorded_amounts.assign(firsts.back(), 0);
  for (const SampleCount& sample : std::as_const(profile.samples)) {
    uint32_t first = firsts[profile.owner(sample).event];
    profile.recorded_amounts[first] += profile.amount(sample);
    std::span<const uint64_t> others = profile.others_of(sample);
    for (size_t i = 0; i < others.size(); i++)
      profile.recorded_amounts[first + 1 + i] += others[i];
  }
  // find_own() must see the stacks before frames are taken out of them.
  if (selection.is_mine)
    profile.own_code = selection.mine.empty() ? own_code_text(profile, find_own(profile))
                                              : std::string("functions that --mine matches");
  Selector selector(profile, selection);
  rewrite_stacks(profile, [&](StackId stack, std::vector<LocationId>& locations) {
    selector.append(stack, locations);
  });
  // Samples that had no stack before are not of what was asked for either.
  std::erase_if(profile.samples.own(),
                [&](const SampleCount& sample) { return profile.stack(sample.stack).empty(); });
  std::string text = selection.to_string();
  profile.filter += (profile.filter.empty() ? "" : " ") + text;
}

}  // namespace gosym
