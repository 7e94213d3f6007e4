#include "exchange/gunzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <new>

#include "base/text.h"

namespace gosym {

namespace {

constexpr int kGunzipFormat = 16;  // added to the window size: inflateInit2's way to ask for it
constexpr size_t kRoomSize = 1 << 16;

class Inflater {
public:
  Inflater() {
    if (inflateInit2(&stream_, MAX_WBITS + kGunzipFormat) != Z_OK)
      throw std::bad_alloc();  // the only reason there is
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Result<std::string> inflate_all(std::string_view file, uint64_t max_size) {
    std::string text;
    while (true) {
      size_t taken = std::min<size_t>(file.size(), UINT_MAX);  // zlib counts in 32 bits
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
      stream_.avail_in = static_cast<uInt>(taken);
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      // zlib takes what it can and says how much is left: the rest comes again in the next
      // step.
      int status = inflate(&stream_, Z_NO_FLUSH);
      file.remove_prefix(taken - stream_.avail_in);
      text.append(room_, 0, room_.size() - stream_.avail_out);
      // Asked after each step, so that no more than a step's room is ever beyond the limit.
      if (text.size() > max_size)
        return errorf("gzip: more than {} unpacked", human_size(max_size));
      if (status == Z_STREAM_END && file.empty())
        return text;
      if (status == Z_STREAM_END)
        inflateReset(&stream_);  // another member follows
      // No progress was possible, or all input is taken, room was left and no end came: the
      // file ends early.
      else if (status == Z_BUF_ERROR ||
               (status == Z_OK && file.empty() && stream_.avail_out > 0))
        return Error("gzip: cut short");
      else if (status != Z_OK)
        return errorf("gzip: {}", stream_.msg ? stream_.msg : "damaged");
    }
  }

private:
  std::string room_ = std::string(kRoomSize, '\0');
  z_stream stream_{};
};

}  // namespace

Result<std::string> gunzip(std::string_view file, uint64_t max_size) {
  return Inflater().inflate_all(file, max_size);
}

}  // namespace gosym
