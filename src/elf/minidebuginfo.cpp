#include "elf/minidebuginfo.h"

#include <lzma.h>

#include <algorithm>
#include <memory>

namespace gosym::elf {

namespace {

// A C++ symbol takes some hundred bytes with its name; the largest programs have less than a
// million. A few KiB of .xz can make any number of bytes.
constexpr size_t kMaxSize = size_t{128} << 20;
// xz(1) at its best compression, -9, needs 65 MiB to unpack.
constexpr uint64_t kMaxMemory = uint64_t{128} << 20;
constexpr size_t kFirstSize = size_t{64} << 10;

struct StreamEnd {
  void operator()(lzma_stream* stream) const { lzma_end(stream); }
};

Error unpack_error(lzma_ret status) {
  switch (status) {
    case LZMA_FORMAT_ERROR:
      return Error("not in .xz format");
    case LZMA_BUF_ERROR:
      // There is neither input nor room left that would let it go on.
      return Error("cut short");
    case LZMA_MEMLIMIT_ERROR:
      return errorf("needs more than {} MiB to be unpacked", kMaxMemory >> 20);
    case LZMA_OPTIONS_ERROR:
      return Error("compressed in a way that liblzma does not know");
    case LZMA_MEM_ERROR:
      return Error("not enough memory to unpack it");
    default:
      return Error("damaged");
  }
}

}  // namespace

Result<std::vector<std::byte>> unpack_minidebuginfo(Bytes section) {
  lzma_stream stream = LZMA_STREAM_INIT;
  std::unique_ptr<lzma_stream, StreamEnd> owner(&stream);
  if (lzma_ret status = lzma_stream_decoder(&stream, kMaxMemory, 0); status != LZMA_OK)
    return unpack_error(status);

  // The size that an .xz file claims stands at its end, and is not believed: the buffer grows
  // to twice its size each time that it is full.
  std::vector<std::byte> data(kFirstSize);
  stream.next_in = reinterpret_cast<const uint8_t*>(section.data());
  stream.avail_in = section.size();
  while (true) {
    stream.next_out = reinterpret_cast<uint8_t*>(data.data()) + stream.total_out;
    stream.avail_out = data.size() - stream.total_out;
    // LZMA_FINISH says that all input is there.
    lzma_ret status = lzma_code(&stream, LZMA_FINISH);
    if (status == LZMA_STREAM_END) {
      data.resize(stream.total_out);
      return data;
    }
    if (status != LZMA_OK)
      return unpack_error(status);
    // There was room left and no end: liblzma has asked for more input, and LZMA_BUF_ERROR
    // follows in the next round if there is none.
    if (stream.avail_out > 0)
      continue;
    if (data.size() >= kMaxSize)
      return errorf("larger than {} MiB when unpacked", kMaxSize >> 20);
    data.resize(2 * data.size());
  }
}

}  // namespace gosym::elf
