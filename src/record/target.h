#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

class Keeper;

// Readable once the process has ended. Fails where no process of that number runs.
Result<UniqueFd> open_process(uint32_t pid);
bool has_ended(const UniqueFd& process);

// Fails where no thread of that number runs.
Result<uint32_t> process_of_thread(uint32_t tid);

// Processes that run a program of this name: that of their first thread, as ps shows it, or
// that of the executable's file without its directory. The one that asks is none of them.
std::vector<uint32_t> processes_named(std::string_view name);

// A user by name or number.
Result<uint32_t> find_user(const std::string& name);

// Processes whose effective user this is, but the one that asks.
std::vector<uint32_t> processes_of_user(uint32_t user);

// The directory of a cgroup of v2: `name` is its path, or that from the root of the hierarchy,
// "system.slice/nginx.service".
Result<std::string> find_cgroup(const std::string& name);

// Looks for the command as the shell does: in the directories of PATH, unless it has a slash.
// Fails with the exit status of the shell, 127 or 126.
Result<std::string> find_executable(const std::string& command);

// A child that runs `arguments`, but not before release(). If it is never released it ends
// without having run anything.
class HeldCommand {
public:
  // The standard output of the command is the descriptor `output`. With kNoTerminal its
  // standard input is empty, and all that it prints is discarded.
  static constexpr int kNoTerminal = -1;
  static Result<HeldCommand> start(const std::vector<std::string>& arguments,
                                   int output = STDOUT_FILENO);

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // Readable once it has ended.
  int end_fd() const { return end_.get(); }

  // Fails if the kernel refuses to execute the file.
  Result<> release();

  // By the keeper, if one was named, which must outlive this.
  void send(int signal) const;
  void signal_by(Keeper& keeper) { keeper_ = &keeper; }

  // Waits for the end: the exit status, or 128 + n if it died of signal n.
  int wait() const;

private:
  HeldCommand(int pid, UniqueFd end, UniqueFd channel)
      : pid_(pid), end_(std::move(end)), channel_(std::move(channel)) {}

  int pid_;
  Keeper* keeper_ = nullptr;
  UniqueFd end_;
  UniqueFd channel_;  // we write a byte to release it; it writes errno if exec fails
};

}  // namespace gosym
