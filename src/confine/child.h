#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gosym {

// Starts a process that serves the other end of a channel, a socket of messages. It has none of
// our descriptors but that and `kept`, ends with us, and leaves to us what the user sends to
// end a command. Gives its number; -1: there can be no more processes.
int start_child(UniqueFd& channel, std::vector<int> kept,
                const std::function<void(int channel)>& serve);

// Runs `act` in a new process, which ends with us and, when `act` returns, with 127, and gives
// `read` what its standard output is, to be read. Gives the status of its end as wait(2) does.
Result<int> run_child(const std::function<void()>& act,
                      const std::function<void(int from)>& read);

}  // namespace gosym
