#include <cassert>

#include "raw/archived_files.h"
#include "raw/messages.h"
#include "raw/reader.h"
#include "raw/sample_batch.h"

using namespace gosym;

namespace {

void check_samples(const Result<raw::SampleBatch>& batch) {
  if (!batch)
    return;
  for (const auto& row : batch->rows())
    assert(row.kernel_index < batch->stack_count() && row.user_index < batch->stack_count());
  assert(raw::SampleBatch::decode(as_bytes(batch->encode())));
}

void check_files(const raw::Recording& recording) {
  std::map<ImageId, const RecordedImage*> images;
  for (const RecordedImage& image : recording.images)
    images[image.id] = &image;
  for (const auto& [id, file] :
       raw::open_archived_files(recording.piece_chunks, images, 1 << 28).files)
    assert(file && images.contains(id));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes input = std::as_bytes(std::span(data, size));
  if (auto recording = raw::parse(input)) {
    assert(recording->damaged_bytes <= size);
    raw::StackTreeReader stacks;
    for (const auto& chunk : recording->sample_chunks)
      check_samples(raw::read_samples(chunk, stacks));
    check_files(*recording);
  }
  // Few inputs have their checksums right, so each payload is tried on its own as well.
  check_samples(raw::SampleBatch::decode(input));
  (void)raw::decode_info(input);
  (void)raw::decode_image(input);
  (void)raw::decode_events(input);
  (void)raw::decode_perf_map(input);
  (void)raw::decode_piece(input);
  (void)raw::decode_stats(input);
  (void)raw::decode_contents(input);
  (void)raw::decode_end(input);
  return 0;
}
