#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/image.h"
#include "go/pclntab.h"

namespace gosym::go {

struct ModuleVersion {
  std::string_view path;
  std::string_view version;  // "v1.2.3", "(devel)"
  std::string_view sum;      // "h1:...": empty for the main module, and where none was checked
};

// A module that the program was built from.
struct BuildModule {
  ModuleVersion required;
  std::optional<ModuleVersion> replacement;  // whose code it is, by a replace directive
};

// Facts that `go version -m` prints. Views borrow from the image.
struct BuildInfo {
  std::string_view go_version;  // "go1.27.3"
  std::string_view path;        // import path of the main package
  BuildModule main;
  std::vector<BuildModule> dependencies;
  // "CGO_ENABLED", "0". Quoted as in Go source where there are spaces: "-ldflags", "\"-s -w\"".
  std::vector<std::pair<std::string_view, std::string_view>> settings;
};

// Reads the record that the Go linker (1.13 and later) puts into .go.buildinfo, or else at the
// start of the first writable segment; it is looked for in the first 64 KiB there:
//
//   ff " Go buildinf:", u8 pointer size, u8 flags (bit 0: big endian, bit 1: inline)
//   inline (1.18 and later): 16 bytes unused, then twice: uvarint length, text
//   before:                  two words, the addresses of string headers (address, length)
//
// The texts are the version and the module information. The latter is framed by 16 bytes at
// either end; between them are lines whose fields tabs separate:
//
//   path   PATH
//   mod    PATH VERSION SUM    the main module; the sum may be missing, its tab too
//   dep    PATH VERSION SUM    another one
//   =>     PATH VERSION SUM    what replaces the one in the line before
//   build  KEY=VALUE           from Go 1.18 on
//
// None if there is no record, or it cannot be read.
std::optional<BuildInfo> read_build_info(const elf::Image& image);

// The version of a program without such a record, of Go 1.4 to 1.12: the text of the runtime's
// variable buildVersion, "go1.9.7". In its data is the header of that string, an address and a
// length; what else has the header of a version there is not told from it, so that none is
// given if there are two, or if `table` is not of the release that the text names. Up to Go 1.3
// the version was no variable. Borrows from the image.
std::optional<std::string_view> find_runtime_version(const elf::Image& image,
                                                     const Pclntab& table);
// Searches without a table to compare with.
std::optional<std::string_view> find_runtime_version(const elf::Image& image);

// Parts of a file that read_build_info needs for the Go version alone, for a caller who does
// not have the whole file: as far as the bytes that are there lead, and so to be asked again
// with those that it named, until it is asked kVersionRounds times.
std::vector<elf::FileExtent> version_extents(const elf::Image& image);
inline constexpr int kVersionRounds = 3;

}  // namespace gosym::go
