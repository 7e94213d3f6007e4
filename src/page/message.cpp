#include "page/message.h"

#include <tsl/robin_map.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>
#include <new>
#include <optional>
#include <string_view>

#include "base/protobuf_fields.h"
#include "base/sequence_pool.h"
#include "base/text.h"

namespace gosym::page {

namespace {

// The numbers are those of page.proto.
struct Fields {
  static void visit(auto& field, Either<Origin> auto& origin) {
    field(1, origin.gosym_version);
    field(2, origin.host);
    field(3, origin.kernel_release);
    field(4, origin.machine);
    field(5, origin.command_line);
    field(6, origin.selection);
    field(7, origin.cpu_count);
    field.fixed(8, origin.start_realtime_ns);
    field(9, origin.duration_ns);
    field(10, origin.time_step_ns);
    field(11, origin.sampler);
    field(12, origin.has_user);
    field(13, origin.has_kernel);
    field(14, origin.is_system_wide);
    field(15, origin.lost_events);
    field(16, origin.source);
    field(17, origin.lacks_counts);
    field(18, origin.compared_per);
    field(19, origin.scale_before);
    field(20, origin.idle_ns);
  }

  static void visit(auto& field, Either<Event> auto& event) {
    field(1, event.name);
    field(2, event.frequency);
    field(3, event.period);
    field(4, event.unit_ns);
    field(5, event.unit_events);
    field(6, event.lost_samples);
    field(7, event.repaired);
    field(8, event.cut);
    field(9, event.unknown);
    field(10, event.deep);
    field(11, event.bridged);
    field(12, event.recorded_samples);
    field(13, event.skipped_ticks);
    field(14, event.throttled_ns);
    field(15, event.lost_ns);
    field(16, event.recorded_amount);
    field(17, event.is_weighted);
    field(18, event.amount);
    field(19, event.unit);
    field(20, event.walked_samples);
  }

  static void visit(auto& field, Either<Recording> auto& recording) {
    field(1, recording.name);
    field(2, recording.host);
    field.fixed(3, recording.start_realtime_ns);
    field(4, recording.duration_ns);
    field(5, recording.command_line);
  }

  static void visit(auto& field, Either<Side> auto& side) {
    field(1, side.origin);
    field(2, side.event);
    field(3, side.recordings);
  }

  static void visit(auto& field, Either<Texts> auto& texts) {
    field(1, texts.shared);
    field(2, texts.rest);
    field(3, texts.bytes);
  }

  static void visit(auto& field, Either<Module> auto& module) {
    field(1, module.path);
    field(2, module.kind);
    field(3, module.gnu_build_id);
    field(4, module.go_build_id);
    field(5, module.debug_package);
    field(6, module.own_modules);
    field(7, module.is_executable);
    field(8, module.has_sources);
  }

  static void visit(auto& field, Either<Functions> auto& functions) {
    field(1, functions.name);
    field(2, functions.system_name);
    field(3, functions.file);
    field(4, functions.start_line);
    field(5, functions.package);
    field(6, functions.declared);
  }

  static void visit(auto& field, Either<Frames> auto& frames) {
    field(1, frames.function);
    field(2, frames.line);
    field(3, frames.module);
    field(4, frames.source);
    field(5, frames.kind);
    field(6, frames.is_inlined);
    field(7, frames.unnamed);
    field(8, frames.text);
    field(9, frames.left_out);
    field(10, frames.category);
    field(11, frames.category_kind);
    field(12, frames.is_own);
  }

  static void visit(auto& field, Either<Tree> auto& tree) {
    field(1, tree.up);
    field(2, tree.added);
    field(3, tree.samples);
    field(4, tree.next);
    field(5, tree.first);
    field(6, tree.root_samples);
  }

  static void visit(auto& field, Either<Owners> auto& owners) {
    field(1, owners.event);
    field(2, owners.pid);
    field(3, owners.tid);
    field(4, owners.comm);
    field(5, owners.cgroup);
    field(6, owners.label_set);
    field(7, owners.recording);
    field(8, owners.state);
    field(9, owners.waker);
    field(10, owners.process);
  }

  static void visit(auto& field, Either<LabelSet> auto& labels) {
    field(1, labels.key);
    field(2, labels.value);
  }

  static void visit(auto& field, Either<Samples> auto& samples) {
    field(1, samples.owner);
    field(2, samples.step);
    field(3, samples.count);
    field(4, samples.weight);
    field(5, samples.skipped);
  }

  static void visit(auto& field, Either<Source> auto& source) {
    field(1, source.file);
    field(2, source.text);
  }

  static void visit(auto& field, Either<Note> auto& note) {
    field(1, note.title);
    field(2, note.text);
  }

  static void visit(auto& field, Either<Page> auto& page) {
    field(1, page.version);
    field(2, page.origin);
    field(3, page.events);
    field(4, page.recordings);
    field(5, page.texts);
    field(6, page.modules);
    field(7, page.functions);
    field(8, page.frames);
    field(9, page.tree);
    field(10, page.owners);
    field(11, page.label_sets);
    field(12, page.samples);
    field(13, page.notes);
    field(14, page.sides);
    field(15, page.sources);
  }
};

}  // namespace

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

// Modulo 2^32, so that any two numbers have one: 0, -1, 1, -2, … are 0, 1, 2, 3, …
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

// The columns of frames that most frames of a function have alike.
auto common_columns(Frames& frames) {
  return std::array{&frames.module,        &frames.source, &frames.kind,     &frames.is_inlined,
                    &frames.unnamed,       &frames.text,   &frames.left_out, &frames.category,
                    &frames.category_kind, &frames.is_own};
}

template <class T>
Result<> fill(std::string_view table, std::vector<T>& column, size_t rows) {
  if (column.empty())
    column.resize(rows);
  if (column.size() != rows)
    return errorf("{}: columns of different lengths", table);
  return Ok{};
}

// All columns of a table are as long as the first.
template <class... Columns>
Result<> fill_table(std::string_view table, const Column& first, Columns&... columns) {
  Result<> result = Ok{};
  ((result = result ? fill(table, columns, first.size()) : std::move(result)), ...);
  return result;
}

}  // namespace

void shorten(Page& page) {
  Frames& frames = page.frames;
  Functions& functions = page.functions;
  // The order matters: a column that others are told by, such as frames.function, is changed
  // after them. restore() goes the other way round.
  for (Column* column : common_columns(frames)) {
    to_differences(*column, AsLastOf(frames.function));
    drop_zeros(*column);
  }
  to_differences(frames.line, AsLastOf(frames.function, &functions.start_line));
  to_differences(frames.function, NextNew());
  for (Column* column : {&functions.package, &functions.declared})
    to_differences(*column, AsLastOf(functions.file));
  to_differences(functions.file, AsBefore());
  for (Column* column : {&functions.system_name, &functions.file, &functions.start_line,
                         &functions.package, &functions.declared, &frames.line})
    drop_zeros(*column);
  to_differences(page.tree.first, NextNew());

  Samples& samples = page.samples;
  to_differences(samples.step, AsLastOf(samples.owner));
  to_differences(samples.owner, AsBefore());
  for (Column* column : {&samples.step, &samples.count})
    drop_zeros(*column);
  // A column of zeros is absent. The first of each table stays, as it tells the number of rows.
  drop_zeros(samples.weight);
  drop_zeros(samples.skipped);

  Owners& owners = page.owners;
  for (Column* column :
       {&owners.pid, &owners.tid, &owners.comm, &owners.cgroup, &owners.label_set,
        &owners.recording, &owners.state, &owners.waker, &owners.process})
    drop_zeros(*column);
}

Result<> restore(Page& page) {
  Functions& functions = page.functions;
  Frames& frames = page.frames;
  Samples& samples = page.samples;
  Result<> filled = fill_table("functions", functions.name, functions.file, functions.package,
                               functions.start_line, functions.declared);
  // Columns that are absent are zeros, but differences are to be undone in them all the same.
  if (filled)
    filled = fill_table("frames", frames.function, frames.line);
  for (Column* column : common_columns(frames))
    if (filled)
      filled = fill_table("frames", frames.function, *column);
  if (filled)
    filled = fill_table("samples", samples.owner, samples.step);
  if (!filled)
    return filled;

  from_differences(functions.file, AsBefore());
  for (Column* column : {&functions.package, &functions.declared})
    from_differences(*column, AsLastOf(functions.file));
  from_differences(frames.function, NextNew());
  from_differences(frames.line, AsLastOf(frames.function, &functions.start_line));
  for (Column* column : common_columns(frames))
    from_differences(*column, AsLastOf(frames.function));
  from_differences(page.tree.first, NextNew());
  from_differences(samples.owner, AsBefore());
  from_differences(samples.step, AsLastOf(samples.owner));
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
  // zlib counts in 32 bits.
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
