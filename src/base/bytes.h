#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace gosym {

// Bytes from outside: files, rings, /proc. Only this header and reader.h look into them.
using Bytes = std::span<const std::byte>;

enum class ByteOrder : uint8_t { kLittle, kBig };
static_assert(std::endian::native == std::endian::little, "loads below assume it");

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string_view as_text(Bytes data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// The bytes at [offset, offset + size), if they are all there.
inline std::optional<Bytes> slice(Bytes data, uint64_t offset, uint64_t size) {
  if (offset > data.size() || size > data.size() - offset)
    return std::nullopt;
  return data.subspan(offset, size);
}

// The bytes from `offset` on; none if it lies past the end.
inline Bytes tail(Bytes data, uint64_t offset) {
  return data.subspan(std::min<uint64_t>(offset, data.size()));
}

template <std::unsigned_integral T>
T byte_swap(T value) {
  if constexpr (sizeof(T) == 1)
    return value;
  else if constexpr (sizeof(T) == 2)
    return __builtin_bswap16(value);
  else if constexpr (sizeof(T) == 4)
    return __builtin_bswap32(value);
  else
    return __builtin_bswap64(value);
}

// The integer at `offset`, at any alignment; none if it is not all there.
template <std::unsigned_integral T>
inline std::optional<T> load(Bytes data, uint64_t offset,
                             ByteOrder order = ByteOrder::kLittle) {
  auto raw = slice(data, offset, sizeof(T));
  if (!raw)
    return std::nullopt;
  T value;
  std::memcpy(&value, raw->data(), sizeof(T));
  return order == ByteOrder::kLittle ? value : byte_swap(value);
}

// Longer names than this are taken for damage. C++ and Go make names of a few KiB; the limit
// keeps a table without NULs from being searched to its end for each of its names.
inline constexpr size_t kMaxNameSize = 65536;

// The text at `offset` up to its NUL; none if there is no NUL near, or before the end.
inline std::optional<std::string_view> load_cstring(Bytes data, uint64_t offset) {
  std::string_view rest = as_text(tail(data, offset)).substr(0, kMaxNameSize);
  size_t end = rest.find('\0');
  if (end == std::string_view::npos)
    return std::nullopt;
  return rest.substr(0, end);
}

}  // namespace gosym
