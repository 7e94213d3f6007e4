#include "confine/channel.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace gosym {

bool send_bytes(int channel, const void* message, size_t size, int fd) {
  iovec part = {const_cast<void*>(message), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  }
  ssize_t sent = 0;
  do
    sent = sendmsg(channel, &header, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  // Sockets keep the bounds of messages, so one is sent whole or not at all.
  return sent == static_cast<ssize_t>(size);
}

ptrdiff_t receive_bytes(int channel, void* message, size_t size, UniqueFd& fd) {
  iovec part = {message, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  // Room for one descriptor, and not for what alignment leaves behind it, in which a second one
  // would fit and stay open: the kernel closes others.
  header.msg_controllen = CMSG_LEN(sizeof(int));
  ssize_t received = 0;
  do
    received = recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  const cmsghdr* rights = received >= 0 ? CMSG_FIRSTHDR(&header) : nullptr;
  if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
      rights->cmsg_len == CMSG_LEN(sizeof(int))) {
    int given = -1;
    std::memcpy(&given, CMSG_DATA(rights), sizeof(given));
    fd = UniqueFd(given);
  }
  return received;
}

// Gaps between descriptors are closed as ranges: there may be millions of numbers and few
// files.
void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned next = 0;
  for (int fd : kept) {
    auto place = static_cast<unsigned>(fd);
    if (place > next)
      close_range(next, place - 1, 0);
    next = place + 1;
  }
  close_range(next, UINT32_MAX, 0);
}

}  // namespace gosym
