#include "confine/parser.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/terminal_modes.h"
#include "confine/channel.h"
#include "confine/process_kind.h"

namespace gosym {

namespace {

// After a signal that asks for the end: the parser may give the terminal back.
constexpr int kTimeToEnd = 500;  // ms

struct PagerRequest {
  uint32_t is_start;  // else the end is waited for
};
struct PagerReply {
  int32_t status;
};

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kEnding)
    sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Gives the child's id; its input is the other end of a pipe.
int start_shell(const std::string& command, UniqueFd& input) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return -1;
  UniqueFd theirs(ends[0]);
  input = UniqueFd(ends[1]);
  // Quit if it fits, keep colours, leave the text on the screen: as git asks of less.
  setenv("LESS", "FRX", /*overwrite=*/0);
  int pid = fork();
  if (pid != 0)
    return pid;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal : {SIGINT, SIGPIPE})
    ::signal(signal, SIG_DFL);
  dup2(theirs.get(), STDIN_FILENO);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

// The terminal that a browser has its screen on, as it was before. A browser that was killed
// could not leave it so.
class TerminalBefore {
public:
  explicit TerminalBefore(bool has_browser)
      : is_known_(has_browser && tcgetattr(STDIN_FILENO, &settings_) == 0) {}

  void restore() const {
    // The other screen and the hidden cursor: a terminal without these, or the pointer's
    // reports, ignores it.
    constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
    if (!is_known_)
      return;
    tcsetattr(STDIN_FILENO, TCSANOW, &settings_);
    for (std::string_view sequence : {kNoPointerReports, kLeave})
      (void)!write(STDOUT_FILENO, sequence.data(), sequence.size());
  }

private:
  termios settings_{};
  bool is_known_;
};

class Front {
public:
  Front(int parser, UniqueFd channel, std::string pager, bool has_browser)
      : parser_(parser),
        channel_(std::move(channel)),
        pager_command_(std::move(pager)),
        terminal_(has_browser) {}

  [[noreturn]] void run() {
    sigset_t handled = handled_signals();
    UniqueFd signals(signalfd(-1, &handled, SFD_CLOEXEC));
    while (true) {
      pollfd entries[] = {{.fd = signals.get(), .events = POLLIN, .revents = 0},
                          {.fd = channel_.get(), .events = POLLIN, .revents = 0}};
      int ready = poll(entries, 2, asked_to_end_ != 0 ? kTimeToEnd : -1);
      if (ready == 0)
        leave();
      if ((entries[0].revents & POLLIN) != 0)
        on_signal(signals);
      if (entries[1].revents != 0)
        on_request();
    }
  }

private:
  void on_signal(const UniqueFd& signals) {
    signalfd_siginfo info{};
    if (read(signals.get(), &info, sizeof(info)) != sizeof(info))
      return;
    auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD)
      return on_child();
    if (pager_ > 0 && signal == SIGINT)
      return;                        // it is for the pager
    if (info.ssi_code != SI_KERNEL)  // a terminal sends it to all of us
      kill(parser_, signal);
    asked_to_end_ = signal;
  }

  void on_child() {
    int status = 0;
    if (pager_ > 0 && waitpid(pager_, &status, WNOHANG) == pager_) {
      pager_ = -1;
      pager_status_ = status;
      if (is_pager_awaited_)
        tell_pager_status();
    }
    if (waitpid(parser_, &status, WNOHANG) == parser_)
      end_as(status);
    stop_with_parser();
  }

  // A browser stops itself by a key: then the shell is to see us stopped, too.
  void stop_with_parser() const {
    auto is_stopped = [&](int flags) {
      siginfo_t child{};
      return waitid(P_PID, static_cast<id_t>(parser_), &child, WSTOPPED | WNOHANG | flags) ==
                 0 &&
             child.si_pid == parser_;
    };
    constexpr int kToGoOn = 20'000;  // us, in which it does if all of us were stopped
    if (is_stopped(WNOWAIT) && usleep(kToGoOn) == 0 && is_stopped(0))
      raise(SIGSTOP);
  }

  void on_request() {
    PagerRequest request{};
    UniqueFd none;
    if (!receive_message(channel_.get(), request, sizeof(request), none)) {
      channel_ = UniqueFd();  // the parser ends
      return;
    }
    if (request.is_start != 0 && pager_ < 0) {
      UniqueFd input;
      pager_ = start_shell(pager_command_, input);
      PagerReply reply{.status = pager_ > 0 ? 0 : -1};
      send_message(channel_.get(), reply, sizeof(reply), pager_ > 0 ? input.get() : -1);
      return;
    }
    is_pager_awaited_ = true;
    if (pager_ < 0)
      tell_pager_status();
  }

  void tell_pager_status() {
    is_pager_awaited_ = false;
    PagerReply reply{.status = pager_status_};
    send_message(channel_.get(), reply, sizeof(reply), -1);
  }

  [[noreturn]] static void end_by(int signal) {
    rlimit none{};
    setrlimit(RLIMIT_CORE, &none);  // the parser has left one
    ::signal(signal, SIG_DFL);
    raise(signal);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);
    _exit(128 + signal);
  }

  [[noreturn]] void end_as(int status) const {
    if (WIFSIGNALED(status)) {
      terminal_.restore();
      end_by(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
  }

  // The parser stays behind where the kernel does not let it end.
  [[noreturn]] void leave() {
    kill(parser_, SIGKILL);
    terminal_.restore();
    end_by(asked_to_end_);
  }

  int parser_;
  UniqueFd channel_;
  std::string pager_command_;
  TerminalBefore terminal_;
  int pager_ = -1;
  int pager_status_ = 0;
  bool is_pager_awaited_ = false;
  int asked_to_end_ = 0;  // a signal
};

UniqueFd front_channel;  // of the parser

bool make_pair(UniqueFd& one, UniqueFd& other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  one = UniqueFd(ends[0]);
  other = UniqueFd(ends[1]);
  return true;
}

}  // namespace

Result<> become_parser(const NamedFiles& files, const std::string& pager) {
  if (front_channel)
    return Ok{};
  UniqueFd to_openers;
  UniqueFd to_parser;
  UniqueFd to_front;
  UniqueFd of_openers;
  if (!make_pair(to_openers, of_openers) || !make_pair(to_front, to_parser))
    return system_error("cannot make a socket", errno);
  std::fflush(nullptr);
  sigset_t handled = handled_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &handled, &before);
  int parent = getpid();
  int pid = fork();
  if (pid < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return system_error("cannot start a process", errno);
  }
  if (pid > 0) {
    start_openers(of_openers, files);
    // Whoever serves the parser by another descriptor of ours is to see when that ends.
    close_all_but({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, to_parser.get()});
    enter(ProcessKind::kFront);
    Front(pid, std::move(to_parser), pager, files.has_exports).run();
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  front_channel = std::move(to_front);
  ask_openers(std::move(to_openers), files);
  enter(ProcessKind::kParser);
  return Ok{};
}

std::optional<Pager> start_pager(const std::string& command) {
  Pager pager;
  if (!front_channel) {
    pager.process = start_shell(command, pager.input);
    return pager.process > 0 ? std::optional(std::move(pager)) : std::nullopt;
  }
  PagerReply reply{};
  if (!send_message(front_channel.get(), PagerRequest{.is_start = 1}, sizeof(PagerRequest),
                    -1) ||
      !receive_message(front_channel.get(), reply, sizeof(reply), pager.input) || !pager.input)
    return std::nullopt;
  return pager;
}

int wait_for_pager(Pager pager) {
  pager.input = UniqueFd();
  int status = 0;
  if (pager.process > 0) {
    while (waitpid(pager.process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  PagerReply reply{};
  UniqueFd none;
  send_message(front_channel.get(), PagerRequest{.is_start = 0}, sizeof(PagerRequest), -1);
  return receive_message(front_channel.get(), reply, sizeof(reply), none) ? reply.status : 0;
}

}  // namespace gosym
