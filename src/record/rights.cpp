#include "record/rights.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/process.h"

namespace gosym {

namespace {

// Before Linux 5.8 these were parts of CAP_SYS_ADMIN, which still stands for both.
struct Capability {
  int number;
  std::string_view name;
};
constexpr Capability kNeeded[] = {{CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};

std::string setting(const std::string& path) {
  auto text = read_file(path, 4096);
  if (!text)
    return {};
  std::string_view rest = *text;
  return std::string(take_line(rest));
}

bool has(const proc::Status& status, int capability) {
  return (status.capabilities >> capability & 1) != 0;
}

std::vector<std::string_view> missing_capabilities(const proc::Status& status) {
  std::vector<std::string_view> missing;
  for (const Capability& capability : kNeeded)
    if (!has(status, capability.number) && !has(status, CAP_SYS_ADMIN))
      missing.push_back(capability.name);
  return missing;
}

// Why the kernel refuses one who has the capabilities. None: we do not know.
std::optional<Error> find_obstacle(const proc::Status& status) {
  if (setting("/sys/kernel/security/lockdown").find("[confidentiality]") != std::string::npos)
    return Error("the kernel is locked down (confidentiality)")
        .with_hint("boot with lockdown=integrity, or without Secure Boot");
  if (status.seccomp != 0)
    return Error("a seccomp filter forbids bpf and perf_event_open")
        .with_hint("with Docker: --security-opt seccomp=unconfined");
  return std::nullopt;
}

// Capabilities count only for what belongs to the user namespace; BPF belongs to the first.
bool is_first_user_namespace() {
  return setting("/proc/self/uid_map").find("4294967295") != std::string::npos;
}

Error explain_refusal(const proc::Status& status) {
  if (!is_first_user_namespace())
    return Error("not in the first user namespace")
        .with_hint("run gosym outside of the container or of 'unshare -U'");
  if (auto missing = missing_capabilities(status); !missing.empty())
    return errorf("missing {}", fmt::join(missing, " and "))
        .with_hint(
            "run with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,"
            "cap_dac_read_search,cap_checkpoint_restore,cap_syslog+ep $(command -v gosym)");
  if (auto obstacle = find_obstacle(status))
    return *obstacle;
  return errorf("refused, though the capabilities are there (kernel.perf_event_paranoid is {})",
                setting("/proc/sys/kernel/perf_event_paranoid"));
}

bool is_first_pid_namespace() {
  constexpr ino_t kFirst = 0xeffffffc;  // PROC_PID_INIT_INO, the same since Linux 3.8
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) != 0 || status.st_ino == kFirst;
}

}  // namespace

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
  if (cause == EMFILE)
    return system_error(what, cause)
        .with_hint("raise the limit of open files: ulimit -n 65536");
  auto status = proc::status_of(static_cast<uint32_t>(getpid()));
  if ((cause != EPERM && cause != EACCES) || !status)
    return system_error(what, cause);
  return explain_refusal(*status).context(what).with_exit_status(kUnsupported);
}

std::string_view why_kernel_symbols_are_hidden() {
  if (setting("/proc/sys/kernel/kptr_restrict") == "2")
    return "kernel.kptr_restrict is 2: set it to 1 with sysctl";
  return "it takes CAP_SYSLOG";
}

}  // namespace gosym
