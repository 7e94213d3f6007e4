#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Processes of gosym, and what each may do. Whoever reads bytes of strangers may be taken over
// by them, so that it has to have nothing to give: no right, no path, no socket, nobody to
// signal.

namespace gosym {

enum class ProcessKind : uint8_t {
  kFront,
  kOpener,
  kParser,
  kFetcher,
  kStarter,
  kFinder,
  kReader,
  kRecorder,
  kKeeper,
  kRemover,
  kStorer,
};

// System calls, as seccomp(2) lets them through.
enum class CallFilter : uint8_t {
  kNone,       // all
  kFetching,   // none by which one changes, signals or looks into others
  kOpening,    // likewise, and none by which one starts others or connects
  kFinding,    // likewise, and none by which one makes a folder
  kParsing,    // those alone that computing takes; what has a path is asked of an opener
  kStarting,   // none by which one changes others or executes a program
  kReading,    // those alone that computing takes, and to read the memory of others
  kRecording,  // none by which one changes, starts, signals or samples others, or connects
  kKeeping,    // those alone that computing takes, and to sample and signal others
};

// Paths, as landlock(7) lets them through.
enum class PathFilter : uint8_t {
  kNone,    // all
  kGiven,   // those that enter() is given
  kToRead,  // to write those that enter() is given; to read as well, or all if it is given none
  kRefused,  // none
};

// A row of the table.
struct ProcessRow {
  ProcessKind kind;
  std::string_view name;
  std::string_view task;
  uint64_t capabilities;  // a bit each: what it keeps of those that it has
  CallFilter filter;
  PathFilter paths;
  bool may_execute;
  bool has_sockets;  // that it makes itself
};

std::span<const ProcessRow> process_rows();
const ProcessRow& row_of(ProcessKind kind);

// The part of it that this kernel, and the container we may be in, can enforce.
struct Enforced {
  bool has_filters = false;
  int landlock_version = 0;  // 0: none
};
Enforced enforced_here();

// Files, and directories with all that is below them.
struct ReachablePaths {
  std::vector<std::string> read = {};
  std::vector<std::string> written = {};   // and read
  std::vector<std::string> executed = {};  // and read
};

// Applies a row to this process, for good. No other thread of it may run yet. What the kernel
// cannot enforce is left out.
void enter(ProcessKind kind, const ReachablePaths& paths = {});

// Called when a row has been applied; does nothing. Tests have one of their own, which acts as
// who has taken the process over.
void on_entered(ProcessKind kind);

}  // namespace gosym
