#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "images/recorded_binary.h"
#include "model/recording.h"

namespace gosym {

// Numbers of images over several recordings: the same for files that are equal.
class ImageNumbers {
public:
  ImageId of(const RecordedImage& image) {
    return numbers_.try_emplace(ImageIdentity(image), static_cast<ImageId>(numbers_.size() + 1))
        .first->second;
  }

private:
  std::map<ImageIdentity, ImageId> numbers_;
};

// Things of the images of a recording that are dear to make, kept from one profile to the next
// as long as profiles need them.
template <class Thing>
class KeptByImage {
public:
  // Null if there is none.
  std::shared_ptr<Thing> find(ImageId image) {
    auto known = kept_.find(image);
    if (known == kept_.end())
      return nullptr;
    known->second.used_by = profile_;
    return known->second.thing;
  }
  void keep(ImageId image, std::shared_ptr<Thing> thing) {
    kept_.insert_or_assign(image, Kept{std::move(thing), profile_});
  }
  void forget(ImageId image) { kept_.erase(image); }
  // Calls `visit(thing)` for each.
  template <class Visitor>
  void for_each(const Visitor& visit) const {
    for (const auto& [image, kept] : kept_)
      visit(*kept.thing);
  }
  // True: some have gone.
  bool begin_profile() {
    profile_++;
    return 0 < std::erase_if(kept_, [this](const auto& entry) {
             return entry.second.used_by + kMaxUnused < profile_;
           });
  }

private:
  // Tests of a C++ program, each with hundreds of megabytes of debugging information, may run
  // for a moment each.
  static constexpr uint64_t kMaxUnused = 5;
  struct Kept {
    std::shared_ptr<Thing> thing;
    uint64_t used_by = 0;  // the last profile
  };
  std::map<ImageId, Kept> kept_;
  uint64_t profile_ = 0;
};

// The binaries of a recording: each is opened, told from others and parsed once, for whoever
// walks stacks and whoever names code. It serves several profiles, of one recording that still
// goes on, or of several recordings, in all of which an image has the same number.
class ImageCache {
public:
  // For several recordings, whose own numbers are replaced.
  std::optional<ImageNumbers> numbers;
  // Files that the recording keeps, and why some are not kept, or not whole.
  HeldFiles held;
  std::map<ImageId, std::string> file_problems;

  // open_recorded_binary(), remembered. An image without a number is opened anew each time.
  RecordedBinary open(const RecordedImage& image, const DebugFileOptions& options);
  void forget(ImageId image) { opened_.forget(image); }
  // True: some files were closed.
  bool begin_profile() { return opened_.begin_profile(); }
  // Gives back the memory of what was read of the files, which stay open.
  void forget_pages() const;

private:
  struct Opened {
    RecordedBinary binary;
    bool is_held = false;  // it is one of those that the recording keeps
  };
  KeptByImage<Opened> opened_;
};

}  // namespace gosym
