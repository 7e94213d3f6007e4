#include "output/folded.h"
#include "output/pprof.h"
#include "perf_data/reader.h"
#include "raw/replay_recording.h"

// Whatever a perf.data file says, the recording that is made of it has what its samples and
// events refer to, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gosym;
  constexpr uint64_t kMostMemory = 64 << 20;
  raw::Input input(std::string(as_text(std::as_bytes(std::span(data, size)))));
  // No file lies below that folder: the paths are the input's.
  auto read = perf_data::read(input, kMostMemory, {.symfs = "/no/such/folder"}, {});
  if (!read)
    return 0;
  auto replayed = replay(read->recording, {}, {});
  if (!replayed)
    return 0;
  write_folded(replayed->profile, [](std::string_view) { return true; });
  encode_pprof(replayed->profile, [](std::string_view) { return true; });
  return 0;
}
