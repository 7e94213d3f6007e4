#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym::raw {

// The bytes of a recording, of which only what is asked for need be in memory. They are read
// and not mapped: a file may be cut while we look at it.
class Input {
public:
  // "-" is standard input, which is copied to a file without a name that takes no memory. An
  // error does not repeat the path.
  static Result<std::shared_ptr<const Input>> open(const std::string& path);
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
