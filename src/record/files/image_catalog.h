#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "model/recording.h"
#include "record/files/file_contents.h"
#include "record/perf/sideband_record.h"

namespace gosym {

class FileHelper;

// Gives every file that was mapped during a recording its number, and reads once what is needed
// to know it again later: size, time, ids and segments; and what the sampler needs of a Go
// program. It looks at headers and notes, never at symbols.
class ImageCatalog {
public:
  struct Identified {
    ImageId image{};
    UniqueFd file;  // open for reading; none: not to be read
    bool is_new = false;
    bool is_at_path = false;  // if it is new: its path leads to it
  };

  // With a helper, which must outlive the catalog, files are opened by that.
  explicit ImageCatalog(FileHelper* helper = nullptr) : helper_(helper) {}

  // Announces mappings that identify() will be called for, in this order, among other things:
  // with a helper their files are asked for at once.
  void prepare(std::span<const SidebandRecord> records);

  // 0 if no file backs the mapping. A file that cannot be opened gets a number as well; its
  // image says why.
  Identified identify(const RawMapping& mapping);

  // Null for an image that is no Go program.
  const GoProgram* go_program(ImageId image) const;

  // The images identified since the last call.
  std::vector<RecordedImage> take_new();

private:
  // A file that is written anew keeps its inode.
  struct Version {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t mtime_ns;
    auto operator<=>(const Version&) const = default;
  };
  // The file of an image, held open: as long as that is so no other has its inode.
  struct Held {
    UniqueFd file;
    ImageId image{};
  };
  std::optional<Identified> find_held(const RawMapping& mapping) const;
  void hold(const RawMapping& mapping, const Version& version, const UniqueFd& file,
            ImageId image);
  ImageId identify_unopened(const RawMapping& mapping, const std::string& problem);
  ImageId add(const RawMapping& mapping, RecordedImage image, bool is_at_path);

  FileHelper* helper_;
  std::map<Version, ImageId> known_;
  std::map<FileKey, Held> held_;
  uint64_t held_since_ = 0;            // no file was held before then
  std::map<FileKey, ImageId> latest_;  // for files that can no longer be opened
  std::map<ImageId, GoProgram> go_programs_;
  std::vector<RecordedImage> new_;
  uint32_t count_ = 0;
};

// Makes the event that the recording has for a mapping.
MapEvent event_of(RawMapping mapping, ImageId image);

}  // namespace gosym
