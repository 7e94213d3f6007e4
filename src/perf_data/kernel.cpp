#include "perf_data/kernel.h"

#include <sys/utsname.h>

#include <algorithm>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "elf/build_ids.h"
#include "record/snapshot.h"

namespace gosym::perf_data {

namespace {

constexpr size_t kMaxNotesFile = 1 << 20;
constexpr size_t kMaxModules = 65536;

// "ext4" of "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz" and of "[ext4]".
std::string module_of(std::string_view path) {
  std::string name(base_name(path));
  if (name.starts_with('[') && name.ends_with(']'))
    name = name.substr(1, name.size() - 2);
  else
    name = name.substr(0, name.find(".ko"));
  std::ranges::replace(name, '-', '_');
  return name;
}

const BuildId* kernel_build_id(const Header& header) {
  auto known = header.build_ids.find(std::string(kKernelPath));
  return known == header.build_ids.end() ? nullptr : &known->second;
}

bool is_of_this_machine(const Header& header) {
  utsname names{};
  return uname(&names) == 0 && header.host == names.nodename &&
         header.kernel_release == names.release;
}

// The clock of samples counts from the start of the machine, as ours that stands still with it.
bool is_of_this_start(const Header& header, const FilePlaces& places) {
  constexpr uint64_t kUsual = 5'000'000'000;  // from the last sample to the end of the file
  uint64_t start = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  uint64_t recorded = header.realtime_ns != 0 ? header.realtime_ns - header.clock_ns
                                              : places.end_realtime_ns - header.last_time;
  return recorded - start + kUsual < 2 * kUsual;
}

struct Line {
  uint64_t address = 0;
  std::string_view name;
  std::string_view module;
};

// "ffffffffc0201000 t name<TAB>[module]"
std::optional<Line> read_line(std::string_view line) {
  auto address = parse_hex(take_word(line));
  take_word(line);  // the type
  Line read = {
      .address = address.value_or(0), .name = take_word(line), .module = take_word(line)};
  if (!address || read.name.empty())
    return std::nullopt;
  if (read.module.size() > 2)
    read.module = read.module.substr(1, read.module.size() - 2);
  return read;
}

// Modules may have come and gone, and BPF programs tell of themselves.
bool is_where_it_was(const Line& line, const KernelPlaces& places) {
  if (line.module.empty())
    return true;
  auto module = places.modules.find(line.module);
  return module != places.modules.end() && line.address >= module->second.start &&
         line.address < module->second.limit;
}

}  // namespace

void add_mapping(const RawMapping& mapping, KernelPlaces& places) {
  std::string_view path = mapping.path;
  if (path.starts_with(kKernelPath)) {
    places.symbol = path.substr(kKernelPath.size());
    places.symbol_address = mapping.file_offset;
  } else if (places.modules.size() < kMaxModules) {
    uint64_t limit = mapping.length > UINT64_MAX - mapping.start
                         ? UINT64_MAX
                         : mapping.start + mapping.length;
    places.modules[module_of(path)] = {mapping.start, limit};
  }
}

bool is_running(const Header& header, const FilePlaces& places) {
  const BuildId* recorded = kernel_build_id(header);
  if (!recorded)
    return is_of_this_machine(header) && is_of_this_start(header, places);
  auto notes = read_file("/sys/kernel/notes", kMaxNotesFile);
  return notes && recorded->is_of(elf::build_ids(as_bytes(*notes)).gnu);
}

Result<std::string> kernel_symbols(const RunningKernel& kernel, const KernelPlaces& places) {
  if (!kernel.symbols)
    return Error("it is not looked for here");
  std::string all = read_kernel_symbols(kernel.symbols.get());
  std::string kept;
  bool is_there = false;
  bool is_hidden = false;
  for (std::string_view rest = all; !rest.empty();) {
    std::string_view text = take_line(rest);
    auto line = read_line(text);
    if (!line || !is_where_it_was(*line, places))
      continue;
    bool is_asked = line->name == places.symbol && line->module.empty();
    is_there |= is_asked && line->address == places.symbol_address;
    is_hidden |= is_asked && line->address == 0;
    kept.append(text).append("\n");
  }
  if (is_hidden)
    return Error("/proc/kallsyms hides addresses from this user");
  if (!is_there)
    return Error(places.symbol.empty()
                     ? "perf did not write where the kernel lay"
                     : "it lay elsewhere, before the machine was started anew");
  return kept;
}

}  // namespace gosym::perf_data
