#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "raw/reader.h"

struct ZSTD_DCtx_s;

namespace gosym::perf_data {

// The records of a file one after the other, those among them that were compressed too. Nothing
// can be found behind one whose size is wrong.
class Records {
public:
  // They lie in [begin, end) of the file.
  Records(const raw::Input& file, uint64_t begin, uint64_t end);
  ~Records();

  // Valid until the next call.
  std::optional<Bytes> next();
  // Bytes that could not be read so far.
  uint64_t damaged_bytes() const { return damaged_bytes_; }

private:
  struct FreeContext {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  bool fill(size_t size);
  std::optional<Bytes> next_stored();
  std::optional<Bytes> next_unpacked();
  bool unpack_more();
  void give_up_unpacking();

  const raw::Input& file_;
  uint64_t next_;  // place in the file
  uint64_t end_;
  std::string buffer_;         // what lies in the file
  uint64_t buffer_begin_ = 0;  // from here on
  uint64_t damaged_bytes_ = 0;

  std::unique_ptr<ZSTD_DCtx_s, FreeContext> zstd_;
  std::string packed_;  // of a record that is being unpacked
  size_t packed_at_ = 0;
  bool has_packed_ = false;
  bool is_broken_ = false;  // the stream cannot be unpacked further
  std::string unpacked_;
  size_t unpacked_at_ = 0;
};

}  // namespace gosym::perf_data
