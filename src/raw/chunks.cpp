#include "raw/chunks.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace gosym::raw {

namespace {

bool is_sound_header(const ChunkHeader& header) {
  if (std::string_view(header.magic.data(), header.magic.size()) != kChunkMagic ||
      header.header_checksum != checksum(header))
    return false;
  if (header.raw_size > max_payload_size(header.type))
    return false;
  if (header.flags == kZstdFlag)
    return header.stored_size < header.raw_size;
  return header.flags == 0 && header.stored_size == header.raw_size;
}

}  // namespace

// As much as there is of it; valid until the next call.
Bytes Chunks::part(uint64_t offset, uint64_t size) {
  constexpr uint64_t kStep = 1 << 20;
  size = std::min(size, file_.size() - std::min(offset, file_.size()));
  bool is_there = offset >= buffer_begin_ && offset - buffer_begin_ <= buffer_.size() &&
                  size <= buffer_.size() - (offset - buffer_begin_);
  if (!is_there) {
    buffer_begin_ = offset;
    buffer_.resize(std::max(size, kStep));
    buffer_.resize(file_.read(offset, buffer_));
  }
  uint64_t begin = offset - buffer_begin_;
  return as_bytes(buffer_).subspan(begin, std::min(size, buffer_.size() - begin));
}

std::optional<ChunkHeader> Chunks::header_at(uint64_t offset) {
  Bytes raw = part(offset, sizeof(ChunkHeader));
  ChunkHeader header;
  if (raw.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, raw.data(), sizeof header);
  if (!is_sound_header(header))
    return std::nullopt;
  uint64_t size = padded(sizeof header + uint64_t{header.stored_size});
  if (file_.size() - offset >= size)
    return header;
  end_of_cut_chunk_ = std::max(end_of_cut_chunk_, offset + size);
  return std::nullopt;
}

std::optional<Chunk> Chunks::next() {
  while (offset_ < file_.size()) {
    auto header = header_at(offset_);
    if (!header) {
      skip_to_magic();
      continue;
    }
    uint64_t begin = offset_ + sizeof *header;
    uint64_t size = padded(sizeof *header + uint64_t{header->stored_size});
    offset_ += size;
    Bytes stored = part(begin, header->stored_size);
    if (stored.size() == header->stored_size && checksum(stored) == header->payload_checksum)
      return Chunk{.type = header->type,
                   .is_compressed = header->flags == kZstdFlag,
                   .raw_size = header->raw_size,
                   .sequence = header->sequence,
                   .offset = begin,
                   .end = offset_,
                   .stored = stored};
    damaged_bytes_ += size;
    look_for_recording(offset_ - size, offset_);
  }
  return std::nullopt;
}

void Chunks::look_for_recording(uint64_t begin, uint64_t end) {
  constexpr uint64_t kStep = 64 << 10;
  while (begin < end && other_recording_ == 0) {
    std::string_view text =
        as_text(part(begin, std::min(end - begin, kStep) + kMagic.size() - 1));
    size_t found = text.find(kMagic);
    if (found == text.npos) {
      begin += kStep;
      continue;
    }
    begin += found;
    Bytes raw = part(begin, sizeof(FileHeader));
    FileHeader header;
    if (raw.size() == sizeof header) {
      std::memcpy(&header, raw.data(), sizeof header);
      if (header.checksum == checksum(header))
        other_recording_ = begin;
    }
    begin++;
  }
}

// Goes to the next magic after this place, or to the end of the file. Each byte is passed once,
// whatever the headers found say.
void Chunks::skip_to_magic() {
  constexpr uint64_t kStep = 64 << 10;
  uint64_t from = offset_;
  do {
    std::string_view text = as_text(part(offset_ + 1, kStep));
    size_t found = text.find(kChunkMagic);
    if (found != text.npos) {
      offset_ += 1 + found;
      break;
    }
    // A magic may begin in the last bytes.
    offset_ += text.size() < kStep ? file_.size() - offset_ : kStep - kChunkMagic.size();
  } while (offset_ < file_.size());
  damaged_bytes_ += offset_ - from;
  look_for_recording(from, offset_);
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
