#include "commands/resolve/address_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace gosym {

namespace {

// A longer line is no address; the limit keeps memory small whatever comes in.
constexpr size_t kLongestLine = 4096;
// As much is read at once. The more addresses are answered together, in order, the less of the
// tables that name them is read twice.
constexpr size_t kChunk = 256 << 10;

}  // namespace

Result<std::vector<uint64_t>> AddressLines::next() {
  std::vector<uint64_t> addresses;
  while (true) {
    auto taken = take(addresses);
    if (!addresses.empty())
      return addresses;
    if (!taken)
      return std::move(taken).error();
    if (is_end_)
      return addresses;
    if (auto read = read_more(); !read)
      return std::move(read).error();
  }
}

// Whole lines, up to the first that is wrong: it stays, and is met again.
Result<> AddressLines::take(std::vector<uint64_t>& addresses) {
  std::string_view rest = pending_;
  Result<> result = Ok{};
  while (rest.find('\n') != std::string_view::npos || (is_end_ && !rest.empty())) {
    std::string_view after = rest;
    std::string_view line = take_line(after);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    std::string_view word = take_word(line);
    auto address = parse_hex(word);
    if (!word.empty() && (!address || !take_word(line).empty())) {
      result = errorf("standard input, line {}: '{}' is not a hexadecimal address",
                      line_number_ + 1, printable(word));
      break;
    }
    if (address)
      addresses.push_back(*address);
    line_number_++;
    rest = after;
  }
  pending_.erase(0, pending_.size() - rest.size());
  return result;
}

Result<> AddressLines::read_more() {
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

}  // namespace gosym
