#include "output/unnamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <vector>

#include "base/text.h"

namespace gosym {

namespace {

std::string_view remedy_of(Unnamed unnamed) {
  switch (unnamed) {
    case Unnamed::kNotAsked:
      return "names were not looked for";
    case Unnamed::kUnmapped:
      return "the CPU was outside all mapped code, or a mapping was lost";
    case Unnamed::kAnonymous:
      return "made at run time: names take a perf map, as of node --perf-basic-prof";
    case Unnamed::kUnlisted:
      return "made at run time, and left out of its process's perf map";
    case Unnamed::kVdso:
      return "code of the kernel that the recording has no symbol for";
    case Unnamed::kUnidentified:
      return "not readable while it ran: record with more rights, or it ended too soon";
    case Unnamed::kDeleted:
      return "gone or replaced while it ran: restart the program and record again";
    case Unnamed::kMissing:
      return "report where it was recorded, or put the file in its place or below --symfs";
    case Unnamed::kChanged:
      return "put the file back that was recorded";
    case Unnamed::kStripped:
      return "install its debug package, or see --debug-dir and --debuginfod";
    case Unnamed::kNoSymbol:
      return "its symbol tables leave this code out";
    case Unnamed::kNoKernelSymbols:
      return "record with CAP_SYSLOG, and sysctl kernel.kptr_restrict below 2";
  }
  assert(false);
  return {};
}

struct Census {
  uint64_t frames = 0;
  uint64_t unnamed_frames = 0;
  std::map<std::pair<uint32_t, Unnamed>, uint64_t> groups;  // image, reason -> unnamed frames
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

struct Row {
  std::string name;
  std::string_view remedy;
  uint64_t frames;
};

// One for groups that read the same, anonymous code for one; the most frames first.
std::vector<Row> rows_of(const Profile& profile, const Census& census) {
  std::map<std::pair<std::string, std::string_view>, uint64_t> merged;
  for (const auto& [group, frames] : census.groups) {
    auto [image, reason] = group;
    merged[{unnamed_group(reason, profile.images[image]), remedy_of(reason)}] += frames;
  }

  std::vector<Row> rows;
  rows.reserve(merged.size());
  for (const auto& [texts, frames] : merged)
    rows.push_back({texts.first, texts.second, frames});
  std::ranges::stable_sort(rows, std::greater<>(), &Row::frames);
  return rows;
}

}  // namespace

std::string unnamed_group(Unnamed unnamed, const ProfileImage& image) {
  if (image.kind == ProfileImage::Kind::kKernel)
    return "[kernel]";
  if (!is_about_file(unnamed))
    return fmt::format("[{}]", to_string(unnamed));
  return fmt::format("[{} {}]", to_string(unnamed), printable(base_name(image.file.path)));
}

std::string make_unnamed_note(const Profile& profile, StackPart part) {
  Census census = count_frames(profile, part);
  if (census.unnamed_frames == 0)
    return {};

  std::string note = fmt::format(
      "{} of {} {} frames ({:.1f} %) have no name:\n", with_commas(census.unnamed_frames),
      with_commas(census.frames), part == StackPart::kKernel ? "kernel" : "user",
      100.0 * static_cast<double>(census.unnamed_frames) / static_cast<double>(census.frames));
  std::vector<Row> rows = rows_of(profile, census);
  size_t width =
      std::ranges::max(rows, {}, [](const Row& row) { return row.name.size(); }).name.size();
  for (const Row& row : rows)
    note += fmt::format("{:>10}  {:<{}}  {}\n", with_commas(row.frames), row.name, width,
                        row.remedy);
  return note;
}

}  // namespace gosym
