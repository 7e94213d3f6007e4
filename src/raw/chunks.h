#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "raw/format.h"
#include "raw/input.h"

namespace gosym::raw {

// A chunk whose checksums are right.
struct Chunk {
  ChunkType type{};  // of this or any later version
  bool is_compressed = false;
  uint32_t raw_size = 0;
  uint64_t sequence = 0;
  uint64_t offset = 0;  // of the payload in the file
  uint64_t end = 0;     // where the next one begins
  Bytes stored;         // valid until the next one is asked for
};

// Walks the chunks of a file from `begin` on, past damage as gosym-raw(5) says. It holds one of
// them, or a part of the file that has several.
class Chunks {
public:
  Chunks(const Input& file, uint64_t begin) : file_(file), offset_(begin) {}

  std::optional<Chunk> next();
  // Those passed so far that belong to no good chunk.
  uint64_t damaged_bytes() const { return damaged_bytes_; }
  // Where the last of the chunks would end whose header is whole and whose rest the file lacks;
  // 0: there is none.
  uint64_t end_of_cut_chunk() const { return end_of_cut_chunk_; }
  // Where the header of another recording was found among them; 0: nowhere.
  uint64_t other_recording() const { return other_recording_; }

private:
  Bytes part(uint64_t offset, uint64_t size);
  std::optional<ChunkHeader> header_at(uint64_t offset);
  void skip_to_magic();
  void look_for_recording(uint64_t begin, uint64_t end);

  const Input& file_;
  std::string buffer_;         // what lies in the file
  uint64_t buffer_begin_ = 0;  // from here on
  uint64_t offset_;
  uint64_t damaged_bytes_ = 0;
  uint64_t end_of_cut_chunk_ = 0;
  uint64_t other_recording_ = 0;
};

// The payload; an error if it does not unpack to exactly `raw_size` bytes.
Result<std::string> unpack(Bytes stored, uint32_t raw_size, bool is_compressed);

}  // namespace gosym::raw
