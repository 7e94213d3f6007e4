#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/recorder.h"
#include "record/target.h"

namespace gosym {

// Why a recording ends.
enum class Stop {
  kDuration,     // its time is over
  kSignal,       // SIGINT, SIGTERM or SIGHUP
  kTargetsGone,  // every target has ended
  kAbort,        // a second SIGINT, from one who will not wait for the command to end
};

// Waits for what can happen during a recording. From open() on, SIGINT, SIGTERM, SIGHUP and
// SIGPIPE do not end the program: the first three are reported as a Stop, and writing to a
// closed pipe fails.
//
// Ctrl-C reaches a command by itself, as it belongs to the terminal's foreground; the recording
// then goes on until the command has ended. A SIGINT that another process sent to us alone is
// passed on to it.
class Watch {
public:
  // `command` may be null. No targets: only a signal or the duration ends the recording.
  static Result<Watch> open(std::vector<UniqueFd> targets, const HeldCommand* command);

  void stop_at(uint64_t time) { deadline_ = time; }

  // Returns when the recorder has something to collect, at the latest after 50 ms.
  std::optional<Stop> wait(const Recorder& recorder);

  // After the recording: until the command has ended.
  Stop wait_for_command();

private:
  Watch() = default;
  void poll_once(int ring_fd, int timeout_ms);
  void take_signal();

  UniqueFd signals_;
  std::vector<UniqueFd> targets_;
  const HeldCommand* command_ = nullptr;
  uint64_t deadline_ = UINT64_MAX;
  bool was_interrupted_ = false;
  std::optional<Stop> stop_;
};

}  // namespace gosym
