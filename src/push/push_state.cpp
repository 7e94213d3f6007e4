#include "push/push_state.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/mapped_file.h"
#include "base/sequence_pool.h"
#include "base/text.h"
#include "output/output_file.h"

namespace gosym {

namespace {

constexpr size_t kMaxState = 4096;  // bytes: a name has 255 at most

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

Result<PushState> PushState::open(std::string path) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  PushState state(std::move(path));
  struct stat status {};
  // Nothing was sent yet. Another error is reported by read_file().
  if (stat(state.path_.c_str(), &status) != 0 && errno == ENOENT)
    return state;
  auto text = read_file(state.path_, kMaxState);
  if (!text)
    return std::move(text).error().context(fmt::format("'{}'", printable(state.path_)));
  std::string_view rest = *text;
  state.last_ = parse_recording_name(take_line(rest));
  if (!state.last_)
    return errorf("'{}' has no name of a recording", printable(state.path_))
        .with_hint(
            "it is no state of gosym push: name another file, or remove it to send all again");
  return state;
}

Result<> PushState::set_done(const std::string& name) {
  // Replaced as a whole, so that a crash leaves the former state: a recording may then be sent
  // twice, and none is left out.
  auto file = OutputFile::open(path_, Readers::kOwner);
  if (!file)
    return std::move(file).error();
  file->write(name + '\n');
  if (auto finished = file->finish(); !finished)
    return finished;
  last_ = parse_recording_name(name);
  return Ok{};
}

}  // namespace gosym
