#include "confine/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/exit_status.h"
#include "base/uninterrupted.h"
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

Result<int> run_child(const std::function<void()>& act,
                      const std::function<void(int from)>& read) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return system_error("pipe", errno);
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  int parent = getpid();
  int pid = fork();
  if (pid < 0)
    return system_error("fork", errno);
  if (pid == 0) {
    // Nobody would read from it any more.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(to.get(), STDOUT_FILENO) >= 0)
      act();
    _exit(kNotFound);
  }
  // The pipe comes to its end only if this process has no end for writing.
  to.reset(-1);
  read(from.get());
  // One that still writes is ended by that.
  from.reset(-1);
  return wait_for_end(pid);
}

}  // namespace gosym
