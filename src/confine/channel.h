#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/unique_fd.h"

// Messages of a fixed kind between two processes of ours, by a socket of SOCK_SEQPACKET. What
// comes is checked as what comes from outside: who sent it may have been taken over.

namespace gosym {

// `size` bytes of it, and a descriptor if `fd` is none below 0.
bool send_bytes(int channel, const void* message, size_t size, int fd);
// Number of bytes that came; 0: the other end is closed; -1: errno says why there are none.
// `fd` is set if a descriptor came with them, and else stays what it was.
ptrdiff_t receive_bytes(int channel, void* message, size_t size, UniqueFd& fd);

// Closes all other descriptors.
void close_all_but(std::vector<int> kept);

template <class Message>
bool send_message(int channel, const Message& message, size_t size, int fd) {
  return send_bytes(channel, &message, size, fd);
}

// At least so many bytes of it; what is not sent of its last field is zero.
template <class Message>
bool receive_message(int channel, Message& message, size_t least, UniqueFd& fd) {
  std::memset(static_cast<void*>(&message), 0, sizeof(message));
  ptrdiff_t size = receive_bytes(channel, &message, sizeof(message), fd);
  return size > 0 && static_cast<size_t>(size) >= least;
}

}  // namespace gosym
