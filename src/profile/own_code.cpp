#include "profile/own_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace gosym {

namespace {

using Texts = std::span<const std::string_view>;

// Folders of which no source file is the program's own: of systems, then of compilers.
constexpr std::array<std::string_view, 10> kForeignRoots = {
    "/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/lib/", "/usr/share/",
    "/usr/src/",     "/rustc/",   "library/core/",       "library/alloc/",  "library/std/"};

// Parts of paths below which package managers and compilers keep what they build.
constexpr std::array<std::string_view, 16> kForeignParts = {
    "/.cargo/registry/", "/.cargo/git/", "/.rustup/",         "/cargo/registry/",
    "/rustlib/",         "/pkg/mod/",    "/libstdc++-v3/",    "/libgcc/",
    "/.conan/",          "/.conan2/",    "/vcpkg_installed/", "/vcpkg/buildtrees",
    "/nix/store",        "/c++/v1/",     "/include/c++/",     "/vendor/"};

constexpr std::array<std::string_view, 5> kForeignScripts = {
    "node:", "node_modules/", "site-packages/", "dist-packages/", "/usr/lib/"};

constexpr std::array<std::string_view, 6> kLibraryFolders = {
    "/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/"};

bool begins_with_any(std::string_view text, Texts beginnings) {
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

bool has_any(std::string_view text, Texts parts) {
  return std::ranges::any_of(
      parts, [&](std::string_view part) { return text.find(part) != text.npos; });
}

// "example.com/shop/cart" is in "example.com/shop", and so is its test "example.com/shop_test".
bool is_in_module(std::string_view package, std::string_view module) {
  if (!package.starts_with(module))
    return false;
  std::string_view rest = package.substr(module.size());
  return rest.empty() || rest.front() == '/' || rest == "_test" || rest == ".test";
}

// A file of a module that was downloaded: ".../mod/golang.org/x/net@v0.1.0/http2/frame.go".
bool has_version(std::string_view file) {
  return file.find("@v") != file.npos;
}

// True if the package is one of the program's modules; without these, by what its path and its
// file look like.
bool is_own_package(const OwnCode& own, std::string_view package, std::string_view file) {
  if (package == "main")
    return true;
  if (!own.modules.empty())
    return std::ranges::any_of(
        own.modules, [&](const std::string& module) { return is_in_module(package, module); });
  // Packages of the standard library have no dot in the first element of their path.
  std::string_view first = package.substr(0, package.find('/'));
  return first.find('.') != first.npos && first != package && !has_version(file) &&
         !has_any(file, kForeignParts);
}

bool is_own_script(std::string_view name) {
  // Names as node (--perf-basic-prof) and python (-X perf) write them into their perf maps.
  bool has_file = name.starts_with("JS:") || name.starts_with("py::");
  return has_file && name.find('/') != name.npos && !has_any(name, kForeignScripts);
}

// Stubs of the linker and the vdso are nobody's own.
bool is_known_code(FrameSource source) {
  return source != FrameSource::kPlt && source != FrameSource::kVdso;
}

bool is_own_without_source(const ProfileImage& image) {
  return image.own.is_executable && !image.own.has_sources;
}

// "module example.com/shop", "packages of shop that are not Go's", "source files of shop",
// "all of shop".
std::string own_rule_of(const Profile& profile, const Location& location) {
  const ProfileImage& image = profile.image_of(location.mapping);
  std::span<const Frame> frames = profile.frames_of(location);
  // Profiles of other tools may have no path of it.
  std::string file =
      image.file.path.empty() ? "the program" : printable(base_name(image.file.path));
  if (!frames.empty() && is_go(frames.front().source))
    return image.own.modules.empty()
               ? fmt::format("packages of {} that are not Go's", file)
               : fmt::format("module{} {}", image.own.modules.size() == 1 ? "" : "s",
                             printable(joined(image.own.modules, " and ")));
  return fmt::format("{} of {}", is_own_without_source(image) ? "all" : "source files", file);
}

}  // namespace

bool is_own(const Profile& profile, const Location& location, const Frame& frame) {
  if (profile.is_kernel(location) || !is_known_code(frame.source))
    return false;
  if (!profile.is_named(location))
    return is_own(profile, location);
  const ProfileImage& image = profile.image_of(location.mapping);
  const Function& function = profile.functions[to_index(frame.function)];
  std::string_view file = profile.strings[function.file];
  // The module tells it in Go; elsewhere the path of the source does, by the folders of systems
  // and package managers.
  if (is_go(frame.source))
    return is_own_package(image.own, profile.strings[function.package], file);
  if (frame.source == FrameSource::kPerfMap)
    return is_own_script(profile.strings[function.name]);
  if (file.empty())
    return is_own_without_source(image);
  // A library of the system may tell relative paths of sources, which no folder gives away.
  bool is_library =
      !image.own.is_executable && begins_with_any(image.file.path, kLibraryFolders);
  return !is_library && !begins_with_any(file, kForeignRoots) && !has_any(file, kForeignParts);
}

bool is_surely_own(const Profile& profile, const Location& location, const Frame& frame) {
  const OwnCode& own = profile.image_of(location.mapping).own;
  bool is_told = is_go(frame.source) ? !own.modules.empty() : own.has_sources;
  return is_told && is_own(profile, location, frame);
}

bool is_own(const Profile& profile, const Location& location) {
  return location.mapping != kNoMapping &&
         is_own_without_source(profile.image_of(location.mapping));
}

std::vector<bool> find_own(const Profile& profile) {
  std::vector<bool> is_of_own;
  is_of_own.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    std::span<const Frame> frames = profile.frames_of(location);
    is_of_own.push_back(frames.empty() ? is_own(profile, location)
                                       : std::ranges::any_of(frames, [&](const Frame& frame) {
                                           return is_own(profile, location, frame);
                                         }));
  }
  return is_of_own;
}

std::string own_code_text(const Profile& profile, const std::vector<bool>& is_of_own) {
  std::vector<std::string> rules;
  for (size_t i = 0; i < is_of_own.size(); i++) {
    if (!is_of_own[i])
      continue;
    // Programs are few, and so are the rules: a search through them is enough.
    std::string rule = own_rule_of(profile, profile.locations[i]);
    if (std::ranges::find(rules, rule) == rules.end())
      rules.push_back(rule);
  }
  return first_of(rules, ", ");
}

bool is_runtime_package(std::string_view package) {
  return package == "runtime" || package.starts_with("runtime/") ||
         package.starts_with("internal/runtime/");
}

OwnAmounts own_amounts(const Profile& profile, const std::vector<bool>& is_of_own) {
  OwnAmounts amounts;
  for (const SampleCount& sample : profile.samples) {
    std::span<const LocationId> stack = profile.stack(sample.stack);
    auto own = std::ranges::find_if(
        stack, [&](LocationId location) { return is_of_own[to_index(location)]; });
    if (own == stack.end())
      continue;
    const Location& location = profile.locations[to_index(*own)];
    std::span<const Frame> frames = profile.frames_of(location);
    // Calls of other code that are inlined into own code are not own code's self time.
    bool is_running =
        own == stack.begin() && (frames.empty() || is_own(profile, location, frames.front()));
    amounts.total += profile.amount(sample);
    amounts.self += is_running ? profile.amount(sample) : 0;
  }
  return amounts;
}

}  // namespace gosym
