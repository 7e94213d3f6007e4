#include "profile/location_table.h"

#include <algorithm>

namespace gosym {

namespace {

ProfileImage::Kind kind_of(const RecordedImage& image) {
  // Memory that no file on a disk holds has a path, but no segments to tell addresses by.
  bool is_code_of_its_own = image.segments.empty() && is_memory(image.path);
  return is_code_of_its_own ? ProfileImage::Kind::kAnonymous : ProfileImage::Kind::kFile;
}

// The image of a mapping that the recording does not describe. MapEvent::image is 0 for what no
// file backs.
ProfileImage make_image(const MapEvent& event) {
  ProfileImage image;
  image.file.id = event.image;
  image.file.path = event.path;
  if (event.path == "[vdso]")
    image.kind = ProfileImage::Kind::kVdso;
  else if (event.image == ImageId{})
    image.kind = ProfileImage::Kind::kAnonymous;
  else
    image.file.problem = "not described in the recording";
  return image;
}

}  // namespace

LocationTable::LocationTable(std::vector<RecordedImage> images, std::vector<Event> events,
                             std::span<const RecordedPerfMap> perf_maps)
    : kernel_history_(events), processes_(std::move(events)) {
  for (RecordedImage& image : images) {
    // Without a build id copies could differ, though size and time of change are the same.
    if (ImageIdentity build(image); !build.build_id.empty())
      builds_[std::move(build)].push_back(image.id);
    recorded_.insert_or_assign(image.id, std::move(image));
  }
  // The memory of all ToldCode together is bounded: a map of 63 MiB has some million pieces.
  size_t pieces = 2'000'000;
  told_code_.reserve(perf_maps.size());
  for (const RecordedPerfMap& map : perf_maps)
    told_code_.emplace_back(map, pieces);
  for (const RecordedPerfMap& map : perf_maps)
    perf_maps_[processes_.address_space(map.pid, map.time).program] =
        static_cast<uint32_t>(&map - perf_maps.data() + 1);
  // Maps of processes that no event told of would all be those of one unknown program.
  perf_maps_.erase(AddressSpace::kUnknown);
}

AddressSpace LocationTable::address_space(uint32_t pid, uint64_t time) const {
  AddressSpace space = processes_.address_space(pid, time);
  if (uint32_t map = perf_map_of(space.program))
    space.told_code = told_code_[map - 1].version_at(time);
  return space;
}

LocationId LocationTable::in_user(Profile& profile, AddressSpace space, uint64_t address,
                                  bool is_return) {
  // An address of a program with as many mappings is one place: it is looked for once.
  SeenAddress seen = {address, space.program, space.map_count, space.told_code, is_return};
  auto [known, is_new] = seen_.try_emplace(seen);
  if (is_new)
    known.value() = location(profile, space, mapping_at(profile, space, address), seen);
  return known->second;
}

std::optional<std::optional<LocationId>> LocationTable::known_word(const Profile& profile,
                                                                   AddressSpace space,
                                                                   uint64_t address) const {
  SeenAddress seen = {address, space.program, space.map_count, space.told_code, true};
  auto known = seen_.find(seen);
  if (known == seen_.end())
    return std::nullopt;
  // A location without a mapping was made for an address of a stack; as a word it is no code.
  bool is_code = profile.locations[to_index(known->second)].mapping != kNoMapping;
  return is_code ? std::optional(known->second) : std::optional<LocationId>();
}

std::optional<LocationId> LocationTable::of_word(Profile& profile, AddressSpace space,
                                                 uint64_t address) {
  constexpr size_t kMaxWordLocations = 1'000'000;
  if (auto known = known_word(profile, space, address))
    return *known;
  SeenAddress seen = {address, space.program, space.map_count, space.told_code, true};
  MappingId mapping = mapping_at(profile, space, address);
  if (mapping == kNoMapping || word_locations_ == kMaxWordLocations)
    return std::nullopt;
  size_t known_locations = profile.locations.size();
  LocationId id = location(profile, space, mapping, seen);
  word_locations_ += profile.locations.size() - known_locations;
  return seen_[seen] = id;
}

LocationId LocationTable::in_kernel(Profile& profile, uint32_t count, uint64_t address,
                                    bool is_return) {
  // The call lies before the address that it returns to, and may be the last code of a
  // function.
  uint64_t call = address - (is_return ? 1 : 0);
  std::string_view name = kernel_history_.find(call, count);
  return location(profile, {address, kKernelMapping, profile.strings.intern(name), is_return,
                            ToldCode::kAll});
}

// The memory may be that of a parent, whose perf map has no time for its children.
LocationId LocationTable::location(Profile& profile, AddressSpace space, MappingId mapping,
                                   const SeenAddress& seen) {
  LocationKey key = {seen.address, mapping, StringId{}, seen.is_return, ToldCode::kAll};
  uint32_t map = profile.mappings[to_index(mapping)].perf_map;
  // Only anonymous code has a perf map.
  if (map != 0 && map == perf_map_of(space.program))
    key.told_size = told_code_[map - 1].size_of(
        space.told_code, Location{.is_return = seen.is_return != 0}.call_of(seen.address));
  return location(profile, key);
}

LocationId LocationTable::location(Profile& profile, const LocationKey& key) {
  auto next = static_cast<LocationId>(profile.locations.size());
  auto [slot, is_new] = locations_.try_emplace(key, next);
  if (!is_new)
    return slot->second;

  Location location;
  location.mapping = key.mapping;
  location.address = RuntimeAddress{key.address};
  location.kernel_name = key.kernel_name;
  location.is_return = key.is_return != 0;
  location.told_size = key.told_size;
  // Image addresses are computed here once: whatever comes after replay no longer needs where
  // files were mapped.
  location.image_address = profile.find_image_address(location);
  profile.locations.push_back(location);
  return next;
}

LocationId LocationTable::left_out(Profile& profile, uint32_t missing) {
  auto next = static_cast<LocationId>(profile.locations.size());
  auto [slot, is_new] = left_out_.try_emplace(missing, next);
  if (is_new) {
    profile.locations.emplace_back();
    profile.locations.back().address = RuntimeAddress{missing};
    profile.locations.back().unnamed = Unnamed::kLeftOut;
  }
  return slot->second;
}

LocationId LocationTable::call_from_c(Profile& profile) {
  if (!call_from_c_) {
    call_from_c_ = static_cast<LocationId>(profile.locations.size());
    profile.locations.emplace_back();
    profile.locations.back().unnamed = Unnamed::kCallFromC;
  }
  return *call_from_c_;
}

MappingId LocationTable::mapping_at(Profile& profile, AddressSpace space, uint64_t address) {
  const MapEvent* event = processes_.find(space, address);
  if (!event)
    return kNoMapping;
  // Most locations are in mappings of few events.
  auto [of_event, is_new_event] = mapping_of_event_.try_emplace(event, kNoMapping);
  if (!is_new_event)
    return of_event->second;

  Mapping mapping = {image_of(profile, *event), event->start, event->limit(),
                     event->file_offset, 0};
  if (profile.images[mapping.image].kind == ProfileImage::Kind::kAnonymous)
    mapping.perf_map = perf_map_of(processes_.address_space(event->pid, event->time).program);
  // Processes of one program that are mapped alike share mappings, and so locations: a fork
  // makes nothing new.
  MappingKey key = {mapping.image, mapping.start, mapping.limit, mapping.file_offset,
                    mapping.perf_map};
  auto next = static_cast<MappingId>(profile.mappings.size());
  auto [slot, is_new] = mappings_.try_emplace(key, next);
  if (is_new)
    profile.mappings.push_back(mapping);
  of_event.value() = slot->second;
  return slot->second;
}

uint32_t LocationTable::image_of(Profile& profile, const MapEvent& event) {
  auto next = static_cast<uint32_t>(profile.images.size());
  auto recorded = recorded_.find(event.image);
  // Mappings without an image in the recording are told apart by their paths, such as [anon].
  if (event.image == ImageId{} || recorded == recorded_.end()) {
    auto [known, is_new] = unrecorded_images_.try_emplace(event.path, next);
    if (is_new)
      profile.images.push_back(make_image(event));
    return known->second;
  }
  if (auto known = images_.find(event.image); known != images_.end())
    return known->second;
  ProfileImage image{kind_of(recorded->second), recorded->second};
  // Containers have copies of one build, each a file of its own: a function is one row for all.
  if (auto copies = builds_.find(ImageIdentity(image.file)); copies != builds_.end())
    image.copies = copies->second;
  std::erase(image.copies, event.image);
  for (ImageId copy : image.copies)
    images_.emplace(copy, next);
  images_.emplace(event.image, next);
  profile.images.push_back(std::move(image));
  return next;
}

// The last one that its process told while it ran the program.
uint32_t LocationTable::perf_map_of(uint32_t program) const {
  auto known = perf_maps_.find(program);
  return known == perf_maps_.end() ? 0 : known->second;
}

uint64_t LocationTable::memory() const {
  return memory_of_table(seen_) + memory_of_table(locations_) + memory_of_table(mappings_) +
         memory_of_table(mapping_of_event_);
}

}  // namespace gosym
