#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace gosym {

// Fails where no recording is possible whatever the user's rights are: no BTF, or a pid
// namespace in which the kernel's process numbers are not ours.
Result<> check_kernel();

// A call that sampling needs failed with errno `cause`. Where the kernel refused it, names what
// is missing: a capability, a setting, or who is in the way.
Error denied_or_failed(std::string_view what, int cause);
// Likewise for memory that BPF maps take.
Error denied_bpf_memory(std::string_view what, int cause);

// The kernel takes our BPF program for unsafe, whatever the user's rights are. `log` is what
// its verifier says; at the end, before some figures, it has the reason.
Error refused_by_verifier(std::string_view log);

// Why perf_event does not let us sample our own process, or only what the kernel does for it.
Error explain_refused_process(uint32_t pid, bool is_kernel_only);

// Why /proc/kallsyms shows no addresses, and what would make it.
std::string_view why_kernel_symbols_are_hidden();

// Says how to get the rights that sampling takes; or where to run it, if none does here.
std::string_view how_to_grant();

// Inode of the first user namespace, the same on all machines: PROC_USER_INIT_INO.
inline constexpr uint64_t kFirstUserNamespace = 0xeffffffd;

bool is_first_user_namespace();
bool is_first_pid_namespace();

// A program's user has rights of his own. Its file may give it more, to whoever runs it: by
// capabilities (setcap) or by belonging to root (set-user-ID). With those nothing may be read
// that the user could not read without them.

bool has_rights_of_file();

enum class Purpose : uint8_t { kReading, kSampling };

// To be called before anything is opened. Of the rights that the file gives, what is left is
// those to take samples with, if that is the purpose, and to learn which files the user's own
// processes map. What the user may do himself is not changed.
Result<> give_up_rights_of_file(Purpose purpose);

// True if the user's own rights suffice to look into a process, as ptrace(2) has it.
bool may_look_into(uint32_t pid);

// From now on no program that is executed has more rights than we have now, whatever its file
// says: for one who reads files of strangers.
void forbid_new_privileges();

}  // namespace gosym
