#include "images/recorded_binary.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/file_tree.h"
#include "base/text.h"
#include "elf/image.h"

// A file is told to be the recorded one by its build ids, or, without any that tell files
// apart, by size, segments and time of change (difference()). A file that is not taken gives an
// Unnamed, which is why its code has no names, and words for the user.

namespace gosym {

namespace {

bool has_segments(const elf::Image& now, const std::vector<LoadSegment>& recorded) {
  return elf::load_segments(now) == recorded;
}

elf::BuildIds ids_of(const RecordedImage& image) {
  return {.gnu = image.gnu_build_id, .go = image.go_build_id, .package = {}};
}

// Go's own ids have four parts; others, such as "redacted", may be those of any program.
bool tells_files_apart(const elf::BuildIds& ids) {
  return !ids.gnu.empty() || std::ranges::count(ids.go, '/') == 3;
}

std::string gnu_build_id_text(std::string_view id) {
  return id.empty() ? "no GNU build id" : "GNU build id " + hex(id);
}

// The difference between the recorded file and this one; empty if nothing does. `mtime_ns` is
// since 1970; none: it tells nothing.
std::string difference(const RecordedImage& recorded, const elf::Image& now,
                       std::optional<int64_t> mtime_ns) {
  elf::BuildIds ids = elf::build_ids(now);
  if (recorded.gnu_build_id != ids.gnu)
    return fmt::format("it has {}, the recorded one had {}", gnu_build_id_text(ids.gnu),
                       gnu_build_id_text(recorded.gnu_build_id));
  if (recorded.go_build_id != ids.go)
    return fmt::format("Go build id is '{}', was '{}'", printable(ids.go),
                       printable(recorded.go_build_id));
  if (tells_files_apart(ids))
    return {};
  if (recorded.size != now.file.size())
    return fmt::format("size is {}, was {}", now.file.size(), recorded.size);
  if (!has_segments(now, recorded.segments))
    return "its segments differ, and it has no build id";
  if (mtime_ns && recorded.mtime_ns != *mtime_ns)
    return "it was written since, and has no build id to tell whether it is the same";
  return {};
}

RecordedBinary refuse(Unnamed unnamed, const std::string& problem) {
  RecordedBinary opened;
  opened.unnamed = unnamed;
  opened.problem = problem;
  return opened;
}

// A copy in a store or below a debug directory, where the file is gone from its place: stacks
// are walked by it too. A file of debugging information alone has no code, so other segments.
// Null if there is none.
std::shared_ptr<Binary> stored_copy(const RecordedImage& image,
                                    const DebugFileOptions& options) {
  if (!tells_files_apart(ids_of(image)))
    return nullptr;
  auto found = open_stored_file(store_id(image), options);
  bool is_copy = found && *found && has_segments((*found)->binary->image(), image.segments);
  return is_copy ? (*found)->binary : nullptr;
}

}  // namespace

bool is_sealed(const UniqueFd& file) {
  int seals = fcntl(file.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

bool is_told_by_time(const RecordedImage& image) {
  return image.problem.empty() && !tells_files_apart(ids_of(image));
}

std::string store_id(const RecordedImage& image) {
  return elf::store_id(ids_of(image));
}

std::vector<std::string> places_in_stores(const RecordedImage& image,
                                          const std::vector<std::string>& stores) {
  constexpr size_t kShortestId = 2;  // a folder's name, and a file's
  std::vector<std::string> places;
  std::string id = store_id(image);
  if (id.size() >= kShortestId)
    for (const std::string& store : stores)
      places.push_back(store_path(store, id));
  return places;
}

RecordedBinary open_recorded_binary(const RecordedImage& image, const DebugFileOptions& options,
                                    const HeldFiles& held) {
  if (auto kept = held.find(image.id); kept != held.end())
    // A file that the recording keeps is the one that ran, so that its path is not looked at.
    return check_recorded_binary(image, kept->second, /*is_held=*/true);
  RecordedBinary at_path = check_recorded_binary(image, find_file(image.path, options.symfs));
  // A file that was not identified when it was recorded cannot be known again anywhere.
  if (at_path.binary || at_path.unnamed == Unnamed::kUnidentified)
    return at_path;
  std::shared_ptr<Binary> copy = stored_copy(image, options);
  return copy ? RecordedBinary{.binary = std::move(copy)} : at_path;
}

RecordedBinary check_recorded_binary(const RecordedImage& image, const UniqueFd& found,
                                     bool is_held) {
  int cause = errno;
  if (!image.problem.empty())
    return refuse(Unnamed::kUnidentified, "not identified when recorded: " + image.problem);
  // If the file was deleted, another may have taken its place: then it is that which differs.
  Unnamed absent = image.is_deleted ? Unnamed::kDeleted : Unnamed::kMissing;
  if (!found)
    return refuse(absent, std::strerror(cause));
  // The copy of a file in a recording lacks its debugging information if that is large.
  auto file = MappedFile::open(found, /*may_have_holes=*/is_held);
  if (!file)
    return refuse(absent, file.error().message());
  auto binary = Binary::open(*std::move(file));
  if (!binary)
    return refuse(Unnamed::kChanged, binary.error().message());
  const elf::Image& now = (*binary)->image();
  // The copy has a time of its own, which tells nothing.
  bool is_copy = is_held && is_sealed(found);
  std::string differs =
      difference(image, now, is_copy ? std::nullopt : std::optional((*binary)->mtime_ns()));
  if (image.is_deleted && !is_held && differs.empty() &&
      !tells_files_apart(elf::build_ids(now)))
    differs = "that was deleted, and has no build id";
  if (!differs.empty())
    return refuse(image.is_deleted ? Unnamed::kDeleted : Unnamed::kChanged,
                  "not the file that was recorded: " + differs);
  return {.binary = *std::move(binary)};
}

}  // namespace gosym
