#include "browser/details.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "output/unnamed.h"

namespace gosym::browser {

namespace {

// The sources of names, and the reasons for none, of the locations with an entry.
struct Evidence {
  std::map<FrameSource, size_t> sources;
  std::map<Unnamed, size_t> reasons;
  size_t addresses = 0;
  size_t inlined = 0;  // addresses where it is an inlined call
};

Evidence evidence_of(const Answer& answer, const ViewKey& key) {
  const Profile& profile = answer.profile();
  const FrameKeys& keys = answer.entries->keys;
  Evidence evidence;
  for (size_t i = 0; i < profile.locations.size(); i++) {
    const Location& location = profile.locations[i];
    std::span<const KeyId> ids = keys.of(static_cast<LocationId>(i));
    auto found =
        std::ranges::find_if(ids, [&](KeyId id) { return keys[id].identity == key.identity; });
    if (found == ids.end())
      continue;
    evidence.addresses++;
    if (location.frame_count == 0) {
      evidence.reasons[location.unnamed]++;
      continue;
    }
    auto depth = static_cast<size_t>(found - ids.begin());
    evidence.sources[profile.frames_of(location)[depth].source]++;
    evidence.inlined += depth + 1 < ids.size() ? 1 : 0;
  }
  return evidence;
}

}  // namespace

std::vector<std::string> details_of(const Answer& answer, const ViewKey& key) {
  const Profile& profile = answer.profile();
  std::vector<std::string> lines = {key.text, ""};
  auto add = [&](std::string_view what, std::string_view text) {
    lines.push_back(fmt::format("{:<10} {}", what, text));
  };
  auto total = std::ranges::find_if(answer.entries->totals, [&](const Total& one) {
    return answer.entries->keys[one.key].identity == key.identity;
  });
  if (total != answer.entries->totals.end() && total->function != ViewKey::kNoFunction) {
    const Function& function = profile.functions[to_index(total->function)];
    if (function.file != StringId{})
      add("hottest", fmt::format("{}{}", printable(profile.strings[function.file]),
                                 total->line == 0 ? "" : fmt::format(":{}", total->line)));
    if (function.package != StringId{})
      add("package", printable(profile.strings[function.package]));
  }
  if (total != answer.entries->totals.end() && total->waited_in)
    add("waits in", answer.entries->keys[*total->waited_in].text);
  if (key.image < profile.images.size()) {
    const RecordedImage& image = profile.images[key.image].file;
    if (!image.path.empty())
      add("file", printable(image.path));
    if (!image.gnu_build_id.empty())
      add("build id", hex(image.gnu_build_id));
    if (!image.go_build_id.empty())
      add("Go's id", printable(image.go_build_id));
  }
  Evidence evidence = evidence_of(answer, key);
  add("sampled",
      fmt::format("at {} {}{}", with_commas(evidence.addresses),
                  evidence.addresses == 1 ? "address" : "addresses",
                  evidence.inlined == 0
                      ? ""
                      : fmt::format(", inlined at {}", with_commas(evidence.inlined))));
  for (const auto& [source, count] : evidence.sources)
    add("named by", fmt::format("{}, {} of them", to_string(source), with_commas(count)));
  for (const auto& [reason, count] : evidence.reasons) {
    add("no name", fmt::format("{}, {} of them", to_string(reason), with_commas(count)));
    add("", remedy_of(reason));
  }
  return lines;
}

}  // namespace gosym::browser
