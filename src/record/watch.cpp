#include "record/watch.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>

namespace gosym {

namespace {

// The rings hold seconds of samples; this is for the files of processes that end soon, which
// are best found while the process is there. Twenty wake-ups a second cost nothing that is
// felt.
constexpr int kMaxWaitMs = 50;

}  // namespace

Result<Watch> Watch::open(std::vector<UniqueFd> targets, const HeldCommand* command) {
  Watch watch;
  watch.targets_ = std::move(targets);
  watch.command_ = command;
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, signal);
  watch.signals_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!watch.signals_)
    return system_error("cannot watch for signals", errno);
  sigaddset(&signals, SIGPIPE);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return watch;
}

std::optional<Stop> Watch::wait(const Recorder& recorder) {
  uint64_t now = monotonic_ns();
  uint64_t left_ms = deadline_ > now ? (deadline_ - now + 999'999) / 1'000'000 : 0;
  poll_once(recorder.poll_fd(), static_cast<int>(std::min<uint64_t>(left_ms, kMaxWaitMs)));
  if (!stop_ && monotonic_ns() >= deadline_)
    stop_ = Stop::kDuration;
  return stop_;
}

Stop Watch::wait_for_command() {
  stop_.reset();
  while (!targets_.empty() && !stop_)
    poll_once(-1, -1);
  return stop_.value_or(Stop::kTargetsGone);
}

// poll passes over negative descriptors.
void Watch::poll_once(int ring_fd, int timeout_ms) {
  std::vector<pollfd> watched = {{signals_.get(), POLLIN, 0}, {ring_fd, POLLIN, 0}};
  constexpr size_t kFirstTarget = 2;
  for (const UniqueFd& target : targets_)
    watched.push_back({target.get(), POLLIN, 0});
  if (poll(watched.data(), watched.size(), timeout_ms) <= 0)
    return;

  if (watched[0].revents != 0)
    take_signal();
  for (size_t i = watched.size(); i-- > kFirstTarget;)
    if (watched[i].revents != 0)
      targets_.erase(targets_.begin() + static_cast<ptrdiff_t>(i - kFirstTarget));
  if (watched.size() > kFirstTarget && targets_.empty() && !stop_)
    stop_ = Stop::kTargetsGone;
}

void Watch::take_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof(info)) != sizeof(info))
    return;
  if (!command_ || info.ssi_signo != SIGINT) {
    stop_ = Stop::kSignal;
    return;
  }
  if (std::exchange(was_interrupted_, true))
    stop_ = Stop::kAbort;
  else if (info.ssi_code == SI_USER)
    command_->send(SIGINT);
}

}  // namespace gosym
