#include "perf_data/kernel.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "elf/image.h"
#include "proc/kallsyms.h"
#include "record/kernel_symbols.h"
#include "record/system_state.h"

// perf writes addresses of the kernel and no names: these are those of the kernel that runs
// now, if it is the one that was recorded and lies where it did. The first is told by the
// build id, or else by the machine and its start (is_running()); the second by the address of
// one symbol that perf wrote (kernel_symbols()).
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
  // /proc/kallsyms has underscores in the names of modules whose files have a minus.
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

// The clock of samples counts from the start of the machine and stands still while that sleeps,
// as CLOCK_MONOTONIC does.
bool is_of_this_start(const Header& header, const FilePlaces& places) {
  constexpr uint64_t kUsual = 5'000'000'000;  // from the last sample to the end of the file
  uint64_t start = clock_ns(CLOCK_REALTIME) - monotonic_ns();
  // Both are the time since 1970 at which the clock stood at 0; a machine that was started
  // anew has another one.
  uint64_t recorded = header.realtime_ns != 0 ? header.realtime_ns - header.clock_ns
                                              : places.end_realtime_ns - header.last_time;
  // True from 5 s before to 5 s after: a difference below that wraps around to a large number.
  return recorded - start + kUsual < 2 * kUsual;
}

// Modules may have come and gone, and BPF programs tell of themselves.
bool is_where_it_was(const KernelSymbol& symbol, const KernelPlaces& places) {
  if (symbol.module.empty())
    return true;
  auto module = places.modules.find(symbol.module);
  return module != places.modules.end() && symbol.address >= module->second.start &&
         symbol.address < module->second.limit;
}

}  // namespace

void add_mapping(const RawMapping& mapping, KernelPlaces& places) {
  std::string_view path = mapping.path;
  if (path.starts_with(kKernelPath)) {
    places.symbol = path.substr(kKernelPath.size());
    // The mapping is named "[kernel.kallsyms]_text" or "..._stext", and has the address of
    // that symbol as its offset in the file, for perf to see by how much the kernel was moved.
    places.symbol_address = mapping.file_offset;
  } else if (places.modules.size() < kMaxModules) {
    // Other mappings of the kernel are modules.
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
  // The notes of the kernel image, GNU build id among them, which everybody may read.
  return notes && recorded->is_of(elf::build_ids(as_bytes(*notes)).gnu);
}

Result<std::string> kernel_symbols(const RunningKernel& kernel, const KernelPlaces& places,
                                   const KernelAddresses& addresses) {
  // None were opened: with --symfs the files are of another system, and so is its kernel.
  if (!kernel.symbols)
    return Error("it is not looked for here");
  lseek(kernel.symbols.get(), 0, SEEK_SET);  // another recording may have read them
  std::string text = read_kernel_symbols(kernel.symbols.get());
  std::vector<KernelSymbol> symbols = Kallsyms(text).symbols();
  if (places.symbol.empty())
    return Error("perf did not write where the kernel lay");
  if (symbols.empty())
    return Error("/proc/kallsyms hides addresses from this user");
  // With address randomization (KASLR) the kernel lies elsewhere after each start. One symbol
  // at its old address is proof for all of the kernel's own; modules are checked one by one.
  auto first = std::ranges::find(symbols, places.symbol, &KernelSymbol::name);
  if (first == symbols.end() || first->address != places.symbol_address)
    return Error("it lay elsewhere, before the machine was started anew");
  std::erase_if(symbols, [&](const auto& symbol) { return !is_where_it_was(symbol, places); });
  // Symbols that no sample needs are left out, as a recorder leaves them out.
  KernelSymbols kept(symbols);
  kept.want(std::vector<uint64_t>(addresses.begin(), addresses.end()));
  return kept.take();
}

}  // namespace gosym::perf_data
