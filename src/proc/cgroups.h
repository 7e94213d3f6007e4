#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The hierarchy of cgroup v2: a file system whose directories are the cgroups. The inode of a
// directory is the number of its cgroup, on 64-bit machines.

namespace gosym::proc {

struct Cgroup {
  uint64_t id = 0;
  std::string path;  // from the root of the hierarchy: "/system.slice/nginx.service"
};

// Mount point, from the text of /proc/PID/mountinfo: the first file system of the type
// "cgroup2" there. A line has
//
//   id parent major:minor root mount-point options optional-fields... - type source options
//
// and \040, \011, \012, \134 for space, tab, newline and backslash in paths.
std::optional<std::string> find_cgroup_mount(std::string_view mountinfo);

// A line "N:CONTROLLERS:PATH" of /proc/PID/cgroup; a path may have colons, as those of containerd
// have. None if it is no such line.
struct CgroupLine {
  std::string_view controllers;
  std::string_view path;
};
std::optional<CgroupLine> parse_cgroup_line(std::string_view line);

// The mount point for this process.
std::optional<std::string> cgroup_mount();

// All that are there now, below the mount; none if there is no such hierarchy.
std::vector<Cgroup> cgroups();

// Memory in bytes that this process and others of its cgroup may take together, by the least
// limit of its cgroup and of those above it, of v2 or v1; UINT64_MAX if there is none.
uint64_t memory_limit();

// The processes in a cgroup, by its directory, and in those below it.
std::vector<uint32_t> processes_of_cgroup(const std::string& directory);

}  // namespace gosym::proc
