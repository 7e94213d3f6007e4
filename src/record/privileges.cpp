#include "record/privileges.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace gosym {

namespace {

constexpr uint64_t bit(int capability) {
  return uint64_t{1} << capability;
}

// CAP_SYS_ADMIN stands for these where they are not given by name.
constexpr uint64_t kPartsOfAdmin =
    bit(CAP_BPF) | bit(CAP_PERFMON) | bit(CAP_CHECKPOINT_RESTORE);
constexpr uint64_t kUseful = kPartsOfAdmin | bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH) |
                             bit(CAP_SYSLOG) | bit(CAP_KILL);

// Version 3 of the call: 64 bits in two halves, the lower one first.
struct Capabilities {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct halves[2]{};
};

uint64_t permitted_now() {
  Capabilities now;
  if (syscall(SYS_capget, &now.header, now.halves) != 0)
    return 0;
  return uint64_t{now.halves[1].permitted} << 32 | now.halves[0].permitted;
}

}  // namespace

// Of this thread alone; no other one runs yet.
void drop_privileges() {
  uint64_t owned = permitted_now();
  uint64_t kept = owned & kUseful;
  if ((kept & kPartsOfAdmin) != kPartsOfAdmin)
    kept |= owned & bit(CAP_SYS_ADMIN);
  Capabilities wanted;
  for (int i = 0; i < 2; i++)
    wanted.halves[i].permitted = wanted.halves[i].effective =
        static_cast<uint32_t>(kept >> (32 * i));
  syscall(SYS_capset, &wanted.header, wanted.halves);
}

}  // namespace gosym
