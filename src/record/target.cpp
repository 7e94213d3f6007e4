#include "record/target.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/exit_status.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "proc/cgroups.h"
#include "proc/process.h"
#include "proc/users.h"
#include "record/keeper.h"

namespace gosym {

namespace {

// Says if the process is there though /proc could not tell. To kill(2) process 0 is the
// caller's group.
Error no_process(uint32_t pid) {
  bool is_there = pid != 0 && (kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
  if (is_there)
    return errorf(
               "cannot open /proc of process {}: too many open files, or /proc is not mounted",
               pid)
        .with_hint("raise the limit of open files: ulimit -n 65536")
        .with_exit_status(kUnsupported);
  return errorf("process {} does not exist", pid).with_exit_status(kNoTarget);
}

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_executable(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> candidates(const std::string& command) {
  if (command.find('/') != std::string::npos)
    return {command};
  // An empty entry of PATH is the current directory.
  const char* path = getenv("PATH");
  std::vector<std::string> result;
  for (std::string_view directory : split(path ? path : "/usr/bin:/bin", ':'))
    result.push_back(fmt::format("{}/{}", directory.empty() ? "." : directory, command));
  return result;
}

std::vector<char*> as_argv(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));  // exec does not write to them
  argv.push_back(nullptr);
  return argv;
}

// The child. Only what is safe after fork is called here.
[[noreturn]] void await_and_execute(int channel, int output, const char* file,
                                    char* const* argv, int parent) {
  // Permits the helpers of the recorder to look into the command where Yama permits it to
  // ancestors only.
  prctl(PR_SET_PTRACER, parent, 0, 0, 0);
  // The writer of a recording ignores SIGXFSZ, which would be inherited through exec.
  signal(SIGXFSZ, SIG_DFL);
  if (output == HeldCommand::kNoTerminal) {
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(nothing, stream);
  } else if (output != STDOUT_FILENO) {
    dup2(output, STDOUT_FILENO);
  }
  // The channel ends without a byte if the recorder gives up, and then nothing is run.
  char go = 0;
  if (read(channel, &go, 1) == 1) {
    execv(file, argv);
    int cause = errno;
    [[maybe_unused]] ssize_t sent = write(channel, &cause, sizeof(cause));
  }
  _exit(kNotExecutable);
}

UniqueFd open_pidfd(uint32_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// Name of the file that a process executes; empty if it may not be looked at, as a kernel
// thread's.
std::string executable_name(uint32_t pid) {
  char path[PATH_MAX];
  ssize_t size = readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof(path));
  std::string_view text(path, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (std::string_view gone = " (deleted)"; text.ends_with(gone))
    text.remove_suffix(gone.size());
  return std::string(text.substr(text.rfind('/') + 1));
}

template <class Condition>
std::vector<uint32_t> other_processes(Condition is_meant) {
  std::vector<uint32_t> pids = proc::process_ids();
  auto own = static_cast<uint32_t>(getpid());
  std::erase_if(
      pids, [&](uint32_t pid) { return pid == own || !is_meant(pid) || proc::has_ended(pid); });
  std::ranges::sort(pids);
  return pids;
}

}  // namespace

Result<UniqueFd> open_process(uint32_t pid) {
  auto status = proc::status_of(pid);
  if (!status)
    return no_process(pid);
  if (status->pid != pid)
    return errorf("{} is a thread, not a process", pid)
        .with_hint(fmt::format("its process is {}", status->pid))
        .with_exit_status(kNoTarget);
  if (proc::has_ended(pid))
    return errorf("process {} has ended already (its parent has not noticed yet)", pid)
        .with_exit_status(kNoTarget);
  // From here on it is this process that is watched, and not whoever gets its number.
  UniqueFd process = open_pidfd(pid);
  if (!process && errno == ESRCH)
    return no_process(pid);
  if (!process)
    return system_error(fmt::format("cannot watch process {}", pid), errno);
  return process;
}

bool has_ended(const UniqueFd& process) {
  pollfd entry = {.fd = process.get(), .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

Result<uint32_t> process_of_thread(uint32_t tid) {
  auto status = proc::status_of(tid);
  if (!status)
    return errorf("thread {} does not exist", tid).with_exit_status(kNoTarget);
  return status->pid;
}

std::vector<uint32_t> processes_named(std::string_view name) {
  return other_processes([&](uint32_t pid) {
    // The kernel cuts comm to 15 bytes, and a program may change it: the file's name counts as
    // well.
    return proc::comm_of(pid, pid) == name || executable_name(pid) == name;
  });
}

Result<uint32_t> find_user(const std::string& name) {
  if (auto user = proc::user_named(name))
    return *user;
  auto number = parse_decimal(name);
  if (!number || *number >= UINT32_MAX)  // the last one means "none" to the kernel
    return errorf("user '{}' does not exist", printable(name)).with_exit_status(kNoTarget);
  return static_cast<uint32_t>(*number);
}

std::vector<uint32_t> processes_of_user(uint32_t user) {
  return other_processes([&](uint32_t pid) {
    auto status = proc::status_of(pid);
    return status && status->user == user;
  });
}

Result<std::string> find_cgroup(const std::string& name) {
  auto mount = proc::cgroup_mount();
  if (!mount)
    return Error("--cgroup: no cgroup v2 hierarchy is mounted")
        .with_hint("mount -t cgroup2 none /sys/fs/cgroup")
        .with_exit_status(kUnsupported);
  // A path to the directory is taken as it is, a name of systemd's is looked for below the
  // mount.
  for (const std::string& path : {name, fmt::format("{}/{}", *mount, name)}) {
    if (name.empty())  // an unset variable, not the root of the hierarchy
      break;
    struct statfs status {};
    if (statfs(path.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
      return path;
  }
  return errorf("cgroup '{}' does not exist", printable(name))
      .with_hint(fmt::format("name a directory below {}", printable(*mount)))
      .with_exit_status(kNoTarget);
}

Result<std::string> find_executable(const std::string& command) {
  bool exists = false;
  // A file that is not executable does not end the search, as in the shell: a later directory
  // may have one that is.
  for (const std::string& path : candidates(command)) {
    bool is_there = is_file(path);
    if (is_there && is_executable(path))
      return path;
    exists |= is_there;
  }
  if (exists)
    return errorf("'{}': not executable", printable(command)).with_exit_status(kNotExecutable);
  return errorf("'{}': command not found", printable(command)).with_exit_status(kNotFound);
}

Result<HeldCommand> HeldCommand::start(const std::vector<std::string>& arguments, int output) {
  auto file = find_executable(arguments.front());
  if (!file)
    return std::move(file).error();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot start a command", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  std::vector<char*> argv = as_argv(arguments);
  // A program with capabilities of its file is not dumpable, nor is what it forks; and of such
  // a process perf_event takes no samples for those without rights.
  prctl(PR_SET_DUMPABLE, 1);
  int parent = getpid();
  int pid = fork();
  if (pid < 0)
    return system_error("cannot start a command", errno);
  if (pid == 0) {
    ours.reset(-1);  // so that it sees the end of the channel when we are gone
    await_and_execute(theirs.get(), output, file->c_str(), argv.data(), parent);
  }
  // The descriptor is opened before anybody can have waited for the child, so its number cannot
  // have been given to another process.
  UniqueFd end = open_pidfd(static_cast<uint32_t>(pid));
  if (!end)
    return system_error("cannot watch a command", errno);
  return HeldCommand(pid, std::move(end), std::move(ours));
}

Result<> HeldCommand::release() {
  char go = 1;
  int cause = 0;
  // exec closes the other end: then there is nothing to read.
  // MSG_NOSIGNAL: the child may have been killed meanwhile, which wait() will tell.
  if (::send(channel_.get(), &go, 1, MSG_NOSIGNAL) != 1 ||
      read(channel_.get(), &cause, sizeof(cause)) != sizeof(cause))
    return Ok{};
  return system_error("cannot execute the command", cause).with_exit_status(kNotExecutable);
}

void HeldCommand::send(int signal) const {
  // A recorder that has a keeper may not send signals any more.
  if (keeper_)
    keeper_->signal_command(signal);
  else
    kill(pid_, signal);
}

int HeldCommand::wait() const {
  return exit_status_of(wait_for_end(pid_));
}

}  // namespace gosym
