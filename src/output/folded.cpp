#include "output/folded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace gosym {

namespace {

std::string safe(std::string_view name) {
  std::string text = printable(name);
  std::ranges::replace(text, ';', ':');
  return text;
}

// The frames of a location, outermost first, each behind a ";".
std::string fold(const Profile& profile, const Location& location) {
  std::string_view suffix = profile.is_kernel(location) ? "_[k]" : "";
  std::span<const Frame> frames = profile.frames_of(location);
  if (frames.empty())
    return fmt::format(";{}{}", safe(profile.unnamed_text(location)), suffix);

  std::string text;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const Function& function = profile.functions[to_index(frame->function)];
    text += fmt::format(";{}{}", safe(profile.strings[function.name]), suffix);
  }
  return text;
}

}  // namespace

std::string make_folded(const Profile& profile) {
  std::vector<std::string> folded;
  for (const Location& location : profile.locations)
    folded.push_back(fold(profile, location));

  std::map<std::string, uint64_t> lines;
  for (const SampleCount& sample : profile.samples) {
    std::string line = safe(profile.strings[sample.comm]);
    std::span<const LocationId> stack = profile.stack(sample.stack);
    for (auto location = stack.rbegin(); location != stack.rend(); ++location)
      line += folded[to_index(*location)];
    lines[line] += profile.amount(sample);
  }

  std::string text;
  for (const auto& [line, count] : lines)
    text += fmt::format("{} {}\n", line, count);
  return text;
}

}  // namespace gosym
