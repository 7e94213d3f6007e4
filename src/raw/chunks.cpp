#include "raw/chunks.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace gosym::raw {

namespace {

bool is_sound(const ChunkHeader& header) {
  if (std::string_view(header.magic.data(), header.magic.size()) != kChunkMagic ||
      header.header_checksum != checksum(header))
    return false;
  if (header.raw_size > max_payload_size(header.type))
    return false;
  if (header.flags == kZstdFlag)
    return header.stored_size < header.raw_size;
  return header.flags == 0 && header.stored_size == header.raw_size;
}

std::optional<ChunkHeader> header_at(Bytes file, uint64_t offset) {
  auto raw = slice(file, offset, sizeof(ChunkHeader));
  if (!raw)
    return std::nullopt;
  ChunkHeader header;
  std::memcpy(&header, raw->data(), sizeof header);
  if (!is_sound(header))
    return std::nullopt;
  return header;
}

}  // namespace

std::optional<Chunk> Chunks::next() {
  while (offset_ < file_.size()) {
    auto header = header_at(file_, offset_);
    auto whole = header ? slice(file_, offset_, padded(sizeof *header + header->stored_size))
                        : std::nullopt;
    if (!whole) {
      skip_to_magic();
      continue;
    }
    offset_ += whole->size();
    Bytes stored = whole->subspan(sizeof *header, header->stored_size);
    if (checksum(stored) == header->payload_checksum)
      return Chunk{.type = header->type,
                   .is_compressed = header->flags == kZstdFlag,
                   .raw_size = header->raw_size,
                   .sequence = header->sequence,
                   .end = offset_,
                   .stored = stored};
    damaged_bytes_ += whole->size();
  }
  return std::nullopt;
}

// Goes to the next magic after this place, or to the end of the file. Each byte is passed once,
// whatever the headers found say.
void Chunks::skip_to_magic() {
  std::string_view text = as_text(file_);
  uint64_t found = std::min(text.find(kChunkMagic, offset_ + 1), text.size());
  damaged_bytes_ += found - offset_;
  offset_ = found;
}

Result<std::string> unpack(Bytes stored, uint32_t raw_size, bool is_compressed) {
  if (!is_compressed)
    return std::string(as_text(stored));
  if (raw_size > kMaxPayloadSize ||
      ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw_size)
    return Error("compressed payload of another size");
  std::string payload(raw_size, '\0');
  size_t size = ZSTD_decompress(payload.data(), payload.size(), stored.data(), stored.size());
  if (ZSTD_isError(size))
    return errorf("cannot decompress the payload: {}", ZSTD_getErrorName(size));
  if (size != raw_size)
    return errorf("compressed payload of {} bytes, not {}", size, raw_size);
  return payload;
}

}  // namespace gosym::raw
