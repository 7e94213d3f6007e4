#include "record/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/exit_status.h"
#include "record/recorder.h"

namespace gosym {

namespace {

// The rings hold seconds of samples; this is for the files of processes that end soon, which
// are best found while the process is there. Twenty wake-ups a second cost nothing that is
// felt. Beside a program that fills the rings of events each finds them full, and most events
// are lost however often they are read: then half as many have to do, so that such a program
// cannot make the recorder busy.
constexpr int kMaxWaitMs = 50;
constexpr int kMaxWaitOverrunMs = 100;

struct Signal {
  int number;
  int code;  // as in siginfo_t
};

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// A handler has nothing but globals.
std::atomic<int> signal_pipe = -1;
std::atomic<int> interrupts_left = 0;  // that are waited for

// Each signal that asks for the end takes one of those that are waited for. One more ends the
// program at once, without the last part of the recording.
void on_signal(int number, siginfo_t* info, void* /*context*/) {
  bool is_to_end = number == SIGINT || number == SIGTERM;
  if (is_to_end && interrupts_left.fetch_sub(1) <= 0)
    _exit(kInterrupted);
  int saved = errno;
  // A full pipe loses the signal: thousands wait in it by then.
  Signal signal = {number, info->si_code};
  [[maybe_unused]] ssize_t written = write(signal_pipe, &signal, sizeof(signal));
  errno = saved;
}

Result<UniqueFd> catch_signals() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return system_error("cannot watch for signals", errno);
  signal_pipe = ends[1];  // open until the program ends
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  // SA_RESTART: calls that are not waits need not know of signals.
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  // nohup(1) ignores SIGHUP for its command, and it stays ignored.
  for (int signal : kSignals)
    if (signal != SIGHUP || !is_ignored(SIGHUP))
      sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return UniqueFd(ends[0]);
}

}  // namespace

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// One that comes before there is a Watch is passed over. A command that is executed does not
// inherit it, as it would a signal that is ignored.
void Watch::take_requests() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGUSR2, &action, nullptr);
}

// The first process does not end, and one of another pid namespace has no number here.
UniqueFd open_parent() {
  pid_t parent = getppid();
  if (parent <= 1 || is_ignored(SIGHUP))
    return {};
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, parent, 0)));
}

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (int signal : kSignals)
    sigaddset(&held, signal);
  sigprocmask(SIG_BLOCK, &held, &before_);
}

void HeldSignals::release() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Result<Watch> Watch::open(UniqueFd parent, std::vector<UniqueFd> targets,
                          const HeldCommand* command) {
  Watch watch;
  watch.targets_ = std::move(targets);
  watch.command_ = command;
  watch.parent_ = std::move(parent);
  // With a command the first SIGINT is the command's, and the second asks for the end: see
  // take_signal().
  interrupts_left = command ? 2 : 1;
  auto signals = catch_signals();
  if (!signals)
    return std::move(signals).error();
  watch.signals_ = *std::move(signals);
  return watch;
}

std::optional<Stop> Watch::wait(const Recorder& recorder) {
  uint64_t now = monotonic_ns();
  // Rounded up to milliseconds, or the last one would be spent without a pause.
  uint64_t left_ms = deadline_ > now ? (deadline_ - now + 999'999) / 1'000'000 : 0;
  uint64_t most_ms = recorder.is_overrun() ? kMaxWaitOverrunMs : kMaxWaitMs;
  poll_once(recorder.poll_fd(), static_cast<int>(std::min(left_ms, most_ms)));
  if (!stop_)
    stop_ = reached_limit(recorder);
  return stop_;
}

std::optional<Stop> Watch::reached_limit(const Recorder& recorder) const {
  if (recorder.have_threads_ended())
    return Stop::kTargetsGone;
  if (monotonic_ns() >= deadline_)
    return Stop::kDuration;
  if (recorder.file_size() >= max_size_)
    return Stop::kSize;
  return std::nullopt;
}

Stop Watch::wait_for_command() {
  // Targets do not matter any more, and neither do limits.
  stop_.reset();
  targets_.clear();
  while (!stop_)
    poll_once(/*ring_fd=*/-1, /*timeout_ms=*/-1);  // no ring, and as long as it takes
  return *stop_;
}

// poll passes over negative descriptors.
void Watch::poll_once(int ring_fd, int timeout_ms) {
  int command_end = command_ ? command_->end_fd() : -1;
  std::vector<pollfd> watched = {{signals_.get(), POLLIN, 0},
                                 {parent_.get(), POLLIN, 0},
                                 {ring_fd, POLLIN, 0},
                                 {command_end, POLLIN, 0}};
  constexpr size_t kFirstTarget = 4;
  for (const UniqueFd& target : targets_)
    watched.push_back({target.get(), POLLIN, 0});
  if (poll(watched.data(), watched.size(), timeout_ms) <= 0)
    return;

  // The first reason to stop is the one that is told; later ones do not replace it.
  if (watched[0].revents != 0)
    take_signal();
  if (watched[1].revents != 0 && !stop_) {
    stop_ = Stop::kParentGone;
    // It stays readable, and would end each later wait at once.
    parent_.reset(-1);
  }
  if (watched[3].revents != 0 && !stop_)
    stop_ = Stop::kCommandGone;
  // From behind, as erasing moves those that follow.
  for (size_t i = watched.size(); i-- > kFirstTarget;)
    if (watched[i].revents != 0)
      targets_.erase(targets_.begin() + static_cast<ptrdiff_t>(i - kFirstTarget));
  if (watched.size() > kFirstTarget && targets_.empty() && !stop_)
    stop_ = Stop::kTargetsGone;
}

void Watch::take_signal() {
  Signal signal{};
  if (read(signals_.get(), &signal, sizeof(signal)) != sizeof(signal))
    return;
  if (signal.number == SIGUSR2) {
    is_asked_ = true;
    return;
  }
  // Ctrl-C goes to the command as well, whose end is that of the recording; a second one
  // aborts. A SIGINT that was sent to gosym alone is handed on.
  if (!command_ || signal.number != SIGINT) {
    stop_ = Stop::kSignal;
    return;
  }
  if (std::exchange(was_interrupted_, true))
    stop_ = Stop::kAbort;
  else if (signal.code == SI_USER)  // by kill(2), not by the terminal
    command_->send(SIGINT);
}

}  // namespace gosym
