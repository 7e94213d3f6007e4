#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "record/sampler.h"
#include "record/sideband.h"

struct ring_buffer;
struct sampler_bpf;

namespace gosym {

// Samples by the BPF program of bpf/sampler.bpf.c: a perf event on each online CPU runs it, and
// it writes to a ring of that CPU.
class BpfSampler : public Sampler {
public:
  static Result<std::unique_ptr<Sampler>> open(const SamplerOptions& options);
  ~BpfSampler() override;

  void set_go_program(uint32_t pid, const GoProgram& program, uint64_t offset_at) override;
  void forget_go_program(uint32_t pid) override;
  Result<> start() override;
  void stop() override;
  int poll_fd() const override { return epoll_.get(); }
  void drain_samples(const Handler& handler) override;
  void drain_events(std::vector<SidebandRecord>& records) override;
  Counters counters() const override;
  std::string event() const override { return event_; }
  uint32_t cpu_count() const override { return static_cast<uint32_t>(events_.size()); }

private:
  BpfSampler() = default;
  Result<> load(const SamplerOptions& options);
  Result<> add_target(uint32_t pid);
  Result<> open_event(const SamplerOptions& options, int cpu);
  Result<> open_ring(int cpu);
  Result<> watch_rings();
  static int on_sample(void* context, void* data, size_t size) noexcept;

  // In order of dependence: each may use those before it.
  std::unique_ptr<sampler_bpf, void (*)(sampler_bpf*)> bpf_{nullptr, nullptr};
  std::vector<UniqueFd> ring_maps_;
  std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> rings_{nullptr, nullptr};
  std::vector<UniqueFd> events_;
  std::unique_ptr<Sideband> sideband_;
  UniqueFd epoll_;  // of both kinds of rings
  std::string event_;
  uint32_t ring_size_ = 0;            // in bytes, of each CPU
  const Handler* handler_ = nullptr;  // only while drain_samples() runs
};

}  // namespace gosym
