#include "raw/format.h"

#include <xxhash.h>

#include <cstddef>

namespace gosym::raw {

bool is_known(ChunkType type) {
  using enum ChunkType;
  return type == kInfo || type == kImage || type == kEvents || type == kSamples ||
         type == kKernelSymbols || type == kPerfMap || type == kStats ||
         type == kImageContents || type == kEnd || type == kVdso;
}

uint32_t max_payload_size(ChunkType type) {
  bool is_small =
      is_known(type) && type != ChunkType::kKernelSymbols && type != ChunkType::kPerfMap;
  return is_small ? kMaxSmallPayloadSize : kMaxPayloadSize;
}

uint32_t checksum(Bytes data) {
  return XXH32(data.data(), data.size(), 0);
}

uint32_t checksum(const FileHeader& header) {
  return XXH32(&header, offsetof(FileHeader, checksum), 0);
}

uint32_t checksum(const ChunkHeader& header) {
  return XXH32(&header, offsetof(ChunkHeader, header_checksum), 0);
}

}  // namespace gosym::raw
