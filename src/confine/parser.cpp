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

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/terminal_modes.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "confine/channel.h"
#include "confine/process_kind.h"

// become_parser() forks: the child is the parser and goes on as if nothing had happened, the
// parent becomes its front and never returns. The front starts openers, pager and editor, for
// which a parser has no right, and passes on signals one way and the exit status the other.
// The last part is the parser's side of the requests to the front.

namespace gosym {

namespace {

// After a signal that asks for the end: the parser may give the terminal back.
constexpr int kTimeToEnd = 500;  // ms

enum class Want : uint32_t { kPager, kEndOfPager, kEditor };

struct FrontRequest {
  Want want;
  uint32_t line;        // of an editor, as the next
  char path[PATH_MAX];  // ended by a 0
};
struct FrontReply {
  int32_t status;  // as of waitpid(2); -1: nothing was started
};

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// The front takes these by a signalfd, SIGCHLD included, so that one poll waits for all.
sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kEnding)
    sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

// Gives the child's id, or -1. Its standard input is ours if there is none for it.
int start_shell(const std::string& command, const std::vector<std::string>& arguments = {},
                const UniqueFd& input = {}) {
  // Arguments go to the shell as "$@", so that a path is never read as code.
  std::vector<std::string> words = {"sh", "-c", command, "sh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int pid = fork();
  if (pid != 0)
    return pid;
  // The front blocks signals for its signalfd, and its child would inherit that.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignored signals stay ignored over exec.
  for (int signal : {SIGINT, SIGPIPE})
    ::signal(signal, SIG_DFL);
  if (input)
    dup2(input.get(), STDIN_FILENO);
  execv("/bin/sh", pointers.data());
  _exit(127);
}

// `input` becomes the end of a pipe that it reads.
int start_pager_shell(const std::string& command, UniqueFd& input) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return -1;
  UniqueFd theirs(ends[0]);
  input = UniqueFd(ends[1]);
  // Quit if it fits, keep colours, leave the text on the screen: as git asks of less.
  setenv("LESS", "FRX", /*overwrite=*/0);
  return start_shell(command, {}, theirs);
}

std::string editor_command() {
  for (const char* name : {"VISUAL", "EDITOR"})
    if (std::string value = environment(name); !value.empty())
      return value;
  return "vi";
}

int start_editor(const std::string& path, uint32_t line) {
  std::string command = editor_command();
  return start_shell(command + " \"$@\"", editor_arguments(command, path, line));
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
  Front(int parser, UniqueFd channel, std::string pager, const TerminalBefore& terminal)
      : parser_(parser),
        channel_(std::move(channel)),
        pager_command_(std::move(pager)),
        terminal_(terminal) {}

  [[noreturn]] void run() {
    sigset_t handled = handled_signals();
    UniqueFd signals(signalfd(-1, &handled, SFD_CLOEXEC));
    while (true) {
      pollfd entries[] = {{.fd = signals.get(), .events = POLLIN, .revents = 0},
                          {.fd = channel_.get(), .events = POLLIN, .revents = 0}};
      // The parser has some time to end by itself, and may give the terminal back.
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
    if (program_ > 0 && signal == SIGINT)
      return;                        // it is for the pager or the editor
    if (info.ssi_code != SI_KERNEL)  // a terminal sends it to all of us
      kill(parser_, signal);
    // The front ends soon after, even if the parser does not.
    asked_to_end_ = signal;
  }

  void on_child() {
    int status = 0;
    // The pager may end before the parser asks for it: the status is kept until then.
    if (program_ > 0 && waitpid(program_, &status, WNOHANG) == program_) {
      program_ = -1;
      program_status_ = status;
      if (is_awaited_)
        tell_status();
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
    // Looked at twice: a browser that was stopped together with this process goes on within a
    // moment.
    if (is_stopped(WNOWAIT) && usleep(kToGoOn) == 0 && is_stopped(0))
      raise(SIGSTOP);
  }

  void on_request() {
    FrontRequest request{};
    UniqueFd none;
    // A request of a pager has no more than this; the rest is zero then.
    if (!receive_message(channel_.get(), request, sizeof(request.want), none)) {
      channel_ = UniqueFd();  // the parser ends
      return;
    }
    if (request.want == Want::kPager && program_ < 0) {
      UniqueFd input;
      program_ = start_pager_shell(pager_command_, input);
      reply({.status = program_ > 0 ? 0 : -1}, program_ > 0 ? input.get() : -1);
      return;
    }
    if (request.want == Want::kEditor && program_ < 0) {
      std::string path(request.path, strnlen(request.path, sizeof(request.path)));
      // The parser may have been taken over, so the path is checked again here.
      program_ = is_edited(path) ? start_editor(path, request.line) : -1;
      program_status_ = -1;
    }
    // The parser waits for the end of the program, which on_child() tells; now if none runs.
    is_awaited_ = true;
    if (program_ < 0)
      tell_status();
  }

  void tell_status() {
    is_awaited_ = false;
    reply({.status = program_status_}, -1);
  }

  void reply(const FrontReply& reply, int fd) const {
    send_message(channel_.get(), reply, sizeof(reply), fd);
  }

  [[noreturn]] static void end_by(int signal) {
    // The signal may be one that is blocked for the signalfd: raised, it waits until all are
    // let in. The exit is for a signal that ends nobody.
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
    // The shell is to see the signal that ended the parser, as if it had ended us.
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
    // By the signal that asked for the end, so that a shell sees what ended it.
    end_by(asked_to_end_);
  }

  int parser_;
  UniqueFd channel_;
  std::string pager_command_;
  TerminalBefore terminal_;
  int program_ = -1;  // a pager or an editor that runs
  int program_status_ = 0;
  bool is_awaited_ = false;  // its end, by the parser
  int asked_to_end_ = 0;     // a signal
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
  // Buffered output would be written twice, by both processes.
  std::fflush(nullptr);
  // Read before the fork: a parser that is ahead may have its browser's settings there already.
  // Only a browser has exports.
  TerminalBefore terminal(files.has_exports);
  sigset_t handled = handled_signals();
  sigset_t before;
  // Blocked before the fork, so that no signal comes before the front waits for them.
  sigprocmask(SIG_BLOCK, &handled, &before);
  int parent = getpid();
  int pid = fork();
  if (pid < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return system_error("cannot start a process", errno);
  }
  if (pid > 0) {
    // Openers first: they are children of the front, and have its rights of now.
    start_openers(of_openers, files);
    // Whoever serves the parser by another descriptor of ours is to see when that ends.
    close_all_but({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, to_parser.get()});
    enter(ProcessKind::kFront);
    Front(pid, std::move(to_parser), pager, terminal).run();
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

namespace {

std::optional<FrontReply> ask_front(const FrontRequest& request, size_t size, UniqueFd& fd) {
  FrontReply reply{};
  if (!send_message(front_channel.get(), request, size, -1) ||
      !receive_message(front_channel.get(), reply, sizeof(reply), fd))
    return std::nullopt;
  return reply;
}

}  // namespace

std::optional<Pager> start_pager(const std::string& command) {
  Pager pager;
  // A command without a parser starts its pager itself.
  if (!front_channel) {
    pager.process = start_pager_shell(command, pager.input);
    return pager.process > 0 ? std::optional(std::move(pager)) : std::nullopt;
  }
  FrontRequest request{.want = Want::kPager, .line = 0, .path = {}};
  if (!ask_front(request, sizeof(request.want), pager.input) || !pager.input)
    return std::nullopt;
  return pager;
}

int wait_for_pager(Pager pager) {
  // No input any more: a pager that waits for the rest ends.
  pager.input = UniqueFd();
  if (pager.process > 0)
    return wait_for_end(pager.process);
  FrontRequest request{.want = Want::kEndOfPager, .line = 0, .path = {}};
  UniqueFd none;
  auto reply = ask_front(request, sizeof(request.want), none);
  return reply ? reply->status : 0;
}

Result<> edit(const std::string& path, uint32_t line) {
  if (!front_channel)
    return Error("an editor is opened by gosym report alone");
  FrontRequest request{.want = Want::kEditor, .line = line, .path = {}};
  if (!is_edited(path) || path.size() >= sizeof(request.path))
    return errorf("no editor is opened for '{}', which is not named as a source file is",
                  printable(path));
  path.copy(request.path, path.size());
  UniqueFd none;
  auto reply = ask_front(request, sizeof(request), none);
  if (!reply || reply->status == -1)
    return Error("the editor cannot be started");
  if (reply->status == 0)
    return Ok{};
  constexpr int kNotFound = 127;  // as the shell says it
  bool is_missing = WIFEXITED(reply->status) && WEXITSTATUS(reply->status) == kNotFound;
  return errorf("the editor {} (VISUAL and EDITOR name it): '{}'",
                is_missing ? "cannot be started" : "failed", printable(editor_command()));
}

bool is_edited(std::string_view path) {
  return path.starts_with('/') && is_printable(path) && is_named_as_source(path);
}

std::vector<std::string> editor_arguments(std::string_view command, const std::string& path,
                                          uint32_t line) {
  constexpr std::string_view kWithOption[] = {"code", "codium", "cursor", "code-insiders"};
  constexpr std::string_view kWithColon[] = {"hx", "helix", "subl", "zed"};
  // The first word of the command, without its directory, tells which editor it is.
  std::string_view name = base_name(command.substr(0, command.find(' ')));
  std::string place = fmt::format("{}:{}", path, line);
  if (std::ranges::find(kWithOption, name) != std::end(kWithOption))
    return {"-g", place};
  if (std::ranges::find(kWithColon, name) != std::end(kWithColon))
    return {place};
  return {fmt::format("+{}", line), path};
}

}  // namespace gosym
