#include "proc/process.h"

#include <dirent.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

// The value of the line "name:\tvalue"; none if there is no such line.
std::optional<std::string_view> find_field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(":\t"))
      continue;
    return line.substr(name.size() + 2);
  }
  return std::nullopt;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word = take_word(text); !word.empty(); word = take_word(text))
    words.push_back(word);
  return words;
}

std::vector<uint32_t> numbered_entries(const std::string& path) {
  std::vector<uint32_t> numbers;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory)
    return numbers;
  while (const dirent* entry = readdir(directory.get())) {
    auto number = parse_decimal(entry->d_name);
    // Other entries of the directory are no numbers.
    if (number && *number <= INT32_MAX)
      numbers.push_back(static_cast<uint32_t>(*number));
  }
  return numbers;
}

}  // namespace

Result<Status> parse_status(std::string_view text) {
  auto state = find_field(text, "State");
  if (!state || state->empty())
    return Error("'State': missing or malformed");
  auto pid = parse_decimal(find_field(text, "Tgid").value_or(""));
  if (!pid || *pid > INT32_MAX)
    return Error("'Tgid': missing or malformed");
  auto users = words_of(find_field(text, "Uid").value_or(""));
  auto user = users.size() == 4 ? parse_decimal(users[1]) : std::nullopt;
  if (!user || *user > UINT32_MAX)
    return Error("'Uid': missing or malformed");
  auto pids = words_of(find_field(text, "NSpid").value_or(""));
  // The last number is that in the innermost namespace. Not every kernel has this line.
  auto own_pid = pids.empty() ? pid : parse_decimal(pids.back());
  if (!own_pid || *own_pid > INT32_MAX)
    return Error("'NSpid': malformed");
  auto capabilities = parse_hex(find_field(text, "CapEff").value_or(""));
  if (!capabilities)
    return Error("'CapEff': missing or malformed");
  // A kernel without CONFIG_SECCOMP has no such line.
  auto seccomp = parse_decimal(find_field(text, "Seccomp").value_or("0"));
  if (!seccomp)
    return Error("'Seccomp': malformed");
  return Status{state->front(),
                static_cast<uint32_t>(*pid),
                static_cast<uint32_t>(*user),
                static_cast<uint32_t>(*own_pid),
                *capabilities,
                *seccomp};
}

std::optional<Status> status_of(uint32_t pid) {
  auto text = read_file(fmt::format("/proc/{}/status", pid), kMaxProcessText);
  if (!text)
    return std::nullopt;
  auto status = parse_status(*text);
  return status ? std::optional(*status) : std::nullopt;
}

std::vector<uint32_t> process_ids() {
  return numbered_entries("/proc");
}

std::vector<uint32_t> thread_ids(uint32_t pid) {
  return numbered_entries(fmt::format("/proc/{}/task", pid));
}

std::string command_line_of(uint32_t pid) {
  auto text = read_file(fmt::format("/proc/{}/cmdline", pid), kMaxProcessText);
  if (!text || text->empty())
    return {};
  text->pop_back();  // each argument ends in NUL
  std::string line;
  for (std::string_view word : split(*text, '\0'))
    line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

std::optional<std::string> comm_of(uint32_t pid, uint32_t tid) {
  auto text = read_file(fmt::format("/proc/{}/task/{}/comm", pid, tid), kMaxProcessText);
  if (!text || !text->ends_with('\n'))
    return std::nullopt;
  text->pop_back();
  return std::move(*text);
}

std::optional<uint64_t> parse_start_time(std::string_view stat, uint64_t ticks_per_second) {
  // The name may hold spaces and brackets: the last bracket ends it.
  size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos)
    return std::nullopt;
  // Field 22 is the 20th from field 3 on.
  auto fields = words_of(stat.substr(name_end + 1));  // from field 3 on
  auto ticks = fields.size() > 19 ? parse_decimal(fields[19]) : std::nullopt;
  uint64_t tick = 1'000'000'000 / ticks_per_second;
  if (!ticks || *ticks > UINT64_MAX / tick)
    return std::nullopt;
  return *ticks * tick;
}

std::optional<uint64_t> start_time_of(uint32_t pid) {
  auto stat = read_file(fmt::format("/proc/{}/stat", pid), kMaxProcessText);
  if (!stat)
    return std::nullopt;
  return parse_start_time(*stat, static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

// Also true if there is no process of that number any more: it has no threads then.
bool has_ended(uint32_t pid) {
  for (uint32_t tid : thread_ids(pid))
    if (auto status = status_of(tid); status && status->state != 'Z' && status->state != 'X')
      return false;
  return true;
}

Result<std::vector<MapsEntry>> mappings_of(uint32_t pid) {
  auto text = maps_text_of(pid);
  if (!text)
    return std::move(text).error();
  return parse_maps(*text);
}

Result<std::string> maps_text_of(uint32_t pid) {
  auto text = read_file(fmt::format("/proc/{}/maps", pid), kMaxProcessText);
  // /proc/PID/maps is the first thread's, which may have ended before the others.
  if (text && text->empty())
    for (uint32_t tid : thread_ids(pid))
      if (auto thread =
              read_file(fmt::format("/proc/{}/task/{}/maps", pid, tid), kMaxProcessText);
          thread && !thread->empty())
        return thread;
  if (text)
    return text;
  // A process that has ended meanwhile is as if it had never been there (process.h).
  bool is_gone = !status_of(pid);
  if (is_gone)
    return std::string();
  return std::move(text).error();
}

std::string setting(const std::string& path) {
  constexpr size_t kMaxSize = 65536;
  auto text = read_file(path, kMaxSize);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  return std::string(take_line(rest));
}

namespace {

static_assert(kPiecesAtOnce <= IOV_MAX);

// Gives how many of the pieces, kPiecesAtOnce at most, were read; the one behind them could not
// be. `error` is set where none can be.
size_t read_some(uint32_t pid, std::span<MemoryPiece> pieces, int& error) {
  std::array<iovec, kPiecesAtOnce> local;
  std::array<iovec, kPiecesAtOnce> remote;
  for (size_t i = 0; i < pieces.size(); i++) {
    local[i] = {pieces[i].bytes.data(), pieces[i].bytes.size()};
    remote[i] = {reinterpret_cast<void*>(pieces[i].address), pieces[i].bytes.size()};
  }
  ssize_t count = process_vm_readv(static_cast<pid_t>(pid), local.data(), pieces.size(),
                                   remote.data(), pieces.size(), 0);
  // These two are of the addresses: one piece is not there, and others may be.
  if (count < 0 && errno != EFAULT && errno != EINVAL)
    error = errno;
  // The kernel reads up to the first byte that is not there, and tells how many it has read.
  uint64_t left = count < 0 ? 0 : static_cast<uint64_t>(count);
  size_t read = 0;
  for (; read < pieces.size() && pieces[read].bytes.size() <= left; read++) {
    pieces[read].is_read = true;
    left -= pieces[read].bytes.size();
  }
  return read;
}

}  // namespace

int try_read_memory(uint32_t pid, std::span<MemoryPiece> pieces) {
  for (MemoryPiece& piece : pieces)
    piece.is_read = false;
  int error = 0;
  while (!pieces.empty() && error == 0) {
    std::span<MemoryPiece> next = pieces.first(std::min(pieces.size(), kPiecesAtOnce));
    size_t read = read_some(pid, next, error);
    // One that cannot be read is passed over, and the call made again behind it.
    pieces = pieces.subspan(std::min(read + (read < next.size() ? 1 : 0), pieces.size()));
  }
  return error;
}

Error memory_error(uint32_t pid, int error) {
  if (error == ESRCH)
    return errorf("process {} has ended", pid).with_exit_status(kNoTarget);
  return system_error(fmt::format("cannot read the memory of process {}", pid), error)
      .with_hint("run as its user, where kernel.yama.ptrace_scope allows that, or with sudo")
      .with_exit_status(kUnsupported);
}

namespace {

constexpr uint64_t kMaxCpu = 8191;  // of CONFIG_NR_CPUS

Result<> add_range(std::string_view text, std::set<uint32_t>& cpus) {
  size_t dash = text.find('-');
  auto first = parse_decimal(text.substr(0, dash));
  auto last = dash == text.npos ? first : parse_decimal(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last > kMaxCpu)
    return errorf("'{}' is neither a CPU nor a range of CPUs", printable(text));
  for (uint64_t cpu = *first; cpu <= *last; cpu++)
    cpus.insert(static_cast<uint32_t>(cpu));
  return Ok{};
}

std::vector<uint32_t> cpus_in(const std::string& file) {
  auto cpus = parse_cpu_list(setting(file));
  return cpus ? *std::move(cpus) : std::vector<uint32_t>{0};
}

}  // namespace

Result<std::vector<uint32_t>> parse_cpu_list(std::string_view text) {
  std::set<uint32_t> cpus;
  for (std::string_view range : split(text, ','))
    if (auto added = add_range(range, cpus); !added)
      return std::move(added).error();
  return std::vector<uint32_t>(cpus.begin(), cpus.end());
}

std::vector<uint32_t> online_cpus() {
  return cpus_in("/sys/devices/system/cpu/online");
}

std::vector<uint32_t> possible_cpus() {
  return cpus_in("/sys/devices/system/cpu/possible");
}

}  // namespace gosym::proc

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gosym::proc {

#if defined(__x86_64__)
std::vector<uint32_t> fpu_state_sizes(size_t limit) {
  constexpr uint32_t kStateLeaf = 0xd;
  constexpr uint32_t kTiles = 18;  // given to threads that ask for them; they lie last
  constexpr uint32_t kLegacySize = 512;
  constexpr uint32_t kEndMark = 4;  // FP_XSTATE_MAGIC2, which the kernel puts behind a state
  std::vector<uint32_t> sizes;
  uint32_t features = 0;
  uint32_t size = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  bool has_states = __get_cpuid_count(kStateLeaf, 0, &features, &size, &ecx, &edx) != 0;
  // Threads without tiles have a shorter state: it ends where tiles would begin.
  if (has_states && (features >> kTiles & 1) != 0) {
    uint32_t eax = 0;
    uint32_t offset = 0;
    // The leaf of the tiles says where they begin.
    if (__get_cpuid_count(kStateLeaf, kTiles, &eax, &offset, &ecx, &edx) != 0)
      sizes.push_back(offset + kEndMark);
  }
  if (has_states)
    sizes.push_back(size + kEndMark);
  sizes.push_back(kLegacySize);
  sizes.resize(std::min(sizes.size(), limit));
  return sizes;
}
#else
std::vector<uint32_t> fpu_state_sizes(size_t) {
  return {};
}
#endif

#if defined(__aarch64__)
uint64_t code_mask() {
  // Below bit 55, which tells the kernel's half of the address space from the other; what lies
  // above is ignored in addresses of data, and no address of code has it.
  constexpr uint64_t kAll = (uint64_t{1} << 55) - 1;
  uint64_t left = 0;
  // xpaclri: strips x30, and does nothing on a processor that does not sign.
  asm volatile("mov x30, %1\n\thint #7\n\tmov %0, x30" : "=r"(left) : "r"(kAll) : "x30");
  return left | ~kAll;
}
#else
uint64_t code_mask() {
  return ~uint64_t{0};
}
#endif

uint32_t kernel_stack_size() {
  // On arm64 it is a page at least, which may have 64 KiB.
  constexpr uint32_t kUsual = 16384;
  return std::max(kUsual, static_cast<uint32_t>(sysconf(_SC_PAGESIZE)));
}

}  // namespace gosym::proc
