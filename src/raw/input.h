#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym::raw {

// The bytes of a recording, of which only what is asked for need be in memory. They are read
// and not mapped: a file may be cut while we look at it.
class Input {
public:
  // Says how much of a stream is read, by some kilobytes that it begins with, or by all of it.
  using StreamLimit = std::function<uint64_t(std::string_view begin)>;
  // All of a recording. Of what is none the start is enough to say so: it may have no end.
  static uint64_t limit_of_recording(std::string_view begin);

  // "-" is standard input, which is copied to a file without a name that takes no memory, and
  // so is a FIFO. An error does not repeat the path.
  static Result<std::shared_ptr<const Input>> open(
      const std::string& path, const StreamLimit& limit = limit_of_recording);
  explicit Input(std::string memory) : memory_(std::move(memory)), size_(memory_.size()) {}

  // As it was when it was opened.
  uint64_t size() const { return size_; }

  // Fills `out` from this place on; how much of it there was.
  size_t read(uint64_t offset, std::span<char> out) const;

private:
  Input(UniqueFd file, uint64_t size) : file_(std::move(file)), size_(size) {}

  UniqueFd file_;  // none: it is in memory
  std::string memory_;
  uint64_t size_;
};

}  // namespace gosym::raw
