#include "perf_data/records.h"

#include <zstd.h>

#include <utility>

#include "perf_data/layout.h"
#include "record/sideband_record.h"

// Stored records come out of a buffer of 1 MiB that moves along the file. A COMPRESSED record
// is not passed on: its piece of the zstd stream is unpacked into `unpacked_`, out of which
// next() takes records until the piece is used up, and only then goes on in the file.
namespace gosym::perf_data {

namespace {

constexpr size_t kReadAtOnce = 1 << 20;
constexpr size_t kUnpackedAtOnce = 256 << 10;
constexpr size_t kRecordHeader = 8;

// The size of what follows a record and is no part of it.
uint64_t size_behind(Bytes record) {
  if (type_of(record) == kAuxTrace)
    return load<uint64_t>(record, kRecordHeader).value_or(0);
  // TRACING_DATA tells its size in 32 bits, AUXTRACE in 64 bits.
  uint64_t size = load<uint32_t>(record, kRecordHeader).value_or(0);
  return type_of(record) == kTracingData ? (size + 7) / 8 * 8 : 0;
}

// The piece of the stream in a record; none if this is of another type.
std::optional<Bytes> packed_in(Bytes record) {
  if (type_of(record) == kCompressed)
    return record.subspan(kRecordHeader);
  if (type_of(record) != kCompressed2)
    return std::nullopt;
  uint64_t size = load<uint64_t>(record, kRecordHeader).value_or(0);
  return slice(record, kRecordHeader + sizeof(size), size).value_or(Bytes());
}

}  // namespace

void Records::FreeContext::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

Records::Records(const raw::Input& file, uint64_t begin, uint64_t end)
    : file_(file), next_(begin), end_(std::min(end, file.size())) {}

Records::~Records() = default;

// So much of the file from the next place on is in the buffer, if there is as much.
bool Records::fill(size_t size) {
  if (size > end_ - std::min(next_, end_))
    return false;
  if (next_ >= buffer_begin_ && next_ - buffer_begin_ + size <= buffer_.size())
    return true;
  buffer_begin_ = next_;
  buffer_.resize(std::min<uint64_t>(kReadAtOnce, end_ - next_));
  buffer_.resize(file_.read(next_, buffer_));
  return size <= buffer_.size();
}

std::optional<Bytes> Records::next_stored() {
  if (next_ >= end_)
    return std::nullopt;
  uint64_t left = end_ - next_;
  auto at = [&] { return tail(as_bytes(buffer_), next_ - buffer_begin_); };
  auto give_up = [&] {
    damaged_bytes_ += left;
    next_ = end_;
  };
  if (!fill(kRecordHeader)) {
    give_up();
    return std::nullopt;
  }
  // The size is a u16 at the end of the header of 8 bytes. One that is too small, or reaches
  // beyond the file, leaves no way to find the next record.
  uint16_t size = load<uint16_t>(at(), 6).value_or(0);
  if (size < kRecordHeader || !fill(size)) {
    give_up();
    return std::nullopt;
  }
  Bytes record = at().first(size);
  // Traces of the hardware lie behind their record and are not counted in its size.
  uint64_t behind = size_behind(record);
  if (behind > left - size) {
    give_up();
    return std::nullopt;
  }
  next_ += size + behind;
  return record;
}

std::optional<Bytes> Records::next_unpacked() {
  // No record may just mean that its end has not been unpacked yet. A size below that of a
  // header cannot come right with more bytes.
  Bytes rest = tail(as_bytes(unpacked_), unpacked_at_);
  auto record = first_record(rest);
  if (record)
    unpacked_at_ += record->size();
  else if (rest.size() >= kRecordHeader && load<uint16_t>(rest, 6).value_or(0) < kRecordHeader)
    give_up_unpacking();
  return record;
}

void Records::give_up_unpacking() {
  damaged_bytes_ += packed_.size();
  is_broken_ = true;
  has_packed_ = false;
  unpacked_.clear();
  unpacked_at_ = 0;
}

// False if all that has come is unpacked.
bool Records::unpack_more() {
  if (!has_packed_)
    return false;
  // Records that were passed on go; the beginning of the next one stays, and is at most 64 KiB
  // long.
  unpacked_.erase(0, std::exchange(unpacked_at_, 0));
  size_t kept = unpacked_.size();
  unpacked_.resize(kept + kUnpackedAtOnce);
  // zstd goes on where it was, in the piece as in its window of what came before.
  ZSTD_outBuffer out = {unpacked_.data() + kept, kUnpackedAtOnce, 0};
  ZSTD_inBuffer in = {packed_.data(), packed_.size(), packed_at_};
  size_t status = ZSTD_decompressStream(zstd_.get(), &out, &in);
  packed_at_ = in.pos;
  unpacked_.resize(kept + out.pos);
  if (ZSTD_isError(status)) {
    give_up_unpacking();
    return false;
  }
  // There is more if the room was filled, or if input is left and the stream still moves.
  has_packed_ = out.pos == out.size || (in.pos < in.size && out.pos > 0);
  return true;
}

std::optional<Bytes> Records::next() {
  while (true) {
    if (auto record = next_unpacked())
      return record;
    // The compressed records are one stream of zstd: a record may begin in one and end in the
    // next.
    if (unpack_more())
      continue;
    auto record = next_stored();
    if (!record) {
      // The file has ended within a record: a recorder that was killed leaves such.
      damaged_bytes_ += unpacked_.size() - unpacked_at_;
      unpacked_.clear();
      unpacked_at_ = 0;
      return std::nullopt;
    }
    auto packed = packed_in(*record);
    if (!packed)
      return record;
    // Once it is broken nothing behind can be unpacked; what is not compressed can be read.
    if (is_broken_) {
      damaged_bytes_ += packed->size();
      continue;
    }
    if (!zstd_)
      zstd_.reset(ZSTD_createDCtx());
    packed_ = as_text(*packed);
    packed_at_ = 0;
    has_packed_ = !packed_.empty();
  }
}

}  // namespace gosym::perf_data
