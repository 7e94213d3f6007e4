#include "confine/opener.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>

#include "base/file_tree.h"
#include "confine/channel.h"
#include "confine/process_kind.h"

// The first half is the opener: it serves requests and decides what may be shown. The second
// half runs in the process that may open nothing, in the handler of SIGSYS: it reads the
// arguments of the call from the registers, asks, and puts the answer where the result of the
// call belongs. Its memory is read only there: an opener gets copies of paths, never pointers.

namespace gosym {

namespace {

// So many may wait at once for what does not answer.
constexpr int kOpenerCount = 3;

// A disk that has to start takes that long, and a server of files that is started again.
constexpr int kFilePatience = 5'000;  // ms

enum class FileCall : uint32_t {
  kOpen,
  kAccess,
  kStatus,
  kLongStatus,
  kRename,
  kUnlink,
  kMakeFolder
};

// With a descriptor: the directory that the path starts at, or, where the path is empty, the
// file itself.
struct FileRequest {
  uint64_t number;  // of the reply
  FileCall ask;
  uint32_t mode;  // of a file, or of access(2), or mask of statx(2)
  uint64_t flags;
  uint64_t resolve;  // as openat2(2) has it
  char path[PATH_MAX];
  char to[PATH_MAX];  // kRename
};

struct FileReply {
  uint64_t number;
  int64_t error;  // an errno value; 0: it worked
  union {
    struct stat status;
    struct statx long_status;
  };
};

// True of a directory and of what lies below it, by their names alone.
bool is_below(std::string_view path, std::string_view directory) {
  while (directory.ends_with('/') && directory.size() > 1)
    directory.remove_suffix(1);
  if (!path.starts_with(directory) || directory.empty())
    return false;
  std::string_view rest = path.substr(directory.size());
  if (rest.empty() || directory == "/")
    return true;
  return rest.starts_with('/') && rest.find("/../") == rest.npos && !rest.ends_with("/..");
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// "gosym-1.svg".
bool is_export(std::string_view path) {
  constexpr std::string_view kBegin = "gosym-";
  size_t dot = path.find('.');
  return path.starts_with(kBegin) && dot != path.npos && path.find('/') == path.npos &&
         is_digits(path.substr(kBegin.size(), dot - kBegin.size()));
}

// The path behind DIR/.build-id/ of a store; empty if it is elsewhere.
std::string_view inside_store(const NamedFiles& files, std::string_view path) {
  constexpr std::string_view kFolder = "/.build-id/";
  for (const std::string& store : files.stores)
    if (path.starts_with(store) && path.substr(store.size()).starts_with(kFolder))
      return path.substr(store.size() + kFolder.size());
  return {};
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// "xx/yyyy.gsym".
bool is_index(std::string_view inside) {
  constexpr std::string_view kEnd = ".gsym";
  constexpr size_t kFolder = 3;
  return inside.size() > kFolder && inside[2] == '/' && is_hex(inside.substr(0, 2)) &&
         inside.ends_with(kEnd) &&
         is_hex(inside.substr(kFolder, inside.size() - kFolder - kEnd.size()));
}

bool begins_as_elf(const UniqueFd& file) {
  constexpr char kMagic[] = {'\x7f', 'E', 'L', 'F'};
  char begin[sizeof(kMagic)];
  return pread(file.get(), begin, sizeof(begin), 0) == sizeof(begin) &&
         memcmp(begin, kMagic, sizeof(begin)) == 0;
}

// By the descriptor the very file is opened that was looked at before.
UniqueFd opened_again(const UniqueFd& found, int flags) {
  return UniqueFd(open(fmt::format("/proc/self/fd/{}", found.get()).c_str(),
                       (flags & ~(O_NOFOLLOW | O_PATH)) | O_CLOEXEC));
}

UniqueFd find_asked(int directory, const FileRequest& request, uint64_t flags) {
  flags |= O_CLOEXEC;
  if (request.resolve == 0)
    return UniqueFd(openat(directory, request.path, static_cast<int>(flags), request.mode));
  open_how how{};
  how.flags = flags;
  how.resolve = request.resolve;
  return UniqueFd(
      static_cast<int>(syscall(SYS_openat2, directory, request.path, &how, sizeof(how))));
}

// Files and directories that the user named and that an opener reaches with none of the rights
// that it keeps: /proc/PID/exe and /proc/PID/root of another take those of who looks into
// processes. Found before those rights are given up, they are opened by these descriptors.
class FoundBefore {
public:
  explicit FoundBefore(const NamedFiles& named) {
    for (const auto& names : {named.inputs, named.roots})
      for (const std::string& name : names)
        if (UniqueFd file = find(name))
          files_.push_back({name, std::move(file)});
  }

  // Without the rights: those that are found all the same are not kept.
  void keep_unreachable() {
    std::erase_if(files_, [](const File& file) { return find(file.name).get() >= 0; });
  }

  // Puts the way by the descriptor in place of the path. False: none leads there.
  bool replace(char (&path)[PATH_MAX]) const {
    for (const File& file : files_) {
      if (!is_below(path, file.name))
        continue;
      // By the descriptor it is the file that was found when it was named, whatever has its
      // name now.
      std::string by_descriptor =
          fmt::format("/proc/self/fd/{}{}", file.found.get(), path + file.name.size());
      if (by_descriptor.size() >= sizeof(path))
        return false;
      memcpy(path, by_descriptor.c_str(), by_descriptor.size() + 1);
      return true;
    }
    return false;
  }

private:
  struct File {
    std::string name;
    UniqueFd found;
  };

  static UniqueFd find(const std::string& name) {
    return UniqueFd(open(name.c_str(), O_PATH | O_CLOEXEC));
  }

  std::vector<File> files_;
};

// Answers requests, one after the other.
class Opener {
public:
  Opener(const NamedFiles& files, const FoundBefore& found) : files_(files), found_(found) {}

  void serve(int channel) {
    static FileRequest request;
    UniqueFd base;
    while (receive_message(channel, request, sizeof(request), base)) {
      // The request was made by a process that may have been taken over.
      request.path[sizeof(request.path) - 1] = request.to[sizeof(request.to) - 1] = '\0';
      // The name counts as the user gave it, before it is replaced by a descriptor.
      bool is_named = !base && is_named_input(files_, request.path);
      // The way by a descriptor is a link of /proc, which has to be followed.
      if (!base && found_.replace(request.path))
        request.flags &= request.ask == FileCall::kOpen ? ~uint64_t{O_NOFOLLOW}
                                                        : ~uint64_t{AT_SYMLINK_NOFOLLOW};
      FileReply reply{};
      reply.number = request.number;
      errno = 0;
      UniqueFd opened = answer(request, base, is_named, reply);
      if (!send_message(channel, reply, sizeof(reply), opened.get()))
        return;
      base = UniqueFd();
    }
  }

private:
  UniqueFd answer(const FileRequest& request, const UniqueFd& base, bool is_named,
                  FileReply& reply) {
    int directory = base ? base.get() : AT_FDCWD;
    int done = -1;
    UniqueFd opened;
    // Calls that change something take a name that the user gave; those that only ask leave it
    // to the rights of the opener.
    switch (request.ask) {
      case FileCall::kOpen:
        opened = open_asked(request, base, is_named);
        done = opened.get();
        break;
      case FileCall::kAccess:
        done = faccessat(directory, request.path, static_cast<int>(request.mode), 0);
        break;
      case FileCall::kStatus:
        done = fstatat(directory, request.path, &reply.status, static_cast<int>(request.flags));
        break;
      case FileCall::kLongStatus:
        done = statx(directory, request.path, static_cast<int>(request.flags), request.mode,
                     &reply.long_status);
        break;
      case FileCall::kRename:
        done = refuse_unless(!base && is_draft_of_output(files_, request.path, request.to)) &&
                       rename(request.path, request.to) == 0
                   ? 0
                   : -1;
        break;
      case FileCall::kUnlink:
        done = refuse_unless(!base && is_draft_of_output(files_, request.path)) &&
                       unlink(request.path) == 0
                   ? 0
                   : -1;
        break;
      case FileCall::kMakeFolder:
        done = refuse_unless(!base && is_folder_of_store(files_, request.path))
                   ? mkdir(request.path, request.mode & 0777)
                   : -1;
        break;
    }
    reply.error = done < 0 ? (errno != 0 ? errno : EACCES) : 0;
    return opened;
  }

  static bool refuse_unless(bool is_allowed) {
    if (!is_allowed)
      errno = EACCES;
    return is_allowed;
  }

  UniqueFd open_asked(const FileRequest& request, const UniqueFd& base, bool is_named) const {
    auto flags = static_cast<int>(request.flags);
    if ((flags & O_TMPFILE) == O_TMPFILE)
      return open_nameless(request, base);
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0)
      return open_output(request, base);
    return open_input(request, base, is_named);
  }

  UniqueFd open_nameless(const FileRequest& request, const UniqueFd& base) const {
    // A file without a name is no output of anybody: it goes with its descriptor.
    if (!refuse_unless(!base))
      return {};
    return UniqueFd(open(request.path, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  }

  UniqueFd open_output(const FileRequest& request, const UniqueFd& base) const {
    auto flags = static_cast<int>(request.flags);
    if (base && request.path[0] == '\0')
      return open_again_to_write(flags, base);
    bool is_draft = is_draft_of_output(files_, request.path);
    if (!refuse_unless(!base && (is_draft || is_output(files_, request.path))))
      return {};
    // A draft must be new: a link that somebody put there is not followed.
    if (is_draft)
      flags |= O_CREAT | O_EXCL | O_NOFOLLOW;
    return UniqueFd(open(request.path, flags | O_CLOEXEC | O_NOCTTY, request.mode & 0666));
  }

  // A file that the parser may write already, as "/dev/stdout".
  static UniqueFd open_again_to_write(int flags, const UniqueFd& base) {
    int had = fcntl(base.get(), F_GETFL);
    bool is_written = (had & O_PATH) == 0 && (had & O_ACCMODE) != O_RDONLY;
    return refuse_unless(is_written) ? opened_again(base, flags & ~(O_CREAT | O_EXCL))
                                     : UniqueFd();
  }

  UniqueFd open_input(const FileRequest& request, const UniqueFd& base, bool is_named) const {
    auto flags = static_cast<int>(request.flags);
    // The file is found first, without being opened: to open a device or a pipe could do
    // something, or wait.
    UniqueFd found;
    if (request.path[0] == '\0')
      found = UniqueFd(fcntl(base.get(), F_DUPFD_CLOEXEC, 0));
    else
      found = find_asked(base ? base.get() : AT_FDCWD, request,
                         O_PATH | (flags & (O_NOFOLLOW | O_DIRECTORY)));
    struct stat status {};
    if (!found || fstat(found.get(), &status) != 0)
      return {};
    // A file that the parser has open is its own, also a pipe.
    bool is_its_own = request.path[0] == '\0' && (fcntl(found.get(), F_GETFL) & O_PATH) == 0;
    is_named = is_named || is_its_own;
    // A file that is found by name is opened as well: later it has none.
    if ((flags & O_PATH) != 0)
      return is_named && S_ISREG(status.st_mode) ? opened_again(found, O_RDONLY)
                                                 : std::move(found);
    UniqueFd file;
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || is_named)
      file = opened_again(found, flags);
    if (!file && errno == ENOENT && is_named)  // no /proc is mounted
      file = find_asked(AT_FDCWD, request, request.flags);
    if (!file)
      return {};
    return refuse_unless(is_named || may_be_read(file, status)) ? std::move(file) : UniqueFd();
  }

  bool may_be_read(const UniqueFd& file, const struct stat& status) const {
    struct statfs system {};
    if (fstatfs(file.get(), &system) != 0)
      return false;
    // Files of /proc tell of other processes, so only those that everybody may read are let
    // through.
    if (system.f_type == PROC_SUPER_MAGIC)
      return files_.has_processes && (status.st_mode & S_IROTH) != 0;
    if (may_be_code(file))
      return true;
    std::string path = S_ISREG(status.st_mode) ? real_path(file, "") : "";
    return is_named_as_source(path);
  }

  const NamedFiles& files_;
  const FoundBefore& found_;
};

// The asking side. In a handler of signals, which interrupts nothing but a call that it
// answers.
UniqueFd openers;
NamedFiles named_by_user;
std::mutex asking;
int left_openers = kOpenerCount;
uint64_t last_number = 0;

struct CallMade {
  int number;
  uint64_t arguments[5];
};

// The call with its arguments, from the registers that the kernel takes them from. None of the
// calls that are answered has more than five.
CallMade call_of(const siginfo_t& info, const ucontext_t& context) {
#if defined(__x86_64__)
  const auto& r = context.uc_mcontext.gregs;
  return {info.si_syscall,
          {static_cast<uint64_t>(r[REG_RDI]), static_cast<uint64_t>(r[REG_RSI]),
           static_cast<uint64_t>(r[REG_RDX]), static_cast<uint64_t>(r[REG_R10]),
           static_cast<uint64_t>(r[REG_R8])}};
#else
  const auto& r = context.uc_mcontext.regs;
  return {info.si_syscall, {r[0], r[1], r[2], r[3], r[4]}};
#endif
}

void set_result(ucontext_t& context, int64_t result) {
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RAX] = result;
#else
  context.uc_mcontext.regs[0] = static_cast<uint64_t>(result);
#endif
}

// A call, understood.
struct Understood {
  FileRequest request;
  int base = AT_FDCWD;
  void* result = nullptr;  // where what is asked for goes
};

// The descriptor that a path stands for, which is another file in each process; -1: it is none
// of them.
int own_descriptor(std::string_view path) {
  constexpr std::string_view kStreams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  for (int stream = 0; stream < 3; stream++)
    if (path == kStreams[stream])
      return stream;
  for (std::string_view open_files : {"/proc/self/fd/", "/dev/fd/"})
    if (path.starts_with(open_files) && is_digits(path.substr(open_files.size())))
      return std::atoi(path.data() + open_files.size());
  return -1;
}

// The path ends with a NUL. One that is no memory ends this process, where the kernel would
// refuse the call.
void set_path(Understood& call, uint64_t base, uint64_t path) {
  call.base = static_cast<int>(base);
  const char* text = reinterpret_cast<const char*>(path);
  strncpy(call.request.path, text, sizeof(call.request.path) - 1);
  std::string_view given = call.request.path;
  // A descriptor of ours is given with the request: the opener has others.
  if (int own = own_descriptor(given); call.request.ask == FileCall::kOpen && own >= 0) {
    call.base = own;
    call.request.path[0] = '\0';
    return;
  }
  // With RESOLVE_IN_ROOT it starts there nevertheless.
  if (given.starts_with('/') && call.request.resolve == 0)
    call.base = AT_FDCWD;
}

bool ask_to_rename(uint64_t from, uint64_t to, Understood& call) {
  FileRequest& request = call.request;
  request.ask = FileCall::kRename;
  strncpy(request.to, reinterpret_cast<const char*>(to), sizeof(request.to) - 1);
  set_path(call, static_cast<uint64_t>(AT_FDCWD), from);
  return true;
}

bool ask_for_folder(uint64_t path, uint64_t mode, Understood& call) {
  call.request.ask = FileCall::kMakeFolder;
  call.request.mode = static_cast<uint32_t>(mode);
  set_path(call, static_cast<uint64_t>(AT_FDCWD), path);
  return true;
}

// False: it is none that is known. Calls that rename, remove or make something are taken to
// start at the working directory and to have no flags, as ours are made: the opener lets
// through none whose name the user did not give, so others can do no harm.
bool understand(const CallMade& made, Understood& call) {
  const auto& a = made.arguments;
  FileRequest& request = call.request;
  memset(&request, 0, offsetof(FileRequest, path));
  memset(request.path, 0, sizeof(request.path));
  memset(request.to, 0, sizeof(request.to));
  auto open_with = [&](uint64_t base, uint64_t path, uint64_t flags, uint64_t mode) {
    request.ask = FileCall::kOpen;
    request.flags = flags;
    request.mode = static_cast<uint32_t>(mode);
    set_path(call, base, path);
    return true;
  };
  constexpr auto kHere = static_cast<uint64_t>(AT_FDCWD);
  auto status_of = [&](uint64_t base, uint64_t path, uint64_t result, uint64_t flags) {
    request.ask = FileCall::kStatus;
    request.flags = flags;
    call.result = reinterpret_cast<void*>(result);
    set_path(call, base, path);
    return true;
  };
  auto access_of = [&](uint64_t base, uint64_t path, uint64_t mode) {
    request.ask = FileCall::kAccess;
    request.mode = static_cast<uint32_t>(mode);
    set_path(call, base, path);
    return true;
  };
  auto unlink_of = [&](uint64_t path) {
    request.ask = FileCall::kUnlink;
    set_path(call, kHere, path);
    return true;
  };
  switch (made.number) {
    case SYS_openat:
      return open_with(a[0], a[1], a[2], a[3]);
    case SYS_openat2: {
      const auto& how = *reinterpret_cast<const open_how*>(a[2]);
      request.resolve = how.resolve;
      return open_with(a[0], a[1], how.flags, how.mode);
    }
    case SYS_faccessat:
#if defined(SYS_faccessat2)
    case SYS_faccessat2:
#endif
      return access_of(a[0], a[1], a[2]);
    case SYS_newfstatat:
      return status_of(a[0], a[1], a[2], a[3]);
    case SYS_statx:
      status_of(a[0], a[1], a[4], a[2]);
      request.ask = FileCall::kLongStatus;
      request.mode = static_cast<uint32_t>(a[3]);
      return true;
    case SYS_renameat:
    case SYS_renameat2:
      return ask_to_rename(a[1], a[3], call);
    case SYS_unlinkat:
      return unlink_of(a[1]);
    case SYS_mkdirat:
      return ask_for_folder(a[1], a[2], call);
#if defined(__x86_64__)
    case SYS_open:
      return open_with(kHere, a[0], a[1], a[2]);
    case SYS_access:
      return access_of(kHere, a[0], a[1]);
    case SYS_stat:
      return status_of(kHere, a[0], a[1], 0);
    case SYS_lstat:
      return status_of(kHere, a[0], a[1], AT_SYMLINK_NOFOLLOW);
    case SYS_rename:
      return ask_to_rename(a[0], a[1], call);
    case SYS_unlink:
      return unlink_of(a[0]);
    case SYS_mkdir:
      return ask_for_folder(a[0], a[1], call);
#endif
    default:
      return false;
  }
}

// False: the time is over. Of requests that were given up replies may come late; the time
// begins anew with each, as an opener is at work then.
bool receive_reply(const FileRequest& request, FileReply& reply, UniqueFd& opened,
                   int patience) {
  pollfd entry = {.fd = openers.get(), .events = POLLIN, .revents = 0};
  while (true) {
    int ready = poll(&entry, 1, patience);
    if (ready < 0 && errno == EINTR)
      continue;
    opened = UniqueFd();
    if (ready <= 0 || !receive_message(openers.get(), reply, sizeof(reply), opened))
      return false;
    if (reply.number == request.number)
      return true;
    left_openers++;  // one that was left behind has come back
  }
}

// Returns what the kernel would: a descriptor or 0, or an errno value below 0.
int64_t ask_opener(const CallMade& made) {
  std::lock_guard lock(asking);
  // Too large for the stack of a signal handler; `asking` guards it.
  static Understood call;
  call.base = AT_FDCWD;
  call.result = nullptr;
  if (!understand(made, call))
    return -EPERM;
  // All openers wait for files that do not answer: another request would wait as well.
  if (left_openers == 0)
    return -ETIMEDOUT;
  call.request.number = ++last_number;
  // Files that the user named are waited for, as he would wait himself.
  bool is_named = is_named_input(named_by_user, call.request.path) ||
                  is_output(named_by_user, call.request.path);
  FileReply reply{};
  UniqueFd opened;
  if (!send_message(openers.get(), call.request, sizeof(call.request),
                    call.base == AT_FDCWD ? -1 : call.base))
    return -EIO;
  if (!receive_reply(call.request, reply, opened, is_named ? -1 : kFilePatience)) {
    left_openers--;
    return -ETIMEDOUT;
  }
  // Below 0 whatever the opener says: else the call would be taken to have worked.
  if (reply.error != 0)
    return -std::abs(reply.error);
  if (call.request.ask == FileCall::kStatus)
    memcpy(call.result, &reply.status, sizeof(reply.status));
  else if (call.request.ask == FileCall::kLongStatus)
    memcpy(call.result, &reply.long_status, sizeof(reply.long_status));
  return opened ? opened.release() : 0;
}

void on_call(int /*signal*/, siginfo_t* info, void* context) noexcept {
  constexpr int kBySeccomp = 1;  // SYS_SECCOMP
  // The handler must not change what the interrupted code sees but the result of its call.
  int kept = errno;
  auto& state = *static_cast<ucontext_t*>(context);
  // One that somebody else has sent interrupts no call, and gets no answer.
  if (info->si_code == kBySeccomp)
    set_result(state, ask_opener(call_of(*info, state)));
  errno = kept;
}

}  // namespace

bool may_be_code(const UniqueFd& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 &&
         ((status.st_mode & S_IROTH) != 0 || (S_ISREG(status.st_mode) && begins_as_elf(file)));
}

bool is_named_input(const NamedFiles& files, std::string_view path) {
  auto is_it = [&](const std::string& name) { return is_below(path, name); };
  return std::ranges::any_of(files.inputs, is_it) || is_output(files, path);
}

bool is_output(const NamedFiles& files, std::string_view path) {
  return std::ranges::find(files.outputs, path) != files.outputs.end() ||
         (files.has_exports && is_export(path)) || is_index(inside_store(files, path));
}

bool is_folder_of_store(const NamedFiles& files, std::string_view path) {
  constexpr std::string_view kFolder = "/.build-id";
  auto is_it = [&](const std::string& store) { return path == store + std::string(kFolder); };
  std::string_view inside = inside_store(files, path);
  return std::ranges::any_of(files.stores, is_it) || (inside.size() == 2 && is_hex(inside));
}

bool is_draft_of_output(const NamedFiles& files, std::string_view draft,
                        std::string_view output) {
  constexpr std::string_view kEnd = ".tmp";
  if (!draft.ends_with(kEnd))
    return false;
  std::string_view rest = draft.substr(0, draft.size() - kEnd.size());
  // A draft is called OUTPUT.NUMBER.tmp.
  size_t dot = rest.rfind('.');
  if (dot == rest.npos || !is_digits(rest.substr(dot + 1)))
    return false;
  return is_output(files, rest.substr(0, dot)) &&
         (output.empty() || output == rest.substr(0, dot));
}

bool is_named_as_source(std::string_view path) {
  constexpr std::string_view kEndings[] = {
      "go",  "c",  "h",   "cc",  "cpp", "cxx", "hh",    "hpp",  "hxx", "inl", "inc", "ipp",
      "s",   "S",  "asm", "rs",  "py",  "js",  "ts",    "java", "kt",  "zig", "d",   "f",
      "f90", "ml", "hs",  "pas", "adb", "ads", "swift", "m",    "mm",  "cu",  "y",   "l"};
  std::string_view name = path.substr(path.rfind('/') + 1);
  size_t dot = name.rfind('.');
  return dot != name.npos && dot > 0 &&
         std::ranges::find(kEndings, name.substr(dot + 1)) != std::end(kEndings);
}

void start_openers(const UniqueFd& theirs, const NamedFiles& files) {
  int parent = getpid();
  for (int i = 0; i < kOpenerCount; i++) {
    int pid = fork();
    if (pid != 0)
      continue;
    // The parent may have ended before the signal was asked for.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    // Signals of the user are for the others; an opener that has nobody to serve ends.
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      ::signal(signal, SIG_IGN);
    // A reader of our standard output is not to wait for one that is left behind.
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(theirs.get(), stream);
    close_all_but({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
    // Named files are found with the rights of now, and only those kept that cannot be found
    // without them.
    FoundBefore found(files);
    enter(ProcessKind::kOpener);
    found.keep_unreachable();
    Opener(files, found).serve(STDIN_FILENO);
    _exit(0);
  }
}

void ask_openers(UniqueFd channel, const NamedFiles& files) {
  openers = std::move(channel);
  named_by_user = files;
  struct sigaction action {};
  action.sa_sigaction = on_call;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigfillset(&action.sa_mask);
  sigaction(SIGSYS, &action, nullptr);
}

}  // namespace gosym
