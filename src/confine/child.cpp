#include "confine/child.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "confine/channel.h"

namespace gosym {

int start_child(UniqueFd& channel, std::vector<int> kept,
                const std::function<void(int channel)>& serve) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return -1;
  channel = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  int parent = getpid();
  int pid = fork();
  if (pid != 0)
    return pid;
  // The kernel ends the child with its parent; a parent that has ended before the call is
  // noticed by the number of the new one.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  // A terminal sends these to the whole group. The child has its parent to serve until that
  // ends.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    ::signal(signal, SIG_IGN);
  // Descriptors go here, not with exec: the child runs on in the same program.
  kept.push_back(theirs.get());
  close_all_but(std::move(kept));
  serve(theirs.get());
  _exit(0);
}

}  // namespace gosym
