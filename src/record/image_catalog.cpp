#include "record/image_catalog.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/mapped_file.h"
#include "elf/build_ids.h"
#include "elf/image.h"
#include "record/image_file.h"
#include "record/sparse_copy.h"

namespace gosym {

namespace {

void describe(const elf::Image& parsed, RecordedImage& image) {
  elf::BuildIds ids = elf::build_ids(parsed);
  image.gnu_build_id = std::move(ids.gnu);
  image.go_build_id = std::move(ids.go);
  image.segments = load_segments(parsed);
}

struct ReadFile {
  RecordedImage image;
  std::optional<GoProgram> go_program;
};

Result<> read_contents(int file, ReadFile& read) {
  auto copy = SparseCopy::open(file);
  if (!copy)
    return std::move(copy).error();
  auto image = copy->read_image();
  if (!image)
    return std::move(image).error();
  describe(*image, read.image);
  read.go_program = read_go_program(*copy, *image);
  return Ok{};
}

ReadFile read_file(int file, const struct stat& status) {
  ReadFile read;
  read.image.device = status.st_dev;
  read.image.inode = status.st_ino;
  read.image.size = static_cast<uint64_t>(status.st_size);
  read.image.mtime_ns = mtime_ns(status);
  if (auto contents = read_contents(file, read); !contents)
    read.image.problem = contents.error().message();
  return read;
}

}  // namespace

ImageCatalog::Identified ImageCatalog::identify(const RawMapping& mapping) {
  if (mapping.file.inode == 0)
    return {};
  auto file = open_mapped_file(mapping);
  if (!file)
    return {identify_unopened(mapping, file.error().message()), {}};
  struct stat status {};
  if (fstat(file->get(), &status) != 0)
    return {identify_unopened(mapping, system_error("cannot be read", errno).message()), {}};

  Version version{status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                  mtime_ns(status)};
  ImageId& id = known_[version];
  if (id != ImageId{})
    return {latest_[mapping.file] = id, *std::move(file)};
  ReadFile read = read_file(file->get(), status);
  bool is_read = read.image.problem.empty();
  latest_[mapping.file] = id = add(mapping, std::move(read.image));
  if (read.go_program)
    go_programs_.emplace(id, *std::move(read.go_program));
  return {id, is_read ? *std::move(file) : UniqueFd(), /*is_new=*/true};
}

ImageId ImageCatalog::identify_unopened(const RawMapping& mapping, const std::string& problem) {
  ImageId& id = latest_[mapping.file];
  if (id == ImageId{}) {
    RecordedImage image;
    image.device = mapping.file.device;
    image.inode = mapping.file.inode;
    image.problem = problem;
    id = add(mapping, std::move(image));
  }
  return id;
}

ImageId ImageCatalog::add(const RawMapping& mapping, RecordedImage image) {
  image.id = static_cast<ImageId>(++count_);
  image.path = mapping.path;
  image.is_deleted = strip_deleted(image.path);
  return new_.emplace_back(std::move(image)).id;
}

std::vector<LoadSegment> load_segments(const elf::Image& image) {
  std::vector<LoadSegment> segments;
  for (const elf::Segment& segment : image.segments)
    if (segment.type == PT_LOAD)
      segments.push_back({.file_offset = segment.offset,
                          .file_size = segment.file_size,
                          .address = to_integer(segment.address),
                          .memory_size = segment.memory_size,
                          .flags = segment.flags});
  return segments;
}

const GoProgram* ImageCatalog::go_program(ImageId image) const {
  auto known = go_programs_.find(image);
  return known == go_programs_.end() ? nullptr : &known->second;
}

MapEvent event_of(RawMapping mapping, ImageId image) {
  return {.time = mapping.time,
          .pid = mapping.pid,
          .start = mapping.start,
          .length = mapping.length,
          .file_offset = mapping.file_offset,
          .image = image,
          .path = image == ImageId{} ? std::move(mapping.path) : ""};
}

std::vector<RecordedImage> ImageCatalog::take_new() {
  return std::exchange(new_, {});
}

}  // namespace gosym
