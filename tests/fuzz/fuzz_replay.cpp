#include <cassert>

#include "output/folded.h"
#include "output/pprof.h"
#include "output/report_json.h"
#include "output/text.h"
#include "profile/replay.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"
#include "unwind/unwind.h"
#include "view/selection.h"

using namespace gosym;

// The input is three payloads of a recording, an image, events and samples, each behind its
// size in one byte, save the last, which goes on to the end.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes rest = std::as_bytes(std::span(data, size));
  auto take = [&rest] {
    size_t wanted = rest.empty() ? 0 : 1 + std::to_integer<size_t>(rest[0]);
    Bytes taken = rest.first(std::min(wanted, rest.size()));
    rest = rest.subspan(taken.size());
    return tail(taken, 1);
  };
  auto image = raw::decode_image(take());
  auto events = raw::decode_events(take());
  auto batch = raw::SampleBatch::decode(rest);
  if (!image || !events || !batch)
    return 0;

  Replay replay({}, {*std::move(image)}, *std::move(events));
  for (const auto& row : batch->rows()) {
    RecordedSample sample = batch->sample(row);
    sample.event = 0;  // the info has one
    replay.add(sample);
  }
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  unwind(profile, dumps, "", {});
  assert(profile.total_count() == batch->rows().size());
  for (View view : {View::kSummary, View::kTree, View::kInverted, View::kCallers, View::kLines})
    (void)make_text(profile, {.view = view,
                              .function = *Pattern::parse("a"),
                              .is_verbose = true,
                              .screen = {.width = 60, .height = 20}});
  (void)make_report_json(profile, {});
  write_folded(profile, [](std::string_view) { return true; });
  encode_pprof(profile, [](std::string_view) { return true; });

  uint64_t all = profile.total_count();
  Selection selection;
  selection.hide.push_back(*Pattern::parse("0"));
  selection.has_kernel = false;
  select(profile, selection);
  assert(profile.total_count() <= all);
  return 0;
}
