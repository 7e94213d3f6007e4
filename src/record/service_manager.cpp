#include "record/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/text.h"

namespace gosym {

namespace {

// The process that is to be watched may be named, by its number.
uint64_t watchdog_interval() {
  constexpr uint64_t kNsOfMicrosecond = 1000;
  std::string pid = environment("WATCHDOG_PID");
  if (!pid.empty() && parse_decimal(pid) != static_cast<uint64_t>(getpid()))
    return 0;
  auto microseconds = parse_decimal(environment("WATCHDOG_USEC"));
  // Half of the time that the manager waits, as sd_watchdog_enabled(3) recommends.
  return microseconds && *microseconds < UINT64_MAX / kNsOfMicrosecond
             ? *microseconds * kNsOfMicrosecond / 2
             : 0;
}

}  // namespace

ServiceManager::ServiceManager() {
  std::string path = environment("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Other families (vsock) are for virtual machines.
  bool is_path = path.starts_with('/') || path.starts_with('@');
  if (!is_path || path.size() >= sizeof(address.sun_path))
    return;
  memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@')
    address.sun_path[0] = '\0';  // in the abstract namespace
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
    return;
  socket_ = std::move(socket);
  interval_ = watchdog_interval();
}

void ServiceManager::tell_alive(uint64_t now) {
  if (interval_ == 0 || now - told_at_ < interval_)
    return;
  told_at_ = now;
  tell("WATCHDOG=1");
}

// Whoever does not listen is not waited for.
void ServiceManager::tell(std::string_view message) const {
  if (socket_)
    (void)::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace gosym
