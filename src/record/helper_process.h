#pragma once

#include <cstdint>
#include <functional>

#include "base/unique_fd.h"

namespace gosym {

// A process of ours for what may take for ever: a file system in user space answers when its
// server likes to, and whoever waits for one in the kernel cannot be ended. It is asked over a
// channel, a socket of messages, and answers one after the other. One that takes longer than it
// may is ended, or left behind where the kernel does not let it end; then there is another one
// for the next question.
//
// It has none of our descriptors: what of the recording it would keep open is nobody's.
class HelperProcess {
public:
  // Runs in the process, until the channel has no other end any more.
  using Serve = std::function<void(int channel)>;

  // `kernel_patience`: nanoseconds that all questions together may take longer where it waits
  // uninterruptibly: a busy disk, a process that forks with much memory, or one who makes it
  // wait.
  HelperProcess(Serve serve, uint64_t kernel_patience);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Unless it runs. False: there can be no such process.
  bool start();
  void stop();
  int channel() const { return channel_.get(); }

  // True once there is an answer, or the process has ended.
  bool wait_for_answer();

  // Waits for answers from now on have so many nanoseconds together.
  void hurry(uint64_t nanoseconds);
  bool is_time_over() const;

private:
  bool wait_until(uint64_t end);
  [[noreturn]] void run(int channel, int parent);

  Serve serve_;
  uint64_t kernel_patience_;
  uint64_t end_ = UINT64_MAX;  // of all waits
  int pid_ = 0;                // 0: none runs
  UniqueFd channel_;
};

}  // namespace gosym
