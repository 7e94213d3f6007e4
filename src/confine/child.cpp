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
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    ::signal(signal, SIG_IGN);
  kept.push_back(theirs.get());
  close_all_but(std::move(kept));
  serve(theirs.get());
  _exit(0);
}

}  // namespace gosym
