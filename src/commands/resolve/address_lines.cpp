#include "commands/resolve/address_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "commands/resolve/build_id_names.h"

namespace gosym {

namespace {

// A longer line is no address; the limit keeps memory small whatever comes in.
constexpr size_t kLongestLine = 4096;
// Bytes that are read at once. The more addresses are answered together, in order, the less of
// the tables that name them is read twice.
constexpr size_t kChunk = 256 << 10;

}  // namespace

AddressLines::AddressLines(int stream)
    : ItemLines(
          stream,
          [](std::string_view line) {
            auto address = parse_hex(take_word(line));
            return take_word(line).empty() ? address : std::nullopt;
          },
          "a hexadecimal address") {}

template <class Item>
Result<std::vector<Item>> ItemLines<Item>::next() {
  std::vector<Item> items;
  while (true) {
    auto taken = take(items);
    if (!items.empty())
      return items;
    if (!taken)
      return std::move(taken).error();
    if (is_end_)
      return items;
    if (auto read = read_more(); !read)
      return std::move(read).error();
  }
}

// Whole lines, up to the first that is wrong: it stays, and is met again.
template <class Item>
Result<> ItemLines<Item>::take(std::vector<Item>& items) {
  std::string_view rest = pending_;
  Result<> result = Ok{};
  while (rest.find('\n') != std::string_view::npos || (is_end_ && !rest.empty())) {
    std::string_view after = rest;
    std::string_view line = take_line(after);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    auto item = parse_(line);
    std::string_view word = take_word(line);
    if (!word.empty() && !item) {
      result = errorf("standard input, line {}: '{}' is not {}", line_number_ + 1,
                      printable(word), what_);
      break;
    }
    if (item)
      items.push_back(*std::move(item));
    line_number_++;
    rest = after;
  }
  pending_.erase(0, pending_.size() - rest.size());
  return result;
}

template <class Item>
Result<> ItemLines<Item>::read_more() {
  if (pending_.size() > kLongestLine)
    return errorf("standard input, line {}: longer than {} bytes", line_number_ + 1,
                  kLongestLine);
  size_t old_size = pending_.size();
  pending_.resize(old_size + kChunk);
  ssize_t count = 0;
  do
    count = read(stream_, pending_.data() + old_size, kChunk);
  while (count < 0 && errno == EINTR);
  pending_.resize(old_size + static_cast<size_t>(std::max(count, ssize_t{0})));
  if (count < 0)
    return system_error("cannot read standard input", errno);
  is_end_ = count == 0;
  return Ok{};
}

template class ItemLines<uint64_t>;
template class ItemLines<CodePlace>;

}  // namespace gosym
