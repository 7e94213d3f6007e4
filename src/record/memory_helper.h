#pragma once

#include <set>

#include "proc/process.h"
#include "record/helper_process.h"

namespace gosym {

// Reads the memory of other processes in a process of its own (helper_process.h): a piece of it
// may be that of a file which does not answer. Such a process's memory is not read again.
class MemoryHelper {
public:
  // Nanoseconds that all reads together may wait uninterruptibly, for memory that comes from a
  // disk or from one who does not give it. A recording has others to sample meanwhile.
  static constexpr uint64_t kPatienceOfRecording = 400'000'000;
  static constexpr uint64_t kPatienceOfCommand = 5'000'000'000;

  explicit MemoryHelper(uint64_t patience);
  ~MemoryHelper();
  MemoryHelper(const MemoryHelper&) = delete;
  MemoryHelper& operator=(const MemoryHelper&) = delete;

  // See proc::ReadMemory. Pieces of one call are asked for together, up to kMaxPieces of them
  // and 32 MiB; a larger piece stays unread.
  static constexpr size_t kMaxPieces = 8 * proc::kPiecesAtOnce;
  Result<> read(uint32_t pid, std::span<proc::MemoryPiece> pieces);
  // Reads one process; valid as long as this lives.
  proc::ReadMemory reader_of(uint32_t pid);

  // All reads from now on have so long together.
  void hurry(uint64_t nanoseconds) { process_.hurry(nanoseconds); }

  // Runs in the helper, until the channel has no other end any more.
  static void serve(int channel);

  bool has_hung(uint32_t pid) const { return hung_.contains(pid); }
  uint64_t hung_count() const { return hung_.size(); }

private:
  struct Arena;  // memory that both processes share

  Result<> read_together(uint32_t pid, std::span<proc::MemoryPiece> pieces);
  Result<> take_answer(uint32_t pid, std::span<proc::MemoryPiece> pieces);
  bool start();
  void stop();
  static void answer(Arena& arena);

  Arena* arena_ = nullptr;  // null: no process runs
  HelperProcess process_;
  std::set<uint32_t> hung_;  // processes
};

}  // namespace gosym
