#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string_view>

// System calls that are begun again where a signal that is handled meanwhile interrupts them.

namespace gosym {

// Writes all of it at the place where the file stands. False: errno says why not, and the begin
// of it may be written.
inline bool write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR)
      continue;
    // Nothing written is no success, and would go on for ever.
    if (count == 0)
      errno = EIO;
    if (count <= 0)
      return false;
    data.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// Reads once: the number of bytes, 0 at the end, or -1 with errno.
inline ssize_t read_part(int fd, std::span<char> out) {
  ssize_t count = 0;
  do
    count = ::read(fd, out.data(), out.size());
  while (count < 0 && errno == EINTR);
  return count;
}

// Waits until a child has ended. Gives its status, as waitpid(2) does; 0 if there is no such
// child.
inline int wait_for_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace gosym
