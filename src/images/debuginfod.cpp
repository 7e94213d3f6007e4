#include "images/debuginfod.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
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
#include <thread>

#include "base/clock.h"
#include "base/print.h"
#include "base/shared_library.h"
#include "base/text.h"
#include "confine/process_kind.h"

namespace gosym {

namespace {

// What the worker says. It is asked with the bytes of a build id, tells progress, and answers.
struct Message {
  enum class Kind : uint32_t { kProgress, kFound, kFailed, kNoLibrary };
  Kind kind{};
  int error = 0;          // kFailed: an errno value
  uint64_t received = 0;  // kProgress: bytes
  uint64_t expected = 0;  // kProgress: bytes; 0 if unknown
  char text[PATH_MAX]{};  // kFound: the path; kNoLibrary: why
};

// Longer than any id in use.
constexpr size_t kMaxBuildId = 4096;

// What it is asked.
struct FileQuestion {
  uint32_t is_refused = 0;  // the file is to be removed
  unsigned char build_id[kMaxBuildId]{};
};

void set_text(Message& message, std::string_view text) {
  size_t size = std::min(text.size(), sizeof(message.text) - 1);
  std::memcpy(message.text, text.data(), size);
}

// The client of libdebuginfod as <elfutils/debuginfod.h> declares it; and the worker's socket,
// which the library's callback has no other way to.
struct Library {
  void* (*begin)();
  void (*set_progress)(void* client, int (*callback)(void* client, long a, long b));
  int (*find_debuginfo)(void* client, const unsigned char* id, int id_size, char** path);
  const char* (*get_url)(void* client);
  int socket;
};
Library library;

// Why the library cannot be used; empty if it can.
std::string load_library() {
  static const SharedLibrary installed("libdebuginfod.so.1");
  bool is_usable = installed.find("debuginfod_begin", library.begin) &&
                   installed.find("debuginfod_set_progressfn", library.set_progress) &&
                   installed.find("debuginfod_find_debuginfo", library.find_debuginfo) &&
                   installed.find("debuginfod_get_url", library.get_url);
  if (is_usable)
    return {};
  return installed ? "libdebuginfod lacks a function" : installed.why_not();
}

bool send(const Message& message) {
  return ::send(library.socket, &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message);
}

// Called about once a second. Not zero stops the transfer: nobody listens any more.
int on_progress(void* client, long received, long expected) noexcept {
  Message message{.kind = Message::Kind::kProgress};
  // Until a server has begun to send, the numbers only count the calls.
  if (library.get_url(client)) {
    message.received = static_cast<uint64_t>(std::max(received, 0L));
    message.expected = static_cast<uint64_t>(std::max(expected, 0L));
  }
  return send(message) ? 0 : 1;
}

Message find(void* client, const unsigned char* id, int id_size) {
  char* path = nullptr;
  int found = library.find_debuginfo(client, id, id_size, &path);
  if (found < 0)
    return {.kind = Message::Kind::kFailed, .error = -found};
  close(found);
  Message message{.kind = Message::Kind::kFound};
  set_text(message, path);
  free(path);
  return message;
}

std::string setting_of_library(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// As the library chooses it.
std::string cache_directory() {
  if (std::string path = setting_of_library("DEBUGINFOD_CACHE_PATH"); !path.empty())
    return path;
  std::string home = setting_of_library("HOME");
  std::string old = home + "/.debuginfod_client_cache";
  std::error_code failed;
  if (std::filesystem::exists(old, failed))
    return old;
  std::string caches = setting_of_library("XDG_CACHE_HOME");
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
    _exit(1);
}

// Whom libraries ask for the names of hosts, and for those who sign for them; and the
// libraries.
ReachablePaths paths_of_worker(const std::string& cache) {
  ReachablePaths paths = {.read = {"/usr",
                                   "/lib",
                                   "/lib64",
                                   "/etc/ld.so.cache",
                                   "/etc/resolv.conf",
                                   "/etc/hosts",
                                   "/etc/host.conf",
                                   "/etc/nsswitch.conf",
                                   "/etc/gai.conf",
                                   "/etc/services",
                                   "/etc/protocols",
                                   "/etc/localtime",
                                   "/etc/ssl",
                                   "/etc/pki",
                                   "/etc/ca-certificates",
                                   "/etc/gnutls",
                                   "/etc/crypto-policies",
                                   "/dev/urandom",
                                   "/proc/self",
                                   "/proc/sys",
                                   "/sys/devices/system/cpu"},
                          .written = {cache, "/dev/null"}};
  for (const char* name : {"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"})
    if (std::string path = setting_of_library(name); !path.empty())
      paths.read.push_back(path);
  return paths;
}

// Of all files in the cache, bytes on the disk.
uint64_t size_of_cache(const std::string& cache) {
  uint64_t sum = 0;
  std::error_code failed;
  for (auto entry = std::filesystem::recursive_directory_iterator(cache, failed);
       entry != std::filesystem::recursive_directory_iterator(); entry.increment(failed)) {
    struct stat status {};
    if (failed || lstat(entry->path().c_str(), &status) != 0)
      break;
    sum += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return sum;
}

// The size that a file may come to have.
void limit_file_size(const std::string& cache, const Debuginfod::Limits& limits) {
  uint64_t most = std::min(
      limits.file_size, limits.cache_size - std::min(limits.cache_size, size_of_cache(cache)));
  std::error_code failed;
  if (auto space = std::filesystem::space(cache, failed); !failed)
    most = std::min<uint64_t>(most, space.available / 2);
  rlimit limit{most, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
  setrlimit(RLIMIT_FSIZE, &limit);
}

std::string path_in_cache(const std::string& cache, const FileQuestion& question,
                          size_t id_size) {
  std::string_view id(reinterpret_cast<const char*>(question.build_id), id_size);
  return fmt::format("{}/{}/debuginfo", cache, hex(id));
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

// Removes what there is of a file that is not all there: CACHE/ID/debuginfo.XXXXXX. If it were
// told to stop, libdebuginfod would do that, but also note for the next ten minutes that no
// server has the file.
void remove_partial_files() {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
    auto path = std::filesystem::read_symlink(entry.path(), failed);
    if (path.stem() == "debuginfo" && path.has_extension())
      std::filesystem::remove(path, failed);
  }
}

// Nothing holds the end of the worker up, as the look-up of a name of a server would.
void end_with_asker(int socket) {
  pollfd gone{.fd = socket, .events = POLLRDHUP, .revents = 0};
  while (poll(&gone, 1, -1) < 0 && errno == EINTR) {
  }
  remove_partial_files();
  _exit(0);
}

// Of a file that reaches the limit the library says no more than that no server has it.
Message find_checked(void* client, const std::string& cache, const FileQuestion& question,
                     size_t id_size) {
  Message answer = find(client, question.build_id, static_cast<int>(id_size));
  if (answer.kind == Message::Kind::kFound && !is_elf(answer.text)) {
    unlink(path_in_cache(cache, question, id_size).c_str());
    return {.kind = Message::Kind::kFailed, .error = ENOEXEC};
  }
  return answer;
}

// Answers until nobody asks any more.
void work(const std::string& urls, const Debuginfod::Limits& limits) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ})
    std::signal(signal, SIG_IGN);
  std::string cache = cache_directory();
  std::error_code failed;
  std::filesystem::create_directories(cache, failed);
  setenv("DEBUGINFOD_CACHE_PATH", cache.c_str(), 1);
  setenv("DEBUGINFOD_URLS", urls.c_str(), 1);
  become_owner(cache);
  enter(ProcessKind::kFetcher, paths_of_worker(cache));
  std::thread(end_with_asker, library.socket).detach();

  static FileQuestion question;
  constexpr size_t kHead = offsetof(FileQuestion, build_id);
  void* client = nullptr;
  ssize_t size = 0;
  while ((size = recv(library.socket, &question, sizeof(question), 0)) >
         static_cast<ssize_t>(kHead)) {
    size_t id_size = static_cast<size_t>(size) - kHead;
    if (question.is_refused != 0) {
      unlink(path_in_cache(cache, question, id_size).c_str());
      continue;
    }
    std::string reason = load_library();
    if (!client && reason.empty() && (client = library.begin()))
      library.set_progress(client, on_progress);
    Message no_library{.kind = Message::Kind::kNoLibrary};
    set_text(no_library, reason.empty() ? "libdebuginfod does not start" : reason);
    limit_file_size(cache, limits);
    if (!send(client ? find_checked(client, cache, question, id_size) : no_library))
      return;
  }
}

void show_progress(std::FILE* terminal, std::string_view name, const Message& message) {
  if (!terminal)
    return;
  std::string state = message.received == 0 ? "waiting" : human_size(message.received);
  if (message.expected != 0)
    state += " of " + human_size(message.expected);
  print(terminal, "\r\033[Kdebuginfod: {}: {}", printable(name), state);
  std::fflush(terminal);
}

void clear_progress(std::FILE* terminal) {
  if (!terminal)
    return;
  print(terminal, "\r\033[K");
  std::fflush(terminal);
}

// What is left of `limit` since `start`, in nanoseconds as these are.
uint64_t remaining(uint64_t start, uint64_t limit) {
  return limit - std::min(limit, monotonic_ns() - start);
}

// As poll(2) takes it, and not less: it would be called again and again.
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
                    static_cast<double>(monotonic_ns() - start) / 1e9);
    if (recv(worker, &message, sizeof(message), 0) != sizeof(message))
      return Error("libdebuginfod crashed");
    if (message.kind != Message::Kind::kProgress)
      return message;
    show_progress(terminal, name, message);
    if (message.received > limits.file_size)
      return errorf("sends more than {}", human_size(limits.file_size));
    if (message.received > received)
      last_news = monotonic_ns();
    received = message.received;
  }
}

Result<std::optional<std::string>> read_answer(const Message& message) {
  if (message.kind == Message::Kind::kFound)
    return std::optional<std::string>(message.text);
  if (message.kind == Message::Kind::kNoLibrary)
    return Error(message.text);
  if (message.error == ENOENT)
    return std::optional<std::string>();
  if (message.error == ENOEXEC)
    return Error("sent what is no ELF file");
  return Error(std::strerror(message.error));
}

bool ask_worker(int worker, std::string_view build_id, bool is_refused) {
  FileQuestion question{.is_refused = is_refused};
  std::memcpy(question.build_id, build_id.data(), build_id.size());
  return ::send(worker, &question, offsetof(FileQuestion, build_id) + build_id.size(),
                MSG_NOSIGNAL) >= 0;
}

}  // namespace

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
  worker_.reset(ends[0]);
  UniqueFd other(ends[1]);
  worker_pid_ = fork();
  if (worker_pid_ < 0)
    return system_error("cannot start a process", errno);
  if (worker_pid_ == 0) {
    worker_.reset(-1);
    library.socket = other.get();
    work(urls_, limits_);
    _exit(0);
  }
  return Ok{};
}

// It ends by itself, after it has removed what it has of a file: who asks may have no right to
// end others. What does not come to that is ended where we may.
void Debuginfod::stop_worker() {
  if (!worker_)
    return;
  constexpr uint64_t kPatience = 1'000'000'000;  // ns
  shutdown(worker_.get(), SHUT_WR);
  uint64_t start = monotonic_ns();
  Message last;
  while (remaining(start, kPatience) > 0 &&
         wait_readable(worker_.get(), remaining(start, kPatience)) &&
         recv(worker_.get(), &last, sizeof(last), 0) > 0) {
  }
  worker_.reset(-1);
  if (kill(worker_pid_, SIGKILL) == 0)
    while (waitpid(worker_pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  worker_pid_ = -1;
}

}  // namespace gosym
