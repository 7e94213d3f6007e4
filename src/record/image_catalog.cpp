#include "record/image_catalog.h"

#include <sys/stat.h>

#include "record/file_helper.h"
#include "record/image_file.h"

namespace gosym {

void ImageCatalog::prepare(std::span<const SidebandRecord> records) {
  if (!helper_)
    return;
  for (const SidebandRecord& record : records)
    if (const auto* mapping = std::get_if<RawMapping>(&record);
        mapping && mapping->file.inode != 0)
      helper_->ask_ahead(*mapping);
}

ImageCatalog::Identified ImageCatalog::identify(const RawMapping& mapping) {
  if (mapping.file.inode == 0)
    return {};
  auto opened = helper_ ? helper_->open_mapped(mapping) : look_at_mapped_file(mapping);
  if (!opened)
    return {identify_unopened(mapping, opened.error().message()), {}};

  Version version{opened->device, opened->inode, opened->size, opened->mtime_ns};
  ImageId& id = known_[version];
  if (id != ImageId{})
    return {latest_[mapping.file] = id, std::move(opened->file)};
  struct stat status {};
  if (!opened->contents && fstat(opened->file.get(), &status) == 0)
    opened->contents = read_contents(opened->file, status);
  FileContents contents = std::move(opened->contents).value_or(FileContents{});
  bool is_read = contents.image.problem.empty();
  latest_[mapping.file] = id = add(mapping, std::move(contents.image));
  if (contents.go_program)
    go_programs_.emplace(id, *std::move(contents.go_program));
  return {id, is_read ? std::move(opened->file) : UniqueFd(), /*is_new=*/true,
          opened->is_at_path};
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
