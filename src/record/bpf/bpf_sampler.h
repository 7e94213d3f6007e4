#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "proc/process.h"
#include "record/bpf/ring.h"
#include "record/bpf/wait_sampler.h"
#include "record/keeper.h"
#include "record/perf/perf_ring.h"
#include "record/perf/sideband.h"
#include "record/sampler.h"

struct gosym_counters;
struct gosym_go_program;
struct sampler_bpf;

namespace gosym {

// Describes a program for the BPF side, in a process that has mapped its code so; the layout
// must be known.
gosym_go_program to_bpf(const GoProgram& program, const MapEvent& code);

// Samples by the BPF program of bpf/sampler.bpf.c: perf events on each online CPU run it, and
// it writes to a ring of that CPU.
class BpfSampler : public Sampler {
public:
  static Result<std::unique_ptr<Sampler>> open(const SamplerOptions& options, Keeper& keeper);
  ~BpfSampler() override;

  void set_go_program(const GoProgram& program, const MapEvent& code) override;
  void forget_go_program(uint32_t pid) override;
  Result<> start() override;
  void stop() override;
  int poll_fd() const override { return epoll_.get(); }
  void drain_samples(const Handler& handler) override;
  void drain_events(std::vector<SidebandRecord>& records) override;
  bool follow(uint32_t pid) override { return sideband_->follow(pid); }
  uint64_t lost_events() const override { return sideband_->lost_count(); }
  std::set<uint32_t> take_refused() override { return sideband_->limits().take_refused(); }
  Result<> follow_cpus(std::vector<SidebandRecord>& records) override;
  Counters counters() const override;
  uint64_t charged_ns() const override;
  std::span<const EventType> events() const override { return events_; }
  std::string shortcomings() const override;
  uint32_t cpu_count() const override { return static_cast<uint32_t>(opened_.size()); }

private:
  BpfSampler(const SamplerOptions& options, Keeper& keeper)
      : keeper_(keeper), options_(options) {}
  Result<> load();
  Result<> share_maps();
  void configure();
  Result<> open_waits();
  Result<> add_targets();
  Result<> add_cgroup(uint32_t index, const std::string& path);
  std::vector<uint32_t> wanted_cpus() const;
  Result<> open_sideband();
  Result<> open_events(uint32_t cpu);
  Result<std::vector<UniqueFd>> open_event(uint32_t index, uint32_t cpu);
  Result<UniqueFd> open_timer(perf_event_attr attr, uint32_t index, uint32_t cpu);
  void set_ticks();
  void forget_ticks(uint32_t event, uint32_t cpu) const;
  void close_first_timers();
  uint64_t charged_since_start() const;
  Result<> open_ring(uint32_t cpu);
  size_t event_count() const { return std::max<size_t>(options_.events.size(), 1); }
  double shift_of(uint32_t index) const;
  gosym_counters& counters_at(uint32_t event, uint32_t cpu) const;
  uint64_t taken_waits() const;
  // False: it is not whole.
  bool hand_over(Bytes record) const;

  // A timer that ticks at first in place of the slow ones of a clock.
  struct FirstTimer {
    UniqueFd fd;
    uint32_t event = 0;
    uint32_t cpu = 0;
  };

  Keeper& keeper_;
  SamplerOptions options_;
  std::vector<EventType> events_;   // as the options have them, with what was chosen
  std::vector<bool> have_weights_;  // by event: samples have weights in the recording
  uint64_t code_mask_ = proc::code_mask();
  // In order of dependence: each may use those before it.
  std::unique_ptr<sampler_bpf, void (*)(sampler_bpf*)> bpf_{nullptr, nullptr};
  MappedPart counters_;                  // a gosym_counters for each event and CPU
  std::map<uint32_t, BpfRing> rings_;    // by CPU, as the perf events
  std::unique_ptr<WaitSampler> waits_;   // none: no event asks for them
  std::vector<std::string> open_waits_;  // records of threads that waited at the end
  uint64_t open_wait_count_ = 0;         // samples of open_waits_ that were handed over
  std::unique_ptr<Sideband> sideband_;
  uint32_t slow_timers_ = 0;                          // timers of each clock on each CPU
  double shift_ = 0;                                  // varies their periods
  std::map<uint32_t, std::vector<UniqueFd>> opened_;  // perf events, by CPU
  // First timers of clocks, until the slow ones have taken over.
  std::vector<FirstTimer> first_timers_;
  UniqueFd epoll_;                // watches the rings of samples
  std::vector<uint32_t> online_;  // CPUs when they were last looked at
  bool is_started_ = false;
  std::vector<uint32_t> charged_cpus_;        // CPUs that charged_time() is asked for
  std::optional<uint64_t> charged_at_start_;  // none: not known
  uint64_t charged_ns_ = 0;                   // from there to stop(); 0 until then
  uint32_t ring_size_ = 0;                    // in bytes, of each CPU
  // Only while drain_samples() runs:
  const Handler* handler_ = nullptr;
};

}  // namespace gosym
