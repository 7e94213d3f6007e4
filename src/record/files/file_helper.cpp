#include "record/files/file_helper.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "confine/channel.h"
#include "confine/child.h"
#include "confine/opener.h"
#include "confine/process_kind.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "raw/messages.h"

// Three processes: the recorder asks, the helper finds and opens, the helper's own parser
// reads what cannot be handed over. The first part is the channel between them, one struct
// each way; the second the looks themselves, which run in the helper, or in the caller where
// there is none.

namespace gosym {

namespace {

// A user's file system does not make looks wait uninterruptibly, but a process can by what it
// does to its memory.
constexpr uint64_t kKernelPatience = 1'000'000'000;

// Looks that may hang before no file of a file system without a disk is looked at any more.
constexpr uint64_t kMaxHung = 8;

// Their messages fit into the buffers of the socket, with any paths.
constexpr size_t kMaxAhead = 16;

// The kernel's PATH_MAX, which no path of a mapping exceeds.
constexpr size_t kMaxPath = 4096;
// Size of what is recorded of a file: a hundred segments and a few hundred bytes, as a rule.
constexpr size_t kMaxImage = 48 << 10;
constexpr size_t kMaxText = 256;
constexpr size_t kMaxVersion = 64;

// Twice the size of the largest programs.
constexpr uint64_t kMaxCopy = 512 << 20;

template <size_t N>
void put(char (&place)[N], std::string_view text) {
  size_t size = std::min(text.size(), N - 1);
  memcpy(place, text.data(), size);
  place[size] = '\0';
}

template <size_t N>
std::string text_in(const char (&place)[N]) {
  return {place, strnlen(place, N)};
}

// Disks have numbers of their own, other file systems those of nobody: major 0.
bool is_unnamed(uint64_t device) {
  return major(device) == 0 && device != 0;
}

bool asks_same(const RawMapping& a, const RawMapping& b) {
  return a.pid == b.pid && a.start == b.start && a.length == b.length && a.file == b.file &&
         a.path == b.path;
}

}  // namespace

enum class FileHelper::Look : uint32_t {
  kMapped,
  kToRead,
  kFile,
  kTmp,
  kMountOwner,
  kMaps,
  kSmaps,
  kPerfMap
};

struct FileHelper::Request {
  Look look;
  uint32_t pid;
  uint64_t start;
  uint64_t length;
  uint64_t device;
  uint64_t inode;
  char path[kMaxPath];
};

struct FileHelper::Reply {
  uint64_t device;
  uint64_t inode;
  uint64_t size;
  int64_t mtime_ns;
  int64_t go_offset;
  uint64_t go_offset_at;
  uint32_t image_size;
  bool is_at_path;
  bool has_image;
  bool has_go_program;
  bool has_go_offset_at;
  char problem[kMaxText];  // empty: it worked
  char go_version[kMaxVersion];
  char image[kMaxImage];  // encoded as in a recording
};

namespace {

Result<UniqueFd> copy_of(const OpenedFile& opened) {
  if (opened.size > kMaxCopy)
    return Error("too large to be copied");
  UniqueFd copy(memfd_create("copy", MFD_CLOEXEC));
  std::vector<std::byte> piece(1 << 20);
  for (uint64_t at = 0; copy && at < opened.size;) {
    // Read in pieces: the file's size is what it was when it was opened.
    size_t size = read_at(opened.file.get(), at, piece);
    // A file that has become shorter meanwhile is none that could be read.
    if (size == 0 || write(copy.get(), piece.data(), size) != static_cast<ssize_t>(size))
      return Error("cannot be copied");
    at += size;
  }
  if (!copy)
    return system_error("cannot be copied", errno);
  return copy;
}

}  // namespace

FileHelper::FileHelper() : process_(HelperKind::kFiles, kKernelPatience) {}

void FileHelper::stop() {
  process_.stop();
  asked_.clear();
}

void FileHelper::serve(int channel) {
  // The replies are large for a stack, and the process has one thread.
  static Request request;
  static Reply reply;
  // The parser reads what strangers wrote, so it has fewer rights than this process, which
  // starts it before it is confined itself.
  UniqueFd parser = start_parser();
  enter(ProcessKind::kFinder);
  if (!HelperProcess::tell_ready(channel))
    return;
  UniqueFd given;
  while (receive_message(channel, request, offsetof(Request, path), given)) {
    memset(&reply, 0, sizeof(reply));
    UniqueFd found = request.look == Look::kPerfMap ? look_at_perf_map(given)
                                                    : answer(request, parser, reply);
    given = UniqueFd();
    // Only the used part of `image` is sent: it is the last member for that.
    if (!send_message(channel, reply, offsetof(Reply, image) + reply.image_size, found.get()))
      return;
  }
}

// None if there can be no such process: then nothing is known of files that are not local.
UniqueFd FileHelper::start_parser() {
  UniqueFd ours;
  int pid = start_child(ours, {}, [](int channel) {
    enter(ProcessKind::kParser);
    parse(channel);
  });
  return pid > 0 ? std::move(ours) : UniqueFd();
}

// Runs in the parser. A question is one byte with a file, its answer a Reply that describes it.
// All of that is zero where the file cannot be described, and the recorder does without it.
void FileHelper::parse(int channel) {
  static Reply reply;
  char signal = 0;
  UniqueFd file;
  while (receive_message(channel, signal, sizeof(signal), file)) {
    memset(&reply, 0, sizeof(reply));
    struct stat status {};
    if (fstat(file.get(), &status) == 0)
      describe(read_contents(file, status), reply);
    // The file is closed before the answer, as closing may wait for its file system.
    file = UniqueFd();
    if (!send_message(channel, reply, offsetof(Reply, image) + reply.image_size, -1))
      return;
  }
}

void FileHelper::describe(const FileContents& contents, Reply& reply) {
  // The answer crosses a boundary of trust, so the reader decodes it as it would a recording.
  std::string image = raw::encode(contents.image);
  if (image.size() > sizeof(reply.image)) {
    put(reply.problem, "its headers are too large");
    return;
  }
  memcpy(reply.image, image.data(), image.size());
  reply.image_size = static_cast<uint32_t>(image.size());
  reply.has_image = true;
  if (const auto& program = contents.go_program) {
    reply.has_go_program = true;
    put(reply.go_version, program->version);
    reply.go_offset = program->offset;
    reply.has_go_offset_at = program->offset_at.has_value();
    reply.go_offset_at = program->offset_at.value_or(0);
  }
}

UniqueFd FileHelper::answer(const Request& request, const UniqueFd& parser, Reply& reply) {
  // The request is of fixed size and its path ends within it, whatever the asking process has
  // written there.
  RawMapping mapping = {.time = 0,
                        .pid = request.pid,
                        .start = request.start,
                        .length = request.length,
                        .file_offset = 0,
                        .file = {.device = request.device, .inode = request.inode},
                        .path = text_in(request.path)};
  // A path may be looked at for anybody, but a process only if may_help_with() it.
  if (request.look == Look::kFile)
    return look_for_file(mapping.path, mapping.file);
  if (!may_help_with(request.pid)) {
    put(reply.problem, "of another process");
    return {};
  }
  if (request.look == Look::kTmp)
    return look_for_tmp(request.pid);
  if (request.look == Look::kMountOwner)
    return look_for_mount_owner(request.pid);
  // Texts of /proc go back as a file in memory: a message has no room for thousands of
  // mappings.
  if (request.look == Look::kMaps || request.look == Look::kSmaps) {
    auto text =
        request.look == Look::kMaps ? look_at_maps(request.pid) : look_at_smaps(request.pid);
    if (!text)
      put(reply.problem, text.error().message());
    return text ? file_in_memory(std::as_bytes(std::span(*text))) : UniqueFd();
  }
  return request.look == Look::kToRead ? answer_to_read(mapping, reply)
                                       : answer_mapped(mapping, parser, reply);
}

UniqueFd FileHelper::answer_mapped(const RawMapping& mapping, const UniqueFd& parser,
                                   Reply& reply) {
  auto opened = look_at_mapped_file(mapping);
  if (!opened) {
    put(reply.problem, opened.error().message());
    return {};
  }
  // A file that is not local is described by the parser, and its descriptor is not handed over:
  // reading it could hang the recorder.
  if (!opened->is_local) {
    char signal = 0;
    UniqueFd none;
    if (!send_message(parser.get(), signal, sizeof(signal), opened->file.get()) ||
        !receive_message(parser.get(), reply, offsetof(Reply, image), none))
      _exit(1);  // the parser has ended: both are started again
    reply.image_size = std::min<uint32_t>(reply.image_size, sizeof(reply.image));
  }
  reply.device = opened->device;
  reply.inode = opened->inode;
  reply.size = opened->size;
  reply.mtime_ns = opened->mtime_ns;
  reply.is_at_path = opened->is_at_path;
  return opened->is_local ? std::move(opened->file) : UniqueFd();
}

UniqueFd FileHelper::answer_to_read(const RawMapping& mapping, Reply& reply) {
  // A file that is not local is copied here: a read from it may hang, and this process can be
  // killed then.
  auto opened = look_at_mapped_file(mapping);
  auto file = !opened             ? Result<UniqueFd>(std::move(opened).error())
              : !opened->is_local ? copy_of(*opened)
                                  : Result(std::move(opened->file));
  if (!file)
    put(reply.problem, file.error().message());
  return file ? *std::move(file) : UniqueFd();
}

void FileHelper::hurry(uint64_t nanoseconds) {
  process_.hurry(nanoseconds);
}

std::optional<Error> FileHelper::refusal(uint64_t device) const {
  // Refused before it is asked: a question about such a file could only hang again.
  // One hanging look puts its device aside; after kMaxHung all devices without a number of
  // their own are, as a user can mount any number of them.
  if (slow_.contains(device) || (is_unnamed(device) && hung_count_ >= kMaxHung))
    return Error("on a file system that takes too long to answer");
  if (process_.is_time_over())
    return Error("not read: the recording had ended");
  return std::nullopt;
}

void FileHelper::fill(Request& request, const RawMapping& mapping) {
  request.look = Look::kMapped;
  request.pid = mapping.pid;
  request.start = mapping.start;
  request.length = mapping.length;
  request.device = mapping.file.device;
  request.inode = mapping.file.inode;
  put(request.path, mapping.path);
}

bool FileHelper::send(const Request& request, int found) {
  size_t size = offsetof(Request, path) + strnlen(request.path, kMaxPath);
  return process_.start() && send_message(process_.channel(), request, size, found);
}

void FileHelper::ask_ahead(const RawMapping& mapping) {
  static Request request;
  // Requests that the socket has no room for would block the recorder, so their number is
  // bounded.
  if (asked_.size() >= kMaxAhead || refusal(mapping.file.device))
    return;
  fill(request, mapping);
  if (send(request))
    asked_.push_back(mapping);
  else
    stop();
}

// Takes and drops the answers to requests that were made ahead and are not wanted after all.
void FileHelper::forget_asked() {
  static Request request;
  static Reply reply;
  while (!asked_.empty()) {
    fill(request, asked_.front());
    asked_.pop_front();
    (void)take_reply(request, reply);
  }
}

Result<UniqueFd> FileHelper::ask(const Request& request, Reply& reply, int found) {
  if (auto refused = refusal(request.device))
    return *refused;
  // Answers come in the order of the requests, so those of requests made ahead are taken first.
  forget_asked();
  if (!send(request, found)) {
    stop();
    return Error("cannot be read: no helper process");
  }
  return take_reply(request, reply);
}

Result<UniqueFd> FileHelper::take_reply(const Request& request, Reply& reply) {
  UniqueFd found;
  if (process_.wait_for_answer()) {
    if (receive_message(process_.channel(), reply, offsetof(Reply, image), found)) {
      if (reply.problem[0] != '\0')
        return Error(printable(text_in(reply.problem)));
      return found;
    }
    stop();
    return Error("cannot be read: the helper process has ended");
  }
  // A helper that does not answer in time may hang in the kernel for good: it is killed, and
  // another is started for the next look.
  stop();
  hung_count_++;
  // Others are asked again: a disk is only busy, and a look at a process is at no device.
  if (is_unnamed(request.device))
    slow_.insert(request.device);
  return Error("on a file system that takes too long to answer");
}

Result<OpenedFile> FileHelper::open_mapped(const RawMapping& mapping) {
  static Request request;
  static Reply reply;
  fill(request, mapping);
  // Requests that were sent ahead are answered in their order; one that was not sent, or is not
  // the next, is asked now.
  bool is_asked = !asked_.empty() && asks_same(asked_.front(), mapping);
  if (is_asked)
    asked_.pop_front();
  auto file = is_asked ? take_reply(request, reply) : ask(request, reply);
  if (!file)
    return std::move(file).error();
  // A file that is not local comes as a copy of what was read of it: a page fault in a mapping
  // of it could wait for ever.
  OpenedFile opened = {.file = *std::move(file),
                       .is_local = !reply.has_image,
                       .device = reply.device,
                       .inode = reply.inode,
                       .size = reply.size,
                       .mtime_ns = reply.mtime_ns,
                       .is_at_path = reply.is_at_path,
                       .contents = {}};
  if (reply.has_image)
    if (auto read = read_contents_of(reply, opened); !read)
      return std::move(read).error();
  if (!opened.file && !opened.contents)
    return Error("cannot be read");
  return opened;
}

// The reply was made by the process that parses files of strangers, so it is checked as one of
// theirs.
Result<> FileHelper::read_contents_of(const Reply& reply, OpenedFile& opened) {
  auto image = raw::decode_image(
      std::as_bytes(std::span(reply.image, std::min<size_t>(reply.image_size, kMaxImage))));
  if (!image)
    return std::move(image).error();
  opened.contents = FileContents{*std::move(image), std::nullopt};
  if (!reply.has_go_program)
    return Ok{};
  std::string version = text_in(reply.go_version);
  opened.contents->go_program = {
      version, go::runtime_layout(version), reply.go_offset,
      reply.has_go_offset_at ? std::optional(reply.go_offset_at) : std::nullopt};
  return Ok{};
}

// Asks for a look whose whole answer is a descriptor.
Result<UniqueFd> FileHelper::ask_for(Look look, const RawMapping& of) {
  static Request request;
  static Reply reply;
  fill(request, of);
  request.look = look;
  return ask(request, reply);
}

Result<UniqueFd> FileHelper::open_to_read(const RawMapping& mapping) {
  auto file = ask_for(Look::kToRead, mapping);
  if (file && !*file)
    return Error("cannot be read");
  return file;
}

UniqueFd FileHelper::open_at(const std::string& path, const FileKey& key) {
  auto file = ask_for(Look::kFile, {.file = key, .path = path});
  return file ? *std::move(file) : UniqueFd();
}

UniqueFd FileHelper::open_tmp(uint32_t pid) {
  auto directory = ask_for(Look::kTmp, {.pid = pid});
  return directory ? *std::move(directory) : UniqueFd();
}

UniqueFd FileHelper::open_mount_owner(uint32_t pid) {
  auto space = ask_for(Look::kMountOwner, {.pid = pid});
  return space ? *std::move(space) : UniqueFd();
}

UniqueFd FileHelper::open_perf_map(const UniqueFd& found) {
  static Request request;
  static Reply reply;
  fill(request, {});
  request.look = Look::kPerfMap;
  auto file = ask(request, reply, found.get());
  return file ? *std::move(file) : UniqueFd();
}

Result<std::string> FileHelper::read_maps(uint32_t pid) {
  return read_text(Look::kMaps, pid);
}

Result<std::string> FileHelper::read_smaps(uint32_t pid) {
  return read_text(Look::kSmaps, pid);
}

Result<std::string> FileHelper::read_text(Look look, uint32_t pid) {
  auto file = ask_for(look, {.pid = pid});
  if (!file)
    return std::move(file).error();
  if (!*file)
    return std::string();
  return read_file(file->get(), proc::kMaxProcessText);
}

namespace {

// File systems whose data the kernel has in memory or reads from a disk: a read cannot hang.
constexpr long kLocal[] = {
    EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,  TMPFS_MAGIC,
    RAMFS_MAGIC,      HUGETLBFS_MAGIC, SQUASHFS_MAGIC,    ISOFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC,
    0xe0f5e1e2,   // EROFS
    0x2fc12fc1,   // ZFS
    0xca451a4e};  // bcachefs

bool is_in_our_user_namespace(uint32_t pid) {
  struct stat ours {};
  struct stat theirs {};
  return stat("/proc/self/ns/user", &ours) == 0 &&
         stat(fmt::format("/proc/{}/ns/user", pid).c_str(), &theirs) == 0 &&
         ours.st_ino == theirs.st_ino;
}

// True if a read cannot hang. `pid` is the process that sees the file; 0: it was found from
// here. A user with a user namespace of his own can mount an overlay over a file system that he
// serves himself.
bool is_local(const UniqueFd& file, uint32_t pid) {
  struct statfs status {};
  if (fstatfs(file.get(), &status) != 0)
    return false;
  if (status.f_type == OVERLAYFS_SUPER_MAGIC)
    return pid == 0 || is_in_our_user_namespace(pid);
  return std::ranges::find(kLocal, static_cast<long>(status.f_type)) != std::end(kLocal);
}

// Empty: paths are ours.
std::string host_root;

UniqueFd find_on_host(const std::string& path, const FileKey& key) {
  UniqueFd found = host_root.empty() ? UniqueFd() : find_file(path, host_root);
  return is_file(found, key) ? std::move(found) : find_file(path);
}

bool is_there(const std::string& path, const FileKey& key) {
  return is_file(find_on_host(path, key), key);
}

}  // namespace

void set_host_root(const std::string& root) {
  host_root = root;
}

std::string find_host_root() {
  constexpr const char* kRootOfFirst = "/proc/1/root";
  struct stat own {};
  struct stat first {};
  bool is_other = stat("/", &own) == 0 && stat("/proc/1/root/", &first) == 0 &&
                  (own.st_dev != first.st_dev || own.st_ino != first.st_ino);
  return is_other ? kRootOfFirst : "";
}

Result<OpenedFile> look_at_mapped_file(const RawMapping& mapping) {
  auto file = open_mapped_file(mapping);
  if (!file)
    return std::move(file).error();
  struct stat status {};
  if (fstat(file->get(), &status) != 0)
    return system_error("cannot be read", errno);
  // The rights of who opens it must not show what the user may not read.
  if (!may_be_code(*file))
    return Error("neither code, nor may others than its owner read it");
  OpenedFile opened = {.file = {},
                       .is_local = is_local(*file, mapping.pid),
                       .device = status.st_dev,
                       .inode = status.st_ino,
                       .size = static_cast<uint64_t>(status.st_size),
                       .mtime_ns = mtime_ns(status),
                       .is_at_path = false,
                       .contents = {}};
  opened.is_at_path = status.st_nlink > 0 && is_there(mapping.path, key_of(*file));
  opened.file = *std::move(file);
  return opened;
}

UniqueFd look_for_file(const std::string& path, const FileKey& key) {
  UniqueFd found = find_on_host(path, key);
  if (!is_file(found, key) || !is_local(found, 0))
    return {};
  auto file = open_found(found);
  return file && may_be_code(*file) ? *std::move(file) : UniqueFd();
}

bool is_named_as_perf_map(std::string_view path) {
  constexpr std::string_view kBegin = "perf-";
  constexpr std::string_view kEnd = ".map";
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd))
    return false;
  size_t size = name.size() - std::min(name.size(), kBegin.size() + kEnd.size());
  return size > 0 && parse_decimal(name.substr(kBegin.size(), size)).has_value();
}

UniqueFd look_at_perf_map(const UniqueFd& found) {
  struct stat status {};
  if (fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_local(found, 0) ||
      !is_named_as_perf_map(real_path(found, "")))
    return {};
  auto file = open_found(found);
  return file ? *std::move(file) : UniqueFd();
}

UniqueFd look_for_tmp(uint32_t pid) {
  UniqueFd found = find_below(find_root_of(pid), "/tmp");
  return found && is_local(found, pid) ? std::move(found) : UniqueFd();
}

UniqueFd look_for_mount_owner(uint32_t pid) {
  UniqueFd mounts(open(fmt::format("/proc/{}/ns/mnt", pid).c_str(), O_RDONLY | O_CLOEXEC));
  return UniqueFd(mounts ? ioctl(mounts.get(), NS_GET_USERNS) : -1);
}

Result<std::string> look_at_maps(uint32_t pid) {
  return proc::maps_text_of(pid);
}

Result<std::string> look_at_smaps(uint32_t pid) {
  return proc::smaps_text_of(pid);
}

UniqueFd find_root_of(uint32_t pid) {
  return UniqueFd(
      open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd find_in(const UniqueFd& directory, const std::string& name) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  // Neither links nor mounts lead out of the directory.
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV;
  return UniqueFd(
      static_cast<int>(syscall(SYS_openat2, directory.get(), name.c_str(), &how, sizeof(how))));
}

Result<UniqueFd> open_found(const UniqueFd& found) {
  auto file = reopen(found);
  if (!file)
    return std::move(file).error().context("cannot be opened");
  return file;
}

namespace {

bool is_regular(const UniqueFd& found) {
  struct stat status {};
  return found && fstat(found.get(), &status) == 0 && S_ISREG(status.st_mode);
}

// For the kernel it is a file, and may hold a copy of the code that is looked for.
bool is_huge_memory(const UniqueFd& found) {
  struct statfs status {};
  return fstatfs(found.get(), &status) == 0 && status.f_type == HUGETLBFS_MAGIC;
}

}  // namespace

bool is_file(const UniqueFd& found, const FileKey& key) {
  FileKey known = key_of(found);
  return is_regular(found) && known.device == key.device && known.inode == key.inode;
}

FileKey key_of(const UniqueFd& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0)
    return {};
  return {.device = status.st_dev, .inode = status.st_ino};
}

bool strip_deleted(std::string& path) {
  constexpr std::string_view kMark = " (deleted)";
  if (!path.ends_with(kMark))
    return false;
  path.resize(path.size() - kMark.size());
  return true;
}

Result<UniqueFd> open_mapped_file(const RawMapping& mapping) {
  UniqueFd found = find_file(fmt::format("/proc/{}/map_files/{:x}-{:x}", mapping.pid,
                                         mapping.start, mapping.start + mapping.length));
  // map_files leads to the file itself, deleted or not, in whatever mount namespace; it takes
  // CAP_CHECKPOINT_RESTORE.
  if (is_regular(found) && !is_huge_memory(found))
    return open_found(found);
  // Without that right /proc/PID/exe does the same for the program's own file.
  found = find_file(fmt::format("/proc/{}/exe", mapping.pid));
  if (is_file(found, mapping.file))
    return open_found(found);

  // A path may lead to another file by now: what is found counts if device and inode are those
  // of the mapping. The process's own root comes first, as it may be in a container.
  std::string path = mapping.path;
  if (UniqueFd root = find_root_of(mapping.pid))
    found = find_below(root, path);
  if (!is_file(found, mapping.file))
    found = find_file(path);
  int cause = errno;
  if (!is_file(found, mapping.file) && strip_deleted(path))
    return Error("deleted, and gosym cannot open it");
  if (!found)
    return system_error("cannot be found", cause);
  if (!is_file(found, mapping.file))
    return Error("another file has its path now");
  return open_found(found);
}

}  // namespace gosym
