#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "raw/format.h"

namespace gosym::raw {

// A chunk whose checksums are right.
struct Chunk {
  ChunkType type{};  // of this or any later version
  bool is_compressed = false;
  uint32_t raw_size = 0;
  uint64_t sequence = 0;
  uint64_t end = 0;  // where the next one begins
  Bytes stored;      // in the file
};

// Walks the chunks of a file from `begin` on, past damage as format.h says.
class Chunks {
public:
  Chunks(Bytes file, uint64_t begin) : file_(file), offset_(begin) {}

  std::optional<Chunk> next();
  // Those passed so far that belong to no good chunk.
  uint64_t damaged_bytes() const { return damaged_bytes_; }

private:
  void skip_to_magic();

  Bytes file_;
  uint64_t offset_;
  uint64_t damaged_bytes_ = 0;
};

// The payload; an error if it does not unpack to exactly `raw_size` bytes.
Result<std::string> unpack(Bytes stored, uint32_t raw_size, bool is_compressed);

}  // namespace gosym::raw
