#include <cassert>

#include "proc/cpu_time.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "record/perf/call_chain_sampler.h"
#include "record/sideband_record.h"

// Texts of /proc and records of perf events: no crash, and what is walked gets shorter.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gosym::Bytes bytes = std::as_bytes(std::span(data, size));
  if (auto entries = gosym::proc::parse_maps(gosym::as_text(bytes)))
    for (const gosym::proc::MapsEntry& entry : *entries)
      assert(entry.start < entry.end && entry.path.size() <= size);
  (void)gosym::proc::parse_status(gosym::as_text(bytes));
  (void)gosym::proc::parse_start_time(gosym::as_text(bytes), 100);
  (void)gosym::proc::parse_thread_time(gosym::as_text(bytes));
  (void)gosym::proc::parse_cgroup_time(gosym::as_text(bytes));
  constexpr uint32_t kCpus[] = {0, 1};
  (void)gosym::proc::parse_idle_time(gosym::as_text(bytes), kCpus, 100);
  while (auto record = gosym::first_record(bytes)) {
    assert(!record->empty());
    (void)gosym::parse_sideband_record(*record);
    for (bool has_period : {false, true})
      if (auto sample = gosym::parse_call_chain(*record, has_period))
        assert(8 * (sample->user_stack.size() + sample->top.size()) < record->size());
    bytes = gosym::tail(bytes, record->size());
  }
  return 0;
}
