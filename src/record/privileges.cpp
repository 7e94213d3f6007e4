#include "record/privileges.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "confine/capabilities.h"

namespace gosym {

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
    set_capabilities(owned, 0);
  char target[1];
  bool may = readlink(fmt::format("/proc/{}/exe", pid).c_str(), target, sizeof(target)) >= 0 ||
             errno == ENOENT;  // a thread of the kernel
  if (has_more)
    set_capabilities(owned, owned);
  return may;
}

void forbid_new_privileges() {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
    prctl(PR_CAPBSET_DROP, capability);
}

}  // namespace gosym
