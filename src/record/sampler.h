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
#include "record/go_program.h"

struct ring_buffer;
struct sampler_bpf;

namespace gosym {

// What is relied on to find the callers of user code: the chain of frame pointers, in all
// stacks but their tops; the words of the stack; or the latter only for stacks whose chain does
// not lead to the root of a goroutine.
enum class StackMode : uint8_t { kFramePointers, kWords, kAuto };

inline constexpr uint32_t kDefaultStackSize = 16 << 10;

struct SamplerOptions {
  uint64_t frequency = 99;  // samples a second of CPU time
  bool is_system_wide = false;
  bool has_user = true;
  bool has_kernel = true;
  bool follows_children = true;
  bool has_goroutines = true;
  StackMode stack_mode = StackMode::kAuto;
  // Bytes of a stack to look at where its chain of frame pointers is not relied on: a multiple
  // of 8, at most kMaxTopSize.
  uint32_t stack_size = kDefaultStackSize;
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

  // Tells how to read the goroutines of a process, until it ends or forget_go_program() is
  // called; the program's layout must be known. Of too many processes the last ones are not
  // told.
  void set_go_program(uint32_t pid, const GoProgram& program, uint64_t offset_at);
  void forget_go_program(uint32_t pid);

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
  uint32_t ring_size_ = 0;            // in bytes, of each CPU
  const Handler* handler_ = nullptr;  // only while drain() runs
};

}  // namespace gosym
