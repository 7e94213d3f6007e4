#include "record/files/image_catalog.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "record/files/file_helper.h"
#include "record/files/image_file.h"

namespace gosym {

namespace {

// Files that are held open keep their place on the disk when they are deleted, and their file
// systems from being unmounted.
constexpr uint64_t kMaxHoldTime = 10'000'000'000;

// The programs and libraries of a host that are at work; others have a use for descriptors too.
size_t max_held() {
  constexpr rlim_t kMaxHeldFiles = 256;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(kMaxHeldFiles, limit.rlim_cur / 8)
                                               : kMaxHeldFiles;
}

}  // namespace

// Most mappings are of the same few files: to look at each of them anew through the helper took
// more than half of a recorder's time.
void ImageCatalog::prepare(std::span<const SidebandRecord> records) {
  if (!helper_)
    return;
  if (uint64_t now = monotonic_ns(); now - held_since_ > kMaxHoldTime) {
    held_since_ = now;
    held_.clear();
  }
  for (const SidebandRecord& record : records)
    if (const auto* mapping = std::get_if<RawMapping>(&record);
        mapping && mapping->file.inode != 0 && !held_.contains(mapping->file))
      helper_->ask_ahead(*mapping);
}

ImageCatalog::Identified ImageCatalog::identify(const RawMapping& mapping) {
  if (mapping.file.inode == 0)
    return {};
  if (auto held = find_held(mapping))
    return *std::move(held);
  auto opened = helper_ ? helper_->open_mapped(mapping) : look_at_mapped_file(mapping);
  if (!opened)
    return {identify_unopened(mapping, opened.error().message()), {}};

  // A file keeps its number under another path or mapping; one that was written anew gets
  // another.
  Version version{opened->device, opened->inode, opened->size, opened->mtime_ns};
  ImageId& id = known_[version];
  if (id != ImageId{}) {
    hold(mapping, version, opened->file, id);
    return {latest_[mapping.file] = id, std::move(opened->file)};
  }
  // It is new, so it is read: by the helper already, if that opened it.
  struct stat status {};
  if (!opened->contents && fstat(opened->file.get(), &status) == 0)
    opened->contents = read_contents(opened->file, status);
  FileContents contents = std::move(opened->contents).value_or(FileContents{});
  bool is_read = contents.image.problem.empty();
  latest_[mapping.file] = id = add(mapping, std::move(contents.image), opened->is_at_path);
  hold(mapping, version, opened->file, id);
  if (contents.go_program)
    go_programs_.emplace(id, *std::move(contents.go_program));
  return {id, is_read ? std::move(opened->file) : UniqueFd(), /*is_new=*/true,
          opened->is_at_path};
}

// Written anew it is another image; so its size and time are looked at each time.
std::optional<ImageCatalog::Identified> ImageCatalog::find_held(
    const RawMapping& mapping) const {
  auto held = held_.find(mapping.file);
  struct stat status {};
  if (held == held_.end() || fstat(held->second.file.get(), &status) != 0)
    return std::nullopt;
  auto known = known_.find(
      {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), mtime_ns(status)});
  if (known == known_.end() || known->second != held->second.image)
    return std::nullopt;
  UniqueFd file(fcntl(held->second.file.get(), F_DUPFD_CLOEXEC, 0));
  if (!file)
    return std::nullopt;
  return Identified{known->second, std::move(file)};
}

// A file is only held under a key that is surely its own: the kernel may report another device
// than stat(2) does, as for subvolumes of btrfs, and then several files may have the key.
void ImageCatalog::hold(const RawMapping& mapping, const Version& version, const UniqueFd& file,
                        ImageId image) {
  bool is_this = version.device == mapping.file.device && version.inode == mapping.file.inode;
  if (!file || !is_this)
    return;
  if (held_.size() >= max_held())
    held_.clear();
  if (UniqueFd copy{fcntl(file.get(), F_DUPFD_CLOEXEC, 0)})
    held_.insert_or_assign(mapping.file, Held{std::move(copy), image});
}

ImageId ImageCatalog::identify_unopened(const RawMapping& mapping, const std::string& problem) {
  ImageId& id = latest_[mapping.file];
  if (id == ImageId{}) {
    RecordedImage image;
    image.device = mapping.file.device;
    image.inode = mapping.file.inode;
    image.problem = problem;
    id = add(mapping, std::move(image), /*is_at_path=*/false);
  }
  return id;
}

// A file may really have the name that the kernel gives to those that were deleted.
ImageId ImageCatalog::add(const RawMapping& mapping, RecordedImage image, bool is_at_path) {
  image.id = static_cast<ImageId>(++count_);
  image.path = mapping.path;
  image.is_deleted = !is_at_path && strip_deleted(image.path);
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
