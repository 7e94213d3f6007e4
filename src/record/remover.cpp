#include "record/remover.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "confine/channel.h"
#include "confine/child.h"
#include "confine/process_kind.h"

namespace gosym {

namespace {

struct RemovalAsked {
  uint8_t nothing = 0;
};
struct RemovalDone {
  raw::Withdrawn what;
};

void serve_removal(int channel, const raw::NewFile& file) {
  std::string directory = std::filesystem::path(file.path).parent_path();
  // Rights are given up to all but the directory of the file, which the process needs to
  // rename and unlink in.
  enter(ProcessKind::kRemover, {.written = {directory.empty() ? "." : directory}});
  RemovalAsked asked;
  UniqueFd none;
  // One question in all: without one, as when the recorder has died, nothing is removed.
  if (receive_message(channel, asked, sizeof(asked), none))
    send_message(channel, RemovalDone{raw::withdraw(file)}, sizeof(RemovalDone), -1);
}

}  // namespace

Result<> Remover::start(const std::string& path, const raw::OutputFile& output) {
  auto file = raw::new_file(path, output);
  if (!file)
    return Ok{};
  if (start_child(channel_, {}, [&](int channel) { serve_removal(channel, *file); }) < 0)
    return system_error("cannot start a process", errno);
  return Ok{};
}

raw::Withdrawn Remover::remove() const {
  RemovalDone done{};
  UniqueFd none;
  // No answer counts as not removed.
  bool is_told = channel_ &&
                 send_message(channel_.get(), RemovalAsked(), sizeof(RemovalAsked), -1) &&
                 receive_message(channel_.get(), done, sizeof(done), none);
  return is_told ? done.what : raw::Withdrawn::kNot;
}

}  // namespace gosym
