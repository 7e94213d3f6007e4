#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/recording.h"

namespace gosym::perf_data {

// The maps in which these processes tell of code that they made at run time, /tmp/perf-PID.map
// of this machine, up to a time of the recording. As perf does it takes files of its user and
// of root, for anybody may write there.
std::vector<RecordedPerfMap> read_perf_maps(const std::set<uint32_t>& pids, uint64_t time,
                                            const std::string& symfs);

}  // namespace gosym::perf_data
