#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/recording.h"
#include "record/event_type.h"
#include "record/files/image_catalog.h"
#include "record/sideband_record.h"

namespace gosym {

class Keeper;

// Source of the callers of user code: the chain of frame pointers, in all stacks but their
// tops; the words of the stack; or the latter only for stacks whose chain does not lead to the
// root of a goroutine.
enum class StackMode : uint8_t { kFramePointers, kWords, kAuto };

// Network code keeps buffers of 16 KiB in its frames, hiredis for one. Of a deeper stack
// without frame pointers this takes 3.7 us a sample where 16 KiB took 2.2.
inline constexpr uint32_t kDefaultStackSize = kMaxTopSize;

// Bytes of a stack in which the return address of a leaf lies: all but 0.02 % of them were
// found in as many, in programs of Go 1.19 to 1.27.
inline constexpr uint32_t kLeafTopSize = 1024;

// Whose code is sampled: that of everybody, or of whatever one of the lists names.
struct Scope {
  bool is_system_wide = false;
  std::vector<uint32_t> pids;
  bool follows_children = true;      // that targets fork during the recording
  std::vector<uint32_t> tids;        // single threads
  std::vector<std::string> cgroups;  // directories of cgroup v2, with all below them
  std::vector<uint32_t> cpus;        // only what runs on these; empty: on all
};

// Takes the samples: a BPF program, or the call chains of perf_event; kAuto is BPF if that is
// allowed.
enum class SamplerKind : uint8_t { kAuto, kBpf, kPerf };

struct SamplerOptions {
  Scope scope;
  SamplerKind kind = SamplerKind::kAuto;
  std::vector<EventType> events;  // none: the best that there is for CPU time
  // For each event that has no rate of its own:
  uint64_t frequency = 99;  // samples a second
  uint64_t period = 0;      // events from one sample to the next; 0: as the frequency says
  bool has_user = true;
  bool has_kernel = true;
  bool has_goroutines = true;
  StackMode stack_mode = StackMode::kAuto;
  // Bytes of a stack to look at where its chain of frame pointers is not relied on: a multiple
  // of 8, at most kMaxTopSize.
  uint32_t stack_size = kDefaultStackSize;
};

// A return address that the chain of frame pointers passes over. It belongs before the one with
// this index in the user stack, or behind all, if the function that the one before returns to
// keeps no frame; else it is nobody's (record/stacks/passed_callers.h).
struct PassedCaller {
  uint64_t index = 0;
  uint64_t address = 0;
};

// Words of another stack: what lies at `begin` there, and above, is at `offset` among the words
// of a sample, and above, in bytes.
struct StackPiece {
  uint64_t begin = 0;
  uint64_t offset = 0;
};

// The top of a user stack, as it was sampled.
struct StackTop {
  // A multiple of 8: the leaf's, or some way below it.
  uint64_t stack_pointer = 0;
  std::span<const uint64_t> words;  // from the stack pointer on
  // Words further up that point into the code of the program, by offset as if all words were
  // here.
  std::span<const StackWord> far_words = {};
  // The stacks that the words are of behind the one that the code runs on, by offset: where a
  // signal handler interrupted what ran there, or where the stack was left.
  std::span<const StackPiece> pieces = {};
  std::span<const PassedCaller> passed = {};  // in order
  std::span<const uint64_t> registers = {};   // by the number that DWARF gives them
  std::span<const uint64_t> red_zone = {};    // the words below the stack pointer, up to it
  uint64_t misaligned = 0;  // bytes that the stack pointer of the leaf is above `stack_pointer`
  // Bits of a word that may be an address of code: with the others that may be signed.
  uint64_t code_mask = ~uint64_t{0};

  // The offset of a place of one of the stacks among the words, in bytes, as if all of the last
  // one were here; kNoFrame: it is on none.
  uint64_t offset_of(uint64_t place) const {
    StackPiece piece = {stack_pointer, 0};
    for (const StackPiece& next : pieces) {
      if (place - piece.begin < next.offset - piece.offset)
        return piece.offset + (place - piece.begin);
      piece = next;
    }
    return place >= piece.begin ? piece.offset + (place - piece.begin) : kNoFrame;
  }
};

// Takes the samples of a scope, and tells what happens there beside: what is mapped, named,
// forked, executed and ended, on the same clock.
class Sampler {
public:
  // The sample has no words of the stack yet, and `top` is the stack itself; or it has those
  // that there are. The spans live until the handler returns.
  using Handler = std::function<void(RecordedSample, const StackTop& top)>;

  struct Counters {
    std::vector<CpuCounts> cpus;  // since the start, of each event
    uint64_t unfollowed = 0;      // children that were not sampled: too many
    uint64_t refused_events = 0;  // mappings beyond the limit, which /proc tells too
    uint64_t hung_reads = 0;      // processes whose memory did not answer in time
    uint64_t untracked = 0;       // threads whose waits are not known: too many
    // CPU time that the kernel charged to the scope from start() to stop(); 0: not known. A
    // sampler to which that is work may tell it only after stop(): until then charged_ns()
    // does.
    uint64_t charged_ns = 0;
    uint64_t shortened = 0;  // stacks of goroutines that take too much to read
  };

  // Everything is set up and the side-band runs; no sample is taken yet.
  // The keeper, which must outlive it, does what takes rights from the moment on when it is
  // started.
  static Result<std::unique_ptr<Sampler>> open(const SamplerOptions& options, Keeper& keeper);

  Sampler() = default;
  virtual ~Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Tells how to read the goroutines of a process that has mapped the code of a Go program,
  // until it ends or forget_go_program() is called; the program's layout must be known. Of too
  // many processes the last ones are not told.
  virtual void set_go_program(const GoProgram& program, const MapEvent& code) = 0;
  virtual void forget_go_program(uint32_t pid) = 0;

  virtual Result<> start() = 0;
  virtual void stop() = 0;

  // Readable when a ring fills faster than expected; the drains make it unreadable.
  virtual int poll_fd() const = 0;

  // Hands over what the rings hold.
  virtual void drain_samples(const Handler& handler) = 0;

  // Appends what happened, in order of time on each CPU but not across them.
  virtual void drain_events(std::vector<SidebandRecord>& records) = 0;

  // A process is sampled whose events do not come, or no longer; true if they do from now on.
  virtual bool follow(uint32_t pid) = 0;
  // Events that were lost since the start, and processes of which some were left out since the
  // last call: too many.
  virtual uint64_t lost_events() const = 0;
  virtual std::set<uint32_t> take_refused() { return {}; }

  // CPUs come and go: from now on samples are taken on those that are online.
  // Events that were not yet drained from others are appended.
  virtual Result<> follow_cpus(std::vector<SidebandRecord>& records) = 0;

  virtual Counters counters() const = 0;

  // Counters::charged_ns up to now, whatever work it is.
  virtual uint64_t charged_ns() const { return counters().charged_ns; }
  virtual std::string name() const { return "bpf"; }
  // Why it is not the best there is, and what its recording lacks; empty if it is.
  virtual std::string shortcomings() const { return {}; }
  virtual bool sees_kernel() const { return true; }
  virtual std::span<const EventType> events() const = 0;  // one at least
  virtual uint32_t cpu_count() const = 0;                 // that samples are taken on
};

}  // namespace gosym
