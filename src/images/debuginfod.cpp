#include "images/debuginfod.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/print.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "confine/client_paths.h"
#include "confine/process_kind.h"

// Three processes take part. gosym asks (Debuginfod) by way of a socket that keeps messages
// apart; the worker (work()), forked once and confined to what the client needs, answers one
// question after the other; and for each file it starts the client, debuginfod-find, whose
// standard error it reads until that ends. gosym waits no longer than its limits say, and the
// worker notices by the socket that nobody waits any more.
namespace gosym {

namespace {

// Sent by the worker. It is asked with the bytes of a build id, tells progress, and answers.
struct Message {
  enum class Kind : uint32_t { kProgress, kFound, kMissing, kFailed };
  Kind kind{};
  uint64_t received = 0;  // kProgress: bytes
  char text[PATH_MAX]{};  // kFound: the path; kFailed: why
};

// Longer than any id in use.
constexpr size_t kMaxBuildId = 4096;

// Sent to the worker.
struct FileQuestion {
  uint32_t is_refused = 0;  // the file is to be removed
  unsigned char build_id[kMaxBuildId]{};
};

Message with_text(Message::Kind kind, std::string_view text) {
  Message message{.kind = kind};
  // The rest is zeros, which end the text.
  size_t size = std::min(text.size(), sizeof(message.text) - 1);
  std::memcpy(message.text, text.data(), size);
  return message;
}

bool send(int socket, const Message& message) {
  return ::send(socket, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

// The directory that the tool of debuginfod chooses.
std::string cache_directory() {
  if (std::string path = environment("DEBUGINFOD_CACHE_PATH"); !path.empty())
    return path;
  std::string home = environment("HOME");
  std::string old = home + "/.debuginfod_client_cache";
  std::error_code failed;
  if (std::filesystem::exists(old, failed))
    return old;
  std::string caches = environment("XDG_CACHE_HOME");
  return (caches.empty() ? home + "/.cache" : caches) + "/debuginfod_client";
}

// A directory that is another user's stays that one's, with what comes into it.
void become_owner(const std::string& cache) {
  struct stat status {};
  if (geteuid() != 0 || stat(cache.c_str(), &status) != 0 || status.st_uid == 0)
    return;
  if (setgroups(0, nullptr) != 0 ||
      setresgid(status.st_gid, status.st_gid, status.st_gid) != 0 ||
      setresuid(status.st_uid, status.st_uid, status.st_uid) != 0)
    // The worker is gone then, which gosym reports as a crash.
    _exit(1);
}

ReachablePaths paths_of_worker(const std::string& cache) {
  ReachablePaths paths = paths_of_client();
  paths.written.push_back(cache);
  paths.executed.emplace_back(kDebuginfodTool);
  return paths;
}

// The bytes on the disk of all files in the cache.
uint64_t size_of_cache(const std::string& cache) {
  uint64_t sum = 0;
  std::error_code failed;
  for (auto entry = std::filesystem::recursive_directory_iterator(cache, failed);
       entry != std::filesystem::recursive_directory_iterator(); entry.increment(failed)) {
    struct stat status {};
    // Files may go meanwhile: what has been summed up is used.
    if (failed || lstat(entry->path().c_str(), &status) != 0)
      break;
    sum += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return sum;
}

// The size that a file may come to have.
struct RoomForFile {
  uint64_t bytes = 0;
  std::string problem = {};  // why it is less than files may have; empty: it is not
};

// The file may fill what the cache has left, and half of the disk's free space at the most.
RoomForFile find_room(const std::string& cache, const Debuginfod::Limits& limits) {
  RoomForFile room = {.bytes = limits.file_size};
  uint64_t left = limits.cache_size - std::min(limits.cache_size, size_of_cache(cache));
  if (left < room.bytes)
    room = {.bytes = left,
            .problem = fmt::format("all in '{}' may take {}", printable(cache),
                                   human_size(limits.cache_size))};
  std::error_code failed;
  auto space = std::filesystem::space(cache, failed);
  if (!failed && space.available / 2 < room.bytes)
    room = {.bytes = space.available / 2,
            .problem = fmt::format("the disk of '{}' has {} left", printable(cache),
                                   human_size(space.available))};
  return room;
}

void limit_file_size(uint64_t most) {
  // The client ends with an error of its own when a file reaches the limit, as SIGXFSZ is
  // ignored.
  rlimit limit{most, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Others are of no use, and stay for a week.
bool is_elf(const std::string& path) {
  constexpr std::string_view kMagic =
      "\x7f"
      "ELF";
  char begin[kMagic.size()];
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && pread(file.get(), begin, sizeof(begin), 0) == sizeof(begin) &&
         std::string_view(begin, sizeof(begin)) == kMagic;
}

// A file as the tool keeps it.
struct CachedFile {
  std::string digits;  // of the build id
  std::string folder;
  std::string path() const { return folder + "/debuginfo"; }
};

CachedFile file_in_cache(const std::string& cache, const FileQuestion& question,
                         size_t id_size) {
  std::string digits =
      hex(std::string_view(reinterpret_cast<const char*>(question.build_id), id_size));
  return {.digits = digits, .folder = fmt::format("{}/{}", cache, digits)};
}

// Files that are being written, by our tool or another program: FOLDER/debuginfo.XXXXXX.
std::set<std::filesystem::path> partial_files(const CachedFile& file) {
  std::set<std::filesystem::path> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(file.folder, failed))
    if (entry.path().stem() == "debuginfo" && entry.path().has_extension())
      found.insert(entry.path());
  return found;
}

// The tool, while it fetches a file.
struct Transfer {
  int socket = -1;  // to the one who asks
  CachedFile file = {};
  std::set<std::filesystem::path> others = {};  // partial files that were there before it began
  RoomForFile room = {};
  bool is_running = false;

  std::set<std::filesystem::path> partial() const {
    std::set<std::filesystem::path> own = partial_files(file);
    std::erase_if(own, [&](const auto& path) { return others.contains(path); });
    return own;
  }
};

// In a new process, which becomes the tool. It is ended with the thread that has started it:
// the worker may send no signals.
[[noreturn]] void become_tool(pid_t parent, const std::string& digits, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  // The parent may have ended before prctl(2) was called: then nothing would end this process.
  if (getppid() == parent && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
      dup2(nothing, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
    execl(kDebuginfodTool, kDebuginfodTool, "debuginfo", digits.c_str(), nullptr);
  constexpr int kNotStarted = 127;
  _exit(kNotStarted);
}

// Bytes of the file that have arrived.
uint64_t received_of(const Transfer& transfer) {
  uint64_t most = 0;
  // Files of a client that began since cannot be told from the tool's own: the longest one
  // counts.
  for (const auto& path : transfer.partial()) {
    std::error_code failed;
    uint64_t size = std::filesystem::file_size(path, failed);
    most = std::max(most, failed ? 0 : size);
  }
  return most;
}

// The end of what the tool says, once it has closed its standard error; progress is told until
// then. None if nobody listens any more.
std::optional<std::string> hear(const Transfer& transfer, int errors) {
  constexpr int kBetween = 250;       // ms
  constexpr size_t kLongest = 16384;  // bytes
  std::string said;
  while (true) {
    pollfd watched[] = {{.fd = transfer.socket, .events = POLLRDHUP, .revents = 0},
                        {.fd = errors, .events = POLLIN, .revents = 0}};
    int ready = poll(watched, std::size(watched), kBetween);
    // Whoever asked has closed its end, or shut it down.
    if (watched[0].revents != 0)
      return std::nullopt;
    if (ready == 0 && !send(transfer.socket, {.kind = Message::Kind::kProgress,
                                              .received = received_of(transfer)}))
      return std::nullopt;
    if (ready <= 0)
      continue;
    char part[4096];
    ssize_t size = read(errors, part, sizeof(part));
    if (size <= 0)
      return said;
    said.append(part, static_cast<size_t>(size));
    // The end has the reason, and a chatty tool must not fill the memory.
    said.erase(0, said.size() - std::min(said.size(), kLongest));
  }
}

// The last line of what the tool said, without what each begins with.
std::string reason_in(std::string_view said) {
  while (said.ends_with('\n'))
    said.remove_suffix(1);
  said.remove_prefix(said.rfind('\n') + 1);
  constexpr std::string_view kBegin = "Server query failed: ";
  if (said.starts_with(kBegin))
    said.remove_prefix(kBegin.size());
  return said.empty() ? "debuginfod-find crashed" : printable(said);
}

// The tool says of a file that reaches the limit only that it could not be written.
Message answer_of(const Transfer& transfer, int status, const std::string& said) {
  // The tool prints the system's text of an error: ENOENT where no server has the file. work()
  // has set the language to that of strerrordesc_np().
  std::string reason = reason_in(said);
  if (status != 0 && reason == strerrordesc_np(ENOENT))
    return {.kind = Message::Kind::kMissing};
  bool may_be_limit = reason == strerrordesc_np(EIO) || reason == strerrordesc_np(EFBIG);
  if (status != 0 && may_be_limit && !transfer.room.problem.empty())
    reason += fmt::format("; a file may have no more than {}, as {}",
                          human_size(transfer.room.bytes), transfer.room.problem);
  if (status != 0)
    return with_text(Message::Kind::kFailed, reason);
  std::string path = transfer.file.path();
  if (is_elf(path))
    return with_text(Message::Kind::kFound, path);
  unlink(path.c_str());
  return with_text(Message::Kind::kFailed, "sent what is no ELF file");
}

// None if nobody listens any more.
std::optional<Message> run_tool(Transfer& transfer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return with_text(Message::Kind::kFailed, std::strerror(errno));
  UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0)
    return with_text(Message::Kind::kFailed, std::strerror(errno));
  if (pid == 0)
    become_tool(parent, transfer.file.digits, to.get());
  transfer.is_running = true;
  // The pipe is closed when the tool ends only if no end for writing is left here.
  to.reset(-1);
  auto said = hear(transfer, from.get());
  // The tool still runs: work() ends it, by ending the thread that has started it.
  if (!said)
    return std::nullopt;
  int status = wait_for_end(pid);
  transfer.is_running = false;
  return answer_of(transfer, status, *said);
}

// None if nobody listens any more.
std::optional<Message> find_answer(Transfer& transfer) {
  if (!has_debuginfod())
    return with_text(Message::Kind::kFailed, kNoDebuginfod);
  // The tool would note for ten minutes that no server has a file that it cannot write. One
  // that it has already takes no room.
  if (transfer.room.bytes == 0 && !is_elf(transfer.file.path()))
    return with_text(Message::Kind::kFailed,
                     fmt::format("no room for a file: {}", transfer.room.problem));
  limit_file_size(transfer.room.bytes);
  return run_tool(transfer);
}

// Answers until nobody asks any more.
void answer(Transfer& transfer, const std::string& cache, const Debuginfod::Limits& limits) {
  // A question is one message: its size tells how long the id is.
  static FileQuestion question;
  constexpr size_t kHead = offsetof(FileQuestion, build_id);
  ssize_t size = 0;
  while ((size = recv(transfer.socket, &question, sizeof(question), 0)) >
         static_cast<ssize_t>(kHead)) {
    transfer.file = file_in_cache(cache, question, static_cast<size_t>(size) - kHead);
    if (question.is_refused != 0) {
      unlink(transfer.file.path().c_str());
      continue;
    }
    // Files that another client is still fetching must not be taken for ours, nor removed.
    transfer.others = partial_files(transfer.file);
    transfer.room = find_room(cache, limits);
    auto message = find_answer(transfer);
    if (!message || !send(transfer.socket, *message))
      return;
  }
}

// Nothing holds the end of the worker up, as the look-up of a name of a server would. If the
// tool were told to stop, it would also note for the next ten minutes that no server has the
// file. So both ignore the signals that a terminal sends to all of gosym's processes: the
// worker ends when nobody asks any more.
void work(int socket, const std::string& urls, const Debuginfod::Limits& limits) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ})
    std::signal(signal, SIG_IGN);
  std::string cache = cache_directory();
  std::error_code failed;
  // The order matters: enter() lets only those directories be written that are there, and takes
  // away the right to become another user.
  std::filesystem::create_directories(cache, failed);
  setenv("DEBUGINFOD_CACHE_PATH", cache.c_str(), 1);
  setenv("DEBUGINFOD_URLS", urls.c_str(), 1);
  setenv("LC_ALL", "C", 1);  // of what the tool says
  for (const char* chatty : {"DEBUGINFOD_PROGRESS", "DEBUGINFOD_VERBOSE"})
    unsetenv(chatty);
  become_owner(cache);
  enter(ProcessKind::kFetcher, paths_of_worker(cache));
  Transfer transfer{.socket = socket};
  // In a thread, because the tool is ended with the thread that has started it.
  std::thread([&] { answer(transfer, cache, limits); }).join();
  // If the thread gave up a tool that still ran, that has ended with it, and its partial files
  // are of no use.
  if (!transfer.is_running)
    return;
  while (wait(nullptr) >= 0 || errno == EINTR) {
  }
  for (const auto& path : transfer.partial())
    std::filesystem::remove(path, failed);
}

void show_progress(std::FILE* terminal, std::string_view name, const Message& message) {
  if (!terminal)
    return;
  std::string state = message.received == 0 ? "waiting" : human_size(message.received);
  print(terminal, "\r\033[Kdebuginfod: {}: {}", printable(name), state);
  std::fflush(terminal);
}

void clear_progress(std::FILE* terminal) {
  if (!terminal)
    return;
  print(terminal, "\r\033[K");
  std::fflush(terminal);
}

// The rest of `limit` since `start`, in nanoseconds as these are.
uint64_t remaining(uint64_t start, uint64_t limit) {
  return limit - std::min(limit, monotonic_ns() - start);
}

// The timeout for poll(2). It is rounded up, or poll(2) would be called again and again.
int to_milliseconds(uint64_t nanoseconds) {
  return static_cast<int>(std::min<uint64_t>(nanoseconds / 1'000'000 + 1, INT_MAX));
}

// Waits until there is something to read; false if the time is over, nanoseconds.
bool wait_readable(int fd, uint64_t limit) {
  uint64_t start = monotonic_ns();
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do
    ready = poll(&wanted, 1, to_milliseconds(remaining(start, limit)));
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

// The answer to what was asked, progress being shown until then.
Result<Message> wait_for_answer(int worker, const Debuginfod::Limits& limits,
                                std::string_view name, std::FILE* terminal) {
  uint64_t start = monotonic_ns();
  uint64_t last_news = start;
  Message message;
  uint64_t received = 0;
  while (true) {
    uint64_t limit =
        std::min(remaining(last_news, limits.silence_ns), remaining(start, limits.total_ns));
    if (limit == 0 || !wait_readable(worker, limit))
      return errorf("{} in {:.1f} s", received == 0 ? "no answer" : human_size(received),
                    to_seconds(monotonic_ns() - start));
    if (recv(worker, &message, sizeof(message), 0) != sizeof(message))
      return Error("its worker crashed");
    if (message.kind != Message::Kind::kProgress)
      return message;
    show_progress(terminal, name, message);
    if (message.received > limits.file_size)
      return errorf("sends more than {}", human_size(limits.file_size));
    // Only bytes are news: progress is told in any case.
    if (message.received > received)
      last_news = monotonic_ns();
    received = message.received;
  }
}

Result<std::optional<std::string>> read_answer(const Message& message) {
  if (message.kind == Message::Kind::kFound)
    return std::optional<std::string>(message.text);
  if (message.kind == Message::Kind::kMissing)
    return std::optional<std::string>();
  return Error(message.text);
}

bool ask_worker(int worker, std::string_view build_id, bool is_refused) {
  FileQuestion question{.is_refused = is_refused};
  // Callers have seen that the id is no longer than kMaxBuildId.
  std::memcpy(question.build_id, build_id.data(), build_id.size());
  return ::send(worker, &question, offsetof(FileQuestion, build_id) + build_id.size(),
                MSG_NOSIGNAL) >= 0;
}

}  // namespace

bool has_debuginfod() {
  return access(kDebuginfodTool, X_OK) == 0;
}

Debuginfod::Debuginfod(std::string urls, std::FILE* terminal, Limits limits)
    : urls_(std::move(urls)), terminal_(terminal), limits_(limits) {}

Debuginfod::~Debuginfod() {
  stop_worker();
}

Result<std::optional<std::string>> Debuginfod::fetch(std::string_view build_id,
                                                     std::string_view name) {
  if (has_failed_ || build_id.empty() || build_id.size() > kMaxBuildId)
    return std::optional<std::string>();
  auto answer = ask(build_id, name);
  if (answer)
    return answer;
  has_failed_ = true;
  stop_worker();
  return std::move(answer).error().context(
      fmt::format("debuginfod, not asked again: '{}'", printable(urls_)));
}

Result<std::optional<std::string>> Debuginfod::ask(std::string_view build_id,
                                                   std::string_view name) {
  if (auto started = start(); !started)
    return std::move(started).error();
  if (!ask_worker(worker_.get(), build_id, /*is_refused=*/false))
    return Error(std::strerror(errno));
  auto message = wait_for_answer(worker_.get(), limits_, name, terminal_);
  clear_progress(terminal_);
  if (!message)
    return std::move(message).error();
  return read_answer(*message);
}

void Debuginfod::refuse(std::string_view build_id) {
  if (worker_ && build_id.size() <= kMaxBuildId)
    ask_worker(worker_.get(), build_id, /*is_refused=*/true);
}

Result<> Debuginfod::start() {
  if (worker_)
    return Ok{};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a socket", errno);
  UniqueFd own(ends[0]);
  UniqueFd other(ends[1]);
  int pid = fork();
  if (pid < 0)
    return system_error("cannot start a process", errno);
  if (pid == 0) {
    // The child would else hold the parent's end open, and never notice that it is gone.
    own.reset(-1);
    work(other.get(), urls_, limits_);
    _exit(0);
  }
  // Both are set together: who ends the worker kills `worker_pid_`, and -1 would be everybody.
  worker_ = std::move(own);
  worker_pid_ = pid;
  return Ok{};
}

// It ends by itself, after it has removed what it has of a file: who asks may have no right to
// end others. What does not come to that is ended where we may.
void Debuginfod::stop_worker() {
  if (!worker_)
    return;
  constexpr uint64_t kPatience = 1'000'000'000;  // ns; the worker has but files to remove
  // Tells the worker that nobody asks any more; its last messages can still be read.
  shutdown(worker_.get(), SHUT_WR);
  uint64_t start = monotonic_ns();
  Message last;
  while (remaining(start, kPatience) > 0 &&
         wait_readable(worker_.get(), remaining(start, kPatience)) &&
         recv(worker_.get(), &last, sizeof(last), 0) > 0) {
  }
  worker_.reset(-1);
  if (kill(worker_pid_, SIGKILL) == 0)
    wait_for_end(worker_pid_);
  worker_pid_ = -1;
}

}  // namespace gosym
