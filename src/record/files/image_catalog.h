#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/image.h"
#include "go/goroutine_layout.h"
#include "model/recording.h"
#include "record/sideband_record.h"

namespace gosym {

// A copy of the parts of a file that were read, each at its place, with zeros between them. It
// is memory of our own: whoever's code is sampled may cut his file short, and what was found in
// a mapping of it would be there no more. It takes as much memory as was read.
class SparseCopy {
public:
  // `fd` stays the caller's and must outlive the copy.
  static Result<SparseCopy> open(int fd);
  SparseCopy(SparseCopy&& other) noexcept;
  SparseCopy& operator=(SparseCopy&&) = delete;
  ~SparseCopy();

  // Copies the part of the extent that lies in the file, 8 MiB at most: the largest table of
  // sections that an ELF header can announce takes 4. Of one file 16 MiB are read at most, in
  // all.
  void read(elf::FileExtent extent);
  // Reads into a buffer and not into the copy: for what is only looked through. Gives the part
  // that lies in the file and fits.
  Bytes look(elf::FileExtent extent, std::span<std::byte> buffer) const;
  // The image that these bytes are, with its headers, the names of its sections and its notes
  // read; it borrows from them.
  Result<elf::Image> read_image();
  Bytes bytes() const { return {memory_, size_}; }

private:
  SparseCopy(int fd, std::byte* memory, size_t size, uint64_t left)
      : fd_(fd), memory_(memory), size_(size), left_(left) {}

  int fd_;
  std::byte* memory_;
  size_t size_;
  uint64_t left_;  // bytes that may still be read into it
};

// Facts about a Go program that the sampler needs to tell which goroutines its threads run.
struct GoProgram {
  std::string version;                      // "go1.23.4"
  std::optional<go::RuntimeLayout> layout;  // none: nobody has looked at this version
  // Distance from the thread pointer to the pointer to g, in bytes.
  int64_t offset = 0;
  // Place of a word that holds this offset in a process, as a distance from where the file that
  // its code is mapped from would begin. None: the linker knew the offset.
  std::optional<uint64_t> offset_at;

  // The address of that word in a process that has the code mapped so; 0 if there is none.
  uint64_t offset_at_in(const MapEvent& code) const {
    return offset_at ? code.start - code.file_offset + *offset_at : 0;
  }
};

// None for what is no Go program for x86-64 or arm64. Reads into the copy what else it needs of the file
// whose image that is.
std::optional<GoProgram> read_go_program(SparseCopy& copy, const elf::Image& image);

// Describes a file so that it is known again later, without its number and path; with the facts
// that the sampler needs of a Go program.
struct FileContents {
  RecordedImage image;
  std::optional<GoProgram> go_program;
};

// Reads headers and notes, never symbols. The image says if they cannot be read.
FileContents read_contents(const UniqueFd& file, const struct stat& status);

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
