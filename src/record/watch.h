#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/target.h"

namespace gosym {

class Recorder;

// Why a recording ends.
enum class Stop {
  kDuration,     // its time is over
  kSize,         // the file has the size that it may have
  kSignal,       // SIGINT, SIGTERM or SIGHUP
  kParentGone,   // the process that started the recorder has ended
  kTargetsGone,  // every target has ended
  kCommandGone,  // the command has
  kAbort,        // a second SIGINT, from one who will not wait for the command to end
};

// Becomes readable when the process that started us ends; none if that does not matter. To be
// asked at once: who has lost its parent cannot tell.
UniqueFd open_parent();

// Holds back the signals that a Watch takes, until release(): one that comes between the moment
// when there is a file and the moment when there is a Watch would leave a file without an end.
class HeldSignals {
public:
  HeldSignals();
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  void release();

private:
  sigset_t before_;
};

// True for a signal that whoever started this program wants to be ignored, as nohup(1) does.
bool is_ignored(int signal);

// Waits for what can happen during a recording. From open() on SIGINT, SIGTERM and SIGHUP do
// not end the program but are reported as a Stop, and writing to a closed pipe fails. One who
// sends SIGINT or SIGTERM again while the recording is being ended gets kInterrupted at once:
// its last part may wait for a reader that does not come.
//
// Ctrl-C reaches a command by itself, as it belongs to the terminal's foreground; the recording
// then goes on until the command has ended. A SIGINT that another process sent to us alone is
// passed on to it.
//
// A recorder that ignores SIGHUP, as after nohup, is meant to outlive its parent.
class Watch {
public:
  // The end of all targets ends the recording, and so does that of the command; it may be null.
  static Result<Watch> open(UniqueFd parent, std::vector<UniqueFd> targets,
                            const HeldCommand* command);

  void stop_at(uint64_t time) { deadline_ = time; }
  void stop_at_size(uint64_t size) { max_size_ = size; }

  // From now on SIGUSR2 asks for something, and does not end the program.
  static void take_requests();
  // True once after each time that somebody has asked.
  bool take_request() { return std::exchange(is_asked_, false); }

  // Returns when the recorder has something to collect, at the latest after 50 ms.
  std::optional<Stop> wait(const Recorder& recorder);

  // After the recording: until the command has ended.
  Stop wait_for_command();

private:
  Watch() = default;
  void poll_once(int ring_fd, int timeout_ms);
  void take_signal();
  std::optional<Stop> reached_limit(const Recorder& recorder) const;

  UniqueFd signals_;  // pipe that the handler of signals writes to
  UniqueFd parent_;   // none: it does not matter
  std::vector<UniqueFd> targets_;
  const HeldCommand* command_ = nullptr;
  uint64_t deadline_ = UINT64_MAX;
  uint64_t max_size_ = UINT64_MAX;
  bool was_interrupted_ = false;
  bool is_asked_ = false;
  std::optional<Stop> stop_;
};

}  // namespace gosym
