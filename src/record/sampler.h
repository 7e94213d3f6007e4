#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "profile/recording.h"

struct ring_buffer;
struct sampler_bpf;

namespace gosym {

struct SamplerOptions {
  uint64_t frequency = 99;  // samples a second of CPU time
  bool is_system_wide = false;
  bool has_user = true;
  bool has_kernel = true;
  bool follows_children = true;
  // Bytes to look at from the stack pointer on, multiples of 8 of at most kMaxTopSize: where
  // the chain of frame pointers seems to hold, and where it does not.
  uint32_t top_size = 1024;
  uint32_t broken_top_size = 1024;
};

// Owns the BPF program of bpf/sampler.bpf.c, a perf event on each online CPU that runs it, and
// the rings it writes to.
class Sampler {
public:
  // The sample has no words of the stack yet: `top` is the stack itself from the stack pointer
  // on. The spans live until the handler returns.
  using Handler = std::function<void(RecordedSample, uint64_t stack_pointer,
                                     std::span<const uint64_t> top)>;

  struct Counters {
    uint64_t stored = 0;
    uint64_t lost = 0;        // no room in a ring
    uint64_t unfollowed = 0;  // children that were not sampled: too many
  };

  // Loads everything but lets nothing tick yet.
  static Result<std::unique_ptr<Sampler>> open(const SamplerOptions& options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Samples this process too, and its future children if the options say so.
  Result<> add_target(uint32_t pid);

  Result<> start();
  void stop();

  // Readable when a ring fills faster than expected; drain() makes it unreadable.
  int poll_fd() const;

  // Hands over what the rings hold.
  void drain(const Handler& handler);

  Counters counters() const;
  const std::string& event() const { return event_; }  // "cycles" or "cpu-clock"
  uint32_t cpu_count() const { return static_cast<uint32_t>(events_.size()); }

private:
  Sampler() = default;
  Result<> load(const SamplerOptions& options);
  Result<> open_event(const SamplerOptions& options, int cpu);
  Result<> open_ring(int cpu);
  static int on_sample(void* context, void* data, size_t size) noexcept;

  // In order of dependence: each may use those before it.
  std::unique_ptr<sampler_bpf, void (*)(sampler_bpf*)> bpf_{nullptr, nullptr};
  std::vector<UniqueFd> ring_maps_;
  std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> rings_{nullptr, nullptr};
  std::vector<UniqueFd> events_;
  std::string event_;
  const Handler* handler_ = nullptr;  // only while drain() runs
};

}  // namespace gosym
