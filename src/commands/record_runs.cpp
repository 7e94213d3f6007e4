#include "commands/record_runs.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include "base/shell.h"
#include "base/text.h"

namespace gosym {

namespace {

Result<> check_runs(const RecordOptions& options) {
  auto wrong = [](std::string message) {
    return Error(std::move(message))
        .with_hint("gosym record --runs 5 -o before -- ./server.test -test.bench .")
        .with_exit_status(kUsage);
  };
  if (options.command.empty())
    return wrong("--runs: there is no command to run");
  if (!options.has_output || options.output == "-")
    return wrong("--runs: into which directory? name it with -o");
  return Ok{};
}

// Recordings of another time would be taken for runs of this one.
Result<> make_directory(const std::string& path) {
  std::error_code error;
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return system_error(fmt::format("'{}'", printable(path)), errno);
  auto first = std::filesystem::directory_iterator(path, error);
  if (error)
    return system_error(fmt::format("'{}'", printable(path)), error.value());
  if (first != std::filesystem::directory_iterator())
    return errorf("'{}': this directory is not empty", printable(path))
        .with_hint(
            "--runs writes 1.raw, 2.raw, ... into a new directory, or one without files");
  return Ok{};
}

// From when it is made until it ends signals wait to be taken, and the end of a child is one.
class Signals {
public:
  Signals() {
    sigemptyset(&taken_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD})
      sigaddset(&taken_, signal);
    sigprocmask(SIG_BLOCK, &taken_, &before_);
  }
  ~Signals() { let_go(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void let_go() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  // Waits until the child has ended: its status as waitpid(2) has it. What comes meanwhile, and
  // the terminal has not sent to the child as well, is passed on to it.
  int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, WNOHANG) != child) {
      siginfo_t info = {};
      if (sigwaitinfo(&taken_, &info) <= 0 || info.si_signo == SIGCHLD)
        continue;
      ended_by_ = info.si_signo;
      if (info.si_code != SI_KERNEL)
        kill(child, info.si_signo);
    }
    return status;
  }
  // 0: none.
  int ended_by() const { return ended_by_; }

private:
  sigset_t taken_ = {};
  sigset_t before_ = {};
  int ended_by_ = 0;
};

}  // namespace

std::optional<Result<int>> record_runs(RecordOptions& options) {
  if (!options.runs)
    return {};
  if (auto checked = check_runs(options); !checked)
    return std::move(checked).error();
  std::string directory = options.output;
  if (auto made = make_directory(directory); !made)
    return std::move(made).error();
  Signals signals;
  for (uint32_t run = 1; run <= *options.runs; run++) {
    if (!options.is_quiet)
      print(stderr, "run {} of {}\n", run, *options.runs);
    pid_t pid = fork();
    if (pid < 0)
      return system_error("cannot start a run", errno);
    if (pid == 0) {
      signals.let_go();
      options.output = fmt::format("{}/{}.raw", directory, run);
      return {};
    }
    int code = exit_status_of(signals.wait_for(pid));
    if (signals.ended_by() != 0 && code == kSuccess)
      code = 128 + signals.ended_by();
    if (code == kSuccess)
      continue;
    if (!options.is_quiet && run < *options.runs)
      print(stderr, "gosym: run {} of {} ended with status {}: the others are left out\n", run,
            *options.runs, code);
    return code;
  }
  if (!options.is_quiet)
    print(stderr, "next: the same of another version, then gosym diff --per run {} OTHER\n",
          shell_quoted(as_operand(directory)));
  return Result<int>(kSuccess);
}

}  // namespace gosym
