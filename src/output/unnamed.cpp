#include "output/unnamed.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/percent.h"
#include "base/text.h"
#include "view/frame_keys.h"

namespace gosym {

std::string_view remedy_of(Unnamed unnamed) {
  switch (unnamed) {
    case Unnamed::kNotSymbolized:
      return "names were not looked for";
    case Unnamed::kUnmapped:
      return "the CPU was outside all mapped code, or a mapping was lost";
    case Unnamed::kAnonymous:
      return "made at run time, if not copied there: names take a perf map, as of node "
             "--perf-basic-prof";
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
      return "its tables leave this code out, or have an empty name for it";
    case Unnamed::kNoKernelSymbols:
      return "record with CAP_SYSLOG, and sysctl kernel.kptr_restrict below 2";
    case Unnamed::kLeftOut:
      return "the stack is deeper than a sample holds";
    case Unnamed::kCallFromC:
      return "goroutines that C code entered, without a stack while they run: CPU samples have "
             "it";
  }
  assert(false);
  return {};
}

namespace {

// The number of occurrences of each location in stacks of samples.
std::vector<uint64_t> count_visits(const Profile& profile) {
  std::vector<uint64_t> visits(profile.locations.size());
  for (const SampleCount& sample : profile.samples)
    for (LocationId location : profile.stack(sample.stack))
      visits[to_index(location)] += sample.count;
  return visits;
}

// Counts frames in stacks of samples; a location without a name is one frame.
struct FrameCounts {
  struct Group {
    uint32_t image;
    Unnamed reason;
    auto operator<=>(const Group&) const = default;
  };
  uint64_t frames = 0;
  uint64_t unnamed_frames = 0;
  std::map<Group, uint64_t> groups;  // unnamed frames of each
  std::set<uint32_t> named_images;   // that have frames with names
};

FrameCounts count_frames(const Profile& profile, StackPart part) {
  std::vector<uint64_t> visits = count_visits(profile);
  FrameCounts counts;
  for (size_t i = 0; i < visits.size(); i++) {
    const Location& location = profile.locations[i];
    // A location for frames that were left out is no code, with or without a name.
    if (profile.is_kernel(location) != (part == StackPart::kKernel) || visits[i] == 0 ||
        location.unnamed == Unnamed::kLeftOut)
      continue;
    // Inlined functions are frames as well.
    counts.frames += visits[i] * std::max(location.frame_count, 1u);
    uint32_t image = profile.mappings[to_index(location.mapping)].image;
    if (profile.is_named(location)) {
      counts.named_images.insert(image);
      continue;
    }
    counts.unnamed_frames += visits[i];
    counts.groups[{image, location.unnamed}] += visits[i];
  }
  return counts;
}

struct Row {
  std::string name;
  std::string remedy;
  uint64_t frames;
};

std::string remedy_of(Unnamed reason, const ProfileImage& image) {
  if (reason == Unnamed::kStripped && !image.debug_package.empty())
    return fmt::format("install {}, or see --debug-dir", printable(image.debug_package));
  return std::string(remedy_of(reason));
}

std::string remedy_in(const Profile& profile, const FrameCounts& counts,
                      FrameCounts::Group group) {
  const ProfileImage& image = profile.images[group.image];
  bool has_names = counts.named_images.contains(group.image);
  // A library has names for what it exports only, so that "stripped" alone would look wrong.
  if (group.reason == Unnamed::kStripped && has_names)
    return fmt::format(
        "names only what it exports: install {}, or see --debug-dir",
        image.debug_package.empty() ? "its debug package" : printable(image.debug_package));
  return remedy_of(group.reason, image);
}

// One for groups that read the same, anonymous code for one; the most frames first.
std::vector<Row> rows_of(const Profile& profile, const FrameCounts& counts) {
  std::map<std::pair<std::string, std::string>, uint64_t> merged;
  for (const auto& [group, frames] : counts.groups)
    merged[{unnamed_group(group.reason, profile.images[group.image]),
            remedy_in(profile, counts, group)}] += frames;

  std::vector<Row> rows;
  rows.reserve(merged.size());
  for (const auto& [texts, frames] : merged)
    rows.push_back({texts.first, texts.second, frames});
  std::ranges::stable_sort(rows, std::greater<>(), &Row::frames);
  return rows;
}

// "label", as it is elsewhere, would be taken for a goroutine's.
std::string_view kind_of(FrameSource source) {
  if (source == FrameSource::kCallFrames)
    return "none";
  return source == FrameSource::kLabel ? "guess" : split(to_string(source), ',').front();
}

constexpr double kLeastShown = 0.05;  // less is rounded to 0.0 %
constexpr double kLeastTold = 0.5;    // percent of the samples: less changes no figure

}  // namespace

std::string make_source_note(const Profile& profile) {
  std::vector<uint64_t> visits = count_visits(profile);
  std::map<std::string_view, uint64_t> counts;
  uint64_t all = 0;
  for (size_t i = 0; i < visits.size(); i++) {
    const Location& location = profile.locations[i];
    if (location.unnamed == Unnamed::kLeftOut)
      continue;
    for (const Frame& frame : profile.frames_of(location))
      counts[kind_of(frame.source)] += visits[i];
    if (location.frame_count == 0)
      counts["none"] += visits[i];
    all += visits[i] * std::max(location.frame_count, 1u);
  }
  std::vector<std::pair<std::string_view, uint64_t>> sources(counts.begin(), counts.end());
  std::ranges::stable_sort(sources, std::greater<>(), [](const auto& s) { return s.second; });

  std::vector<std::string> items;
  for (const auto& [source, count] : sources)
    if (percent(count, all) >= kLeastShown)
      items.push_back(fmt::format("{} {:.1f} %", source, percent(count, all)));
  return items.empty() ? "" : fmt::format("names      from {}\n", joined(items, ", "));
}

std::string make_unnamed_note(const Profile& profile, StackPart part, size_t top) {
  FrameCounts counts = count_frames(profile, part);
  if (counts.unnamed_frames == 0)
    return {};

  std::string note =
      fmt::format("{} of {} {} frames have no name:\n", with_commas(counts.unnamed_frames),
                  with_commas(counts.frames), part == StackPart::kKernel ? "kernel" : "user");
  std::vector<Row> rows = rows_of(profile, counts);
  size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  size_t width = 0;
  for (size_t i = 0; i < shown; i++)
    width = std::max(width, rows[i].name.size());
  for (size_t i = 0; i < shown; i++)
    note += fmt::format("{:>10}  {:<{}}  {}\n", with_commas(rows[i].frames), rows[i].name,
                        width, rows[i].remedy);
  if (shown < rows.size())
    note += fmt::format("{} of {} rows; --top 0 shows all\n", shown, rows.size());
  return note;
}

std::string make_unnamed_line(const Profile& profile) {
  std::map<std::pair<std::string, std::string>, uint64_t> amounts;  // by name and remedy
  uint64_t unnamed = 0;
  // By leaf: a frame without a name further out changes no function's own time.
  for (const SampleCount& sample : profile.samples) {
    std::span<const LocationId> stack = profile.stack(sample.stack);
    if (stack.empty())
      continue;
    const Location& leaf = profile.locations[to_index(stack.front())];
    if (profile.is_named(leaf))
      continue;
    unnamed += profile.amount(sample);
    const ProfileImage& image = profile.image_of(leaf.mapping);
    amounts[{unnamed_group(leaf.unnamed, image), remedy_of(leaf.unnamed, image)}] +=
        profile.amount(sample);
  }
  double share = percent(unnamed, profile.total_amount());
  if (share < kLeastTold)
    return {};
  auto most =
      std::ranges::max_element(amounts, {}, [](const auto& entry) { return entry.second; });
  return fmt::format("unnamed    {:.1f} % of the samples, {:.1f} % in {}: {}{}\n", share,
                     percent(most->second, profile.total_amount()), most->first.first,
                     most->first.second, amounts.size() > 1 ? "; -v lists all" : "");
}

}  // namespace gosym
