#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "images/debug_file.h"
#include "profile/profile.h"
#include "symbolize/names.h"
#include "symbolize/recorded_file.h"

namespace gosym {

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

}  // namespace gosym
