#include <cassert>

#include "base/bytes.h"
#include "proc/perf_map.h"

// No name that is not in the text, and none at an address that was not asked for.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = gosym::as_text(std::as_bytes(std::span(data, size)));
  const std::set<gosym::proc::PerfMapPlace> places = {
      {0}, {0x1000}, {0x1008}, {0x7f0000001000}, {UINT64_MAX}};
  for (const auto& [place, name] : gosym::proc::find_in_perf_map(text, places)) {
    assert(places.contains(place));
    assert(!name.empty() && name.data() >= text.data());
    assert(name.data() + name.size() < text.data() + text.size());
  }
  return 0;
}
