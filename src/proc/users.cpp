#include "proc/users.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "base/uninterrupted.h"
#include "base/unique_fd.h"

namespace gosym::proc {

namespace {

std::optional<uint32_t> user_in_file(const std::string& name) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"),
                                                       std::fclose);
  if (!file)
    return std::nullopt;
  while (const passwd* entry = fgetpwent(file.get()))
    if (name == entry->pw_name)
      return entry->pw_uid;
  return std::nullopt;
}

// The number in "name:x:1000:1000:…"; none for another name's line.
std::optional<uint32_t> user_in_line(std::string_view line, std::string_view name) {
  std::vector<std::string_view> fields = split(take_line(line), ':');
  if (fields.size() < 3 || fields[0] != name)
    return std::nullopt;
  auto number = parse_decimal(fields[2]);
  return number && *number < UINT32_MAX ? std::optional(static_cast<uint32_t>(*number))
                                        : std::nullopt;
}

// The beginning of what a program prints; empty if it cannot be started.
std::string first_output_of(const char* program, char* const* arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {};
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // The program gets no environment of ours.
  char* environment[] = {nullptr};
  pid_t pid = -1;
  int failed = posix_spawn(&pid, program, &actions, nullptr, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return {};
  // Our end is closed, or the pipe would never come to its end.
  to.reset(-1);
  char line[4096];  // longer than any entry; more would end getent by SIGPIPE
  size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < sizeof(line)) {
    got = read_part(from.get(), std::span(line).subspan(size));
    size += got > 0 ? static_cast<size_t>(got) : 0;
  }
  from.reset(-1);
  wait_for_end(pid);
  return {line, size};
}

std::optional<uint32_t> user_of_getent(const std::string& name) {
  std::string database = "passwd";
  std::string key = name;
  std::string program = "getent";
  char* arguments[] = {program.data(), database.data(), key.data(), nullptr};
  for (const char* path : {"/usr/bin/getent", "/bin/getent"})
    if (access(path, X_OK) == 0)
      return user_in_line(first_output_of(path, arguments), name);
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> user_named(const std::string& name) {
  // These divide lines and fields: no name has one.
  if (name.empty() || name.find_first_of(":\n\0", 0, 3) != std::string::npos)
    return std::nullopt;
  if (auto user = user_in_file(name))
    return user;
  // An option is no name. A number is none either, but getent would take it for that of a user.
  return name.front() == '-' || parse_decimal(name) ? std::nullopt : user_of_getent(name);
}

std::optional<uint32_t> group_named(const std::string& name) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/group", "re"),
                                                       std::fclose);
  if (!file)
    return std::nullopt;
  while (const struct group* entry = fgetgrent(file.get()))
    if (name == entry->gr_name)
      return entry->gr_gid;
  return std::nullopt;
}

}  // namespace gosym::proc
