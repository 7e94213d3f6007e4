#include "raw/format.h"

#include <xxhash.h>

#include <cstddef>

namespace gosym::raw {

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
