#include "images/debuginfod.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/print.h"
#include "base/text.h"

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

// More than any debug file has; it keeps a server from filling the disk.
constexpr uint64_t kMaxReceived = uint64_t{8} << 30;

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

template <class Function>
bool load_function(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

bool load_library() {
  void* handle = dlopen("libdebuginfod.so.1", RTLD_NOW);
  return handle && load_function(handle, "debuginfod_begin", library.begin) &&
         load_function(handle, "debuginfod_set_progressfn", library.set_progress) &&
         load_function(handle, "debuginfod_find_debuginfo", library.find_debuginfo) &&
         load_function(handle, "debuginfod_get_url", library.get_url);
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

// Answers until nobody asks any more.
void work(const std::string& urls) {
  setenv("DEBUGINFOD_URLS", urls.c_str(), 1);
  void* client = load_library() ? library.begin() : nullptr;
  if (client)
    library.set_progress(client, on_progress);
  Message no_library{.kind = Message::Kind::kNoLibrary};
  const char* reason = dlerror();
  set_text(no_library, reason ? reason : "libdebuginfod does not start");

  unsigned char id[kMaxBuildId];
  ssize_t size = 0;
  while ((size = recv(library.socket, id, sizeof(id), 0)) > 0)
    if (!send(client ? find(client, id, static_cast<int>(size)) : no_library))
      return;
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
    if (message.received > kMaxReceived)
      return errorf("sends more than {}", human_size(kMaxReceived));
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
  return Error(std::strerror(message.error));
}

// Removes what a worker has of a file, before it is ended: CACHE/ID/debuginfo.XXXXXX. If the
// worker were told to stop, libdebuginfod would do that, but also note for the next ten minutes
// that no server has the file.
void remove_partial_file(pid_t worker, const std::string& build_id) {
  std::error_code failed;
  std::filesystem::directory_iterator open_files(fmt::format("/proc/{}/fd", worker), failed);
  for (const auto& entry : open_files) {
    auto path = std::filesystem::read_symlink(entry.path(), failed);
    if (path.parent_path().filename() == build_id && path.stem() == "debuginfo")
      std::filesystem::remove(path, failed);
  }
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
  remove_partial_file(worker_pid_, hex(build_id));
  stop_worker();
  return std::move(answer).error().context(
      fmt::format("debuginfod, not asked again: '{}'", printable(urls_)));
}

Result<std::optional<std::string>> Debuginfod::ask(std::string_view build_id,
                                                   std::string_view name) {
  if (auto started = start_worker(); !started)
    return std::move(started).error();
  if (::send(worker_.get(), build_id.data(), build_id.size(), MSG_NOSIGNAL) < 0)
    return Error(std::strerror(errno));
  auto message = wait_for_answer(worker_.get(), limits_, name, terminal_);
  clear_progress(terminal_);
  if (!message)
    return std::move(message).error();
  return read_answer(*message);
}

Result<> Debuginfod::start_worker() {
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
    work(urls_);
    _exit(0);
  }
  return Ok{};
}

void Debuginfod::stop_worker() {
  worker_.reset(-1);
  if (worker_pid_ < 0)
    return;
  kill(worker_pid_, SIGKILL);
  while (waitpid(worker_pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  worker_pid_ = -1;
}

}  // namespace gosym
