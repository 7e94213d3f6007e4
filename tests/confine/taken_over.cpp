// Built with the rest of gosym into a program of its own, in which the process that
// GOSYM_TAKEN_OVER names does, as soon as it has only the rights of its row, what somebody
// would who has taken it over, and goes on. It says what was refused in the file that
// GOSYM_TOLD names, as some processes have no standard error, or else there.
// Files are attacked in the working directory, beside those of the system.
// With GOSYM_LOOKED_AT, the name of a file, none attacks: each says there who it is, and waits
// until somebody has looked at it.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string_view>

#include "confine/process_kind.h"

namespace gosym {

namespace {

// Each gives a value below 0 if it was refused.
struct Attack {
  const char* name;
  long (*run)();
};

// A process of the same user, to be attacked; it must live on.
int victim() {
  const char* pid = std::getenv("GOSYM_VICTIM");
  return pid ? std::atoi(pid) : 1;
}

long opened(const char* path, int flags) {
  long fd = open(path, flags, 0600);
  if (fd >= 0 && (flags & O_CREAT) == 0) {
    char byte;
    return read(static_cast<int>(fd), &byte, 1) == 1 ? 0 : -1;
  }
  return fd;
}

long look_into_memory() {
  char byte;
  iovec ours = {&byte, 1};
  iovec theirs = {reinterpret_cast<void*>(0x1000), 1};
  long done = process_vm_readv(victim(), &ours, 1, &theirs, 1, 0);
  return done < 0 && errno == EFAULT ? 0 : done;  // it may, but nothing lies there
}

long start_process() {
  long pid = syscall(SYS_fork);
  if (pid == 0)
    _exit(0);
  return pid;
}

constexpr int kRefused = 42;  // the status of a child

// In a child, if there may be one: who became another program tries nothing more.
long execute() {
  long child = syscall(SYS_fork);
  if (child > 0) {
    int status = 0;
    waitpid(static_cast<pid_t>(child), &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == kRefused ? -1 : 0;
  }
  const char* words[] = {"/bin/false", nullptr};
  const char* none[] = {nullptr};
  long refused = syscall(SYS_execve, words[0], words, none);
  if (child == 0)
    _exit(kRefused);
  return refused;
}

constexpr Attack kAttacks[] = {
    {"write-etc",
     [] {
       char path[64];  // two runs have two
       std::snprintf(path, sizeof(path), "/etc/gosym-taken-over-%d", victim());
       return opened(path, O_WRONLY | O_CREAT);
     }},
    {"write", [] { return opened("gosym-taken-over", O_WRONLY | O_CREAT); }},
    {"read-shadow", [] { return opened("/etc/shadow", O_RDONLY); }},
    {"read-shadow-found",
     [] {
       int found = open("/etc/shadow", O_PATH);
       char link[64];
       std::snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
       return found < 0 ? -1L : opened(link, O_RDONLY);
     }},
    {"read-shadow-as-source", [] { return opened("gosym-source.c", O_RDONLY); }},
    {"read-memory-file",
     [] {
       char path[64];
       std::snprintf(path, sizeof(path), "/proc/%d/mem", victim());
       return static_cast<long>(open(path, O_RDWR));
     }},
    {"read-environment",
     [] {
       char path[64];
       std::snprintf(path, sizeof(path), "/proc/%d/environ", victim());
       return opened(path, O_RDONLY);
     }},
    {"remove", [] { return static_cast<long>(unlink("gosym-to-be-kept")); }},
    {"rename", [] { return static_cast<long>(rename("gosym-to-be-kept", "gosym-gone")); }},
    {"chmod", [] { return static_cast<long>(chmod("gosym-to-be-kept", 0777)); }},
    {"truncate", [] { return static_cast<long>(truncate("gosym-to-be-kept", 0)); }},
    {"mkdir", [] { return static_cast<long>(mkdir("gosym-made", 0700)); }},
    {"link", [] { return static_cast<long>(link("gosym-to-be-kept", "gosym-link")); }},
    {"socket-inet", [] { return static_cast<long>(socket(AF_INET, SOCK_STREAM, 0)); }},
    {"socket-unix", [] { return static_cast<long>(socket(AF_UNIX, SOCK_STREAM, 0)); }},
    {"ptrace", [] { return ptrace(PTRACE_SEIZE, victim(), nullptr, nullptr); }},
    {"memory", look_into_memory},
    {"kill", [] { return static_cast<long>(kill(victim(), SIGUSR1)); }},
    {"kill-all", [] { return static_cast<long>(kill(-1, 0)); }},
    {"limits",
     [] {
       rlimit none{0, 0};
       return static_cast<long>(prlimit(victim(), RLIMIT_CORE, &none, nullptr));
     }},
    {"execute", execute},
    {"start", start_process},
    {"bpf",
     [] {
       return syscall(SYS_bpf, 5 /* BPF_PROG_LOAD */, nullptr, 0) < 0 && errno == EPERM ? -1L
                                                                                        : 0L;
     }},
    {"perf",
     [] {
       return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) < 0 && errno != EFAULT ? -1L
                                                                                         : 0L;
     }},
    {"io-uring",
     [] {
       char parameters[128] = {};
       return syscall(SYS_io_uring_setup, 1, parameters);
     }},
    {"mount", [] { return static_cast<long>(mount("none", "/mnt", "tmpfs", 0, nullptr)); }},
    {"namespace", [] { return syscall(SYS_unshare, 0x10000000); }},
    {"type",
     [] {
       char key = '\n';
       int terminal = open("/dev/tty", O_RDWR);
       return static_cast<long>(ioctl(terminal >= 0 ? terminal : 0, TIOCSTI, &key));
     }},
};

constexpr size_t kShared = 1 << 16;

// Maps a file that a variable names, before any process has lost the right to open it.
char* shared_memory(const char* variable) {
  const char* path = std::getenv(variable);
  int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, kShared) != 0)
    return nullptr;
  void* memory = mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

struct Told {
  char* text = shared_memory("GOSYM_TOLD");  // a size_t, how much there is, and that
  // False: there is none.
  bool add(const char* line, size_t size) const {
    if (!text)
      return false;
    size_t at = __atomic_fetch_add(reinterpret_cast<size_t*>(text), size, __ATOMIC_RELAXED);
    if (sizeof(size_t) + at + size <= kShared)
      std::memcpy(text + sizeof(size_t) + at, line, size);
    return true;
  }
};
const Told told;

// Whoever looks at a process says so, beside its name.
struct Look {
  int32_t pid;
  int32_t is_done;
  char name[24];
};
struct Looks {
  uint64_t count;
  Look looks[kShared / sizeof(Look) - 1];
};
Looks* const looks = reinterpret_cast<Looks*>(shared_memory("GOSYM_LOOKED_AT"));

void be_looked_at(std::string_view name) {
  constexpr timespec kStep = {0, 5'000'000};
  constexpr int kSteps = 12'000;
  uint64_t at = __atomic_fetch_add(&looks->count, 1, __ATOMIC_RELAXED);
  if (at >= std::size(looks->looks))
    return;
  Look& look = looks->looks[at];
  std::memcpy(look.name, name.data(), std::min(name.size(), sizeof(look.name)));
  __atomic_store_n(&look.pid, getpid(), __ATOMIC_RELEASE);
  for (int i = 0; i < kSteps && __atomic_load_n(&look.is_done, __ATOMIC_ACQUIRE) == 0; i++)
    nanosleep(&kStep, nullptr);
}

}  // namespace

void on_entered(ProcessKind kind) {
  if (looks)
    be_looked_at(row_of(kind).name);
  const char* name = std::getenv("GOSYM_TAKEN_OVER");
  if (!name || row_of(kind).name != name)
    return;
  for (const Attack& attack : kAttacks) {
    errno = 0;
    long done = attack.run();
    char line[128];
    int size = std::snprintf(line, sizeof(line), "%s %s: %s\n", name, attack.name,
                             done < 0 ? "refused" : "DONE");
    if (!told.add(line, static_cast<size_t>(size)))
      (void)!write(STDERR_FILENO, line, static_cast<size_t>(size));
  }
}

}  // namespace gosym
