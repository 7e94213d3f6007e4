#pragma once

#include <cstdint>
#include <string_view>

#include "base/unique_fd.h"

namespace gosym {

// Tells a service manager, such as systemd, that we are ready and still at work, as sd_notify(3)
// has it: by messages to the socket that NOTIFY_SOCKET names.
class ServiceManager {
public:
  // To be called while there are the rights to connect. Without the variable nothing is told.
  ServiceManager();

  void tell_ready() const { tell("READY=1\nSTATUS=recording"); }
  void tell_end() const { tell("STOPPING=1"); }
  // To be called often: tells half as often as the manager wants to hear of it.
  void tell_alive(uint64_t now);

private:
  void tell(std::string_view message) const;

  UniqueFd socket_;
  uint64_t interval_ = 0;  // in ns; 0: nobody watches
  uint64_t told_at_ = 0;
};

}  // namespace gosym
