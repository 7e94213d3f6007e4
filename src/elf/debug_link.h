#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "elf/image.h"

namespace gosym::elf {

// Name in a stripped image of the file that holds its debug information, `.gnu_debuglink`:
//
//   name (NUL at its end, padded to 4), u32 CRC-32 of all bytes of that file
//
// The CRC is that of ISO 3309, as in gzip, in the byte order of the image. The name is that of
// a file without directory: where to look for it is the reader's business.
struct DebugLink {
  std::string_view name;
  uint32_t crc = 0;
};

// Name in a debug file of the one to which dwz moved what several have in common,
// `.gnu_debugaltlink`:
//
//   name (NUL at its end), build id of that file: all the rest
//
// The name is absolute, or relative to the directory of the debug file.
struct AlternateLink {
  std::string_view name;
  std::string_view build_id;  // raw bytes
};

// None if the image has no such section; fails if the section is malformed.
Result<std::optional<DebugLink>> read_debug_link(const Image& image);
Result<std::optional<AlternateLink>> read_alternate_link(const Image& image);

}  // namespace gosym::elf
