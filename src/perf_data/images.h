#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/recording.h"
#include "perf_data/header.h"
#include "record/sideband_record.h"

namespace gosym::perf_data {

// Facts beside a file: where those are looked for that were mapped, and when the
// recording had ended.
struct FilePlaces {
  std::string symfs;             // as DebugFileOptions has it
  uint64_t end_realtime_ns = 0;  // since 1970; 0: not known
};

// The files of mappings. perf writes neither their segments nor, of some, a build id: both are
// those of the file that lies at the path, if it is this one.
class Images {
public:
  // 0: no file backs it. `id` is what the mapping has of a build id, which may be empty.
  ImageId of(const RawMapping& mapping, const BuildId& id);

  // `build_ids` are of paths. Gives the images, and puts into `unchecked` the paths of those
  // that have no build id to tell whether they are the ones that are there now.
  std::vector<RecordedImage> find(const std::map<std::string, BuildId>& build_ids,
                                  const FilePlaces& places,
                                  std::set<std::string>& unchecked) &&;

  uint64_t memory() const { return memory_; }

private:
  struct Image {
    RecordedImage recorded;
    BuildId id;
  };
  using Key = std::tuple<std::string, std::string, FileKey>;
  std::map<Key, ImageId> known_;
  std::vector<Image> images_;
  uint64_t memory_ = 0;
};

}  // namespace gosym::perf_data
