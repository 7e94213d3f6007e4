#include "base/cut_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace gosym {

namespace {

std::atomic<bool> has_cut = false;
std::uintptr_t page_size = 4096;

// The instruction is tried again when this returns.
void put_zeros(int signal, siginfo_t* info, void*) {
  int cause = errno;
  auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  auto* page = reinterpret_cast<void*>(address - address % page_size);
  bool is_cut = info->si_code == BUS_ADRERR;
  if (!is_cut || mmap(page, page_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    ::signal(signal, SIG_DFL);
  has_cut = true;
  errno = cause;
}

}  // namespace

void outlive_cut_files() {
  page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = put_zeros;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

bool has_cut_file() {
  return has_cut;
}

}  // namespace gosym
