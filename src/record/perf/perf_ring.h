#pragma once

#include <linux/perf_event.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/sampler.h"

namespace gosym {

// The bytes [from, to) of a ring, whose size is a power of two, in one piece: in place, or put
// together in `copy` where they run over its end.
Bytes unwrap(Bytes ring, uint64_t from, uint64_t to, std::vector<std::byte>& copy);

// A perf event and the ring that the kernel writes its records to, mapped.
class PerfRing {
public:
  // Takes over `event`. Where the user may not lock so much memory the ring is smaller.
  static Result<std::unique_ptr<PerfRing>> map(UniqueFd event, size_t size);
  ~PerfRing();
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  int fd() const { return event_.get(); }

  // Looks how far the kernel has written: next() gives all records until there.
  void read();
  // Valid until the one after it; none behind the last, or where none can be found any more.
  std::optional<Bytes> next();
  bool is_at_end() const { return next_ == head_; }
  // Makes room: all that was there at the last read() is done with.
  void consume();

private:
  PerfRing(UniqueFd event, std::byte* pages, size_t size)
      : event_(std::move(event)), pages_(pages), size_(size) {}
  Bytes ring() const;
  perf_event_mmap_page& control() { return *reinterpret_cast<perf_event_mmap_page*>(pages_); }

  UniqueFd event_;
  std::byte* pages_;   // the control page, then the ring
  size_t size_;        // of the ring, in bytes
  uint64_t head_ = 0;  // where the last read() found the end
  uint64_t next_ = 0;  // record
  std::vector<std::byte> copy_;
};

// The events that the options ask for, or else cycles where the machine can count them, which
// many virtual ones cannot, and the CPU clock where it cannot.
Result<std::vector<EventType>> choose_events(const SamplerOptions& options);

// Its records have the trailer and the clock of sideband_record.h.
perf_event_attr timed_event(const EventType& event);
// Lets it tell of mappings, names, forks and ends too.
void tell_of_processes(perf_event_attr& attr);

// A timed event that takes samples as the options say, not enabled yet.
perf_event_attr sampling_event(const EventType& event, const SamplerOptions& options);

// Nanoseconds from one sample to the next, of a clock; 0: the event is none.
uint64_t tick_of(const EventType& event, const SamplerOptions& options);

// Describes an event for the recording: either the frequency or the period is 0.
RecordedEvent to_recorded(const EventType& event, const SamplerOptions& options);

inline constexpr pid_t kAnyThread = -1;

// On a CPU, for a thread or for whatever runs there; with PERF_FLAG_PID_CGROUP the thread is a
// descriptor of a cgroup's directory. errno says why there is none.
UniqueFd open_perf_event(perf_event_attr attr, uint32_t cpu, pid_t thread = kAnyThread,
                         unsigned long flags = 0);

// True for the errno that perf_event_open(2) gives where there is no such counter.
bool is_missing_event(int cause);

}  // namespace gosym
