#include "page/packing.h"

#include <zlib.h>

#include <climits>
#include <new>

namespace gosym::page {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

std::string in_base64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string_view part = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; k++)
      bits = bits << 8 | (k < part.size() ? static_cast<uint8_t>(part[k]) : 0);
    for (size_t k = 0; k < 4; k++)
      text += k <= part.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    if (text.size() % (kLineDigits + 1) == kLineDigits)
      text += '\n';
  }
  return text;
}

}  // namespace

std::string packed(std::string_view bytes) {
  return in_base64(deflated(bytes));
}

}  // namespace gosym::page
