#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <set>
#include <string>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "commands/command.h"
#include "record/recording_directory.h"

namespace gosym {

// The recorder is asked by a signal, and answers by a new file in its directory. It is found
// by the lock that it holds there (record/recording_directory.h).

namespace {

struct SnapshotOptions {
  std::string directory;
};

std::set<std::string> recordings_there(const std::string& directory) {
  std::set<std::string> names;
  if (auto found = list_recordings(directory))
    for (ListedRecording& recording : *found)
      names.insert(std::move(recording.name));
  return names;
}

Result<RecorderOfDirectory> find_recorder(const std::string& directory) {
  auto recorder = recorder_of(directory);
  if (!recorder)
    return std::move(recorder).error();
  if (!*recorder)
    return errorf("nobody records into '{}'", printable(directory)).with_exit_status(kNoTarget);
  if ((*recorder)->pid == 0)
    return errorf("who records into '{}' is in another pid namespace", printable(directory))
        .with_hint("run gosym snapshot there, or send the recorder SIGUSR2");
  return **recorder;
}

// The number may be another's by the time that there is a descriptor: so the holder of the lock
// is asked for once more, and a signal goes through the descriptor alone.
Result<> ask_recorder(const std::string& directory, const RecorderOfDirectory& recorder) {
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, recorder.pid, 0)));
  int cause = process ? 0 : errno;
  auto still = find_recorder(directory);
  if (!still)
    return std::move(still).error();
  if (still->pid != recorder.pid)
    return errorf("process {} has ended, and process {} records into '{}' now", recorder.pid,
                  still->pid, printable(directory))
        .with_hint("ask again");
  if (process && syscall(SYS_pidfd_send_signal, process.get(), SIGUSR2, nullptr, 0) != 0)
    cause = errno;
  if (cause == 0)
    return Ok{};
  return system_error(fmt::format("cannot ask process {}", recorder.pid), cause)
      .with_exit_status(cause == EPERM ? kUnsupported : kFailure);
}

// The one that has come since; empty: none has in all that time.
std::string wait_for_new(const std::string& directory, const std::set<std::string>& before) {
  // Half a minute: the recorder may have much to write.
  constexpr int kTries = 300;
  constexpr timespec kPause = {0, 100'000'000};
  for (int i = 0; i < kTries; i++) {
    for (const std::string& name : recordings_there(directory))
      if (!before.contains(name))
        return name;
    nanosleep(&kPause, nullptr);
  }
  return {};
}

Result<int> run_snapshot(const SnapshotOptions& options) {
  auto recorder = find_recorder(options.directory);
  if (!recorder)
    return std::move(recorder).error();
  if (recorder->kind == RecorderKind::kRotating)
    return errorf("process {} records all of it into '{}': there is nothing to be asked for",
                  recorder->pid, printable(options.directory))
        .with_hint(fmt::format("gosym report {} --since -1m", shell_quoted(options.directory)));
  // Listed before it is asked, so that a file which is there already is not taken for the
  // answer.
  std::set<std::string> before = recordings_there(options.directory);
  if (auto asked = ask_recorder(options.directory, *recorder); !asked)
    return std::move(asked).error();
  std::string name = wait_for_new(options.directory, before);
  if (name.empty())
    return errorf("process {} has written nothing", recorder->pid)
        .with_hint("what it says on its standard error tells why");
  print(stdout, "{}{}{}\n", options.directory, options.directory.ends_with('/') ? "" : "/",
        name);
  return kSuccess;
}

}  // namespace

Command make_snapshot() {
  auto options = std::make_shared<SnapshotOptions>();
  std::vector<Option> all = {{.names = "DIR",
                              .help = "Directory that gosym record --last has",
                              .take = into(options->directory),
                              .is_required = true}};
  return {.name = "snapshot",
          .summary = "Have a flight recorder write what happened last",
          .groups = {{"Options", std::move(all)}},
          .examples =
              "  gosym record -a --last 60s -o /var/lib/gosym/ &\n"
              "  gosym report \"$(gosym snapshot /var/lib/gosym)\"\n",
          .run = [options] { return run_snapshot(*options); }};
}

}  // namespace gosym
