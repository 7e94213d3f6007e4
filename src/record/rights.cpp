#include "record/rights.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/text.h"
#include "confine/capabilities.h"
#include "proc/process.h"

// The first half explains refusals: the kernel says EPERM for a dozen reasons, which are asked
// for one by one, from the most general to the most special. The second half is about a
// program file that gives rights to whoever runs it.

namespace gosym {

namespace {

// Before Linux 5.8 these were parts of CAP_SYS_ADMIN, which still stands for both.
struct Capability {
  int number;
  std::string_view name;
};
constexpr Capability kNeeded[] = {{CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};

// Values of kernel.perf_event_paranoid up to which one may sample one's own processes: in the
// kernel, too; at all.
constexpr uint64_t kOwnKernel = 1;
constexpr uint64_t kOwnProcesses = 2;
constexpr const char* kParanoid = "/proc/sys/kernel/perf_event_paranoid";

std::string set_paranoid(uint64_t value) {
  return fmt::format("sudo sysctl kernel.perf_event_paranoid={}", value);
}

bool has(const proc::Status& status, int capability) {
  return (status.capabilities >> capability & 1) != 0;
}

std::vector<std::string> missing_capabilities(const proc::Status& status) {
  std::vector<std::string> missing;
  for (const Capability& capability : kNeeded)
    if (!has(status, capability.number) && !has(status, CAP_SYS_ADMIN))
      missing.emplace_back(capability.name);
  return missing;
}

// Why the kernel refuses one who has the capabilities. None: we do not know.
std::optional<Error> find_obstacle(const proc::Status& status) {
  // The file lists all modes, and the one that holds in brackets.
  if (proc::setting("/sys/kernel/security/lockdown").find("[confidentiality]") !=
      std::string::npos)
    return Error("the kernel is locked down (confidentiality)")
        .with_hint("boot with lockdown=integrity, or without Secure Boot");
  // The filter is asked about before paranoid, as it refuses whatever the setting is.
  if (status.seccomp != 0)
    return Error("a seccomp filter forbids bpf and perf_event_open")
        .with_hint("with Docker: --security-opt seccomp=unconfined");
  // Debian and Ubuntu have patched this in; elsewhere 3 is the same as 2. A setting that is no
  // number is not greater than any.
  std::string paranoid = proc::setting(kParanoid);
  if (parse_decimal(paranoid) > kOwnProcesses && !has(status, CAP_SYS_ADMIN))
    return errorf("kernel.perf_event_paranoid is {}", paranoid)
        .with_hint(set_paranoid(kOwnProcesses));
  return std::nullopt;
}

// Each namespace has a number as a file; those of the first are the same since Linux 3.8. A
// kernel without such namespaces has no file: everybody is in the first one.
bool is_first_namespace(const char* path, ino_t first) {
  struct stat status {};
  return stat(path, &status) != 0 || status.st_ino == first;
}

// Capabilities count only for what belongs to the user namespace; BPF belongs to the first.
Error explain_refusal(const proc::Status& status) {
  // A container with a user namespace may show all capabilities: they hold in it alone.
  if (!is_first_user_namespace())
    return Error("not in the initial user namespace").with_hint(std::string(how_to_grant()));
  if (auto missing = missing_capabilities(status); !missing.empty())
    return errorf("missing {}", joined(missing, " and "))
        .with_hint(std::string(how_to_grant()));
  if (auto obstacle = find_obstacle(status))
    return *obstacle;
  return errorf("refused, though the capabilities are there (kernel.perf_event_paranoid is {})",
                proc::setting(kParanoid));
}

}  // namespace

bool is_first_pid_namespace() {
  constexpr ino_t kFirst = 0xeffffffc;  // PROC_PID_INIT_INO
  return is_first_namespace("/proc/self/ns/pid", kFirst);
}

bool is_first_user_namespace() {
  return is_first_namespace("/proc/self/ns/user", kFirstUserNamespace);
}

std::string_view how_to_grant() {
  if (!is_first_user_namespace())
    return "run gosym outside of the container or of 'unshare -U'";
  return "run with sudo; or have root make a copy for a group: man gosym-record, Rights";
}

Result<> check_kernel() {
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    return Error("the kernel has no type information (/sys/kernel/btf/vmlinux)")
        .with_hint("use a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions have it")
        .with_exit_status(kUnsupported);
  if (!is_first_pid_namespace())
    return Error("cannot sample from within a pid namespace: process ids differ there")
        .with_hint("run gosym on the host, or with Docker: --pid=host")
        .with_exit_status(kUnsupported);
  return Ok{};
}

Error denied_or_failed(std::string_view what, int cause) {
  // No descriptors left is told as such, since the hint differs.
  if (cause == EMFILE)
    return system_error(what, cause)
        .with_hint("raise the limit of open files: ulimit -n 65536");
  auto status = proc::status_of(static_cast<uint32_t>(getpid()));
  if ((cause != EPERM && cause != EACCES) || !status)
    return system_error(what, cause);
  return explain_refusal(*status).context(what).with_exit_status(kUnsupported);
}

// Before Linux 5.11 it counts against a limit, which libbpf raises for those who may.
Error denied_bpf_memory(std::string_view what, int cause) {
  auto status = proc::status_of(static_cast<uint32_t>(getpid()));
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  // EPERM has many causes: the limit is named only where all others are ruled out.
  bool is_allowed = status && is_first_user_namespace() && status->seccomp == 0 &&
                    missing_capabilities(*status).empty();
  if (cause != EPERM || !is_allowed || limit.rlim_cur == RLIM_INFINITY)
    return denied_or_failed(what, cause);
  return errorf("{}: the limit of locked memory is {}, and this kernel counts BPF's against it",
                what, human_size(limit.rlim_cur))
      .with_hint("run in this shell first: sudo prlimit --memlock=unlimited --pid $$")
      .with_exit_status(kUnsupported);
}

Error refused_by_verifier(std::string_view log) {
  std::string_view reason;
  while (!log.empty()) {
    std::string_view line = take_line(log);
    // The last line that is no figure has the reason.
    bool is_figure = line.empty() || line.starts_with("processed ") ||
                     line.starts_with("verification time ") || line.starts_with("stack depth ");
    if (!is_figure)
      reason = line;
  }
  utsname system{};
  uname(&system);
  return errorf("the verifier of Linux {} refuses the BPF program: {}", system.release,
                printable(reason))
      .with_hint("a bug of gosym, please report it; until then: --sampler=perf");
}

Error explain_refused_process(uint32_t pid, bool is_kernel_only) {
  auto status = proc::status_of(static_cast<uint32_t>(getpid()));
  auto process = proc::status_of(pid);
  // Without capabilities only processes of the user's own may be sampled.
  if (process && process->user != geteuid())
    return errorf("process {} belongs to another user, of uid {}", pid, process->user)
        .with_exit_status(kUnsupported);
  std::string paranoid = proc::setting(kParanoid);
  // A setting that is no number is not greater than any.
  uint64_t wanted = is_kernel_only ? kOwnKernel : kOwnProcesses;
  if (parse_decimal(paranoid) > wanted)
    return errorf("kernel.perf_event_paranoid is {}", paranoid)
        .with_hint(set_paranoid(wanted))
        .with_exit_status(kUnsupported);
  if (status && status->seccomp != 0)
    return Error("a seccomp filter forbids perf_event_open").with_exit_status(kUnsupported);
  return errorf("no permission to look into process {}: it has capabilities that you lack", pid)
      .with_exit_status(kUnsupported);
}

std::string_view why_kernel_symbols_are_hidden() {
  if (proc::setting("/proc/sys/kernel/kptr_restrict") == "2")
    return "kernel.kptr_restrict is 2: set it to 1 with sysctl";
  return "it takes CAP_SYSLOG";
}

namespace {

constexpr uint64_t bit(int capability) {
  return uint64_t{1} << capability;
}

// None of these opens a file that its user may not open. Those for limits of memory and
// descriptors are dropped once the recorder is set up.
constexpr uint64_t kForSampling =
    kPartsOfAdmin | bit(CAP_SYSLOG) | bit(CAP_IPC_LOCK) | bit(CAP_SYS_RESOURCE);

// Before Linux 5.8, and where they were not named, some of the useful capabilities are part of
// CAP_SYS_ADMIN, which is kept then.
uint64_t kept_of(uint64_t owned, uint64_t useful) {
  uint64_t kept = owned & useful;
  if ((kept & kPartsOfAdmin) != kPartsOfAdmin)
    kept |= owned & bit(CAP_SYS_ADMIN);
  return kept;
}

// A program that belongs to another user runs as that one.
bool become_user() {
  // The group first: without root's user id it may not be changed any more.
  // Without this flag capabilities are cleared when the user id changes.
  prctl(PR_SET_KEEPCAPS, 1);
  return setresgid(getgid(), getgid(), getgid()) == 0 &&
         setresuid(getuid(), getuid(), getuid()) == 0;
}

}  // namespace

// The kernel sets this for whoever got rights by executing us. Root has them all anyway.
bool has_rights_of_file() {
  return getuid() != 0 && getauxval(AT_SECURE) != 0;
}

Result<> give_up_rights_of_file(Purpose purpose) {
  if (!has_rights_of_file())
    return Ok{};
  if (!become_user())
    return system_error("cannot give up the rights of the program's file", errno);
  uint64_t kept =
      purpose == Purpose::kSampling ? kept_of(permitted_capabilities(), kForSampling) : 0;
  if (!set_capabilities(kept, kept))
    return system_error("cannot give up the rights of the program's file", errno);
  return Ok{};
}

bool may_look_into(uint32_t pid) {
  bool has_more = has_rights_of_file();
  uint64_t owned = permitted_capabilities();
  if (has_more)
    // With the user's own rights, not those of the program's file.
    set_capabilities(owned, 0);
  // One byte is enough: the kernel asks for the right whatever is read of the link.
  char target[1];
  bool may = readlink(fmt::format("/proc/{}/exe", pid).c_str(), target, sizeof(target)) >= 0 ||
             errno == ENOENT;  // a thread of the kernel, or nobody
  if (has_more)
    set_capabilities(owned, owned);
  return may;
}

void forbid_new_privileges() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // The bounding set limits what a program that is executed can get from its file.
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
    prctl(PR_CAPBSET_DROP, capability);
}

}  // namespace gosym
