#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "record/memory_helper.h"
#include "record/sampler.h"

struct bpf_link;
struct sampler_bpf;
struct waits_bpf;

namespace gosym {

class Keeper;

// Way in which this kernel reports threads that have come back to a CPU.
struct SwitchHook {
  std::string function;  // a kprobe there; empty: the trace point sched_exit_tp (Linux 6.15)
  bool has_state =
      false;  // sched_switch tells the state of the thread that leaves (Linux 5.18)
};
// An error if there is no way.
Result<SwitchHook> find_switch_hook();

// Samples threads that were on no CPU, by bpf/waits.bpf.c. Its samples go the same way as those
// of the sampler's own BPF program, with whose targets, rings and counters it works.
class WaitSampler {
public:
  // `event` is the index of the event of the options that its samples are of.
  static Result<std::unique_ptr<WaitSampler>> open(const sampler_bpf& sampler, Keeper& keeper,
                                                   const SamplerOptions& options,
                                                   uint32_t event, uint32_t ring_size);
  ~WaitSampler();

  void start();
  // Ends it, and gives samples of threads that still wait: records as in a ring.
  std::vector<std::string> stop();

  // Lets each process have fewer samples where those of all of them are too many, and more
  // again: `taken` were so far, stored or lost.
  void adapt(uint64_t taken);

  // Threads of which nothing is known: too many.
  uint64_t untracked() const;
  uint64_t hung_reads() const { return memory_.hung_count(); }

private:
  WaitSampler(Keeper& keeper, const SamplerOptions& options);
  Result<> load(const sampler_bpf& sampler, uint32_t event, uint32_t ring_size);
  Result<> attach_all();
  Result<> attach(bpf_link* link, std::string_view where);
  Result<> open_iterator();
  void add_waiting();
  std::string read_open_waits() const;
  std::string with_user_stack(std::string_view record);

  using Link = std::unique_ptr<bpf_link, int (*)(bpf_link*)>;

  Keeper& keeper_;
  SamplerOptions options_;
  SwitchHook hook_;
  std::unique_ptr<waits_bpf, void (*)(waits_bpf*)> bpf_{nullptr, nullptr};
  std::vector<Link> links_;
  MemoryHelper memory_{MemoryHelper::kPatienceOfRecording};
  UniqueFd open_waits_;   // gives them when it is read
  uint64_t rate_;         // samples a second that a process may have
  uint64_t adapted_ = 0;  // when that was set last
  uint64_t taken_ = 0;    // until then
};

}  // namespace gosym
