#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym {

// Items from a stream, one a line; blank lines are passed over. What has come is given before
// more is waited for, so that a program can hold a conversation.
template <class Item>
class ItemLines {
public:
  using Parse = std::function<std::optional<Item>(std::string_view line)>;

  // Messages call the stream "standard input", and a line that is none "not `what`".
  ItemLines(int stream, Parse parse, std::string what)
      : stream_(stream), parse_(std::move(parse)), what_(std::move(what)) {}

  // All whose lines are there, at least one; none at the end. A line that is no item is
  // an error, once those before it are given.
  Result<std::vector<Item>> next();

private:
  Result<> take(std::vector<Item>& items);
  Result<> read_more();

  int stream_;
  Parse parse_;
  std::string what_;
  std::string pending_;
  uint64_t line_number_ = 0;  // of the last line that was taken
  bool is_end_ = false;
};

// Hexadecimal addresses.
class AddressLines : public ItemLines<uint64_t> {
public:
  explicit AddressLines(int stream);
};

}  // namespace gosym
