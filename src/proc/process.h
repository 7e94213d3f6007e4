#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "proc/maps.h"

// Facts that /proc tells of processes and threads. They come and go as they like, so none of
// these functions fails because one is gone: it is then as if it had never been there.

namespace gosym::proc {

// /proc/PID/status: lines "Name:<tab>value". Only these are read:
//
//   State    one letter and its meaning: "S (sleeping)", "Z (zombie)"
//   Tgid     decimal: the process that the thread belongs to
//   Uid      four decimals: real, effective, saved and file system user
//   NSpid    decimals: its number in each of its pid namespaces, ours first, its own last;
//            missing if the kernel has no such namespaces
//   CapEff   hexadecimal: effective capabilities, bit n for capability n
//   Seccomp  decimal: 0 off, 1 strict, 2 filter; missing if the kernel has no seccomp
struct Status {
  char state = 0;
  uint32_t pid = 0;
  uint32_t user = 0;     // the effective one
  uint32_t own_pid = 0;  // its number in its own PID namespace
  uint64_t capabilities = 0;
  uint64_t seccomp = 0;
};

// An error names the line that is missing or malformed.
Result<Status> parse_status(std::string_view text);

// Status of a process or a thread; none if there is none of that number.
std::optional<Status> status_of(uint32_t pid);

// Time when a process began, in nanoseconds of CLOCK_BOOTTIME: field 22 of /proc/PID/stat, in
// clock ticks. Field 2, the name in parentheses, may hold any byte, so that fields are counted
// from the last ")" on. None if it is gone or the text is of another form.
std::optional<uint64_t> parse_start_time(std::string_view stat, uint64_t ticks_per_second);
std::optional<uint64_t> start_time_of(uint32_t pid);

// True if each thread of a process has ended, though its parent may not have noticed.
bool has_ended(uint32_t pid);

std::vector<uint32_t> process_ids();
std::vector<uint32_t> thread_ids(uint32_t pid);

// The arguments with spaces between them; empty if there are none.
std::string command_line_of(uint32_t pid);

// The name of a thread; none if it is gone.
std::optional<std::string> comm_of(uint32_t pid, uint32_t tid);

// The mappings of a process; of a kernel thread and one that is gone, none. An error: they may
// not be read.
Result<std::vector<MapsEntry>> mappings_of(uint32_t pid);
// The text of /proc/PID/maps, likewise.
Result<std::string> maps_text_of(uint32_t pid);

// The first line of a file in which the kernel shows a setting, below /proc or /sys; empty if
// it has no such setting.
std::string setting(const std::string& path);

// A piece of the memory of a process, to be copied to `bytes`.
struct MemoryPiece {
  uint64_t address = 0;
  std::span<std::byte> bytes;
  bool is_read = false;  // all of it; set by whoever reads
};

// Reads pieces in their order. A piece that is not mapped, or not wholly, stays unread. An
// error: the process is gone, or may not be looked into.
using ReadMemory = std::function<Result<>(std::span<MemoryPiece> pieces)>;

// Pieces that one system call reads: those of a process that runs on are read within
// microseconds of each other if no multiple of this is among their numbers.
inline constexpr size_t kPiecesAtOnce = 1023;

// Reads a running process, by process_vm_readv(2), which neither stops nor signals it. It may
// take for ever: record/memory_helper.h does it in a process that may be left behind. Gives 0,
// or the errno because of which no piece can be read.
int try_read_memory(uint32_t pid, std::span<MemoryPiece> pieces);
Error memory_error(uint32_t pid, int error);

// "0-3,6": numbers and ranges of CPUs as the kernel lists them in /sys/devices/system/cpu, in
// order and each once. An error says what is wrong with the text; an empty one is.
Result<std::vector<uint32_t>> parse_cpu_list(std::string_view text);

// CPUs that run, and those that may. If they cannot be told: the first alone, which cannot be
// taken away.
std::vector<uint32_t> online_cpus();
std::vector<uint32_t> possible_cpus();

// Bytes that the kernel may need to save the state of the FPU for a signal handler, the usual
// number first, at most `limit` numbers. None for machines other than x86-64.
std::vector<uint32_t> fpu_state_sizes(size_t limit);

// Bits of a word that may be an address of code. In the others arm64 can sign addresses that
// code saves (pointer authentication); which these are the machine and its kernel tell. All bits
// where nothing is signed.
uint64_t code_mask();

// Bytes of the stack that a thread has in the kernel.
uint32_t kernel_stack_size();

}  // namespace gosym::proc
