#include <bpf/libbpf.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "code/llvm.h"
#include "commands/build.h"
#include "commands/command.h"
#include "confine/process_kind.h"
#include "images/debuginfod.h"
#include "proc/cgroups.h"
#include "proc/kallsyms.h"
#include "proc/process.h"
#include "record/keeper.h"
#include "record/rights.h"
#include "record/sampler.h"
#include "record/system_state.h"

namespace gosym {

// Rows from the top down: the build, the system, the rights of this user, then each way to
// take samples and to name code, tried as far as that changes nothing, and what processes
// without rights may do.

namespace {

void print_row(std::string_view name, std::string_view value) {
  print(stdout, "{:<24}{}\n", name, value);
}

// Remedies that were told: one helps against most of what is missing, and is told once.
using Remedies = std::set<std::string>;

void print_no(std::string_view name, std::string_view reason, std::string_view remedy,
              Remedies& told) {
  print_row(name, fmt::format("no: {}", reason));
  if (!remedy.empty() && told.emplace(remedy).second)
    print_row("", fmt::format("-> {}", remedy));
}

uint64_t own_capabilities() {
  auto status = proc::status_of(static_cast<uint32_t>(getpid()));
  return status ? status->capabilities : 0;
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : text;
}

// Capabilities that gosym, or one of its processes, uses.
std::string capabilities(uint64_t owned) {
  constexpr struct {
    int number;
    std::string_view name;
  } kUseful[] = {{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
                 {CAP_BPF, "CAP_BPF"},
                 {CAP_PERFMON, "CAP_PERFMON"},
                 {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
                 {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
                 {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
                 {CAP_FOWNER, "CAP_FOWNER"},
                 {CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE"},
                 {CAP_KILL, "CAP_KILL"},
                 {CAP_SYSLOG, "CAP_SYSLOG"}};
  std::vector<std::string> names;
  for (const auto& capability : kUseful)
    if ((owned >> capability.number & 1) != 0)
      names.emplace_back(capability.name);
  return joined(names, " ");
}

// "gosym 0.1.0", commit, kind of build: lines of one row.
void print_build() {
  std::string version = version_text();
  std::string_view rest = version;
  std::string_view name = "gosym";
  while (!rest.empty()) {
    print_row(name, take_line(rest));
    name = "";
  }
}

void print_system() {
  utsname system{};
  uname(&system);
  print_row("kernel", fmt::format("Linux {} {}", system.release, system.machine));
  // The types of the kernel, by which BPF programs are fitted to it when they are loaded.
  constexpr const char* kTypes = "/sys/kernel/btf/vmlinux";
  print_row("BTF", access(kTypes, R_OK) == 0 ? kTypes : "none");
  print_row("lockdown", or_none(proc::setting("/sys/kernel/security/lockdown")));
  print_row("perf_event_paranoid",
            or_none(proc::setting("/proc/sys/kernel/perf_event_paranoid")));
  print_row("kptr_restrict", or_none(proc::setting("/proc/sys/kernel/kptr_restrict")));
  print_row("maximum sample rate",
            or_none(proc::setting("/proc/sys/kernel/perf_event_max_sample_rate")) + " Hz");
  print_row("cgroup v2", or_none(printable(proc::cgroup_mount().value_or(""))));
}

// The clock of samples is the kernel's.
std::string monotonic_clock() {
  auto offset = monotonic_offset_of("/proc/self");
  if (!offset)
    return "not known: the time namespace is another than that of children";
  if (*offset == 0)
    return "the kernel's";
  return fmt::format("{} s {} the kernel's, by a time namespace", std::abs(to_seconds(*offset)),
                     *offset > 0 ? "ahead of" : "behind");
}

void print_user() {
  auto status = proc::status_of(static_cast<uint32_t>(getpid()));
  if (!status)
    return;
  print_row("user", fmt::format("{}", status->user));
  print_row("capabilities", or_none(capabilities(status->capabilities)));
  print_row("seccomp", status->seccomp == 0 ? "none" : "a filter");
  print_row("user namespace", is_first_user_namespace() ? "initial" : "not the initial one");
  print_row("pid namespace", is_first_pid_namespace() ? "initial" : "not the initial one");
  print_row("monotonic clock", monotonic_clock());
}

// Set up as for a recording of ourselves, but never started.
Result<std::unique_ptr<Sampler>> try_sampler(Keeper& keeper, SamplerKind kind,
                                             std::vector<EventType> events = {}) {
  SamplerOptions options;
  options.kind = kind;
  options.events = std::move(events);
  options.scope.pids = {static_cast<uint32_t>(getpid())};
  return Sampler::open(options, keeper);
}

void print_sampler(std::string_view name, const Result<std::unique_ptr<Sampler>>& sampler,
                   Remedies& told) {
  if (!sampler)
    return print_no(name, sampler.error().message(), sampler.error().hint(), told);
  print_row(name, fmt::format("yes, on {}{}", (*sampler)->events().front().name,
                              (*sampler)->sees_kernel() ? "" : ", without the kernel's code"));
}

// If nothing can be sampled by BPF the reason has been told already.
void print_off_cpu(const Result<std::unique_ptr<Sampler>>& bpf, Keeper& keeper,
                   Remedies& told) {
  constexpr std::string_view kName = "waiting, by BPF";
  if (!bpf)
    return print_row(kName, "no");
  auto waits = try_sampler(keeper, SamplerKind::kBpf, {off_cpu()});
  if (waits)
    print_row(kName, "yes");
  else
    print_no(kName, waits.error().message(), waits.error().hint(), told);
}

// True if the system lets anybody read another's memory: no filter of system calls forbids it.
bool can_read_memory() {
  uint64_t word = 1;
  uint64_t copy = 0;
  proc::MemoryPiece piece = {reinterpret_cast<uintptr_t>(&word),
                             std::as_writable_bytes(std::span(&copy, 1))};
  int error = proc::try_read_memory(static_cast<uint32_t>(getpid()), {&piece, 1});
  return error == 0 && copy == word;
}

// By whoever may read the memory of their process.
void print_goroutines(Remedies& told) {
  // Yama's 0 allows one's own processes, 1 and 2 take the capability, 3 refuses everybody. No
  // setting: there is no Yama.
  constexpr std::string_view kName = "goroutines, by memory";
  std::string scope = proc::setting("/proc/sys/kernel/yama/ptrace_scope");
  if (!can_read_memory())
    print_no(kName, "process_vm_readv(2) is not allowed here", "", told);
  else if ((own_capabilities() >> CAP_SYS_PTRACE & 1) != 0 && is_first_user_namespace())
    print_row(kName, scope == "3" ? "no: kernel.yama.ptrace_scope is 3" : "yes");
  else if (scope.empty() || scope == "0")
    print_row(kName, "yes, of your own processes");
  else
    print_no(kName, fmt::format("kernel.yama.ptrace_scope is {}", scope), how_to_grant(), told);
}

// A file that was deleted while it is mapped is opened by the link to it in map_files, see
// proc(5).
bool may_open_map_files() {
  auto mappings = proc::mappings_of(static_cast<uint32_t>(getpid()));
  if (!mappings)
    return false;
  // A mapping of our own file, for one; in a static program the heap may lie before it.
  auto of_file = std::ranges::find_if(
      *mappings, [](const proc::MapsEntry& entry) { return entry.path.starts_with('/'); });
  if (of_file == mappings->end())
    return false;
  std::string link =
      fmt::format("/proc/self/map_files/{:x}-{:x}", of_file->start, of_file->end);
  return UniqueFd(open(link.c_str(), O_RDONLY | O_CLOEXEC)).get() >= 0;
}

bool is_readable(uint32_t pid) {
  auto mappings = proc::mappings_of(pid);
  return mappings && !mappings->empty();
}

// Linux 6.15 and later let CAP_PERFMON do, too. Where all processes are of one user, the
// capability has to tell; that of a user namespace is for the processes of this alone.
bool may_read_mappings() {
  auto is_of_other = [](uint32_t pid) {
    auto status = proc::status_of(pid);
    return status && status->user != geteuid();
  };
  if ((own_capabilities() >> CAP_SYS_PTRACE & 1) != 0 && is_first_user_namespace())
    return true;
  return std::ranges::any_of(
      proc::process_ids(), [&](uint32_t pid) { return is_of_other(pid) && is_readable(pid); });
}

// Capabilities of a user namespace count for what belongs to it.
std::string lack_of(std::string_view capabilities) {
  return is_first_user_namespace() ? fmt::format("it takes {}", capabilities)
                                   : "not in the initial user namespace";
}

#ifdef __aarch64__
constexpr uint16_t kOwnMachine = EM_AARCH64;
#else
constexpr uint16_t kOwnMachine = EM_X86_64;
#endif

// The library by which annotate and the browser show code.
void print_disassembler(Remedies& told) {
  const code::Llvm* llvm = code::find_llvm(kOwnMachine);
  if (!llvm)
    return print_no("instructions", "there is no library of LLVM 14 or newer",
                    "on Debian and Ubuntu: apt-get install libllvm14", told);
  print_row("instructions", fmt::format("yes, by LLVM {} {}", llvm->version,
                                        llvm->is_inside ? "inside gosym" : "of this system"));
}

// The client by which debug files are fetched where that is asked for.
void print_debuginfod(Remedies& told) {
  if (has_debuginfod())
    print_row("debuginfod", fmt::format("yes, by {}", kDebuginfodTool));
  else
    print_no("debuginfod", kNoDebuginfod, kHowToInstallDebuginfod, told);
}

// Each is tried: on ourselves, or on processes that are there.
void print_names(Remedies& told) {
  if (may_read_mappings())
    print_row("others' mappings", "yes");
  else
    print_no("others' mappings", lack_of("CAP_SYS_PTRACE"), how_to_grant(), told);
  if (may_open_map_files())
    print_row("deleted files", "yes");
  else
    print_no("deleted files", lack_of("CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH"),
             how_to_grant(), told);
  if (!Kallsyms(read_kernel_symbols()).empty())
    print_row("kernel functions", "yes");
  else
    print_no("kernel functions",
             is_first_user_namespace() ? std::string(why_kernel_symbols_are_hidden())
                                       : lack_of("CAP_SYSLOG"),
             how_to_grant(), told);
  print_disassembler(told);
  print_debuginfod(told);
}

// A row for each process: the rights that it has left once it reads what strangers wrote.
void print_processes() {
  Enforced enforced = enforced_here();
  uint64_t owned = own_capabilities();
  print_row("system calls", enforced.has_filters ? "filtered, by seccomp" : "not filtered");
  print_row("paths", enforced.landlock_version > 0
                         ? fmt::format("refused, by Landlock {}", enforced.landlock_version)
                         : "refused by seccomp alone: no Landlock");
  for (const ProcessRow& row : process_rows()) {
    // The table has what each process keeps of root's capabilities: here only those count that
    // this user has.
    std::string has = capabilities(row.capabilities & owned);
    std::vector<std::string> left{has.empty() ? "no capabilities" : has};
    if (row.filter != CallFilter::kNone && enforced.has_filters)
      left.emplace_back("seccomp");
    if (row.paths != PathFilter::kNone && enforced.landlock_version > 0)
      left.emplace_back("Landlock");
    if (row.may_execute)
      left.emplace_back("executes programs");
    if (row.has_sockets)
      left.emplace_back("makes sockets");
    print_row(row.name, fmt::format("{}: {}", row.task, joined(left, ", ")));
  }
}

Result<int> diagnose() {
  // Failures are what is looked for here: libbpf's own messages would stand between the rows.
  libbpf_set_print(nullptr);
  print_build();
  print_system();
  print_user();
  print(stdout, "\nsampling\n");
  Keeper keeper;
  auto bpf = try_sampler(keeper, SamplerKind::kBpf);
  auto perf = try_sampler(keeper, SamplerKind::kPerf);
  Remedies told;
  print_sampler("anything, by BPF", bpf, told);
  print_off_cpu(bpf, keeper, told);
  print_sampler("own processes, by perf", perf, told);
  print_goroutines(told);
  print(stdout, "\nnaming\n");
  print_names(told);
  print(stdout, "\nprocesses that read what others wrote\n");
  print_processes();
  // BPF samples anything where it is there; perf events were tried on own processes alone.
  return bpf ? kSuccess : perf ? kPartial : kUnsupported;
}

}  // namespace

Command make_doctor() {
  return {.name = "doctor",
          .summary = "Show what can be recorded on this machine",
          .examples =
              "  gosym doctor             what this user can record\n"
              "  sudo gosym doctor        what root can record\n",
          .run = diagnose};
}

}  // namespace gosym
