#include "base/sigbus_handler.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace gosym {

namespace {

// Written by the handler, in whatever thread: lock-free, as it may be called at any moment.
std::atomic<uint64_t> cut_pages = 0;
std::uintptr_t page_bytes = 4096;

bool put_zeros(void* place) {
  auto address = reinterpret_cast<std::uintptr_t>(place);
  auto* page = reinterpret_cast<void*>(address - address % page_bytes);
  return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
              -1, 0) != MAP_FAILED;
}

// The instruction is tried again when this returns. Whatever else the signal is about ends the
// process, as it would without this.
void handle_bus_error(int signal, siginfo_t* info, void*) {
  // The interrupted code may be about to read errno: mmap(2) must not change it.
  int cause = errno;
  if (info->si_code == BUS_ADRERR && put_zeros(info->si_addr)) {
    cut_pages++;
  } else {
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
  errno = cause;
}

}  // namespace

void install_sigbus_handler() {
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = handle_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

uint64_t cut_page_count() {
  return cut_pages;
}

}  // namespace gosym
