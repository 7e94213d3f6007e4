#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// Readable once the process has ended. Fails where no process of that number runs.
Result<UniqueFd> open_process(uint32_t pid);

// Fails where no thread of that number runs.
Result<uint32_t> process_of_thread(uint32_t tid);

// The directory of a cgroup of v2: `name` is its path, or that from the root of the hierarchy,
// "system.slice/nginx.service".
Result<std::string> find_cgroup(const std::string& name);

// Where the shell would find the command: in the directories of PATH, unless it has a slash.
Result<std::string> find_executable(const std::string& command);

// A child that runs `arguments`, but not before release(). If it is never released it ends
// without having run anything.
class HeldCommand {
public:
  static Result<HeldCommand> start(const std::vector<std::string>& arguments);

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

  // Fails if the kernel refuses to execute the file.
  Result<> release();

  void send(int signal) const;

  // Waits for the end: the exit status, or 128 + n if it died of signal n.
  int wait() const;

private:
  HeldCommand(int pid, UniqueFd channel) : pid_(pid), channel_(std::move(channel)) {}

  int pid_;
  UniqueFd channel_;  // we write a byte to release it; it writes errno if exec fails
};

}  // namespace gosym
