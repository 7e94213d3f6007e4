#include "record/sideband_record.h"

#include <linux/perf_event.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "base/reader.h"

// A record is taken apart from both ends: the header in front tells the type, the trailer at
// the end pid, tid and time, and what lies between is the body. Two functions read a part of a
// record without the rest, for whoever has to pass over thousands of them.

namespace gosym {

namespace {

constexpr size_t kHeaderSize = sizeof(perf_event_header);
constexpr size_t kTrailerSize = 24;

LostRecords read_lost(Reader& in, uint64_t time) {
  in.u64();  // the event's id
  return {.time = time, .count = in.u64()};
}

CommEvent read_comm(Reader& in, uint64_t time, uint16_t misc) {
  CommEvent event;
  event.time = time;
  event.pid = in.u32();
  event.tid = in.u32();
  event.comm = in.cstring();
  event.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  return event;
}

ForkEvent read_fork(Reader& in, uint64_t time) {
  // Pids come first, then tids: the order differs from that of other records.
  ForkEvent event{.time = time};
  event.pid = in.u32();
  event.parent_pid = in.u32();
  event.tid = in.u32();
  event.parent_tid = in.u32();
  return event;
}

ExitEvent read_exit(Reader& in, uint64_t time) {
  ForkEvent same_layout = read_fork(in, time);
  return {.time = time, .pid = same_layout.pid, .tid = same_layout.tid};
}

RawMapping read_place(Reader& in, uint64_t time) {
  RawMapping mapping;
  mapping.time = time;
  mapping.pid = in.u32();
  in.u32();  // tid
  mapping.start = in.u64();
  mapping.length = in.u64();
  mapping.file_offset = in.u64();
  return mapping;
}

RawMapping read_old_mapping(Reader& in, uint64_t time) {
  // The older form has no file: perf itself writes it, for the kernel.
  RawMapping mapping = read_place(in, time);
  mapping.path = in.cstring();
  return mapping;
}

RawMapping read_mapping(Reader& in, uint64_t time) {
  RawMapping mapping = read_place(in, time);
  uint32_t major = in.u32();
  uint32_t minor = in.u32();
  mapping.file.device = makedev(major, minor);
  mapping.file.inode = in.u64();
  mapping.file.generation = in.u64();
  in.u64();  // protection, flags
  mapping.path = in.cstring();
  return mapping;
}

KernelCodeEvent read_kernel_code(Reader& in, uint64_t time) {
  KernelCodeEvent event;
  event.time = time;
  event.address = in.u64();
  event.length = in.u32();
  in.u16();  // kind
  event.is_removed = (in.u16() & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0;
  event.name = in.cstring();
  return event;
}

CgroupEvent read_cgroup(Reader& in, uint64_t time) {
  CgroupEvent event;
  event.time = time;
  event.id = in.u64();
  event.path = in.cstring();
  return event;
}

ThrottleRecord read_throttle(Reader& in, uint64_t time, bool is_over) {
  in.u64();  // the time once more
  in.u64();  // the event's id
  in.u64();  // and that of its stream
  return {.time = time, .is_over = is_over};
}

// Reads the body of a record by its type, as sideband_record.h has them; no type is an error.
SidebandRecord read_body(Reader& in, uint64_t time, uint32_t type, uint16_t misc) {
  switch (type) {
    case PERF_RECORD_LOST:
      return read_lost(in, time);
    case PERF_RECORD_COMM:
      return read_comm(in, time, misc);
    case PERF_RECORD_EXIT:
      return read_exit(in, time);
    case PERF_RECORD_FORK:
      return read_fork(in, time);
    case PERF_RECORD_MMAP:
      return read_old_mapping(in, time);
    case PERF_RECORD_MMAP2:
      return read_mapping(in, time);
    case PERF_RECORD_KSYMBOL:
      return read_kernel_code(in, time);
    case PERF_RECORD_CGROUP:
      return read_cgroup(in, time);
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      return read_throttle(in, time, type == PERF_RECORD_UNTHROTTLE);
    default:
      return OtherRecord{.time = time};
  }
}

// The size of a KSYMBOL record grows by a trailer with each event that was given it before: the
// kernel's perf_event_ksymbol_output() adds to one header and never takes off. What lies behind
// the trailer means nothing then, so it is found from the front.
size_t trailer_of_kernel_code(Bytes record, size_t size) {
  constexpr size_t kName = kHeaderSize + 16;  // behind address, length, kind and flags
  size_t last = record.size() - size;
  auto name = load_cstring(record, kName);
  return name ? std::min(last, (kName + name->size() + 1 + 7) / 8 * 8) : last;
}

}  // namespace

std::optional<Bytes> first_record(Bytes data) {
  auto size = load<uint16_t>(data, offsetof(perf_event_header, size));
  // A size of 0 would never lead on.
  if (!size || *size < kHeaderSize)
    return std::nullopt;
  return slice(data, 0, *size);
}

std::optional<MappingOwner> owner_of_mapping(Bytes data) {
  auto type = load<uint32_t>(data, offsetof(perf_event_header, type));
  auto pid = load<uint32_t>(data, kHeaderSize);
  // MMAP2 begins with the pid, and the time is the trailer's second word.
  if (!type || *type != PERF_RECORD_MMAP2 || !pid || data.size() < kHeaderSize + kTrailerSize)
    return std::nullopt;
  return MappingOwner{*pid, load<uint64_t>(data, data.size() - kTrailerSize + 8).value()};
}

std::optional<ThreadName> thread_name_in(Bytes data) {
  constexpr size_t kTid = kHeaderSize + 4;
  constexpr size_t kName = kHeaderSize + 8;
  auto type = load<uint32_t>(data, offsetof(perf_event_header, type));
  auto misc = load<uint16_t>(data, offsetof(perf_event_header, misc));
  if (!type || *type != PERF_RECORD_COMM || !misc ||
      (*misc & PERF_RECORD_MISC_COMM_EXEC) != 0 || data.size() < kName + kTrailerSize)
    return std::nullopt;
  // The name ends where the trailer begins, whatever follows its NUL.
  size_t trailer = data.size() - kTrailerSize;
  auto name = load_cstring(data.first(trailer), kName);
  if (!name)
    return std::nullopt;
  return ThreadName{*load<uint32_t>(data, kTid), *load<uint64_t>(data, trailer + 8), *name};
}

uint64_t time_of(const SidebandRecord& record) {
  return std::visit([](const auto& r) { return r.time; }, record);
}

Result<SidebandRecord> parse_sideband_record(Bytes data) {
  Reader header(data);
  uint32_t type = header.u32();
  uint16_t misc = header.u16();
  uint16_t size = header.u16();
  if (!header.ok() || size != data.size() || size < kHeaderSize + kTrailerSize)
    return errorf("side-band record: {:#x} bytes, its header says {:#x}", data.size(), size);

  size_t trailer = place_of_trailer(data, kTrailerSize);
  // There for certain: the trailer lies within the record, whose size was checked above.
  uint64_t time = load<uint64_t>(data, trailer + 8).value();
  return parse_sideband_body(data.first(trailer).subspan(kHeaderSize), type, misc, time);
}

size_t place_of_trailer(Bytes record, size_t size) {
  bool is_kernel_code = load<uint32_t>(record, 0) == PERF_RECORD_KSYMBOL;
  return is_kernel_code ? trailer_of_kernel_code(record, size) : record.size() - size;
}

Result<SidebandRecord> parse_sideband_body(Bytes body, uint32_t type, uint16_t misc,
                                           uint64_t time) {
  Reader in(body);
  SidebandRecord record = read_body(in, time, type, misc);
  if (!in.ok())
    return in.error(fmt::format("side-band record of type {}", type));
  return record;
}

}  // namespace gosym
