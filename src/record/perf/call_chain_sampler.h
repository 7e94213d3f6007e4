#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "proc/process.h"
#include "record/sampler.h"

// A sample as the kernel writes it into the ring of a perf event (linux/perf_event.h), for the
// attributes that CallChainSampler sets. Integers have the byte order of the machine.
//
//   record := u32 type (9), u16 misc, u16 size, body      size: of the whole record
//   body   := u64 id of the event, u32 pid, u32 tid, u64 time,
//             u64 period, if the event is sampled at a frequency,
//             u64 count, count * u64 chain,
//             u64 abi, if that is not 0: registers
//             u64 size, if that is not 0: size * byte stack, u64 taken
//
// The chain has addresses, innermost first, and markers, from -4095 up, of what follows: -128
// the kernel's part, -512 the user's, others parts that are of no interest. The user's part
// begins with the pc, and may end with a 0, which is no address.
//
// registers: on x86-64 u64 ax, bx, cx, dx, si, di, bp, sp, ip, r8, ..., r15; on arm64 u64 x0,
// ..., x30, sp, pc.
//
// abi: 0 there are no user registers, as in a kernel thread; 1 of 32 bits, 2 of 64. The first
// `taken` bytes of `stack` are what lies from the stack pointer on.

namespace gosym {

struct CallChain {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t period = 0;  // events since the sample before; 0: as was asked for
  std::vector<uint64_t> kernel_stack;
  std::vector<uint64_t> user_stack;
  uint64_t frame_pointer = 0;
  uint64_t stack_pointer = 0;       // the next multiple of 8 below; on arm64 16 bytes more
  uint64_t misaligned = 0;          // bytes that it is above that
  std::vector<uint64_t> registers;  // by the numbers that DWARF gives them
  std::vector<uint64_t> top;        // the stack from there on; empty of a process of 32 bits
};

// True if a record, which is all there, is a sample.
bool is_call_chain(Bytes record);

// The kernel's number for the event that a sample was taken of; none if it is too short.
std::optional<uint64_t> event_id_of(Bytes record);

// `data` is exactly one record.
Result<CallChain> parse_call_chain(Bytes data, bool has_period);

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
  uint64_t code_mask_ = proc::code_mask();
  std::map<uint32_t, Cpu> cpus_;
  UniqueFd epoll_;

  // Read from the rings and not yet drained.
  std::vector<Sample> samples_;
  std::vector<SidebandRecord> records_;
};

}  // namespace gosym
