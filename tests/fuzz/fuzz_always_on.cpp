#include <cassert>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "commands/recordings.h"
#include "model/workload.h"
#include "record/recording_directory.h"
#include "record/trigger.h"

// Paths of cgroups, names in a directory of recordings, and what the kernel tells of pressure: no
// crash, and what has a name has it again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = gosym::as_text(std::as_bytes(std::span(data, size)));
  gosym::Workload workload = gosym::workload_of(text);
  assert(workload.container.size() <= size && workload.unit.size() <= size);
  if (auto name = gosym::parse_recording_name(text))
    assert(name->number >= 1);
  (void)gosym::parse_retention(text);
  (void)gosym::parse_moment(text, uint64_t{1'795'352'400} * 1'000'000'000);
  (void)gosym::parse_span(text, uint64_t{1'795'352'400} * 1'000'000'000);
  (void)gosym::parse_pressure(text, true);
  (void)gosym::parse_cpu_ticks(text);
  return 0;
}
