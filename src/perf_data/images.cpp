#include "perf_data/images.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <optional>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "record/files/file_helper.h"
#include "record/files/image_catalog.h"

namespace gosym::perf_data {

namespace {

// The file that lies at the path of the image now, as a recorder would have read it; none where
// none can be read.
std::optional<RecordedImage> file_now(const RecordedImage& image, const std::string& symfs) {
  UniqueFd found = find_file(image.path, symfs);
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  auto file = reopen(found);
  if (!file)
    return std::nullopt;
  RecordedImage now = read_contents(*file, status).image;
  if (!now.problem.empty())
    return std::nullopt;
  return now;
}

// Why a file of which no build id was written is not taken for the one at its path; empty if it
// is.
std::string distrust(const RecordedImage& image, const RecordedImage& now,
                     const FilePlaces& places) {
  std::string_view problem;
  // An inode of 0 is not known, and below --symfs lie copies, which have others.
  if (image.is_deleted)
    problem = "it was deleted";
  else if (image.inode != 0 && image.inode != now.inode && places.symfs.empty())
    problem = "another file has its path now";
  else if (places.end_realtime_ns != 0 &&
           now.mtime_ns > static_cast<int64_t>(places.end_realtime_ns))
    problem = "the file was written since";
  return problem.empty() ? "" : fmt::format("perf wrote no build id of it, and {}", problem);
}

void take(RecordedImage& image, RecordedImage now) {
  now.id = image.id;
  now.path = std::move(image.path);
  now.is_deleted = image.is_deleted;
  image = std::move(now);
}

}  // namespace

ImageId Images::of(const RawMapping& mapping, const BuildId& id) {
  // Memory that no file backs has a name that is no path.
  if (!mapping.path.starts_with('/') || is_memory(mapping.path))
    return {};
  // One path may have stood for several files while perf recorded: the build id, or else
  // device and inode, tell them apart.
  auto [known, is_new] = known_.try_emplace({mapping.path, id.bytes, mapping.file}, ImageId{});
  if (!is_new)
    return known->second;
  RecordedImage image;
  image.id = known->second = static_cast<ImageId>(images_.size() + 1);
  image.path = mapping.path;
  image.device = mapping.file.device;
  image.inode = mapping.file.inode;
  image.is_deleted = strip_deleted(image.path);
  memory_ += sizeof(Image) + 2 * (sizeof(Key) + mapping.path.size()) + 512;  // and segments
  images_.push_back({std::move(image), id});
  return known->second;
}

std::vector<RecordedImage> Images::find(const std::map<std::string, BuildId>& build_ids,
                                        const FilePlaces& places,
                                        std::set<std::string>& unchecked) && {
  std::vector<RecordedImage> found;
  for (auto& [image, id] : images_) {
    // The id of the mapping itself is of the file that was mapped. Those of the header are by
    // path, from when perf ended.
    if (auto known = build_ids.find(image.path); id.bytes.empty() && known != build_ids.end())
      id = known->second;
    // More than these are mapped by no machine.
    constexpr size_t kMaxFiles = 1 << 16;
    auto now = found.size() < kMaxFiles ? file_now(image, places.symfs) : std::nullopt;
    bool is_known = !id.bytes.empty();
    if (now && !is_known)
      image.problem = distrust(image, *now, places);
    // The file at the path is used if its id says that it is the one, or, without an id, if
    // nothing speaks against it. With an id and another file there, the image keeps the id, by
    // which debug directories and debuginfod know it.
    if (now && (is_known ? id.is_of(now->gnu_build_id) : image.problem.empty())) {
      if (!is_known)
        unchecked.insert(image.path);
      take(image, *std::move(now));
    } else if (is_known) {
      image.gnu_build_id = id.bytes;
    } else if (image.problem.empty()) {
      image.problem = "perf wrote no build id of it";
    }
    found.push_back(std::move(image));
  }
  return found;
}

}  // namespace gosym::perf_data
