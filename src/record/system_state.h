#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "proc/maps.h"
#include "record/sideband_record.h"

namespace gosym {

// The state of the system at this moment, of which no event tells any more.

// A mapping as the side-band tells it.
RawMapping as_mapping(const proc::MapsEntry& entry, uint32_t pid, uint64_t time);

// The executable mappings of a process, as if it had made them at `time`. None of a kernel
// thread and of a process that is gone; an error: they may not be read.
Result<std::vector<RawMapping>> code_mappings_of(uint32_t pid, uint64_t time);
// Likewise from the text of /proc/PID/maps.
Result<std::vector<RawMapping>> code_mappings_in(std::string_view maps, uint32_t pid,
                                                 uint64_t time);
std::vector<RawMapping> code_mappings_in(std::span<const proc::MapsEntry> entries, uint32_t pid,
                                         uint64_t time);

// The vdso is the same in all processes of a width; this is ours. It is as large as its
// mapping, two pages as a rule; empty if the kernel has none.
std::string own_vdso();

// The text of /proc/kallsyms; without any symbol for Kallsyms if it hides the addresses from
// us.
std::string read_kernel_symbols();
UniqueFd open_kernel_symbols();
// For the file, which is open; what it shows is up to the rights of who opened it.
std::string read_kernel_symbols(int kallsyms);

}  // namespace gosym
