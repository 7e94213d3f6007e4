#pragma once

#include <tsl/robin_set.h>

#include <map>
#include <string>

#include "images/debug_file.h"
#include "perf_data/header.h"
#include "perf_data/images.h"
#include "record/sideband_record.h"

namespace gosym::perf_data {

// The places of the code of the kernel and of its modules.
struct KernelPlaces {
  std::string symbol;  // "_text", "_stext": empty if it was not told
  uint64_t symbol_address = 0;
  struct Range {
    uint64_t start = 0;
    uint64_t limit = 0;
  };
  std::map<std::string, Range, std::less<>> modules;
};

// Notes a mapping of the kernel's.
void add_mapping(const RawMapping& mapping, KernelPlaces& places);

// The kernel's name in files of perf.
inline constexpr std::string_view kKernelPath = "[kernel.kallsyms]";

// True if the kernel of the recording has the build id of the one that runs. perf writes none
// with -z, and a stream may lack it: then it is the one that runs if the machine has its name,
// release and clock, which began when the machine was started.
bool is_running(const Header& header, const FilePlaces& places);

using KernelAddresses = tsl::robin_set<uint64_t>;

// The symbols of the kernel that runs for these addresses, as lines of /proc/kallsyms, if they
// lay where they do now; else why not.
Result<std::string> kernel_symbols(const RunningKernel& kernel, const KernelPlaces& places,
                                   const KernelAddresses& addresses);

}  // namespace gosym::perf_data
