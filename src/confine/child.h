#pragma once

#include <functional>
#include <vector>

#include "base/unique_fd.h"

namespace gosym {

// Starts a process that serves the other end of a channel, a socket of messages. It has none of
// our descriptors but that and `kept`, ends with us, and leaves to us what the user sends to
// end a command. Gives its number; -1: there can be no more processes.
int start_child(UniqueFd& channel, std::vector<int> kept,
                const std::function<void(int channel)>& serve);

}  // namespace gosym
