#include "proc/cgroups.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

constexpr size_t kMaxMountInfo = 16 << 20;
// Machines with many containers have some thousands.
constexpr size_t kMaxCgroups = 100'000;

std::string unescape(std::string_view text) {
  constexpr std::pair<std::string_view, char> kCodes[] = {
      {"\\040", ' '}, {"\\011", '\t'}, {"\\012", '\n'}, {"\\134", '\\'}};
  std::string path(text);
  for (auto [code, character] : kCodes)  // the backslash last
    for (size_t at = 0; (at = path.find(code, at)) != path.npos; at++)
      path.replace(at, code.size(), 1, character);
  return path;
}

uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

// The fourth field is the root of the mount within its file system, the fifth where it is
// mounted; optional fields lie between these and the dash.
std::optional<std::string> find_cgroup_mount(std::string_view mountinfo) {
  while (!mountinfo.empty()) {
    std::string_view line = take_line(mountinfo);
    size_t dash = line.find(" - ");
    if (dash == line.npos)
      continue;
    std::vector<std::string_view> before = split(line.substr(0, dash), ' ');
    std::string_view after = line.substr(dash + 3);
    if (before.size() >= 5 && take_word(after) == "cgroup2")
      return unescape(before[4]);
  }
  return std::nullopt;
}

std::optional<CgroupLine> parse_cgroup_line(std::string_view line) {
  size_t first = line.find(':');
  size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
  if (second == line.npos)
    return std::nullopt;
  return CgroupLine{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

namespace {

// A file system for cgroups that has a line in /proc/self/cgroup.
struct Hierarchy {
  std::string mount;
  std::string limit_file;
  std::string path;
};

// v2 has no number and no controllers in that line, v1 both; the mount of v1 is found by its
// controller in the options of the file system.
std::optional<Hierarchy> hierarchy_of(std::string_view line, std::string_view mountinfo) {
  auto cgroup = parse_cgroup_line(line);
  if (!cgroup)
    return std::nullopt;
  std::string path(cgroup->path);
  if (cgroup->controllers.empty()) {
    auto mount = find_cgroup_mount(mountinfo);
    return mount ? std::optional(Hierarchy{*mount, "memory.max", path}) : std::nullopt;
  }
  if (cgroup->controllers != "memory")
    return std::nullopt;
  while (!mountinfo.empty()) {
    std::string_view mount = take_line(mountinfo);
    size_t dash = mount.find(" - cgroup ");
    // The options come last, and in them the controllers: that of memory is mounted with no
    // other as a rule.
    if (dash == mount.npos || !mount.ends_with("memory"))
      continue;
    std::vector<std::string_view> before = split(mount.substr(0, dash), ' ');
    if (before.size() >= 5)
      return Hierarchy{unescape(before[4]), "memory.limit_in_bytes", path};
  }
  return std::nullopt;
}

// Least limit of the cgroup and of those above it. The path is cut level by level, and is empty
// for the root, which is looked at last.
uint64_t least_limit(Hierarchy hierarchy) {
  constexpr size_t kMaxText = 4096;
  uint64_t least = UINT64_MAX;
  while (true) {
    auto text =
        read_file(fmt::format("{}{}/{}", hierarchy.mount, hierarchy.path, hierarchy.limit_file),
                  kMaxText);
    std::string_view rest = text ? std::string_view(*text) : "";
    if (auto limit = parse_decimal(take_line(rest)))  // "max" is none
      least = std::min(least, *limit);
    // Upwards: a limit of an outer cgroup holds for those within.
    size_t slash = hierarchy.path.rfind('/');
    if (slash == std::string::npos)
      return least;
    hierarchy.path.resize(slash);
  }
}

}  // namespace

uint64_t memory_limit() {
  constexpr size_t kMaxText = 1 << 20;
  auto cgroups = read_file("/proc/self/cgroup", kMaxText);
  auto mounts = read_file("/proc/self/mountinfo", kMaxMountInfo);
  uint64_t least = UINT64_MAX;
  // Empty if either cannot be read: no limit is known then.
  std::string_view rest = cgroups && mounts ? std::string_view(*cgroups) : "";
  while (!rest.empty())
    if (auto hierarchy = hierarchy_of(take_line(rest), *mounts))
      least = std::min(least, least_limit(*hierarchy));
  return least;
}

std::vector<uint32_t> processes_of_cgroup(const std::string& directory) {
  constexpr size_t kMaxText = 16 << 20;
  std::vector<uint32_t> pids;
  std::vector<std::string> directories = {directory};
  // Directories are appended while the list is walked, and so are walked themselves.
  for (size_t i = 0; i < directories.size() && i < kMaxCgroups; i++) {
    auto text = read_file(directories[i] + "/cgroup.procs", kMaxText);
    std::string_view rest = text ? std::string_view(*text) : "";
    while (!rest.empty())
      if (auto pid = parse_decimal(take_line(rest)); pid && *pid <= INT32_MAX)
        pids.push_back(static_cast<uint32_t>(*pid));
    // A cgroup may go while its tree is walked: it is left out then, as is one that may not be
    // read.
    std::error_code failed;
    std::filesystem::directory_iterator entry(directories[i], failed);
    for (; !failed && entry != end(entry); entry.increment(failed))
      if (entry->is_directory(failed) && !entry->is_symlink(failed))
        directories.push_back(entry->path());
  }
  return pids;
}

std::optional<std::string> cgroup_mount() {
  auto text = read_file("/proc/self/mountinfo", kMaxMountInfo);
  return text ? find_cgroup_mount(*text) : std::nullopt;
}

std::vector<Cgroup> cgroups() {
  auto mount = cgroup_mount();
  if (!mount)
    return {};
  std::vector<Cgroup> found = {{inode_of(*mount), "/"}};
  std::error_code failed;
  constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
  std::filesystem::recursive_directory_iterator entry(*mount, kOptions, failed);
  for (; !failed && entry != end(entry) && found.size() < kMaxCgroups; entry.increment(failed))
    if (entry->is_directory(failed) && !entry->is_symlink(failed))
      if (std::string path = entry->path(); uint64_t id = inode_of(path))
        // Paths are told from the root of the hierarchy.
        found.push_back({id, path.substr(mount->size())});
  return found;
}

}  // namespace gosym::proc
