#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "model/recording.h"

// A record as the kernel writes it into the ring of a perf event (linux/perf_event.h), for the
// attributes that Sideband sets. Integers have the byte order of the machine.
//
//   record := u32 type, u16 misc, u16 size, body, trailer     size: of the whole record
//   trailer (sample_id_all with PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER):
//             u32 pid, u32 tid, u64 time, u64 id of the event
//   body of
//     MMAP  (1)   u32 pid, u32 tid, u64 start, u64 length, u64 file offset, text
//                 not asked for by Sideband; perf writes it for the kernel and its modules
//     LOST  (2)   u64 id, u64 lost
//     COMM  (3)   u32 pid, u32 tid, text             misc bit 13: by exec
//     EXIT  (4)   u32 pid, u32 parent pid, u32 tid, u32 parent tid, u64 time
//     THROTTLE (5), UNTHROTTLE (6)  u64 time, u64 id, u64 stream id
//     FORK  (7)   as EXIT
//     MMAP2 (10)  u32 pid, u32 tid, u64 start, u64 length, u64 file offset,
//                 u32 device major, u32 device minor, u64 inode, u64 inode generation,
//                 u32 protection, u32 flags, text    executable mappings only
//     KSYMBOL (17) u64 address, u32 length, u16 kind, u16 flags, text
//                 kind: BPF (1) or other code; flag 0: it was removed. Since Linux 5.1. Where
//                 others listen too, bytes without a meaning follow the trailer
//     CGROUP (19) u64 number, text                   path of one that was made. Since Linux 5.7
//
// Text ends in NUL and is padded with more of them to a multiple of 8.

namespace gosym {

// A file as the kernel tells one from another. The generation differs where an inode number was
// used again; it is 0 where it is not known.
struct FileKey {
  uint64_t device = 0;  // st_dev of stat(2)
  uint64_t inode = 0;   // 0: no file
  uint64_t generation = 0;

  auto operator<=>(const FileKey&) const = default;
};

// An executable mapping whose file was not looked at yet.
struct RawMapping {
  uint64_t time = 0;
  uint32_t pid = 0;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t file_offset = 0;
  FileKey file = {};
  std::string path = {};  // may end in " (deleted)"

  // The first address after it, or the last that there is.
  uint64_t limit() const { return length > UINT64_MAX - start ? UINT64_MAX : start + length; }
};

// The ring was full.
struct LostRecords {
  uint64_t time = 0;
  uint64_t count = 0;
};

// The kernel stopped to take samples on the CPU whose ring has this, or takes them again.
struct ThrottleRecord {
  uint64_t time = 0;
  bool is_over = false;
};

class Throttling {
public:
  // Time without samples, in nanoseconds: 0 unless this record ends a throttling whose start
  // was seen. The next tick of the kernel's timer lets samples be taken again; a thread that
  // has left the CPU by then hears of it only when it comes back.
  uint64_t ended_by(const ThrottleRecord& record) {
    uint64_t since = std::exchange(since_, record.is_over ? 0 : record.time);
    bool is_known = record.is_over && since != 0 && record.time >= since;
    return is_known ? std::min(record.time - since, kMaxTick) : 0;
  }

private:
  static constexpr uint64_t kMaxTick = 10'000'000;  // of a kernel with 100 ticks a second
  uint64_t since_ = 0;
};

// A record of a type that is of no interest.
struct OtherRecord {
  uint64_t time = 0;
};

using SidebandRecord =
    std::variant<OtherRecord, LostRecords, ThrottleRecord, RawMapping, CommEvent, ForkEvent,
                 ExitEvent, KernelCodeEvent, CgroupEvent>;

uint64_t time_of(const SidebandRecord& record);

// `data` is exactly one record.
Result<SidebandRecord> parse_sideband_record(Bytes data);

// Parses a body that has another trailer, or none.
Result<SidebandRecord> parse_sideband_body(Bytes body, uint32_t type, uint16_t misc,
                                           uint64_t time);
// The place of a trailer of so many bytes in a record that is long enough for it.
size_t place_of_trailer(Bytes record, size_t size);

// Process and time of a mapping, read without the other parts; none if it is another record.
struct MappingOwner {
  uint32_t pid = 0;
  uint64_t time = 0;
};
std::optional<MappingOwner> owner_of_mapping(Bytes data);

// ns; a name that a thread has for less time may be passed over.
inline constexpr uint64_t kShortNameTime = 1'000'000;

// The new name of a thread, unless an exec gave it: as much as replaces an earlier record. None
// if it is another record.
struct ThreadName {
  uint32_t tid = 0;
  uint64_t time = 0;
  std::string_view comm;
};
std::optional<ThreadName> thread_name_in(Bytes data);

// The record at the front of data that may hold more; none if it is not all there.
std::optional<Bytes> first_record(Bytes data);

}  // namespace gosym
