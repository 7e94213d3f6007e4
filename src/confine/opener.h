#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

// Files for one who may open none himself. His calls that have a path raise SIGSYS; what
// handles that asks an opener, by a socket, and answers the call with what it gives. An opener
// may open what its user may. It gives what may be shown to one who may be taken over:
//
//   to read   what the user named, and what lies below it; ELF files; what others than its
//             owner and group may read; files whose name ends as that of a source does. In
//             /proc, nothing, or what everybody may read
//   to write  the outputs that the user named, by way of PATH.NUMBER.tmp, indexes in a store
//             likewise, with the folders around them, and files without a name in a directory
//             for such
//
// There are several openers: one that a file system does not answer is left behind.

namespace gosym {

// Files that the user named.
struct NamedFiles {
  std::vector<std::string> inputs = {};  // files, and directories of such
  std::vector<std::string> roots = {};   // directories of files that he did not name
  std::vector<std::string> outputs = {};
  // Directories of files by build id: indexes are written there, DIR/.build-id/xx/yyyy.gsym.
  std::vector<std::string> stores = {};
  bool has_exports = false;    // gosym-1.svg and the like, here
  bool has_processes = false;  // what /proc tells everybody
};

// Starts openers, whose end of the socket is `theirs`. They end with the last of the other end,
// or with this process.
void start_openers(const UniqueFd& theirs, const NamedFiles& files);

// Answers calls of this process from now on, by what openers at the other end give. The named
// files are waited for as long as it takes, others for a few seconds.
void ask_openers(UniqueFd channel, const NamedFiles& files);

// True for a file that others than its owner may read, or that begins as an ELF file does.
bool may_be_code(const UniqueFd& file);

// The kinds of paths above, for tests.
bool is_named_input(const NamedFiles& files, std::string_view path);
bool is_output(const NamedFiles& files, std::string_view path);
bool is_folder_of_store(const NamedFiles& files, std::string_view path);
bool is_draft_of_output(const NamedFiles& files, std::string_view draft,
                        std::string_view output = {});
bool is_named_as_source(std::string_view path);

}  // namespace gosym
