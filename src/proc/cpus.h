#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym::proc {

// "0-3,6": numbers and ranges of CPUs as the kernel lists them in /sys/devices/system/cpu, in
// order and each once. An error says what is wrong with the text; an empty one is.
Result<std::vector<uint32_t>> parse_cpu_list(std::string_view text);

// CPUs that run, and those that may. If they cannot be told: the first alone, which cannot be
// taken away.
std::vector<uint32_t> online_cpus();
std::vector<uint32_t> possible_cpus();

}  // namespace gosym::proc
