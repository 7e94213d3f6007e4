#include "confine/system_calls.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <span>

// Two kinds of filters. Parsers, readers and keepers get a list of what is allowed, and all
// else fails with EPERM; for a parser calls with a path raise SIGSYS instead, which opener.cpp
// answers. All others get a list of what is refused. Lists are by call, and by one argument
// where a call is harmless for some of its values only.

namespace gosym {

namespace {

using CallRules = std::unique_ptr<void, decltype(&seccomp_release)>;

// Tools of the compiler that look for leaks at the end start a process, and look into ours.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
constexpr bool kIsSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kIsSanitized = false;
#endif

// Calls of the C and C++ libraries, zlib, zstd, ncurses and LLVM to compute and to use
// descriptors that they have. Some are not on every machine: libseccomp passes over those.
constexpr int kComputing[] = {SCMP_SYS(read),
                              SCMP_SYS(write),
                              SCMP_SYS(readv),
                              SCMP_SYS(writev),
                              SCMP_SYS(pread64),
                              SCMP_SYS(pwrite64),
                              SCMP_SYS(preadv),
                              SCMP_SYS(pwritev),
                              SCMP_SYS(preadv2),
                              SCMP_SYS(pwritev2),
                              SCMP_SYS(lseek),
                              SCMP_SYS(close),
                              SCMP_SYS(close_range),
                              SCMP_SYS(dup),
                              SCMP_SYS(dup2),
                              SCMP_SYS(dup3),
                              SCMP_SYS(pipe),
                              SCMP_SYS(pipe2),
                              SCMP_SYS(poll),
                              SCMP_SYS(ppoll),
                              SCMP_SYS(select),
                              SCMP_SYS(pselect6),
                              SCMP_SYS(epoll_create1),
                              SCMP_SYS(epoll_ctl),
                              SCMP_SYS(epoll_wait),
                              SCMP_SYS(epoll_pwait),
                              SCMP_SYS(eventfd2),
                              SCMP_SYS(timerfd_create),
                              SCMP_SYS(timerfd_settime),
                              SCMP_SYS(timerfd_gettime),
                              SCMP_SYS(fstat),
                              SCMP_SYS(fstatfs),
                              SCMP_SYS(statfs),
                              SCMP_SYS(fsync),
                              SCMP_SYS(fdatasync),
                              SCMP_SYS(ftruncate),
                              SCMP_SYS(fallocate),
                              SCMP_SYS(fadvise64),
                              SCMP_SYS(flock),
                              SCMP_SYS(getdents64),
                              SCMP_SYS(readlink),
                              SCMP_SYS(readlinkat),
                              SCMP_SYS(getcwd),
                              SCMP_SYS(sendfile),
                              SCMP_SYS(copy_file_range),
                              SCMP_SYS(splice),
                              SCMP_SYS(memfd_create),
                              SCMP_SYS(sendmsg),
                              SCMP_SYS(sendto),
                              SCMP_SYS(recvmsg),
                              SCMP_SYS(recvfrom),
                              SCMP_SYS(shutdown),
                              SCMP_SYS(mmap),
                              SCMP_SYS(munmap),
                              SCMP_SYS(mremap),
                              SCMP_SYS(mprotect),
                              SCMP_SYS(madvise),
                              SCMP_SYS(msync),
                              SCMP_SYS(mincore),
                              SCMP_SYS(mlock),
                              SCMP_SYS(munlock),
                              SCMP_SYS(brk),
                              SCMP_SYS(membarrier),
                              SCMP_SYS(futex),
                              SCMP_SYS(futex_waitv),
                              SCMP_SYS(set_robust_list),
                              SCMP_SYS(get_robust_list),
                              SCMP_SYS(rseq),
                              SCMP_SYS(set_tid_address),
                              SCMP_SYS(sched_yield),
                              SCMP_SYS(sched_getaffinity),
                              SCMP_SYS(sched_getparam),
                              SCMP_SYS(sched_getscheduler),
                              SCMP_SYS(getcpu),
                              SCMP_SYS(arch_prctl),
                              SCMP_SYS(rt_sigaction),
                              SCMP_SYS(rt_sigprocmask),
                              SCMP_SYS(rt_sigreturn),
                              SCMP_SYS(rt_sigpending),
                              SCMP_SYS(rt_sigtimedwait),
                              SCMP_SYS(rt_sigsuspend),
                              SCMP_SYS(sigaltstack),
                              SCMP_SYS(signalfd4),
                              SCMP_SYS(pause),
                              SCMP_SYS(restart_syscall),
                              SCMP_SYS(alarm),
                              SCMP_SYS(setitimer),
                              SCMP_SYS(getitimer),
                              SCMP_SYS(nanosleep),
                              SCMP_SYS(clock_nanosleep),
                              SCMP_SYS(clock_gettime),
                              SCMP_SYS(clock_getres),
                              SCMP_SYS(gettimeofday),
                              SCMP_SYS(time),
                              SCMP_SYS(times),
                              SCMP_SYS(getrandom),
                              SCMP_SYS(uname),
                              SCMP_SYS(sysinfo),
                              SCMP_SYS(getrusage),
                              SCMP_SYS(getrlimit),
                              SCMP_SYS(getpid),
                              SCMP_SYS(getppid),
                              SCMP_SYS(gettid),
                              SCMP_SYS(getpgrp),
                              SCMP_SYS(getpgid),
                              SCMP_SYS(getsid),
                              SCMP_SYS(getuid),
                              SCMP_SYS(geteuid),
                              SCMP_SYS(getgid),
                              SCMP_SYS(getegid),
                              SCMP_SYS(getgroups),
                              SCMP_SYS(getresuid),
                              SCMP_SYS(getresgid),
                              SCMP_SYS(capget),
                              SCMP_SYS(wait4),
                              SCMP_SYS(waitid),
                              SCMP_SYS(exit),
                              SCMP_SYS(exit_group),
                              SCMP_SYS(landlock_restrict_self),
                              SCMP_SYS(landlock_create_ruleset)};

// Calls of which only some are harmless: the value that argument has to have, under the mask.
struct Harmless {
  int call;
  unsigned argument;
  uint64_t mask;
  uint64_t value;
};
constexpr uint64_t kInt = UINT32_MAX;
constexpr Harmless kHarmless[] = {
    // A thread, not a process.
    {SCMP_SYS(clone), 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM},
    // The terminal may be asked and set. It may not be given text as if it had been typed,
    // which the shell would execute.
    {SCMP_SYS(ioctl), 1, kInt, TCGETS},
    {SCMP_SYS(ioctl), 1, kInt, TCSETS},
    {SCMP_SYS(ioctl), 1, kInt, TCSETSW},
    {SCMP_SYS(ioctl), 1, kInt, TCSETSF},
    {SCMP_SYS(ioctl), 1, kInt, TCFLSH},
    {SCMP_SYS(ioctl), 1, kInt, TIOCGWINSZ},
    {SCMP_SYS(ioctl), 1, kInt, TIOCGPGRP},
    {SCMP_SYS(ioctl), 1, kInt, FIONREAD},
    // Others let the kernel signal somebody when there is something to read.
    {SCMP_SYS(fcntl), 1, kInt, F_DUPFD},
    {SCMP_SYS(fcntl), 1, kInt, F_DUPFD_CLOEXEC},
    {SCMP_SYS(fcntl), 1, kInt, F_GETFD},
    {SCMP_SYS(fcntl), 1, kInt, F_SETFD},
    {SCMP_SYS(fcntl), 1, kInt, F_GETFL},
    {SCMP_SYS(fcntl), 1, kInt, F_SETFL},
    {SCMP_SYS(fcntl), 1, kInt, F_SETLK},
    {SCMP_SYS(fcntl), 1, kInt, F_ADD_SEALS},
    {SCMP_SYS(fcntl), 1, kInt, F_GET_SEALS},
    // The name of a thread, and that of a piece of memory.
    {SCMP_SYS(prctl), 0, kInt, 15 /* PR_SET_NAME */},
    {SCMP_SYS(prctl), 0, kInt, 16 /* PR_GET_NAME */},
    {SCMP_SYS(prctl), 0, kInt, 0x53564d41 /* PR_SET_VMA */},
    // Our own limits, not those of another process.
    {SCMP_SYS(prlimit64), 0, kInt, 0},
    // Files that lie open, without a path. A filter does not see whether there is one: by this
    // flag, as by readlink(2), it can be found out which files there are, but not what is in
    // them.
    {SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH},
    {SCMP_SYS(statx), 2, AT_EMPTY_PATH, AT_EMPTY_PATH}};

constexpr int kWithPaths[] = {SCMP_SYS(open),     SCMP_SYS(openat),    SCMP_SYS(openat2),
                              SCMP_SYS(access),   SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
                              SCMP_SYS(stat),     SCMP_SYS(lstat),     SCMP_SYS(rename),
                              SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(unlink),
                              SCMP_SYS(unlinkat), SCMP_SYS(mkdir),     SCMP_SYS(mkdirat)};
// The rest of those that a rule above lets through where there is no path.
constexpr Harmless kWithPathsIf[] = {{SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, 0},
                                     {SCMP_SYS(statx), 2, AT_EMPTY_PATH, 0}};

// Calls that change the system, start, signal or look into others, or have had more mistakes in
// them than any other.
constexpr int kOfOthers[] = {SCMP_SYS(execve),
                             SCMP_SYS(execveat),
                             SCMP_SYS(fork),
                             SCMP_SYS(vfork),
                             SCMP_SYS(ptrace),
                             SCMP_SYS(process_vm_readv),
                             SCMP_SYS(process_vm_writev),
                             SCMP_SYS(process_madvise),
                             SCMP_SYS(kcmp),
                             SCMP_SYS(pidfd_open),
                             SCMP_SYS(pidfd_getfd),
                             SCMP_SYS(pidfd_send_signal),
                             SCMP_SYS(kill),
                             SCMP_SYS(tkill),
                             SCMP_SYS(rt_sigqueueinfo),
                             SCMP_SYS(rt_tgsigqueueinfo),
                             SCMP_SYS(bpf),
                             SCMP_SYS(perf_event_open),
                             SCMP_SYS(userfaultfd),
                             SCMP_SYS(io_uring_setup),
                             SCMP_SYS(io_uring_enter),
                             SCMP_SYS(io_uring_register),
                             SCMP_SYS(keyctl),
                             SCMP_SYS(add_key),
                             SCMP_SYS(request_key),
                             SCMP_SYS(init_module),
                             SCMP_SYS(finit_module),
                             SCMP_SYS(delete_module),
                             SCMP_SYS(kexec_load),
                             SCMP_SYS(kexec_file_load),
                             SCMP_SYS(reboot),
                             SCMP_SYS(mount),
                             SCMP_SYS(umount2),
                             SCMP_SYS(pivot_root),
                             SCMP_SYS(chroot),
                             SCMP_SYS(unshare),
                             SCMP_SYS(setns),
                             SCMP_SYS(fsopen),
                             SCMP_SYS(fsconfig),
                             SCMP_SYS(fsmount),
                             SCMP_SYS(fspick),
                             SCMP_SYS(move_mount),
                             SCMP_SYS(open_tree),
                             SCMP_SYS(mount_setattr),
                             SCMP_SYS(swapon),
                             SCMP_SYS(swapoff),
                             SCMP_SYS(acct),
                             SCMP_SYS(quotactl),
                             SCMP_SYS(sethostname),
                             SCMP_SYS(setdomainname),
                             SCMP_SYS(settimeofday),
                             SCMP_SYS(clock_settime),
                             SCMP_SYS(clock_adjtime),
                             SCMP_SYS(adjtimex),
                             SCMP_SYS(syslog),
                             SCMP_SYS(iopl),
                             SCMP_SYS(ioperm),
                             SCMP_SYS(setuid),
                             SCMP_SYS(setgid),
                             SCMP_SYS(setreuid),
                             SCMP_SYS(setregid),
                             SCMP_SYS(setresuid),
                             SCMP_SYS(setresgid),
                             SCMP_SYS(setfsuid),
                             SCMP_SYS(setfsgid),
                             SCMP_SYS(setgroups),
                             SCMP_SYS(capset),
                             SCMP_SYS(personality),
                             SCMP_SYS(name_to_handle_at),
                             SCMP_SYS(open_by_handle_at),
                             SCMP_SYS(lookup_dcookie),
                             SCMP_SYS(setpriority),
                             SCMP_SYS(sched_setaffinity),
                             SCMP_SYS(sched_setscheduler),
                             SCMP_SYS(sched_setattr),
                             SCMP_SYS(migrate_pages),
                             SCMP_SYS(move_pages),
                             SCMP_SYS(chown),
                             SCMP_SYS(lchown),
                             SCMP_SYS(fchown),
                             SCMP_SYS(fchownat),
                             SCMP_SYS(mknod),
                             SCMP_SYS(mknodat),
                             SCMP_SYS(chmod),
                             SCMP_SYS(link),
                             SCMP_SYS(linkat),
                             SCMP_SYS(symlink),
                             SCMP_SYS(symlinkat),
                             SCMP_SYS(truncate),
                             SCMP_SYS(setxattr),
                             SCMP_SYS(lsetxattr),
                             SCMP_SYS(fsetxattr)};

// One who fetches connects, and keeps a directory in order.
constexpr int kOfFetching[] = {SCMP_SYS(socket),  SCMP_SYS(socketpair), SCMP_SYS(connect),
                               SCMP_SYS(bind),    SCMP_SYS(listen),     SCMP_SYS(accept),
                               SCMP_SYS(accept4), SCMP_SYS(mkdir),      SCMP_SYS(mkdirat),
                               SCMP_SYS(rmdir),   SCMP_SYS(fchmod),     SCMP_SYS(fchmodat)};

// One who records asks for short turns on the CPU.
constexpr int kOfRecording[] = {SCMP_SYS(sched_setattr)};

// One who keeps the rights to sample makes BPF maps and uses those that are open; he loads no
// program, attaches none, and opens nothing that others have made.
constexpr Harmless kOfKeeping[] = {{SCMP_SYS(bpf), 0, kInt, BPF_MAP_CREATE},
                                   {SCMP_SYS(bpf), 0, kInt, BPF_MAP_LOOKUP_ELEM},
                                   {SCMP_SYS(bpf), 0, kInt, BPF_MAP_UPDATE_ELEM},
                                   {SCMP_SYS(bpf), 0, kInt, BPF_MAP_DELETE_ELEM},
                                   {SCMP_SYS(bpf), 0, kInt, BPF_MAP_GET_NEXT_KEY}};
constexpr int kSamplingOthers[] = {SCMP_SYS(perf_event_open), SCMP_SYS(pidfd_send_signal)};

// An opener makes the folders of a store.
constexpr int kOfOpening[] = {SCMP_SYS(mkdir), SCMP_SYS(mkdirat)};

// One who starts processes that look into others: what he, or they, need of the above.
constexpr int kOfStarting[] = {SCMP_SYS(fork),   SCMP_SYS(vfork),
                               SCMP_SYS(kill),   SCMP_SYS(process_vm_readv),
                               SCMP_SYS(capset), SCMP_SYS(socketpair)};

// One who fetches has a program that does it.
constexpr int kStartProgram[] = {SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve)};

bool add(const CallRules& filter, uint32_t action, const Harmless& rule) {
  scmp_arg_cmp compared = {rule.argument, SCMP_CMP_MASKED_EQ, rule.mask, rule.value};
  return seccomp_rule_add_array(filter.get(), action, rule.call, 1, &compared) == 0;
}

// Its flags lie in memory, where no filter sees them. With ENOSYS the C library calls clone.
bool refuse_clone3(const CallRules& filter) {
  return seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

bool add_parsing(const CallRules& filter, CallFilter wanted) {
  bool is_done = true;
  bool has_openers = wanted == CallFilter::kParsing;
  auto allow = [&](int call) {
    // Failures add up: a filter that lacks a rule is not loaded.
    is_done &= seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0) == 0;
  };
  for (int call : kComputing)
    allow(call);
  for (const Harmless& rule : kHarmless)
    is_done &= add(filter, SCMP_ACT_ALLOW, rule);
  if (has_openers) {
    for (int call : kWithPaths)
      is_done &= seccomp_rule_add(filter.get(), SCMP_ACT_TRAP, call, 0) == 0;
    for (const Harmless& rule : kWithPathsIf)
      is_done &= add(filter, SCMP_ACT_TRAP, rule);
  } else if (wanted == CallFilter::kReading) {
    allow(SCMP_SYS(process_vm_readv));
  } else {
    for (const Harmless& rule : kOfKeeping)
      is_done &= add(filter, SCMP_ACT_ALLOW, rule);
    for (int call : kSamplingOthers)
      allow(call);
  }
  // To end by a signal, as abort(3) does, and to stop.
  for (int call : {SCMP_SYS(kill), SCMP_SYS(tgkill)})
    is_done &= add(filter, SCMP_ACT_ALLOW, {call, 0, kInt, static_cast<uint64_t>(getpid())});
  return is_done && refuse_clone3(filter);
}

std::span<const int> exceptions_of(CallFilter wanted) {
  // Calls of the lists of refused ones that this kind needs all the same.
  if (wanted == CallFilter::kStarting)
    return kOfStarting;
  if (wanted == CallFilter::kFetching)
    return kStartProgram;
  if (wanted == CallFilter::kOpening)
    return kOfOpening;
  return wanted == CallFilter::kRecording ? std::span<const int>(kOfRecording)
                                          : std::span<const int>();
}

bool add_refusing(const CallRules& filter, CallFilter wanted) {
  bool is_done = true;
  bool is_fetching = wanted == CallFilter::kFetching;
  bool is_starting = wanted == CallFilter::kStarting;
  bool is_recording = wanted == CallFilter::kRecording;
  std::span<const int> exceptions = exceptions_of(wanted);
  auto refuse = [&](int call) {
    if (std::ranges::find(exceptions, call) == exceptions.end())
      is_done &= seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0) == 0;
  };
  // A comparison has the number of an argument and what that is compared with: a value, or a
  // mask and the value under it.
  auto refuse_where = [&](const scmp_arg_cmp& compared, int call) {
    is_done &=
        seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 1, &compared) == 0;
  };
  for (int call : kOfOthers)
    refuse(call);
  if (!is_fetching)
    for (int call : kOfFetching)
      refuse(call);
  // A recorder may start threads, and no process; those that start neither lose the call.
  if (is_recording)
    refuse_where({0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}, SCMP_SYS(clone));
  else if (!is_starting && !is_fetching)
    refuse(SCMP_SYS(clone));
  is_done &= refuse_clone3(filter);
  // Limits and signals of others; a limit of process 0 is our own.
  refuse_where({0, SCMP_CMP_NE, 0, 0}, SCMP_SYS(prlimit64));
  refuse_where({0, SCMP_CMP_NE, static_cast<uint64_t>(getpid()), 0}, SCMP_SYS(tgkill));
  if (is_recording)
    refuse_where({0, SCMP_CMP_NE, 0, 0}, SCMP_SYS(sched_setattr));
  // Input of the terminal, as if it had been typed.
  refuse_where({1, SCMP_CMP_MASKED_EQ, kInt, TIOCSTI}, SCMP_SYS(ioctl));
  return is_done;
}

}  // namespace

bool has_call_filters() {
  uint32_t trap = SECCOMP_RET_TRAP;
  return !kIsSanitized && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &trap) == 0;
}

bool load_call_filter(CallFilter wanted) {
  bool is_parsing = wanted == CallFilter::kParsing || wanted == CallFilter::kReading ||
                    wanted == CallFilter::kKeeping;
  CallRules filter(seccomp_init(is_parsing ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW),
                   seccomp_release);
  if (!filter || !has_call_filters())
    return false;
  // A tree (2) has the fewest comparisons for each call, of which a report makes ten thousands.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  return (is_parsing ? add_parsing(filter, wanted) : add_refusing(filter, wanted)) &&
         seccomp_load(filter.get()) == 0;
}

}  // namespace gosym
