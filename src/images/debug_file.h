#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "images/binary.h"
#include "images/debuginfod.h"

namespace gosym {

// The kernel that this machine runs, for what was recorded without its names. It is opened
// while files can be.
struct RunningKernel {
  UniqueFd symbols;  // /proc/kallsyms; none: it is of no use
  std::string vdso;
};

// The places of the debug information of an image that has none itself.
struct DebugFileOptions {
  std::string symfs;  // every path is one below this directory; empty: the system's own
  std::vector<std::string> debug_dirs = {"/usr/lib/debug"};
  // Stores of files by build id that recordings share, as gosym record --rotate makes them.
  std::vector<std::string> stores = {};
  std::unique_ptr<Debuginfod> debuginfod;  // for what is not found; null: nothing is fetched
  RunningKernel kernel = {};
};

struct DebugFile {
  std::shared_ptr<Binary> binary;
  std::string path;            // without links; below --symfs, unless it was fetched
  std::optional<uid_t> owner;  // as MappedFile::owner(); none of what was fetched
};

// Opens the separate debug file of the image that lies at `path`. Looked for are, DIR being
// each of the debug directories:
//
//   DIR/.build-id/xx/yyyy.debug          if the image has the build id xxyyyy
//   FOLDER/LINK, FOLDER/.debug/LINK,
//   DIR/FOLDER/LINK                      if it has a debug link; FOLDER is that of the image
//   the debuginfod servers               if it has a build id
//
// The first that belongs to the image is taken: its build id is equal, and its sections of code
// lie at the same addresses, or, where the image has no build id, its CRC is that of the debug
// link; and it is whole enough to have sections. None if there is none; fails if there are only
// files that do not belong to it or cannot be read, or if the servers failed.
Result<std::optional<DebugFile>> open_debug_file(const elf::Image& image,
                                                 const std::string& path,
                                                 const DebugFileOptions& options);

// All places where it would be looked for, in that order, but for servers.
std::vector<std::string> debug_file_places(const elf::Image& image, const std::string& path,
                                           const DebugFileOptions& options);

// Opens the image with this id (elf::store_id), or else its debug file, when the image's own path
// is of no use: DIR/.build-id/xx/yyyy of each debug directory, then yyyy.debug. Only the id is
// compared; servers are not asked. None and errors as for open_debug_file().
Result<std::optional<DebugFile>> open_stored_file(const std::string& id,
                                                  const DebugFileOptions& options);

// Likewise its index, DIR/.build-id/xx/yyyy.gsym, in the first of the directories that has one.
// Null if none has.
struct StoredIndex {
  std::unique_ptr<MappedFile> file;
  std::string path;
};
Result<StoredIndex> open_stored_index(const std::string& id, const DebugFileOptions& options);

// Likewise its debug file, from the debuginfod servers; `name` is what it was called.
Result<std::optional<DebugFile>> fetch_debug_file(const std::string& id,
                                                  const std::string& name,
                                                  const DebugFileOptions& options);

// "DIR/.build-id/xx/yyyy" for the id xxyyyy, of two bytes at least.
std::string store_path(std::string_view directory, std::string_view id);

// Opens dwz's alternate file of a debug file that lies at `debug_path`, by its build id. The
// name in the debug file is tried, then, where that lies in a folder ".dwz", the same place in
// each debug directory, then what is tried for any build id. None if the debug file does not
// ask for one; fails if it does and there is none.
Result<std::optional<DebugFile>> open_alternate_file(const elf::Image& debug_file,
                                                     const std::string& debug_path,
                                                     const DebugFileOptions& options);

// Opens the package of the units that were split off the debugging information of the image at
// `path`, which lies in the file at `debug_path`. Looked for are, of both paths, PATH.dwp and
// DIR/PATH.dwp, and DIR/.build-id/xx/yyyy.dwp. The first that is a package is taken: which
// units are of it the ids of these say. None if there is none.
std::optional<DebugFile> open_package(const elf::Image& image, const std::string& path,
                                      const std::string& debug_path,
                                      const DebugFileOptions& options);

}  // namespace gosym
