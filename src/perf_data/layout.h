#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

// A perf.data file, as tools/perf/util/header.c of Linux writes it. Integers have the byte
// order of the machine that wrote it; only little-endian files are read.
//
//   file    := header, and the sections that this names
//   header  := "PERFILE2", u64 size of the header (104), u64 size of an entry of attrs,
//              section of attrs, section of records, section of event types (of no use),
//              256 bits: the features that are there
//   section := u64 offset, u64 size
//   attrs   := (perf_event_attr, section of u64 ids)*
//
// Behind the records comes a section for each feature, in their order. A recorder that was
// killed leaves 0 as the size of the records, and no features.
//
//   stream  := "PERFILE2", u64 size of the header (16), record*
//
// Records are those of record/sideband_record.h, in any order of time, and perf's own,
// whose types begin at 64.

namespace gosym::perf_data {

inline constexpr std::string_view kMagic = "PERFILE2";
inline constexpr std::string_view kOtherOrder = "2ELIFREP";
inline constexpr std::string_view kOldMagic = "PERFFILE";

inline constexpr uint64_t kFileHeaderSize = 104;
inline constexpr uint64_t kStreamHeaderSize = 16;

enum RecordType : uint32_t {
  kHeaderAttr = 64,   // perf_event_attr, u64 ids
  kTracingData = 66,  // u32 size; so many bytes follow the record, padded to 8
  kBuildId = 67,      // i32 pid, 20 bytes, u8 size of the id, 3 bytes, text: the path
  kAuxTraceInfo = 70,
  kAuxTrace = 71,       // u64 size, ...; so many bytes follow the record
  kEventUpdate = 78,    // u64 kind, u64 id; of kind 2 text: the event's name
  kHeaderFeature = 80,  // u64 feature, its section
  kCompressed = 81,     // a piece of a zstd stream of records
  kCompressed2 = 83,    // u64 size, such a piece, padded to 8
};
// Newer than the headers of the kernel that this is compiled with.
inline constexpr uint32_t kCallchainDeferred =
    22;  // u64 cookie, u64 count, count * u64 address

inline uint32_t type_of(Bytes record) {
  return load<uint32_t>(record, 0).value_or(0);
}
inline uint16_t misc_of(Bytes record) {
  return load<uint16_t>(record, 4).value_or(0);
}

enum class Feature : uint32_t {
  kTracingData = 1,
  kBuildId = 2,       // BUILD_ID records
  kHostName = 3,      // text := u32 size, so many bytes, of which NUL ends the text
  kOsRelease = 4,     // text
  kVersion = 5,       // text: of perf
  kArch = 6,          // text
  kNrCpus = 7,        // u32 present, u32 online
  kCommandLine = 11,  // u32 count, count * text
  kEventDesc = 12,  // u32 count, u32 size of an attr, count * (attr, u32 n, text, n * u64 ids)
  kAuxTrace = 18,
  kSampleTime = 21,  // u64 time of the first sample, u64 of the last
  kDirectory = 24,   // records are in other files of a directory
  kClockData = 29,   // u32 version, u32 clock, u64 time since 1970, u64 time of that clock
  kLastKnown = 31,
};
inline constexpr uint32_t kFeatureBits = 256;

// misc of a BUILD_ID record, and of a mapping: that it has a build id in the place of what
// tells its file.
inline constexpr uint16_t kHasIdSize = 1 << 15;
inline constexpr uint16_t kHasBuildId = 1 << 14;
inline constexpr size_t kBuildIdSize = 20;

}  // namespace gosym::perf_data
