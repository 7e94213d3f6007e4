#include "proc/memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/exit_status.h"

namespace gosym::proc {

namespace {

static_assert(kPiecesAtOnce <= IOV_MAX);

// Gives how many of the pieces were read; the one behind them could not be. `error` is set
// where none can be.
size_t read_some(uint32_t pid, std::span<MemoryPiece> pieces, int& error) {
  std::array<iovec, kPiecesAtOnce> local;
  std::array<iovec, kPiecesAtOnce> remote;
  for (size_t i = 0; i < pieces.size(); i++) {
    local[i] = {pieces[i].bytes.data(), pieces[i].bytes.size()};
    remote[i] = {reinterpret_cast<void*>(pieces[i].address), pieces[i].bytes.size()};
  }
  ssize_t count = process_vm_readv(static_cast<pid_t>(pid), local.data(), pieces.size(),
                                   remote.data(), pieces.size(), 0);
  if (count < 0 && errno != EFAULT && errno != EINVAL)
    error = errno;
  uint64_t left = count < 0 ? 0 : static_cast<uint64_t>(count);
  size_t read = 0;
  for (; read < pieces.size() && pieces[read].bytes.size() <= left; read++) {
    pieces[read].is_read = true;
    left -= pieces[read].bytes.size();
  }
  return read;
}

}  // namespace

int try_read_memory(uint32_t pid, std::span<MemoryPiece> pieces) {
  for (MemoryPiece& piece : pieces)
    piece.is_read = false;
  int error = 0;
  while (!pieces.empty() && error == 0) {
    std::span<MemoryPiece> next = pieces.first(std::min(pieces.size(), kPiecesAtOnce));
    size_t read = read_some(pid, next, error);
    pieces = pieces.subspan(std::min(read + (read < next.size() ? 1 : 0), pieces.size()));
  }
  return error;
}

Error memory_error(uint32_t pid, int error) {
  if (error == ESRCH)
    return errorf("process {} has ended", pid).with_exit_status(kNoTarget);
  return system_error(fmt::format("cannot read the memory of process {}", pid), error)
      .with_hint("run as its user, where kernel.yama.ptrace_scope allows that, or with sudo")
      .with_exit_status(kUnsupported);
}

}  // namespace gosym::proc
