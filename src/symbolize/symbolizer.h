#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "images/debug_file.h"
#include "images/recorded_binary.h"
#include "profile/profile.h"
#include "symbolize/image_symbols.h"
#include "symbolize/names.h"

namespace gosym {

// The names of the code of a file of a recording; or why it has none.
struct RecordedFile {
  std::unique_ptr<ImageSymbols> symbols;  // null: `unnamed` says why
  Unnamed unnamed = Unnamed::kNotSymbolized;
  std::string problem;  // for the user; also set where only a part of the file is unusable
};

// The names of the code of an image that is not there, by the id that stores know it by; `name`
// is what it was called. It is, in the debug directories, the image itself, its debug file, or
// its index, else what the debuginfod servers have. Null if there is none of these.
Result<std::unique_ptr<ImageSymbols>> open_by_id(const std::string& id, const std::string& name,
                                                 const DebugFileOptions& options);

// Opens the symbols of a recorded image's binary. Without the binary what open_by_id() finds
// will do.
RecordedFile open_recorded(const RecordedImage& image, const RecordedBinary& binary,
                           const DebugFileOptions& options);
// Opens the file by open_recorded_binary().
RecordedFile open_recorded(const RecordedImage& image, const DebugFileOptions& options = {},
                           const HeldFiles& held = {});

struct SymbolCache;

// Findings of the symbolizer that a user may want to know.
struct SymbolizerReport {
  std::map<FrameSource, uint64_t> locations_by_source;
  std::map<std::string, std::string> image_problems;  // path -> what is wrong with it
  // Files that have names from a debug file that lies apart: the paths of both.
  std::map<std::string, std::string> debug_files;
  uint64_t remade_places = 0;  // of made code that had other code in them at other times
  uint64_t cut_names = 0;      // of functions and files: only the beginning is told
};

// Symbols that the recording has because no file has them; empty if it does not.
struct RecordedSymbols {
  std::string_view kernel;  // the text of /proc/kallsyms
  std::string_view vdso;    // the ELF image
  std::span<const RecordedPerfMap> perf_maps = {};
};

// Puts frames to each location of a profile that has none, or the reason why there are none.
// Each distinct location is asked once, image after image. A file that is not the one that was
// recorded, by its ids or else by size and time of change, is not used. Files are taken from
// the cache, and left there, as are their answers.
SymbolizerReport symbolize(Profile& profile, const RecordedSymbols& recorded, NameForms forms,
                           const DebugFileOptions& files, SymbolCache& cache);
// Uses a cache for this one profile, so that one file is open at a time.
SymbolizerReport symbolize(Profile& profile, const RecordedSymbols& recorded, NameForms forms,
                           const DebugFileOptions& files = {});

// Gives the names of a profile that was read the form that is asked for, and names the code
// that has none, where its file is found: the one of its path (below --symfs), if it has the
// build id that the profile tells. Code of files without a build id keeps its address, for
// nothing says that a file of that name is the one.
SymbolizerReport name_given(Profile& profile, NameForms forms, const DebugFileOptions& files);

// For a profile that has no addresses: nothing more of its code can be named.
void show_names(Profile& profile, NameForms forms);

}  // namespace gosym
