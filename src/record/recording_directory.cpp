#include "record/recording_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <tuple>

#include "base/clock.h"
#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/users.h"
#include "raw/messages.h"

// Three parts: names of recordings and how long they are kept; the directory itself, which has
// to be ours alone and has one recorder at a time; and what the recorder makes, names and
// removes in it. All paths of the third part are relative to a descriptor that was opened
// once, so that nobody can put another directory in its place. Nothing is removed that is not
// named as this program names it and owned by its user.

namespace gosym {

namespace {

constexpr const char* kLockName = "recorder.lock";
constexpr const char* kIdFolder = "files/.build-id";
constexpr std::string_view kFlightWord = "last\n";
constexpr std::string_view kRotatingWord = "rotate\n";
constexpr std::string_view kEndOfRecording = ".raw";
constexpr std::string_view kDraftEnding = ".tmp";
constexpr std::string_view kTimePattern = "00000000T000000Z";
constexpr const char* kReaders = "gosym";  // a group

constexpr mode_t kOfOwner = 0700;
constexpr mode_t kOfGroup = 0750;
constexpr mode_t kAllRights = 0777;

int64_t boottime_ns() {
  return static_cast<int64_t>(clock_ns(CLOCK_BOOTTIME));
}

int64_t realtime_ns() {
  return static_cast<int64_t>(clock_ns(CLOCK_REALTIME));
}

// A day that its month does not have is not refused, and is one of the next month: names are
// made by us, and have none.
std::optional<int64_t> parse_utc(std::string_view text) {
  if (text.size() != kTimePattern.size())
    return {};
  // The pattern has digits where it has 0, and itself elsewhere.
  for (size_t i = 0; i < text.size(); i++) {
    bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (kTimePattern[i] == '0' ? !is_digit : text[i] != kTimePattern[i])
      return {};
  }
  auto number = [&](size_t at, size_t size) {
    return static_cast<int>(*parse_decimal(text.substr(at, size)));
  };
  std::tm time{};
  time.tm_year = number(0, 4) - 1900;
  time.tm_mon = number(4, 2) - 1;
  time.tm_mday = number(6, 2);
  time.tm_hour = number(9, 2);
  time.tm_min = number(11, 2);
  time.tm_sec = number(13, 2);
  return timegm(&time);
}

// "24h" as --duration has it, and days.
std::optional<uint64_t> parse_age(std::string_view text) {
  constexpr uint64_t kDay = uint64_t{86'400} * 1'000'000'000;
  if (text.ends_with('d')) {
    // Ten years, which keeps the product within 64 bits.
    auto days = parse_decimal(text.substr(0, text.size() - 1));
    return days && *days <= 3660 ? std::optional(*days * kDay) : std::nullopt;
  }
  bool has_unit = text.ends_with('h') || text.ends_with('m') || text.ends_with('s');
  return has_unit ? parse_duration(text) : std::nullopt;
}

Error not_ours(const std::string& path, std::string_view why) {
  return errorf("'{}': {}", printable(path), why)
      .with_hint(
          fmt::format("recordings tell of all users: chmod 700 {}, or name a new directory",
                      shell_quoted(path)));
}

// Another's directory is his to rename and replace things in, and one that others may write to
// is everybody's.
Result<> check_directory_of_ours(const std::string& path, const UniqueFd& fd) {
  struct stat status {};
  if (fstat(fd.get(), &status) != 0)
    return system_error(fmt::format("'{}'", printable(path)), errno);
  if (status.st_uid != geteuid())
    return errorf("'{}' belongs to another user ({})", printable(path), status.st_uid)
        .with_hint("name a new directory");
  // Rights of the owner alone are enough; of the group only for the one group of readers.
  mode_t mode = status.st_mode & kAllRights;
  if ((mode & ~kOfOwner) == 0)
    return Ok{};
  auto readers = proc::group_named(kReaders);
  if ((mode & ~kOfGroup) == 0 && readers && status.st_gid == *readers)
    return Ok{};
  return not_ours(path, fmt::format("others than its owner may use it (mode {:o})", mode));
}

// The group reads what is in it if it is there: new files get the group of the directory.
void let_group_read(const UniqueFd& fd) {
  constexpr mode_t kKeepsGroup = 02000;
  auto readers = proc::group_named(kReaders);
  // The set-group-ID bit of a directory gives new files its group.
  if (readers && fchown(fd.get(), static_cast<uid_t>(-1), *readers) == 0)
    fchmod(fd.get(), kOfGroup | kKeepsGroup);
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

std::optional<Retention> parse_retention(std::string_view text) {
  Retention keep;
  for (std::string_view part : split(text, ',')) {
    auto age = parse_age(part);
    // An age comes first, should a text read as either.
    auto size = age ? std::nullopt : parse_size(part);
    uint64_t& limit = age ? keep.age_ns : keep.size;
    uint64_t value = age.value_or(size.value_or(0));
    if (value == 0 || limit != 0)
      return {};
    limit = value;
  }
  return keep;
}

std::optional<NameOfRecording> parse_recording_name(std::string_view name) {
  if (!name.ends_with(kEndOfRecording))
    return {};
  name.remove_suffix(kEndOfRecording.size());
  NameOfRecording parsed;
  // A host's name may have dots, but ends before the time.
  size_t dash = name.rfind('-');
  if (dash == name.npos || dash == 0 || name.starts_with('.'))
    return {};
  std::string_view time = name.substr(dash + 1);
  // The second recording of a second, and those after it, have their number behind the time.
  if (size_t dot = time.find('.'); dot != time.npos) {
    auto number = parse_decimal(time.substr(dot + 1));
    if (!number || *number < 2)
      return {};
    parsed.number = *number;
    time = time.substr(0, dot);
  }
  auto begin = parse_utc(time);
  if (!begin)
    return {};
  parsed.time = *begin;
  return parsed;
}

Result<std::vector<ListedRecording>> list_recordings(const std::string& directory) {
  std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
  if (!open)
    return system_error(fmt::format("'{}'", printable(directory)), errno);
  std::vector<ListedRecording> found;
  // A link is passed over, as it may lead to anything.
  while (const dirent* entry = readdir(open.get()))
    if (auto begin = parse_recording_name(entry->d_name)) {
      struct stat status {};
      if (fstatat(dirfd(open.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(status.st_mode))
        found.push_back({*begin, entry->d_name});
    }
  std::ranges::sort(found, {}, [](const ListedRecording& recording) {
    return std::tie(recording.begin, recording.name);
  });
  return found;
}

std::string make_recording_name(std::string_view host, const NameOfRecording& name) {
  return fmt::format("{}-{:%Y%m%dT%H%M%SZ}{}{}", host,
                     fmt::gmtime(static_cast<std::time_t>(name.time)),
                     name.number > 1 ? fmt::format(".{}", name.number) : "", kEndOfRecording);
}

std::string host_in_file_name() {
  utsname system{};
  uname(&system);
  std::string name = system.nodename;
  // Characters that end a name or mean something in a shell do not get into it.
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-')
      c = '_';
  return name;
}

Result<RecordingDirectory> RecordingDirectory::open(const std::string& path) {
  // The directory may be there already, and is checked as any other then.
  bool is_new = mkdir(path.c_str(), kOfOwner) == 0;
  if (!is_new && errno != EEXIST)
    return system_error(fmt::format("cannot make '{}'", printable(path)), errno);
  // A link could lead to a directory of ours that is for something else.
  std::string name = path;
  while (name.size() > 1 && name.ends_with('/'))
    name.pop_back();
  UniqueFd fd(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    Error error = system_error(fmt::format("'{}'", printable(path)), errno);
    if (errno == ENOTDIR || errno == ELOOP)
      return std::move(error).with_hint(
          "--rotate writes into a directory: name one, and not a link to it");
    return error;
  }
  if (is_new)
    let_group_read(fd);
  if (auto checked = check_directory_of_ours(path, fd); !checked)
    return std::move(checked).error();
  return RecordingDirectory(name, std::move(fd));
}

Result<> RecordingDirectory::lock(RecorderKind kind) {
  constexpr mode_t kPrivate = 0600;  // who can open it can keep others out
  lock_ = UniqueFd(openat(fd_.get(), kLockName,
                          O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kPrivate));
  struct stat status {};
  if (!lock_ || fstat(lock_.get(), &status) != 0)
    return system_error(fmt::format("'{}/{}'", printable(path_), kLockName), errno);
  if (!S_ISREG(status.st_mode))
    return errorf("'{}/{}' is not a regular file", printable(path_), kLockName);
  // A record lock belongs to this process and ends with it, however it ends; it also tells
  // others the number of the process.
  struct flock wanted = whole_file();
  if (fcntl(lock_.get(), F_SETLK, &wanted) == 0) {
    // For whoever asks it for something.
    std::string_view word = kind == RecorderKind::kFlight ? kFlightWord : kRotatingWord;
    bool is_told =
        ftruncate(lock_.get(), 0) == 0 &&
        pwrite(lock_.get(), word.data(), word.size(), 0) == static_cast<ssize_t>(word.size());
    return is_told ? Result<>(Ok{})
                   : system_error(fmt::format("'{}/{}'", printable(path_), kLockName), errno);
  }
  // Only these two mean that somebody else has it.
  if (errno != EAGAIN && errno != EACCES)
    return system_error(fmt::format("cannot lock '{}'", printable(path_)), errno);
  struct flock other = whole_file();
  bool is_known = fcntl(lock_.get(), F_GETLK, &other) == 0 && other.l_pid > 0;
  return errorf("cannot record into '{}': {} does so already", printable(path_),
                is_known ? fmt::format("process {}", other.l_pid) : "another process");
}

Result<std::optional<RecorderOfDirectory>> recorder_of(const std::string& directory) {
  std::string path = fmt::format("{}/{}", directory, kLockName);
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // A directory that no recorder has had has no lock.
  if (!file && errno == ENOENT && access(directory.c_str(), F_OK) == 0)
    return std::optional<RecorderOfDirectory>();
  if (!file)
    return system_error(fmt::format("'{}'", printable(path)), errno);
  struct flock lock = whole_file();
  if (fcntl(file.get(), F_GETLK, &lock) != 0)
    return system_error(fmt::format("'{}'", printable(path)), errno);
  // Nobody holds a lock that would conflict: no recorder runs.
  if (lock.l_type == F_UNLCK)
    return std::optional<RecorderOfDirectory>();
  std::string word(kFlightWord.size(), '\0');
  word.resize(read_at(file.get(), 0, std::as_writable_bytes(std::span(word))));
  return std::optional(RecorderOfDirectory{
      std::max<pid_t>(lock.l_pid, 0),
      word == kFlightWord ? RecorderKind::kFlight : RecorderKind::kRotating});
}

namespace {

// Blocks of 512 bytes, whatever those of the file system are.
uint64_t size_on_disk(const struct stat& status) {
  constexpr uint64_t kBlock = 512;
  return static_cast<uint64_t>(status.st_blocks) * kBlock;
}

// Calls `visit` with each name in a folder, and its status; links are not followed.
void visit_folder(int directory, const std::string& folder,
                  const std::function<void(const char*, const struct stat&)>& visit) {
  int fd = openat(directory, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> open(fd >= 0 ? fdopendir(fd) : nullptr, closedir);
  if (!open)
    return;
  while (const dirent* entry = readdir(open.get())) {
    struct stat status {};
    if (fstatat(dirfd(open.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      visit(entry->d_name, status);
  }
}

bool is_own_file(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

// The lock of a recording is held shared for the look and dropped with the descriptor. One
// that is being written refuses.
bool is_recording_at_rest(int directory, const std::string& name) {
  UniqueFd file(
      openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::string begin(raw::kMagic.size(), '\0');
  return file && flock(file.get(), LOCK_SH | LOCK_NB) == 0 &&
         read_at(file.get(), 0, std::as_writable_bytes(std::span(begin))) == begin.size() &&
         begin == raw::kMagic;
}

bool is_folder_of_ids(std::string_view name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// No two files of a store have one build id, so nobody but us has made it.
std::string stored_path(std::string_view id) {
  std::string digits = hex(id);
  return fmt::format("{}/{}/{}", kIdFolder, digits.substr(0, 2), digits.substr(2));
}

constexpr mode_t kReadByGroup = 0640;

}  // namespace

DirectoryContents::DirectoryContents(int directory, Retention keep, std::string host)
    : directory_(directory), keep_(keep), host_(std::move(host)) {
  remove_drafts();
}

DirectoryContents::Draft DirectoryContents::begin_recording(uint64_t seconds_ago) {
  // A draft of an earlier recording that was not published is of no use any more.
  drop_draft();
  // A recorder that asks may have been taken over: a year is more than there is memory for.
  constexpr uint64_t kYear = 366 * 86'400;
  // The time is that of the beginning, which for the last minutes of a flight recorder lies
  // before this.
  auto ago = static_cast<int64_t>(std::min(seconds_ago, kYear));
  name_ = make_recording_name(host_, {.time = std::time(nullptr) - ago, .number = 1});
  draft_ = fmt::format(".{}{}", name_, kDraftEnding);
  UniqueFd file(openat(directory_, draft_.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kReadByGroup));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) {
    draft_.clear();
    return {};
  }
  // Files are known by inode later, whose age is counted from when they were published.
  draft_inode_ = status.st_ino;
  flock(file.get(), LOCK_EX | LOCK_NB);  // some file systems have no locks
  return {std::move(file), name_};
}

std::string DirectoryContents::publish() {
  constexpr uint64_t kMaxNumber = 10'000;
  auto parsed = parse_recording_name(name_);
  if (draft_.empty() || !parsed) {
    errno = EINVAL;
    return {};
  }
  // A clock that was set back gives the names of that time again.
  for (; parsed->number < kMaxNumber; parsed->number++) {
    std::string name = make_recording_name(host_, *parsed);
    if (rename_to_nothing(directory_, draft_, name)) {
      draft_.clear();
      births_[draft_inode_] = boottime_ns();
      return name;
    }
    if (errno != EEXIST)
      return {};
  }
  return {};
}

void DirectoryContents::drop_draft() {
  if (!draft_.empty())
    unlinkat(directory_, draft_.c_str(), 0);
  draft_.clear();
}

// The time of change of a file in the store is when a recording that needs it began last. A
// clock that is set back does not change what was noted.
bool DirectoryContents::find_stored(std::string_view id) const {
  std::string path = stored_path(id);
  struct stat status {};
  if (fstatat(directory_, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !is_own_file(status))
    return false;
  // A time of change that lies ahead is left alone: it keeps the file for longer, not for
  // shorter.
  if (mtime_ns(status) < realtime_ns())
    utimensat(directory_, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  return true;
}

UniqueFd DirectoryContents::begin_stored(std::string_view id) {
  drop_stored();
  stored_ = stored_path(id);
  std::string folder = stored_.substr(0, stored_.rfind('/'));
  for (const std::string& made :
       {std::string(kFilesOfDirectory), std::string(kIdFolder), folder})
    if (mkdirat(directory_, made.c_str(), kOfGroup) != 0 && errno != EEXIST)
      return {};
  stored_draft_ =
      fmt::format("{}/.{}{}", folder, stored_.substr(folder.size() + 1), kDraftEnding);
  // A draft of the same id is one of a recorder that was killed.
  unlinkat(directory_, stored_draft_.c_str(), 0);
  UniqueFd file(openat(directory_, stored_draft_.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kReadByGroup));
  if (!file)
    stored_draft_.clear();
  return file;
}

bool DirectoryContents::finish_stored() {
  bool is_done = !stored_draft_.empty() &&
                 renameat(directory_, stored_draft_.c_str(), directory_, stored_.c_str()) == 0;
  if (!is_done)
    drop_stored();
  stored_draft_.clear();
  return is_done;
}

void DirectoryContents::drop_stored() {
  if (!stored_draft_.empty())
    unlinkat(directory_, stored_draft_.c_str(), 0);
  stored_draft_.clear();
}

// Removes the files that a recorder has left that was killed.
void DirectoryContents::remove_drafts() const {
  auto is_draft = [](std::string_view name) {
    return name.starts_with('.') && name.ends_with(kDraftEnding);
  };
  visit_folder(directory_, ".", [&](const char* name, const struct stat& status) {
    std::string_view inner = name;
    if (!is_draft(inner) || !is_own_file(status))
      return;
    // The name of a recording is within the draft's: ".NAME.tmp".
    inner = inner.substr(1, inner.size() - 1 - kDraftEnding.size());
    if (parse_recording_name(inner))
      unlinkat(directory_, name, 0);
  });
  visit_folder(directory_, kIdFolder, [&](const char* folder, const struct stat& of_folder) {
    std::string path = fmt::format("{}/{}", kIdFolder, folder);
    if (is_folder_of_ids(folder) && S_ISDIR(of_folder.st_mode))
      visit_folder(directory_, path, [&](const char* name, const struct stat& status) {
        if (is_draft(name) && is_own_file(status))
          unlinkat(directory_, fmt::format("{}/{}", path, name).c_str(), 0);
      });
  });
}

// By the clock that counts also while the machine sleeps, and that nobody sets.
int64_t DirectoryContents::birth_of(uint64_t inode, int64_t changed_ns) {
  if (auto known = births_.find(inode); known != births_.end())
    return known->second;
  int64_t age = std::max<int64_t>(realtime_ns() - changed_ns, 0);
  return births_[inode] = boottime_ns() - age;
}

// The oldest first.
std::vector<DirectoryContents::Found> DirectoryContents::recordings() {
  std::vector<Found> found;
  visit_folder(directory_, ".", [&](const char* name, const struct stat& status) {
    auto begin = parse_recording_name(name);
    if (begin && is_own_file(status))
      found.push_back({.name = name,
                       .begin = *begin,
                       .size = size_on_disk(status),
                       .inode = status.st_ino,
                       .born_ns = birth_of(status.st_ino, mtime_ns(status))});
  });
  std::ranges::sort(
      found, {}, [](const Found& one) { return std::tuple(one.born_ns, one.begin, one.name); });
  // Entries of files that are gone are forgotten: inodes are used again.
  std::erase_if(births_, [&](const auto& known) {
    return std::ranges::find(found, known.first, &Found::inode) == found.end();
  });
  return found;
}

// All files/.build-id/xx/yyyy; those whose names begin with a dot are drafts.
std::vector<DirectoryContents::Stored> DirectoryContents::stored_files() const {
  std::vector<Stored> found;
  visit_folder(directory_, kIdFolder, [&](const char* folder, const struct stat& of_folder) {
    std::string path = fmt::format("{}/{}", kIdFolder, folder);
    if (is_folder_of_ids(folder) && S_ISDIR(of_folder.st_mode))
      visit_folder(directory_, path, [&](const char* name, const struct stat& status) {
        if (name[0] != '.' && is_own_file(status))
          found.push_back(
              {fmt::format("{}/{}", path, name), size_on_disk(status), mtime_ns(status)});
      });
  });
  return found;
}

bool DirectoryContents::remove(const Found& recording) const {
  // A recording that is being written stays.
  return is_recording_at_rest(directory_, recording.name) &&
         unlinkat(directory_, recording.name.c_str(), 0) == 0;
}

// A file is needed by recordings that began before it was used last. Gives the bytes of those
// that are left.
uint64_t DirectoryContents::remove_unneeded(const std::vector<Found>& recordings) const {
  constexpr int64_t kOneSecond = 1'000'000'000;
  constexpr int64_t kDay = 86'400 * kOneSecond;
  int64_t now = realtime_ns();
  // Recordings that are left need files that were used at or after the beginning of the
  // oldest.
  int64_t oldest = now;
  for (const Found& one : recordings)
    oldest = std::min(oldest, one.begin.time * kOneSecond);
  uint64_t left = 0;
  for (const Stored& file : stored_files()) {
    if (file.used_ns < oldest && unlinkat(directory_, file.path.c_str(), 0) == 0)
      continue;
    left += file.size;
    // A clock that went wrong would keep it for ever.
    if (file.used_ns > now + kDay)
      utimensat(directory_, file.path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  return left;
}

void DirectoryContents::remove_old() {
  std::vector<Found> found = recordings();
  int64_t now = boottime_ns();
  size_t before = found.size();
  if (keep_.age_ns != 0)
    std::erase_if(found, [&](const Found& one) {
      return now - one.born_ns > static_cast<int64_t>(keep_.age_ns) && remove(one);
    });
  // Files can only have become unneeded where a recording went, or where their size counts.
  uint64_t stored = 0;
  if (found.size() < before || keep_.size != 0)
    stored = remove_unneeded(found);
  if (keep_.size == 0)
    return;
  uint64_t size = 0;
  for (const Found& one : found)
    size += one.size;
  // The newest is the one that is being written, or was.
  for (size_t next = 0; next + 1 < found.size() && size + stored > keep_.size;) {
    if (!remove(found[next])) {
      next++;
      continue;
    }
    size -= found[next].size;
    found.erase(found.begin() + static_cast<ptrdiff_t>(next));
    // Files that only the removed one needed make room as well, and may be enough.
    stored = remove_unneeded(found);
  }
}

bool DirectoryContents::make_room(uint64_t size) {
  if (!keep_.has_limit())
    return false;
  uint64_t freed = 0;
  std::vector<Found> left;
  std::vector<Found> all = recordings();
  // The last is never removed: a recording that was just made would be gone at once. What cannot
  // be removed still needs its stored files.
  for (size_t i = 0; i < all.size(); i++)
    if (i + 1 < all.size() && freed < size && remove(all[i]))
      freed += all[i].size;
    else
      left.push_back(std::move(all[i]));
  remove_unneeded(left);
  return freed > 0;
}

bool is_recording_at_rest(const std::string& directory, const std::string& name) {
  UniqueFd open(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return open && is_recording_at_rest(open.get(), name);
}

}  // namespace gosym
