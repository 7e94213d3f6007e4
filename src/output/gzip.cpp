#include "output/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <new>

namespace gosym {

namespace {

constexpr int kGzipFormat = 16;  // added to the window size: deflateInit2's way to ask for it
constexpr size_t kStep = 1 << 16;

// As Go's runtime writes its profiles: of one with 93,000 samples, 2.0 MB in 56 ms, where the
// usual level makes 1.8 MB in 147 ms.
constexpr int kLevel = Z_BEST_SPEED;

}  // namespace

std::string gzip(std::string_view data) {
  z_stream stream{};
  int status =
      deflateInit2(&stream, kLevel, Z_DEFLATED, MAX_WBITS + kGzipFormat, 8, Z_DEFAULT_STRATEGY);
  if (status != Z_OK)
    throw std::bad_alloc();  // the only reason there is

  std::string result;
  do {
    // zlib counts in 32 bits.
    size_t taken = std::min<size_t>(data.size(), UINT_MAX);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream.avail_in = static_cast<uInt>(taken);
    size_t old_size = result.size();
    result.resize(old_size + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + old_size);
    stream.avail_out = kStep;
    status = deflate(&stream, taken == data.size() ? Z_FINISH : Z_NO_FLUSH);
    data.remove_prefix(taken - stream.avail_in);
    result.resize(result.size() - stream.avail_out);
  } while (status != Z_STREAM_END);
  deflateEnd(&stream);
  return result;
}

}  // namespace gosym
