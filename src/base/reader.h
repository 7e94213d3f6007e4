#pragma once

#include "base/bytes.h"
#include "base/result.h"

namespace gosym {

// A cursor over bytes we do not trust.
//
// The first read past the end fails the reader for good: from then on every read gives zero or
// nothing and the position stays. So a parser reads a whole record in a straight line and asks
// ok() once, before it believes any of it. It asks earlier only where a value it read bounds a
// loop, sizes an allocation or indexes a table.
class Reader {
public:
  explicit Reader(Bytes data, ByteOrder order = ByteOrder::kLittle)
      : data_(data), order_(order) {}

  bool ok() const { return !failed_; }
  size_t offset() const { return offset_; }
  size_t remaining() const { return data_.size() - offset_; }

  uint8_t u8() { return fixed<uint8_t>(); }
  uint16_t u16() { return fixed<uint16_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }

  // An integer as wide as a pointer of the image, 4 or 8 bytes.
  uint64_t word(uint8_t pointer_size) { return pointer_size == 4 ? u32() : u64(); }

  // LEB128 of at most 32 significant bits; more of them fail the reader.
  uint32_t uvarint32() {
    // Nearly all take one byte.
    if (!failed_ && offset_ < data_.size() && data_[offset_] < std::byte{0x80})
      return static_cast<uint32_t>(data_[offset_++]);
    return static_cast<uint32_t>(uvarint(5, UINT32_MAX));
  }
  // LEB128 of at most 64 significant bits.
  uint64_t uvarint64() { return uvarint(10, UINT64_MAX); }
  // Signed LEB128 of at most ten bytes; what does not fit in 64 bits is cut off.
  int64_t svarint64() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      uint8_t byte = u8();
      // The tenth byte begins at bit 63: the others of its bits are cut off.
      value |= uint64_t{byte & 0x7fu} << std::min(shift, 63u);
      if (byte >= 0x80)
        continue;
      bool is_negative = (byte & 0x40) != 0 && shift + 7 < 64;
      return static_cast<int64_t>(is_negative ? value | ~uint64_t{0} << (shift + 7) : value);
    }
    failed_ = true;
    return 0;
  }

  // The text up to its NUL, which is read too.
  std::string_view cstring() {
    auto text = load_cstring(data_, offset_);
    if (failed_ || !text) {
      failed_ = true;
      return {};
    }
    offset_ += text->size() + 1;
    return *text;
  }

  Bytes bytes(uint64_t count) {
    if (failed_ || count > remaining()) {
      failed_ = true;
      return {};
    }
    Bytes result = data_.subspan(offset_, count);
    offset_ += count;
    return result;
  }

  // Only when !ok(). `what` names the record being read: "pclntab header".
  Error error(std::string_view what) const {
    return errorf("{}: malformed or cut short at byte {:#x} of {:#x}", what, offset_,
                  data_.size());
  }

private:
  template <class T>
  T fixed() {
    auto value = failed_ ? std::nullopt : load<T>(data_, offset_, order_);
    if (!value) {
      failed_ = true;
      return 0;
    }
    offset_ += sizeof(T);
    return *value;
  }

  uint64_t uvarint(int max_bytes, uint64_t max_value) {
    uint64_t value = 0;
    for (int i = 0; i < max_bytes && !failed_ && offset_ < data_.size(); i++) {
      auto byte = std::to_integer<uint64_t>(data_[offset_++]);
      uint64_t bits = byte & 0x7f;
      // The tenth byte has room for one bit.
      if (i == 9 && bits > 1)
        break;
      value |= bits << (7 * i);
      if (byte < 0x80 && value <= max_value)
        return value;
    }
    failed_ = true;
    return 0;
  }

  Bytes data_;
  size_t offset_ = 0;
  ByteOrder order_;
  bool failed_ = false;
};

}  // namespace gosym
