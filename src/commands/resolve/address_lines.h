#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace gosym {

// Hexadecimal addresses from a stream, one a line; blank lines are passed over. What has come
// is given before more is waited for, so that a program can hold a conversation.
class AddressLines {
public:
  // Messages call the stream "standard input".
  explicit AddressLines(int stream) : stream_(stream) {}

  // Those of all lines that are there, at least one; none at the end. A line that is no address
  // is an error, once those before it are given.
  Result<std::vector<uint64_t>> next();

private:
  Result<> take(std::vector<uint64_t>& addresses);
  Result<> read_more();

  int stream_;
  std::string pending_;
  uint64_t line_number_ = 0;  // of the last line that was taken
  bool is_end_ = false;
};

}  // namespace gosym
