#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

// The cpu.raw file, version 2.2. It holds addresses and what is needed to name them later;
// names only of code that no file will have then: the kernel's, and what was made at run time;
// and files that may be gone by then.
//
//   file   = header chunk*
//   chunk  = chunk header, payload, zeros up to the next multiple of 8 bytes
//
// It is only ever appended to, a whole chunk at a time, so that it can be piped and is worth
// reading wherever it stops. Integers outside of payloads are little-endian.
//
// Header, 64 bytes:
//
//    0  char[8]   "GOSYMRAW"
//    8  u16       major version, 2
//   10  u16       minor version, 1
//   12  u32       byte order mark: 0x01020304 when read in the right order
//   16  u32       size of the header, where the chunks begin: 64, or more in a later minor
//                 version; a multiple of 8, at most 4096
//   20  u32       flags, 0
//   24  u64       CLOCK_MONOTONIC in nanoseconds, the clock of all times below
//   32  u64       CLOCK_REALTIME in nanoseconds at the same instant
//   40  u8[16]    a random id of the recording
//   56  u32       0
//   60  u32       checksum of the 60 bytes before
//
// Chunk header, 32 bytes:
//
//    0  char[4]   "CHNK"
//    4  u16       type
//    6  u16       flags: bit 0 is set when the payload is one zstd frame; the others are 0
//    8  u32       size of the payload as stored
//   12  u32       size of the payload uncompressed: equal to the stored size without bit 0,
//                 larger with it. At most 64 MiB, in types 1 to 4 and 7 to 10 at most 4 MiB
//   16  u64       sequence number: 0, 1, 2, ... in the order of writing
//   24  u32       checksum of the payload as stored
//   28  u32       checksum of the 28 bytes before
//
// Checksums are XXH32 with seed 0.
//
// A payload is a protobuf message. Its fields are listed as NUMBER NAME: TYPE in the terms of
// protobuf, where "packed" is a packed repeated field and "repeated" a message that occurs any
// number of times. An absent field is 0, false or empty. Times are nanoseconds of
// CLOCK_MONOTONIC, addresses are those of the running process, strings are bytes of no promised
// encoding. profile/recording.h says what the values mean.
//
//   1 INFO, the first chunk, once
//       1 gosym_version: string       2 host: string              3 kernel_release: string
//       4 machine: string             5 command_line: string      8 cpu_count: uint32
//       9 has_user: bool             10 has_kernel: bool         11 is_system_wide: bool
//      12 targets: packed uint32     14 sampler: string, since 1.3
//      15 events: repeated, at most 64, numbered from 0: what samples were taken of
//     an event:
//       1 name: string                2 frequency: uint64         3 period: uint64
//   2 IMAGE, a file that code was mapped from
//       1 id: uint32, not 0           2 path: string              3 device: uint64
//       4 inode: uint64               5 size: uint64              6 mtime_ns: sint64
//       7 is_deleted: bool            8 gnu_build_id: bytes       9 go_build_id: string
//      10 segments: repeated         11 problem: string
//     a segment:
//       1 file_offset: uint64         2 file_size: uint64         3 address: uint64
//       4 memory_size: uint64         5 flags: uint32
//   3 EVENTS, in any order of time
//       1 map: repeated    2 comm: repeated    3 fork: repeated    4 exit: repeated
//       5 kernel_code: repeated, since 1.1       6 cgroup: repeated, since 1.3
//     map:
//       1 time: uint64     2 pid: uint32       3 start: uint64     4 length: uint64
//       5 file_offset: uint64     6 image: uint32, an id or 0      7 path: string
//     comm:
//       1 time: uint64     2 pid: uint32       3 tid: uint32       4 comm: string
//       5 is_exec: bool
//     fork:
//       1 time: uint64     2 pid: uint32       3 tid: uint32       4 parent_pid: uint32
//       5 parent_tid: uint32
//     exit:
//       1 time: uint64     2 pid: uint32       3 tid: uint32
//     kernel_code:
//       1 time: uint64     2 address: uint64   3 length: uint64   4 name: string
//       5 is_removed: bool
//     cgroup:
//       1 time: uint64     2 id: uint64        3 path: string
//   4 SAMPLES
//     The distinct stacks of this chunk, numbered from 1; stack 0 is the empty one. Up to 1.3:
//       1 stack_sizes: packed uint32, the number of addresses of each stack
//       2 addresses: packed sint64, those of stack 1 innermost first, then of stack 2, ...;
//         each as its difference, modulo 2^64, to the one before it (the first: to 0)
//     Since 2.0 they are paths of a tree that grows from chunk to chunk. Its nodes are numbered
//     from 1, in the order of the file; node 0 is the caller of outermost frames.
//      22 tree: uint32, which tree: with another number than in the chunk before, a new one.
//         That of the first is random
//      23 first_node: uint32, the number of the first node that this chunk adds
//      24 callers: packed uint32, for each added node its number less that of its caller, which
//         is smaller
//      25 node_addresses: packed sint64, those of the added nodes, coded as field 2
//      26 stack_nodes: packed uint32, for each stack the number of the node that is its
//      innermost
//         frame
//     One entry a sample in each of these, in any order of time:
//       3 time: packed sint64, as the difference, modulo 2^64, to the entry before (the first:
//         to 0)
//       4 pid: packed uint32          5 tid: packed uint32        6 cpu: packed uint32
//       7 kernel_stack: packed uint32, a stack of this chunk
//       8 user_stack: packed uint32, likewise
//       9 user_end: packed uint32: why the user stack ends there: 0 at its root, 1 unreadable
//         memory, 2 a bad frame pointer, 3 deeper than the recorder walks; any other number is
//         to be taken as 1
//     Since 1.2, what is left of the stack itself, above the stack pointer of the user code:
//     words that point into code, or to a place of the same stack. The distinct tops of stacks
//     of this chunk are numbered from 1; top 0 has no word.
//      10 top_sizes: packed uint32, the number of words of each top
//      11 offsets: packed uint32, for each word of top 1 by offset, then of top 2, ...: its
//         offset from the stack pointer in bytes, a multiple of 8 below 32768, plus 1 if it
//         points to a place of the stack
//      12 word_addresses: packed sint64, those of the words that point into code; as field 2
//      13 places: packed uint32, of the others: offsets from the stack pointer, at most 32768
//     One entry a sample, or none at all, in each of these:
//      14 top: packed uint32, a top of this chunk
//      15 frame: packed uint32, 1 + the offset from the stack pointer, at most 2^30, to which
//         the frame pointer led, a multiple of 8; 0: it led elsewhere
//     Since 2.1, registers of the user code that the rules of its functions ask for, behind the
//     words of each top; all or none of these:
//      27 register_sizes: packed uint32, the number of registers of each top, at most 64
//      28 registers: packed uint32, for each register of top 1, then of top 2, ...: 4 times the
//         number that DWARF gives it, plus 0 for an address of code, 1 for a place of the
//         stack, 2 for a number. 63 is the low 12 bits of the stack pointer
//      29 register_values: packed uint64, for each of them: the address, the offset of the
//         place from the stack pointer, at most 32768, or the number, of up to 32 bits
//     The same of goroutines of Go programs. The distinct sets of labels of this chunk are
//     numbered from 1; set 0 has no label.
//      16 bridge: packed uint32, the index in the user stack where the goroutine's own begins
//         when the thread was on another; 0: there is no such place
//      17 goid: packed sint64, the number of the goroutine, or 0; as field 3
//      18 label_set: packed uint32, a set of labels of this chunk
//      19 label_sets: repeated
//     a set of labels:
//       1 labels: repeated, at most 64, by key
//     a label:
//       1 key: string             2 value: string; at most 256 bytes each
//     Since 1.3, one entry a sample, or none at all, in each of these:
//      20 weight: packed sint64, as field 3: the events that the sample stands for; 0: what
//         INFO says of each. Since 2.2 also of clocks, in nanoseconds, where ticks before it
//         did not come
//      21 cgroup: packed sint64, as field 3: the id of a cgroup of v2, or 0
//     Since 2.2 the same of stacks that are deeper than a sample holds, whose middle is left
//     out; both or none of these:
//      30 gap: packed uint32, the index in the user stack before which frames are missing; 0:
//         there is no such place
//      31 missing: packed uint32, how many: 0 where `gap` is 0, else 1 to 2^30
//     The same, absent if all samples are of the first event:
//      32 event: packed uint32, the number of the event that it is a sample of
//   5 KALLSYMS, how the kernel names the code that samples were taken in; all of them,
//     in order, are one text. Up to 1.3 one that has all
//       1 text: bytes, lines of /proc/kallsyms
//   6 PERF_MAP, since 1.1: how a process names code that it made at run time; of several for
//     one program of a process the last is the one to use
//       1 time: uint64, when the process ran that program
//       2 pid: uint32      3 path: string      4 text: bytes, as proc/perf_map.h has it
//       5 problem: string
//   7 STATS, counts since the start, each second
//       1 time: uint64     2 samples: uint64   3 lost_samples: uint64
//       4 lost_events: uint64                  5 cpus: repeated, since 1.3
//     a CPU, of at most 8192, and an event:
//       1 cpu: uint32      2 samples: uint64   3 lost_samples: uint64
//       4 lost_events: uint64                  5 throttled_ns: uint64
//       Since 2.2: 6 skipped: uint64, ticks of a clock that did not come
//       7 lost_ns: uint64, of CPU time that lost samples of a clock stand for
//       8 event: uint32, the number of the one that the samples and ticks are of
//   8 IMAGE_CONTENTS, since 1.3: a piece of the file of an image
//       1 image: uint32, an id    2 offset: uint64, in the file    3 bytes: bytes
//       4 total: uint64           5 problem: string
//     The pieces of an image follow one another, with other chunks between them. The first has
//     the sum of the bytes of all in `total`, where the others have 0; if there are several
//     such, the pieces before the last of them count for nothing. When all have come the file
//     is made of them, with zeros between them: as it was, save that sections of which nothing
//     was kept have the type SHT_NOBITS in its headers. A chunk with a problem may have no
//     piece: then nothing of the file was kept, else not all that names its code.
//   9 END, the recording was ended in order; at most pieces of files come behind it
//       1 time: uint64
//  10 VDSO, at most one
//       1 contents: bytes, the ELF image that the kernel maps into each process as [vdso]
//
// Images, events and, from 2.0 on, symbols of the kernel come before the samples that need
// them. Nodes of the tree that first_node leaves out were in chunks that are lost: a stack that
// comes to such a node is cut short there. But for that a samples chunk needs nothing from
// other ones.
//
// Versions. A minor version only adds: chunk types, fields, columns of samples, bytes of the
// header after the 64th. A reader of 2.x therefore skips chunk types and fields that it does
// not know (a field of another wire type than listed is one of them), and reads every 2.y, and
// every 1.y as well. It refuses another major version; magic, versions and byte order mark stay
// where they are in all. Version 2 is what a reader of version 1 cannot read: stacks as paths
// of a tree.
//
// Damage. A chunk header is sound if its magic, its checksum and its sizes are right and no
// unknown flag is set.
//
// - Sound header, wrong checksum of the payload: that chunk is lost; the next one begins where
//   the stored size says.
// - No sound header, or fewer bytes left than its stored size: the next chunk begins at the
//   next sound header, at any byte from there on. This includes a tail that was cut off.
// - Sequence numbers tell which chunks are missing. Where they begin anew, or a header or a
// second
//   INFO stands among the chunks, another recording was appended. A reader refuses such a file:
//   each recording numbers its images and processes itself and has a clock of its own, so that
//   the one would give names to the other's addresses.
//
// So any file is read in time linear in its size.

namespace gosym::raw {

inline constexpr std::string_view kMagic = "GOSYMRAW";
inline constexpr uint16_t kMajorVersion = 2;
inline constexpr uint16_t kMinorVersion = 2;
inline constexpr uint16_t kOldestMajorVersion = 1;  // that is read
inline constexpr uint32_t kByteOrderMark = 0x01020304;

struct FileHeader {
  std::array<char, 8> magic{'G', 'O', 'S', 'Y', 'M', 'R', 'A', 'W'};
  uint16_t major = kMajorVersion;
  uint16_t minor = kMinorVersion;
  uint32_t byte_order_mark = kByteOrderMark;
  uint32_t header_size = 64;
  uint32_t flags = 0;
  uint64_t monotonic_ns = 0;
  uint64_t realtime_ns = 0;
  std::array<uint8_t, 16> id{};
  uint32_t reserved = 0;
  uint32_t checksum = 0;
};
static_assert(sizeof(FileHeader) == 64);

inline constexpr std::string_view kChunkMagic = "CHNK";

enum class ChunkType : uint16_t {
  kInfo = 1,
  kImage = 2,
  kEvents = 3,
  kSamples = 4,
  kKernelSymbols = 5,
  kPerfMap = 6,
  kStats = 7,
  kImageContents = 8,
  kEnd = 9,
  kVdso = 10,
};

inline constexpr uint16_t kZstdFlag = 1;

struct ChunkHeader {
  std::array<char, 4> magic{'C', 'H', 'N', 'K'};
  ChunkType type{};
  uint16_t flags = 0;
  uint32_t stored_size = 0;
  uint32_t raw_size = 0;
  uint64_t sequence = 0;
  uint32_t payload_checksum = 0;
  uint32_t header_checksum = 0;
};
static_assert(sizeof(ChunkHeader) == 32);

inline constexpr size_t kAlignment = 8;
constexpr uint64_t padded(uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// A reader allocates this much on the word of a header. The text of /proc/kallsyms takes 5 to
// 15 MB with the kernels of distributions, the perf map of a large program as much; later types
// may be as large.
inline constexpr uint32_t kMaxPayloadSize = 64 << 20;

// A command line has 2 MiB at most by default (ARG_MAX), images are smaller. Samples and events
// are written whenever kUsualPayloadSize of them have come together: large enough to compress
// well, small enough to lose.
inline constexpr uint32_t kMaxSmallPayloadSize = 4 << 20;
inline constexpr size_t kUsualPayloadSize = 256 << 10;

// Nodes of the tree of stacks: about 64 bytes each in a recorder, so these are 8 MB; a program
// under load has some hundred thousand after minutes. What a reader bears is more.
inline constexpr uint32_t kUsualTreeSize = 1 << 17;
inline constexpr uint32_t kMaxTreeSize = 1 << 20;

// Addresses of the stacks of a chunk, read from the tree: as many as a payload had room for
// when it held them itself. A chunk of a few bytes could otherwise have any number.
inline constexpr size_t kMaxStackAddresses = kMaxSmallPayloadSize;

// Addresses of a stack; twice as many as the first recorder writes. A compressed chunk of a few
// bytes could otherwise hold a stack of millions that each of its samples passes through.
inline constexpr uint32_t kMaxStackSize = 2048;

// Frames that are left out of a stack: stacks of 16 GiB have no more.
inline constexpr uint32_t kMaxMissing = 1 << 30;

// What a recorder reads of a file at a time: a few milliseconds in which samples wait.
inline constexpr size_t kUsualPieceSize = 1 << 20;

// Words of the top of a stack: all there are.
inline constexpr uint32_t kMaxTopWords = 4096;

// More than the recorder takes. A chunk of a few bytes could otherwise hold a set of millions,
// or texts of megabytes, that each of its samples has.
inline constexpr size_t kMaxLabels = 64;
inline constexpr size_t kMaxLabelText = 256;

// The most that Linux can be built for; each such chunk is compared with the one before.
inline constexpr size_t kMaxCpus = 8192;

// Events of a recording.
inline constexpr uint32_t kMaxEvents = 64;

// Linux gives a thread's name 16 bytes (TASK_COMM_LEN); of a longer one the rest is not read.
inline constexpr size_t kMaxComm = 64;

bool is_known(ChunkType type);  // not of a later version
uint32_t max_payload_size(ChunkType type);

// Room for what a later minor version may add.
inline constexpr uint32_t kMaxHeaderSize = 4096;

uint32_t checksum(Bytes data);
uint32_t checksum(const FileHeader& header);   // of what precedes its checksum
uint32_t checksum(const ChunkHeader& header);  // likewise

}  // namespace gosym::raw
