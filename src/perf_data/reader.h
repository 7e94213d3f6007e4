#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "perf_data/images.h"
#include "perf_data/kernel.h"
#include "raw/reader.h"

namespace gosym::perf_data {

// True for what begins as a perf.data file, of whatever kind.
bool is_perf_data(std::string_view begin);

// Reads a perf.data file, or a stream of `perf record -o -`, as the recording that gosym would
// have written in perf's place: its samples lie in memory. What names code is looked for on
// this machine, by build ids, and so is the kernel, if it is the one that runs. Damaged parts
// are counted. An error: it is of a kind that is not read, or asks for more than the memory
// budget. `others` are the files of a directory (perf record --threads), in which the other
// records are.
using Inputs = std::vector<std::shared_ptr<const raw::Input>>;
struct ReadFile {
  raw::Recording recording;
  // Paths of files that are taken for those that were recorded, by nothing but their time.
  std::set<std::string> unchecked = {};
};
Result<ReadFile> read(const raw::Input& file, uint64_t memory_budget, const FilePlaces& places,
                      const RunningKernel& kernel, const Inputs& others = {});

}  // namespace gosym::perf_data
