#include "proc/process.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/mapped_file.h"
#include "base/shell.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

// The largest such file is maps; vm.max_map_count allows 65530 mappings unless it was raised,
// of 4 KiB of path at most. This is as much for ordinary paths and ten times the mappings.
constexpr size_t kMaxFileSize = 64 << 20;

// The value of the line "name:\tvalue"; none if there is no such line.
std::optional<std::string_view> find_field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(":\t"))
      continue;
    return line.substr(name.size() + 2);
  }
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word = take_word(text); !word.empty(); word = take_word(text))
    words.push_back(word);
  return words;
}

std::vector<uint32_t> numbered_entries(const std::string& path) {
  std::vector<uint32_t> numbers;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory)
    return numbers;
  while (const dirent* entry = readdir(directory.get())) {
    auto number = parse_decimal(entry->d_name);
    // Other entries of the directory are no numbers.
    if (number && *number <= INT32_MAX)
      numbers.push_back(static_cast<uint32_t>(*number));
  }
  return numbers;
}

}  // namespace

Result<Status> parse_status(std::string_view text) {
  auto state = find_field(text, "State");
  if (!state || state->empty())
    return Error("'State': missing or malformed");
  auto pid = parse_decimal(find_field(text, "Tgid").value_or(""));
  if (!pid || *pid > INT32_MAX)
    return Error("'Tgid': missing or malformed");
  auto users = words_of(find_field(text, "Uid").value_or(""));
  auto user = users.size() == 4 ? parse_decimal(users[1]) : std::nullopt;
  if (!user || *user > UINT32_MAX)
    return Error("'Uid': missing or malformed");
  auto pids = words_of(find_field(text, "NSpid").value_or(""));
  // The last number is that in the innermost namespace. Not every kernel has this line.
  auto own_pid = pids.empty() ? pid : parse_decimal(pids.back());
  if (!own_pid || *own_pid > INT32_MAX)
    return Error("'NSpid': malformed");
  auto capabilities = parse_hex(find_field(text, "CapEff").value_or(""));
  if (!capabilities)
    return Error("'CapEff': missing or malformed");
  // A kernel without CONFIG_SECCOMP has no such line.
  auto seccomp = parse_decimal(find_field(text, "Seccomp").value_or("0"));
  if (!seccomp)
    return Error("'Seccomp': malformed");
  return Status{state->front(),
                static_cast<uint32_t>(*pid),
                static_cast<uint32_t>(*user),
                static_cast<uint32_t>(*own_pid),
                *capabilities,
                *seccomp};
}

std::optional<Status> status_of(uint32_t pid) {
  auto text = read_file(fmt::format("/proc/{}/status", pid), kMaxFileSize);
  if (!text)
    return std::nullopt;
  auto status = parse_status(*text);
  return status ? std::optional(*status) : std::nullopt;
}

std::vector<uint32_t> process_ids() {
  return numbered_entries("/proc");
}

std::vector<uint32_t> thread_ids(uint32_t pid) {
  return numbered_entries(fmt::format("/proc/{}/task", pid));
}

std::string command_line_of(uint32_t pid) {
  auto text = read_file(fmt::format("/proc/{}/cmdline", pid), kMaxFileSize);
  if (!text || text->empty())
    return {};
  text->pop_back();  // each argument ends in NUL
  std::string line;
  for (std::string_view word : split(*text, '\0'))
    line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

std::optional<std::string> comm_of(uint32_t pid, uint32_t tid) {
  auto text = read_file(fmt::format("/proc/{}/task/{}/comm", pid, tid), kMaxFileSize);
  if (!text || !text->ends_with('\n'))
    return std::nullopt;
  text->pop_back();
  return std::move(*text);
}

std::optional<uint64_t> parse_start_time(std::string_view stat, uint64_t ticks_per_second) {
  size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos)
    return std::nullopt;
  auto fields = words_of(stat.substr(name_end + 1));  // from field 3 on
  auto ticks = fields.size() > 19 ? parse_decimal(fields[19]) : std::nullopt;
  uint64_t tick = 1'000'000'000 / ticks_per_second;
  if (!ticks || *ticks > UINT64_MAX / tick)
    return std::nullopt;
  return *ticks * tick;
}

std::optional<uint64_t> start_time_of(uint32_t pid) {
  auto stat = read_file(fmt::format("/proc/{}/stat", pid), kMaxFileSize);
  if (!stat)
    return std::nullopt;
  return parse_start_time(*stat, static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

bool has_ended(uint32_t pid) {
  for (uint32_t tid : thread_ids(pid))
    if (auto status = status_of(tid); status && status->state != 'Z' && status->state != 'X')
      return false;
  return true;
}

Result<std::vector<MapsEntry>> mappings_of(uint32_t pid) {
  auto text = maps_text_of(pid);
  if (!text)
    return std::move(text).error();
  return parse_maps(*text);
}

Result<std::string> maps_text_of(uint32_t pid) {
  auto text = read_file(fmt::format("/proc/{}/maps", pid), kMaxFileSize);
  // /proc/PID/maps is the first thread's, which may have ended before the others.
  if (text && text->empty())
    for (uint32_t tid : thread_ids(pid))
      if (auto thread = read_file(fmt::format("/proc/{}/task/{}/maps", pid, tid), kMaxFileSize);
          thread && !thread->empty())
        return thread;
  if (text)
    return text;
  // A process that has ended meanwhile is as if it had never been there (process.h).
  bool is_gone = !status_of(pid);
  if (is_gone)
    return std::string();
  return std::move(text).error();
}

}  // namespace gosym::proc
