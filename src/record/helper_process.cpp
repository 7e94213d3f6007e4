#include "record/helper_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "proc/process.h"

namespace gosym {

namespace {

// A disk takes tens of milliseconds. Samples wait that long, for which the rings have room; one
// who waits for his turn on a CPU, not for a file, is given a second.
constexpr uint64_t kPatience = 100'000'000;
constexpr uint64_t kPatienceForTurn = 1'000'000'000;

}  // namespace

HelperProcess::HelperProcess(Serve serve, uint64_t kernel_patience)
    : serve_(std::move(serve)), kernel_patience_(kernel_patience) {}

HelperProcess::~HelperProcess() {
  stop();
}

bool HelperProcess::start() {
  if (pid_ != 0)
    return true;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  channel_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  int parent = getpid();
  int pid = fork();
  if (pid < 0)
    return false;
  if (pid == 0)
    run(theirs.get(), parent);
  pid_ = pid;
  return true;
}

void HelperProcess::run(int channel, int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  // What the user sends to end a recording is for the recorder.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    ::signal(signal, SIG_IGN);
  dup2(channel, 0);
  close_range(1, UINT32_MAX, 0);
  serve_(0);
  _exit(0);
}

// Where it waits in the kernel for one who does not answer, it stays.
void HelperProcess::stop() {
  channel_ = UniqueFd();
  if (pid_ == 0)
    return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, WNOHANG);
  pid_ = 0;
}

void HelperProcess::hurry(uint64_t nanoseconds) {
  end_ = std::min(end_, monotonic_ns() + nanoseconds);
}

bool HelperProcess::is_time_over() const {
  return monotonic_ns() >= end_;
}

bool HelperProcess::wait_until(uint64_t end) {
  while (true) {
    uint64_t now = monotonic_ns();
    end = std::min(end, end_);
    int left_ms = now < end ? static_cast<int>((end - now) / 1'000'000 + 1) : 0;
    pollfd entry = {.fd = channel_.get(), .events = POLLIN, .revents = 0};
    int ready = poll(&entry, 1, left_ms);
    if (ready >= 0 || errno != EINTR)
      return ready > 0;
  }
}

bool HelperProcess::wait_for_answer() {
  uint64_t begin = monotonic_ns();
  if (wait_until(begin + kPatience))
    return true;
  auto status = proc::status_of(static_cast<uint32_t>(pid_));
  if (status && status->state == 'R')
    return wait_until(begin + kPatienceForTurn);
  if (!status || status->state != 'D')
    return wait_until(begin);  // it may have answered since
  begin = monotonic_ns();
  bool has_come = wait_until(begin + kernel_patience_);
  kernel_patience_ -= std::min(kernel_patience_, monotonic_ns() - begin);
  return has_come;
}

}  // namespace gosym
