#include "perf_data/perf_maps.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "raw/messages.h"

namespace gosym::perf_data {

namespace {

// For all processes together: nothing keeps a map from growing as long as its process lives.
constexpr uint64_t kMaxAllMaps = 256 << 20;

}  // namespace

std::vector<RecordedPerfMap> read_perf_maps(const std::set<uint32_t>& pids, uint64_t time,
                                            const std::string& symfs) {
  std::vector<RecordedPerfMap> maps;
  uint64_t left = kMaxAllMaps;
  for (uint32_t pid : pids) {
    RecordedPerfMap map = {.time = time,
                           .pid = pid,
                           .path = fmt::format("/tmp/perf-{}.map", pid),
                           .text = {},
                           .problem = {}};
    // Most of the processes have written no map: no file, no entry and no problem.
    UniqueFd found = find_file(map.path, symfs);
    struct stat status {};
    if (!found || fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode))
      continue;
    auto file = reopen(found);
    if (status.st_uid != 0 && status.st_uid != geteuid())
      map.problem = "it is of another user";
    else if (!file)
      map.problem = file.error().message();
    else if (auto text = read_file(file->get(), std::min<uint64_t>(left, raw::kMaxPayloadSize)))
      map.text = *std::move(text);
    else
      map.problem = text.error().message();
    // A map that could not be read stays, with its problem, so that the report says why code
    // has no names.
    left -= map.text.size();
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace gosym::perf_data
