#include "record/helper_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <set>
#include <vector>

#include "base/clock.h"
#include "confine/channel.h"
#include "confine/child.h"
#include "confine/process_kind.h"
#include "proc/process.h"
#include "record/files/file_helper.h"
#include "record/memory_helper.h"

namespace gosym {

namespace {

// A disk takes tens of milliseconds. Samples wait that long, for which the rings have room; one
// who waits for his turn on a CPU, not for a file, is given a second.
constexpr uint64_t kPatience = 100'000'000;
constexpr uint64_t kPatienceForTurn = 1'000'000'000;

// To start takes milliseconds. Only a machine that swaps, or starves its processes, takes
// longer.
constexpr uint64_t kPatienceForStart = 10'000'000'000;

uint32_t only_process = 0;  // 0: any

int start_helper(HelperKind kind, UniqueFd& channel) {
  return start_child(channel, {},
                     kind == HelperKind::kFiles ? FileHelper::serve : MemoryHelper::serve);
}

// A helper that waits in the kernel for a file system that does not answer stays: waiting for
// its end would hang as well. Helpers end a little later than they are told to, and leave the
// table of processes when the next one is ended.
void end_helper(int pid) {
  static std::mutex mutex;
  static std::vector<int> ending;
  kill(pid, SIGKILL);
  std::lock_guard lock(mutex);
  ending.push_back(pid);
  std::erase_if(ending, [](int helper) { return waitpid(helper, nullptr, WNOHANG) != 0; });
}

// 'D' and the like; '\0': not known.
char state_of_helper(int pid) {
  auto status = proc::status_of(static_cast<uint32_t>(pid));
  return status ? status->state : '\0';
}

enum class Order : uint32_t { kStart, kEnd, kTellState };

struct StarterRequest {
  Order order;
  HelperKind kind;
  int32_t pid;
};
struct StarterReply {
  int32_t pid;  // -1: none could be started
  char state;
};

// The asking process may have been taken over.
void serve_starter(int channel) {
  enter(ProcessKind::kStarter);
  std::set<int> helpers;
  StarterRequest request{};
  UniqueFd none;
  while (receive_message(channel, request, sizeof(request), none)) {
    StarterReply reply{.pid = -1, .state = '\0'};
    UniqueFd theirs;
    if (request.order == Order::kStart) {
      reply.pid = start_helper(request.kind, theirs);
      if (reply.pid > 0)
        helpers.insert(reply.pid);
      // Only helpers that were started here may be ended or asked for.
    } else if (helpers.contains(request.pid) && request.order == Order::kEnd) {
      end_helper(request.pid);
      helpers.erase(request.pid);
    } else if (helpers.contains(request.pid)) {
      reply.state = state_of_helper(request.pid);
    }
    // The asking process is gone, and with it whoever needs helpers.
    if (!send_message(channel, reply, sizeof(reply), theirs.get()))
      return;
  }
}

UniqueFd starter;  // none: helpers are children of this process
std::mutex ordering;

// One order at a time: a reply belongs to the last request.
StarterReply give_order(const StarterRequest& request, UniqueFd& channel) {
  std::lock_guard lock(ordering);
  StarterReply reply{.pid = -1, .state = '\0'};
  if (!send_message(starter.get(), request, sizeof(request), -1) ||
      !receive_message(starter.get(), reply, sizeof(reply), channel))
    return {.pid = -1, .state = '\0'};
  return reply;
}

}  // namespace

HelperProcess::HelperProcess(HelperKind kind, uint64_t kernel_patience)
    : kind_(kind), kernel_patience_(kernel_patience) {}

HelperProcess::~HelperProcess() {
  stop();
}

bool HelperProcess::start() {
  if (pid_ != 0)
    return true;
  // A confined process may not start others, and has a starter for that.
  is_child_ = !starter;
  int pid = is_child_ ? start_helper(kind_, channel_)
                      : give_order({Order::kStart, kind_, 0}, channel_).pid;
  if (pid <= 0 || !channel_)
    return false;
  pid_ = pid;
  is_ready_ = false;
  return true;
}

void HelperProcess::stop() {
  // Closed first: a helper that waits for a question ends by that alone.
  channel_ = UniqueFd();
  if (pid_ == 0)
    return;
  UniqueFd none;
  if (is_child_)
    end_helper(pid_);
  else
    give_order({Order::kEnd, kind_, pid_}, none);
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
    // Rounded up, or the last millisecond would be spent polling without a pause. No wait is so
    // long that its milliseconds are too many for an int.
    int left_ms = now < end ? static_cast<int>((end - now) / 1'000'000 + 1) : 0;
    pollfd entry = {.fd = channel_.get(), .events = POLLIN, .revents = 0};
    int ready = poll(&entry, 1, left_ms);
    if (ready >= 0 || errno != EINTR)
      return ready > 0;
  }
}

bool HelperProcess::tell_ready(int channel) {
  char signal = 0;
  return send(channel, &signal, sizeof(signal), MSG_NOSIGNAL) == sizeof(signal);
}

bool HelperProcess::wait_until_ready() {
  char signal = 0;
  if (!is_ready_ && wait_until(monotonic_ns() + kPatienceForStart))
    is_ready_ = recv(channel_.get(), &signal, sizeof(signal), 0) == sizeof(signal);
  return is_ready_;
}

bool HelperProcess::wait_for_answer() {
  if (!wait_until_ready())
    return false;
  // In most cases the answer comes at once, and nothing else is looked at.
  uint64_t begin = monotonic_ns();
  if (wait_until(begin + kPatience))
    return true;
  UniqueFd none;
  char state = is_child_ ? state_of_helper(pid_)
                         : give_order({Order::kTellState, kind_, pid_}, none).state;
  // A helper that is ready to run waits for a CPU of a busy machine, and is not hung.
  if (state == 'R')
    return wait_until(begin + kPatienceForTurn);
  // A helper in an uninterruptible wait may still get its answer from the kernel.
  if (state != 'D')
    return wait_until(begin);  // it may have answered since
  begin = monotonic_ns();
  bool has_come = wait_until(begin + kernel_patience_);
  // All such waits have so long together: a user can cause any number of them.
  kernel_patience_ -= std::min(kernel_patience_, monotonic_ns() - begin);
  return has_come;
}

Result<> make_helper_starter(uint32_t only_pid) {
  // Set before the fork: the starter has it, and so have the helpers that it forks.
  only_process = only_pid;
  UniqueFd channel;
  if (start_child(channel, {}, serve_starter) < 0)
    return system_error("cannot start a process", errno);
  starter = std::move(channel);
  return Ok{};
}

bool may_help_with(uint32_t pid) {
  return only_process == 0 || pid == only_process;
}

}  // namespace gosym
