#include "record/storer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "confine/channel.h"
#include "confine/child.h"
#include "confine/process_kind.h"

// The recorder and this process exchange structs of fixed size over a socket, one request and
// one reply at a time; files that are opened come with the reply. Names are made here from a
// build id or a time, never taken from a request, so that a recorder that was taken over can
// fill the directory but neither read nor replace what lies elsewhere.

namespace gosym {

namespace {

// In bytes: SHA-256, the longest id that linkers make, has half as many. Of a longer one the
// rest is cut, in what is looked for as in what is made.
constexpr size_t kMaxId = 64;

}  // namespace

struct Storer::Request {
  Task task;
  uint32_t id_size = 0;
  char id[kMaxId] = {};
  uint64_t size = 0;  // bytes, or seconds
};

struct Storer::Reply {
  int32_t error = 0;  // an errno value
  uint32_t is_done = 0;
  char name[NAME_MAX + 1] = {};
};

Result<> Storer::start(const RecordingDirectory& directory, Retention keep) {
  int fd = directory.fd().get();
  std::string host = host_in_file_name();
  int started = start_child(channel_, {fd}, [&](int channel) {
    enter(ProcessKind::kStorer, {.written = {directory.path()}});
    serve(channel, fd, keep, host);
  });
  return started < 0 ? system_error("cannot start a process", errno) : Result<>(Ok{});
}

void Storer::serve(int channel, int directory, Retention keep, const std::string& host) {
  // New files are for the owner, and for the group to read, whatever umask the user has.
  constexpr mode_t kNotForOthers = 027;
  umask(kNotForOthers);
  DirectoryContents contents(directory, keep, host);
  Request request{};
  UniqueFd none;
  while (receive_message(channel, request, sizeof(request), none)) {
    none = UniqueFd();
    Reply reply;
    UniqueFd given = perform(request, contents, reply);
    if (!send_message(channel, reply, sizeof(reply), given.get()))
      return;
    // The recorder need not wait for it: to remove gigabytes takes a while.
    if (request.task == Task::kPublish && reply.is_done != 0)
      contents.remove_old();
  }
}

// Whoever asks may have been taken over.
UniqueFd Storer::perform(const Request& request, DirectoryContents& contents, Reply& reply) {
  std::string_view id(request.id, std::min<size_t>(request.id_size, kMaxId));
  // The first byte of an id names a folder, the rest the file in it.
  bool has_id = id.size() >= 2;
  UniqueFd given;
  // Requests that make no sense are answered with this.
  errno = EINVAL;
  switch (request.task) {
    case Task::kBegin:
      given = std::move(contents.begin_recording(request.size).file);
      reply.is_done = given ? 1 : 0;
      break;
    case Task::kPublish: {
      std::string name = contents.publish();
      size_t size = std::min<size_t>(name.size(), NAME_MAX);
      memcpy(reply.name, name.data(), size);
      reply.is_done = name.empty() ? 0 : 1;
      break;
    }
    case Task::kDrop:
      contents.drop_draft();
      break;
    case Task::kFindStored:
      reply.is_done = has_id && contents.find_stored(id) ? 1 : 0;
      break;
    case Task::kBeginStored:
      given = has_id ? contents.begin_stored(id) : UniqueFd();
      reply.is_done = given ? 1 : 0;
      break;
    case Task::kFinishStored:
      reply.is_done = contents.finish_stored() ? 1 : 0;
      break;
    case Task::kDropStored:
      contents.drop_stored();
      break;
    case Task::kMakeRoom:
      reply.is_done = contents.make_room(request.size) ? 1 : 0;
      break;
    default:
      break;
  }
  // Tasks without an outcome, such as kDrop, report an error that nobody looks at.
  reply.error = reply.is_done != 0 ? 0 : errno;
  return given;
}

UniqueFd Storer::ask(Request& request, Reply& reply) {
  UniqueFd given;
  if (!send_message(channel_.get(), request, sizeof(request), -1) ||
      !receive_message(channel_.get(), reply, sizeof(reply), given)) {
    // A process that has died answers like one that fails.
    reply = {};
    reply.error = EPIPE;
    given = UniqueFd();
  }
  reply.name[NAME_MAX] = '\0';
  errno = reply.error;
  return given;
}

UniqueFd Storer::begin_recording(uint64_t seconds_ago) {
  Request request{.task = Task::kBegin};
  request.size = seconds_ago;
  Reply reply;
  return ask(request, reply);
}

std::string Storer::publish() {
  Request request{.task = Task::kPublish};
  Reply reply;
  ask(request, reply);
  return reply.is_done != 0 ? reply.name : "";
}

void Storer::drop() {
  Request request{.task = Task::kDrop};
  Reply reply;
  ask(request, reply);
}

bool Storer::find_stored(std::string_view id) {
  Request request{.task = Task::kFindStored};
  request.id_size = static_cast<uint32_t>(std::min(id.size(), kMaxId));
  memcpy(request.id, id.data(), request.id_size);
  Reply reply;
  ask(request, reply);
  return reply.is_done != 0;
}

UniqueFd Storer::begin_stored(std::string_view id) {
  Request request{.task = Task::kBeginStored};
  request.id_size = static_cast<uint32_t>(std::min(id.size(), kMaxId));
  memcpy(request.id, id.data(), request.id_size);
  Reply reply;
  return ask(request, reply);
}

bool Storer::finish_stored(bool is_whole) {
  Request request{.task = is_whole ? Task::kFinishStored : Task::kDropStored};
  Reply reply;
  ask(request, reply);
  return reply.is_done != 0;
}

bool Storer::make_room(uint64_t size) {
  Request request{.task = Task::kMakeRoom};
  request.size = size;
  Reply reply;
  ask(request, reply);
  return reply.is_done != 0;
}

}  // namespace gosym
