#include "push/push_state.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/mapped_file.h"
#include "base/sequence_pool.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "record/recording_directory.h"

namespace gosym {

namespace {

constexpr size_t kMaxState = 64 << 20;  // bytes: a year of a name a minute has 25 MB

std::string state_folder() {
  if (std::string given = environment("STATE_DIRECTORY"); !given.empty())
    return given.substr(0, given.find(':'));  // a service may have several
  if (std::string states = environment("XDG_STATE_HOME"); !states.empty())
    return states + "/gosym";
  std::string home = environment("HOME");
  return home.empty() ? std::string() : home + "/.local/state/gosym";
}

}  // namespace

std::string PushState::default_path(const std::string& directory, const std::string& url) {
  std::string folder = state_folder();
  if (folder.empty())
    return {};
  std::error_code failed;
  // The directory by its true path: another way to write it must not send all again.
  std::filesystem::path real = std::filesystem::canonical(directory, failed);
  std::string of = fmt::format("{}\n{}", failed ? directory : real.string(), url);
  // One file for each directory and server; a hash keeps its name short, whatever they are
  // called.
  return fmt::format("{}/push-{:016x}", folder, XXH3_64bits(of.data(), of.size()));
}

Result<PushState> PushState::open(const std::string& path) {
  std::error_code failed;
  // A folder that cannot be made is told by open(2), which fails then. O_NONBLOCK: a FIFO,
  // which is refused below, would hold us.
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  constexpr mode_t kPrivate = 0600;
  PushState state(
      path, UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC,
                            kPrivate)));
  struct stat status {};
  if (!state.file_ || fstat(state.file_.get(), &status) != 0)
    return state.error();
  if (!S_ISREG(status.st_mode))
    return errorf("'{}' is not a regular file", printable(path));
  // Another error says that the file system has no locks: then nobody can tell.
  if (flock(state.file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return errorf("'{}': another gosym push sends the same", printable(path));
  auto text = read_file(state.file_.get(), kMaxState);
  if (!text)
    return std::move(text).error().context(fmt::format("'{}'", printable(path)));
  // A name without an end was being written when its writer was killed: it is sent once more.
  std::string_view rest = *text;
  rest = rest.substr(0, rest.rfind('\n') + 1);
  while (!rest.empty()) {
    std::string name(take_line(rest));
    if (!parse_recording_name(name))
      return errorf("'{}' has no names of recordings", printable(path))
          .with_hint("it is no state of gosym push: name another file");
    state.done_.insert(std::move(name));
  }
  if (text->ends_with('\n') || text->empty())
    return state;
  // The part of a name would become part of the next.
  if (auto written = state.rewrite(); !written)
    return std::move(written).error();
  return state;
}

Error PushState::error() const {
  return system_error(fmt::format("'{}'", printable(path_)), errno);
}

Result<> PushState::set_done(const std::string& name) {
  if (write_all(file_.get(), name + '\n') && fdatasync(file_.get()) == 0) {
    done_.insert(name);
    return Ok{};
  }
  return error();
}

Result<> PushState::keep_only(const std::set<std::string>& names) {
  constexpr size_t kMany = 100;  // lines that nobody needs, which a file may well have
  if (done_.size() <= 2 * names.size() + kMany)
    return Ok{};
  std::erase_if(done_, [&](const std::string& name) { return !names.contains(name); });
  return rewrite();
}

// In place, for the lock is the file's: if this is cut short, some are sent again.
Result<> PushState::rewrite() {
  std::string text;
  for (const std::string& name : done_)
    text += name + '\n';
  return ftruncate(file_.get(), 0) == 0 && write_all(file_.get(), text) ? Result<>(Ok{})
                                                                        : error();
}

}  // namespace gosym
