#include "go/runtime_layout.h"

#include <charconv>

namespace gosym::go {

namespace {

struct Release {
  uint32_t minor;
  RuntimeLayout layout;
};

// g: m, sched.sp, sched.bp, goid, labels, stkbar, stackguard; m: gsignal, curg; map, callback.
constexpr Release kReleases[] = {
    {2, {0, 40, 0, 0, 0, 0, 120, 88, 136, false, 0}},
    {3, {0, 40, 0, 0, 0, 0, 120, 88, 136, false, 0}},
    {4, {176, 48, 0, 128, 0, 0, 0, 64, 112, false, 16}},
    {5, {48, 64, 0, 184, 0, 136, 0, 80, 160, false, 24}},
    {6, {48, 64, 0, 192, 0, 136, 0, 80, 152, false, 24}},
    {7, {48, 64, 112, 192, 0, 136, 0, 80, 152, false, 32}},
    {8, {48, 64, 112, 192, 0, 136, 0, 80, 152, false, 32}},
    {9, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {10, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {11, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {12, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {13, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {14, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {15, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 32}},
    {16, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 40}},
    {17, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {18, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {19, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {20, {48, 56, 104, 152, 360, 0, 0, 80, 192, true, 40}},
    {21, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 40}},
    {22, {48, 56, 104, 152, 344, 0, 0, 80, 192, true, 40}},
    {23, {48, 56, 104, 160, 352, 0, 0, 80, 192, true, 40}},
    {24, {48, 56, 104, 160, 352, 0, 0, 80, 192, false, 40}},
    {25, {48, 56, 96, 152, 344, 0, 0, 72, 184, false, 40}},
    {26, {48, 56, 96, 152, 352, 0, 0, 72, 184, false, 40}},
    {27, {48, 56, 96, 152, 352, 0, 0, 72, 184, false, 40}},
};

}  // namespace

std::optional<uint32_t> minor_of_release(std::string_view version) {
  constexpr std::string_view kPrefix = "go1.";
  if (!version.starts_with(kPrefix))
    return std::nullopt;
  version.remove_prefix(kPrefix.size());
  uint32_t minor = 0;
  auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  if (error != std::errc())
    return std::nullopt;
  version.remove_prefix(static_cast<size_t>(end - version.data()));
  bool is_release = version.empty() || version.starts_with('.') || version.starts_with("rc") ||
                    version.starts_with(' ');
  return is_release ? std::optional(minor) : std::nullopt;
}

std::optional<RuntimeLayout> runtime_layout(std::string_view go_version) {
  auto minor = minor_of_release(go_version);
  for (const Release& release : kReleases)
    if (minor == release.minor)
      return release.layout;
  return std::nullopt;
}

}  // namespace gosym::go
