#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/file_tree.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "record/files/image_catalog.h"
#include "record/helper_process.h"
#include "record/sideband_record.h"

// Looks at files and processes of strangers that may take for ever: a file system in user space
// answers when its server likes to, and a process that waits for one holds its map of memory.
// FileHelper does them in a process that may be left behind.

namespace gosym {

// A file that was found.
struct OpenedFile {
  // For reading. From a helper, none where it is not local; then `contents` is what was read of
  // it.
  UniqueFd file;
  bool is_local = true;  // else it could hold up whoever reads, maps or even closes it
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool is_at_path = false;  // its path leads to it here, and it is not deleted
  std::optional<FileContents> contents;
};

// Sets where files of the host lie for one who runs in a container, or with another root:
// a path that leads there to a file will lead the host's reports to it. To be called before
// helpers are started.
void set_host_root(const std::string& root);
// "/proc/1/root", if that is another root than ours and we may look there; else empty.
std::string find_host_root();

// Opens a file as open_mapped_file() does. Fails for a file without code that only its owner
// may read.
Result<OpenedFile> look_at_mapped_file(const RawMapping& mapping);

// The regular file at a path; none if it is another one than this or could hold us up.
UniqueFd look_for_file(const std::string& path, const FileKey& key);

// A perf map that was found, open for reading. None if it is not named as one is, which nothing
// but a perf map of a process has a reason to be.
UniqueFd look_at_perf_map(const UniqueFd& found);
bool is_named_as_perf_map(std::string_view path);

// The directory /tmp as a process sees it, not opened for reading; likewise.
UniqueFd look_for_tmp(uint32_t pid);

// The user namespace that the process's mount namespace belongs to; none if that is not ours or
// one below it.
UniqueFd look_for_mount_owner(uint32_t pid);

// The text of /proc/PID/maps. Empty for a kernel thread and a process that is gone.
Result<std::string> look_at_maps(uint32_t pid);
// The text of /proc/PID/smaps, likewise.
Result<std::string> look_at_smaps(uint32_t pid);

// Takes the looks above in a process of its own (helper_process.h), one after the
// other. What takes longer than it may is an answer as well, an error or none.
//
// A file system that once took too long is not looked at again, and after a few nothing is that
// no disk holds.
//
// The process parses none of them: where a file cannot be handed over, it has another one for
// that, without rights. The messages have a fixed size, and each side checks what comes as what
// comes from outside.
class FileHelper {
public:
  FileHelper();
  FileHelper(const FileHelper&) = delete;
  FileHelper& operator=(const FileHelper&) = delete;

  // Announces a call of open_mapped(), in this order: the answers to all of them are then
  // waited for once. Only the first few are asked for.
  void ask_ahead(const RawMapping& mapping);

  // See the functions above for all of these.
  Result<OpenedFile> open_mapped(const RawMapping& mapping);
  // Always a file to be read, if there is one: a copy of it, in memory, where it is not local.
  Result<UniqueFd> open_to_read(const RawMapping& mapping);
  UniqueFd open_at(const std::string& path, const FileKey& key);
  UniqueFd open_tmp(uint32_t pid);
  UniqueFd open_mount_owner(uint32_t pid);
  UniqueFd open_perf_map(const UniqueFd& found);
  Result<std::string> read_maps(uint32_t pid);
  Result<std::string> read_smaps(uint32_t pid);

  // The recording ends: all looks from now on have so long together.
  void hurry(uint64_t nanoseconds);

  uint64_t hung_count() const { return hung_count_; }

  // Runs in the helper, until the channel has no other end any more.
  static void serve(int channel);

private:
  enum class Look : uint32_t;
  struct Request;
  struct Reply;

  bool send(const Request& request, int found = -1);
  void stop();
  Result<UniqueFd> ask(const Request& request, Reply& reply, int found = -1);
  Result<UniqueFd> ask_for(Look look, const RawMapping& of);
  Result<std::string> read_text(Look look, uint32_t pid);
  Result<UniqueFd> take_reply(const Request& request, Reply& reply);
  std::optional<Error> refusal(uint64_t device) const;
  void forget_asked();
  static void fill(Request& request, const RawMapping& mapping);
  static void parse(int channel);
  static UniqueFd start_parser();
  static UniqueFd answer(const Request& request, const UniqueFd& parser, Reply& reply);
  static UniqueFd answer_mapped(const RawMapping& mapping, const UniqueFd& parser,
                                Reply& reply);
  static UniqueFd answer_to_read(const RawMapping& mapping, Reply& reply);
  static void describe(const FileContents& contents, Reply& reply);
  static Result<> read_contents_of(const Reply& reply, OpenedFile& opened);

  HelperProcess process_;
  std::deque<RawMapping> asked_;  // ahead; their replies come first
  std::set<uint64_t> slow_;       // devices
  uint64_t hung_count_ = 0;
};

// Files that other processes see, found without being opened as file_tree.h does it. Where
// nothing is found, errno says why.

UniqueFd find_root_of(uint32_t pid);

// Finds a name in a directory, as a descriptor of O_PATH. A symbolic link is found itself and
// not followed.
UniqueFd find_in(const UniqueFd& directory, const std::string& name);

// For reading.
Result<UniqueFd> open_found(const UniqueFd& found);

// Opens the file behind a mapping of a process for reading. Ways to it, best first:
//
//   /proc/PID/map_files/START-END  also deleted and replaced files, and those of containers
//   /proc/PID/exe                  also a deleted one
//   /proc/PID/root and the path    as the process sees the path
//   the path itself                when the process is gone
//
// The first leads to the very file; what the others lead to is taken only if it has the device
// and inode of the mapping. Nothing but a regular file is ever opened: a device could act on
// it.
Result<UniqueFd> open_mapped_file(const RawMapping& mapping);

// True if the file that was found is a regular one, with this device and inode.
bool is_file(const UniqueFd& found, const FileKey& key);
FileKey key_of(const UniqueFd& file);

// Cuts " (deleted)" off, with which the kernel marks paths that do not lead to the file.
bool strip_deleted(std::string& path);

}  // namespace gosym
