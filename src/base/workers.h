#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace gosym {

// Threads that share work, among them the one that asks. A command sets how many there may be
// before it begins; else there is one.
inline constexpr size_t kMaxWorkers = 256;
inline std::atomic<size_t> worker_limit = 1;

// The CPUs that the process may use. More threads than those of a large desktop are seldom
// faster: what one thread has to do alone is most of the time then.
inline size_t usual_workers() {
  constexpr int kUsual = 16;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  // It fails where there are more CPUs than the set has room for.
  int count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : kUsual;
  return static_cast<size_t>(std::clamp(count, 1, kUsual));
}

// As many as an option asks for; 0: as many as are usual.
inline void set_workers(size_t jobs) {
  worker_limit = jobs != 0 ? jobs : usual_workers();
}

// Calls `work(i)` for each i below `count`, on as many threads as there may be, and returns
// when all have been done. No two calls may change the same thing.
template <class Work>
void share_work(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::jthread> others;
  size_t wanted = std::min<size_t>(worker_limit, count);
  try {
    while (others.size() + 1 < wanted)
      others.emplace_back(run);
  } catch (const std::system_error&) {
    // Fewer threads are allowed: those that there are do it all.
  }
  run();
}

}  // namespace gosym
