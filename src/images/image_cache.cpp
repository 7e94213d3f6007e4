#include "images/image_cache.h"

namespace gosym {

RecordedBinary ImageCache::open(const RecordedImage& image, const DebugFileOptions& options) {
  // A recording that goes on may have come to keep the file since: that is the one that ran,
  // and is opened in place of the one at its path.
  bool is_held = held.contains(image.id);
  if (auto known = opened_.find(image.id); known && known->is_held == is_held)
    return known->binary;
  RecordedBinary opened = open_recorded_binary(image, options, held);
  // Images without a number all have this one: they cannot be told apart here.
  if (image.id != ImageId{})
    opened_.keep(image.id, std::make_shared<Opened>(Opened{opened, is_held}));
  return opened;
}

void ImageCache::forget_pages() const {
  opened_.for_each([](const Opened& opened) {
    if (opened.binary.binary)
      opened.binary.binary->forget_pages();
  });
}

}  // namespace gosym
