#include "perf_data/kernel.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "elf/image.h"
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
  uint64_t start = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  // Both are the time since 1970 at which the clock stood at 0; a machine that was started
  // anew has another one.
  uint64_t recorded = header.realtime_ns != 0 ? header.realtime_ns - header.clock_ns
                                              : places.end_realtime_ns - header.last_time;
  // True from 5 s before to 5 s after: a difference below that wraps around to a large number.
  return recorded - start + kUsual < 2 * kUsual;
}

// "ffffffffc0201000 t name<TAB>[module]"
struct Line {
  uint64_t address = 0;
  std::string_view text;  // all of it
  bool is_kept = false;

  char type() const { return rest(0)[0]; }
  std::string_view name() const { return rest(2); }
  std::string_view module() const {
    size_t bracket = text.rfind('[');
    // The name of a module stands last and in brackets; the kernel's own symbols have none.
    std::string_view found = bracket == text.npos ? "" : text.substr(bracket + 1);
    return found.substr(0, found.find(']'));
  }

private:
  std::string_view rest(size_t skipped) const {
    return text.substr(text.find(' ') + 1 + skipped);
  }
};

// None of what is no code.
std::optional<Line> read_line(std::string_view text) {
  size_t space = text.find(' ');
  // A space, the type and a space, behind which at least one letter has to stand: type() and
  // name() index without a check.
  constexpr size_t kTypeAndName = 3;
  if (space == text.npos || text.size() - space <= kTypeAndName)
    return std::nullopt;
  auto address = parse_hex(text.substr(0, space));
  Line line = {.address = address.value_or(0), .text = text};
  bool is_code = std::string_view("tTwW").find(line.type()) != std::string_view::npos;
  return address && is_code ? std::optional(line) : std::nullopt;
}

// Modules may have come and gone, and BPF programs tell of themselves.
bool is_where_it_was(const Line& line, const KernelPlaces& places) {
  std::string_view name = line.module();
  if (name.empty())
    return true;
  auto module = places.modules.find(name);
  return module != places.modules.end() && line.address >= module->second.start &&
         line.address < module->second.limit;
}

// Keeps those of the function that an address is in, and where the next one begins.
void keep(std::vector<Line>& lines, uint64_t address) {
  auto next = std::ranges::upper_bound(lines, address, {}, &Line::address);
  if (next == lines.begin())
    return;
  // Several symbols may have one address: all are kept, and Kallsyms takes the first.
  auto same = std::ranges::lower_bound(lines.begin(), next, std::prev(next)->address, {},
                                       &Line::address);
  for (auto line = same; line != next; ++line)
    line->is_kept = true;
  if (next != lines.end())
    next->is_kept = true;
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
  if (!kernel.symbols)
    return Error("it is not looked for here");
  lseek(kernel.symbols.get(), 0, SEEK_SET);  // another recording may have read them
  std::string all = read_kernel_symbols(kernel.symbols.get());
  std::vector<Line> lines;
  for (std::string_view rest = all; !rest.empty();)
    if (auto line = read_line(take_line(rest)); line && is_where_it_was(*line, places))
      lines.push_back(*line);
  // With address randomization (KASLR) the kernel lies elsewhere after each start. One symbol
  // at its old address is proof for all of the kernel's own; modules were checked one by one.
  auto first = std::ranges::find(lines, places.symbol, &Line::name);
  if (first != lines.end() && first->address == 0)
    return Error("/proc/kallsyms hides addresses from this user");
  if (first == lines.end() || first->address != places.symbol_address)
    return Error(places.symbol.empty()
                     ? "perf did not write where the kernel lay"
                     : "it lay elsewhere, before the machine was started anew");
  std::ranges::stable_sort(lines, {}, &Line::address);
  // Callers are named by the address before that to which is returned.
  for (uint64_t address : addresses) {
    keep(lines, address);
    keep(lines, address - std::min<uint64_t>(address, 1));
  }
  std::string kept;
  for (const Line& line : lines)
    if (line.is_kept)
      kept.append(line.text).append("\n");
  return kept;
}

}  // namespace gosym::perf_data
