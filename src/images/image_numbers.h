#pragma once

#include <compare>
#include <map>
#include <string>

#include "model/recording.h"

namespace gosym {

// Numbers of images over several recordings: the same for files that are equal.
class ImageNumbers {
public:
  ImageId of(const RecordedImage& image) {
    return numbers_.try_emplace(Identity(image), static_cast<ImageId>(numbers_.size() + 1))
        .first->second;
  }

private:
  // Copies of one build, on several hosts for one, are the same file. Without an id of the
  // build it is known by its size and time of change.
  struct Identity {
    explicit Identity(const RecordedImage& image)
        : path(image.path),
          build_id(image.gnu_build_id + image.go_build_id),
          size(image.size),
          mtime_ns(build_id.empty() ? image.mtime_ns : 0),
          is_deleted(image.is_deleted) {}
    auto operator<=>(const Identity&) const = default;

    std::string path;
    std::string build_id;
    uint64_t size;
    int64_t mtime_ns;
    bool is_deleted;
  };
  std::map<Identity, ImageId> numbers_;
};

}  // namespace gosym
