#include "record/system_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>

#include "base/mapped_file.h"
#include "proc/process.h"

namespace gosym {

namespace {

// The text of a distribution's kernel is 5 to 15 MB.
constexpr size_t kMaxKernelSymbols = 256 << 20;

}  // namespace

RawMapping as_mapping(const proc::MapsEntry& entry, uint32_t pid, uint64_t time) {
  return {
      .time = time,
      .pid = pid,
      .start = entry.start,
      .length = entry.end - entry.start,
      .file_offset = entry.file_offset,
      .file = {.device = entry.device, .inode = entry.inode},
      .path = entry.path.empty() ? "//anon" : entry.path,  // as the side-band
  };
}

Result<std::vector<RawMapping>> code_mappings_of(uint32_t pid, uint64_t time) {
  auto text = proc::maps_text_of(pid);
  if (!text)
    return std::move(text).error();
  return code_mappings_in(*text, pid, time);
}

Result<std::vector<RawMapping>> code_mappings_in(std::string_view maps, uint32_t pid,
                                                 uint64_t time) {
  auto entries = proc::parse_maps(maps);
  if (!entries)
    return std::move(entries).error();
  return code_mappings_in(*entries, pid, time);
}

std::vector<RawMapping> code_mappings_in(std::span<const proc::MapsEntry> entries, uint32_t pid,
                                         uint64_t time) {
  std::vector<RawMapping> mappings;
  for (const proc::MapsEntry& entry : entries)
    if (entry.is_executable)
      mappings.push_back(as_mapping(entry, pid, time));
  return mappings;
}

std::string own_vdso() {
  auto mappings = proc::mappings_of(static_cast<uint32_t>(getpid()));
  if (!mappings)
    return {};
  for (const proc::MapsEntry& entry : *mappings)
    if (entry.path == "[vdso]")
      return {std::bit_cast<const char*>(entry.start), entry.end - entry.start};
  return {};
}

std::string read_kernel_symbols() {
  return read_kernel_symbols(open_kernel_symbols().get());
}

UniqueFd open_kernel_symbols() {
  return UniqueFd(open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
}

std::string read_kernel_symbols(int kallsyms) {
  auto text = read_file(kallsyms, kMaxKernelSymbols);
  return text ? *std::move(text) : "";
}

}  // namespace gosym
