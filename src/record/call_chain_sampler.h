#pragma once

#include <linux/perf_event.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "record/call_chain_record.h"
#include "record/sampler.h"

namespace gosym {

class PerfRing;

// Samples the user's own processes where BPF is not allowed: by the call chains that the kernel
// writes for the perf events of a thread, which takes no rights. Each thread has an event on
// each CPU, which its future threads and children inherit; all of a CPU write to one ring,
// samples and side-band alike.
class CallChainSampler : public Sampler {
public:
  // `obstacle` is why it is not BPF; empty if this was asked for.
  static Result<std::unique_ptr<Sampler>> open(const SamplerOptions& options,
                                               std::string obstacle);
  ~CallChainSampler() override;

  // Goroutines are read in the memory of a process, by BPF alone.
  void set_go_program(uint32_t, const GoProgram&, uint64_t) override {}
  void forget_go_program(uint32_t) override {}
  Result<> start() override;
  void stop() override;
  int poll_fd() const override { return epoll_.get(); }
  void drain_samples(const Handler& handler) override;
  void drain_events(std::vector<SidebandRecord>& records) override;
  // A process whose events ended has no samples either.
  bool follow(uint32_t) override { return false; }
  uint64_t lost_events() const override;
  Result<> follow_cpus(std::vector<SidebandRecord>&) override { return Ok{}; }
  Counters counters() const override;
  std::string name() const override { return "perf"; }
  std::string shortcomings() const override;
  bool sees_kernel() const override { return options_.has_kernel; }
  const EventType& event() const override { return event_; }
  uint32_t cpu_count() const override { return static_cast<uint32_t>(cpus_.size()); }

private:
  struct Cpu {
    CpuCounts counts;
    Throttling throttling;
    bool has_begun = false;  // a record has come since start()
    std::unique_ptr<PerfRing> ring;
    std::vector<UniqueFd> events;   // besides that of the ring
    uint64_t counted_ns = 0;        // by all events of a clock, until stop()
    uint64_t counted_at_start = 0;  // before start()

    std::vector<int> fds() const;
  };
  struct Sample {
    CallChain chain;
    uint32_t cpu = 0;
  };

  CallChainSampler(const SamplerOptions& options, std::string obstacle);
  Result<> open_targets();
  Result<> open_process(uint32_t pid);
  Result<> open_thread(uint32_t pid, uint32_t tid);
  Result<UniqueFd> open_event(uint32_t pid, uint32_t tid, uint32_t cpu);
  bool ask_for_less(int cause);
  Result<> join_ring(UniqueFd event, Cpu& cpu);
  bool has_inherited(uint32_t tid) const;
  bool is_wanted(uint32_t pid) const;
  void read_rings();
  void read_ring(Cpu& cpu);
  void take(Bytes record, Cpu& cpu);
  static void note(const ThrottleRecord& throttle, Cpu& cpu);
  uint64_t skipped_on(const Cpu& cpu) const;
  RecordedSample recorded(const Sample& sample) const;

  SamplerOptions options_;
  std::string obstacle_;
  EventType event_;
  bool lacks_kernel_ = false;  // it was asked for, but is not allowed
  uint64_t max_frames_ = 0;
  std::map<uint32_t, Cpu> cpus_;
  UniqueFd epoll_;

  // Read from the rings and not yet drained.
  std::vector<Sample> samples_;
  std::vector<SidebandRecord> records_;
};

}  // namespace gosym
