#pragma once

#include <linux/perf_event.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "record/perf/call_chain_record.h"
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
  void set_go_program(const GoProgram&, const MapEvent&) override {}
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
  std::span<const EventType> events() const override { return events_; }
  uint32_t cpu_count() const override { return static_cast<uint32_t>(cpus_.size()); }

private:
  // Counts of one event on one CPU.
  struct Counter {
    CpuCounts counts;
    std::vector<int> fds;           // owned by the CPU
    uint64_t counted_ns = 0;        // by all of them if it is a clock, until stop()
    uint64_t counted_at_start = 0;  // before start()
  };
  struct Cpu {
    uint32_t number = 0;
    std::vector<Counter> counters;  // by event
    Throttling throttling;
    bool has_begun = false;  // a record has come since start()
    std::unique_ptr<PerfRing> ring;
    std::vector<UniqueFd> fds;  // besides that of the ring

    // Counts that hold for all events together, or cannot be told apart by event.
    CpuCounts& counts() { return counters.front().counts; }
  };
  struct Sample {
    CallChain chain;
    uint32_t cpu = 0;
    uint32_t event = 0;
  };

  CallChainSampler(const SamplerOptions& options, std::string obstacle);
  Result<> open_targets();
  Result<> open_process(uint32_t pid);
  Result<> open_thread(uint32_t pid, uint32_t tid);
  Result<bool> open_events(uint32_t pid, uint32_t tid, Cpu& cpu);
  Result<UniqueFd> open_event(uint32_t pid, uint32_t tid, uint32_t index, uint32_t cpu);
  bool ask_for_less(int cause);
  Result<> join_ring(UniqueFd event, uint32_t index, Cpu& cpu);
  bool has_inherited(uint32_t tid) const;
  bool is_wanted(uint32_t pid) const;
  void read_rings();
  void read_ring(Cpu& cpu);
  void take(Bytes record, Cpu& cpu);
  void take_sample(Bytes record, Cpu& cpu);
  static void note(const ThrottleRecord& throttle, Cpu& cpu);
  uint64_t skipped_of(const Counter& counter) const;
  RecordedSample recorded(const Sample& sample) const;

  SamplerOptions options_;
  std::string obstacle_;
  std::vector<EventType> events_;
  std::unordered_map<uint64_t, uint32_t> event_of_id_;  // indexes, by the kernel's numbers
  bool lacks_kernel_ = false;                           // it was asked for, but is not allowed
  uint64_t max_frames_ = 0;
  std::map<uint32_t, Cpu> cpus_;
  UniqueFd epoll_;

  // Read from the rings and not yet drained.
  std::vector<Sample> samples_;
  std::vector<SidebandRecord> records_;
};

}  // namespace gosym
