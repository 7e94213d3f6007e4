#include "record/memory_helper.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/exit_status.h"
#include "confine/channel.h"
#include "confine/process_kind.h"

// Both processes map one file in memory, the arena. A question is written into it and
// announced by a byte on the channel; the helper reads the memory of the process into the
// arena and sends a byte back. A helper that does not answer in time is given up together with
// its arena, and the process it was asked about is not read again.

namespace gosym {

namespace {

// Holds a batch of as many goroutines as it has room for with 64 KiB of the stack of each.
constexpr uint64_t kRoom = 32 << 20;

Error has_not_answered(uint32_t pid) {
  return errorf("the memory of process {} does not answer in time", pid)
      .with_hint("it has mapped a file of a file system that does not answer");
}

}  // namespace

// A file in memory. The pages of `bytes` take memory once they are used.
struct MemoryHelper::Arena {
  struct Piece {
    uint64_t address;
    uint64_t size;  // their bytes lie one behind the other
    bool is_read;
  };
  uint32_t pid;
  uint32_t count;
  int32_t error;  // an errno, or 0
  Piece pieces[kMaxPieces];
  std::byte bytes[kRoom];
};

MemoryHelper::MemoryHelper(uint64_t patience) : process_(HelperKind::kMemory, patience) {}

MemoryHelper::~MemoryHelper() {
  stop();
}

bool MemoryHelper::start() {
  if (arena_)
    return true;
  UniqueFd file(memfd_create("arena", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), sizeof(Arena)) != 0 || !process_.start())
    return false;
  void* memory =
      mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  char signal = 0;
  // The helper maps the same file: what it reads goes into memory that both have.
  if (memory == MAP_FAILED ||
      !send_message(process_.channel(), signal, sizeof(signal), file.get())) {
    if (memory != MAP_FAILED)
      munmap(memory, sizeof(Arena));
    process_.stop();
    return false;
  }
  arena_ = static_cast<Arena*>(memory);
  return true;
}

// One that is left behind may still write into its arena: the next one gets another.
void MemoryHelper::stop() {
  process_.stop();
  if (arena_)
    munmap(arena_, sizeof(Arena));
  arena_ = nullptr;
}

void MemoryHelper::serve(int channel) {
  char signal = 0;
  UniqueFd file;
  struct stat status {};
  if (!receive_message(channel, signal, sizeof(signal), file) ||
      // A file that is too small would raise SIGBUS when it is written to.
      fstat(file.get(), &status) != 0 || status.st_size < off_t{sizeof(Arena)})
    return;
  void* memory =
      mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED)
    return;
  // Rights are given up once the memory is mapped, which takes calls that are refused then.
  enter(ProcessKind::kReader);
  if (!HelperProcess::tell_ready(channel))
    return;
  while (recv(channel, &signal, sizeof(signal), 0) == sizeof(signal)) {
    answer(*static_cast<Arena*>(memory));
    if (send(channel, &signal, sizeof(signal), MSG_NOSIGNAL) != sizeof(signal))
      return;
  }
}

// The asking process may have been taken over, and change what he asks for meanwhile: it is
// copied first.
void MemoryHelper::answer(Arena& arena) {
  static Arena::Piece asked[kMaxPieces];
  static std::vector<proc::MemoryPiece> pieces;
  auto count = std::min<size_t>(arena.count, kMaxPieces);
  uint32_t pid = arena.pid;
  std::memcpy(asked, arena.pieces, count * sizeof(Arena::Piece));
  pieces.clear();
  std::span<std::byte> room = arena.bytes;
  for (const Arena::Piece& piece : std::span(asked, count)) {
    // Sizes are cut to the room that is left, whatever was asked for.
    size_t size = std::min<uint64_t>(piece.size, room.size());
    pieces.push_back({piece.address, room.first(size)});
    room = room.subspan(size);
  }
  arena.error = may_help_with(pid) ? proc::try_read_memory(pid, pieces) : EPERM;
  for (size_t i = 0; i < count; i++)
    arena.pieces[i].is_read = pieces[i].is_read;
}

proc::ReadMemory MemoryHelper::reader_of(uint32_t pid) {
  return [this, pid](std::span<proc::MemoryPiece> pieces) { return read(pid, pieces); };
}

Result<> MemoryHelper::read(uint32_t pid, std::span<proc::MemoryPiece> pieces) {
  // Pieces that are not reached stay unread.
  for (proc::MemoryPiece& piece : pieces)
    piece.is_read = false;
  while (!pieces.empty()) {
    uint64_t left = kRoom;
    size_t count = 0;
    for (; count < std::min(pieces.size(), kMaxPieces); count++) {
      uint64_t size = pieces[count].bytes.size();
      if (size > left)
        break;
      left -= size;
    }
    if (count > 0)
      if (auto done = read_together(pid, pieces.first(count)); !done)
        return done;
    // A piece that is larger than all the room is passed over, unread.
    pieces = pieces.subspan(std::max<size_t>(count, 1));
  }
  return Ok{};
}

Result<> MemoryHelper::read_together(uint32_t pid, std::span<proc::MemoryPiece> pieces) {
  if (hung_.contains(pid))
    return has_not_answered(pid);
  if (process_.is_time_over())
    return Error("not read: the recording had ended");
  if (!start())
    return Error("cannot read memory: no helper process");
  // Addresses and contents go through shared memory, so that a batch costs one byte each way.
  arena_->pid = pid;
  arena_->count = static_cast<uint32_t>(pieces.size());
  for (size_t i = 0; i < pieces.size(); i++)
    arena_->pieces[i] = {pieces[i].address, pieces[i].bytes.size(), false};
  char signal = 0;
  if (send(process_.channel(), &signal, sizeof(signal), MSG_NOSIGNAL) == sizeof(signal)) {
    if (!process_.wait_for_answer()) {
      stop();
      // The helper is left behind where it waits; another one reads other processes.
      hung_.insert(pid);
      return has_not_answered(pid);
    }
    if (recv(process_.channel(), &signal, sizeof(signal), 0) == sizeof(signal))
      return take_answer(pid, pieces);
  }
  // The helper has died, of a signal or for lack of memory.
  stop();
  return Error("cannot read memory: the helper process has ended");
}

Result<> MemoryHelper::take_answer(uint32_t pid, std::span<proc::MemoryPiece> pieces) {
  if (arena_->error != 0)
    return proc::memory_error(pid, arena_->error);
  // The bytes lie in the order of the pieces, read or not. All of them lie within the arena:
  // read() has asked for no more than it has room for.
  uint64_t at = 0;
  for (size_t i = 0; i < pieces.size(); i++) {
    std::span<std::byte> bytes = pieces[i].bytes;
    pieces[i].is_read = arena_->pieces[i].is_read;
    if (pieces[i].is_read && !bytes.empty())
      std::memcpy(bytes.data(), arena_->bytes + at, bytes.size());
    at += bytes.size();
  }
  return Ok{};
}

}  // namespace gosym
