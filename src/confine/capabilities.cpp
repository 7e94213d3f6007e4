#include "confine/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gosym {

namespace {

// Version 3 of the call: 64 bits in two halves, the lower one first.
struct Capabilities {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct halves[2]{};
};

}  // namespace

uint64_t permitted_capabilities() {
  Capabilities now;
  if (syscall(SYS_capget, &now.header, now.halves) != 0)
    return 0;
  return uint64_t{now.halves[1].permitted} << 32 | now.halves[0].permitted;
}

bool set_capabilities(uint64_t permitted, uint64_t effective) {
  Capabilities wanted;
  for (int i = 0; i < 2; i++) {
    wanted.halves[i].permitted = static_cast<uint32_t>(permitted >> (32 * i));
    wanted.halves[i].effective = static_cast<uint32_t>(effective >> (32 * i));
  }
  return syscall(SYS_capset, &wanted.header, wanted.halves) == 0;
}

void keep_capabilities(uint64_t kept) {
  // Ambient capabilities are those that a program without any of its own would get when
  // executed.
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  uint64_t owned = permitted_capabilities();
  // A part that is wanted and not there by name may be had of the whole.
  if ((kept & kPartsOfAdmin & ~owned) != 0)
    kept |= uint64_t{1} << CAP_SYS_ADMIN;
  kept &= owned;
  set_capabilities(kept, kept);
}

}  // namespace gosym
