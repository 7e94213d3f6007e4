#include "record/memory_helper.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/exit_status.h"

namespace gosym {

namespace {

// As many as fit, of a batch of goroutines with 64 KiB of the stack of each.
constexpr uint64_t kRoom = 32 << 20;

Error has_not_answered(uint32_t pid) {
  return errorf("the memory of process {} does not answer in time", pid)
      .with_hint("it has mapped a file of a file system that does not answer");
}

}  // namespace

// The pages of `bytes` take memory once they are used.
struct MemoryHelper::Arena {
  struct Piece {
    uint64_t address;
    uint64_t size;  // their bytes lie one behind the other
    bool is_read;
  };
  uint32_t pid;
  uint32_t count;
  int32_t error;  // an errno, or 0
  Piece pieces[proc::kPiecesAtOnce];
  std::byte bytes[kRoom];
};

MemoryHelper::MemoryHelper(uint64_t patience)
    : process_([this](int channel) { serve(channel, *arena_); }, patience) {}

MemoryHelper::~MemoryHelper() {
  stop();
}

bool MemoryHelper::start() {
  if (!arena_) {
    void* memory = mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    arena_ = static_cast<Arena*>(memory);
  }
  return process_.start();
}

// One that is left behind may still write into its arena: the next one gets another.
void MemoryHelper::stop() {
  process_.stop();
  if (arena_)
    munmap(arena_, sizeof(Arena));
  arena_ = nullptr;
}

void MemoryHelper::serve(int channel, Arena& arena) {
  char signal = 0;
  std::vector<proc::MemoryPiece> pieces;
  while (recv(channel, &signal, sizeof(signal), 0) == sizeof(signal)) {
    pieces.clear();
    std::span<std::byte> room = arena.bytes;
    for (uint32_t i = 0; i < arena.count; i++) {
      pieces.push_back({arena.pieces[i].address, room.first(arena.pieces[i].size)});
      room = room.subspan(arena.pieces[i].size);
    }
    arena.error = proc::try_read_memory(arena.pid, pieces);
    for (uint32_t i = 0; i < arena.count; i++)
      arena.pieces[i].is_read = pieces[i].is_read;
    if (send(channel, &signal, sizeof(signal), MSG_NOSIGNAL) != sizeof(signal))
      return;
  }
}

proc::ReadMemory MemoryHelper::reader_of(uint32_t pid) {
  return [this, pid](std::span<proc::MemoryPiece> pieces) { return read(pid, pieces); };
}

Result<> MemoryHelper::read(uint32_t pid, std::span<proc::MemoryPiece> pieces) {
  for (proc::MemoryPiece& piece : pieces)
    piece.is_read = false;
  while (!pieces.empty()) {
    uint64_t left = kRoom;
    size_t count = 0;
    for (; count < std::min(pieces.size(), proc::kPiecesAtOnce); count++) {
      uint64_t size = pieces[count].bytes.size();
      if (size > left)
        break;
      left -= size;
    }
    if (count > 0)
      if (auto done = read_together(pid, pieces.first(count)); !done)
        return done;
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
  arena_->pid = pid;
  arena_->count = static_cast<uint32_t>(pieces.size());
  for (size_t i = 0; i < pieces.size(); i++)
    arena_->pieces[i] = {pieces[i].address, pieces[i].bytes.size(), false};
  char signal = 0;
  if (send(process_.channel(), &signal, sizeof(signal), MSG_NOSIGNAL) == sizeof(signal)) {
    if (!process_.wait_for_answer()) {
      stop();
      hung_.insert(pid);
      return has_not_answered(pid);
    }
    if (recv(process_.channel(), &signal, sizeof(signal), 0) == sizeof(signal))
      return take_answer(pid, pieces);
  }
  stop();
  return Error("cannot read memory: the helper process has ended");
}

Result<> MemoryHelper::take_answer(uint32_t pid, std::span<proc::MemoryPiece> pieces) {
  if (arena_->error != 0)
    return proc::memory_error(pid, arena_->error);
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
