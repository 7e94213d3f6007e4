#include <cassert>

#include "base/bytes.h"
#include "exchange/input_kind.h"
#include "output/folded.h"
#include "output/pprof.h"
#include "output/write.h"

namespace {

// The sum of all values of all samples, whichever events these are of.
uint64_t sum_of_all_values(const gosym::Profile& profile) {
  uint64_t sum = 0;
  for (const gosym::SampleCount& sample : profile.samples) {
    sum += profile.amount(sample);
    for (uint64_t amount : profile.others_of(sample))
      sum += amount;
  }
  return sum;
}

}  // namespace

// Whatever a file says, what is made of it refers to nothing that is not there: it can be
// written, and what was written is read again with the same sum.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gosym;
  constexpr uint64_t kBudget = 64 << 20;
  std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  InputKind kind = detect_input_kind(text);
  if (kind == InputKind::kRecording)
    return 0;
  auto profile = read_profile(kind, text, kBudget);
  if (!profile)
    return 0;
  size_t folded = 0;
  write_folded(*profile, [&](std::string_view line) {
    folded += line.size();
    return folded < kBudget;
  });
  std::string pprof = written_by(encode_pprof, *profile);
  auto again = read_profile(InputKind::kPprof, pprof, 16 * kBudget);
  assert(again);
  assert(profile->samples.empty() || sum_of_all_values(*again) == sum_of_all_values(*profile));
  return 0;
}
