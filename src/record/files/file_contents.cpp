#include "record/files/file_contents.h"

#include "base/mapped_file.h"
#include "elf/build_ids.h"
#include "record/files/sparse_copy.h"

namespace gosym {

namespace {

void describe(const elf::Image& parsed, RecordedImage& image) {
  elf::BuildIds ids = elf::build_ids(parsed);
  image.gnu_build_id = std::move(ids.gnu);
  image.go_build_id = std::move(ids.go);
  image.segments = load_segments(parsed);
}

Result<> read_contents(int file, FileContents& contents) {
  auto copy = SparseCopy::open(file);
  if (!copy)
    return std::move(copy).error();
  auto image = copy->read_image();
  if (!image)
    return std::move(image).error();
  describe(*image, contents.image);
  contents.go_program = read_go_program(*copy, *image);
  return Ok{};
}

}  // namespace

FileContents read_contents(const UniqueFd& file, const struct stat& status) {
  FileContents contents;
  contents.image.device = status.st_dev;
  contents.image.inode = status.st_ino;
  contents.image.size = static_cast<uint64_t>(status.st_size);
  contents.image.mtime_ns = mtime_ns(status);
  if (auto done = read_contents(file.get(), contents); !done)
    contents.image.problem = done.error().message();
  return contents;
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

}  // namespace gosym
