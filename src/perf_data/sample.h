#pragma once

#include <linux/perf_event.h>

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace gosym::perf_data {

// A sample as its event's attr says that it is (perf_event_open(2), PERF_RECORD_SAMPLE).
struct Sample {
  uint16_t misc = 0;
  uint64_t ip = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;
  uint64_t cgroup = 0;
  std::vector<uint64_t> kernel_stack;
  std::vector<uint64_t> user_stack;
  // The user stack comes later, in a record with this number; none: it is here.
  std::optional<uint64_t> deferred;
  uint64_t register_abi = PERF_SAMPLE_REGS_ABI_NONE;
  std::vector<uint64_t> registers;  // by the bits of the attr's sample_regs_user
  Bytes stack;                      // from the stack pointer on
};

// Refers to the record.
Result<Sample> parse_sample(Bytes record, const perf_event_attr& attr);

// For a sample without a call chain.
void take_ip_as_stack(Sample& sample);

// The place of the event's number in a sample; none if it has none. It is the same for all
// events of a file.
std::optional<size_t> place_of_id(const perf_event_attr& attr);

// The fields that other records have at their end.
struct Trailer {
  uint64_t time = 0;
  uint32_t cpu = 0;
};
size_t trailer_size(const perf_event_attr& attr);
Trailer read_trailer(Bytes trailer, const perf_event_attr& attr);

}  // namespace gosym::perf_data
