#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// The work of a helper: FileHelper's or MemoryHelper's.
enum class HelperKind : uint32_t { kFiles, kMemory };

// A process of ours for what may take for ever: a file system in user space answers when its
// server likes to, and whoever waits for one in the kernel cannot be ended. It is asked over a
// channel, a socket of messages, and answers one after the other. One that takes longer than it
// may is ended, or left behind where the kernel does not let it end; then there is another one
// for the next question.
//
// It has none of our descriptors: what of the recording it would keep open is nobody's.
class HelperProcess {
public:
  // `kernel_patience`: nanoseconds that all questions together may take longer where it waits
  // uninterruptibly: a busy disk, a process that forks with much memory, or one who makes it
  // wait.
  HelperProcess(HelperKind kind, uint64_t kernel_patience);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Unless it runs. False: there can be no such process.
  bool start();
  void stop();
  int channel() const { return channel_.get(); }

  // True once there is an answer, or the process has ended. The first waits until the process
  // is ready: before that it has looked at nothing that could keep it waiting.
  bool wait_for_answer();

  // Waits for answers from now on have so many nanoseconds together.
  void hurry(uint64_t nanoseconds);
  bool is_time_over() const;

  // By the helper: it has given up its rights, and answers from now on.
  static bool tell_ready(int channel);

private:
  bool wait_until(uint64_t end);
  bool wait_until_ready();

  HelperKind kind_;
  uint64_t kernel_patience_;
  uint64_t end_ = UINT64_MAX;  // deadline of all waits, in ns
  int pid_ = 0;                // 0: none runs
  bool is_child_ = false;      // else the starter's
  bool is_ready_ = false;
  UniqueFd channel_;
};

// A process that has given up its rights cannot start a process that has them: helpers are
// started for him by another process, the starter, which this makes beforehand. It ends when we
// do.
//
// Helpers look at no process but `only_pid` then, unless that is 0. Fails if there can be no
// more processes.
Result<> make_helper_starter(uint32_t only_pid = 0);

// By a helper: whether it may look at a process.
bool may_help_with(uint32_t pid);

}  // namespace gosym
