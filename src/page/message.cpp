#include "page/message.h"

#include <tsl/robin_map.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <new>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/sequence_pool.h"
#include "base/text.h"

// A page goes through four layers, each with its way back: columns become differences
// (shorten(), restore()), the message becomes bytes (encode_message(), decode_message()),
// these are deflated, and the result is written in digits that HTML leaves alone (packed(),
// unpacked()).
namespace gosym::page {

std::string encode(Page page) {
  shorten(page);
  return encode_message<Fields>(page);
}

Result<Page> decode(Bytes message) {
  auto page = decode_message<Fields, Page>(message);
  if (!page)
    return page;
  if (page->version != kVersion)
    return errorf("a page of version {}, where this gosym reads version {}", page->version,
                  kVersion);
  if (auto restored = restore(*page); !restored)
    return std::move(restored).error();
  return page;
}

namespace {

// Modulo 2^32, so that any two numbers have one: 0, -1, 1, -2, … are 0, 1, 2, 3, … Small
// differences of either sign then are varints of one byte.
uint32_t zigzag(uint32_t difference) {
  return difference << 1 ^ (difference >> 31 ? UINT32_MAX : 0);
}

uint32_t from_zigzag(uint32_t coded) {
  return coded >> 1 ^ (coded & 1 ? UINT32_MAX : 0);
}

// Predictors of the value in a row of a column. Each has likely(row), and learns the value.

// A number that has not been there: numbers are given in the order of their first time.
class NextNew {
public:
  uint32_t likely(size_t) const { return next_; }
  void learn(size_t, uint32_t value) { next_ = std::max(next_, value + 1); }

private:
  uint32_t next_ = 0;
};

class AsBefore {
public:
  uint32_t likely(size_t) const { return before_; }
  void learn(size_t, uint32_t value) { before_ = value; }

private:
  uint32_t before_ = 0;
};

// Predicts the value of the last row that has the same in column `by`. The first time it
// predicts that of the row before, or that of `first`, which has a row for each number of `by`
// from 1 on.
class AsLastOf {
public:
  explicit AsLastOf(const Column& by, const Column* first = nullptr) : by_(by), first_(first) {}

  uint32_t likely(size_t row) const {
    uint32_t key = by_[row];
    if (auto last = last_.find(key); last != last_.end())
      return last->second;
    return first_ && key > 0 && key <= first_->size() ? (*first_)[key - 1] : before_;
  }

  void learn(size_t row, uint32_t value) {
    last_.insert_or_assign(by_[row], value);
    before_ = value;
  }

private:
  const Column& by_;
  const Column* first_;
  tsl::robin_map<uint32_t, uint32_t, BytesHash> last_;
  uint32_t before_ = 0;
};

template <class Predictor>
void to_differences(Column& column, Predictor predictor) {
  for (size_t row = 0; row < column.size(); row++) {
    uint32_t value = column[row];
    column[row] = zigzag(value - predictor.likely(row));
    predictor.learn(row, value);
  }
}

template <class Predictor>
void from_differences(Column& column, Predictor predictor) {
  for (size_t row = 0; row < column.size(); row++) {
    column[row] = from_zigzag(column[row]) + predictor.likely(row);
    predictor.learn(row, column[row]);
  }
}

template <class T>
void drop_zeros(std::vector<T>& column) {
  if (std::ranges::all_of(column, [](T value) { return value == 0; }))
    column.clear();
}

// Calls `use(predictor)` with that of a column.
template <class Use>
void with_predictor(const Coding& coding, Page& page, Use use) {
  switch (coding.kind) {
    case Coding::Kind::kBefore:
      return use(AsBefore());
    case Coding::Kind::kNext:
      return use(NextNew());
    // Column `by` has its values when this is used: see shorten() and restore() for the order.
    // It is of the same table and has a coding of its own, so that it has as many rows.
    case Coding::Kind::kLastOf:
      return use(AsLastOf(coding.by(page), coding.first ? &coding.first(page) : nullptr));
  }
}

// Differences are to be undone in columns that are absent, too: they are zeros.
bool has_rows(Column& column, size_t rows) {
  if (column.empty())
    column.resize(rows);
  return column.size() == rows;
}

}  // namespace

void shorten(Page& page) {
  // Backwards: a column by which others are told is changed after them.
  for (auto coding = std::rbegin(kCodings); coding != std::rend(kCodings); coding++)
    with_predictor(*coding, page, [&](auto predictor) {
      to_differences(coding->column(page), std::move(predictor));
    });
  // A column of zeros is absent. The first of each table stays, as it tells the number of rows.
  for_each_table(page, [](std::string_view, auto& table) {
    bool is_first = true;
    for_each_column(table, [&](std::string_view, auto& column) {
      if (!std::exchange(is_first, false))
        drop_zeros(column);
    });
  });
}

Result<> restore(Page& page) {
  for (const Coding& coding : kCodings) {
    // Columns of Tree have no `rows`: it is no table, and they differ in length.
    if ((coding.rows && !has_rows(coding.column(page), coding.rows(page).size())) ||
        (coding.first && !has_rows(coding.first(page), coding.first_rows(page).size())))
      return errorf("{}: columns of different lengths", coding.table);
    with_predictor(coding, page, [&](auto predictor) {
      from_differences(coding.column(page), std::move(predictor));
    });
  }
  return Ok{};
}

namespace {

// The printable characters of ASCII, without space and those that are special in HTML.
constexpr std::string_view kDigits =
    "!\"#$%'()*+,-./"
    "0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
constexpr uint32_t kBase = 91;
static_assert(kDigits.size() == kBase);
// Bits of a pair of digits, as 91 * 91 is 8,281, and of a single digit at the end.
constexpr uint32_t kPairBits = 13;
constexpr uint32_t kSingleBits = 6;

// Whoever opens the file in an editor has no line that is too long for it.
constexpr size_t kLineDigits = 1000;

std::string deflated(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();  // the only reason there is
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  size_t room = result.size();
  int status = Z_OK;
  // zlib counts in 32 bits. A call takes half of these at the most, so that what it makes of
  // them has room in them.
  while (status == Z_OK) {
    auto in = static_cast<uInt>(std::min<size_t>(bytes.size(), UINT_MAX / 2));
    auto out = static_cast<uInt>(std::min<size_t>(room, UINT_MAX));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = in;
    stream.avail_out = out;
    status = deflate(&stream, in == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes.remove_prefix(in - stream.avail_in);
    room -= out - stream.avail_out;
  }
  result.resize(result.size() - room);
  deflateEnd(&stream);
  return result;
}

std::string in_digits(std::string_view bytes) {
  std::string text;
  auto add = [&](uint32_t digit) {
    text += kDigits[digit];
    if (text.size() % (kLineDigits + 1) == kLineDigits)
      text += '\n';
  };
  uint32_t bits = 0;
  uint32_t count = 0;
  auto add_pair = [&] {
    uint32_t value = bits & ((1 << kPairBits) - 1);
    add(value / kBase);
    add(value % kBase);
    bits >>= kPairBits;
  };
  for (char byte : bytes) {
    // At most 12 bits are left over, and 8 come: 32 bits have room for both, and there is one
    // pair at the most to write.
    bits |= static_cast<uint32_t>(static_cast<uint8_t>(byte)) << count;
    count += 8;
    if (count < kPairBits)
      continue;
    add_pair();
    count -= kPairBits;
  }
  // Up to kSingleBits fit into one digit.
  if (count > kSingleBits)
    add_pair();
  else if (count > 0)
    add(bits);
  return text;
}

// White space between the digits means nothing.
std::optional<std::string> from_digits(std::string_view text) {
  // The value of each character, -1 of those that are no digit.
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); i++)
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  std::string bytes;
  uint32_t bits = 0;
  uint32_t count = 0;
  auto add = [&](uint32_t value, uint32_t size) {
    bits |= value << count;
    for (count += size; count >= 8; count -= 8, bits >>= 8)
      bytes += static_cast<char>(bits & 0xff);
  };
  std::optional<uint32_t> first;  // of a pair
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
      continue;
    int8_t value = values[static_cast<uint8_t>(c)];
    if (value < 0)
      return std::nullopt;
    if (!first) {
      first = static_cast<uint32_t>(value);
      continue;
    }
    uint32_t pair = *first * kBase + static_cast<uint32_t>(value);
    // 91 * 91 is more than 2^13: pairs beyond it are no pairs of ours.
    if (pair >> kPairBits)
      return std::nullopt;
    add(pair, kPairBits);
    first.reset();
  }
  if (first && *first >> kSingleBits)
    return std::nullopt;
  if (first)
    add(*first, kSingleBits);
  return bytes;
}

}  // namespace

std::string packed(std::string_view bytes) {
  return in_digits(deflated(bytes));
}

Result<std::string> unpacked(std::string_view text, uint64_t max_size) {
  auto bytes = from_digits(text);
  if (!bytes)
    return Error(
        "the profile in it has other characters than a page has: the file is damaged or cut "
        "short");
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    throw std::bad_alloc();  // the only reason there is
  std::string result;
  std::string room(1 << 16, '\0');
  std::string_view rest = *bytes;
  int status = Z_OK;
  // Input that is cut short ends it as well: inflate() then gives Z_BUF_ERROR.
  // Bounded after each step: a small page can unpack to a thousand times its size.
  while (status == Z_OK && result.size() <= max_size) {
    auto taken = static_cast<uInt>(std::min<size_t>(rest.size(), UINT_MAX));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream.avail_in = taken;
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    status = inflate(&stream, Z_NO_FLUSH);
    rest.remove_prefix(taken - stream.avail_in);
    result.append(room, 0, room.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result.size() > max_size)
    return errorf("the profile in it has more than {} unpacked, which none of its size has",
                  human_size(max_size));
  if (status != Z_STREAM_END || !rest.empty())
    return Error("the profile in it cannot be unpacked: the file is damaged or cut short");
  return result;
}

}  // namespace gosym::page
