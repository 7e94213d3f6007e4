#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/recording.h"
#include "raw/reader.h"

namespace gosym::perf_data {

struct EventAttr {
  perf_event_attr attr{};
  std::vector<uint64_t> ids;
  std::string name;    // as perf tells it; empty: it does not
  uint32_t index = 0;  // among the events of the recording
};

// A build id as perf keeps it, which is of 20 bytes at most; shorter ones have zeros behind
// them where their size is not known.
struct BuildId {
  std::string bytes;
  bool has_size = false;
  // True for the id of a file.
  bool is_of(const std::string& gnu_build_id) const;
};
BuildId read_build_id(Bytes bytes, uint8_t size);

// All that a file tells beside its records.
struct Header {
  std::string version;  // of perf
  std::string host;
  std::string kernel_release;
  std::string machine;
  std::string command_line;
  uint32_t cpu_count = 0;
  std::vector<EventAttr> attrs;
  std::map<std::string, BuildId> build_ids;  // by the path of the file
  uint64_t first_time = 0;                   // of a sample; 0: not known
  uint64_t last_time = 0;
  // The clock of the samples at some time since 1970; 0: not known.
  uint64_t clock_ns = 0;
  uint64_t realtime_ns = 0;
  bool has_other_files = false;  // of a directory, which have the records
  std::set<std::string> unread;  // of its parts those that were not read

  bool is_stream = false;
  uint64_t records_begin = 0;
  uint64_t records_end = 0;
  bool is_cut = false;  // the recorder was killed
};

// All but the records. An error: it is no such file, or of a kind that is not read.
Result<Header> read_header(const raw::Input& file);

// Records by which streams tell what files have in their header.
void add_attr(Bytes record, Header& header);
void add_event_update(Bytes record, Header& header);
void add_feature(Bytes record, Header& header);
void add_build_id(Bytes record, Header& header);

// The events as recordings have them, by which each attr gets its index: several of one name
// and rate are one, as those of the two kinds of cores of a hybrid processor.
Result<std::vector<RecordedEvent>> number_events(std::vector<EventAttr>& attrs);

}  // namespace gosym::perf_data
