#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/image.h"

namespace gosym::go {

// What `go version -m` prints. Views borrow from the image.
struct BuildInfo {
  std::string_view go_version;   // "go1.27.3"
  std::string_view path;         // of the main package
  std::string_view module_path;  // of the main module
  std::string_view module_version;
  std::vector<std::pair<std::string_view, std::string_view>> settings;  // "-ldflags", "-s -w"
};

// Reads the record that the Go linker (1.13 and later) puts into .go.buildinfo, or else at the
// start of the first writable segment:
//
//   ff " Go buildinf:", u8 pointer size, u8 flags (bit 0: big endian, bit 1: inline)
//   inline (1.18 and later): 16 bytes unused, then twice: uvarint length, text
//   before:                  two words, the addresses of string headers (address, length)
//
// The texts are the version and the module information. The latter is framed by 16 bytes at
// either end; between them are lines whose fields tabs separate:
//
//   path PATH | mod PATH VERSION SUM | dep ... | build KEY=VALUE
//
// None if there is no record, or it cannot be read.
std::optional<BuildInfo> read_build_info(const elf::Image& image);

}  // namespace gosym::go
