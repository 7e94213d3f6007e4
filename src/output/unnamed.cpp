#include "output/unnamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <map>

#include "base/text.h"

namespace gosym {

namespace {

struct Explanation {
  std::string_view word;
  bool names_file;  // the image's file is worth naming
  std::string_view remedy;
};

Explanation explain(Unnamed unnamed) {
  switch (unnamed) {
    case Unnamed::kNotAsked:
      return {"not symbolized", false, "names were not looked for"};
    case Unnamed::kUnmapped:
      return {"no mapping", false,
              "code without frame pointers led the stack walk astray, or a mapping was lost"};
    case Unnamed::kAnonymous:
      return {"anonymous", false, "code made at run time; no file names it"};
    case Unnamed::kVdso:
      return {"vdso", false, "the kernel's own code; nothing is missing"};
    case Unnamed::kUnidentified:
      return {"unidentified", true, "record with the right to read this file"};
    case Unnamed::kDeleted:
      return {"deleted", true, "replaced while it ran: restart the program and record again"};
    case Unnamed::kMissing:
      return {"missing", true, "report where it was recorded, or put the file in its place"};
    case Unnamed::kChanged:
      return {"changed", true, "put the file back that was recorded"};
    case Unnamed::kStripped:
      return {"stripped", true,
              "needs a build with a symbol table; separate debug files are not read"};
    case Unnamed::kNoSymbol:
      return {"no symbol", true, "its symbol tables leave this code out"};
    case Unnamed::kNoKernelSymbols:
      return {"kernel", false, "record with the right to read /proc/kallsyms (CAP_SYSLOG)"};
  }
  assert(false);
  return {};
}

struct Group {
  uint32_t image;
  Unnamed unnamed;
  auto operator<=>(const Group&) const = default;
};

struct Census {
  uint64_t frames = 0;
  uint64_t unnamed_frames = 0;
  std::map<Group, uint64_t> groups;  // unnamed frames of each
};

Census count_frames(const Profile& profile, StackPart part) {
  std::vector<uint64_t> visits(profile.locations.size());
  for (const SampleCount& sample : profile.samples)
    for (LocationId location : profile.stack(sample.stack))
      visits[to_index(location)] += sample.count;

  Census census;
  for (size_t i = 0; i < visits.size(); i++) {
    const Location& location = profile.locations[i];
    if (profile.is_kernel(location) != (part == StackPart::kKernel))
      continue;
    census.frames += visits[i] * std::max(location.frame_count, 1u);
    if (location.frame_count > 0)
      continue;
    census.unnamed_frames += visits[i];
    uint32_t image = profile.mappings[to_index(location.mapping)].image;
    census.groups[{image, location.unnamed}] += visits[i];
  }
  return census;
}

// Of the groups that are equal to a reader, the most frames first.
std::vector<std::pair<uint64_t, std::array<std::string, 2>>> rows_of(const Profile& profile,
                                                                     const Census& census) {
  std::map<std::array<std::string, 2>, uint64_t> merged;
  for (const auto& [group, frames] : census.groups)
    merged[{unnamed_group(group.unnamed, profile.images[group.image]),
            std::string(explain(group.unnamed).remedy)}] += frames;

  std::vector<std::pair<uint64_t, std::array<std::string, 2>>> rows;
  for (const auto& [texts, frames] : merged)
    rows.push_back({frames, texts});
  std::ranges::stable_sort(rows, std::greater<>(), &decltype(rows)::value_type::first);
  return rows;
}

}  // namespace

std::string unnamed_group(Unnamed unnamed, const ProfileImage& image) {
  Explanation explanation = explain(unnamed);
  if (!explanation.names_file)
    return fmt::format("[{}]", explanation.word);
  if (image.kind == ProfileImage::Kind::kKernel)
    return fmt::format("[{} kernel]", explanation.word);
  return fmt::format("[{} {}]", explanation.word, printable(base_name(image.file.path)));
}

std::string make_unnamed_note(const Profile& profile, StackPart part) {
  Census census = count_frames(profile, part);
  if (census.unnamed_frames == 0)
    return {};

  std::string note = fmt::format(
      "{} of {} {} frames ({:.1f} %) have no name:\n", with_commas(census.unnamed_frames),
      with_commas(census.frames), part == StackPart::kKernel ? "kernel" : "user",
      100.0 * static_cast<double>(census.unnamed_frames) / static_cast<double>(census.frames));
  for (const auto& [frames, texts] : rows_of(profile, census))
    note += fmt::format("{:>10}  {:<30}  {}\n", with_commas(frames), texts[0], texts[1]);
  return note;
}

}  // namespace gosym
