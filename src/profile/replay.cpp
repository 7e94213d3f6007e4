#include "profile/replay.h"

#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/sequence_pool.h"
#include "profile/kernel_history.h"
#include "profile/process_history.h"
#include "profile/sample_counter.h"

namespace gosym {

namespace {

// Linux maps no file with more program headers than fit into 64 KiB (load_elf_phdrs).
constexpr size_t kMaxSegments = 65536 / sizeof(Elf64_Phdr);

// The upper half of memory, as x86-64 and arm64 have it: the same in every profile, so that
// profiles can be merged.
constexpr uint64_t kKernelStart = 0xffff800000000000;
constexpr uint64_t kKernelLimit = UINT64_MAX;

// Images and mappings 0 and 1, as profile.h has them.
void add_fixed_mappings(Profile& profile) {
  ProfileImage none;
  none.kind = ProfileImage::Kind::kAnonymous;
  ProfileImage kernel;
  kernel.kind = ProfileImage::Kind::kKernel;
  kernel.file.path = "[kernel.kallsyms]";
  profile.images = {none, kernel};
  profile.mappings = {{}, {1, kKernelStart, kKernelLimit, 0}};
}

ProfileImage::Kind kind_of(const RecordedImage& image) {
  bool is_code_of_its_own = image.segments.empty() && is_memory(image.path);
  return is_code_of_its_own ? ProfileImage::Kind::kAnonymous : ProfileImage::Kind::kFile;
}

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

// Numbers are not used again while the machine runs.
tsl::robin_map<uint64_t, std::string> cgroups_in(std::span<const Event> events) {
  tsl::robin_map<uint64_t, std::string> cgroups;
  for (const Event& event : events)
    if (const auto* cgroup = std::get_if<CgroupEvent>(&event))
      cgroups[cgroup->id] = cgroup->path;
  return cgroups;
}

// To two digits: stacks that differ in what is left out of them would otherwise seldom be the
// same.
uint32_t rounded(uint32_t missing) {
  uint32_t unit = 1;
  while (missing / unit >= 100)
    unit *= 10;
  return (missing + unit / 2) / unit * unit;
}

}  // namespace

std::optional<ImageAddress> to_image_address(const Mapping& mapping, const RecordedImage& image,
                                             RuntimeAddress address) {
  uint64_t offset = mapping.file_offset + (to_integer(address) - mapping.start);
  size_t count = std::min(image.segments.size(), kMaxSegments);
  for (const LoadSegment& segment : std::span(image.segments).first(count)) {
    bool is_code = (segment.flags & PF_X) != 0;
    if (is_code && offset - segment.file_offset < segment.file_size)
      return ImageAddress{segment.address + (offset - segment.file_offset)};
  }
  return std::nullopt;
}

class Replay::Tables {
public:
  Tables(RecordingInfo info, std::vector<RecordedImage> images, std::vector<Event> events,
         std::span<const RecordedPerfMap> perf_maps, GroupBy group_by);

  std::string_view comm(const RecordedSample& sample);
  std::string_view cgroup(const RecordedSample& sample) const;
  uint32_t number_stack(std::span<const uint64_t> stack) { return raw_stacks_.intern(stack); }
  uint32_t number_top(std::span<const StackWord> top) { return raw_tops_.number(top); }
  uint32_t number_labels(std::span<const Label> labels);
  void add(const RecordedSample& sample, const Numbers& numbers);
  uint64_t memory() const;
  bool find_callers(uint64_t least, const FindCallers& find);
  void set_begin(uint64_t time, uint64_t later) {
    begin_ = time;
    timeline_begin_ = later;
  }
  Replayed finish() &&;

private:
  // Keys of the tables below, made of integers of one size because they are hashed by bytes.
  struct StackContext {
    uint32_t program;
    uint32_t map_count;
    uint32_t kernel_count;  // as KernelHistory has it; 0 without a kernel stack
    uint32_t end;
    uint32_t goroutine_start;
    uint32_t gap;
    uint32_t missing;  // as it is shown
    bool operator==(const StackContext&) const = default;
  };
  struct SeenStack {
    uint32_t setting;  // there are few, and the table of all stacks is half as large
    uint32_t kernel;
    uint32_t user;
    uint32_t top;
    uint32_t frame_offset;
    bool operator==(const SeenStack&) const = default;
  };
  struct SeenAddress {
    uint64_t address;
    uint32_t program;
    uint32_t map_count;
    uint64_t is_return;
    bool operator==(const SeenAddress&) const = default;
  };
  struct SeenTop {
    uint32_t program;
    uint32_t map_count;
    uint64_t top;
    bool operator==(const SeenTop&) const = default;
  };
  struct LocationKey {
    uint64_t address;
    MappingId mapping;
    StringId kernel_name;
    uint64_t is_return;
    bool operator==(const LocationKey&) const = default;
  };
  struct MappingKey {
    uint64_t image;
    uint64_t start;
    uint64_t limit;
    uint64_t file_offset;
    uint64_t perf_map;
    bool operator==(const MappingKey&) const = default;
  };

  LocationId user_location(AddressSpace space, uint64_t address, bool is_return);
  StackId add_stack(const StackContext& setting, const Numbers& numbers,
                    const RecordedSample& sample);
  uint32_t top(AddressSpace space, uint32_t number, std::span<const StackWord> words);
  // `count` is that of a setting.
  LocationId kernel_location(uint32_t count, uint64_t address, bool is_return);
  LocationId location(const LocationKey& key);
  LocationId left_out(uint32_t missing);
  MappingId mapping_at(AddressSpace space, uint64_t address);
  uint32_t image_of(const MapEvent& event);
  uint32_t perf_map_of(const MapEvent& event) const;

  uint32_t step_of(uint64_t time) const {
    return group_by_.time_step == 0 ? 0
                                    : static_cast<uint32_t>(std::min<uint64_t>(
                                          time / group_by_.time_step, UINT32_MAX));
  }

  GroupBy group_by_;
  uint64_t begin_ = 0;
  uint64_t timeline_begin_ = 0;                    // since then
  tsl::robin_map<uint64_t, std::string> cgroups_;  // paths
  KernelHistory kernel_history_;
  ProcessHistory history_;
  tsl::robin_map<ImageId, RecordedImage> recorded_;
  tsl::robin_map<uint32_t, uint32_t> perf_maps_;  // by program, numbered as in Mapping
  SequencePool<uint64_t> raw_stacks_;
  SequenceNumbers<StackWord> raw_tops_;
  size_t word_locations_ = 0;  // that were made for words of tops
  SequencePool<ProfileLabel> label_sets_;
  std::string unknown_comm_;          // that comm() gave last
  std::vector<LocationId> resolved_;  // scratch of add_stack()

  tsl::robin_map<StackContext, uint32_t, BytesHash> settings_;
  tsl::robin_map<SeenStack, StackId, BytesHash> seen_;
  tsl::robin_map<SeenAddress, LocationId, BytesHash> seen_addresses_;
  std::vector<ProfileLabel> resolved_labels_;          // scratch of number_labels()
  tsl::robin_map<SeenTop, uint32_t, BytesHash> tops_;  // that dumps_ has
  SampleCounter samples_;
  tsl::robin_map<LocationKey, LocationId, BytesHash> locations_;
  tsl::robin_map<uint32_t, LocationId> left_out_;  // by the number of frames
  tsl::robin_map<MappingKey, MappingId, BytesHash> mappings_;
  tsl::robin_map<const MapEvent*, MappingId> mapping_of_event_;
  tsl::robin_map<ImageId, uint32_t> images_;
  tsl::robin_map<std::string, uint32_t> unrecorded_images_;  // by path
  Profile profile_;
  StackDumps dumps_;
};

Replay::Tables::Tables(RecordingInfo info, std::vector<RecordedImage> images,
                       std::vector<Event> events, std::span<const RecordedPerfMap> perf_maps,
                       GroupBy group_by)
    : group_by_(group_by),
      cgroups_(cgroups_in(events)),
      kernel_history_(events),
      history_(std::move(events)) {
  label_sets_.intern({});
  profile_.info = std::move(info);
  add_fixed_mappings(profile_);
  profile_.timelines.resize(profile_.info.events.size());
  profile_.time_step = group_by.time_step;
  for (RecordedImage& image : images)
    recorded_.insert_or_assign(image.id, std::move(image));
  for (const RecordedPerfMap& map : perf_maps)
    perf_maps_[history_.address_space(map.pid, map.time).program] =
        static_cast<uint32_t>(&map - perf_maps.data() + 1);
  perf_maps_.erase(AddressSpace::kUnknown);
}

std::string_view Replay::Tables::comm(const RecordedSample& sample) {
  std::string_view name = history_.comm(sample.pid, sample.tid, sample.time);
  if (!name.empty())
    return name;
  return unknown_comm_ = fmt::format(":{}", sample.tid);
}

std::string_view Replay::Tables::cgroup(const RecordedSample& sample) const {
  auto known = cgroups_.find(sample.cgroup);
  return known == cgroups_.end() ? std::string_view() : known->second;
}

void Replay::Tables::add(const RecordedSample& sample, const Numbers& numbers) {
  AddressSpace space = history_.address_space(sample.pid, sample.time);
  StackContext setting = {
      space.program,
      space.map_count,
      sample.kernel_stack.empty() ? 0 : kernel_history_.count_at(sample.time),
      static_cast<uint32_t>(sample.user_end),
      sample.goroutine_start,
      sample.gap,
      rounded(sample.missing)};
  auto number = settings_.try_emplace(setting, static_cast<uint32_t>(settings_.size()));
  SeenStack seen = {number.first->second, numbers.kernel_stack, numbers.user_stack, numbers.top,
                    static_cast<uint32_t>(sample.frame_offset)};
  auto [known, is_new] = seen_.try_emplace(seen);
  if (is_new)
    known.value() = add_stack(setting, numbers, sample);

  // The recorder's first samples may be a little older than its note of when it began.
  uint64_t since_begin = sample.time - std::min(sample.time, begin_);
  SampleCount counted = {
      .stack = known->second,
      .pid = sample.pid,
      .tid = group_by_.has_tids ? sample.tid : 0,
      .comm = profile_.strings.intern(comm(sample)),
      .count = 1,
      .label_set = numbers.label_set,
      .event = sample.event,
      .goid = group_by_.has_goids ? sample.goid : 0,
      .cgroup = profile_.strings.intern(cgroup(sample)),
      .weight = sample.weight,
      .skipped = profile_.skipped_in(sample.weight, sample.event),
      .cpu = group_by_.has_cpus ? sample.cpu : 0,
      .step = step_of(group_by_.time_offset + since_begin),
      .state = profile_.strings.intern(sample.state),
      .waker = group_by_.has_wakers ? profile_.strings.intern(sample.waker) : StringId{}};
  samples_.add(counted);
  profile_.timelines[sample.event].add(since_begin - std::min(since_begin, timeline_begin_),
                                       profile_.amount(counted));
}

StackId Replay::Tables::add_stack(const StackContext& setting, const Numbers& numbers,
                                  const RecordedSample& sample) {
  AddressSpace space = {setting.program, setting.map_count};
  resolved_.clear();
  bool is_return = false;
  for (uint64_t address : raw_stacks_[numbers.kernel_stack]) {
    resolved_.push_back(kernel_location(setting.kernel_count, address, is_return));
    is_return = true;
  }
  // Under a kernel stack, the innermost user frame is where the kernel was entered.
  is_return = false;
  auto end = static_cast<StackEnd>(setting.end);
  size_t goroutine_begin = SIZE_MAX;
  size_t kernel_depth = resolved_.size();
  size_t gap = 0;
  std::span<const uint64_t> user = raw_stacks_[numbers.user_stack];
  for (size_t i = 0; i < user.size(); i++) {
    LocationId id = user_location(space, user[i], is_return);
    if (i == setting.gap && i > 0) {
      gap = resolved_.size() - kernel_depth;
      resolved_.push_back(left_out(setting.missing));
    }
    if (i == setting.goroutine_start && i > 0)
      goroutine_begin = resolved_.size();
    if (is_return && profile_.locations[to_index(id)].mapping == kNoMapping) {
      end = StackEnd::kBadFrame;
      break;
    }
    resolved_.push_back(id);
    is_return = true;
  }
  size_t goroutine_depth = resolved_.size() - std::min(goroutine_begin, resolved_.size());
  auto id = static_cast<StackId>(profile_.stack_count());
  profile_.add_stack(resolved_);
  dumps_.states.push_back({sample.frame_offset, top(space, numbers.top, sample.words), end,
                           static_cast<uint32_t>(goroutine_depth), static_cast<uint32_t>(gap)});
  return id;
}

uint32_t Replay::Tables::number_labels(std::span<const Label> labels) {
  resolved_labels_.clear();
  for (const Label& label : labels)
    resolved_labels_.push_back(
        {profile_.strings.intern(label.key), profile_.strings.intern(label.value)});
  return label_sets_.intern(resolved_labels_);
}

uint32_t Replay::Tables::top(AddressSpace space, uint32_t number,
                             std::span<const StackWord> words) {
  auto next = static_cast<uint32_t>(dumps_.begins.size() - 1);
  auto [known, is_new] = tops_.try_emplace({space.program, space.map_count, number}, next);
  if (!is_new)
    return known->second;
  constexpr size_t kMaxWordLocations = 1'000'000;
  for (const StackWord& word : words) {
    using Kind = StackSlot::Kind;
    auto offset = static_cast<uint32_t>(word.offset);
    if (word.is_place() || word.is_number()) {
      Kind kind = word.is_place() ? Kind::kPlace : Kind::kNumber;
      dumps_.slots.push_back({offset, kind, static_cast<uint32_t>(word.value)});
      continue;
    }
    MappingId mapping = mapping_at(space, word.value);
    if (mapping == kNoMapping || word_locations_ == kMaxWordLocations)
      continue;
    size_t known_locations = profile_.locations.size();
    LocationId id = location({word.value, mapping, StringId{}, true});
    word_locations_ += profile_.locations.size() - known_locations;
    dumps_.slots.push_back({offset, Kind::kLocation, static_cast<uint32_t>(id)});
  }
  dumps_.begins.push_back(static_cast<uint32_t>(dumps_.slots.size()));
  return next;
}

LocationId Replay::Tables::user_location(AddressSpace space, uint64_t address, bool is_return) {
  SeenAddress seen = {address, space.program, space.map_count, is_return};
  auto [known, is_new] = seen_addresses_.try_emplace(seen);
  if (is_new)
    known.value() = location({address, mapping_at(space, address), StringId{}, is_return});
  return known->second;
}

LocationId Replay::Tables::kernel_location(uint32_t count, uint64_t address, bool is_return) {
  uint64_t call = address - (is_return ? 1 : 0);
  std::string_view name = kernel_history_.find(call, count);
  return location({address, kKernelMapping, profile_.strings.intern(name), is_return});
}

LocationId Replay::Tables::location(const LocationKey& key) {
  auto next = static_cast<LocationId>(profile_.locations.size());
  auto [slot, is_new] = locations_.try_emplace(key, next);
  if (!is_new)
    return slot->second;

  Location location;
  location.mapping = key.mapping;
  location.address = RuntimeAddress{key.address};
  location.kernel_name = key.kernel_name;
  location.is_return = key.is_return != 0;
  const ProfileImage& image = profile_.image_of(key.mapping);
  const Mapping& place = profile_.mappings[to_index(key.mapping)];
  if (image.kind == ProfileImage::Kind::kFile)
    location.image_address = to_image_address(place, image.file, location.address);
  else if (image.kind == ProfileImage::Kind::kVdso)
    location.image_address = ImageAddress{key.address - place.start};  // it is linked at 0
  profile_.locations.push_back(location);
  return next;
}

LocationId Replay::Tables::left_out(uint32_t missing) {
  auto next = static_cast<LocationId>(profile_.locations.size());
  auto [slot, is_new] = left_out_.try_emplace(missing, next);
  if (is_new) {
    profile_.locations.emplace_back();
    profile_.locations.back().address = RuntimeAddress{missing};
    profile_.locations.back().unnamed = Unnamed::kLeftOut;
  }
  return slot->second;
}

MappingId Replay::Tables::mapping_at(AddressSpace space, uint64_t address) {
  const MapEvent* event = history_.find(space, address);
  if (!event)
    return kNoMapping;
  auto [of_event, is_new_event] = mapping_of_event_.try_emplace(event, kNoMapping);
  if (!is_new_event)
    return of_event->second;

  Mapping mapping = {image_of(*event), event->start, event->limit(), event->file_offset, 0};
  if (profile_.images[mapping.image].kind == ProfileImage::Kind::kAnonymous)
    mapping.perf_map = perf_map_of(*event);
  MappingKey key = {mapping.image, mapping.start, mapping.limit, mapping.file_offset,
                    mapping.perf_map};
  auto next = static_cast<MappingId>(profile_.mappings.size());
  auto [slot, is_new] = mappings_.try_emplace(key, next);
  if (is_new)
    profile_.mappings.push_back(mapping);
  of_event.value() = slot->second;
  return slot->second;
}

uint32_t Replay::Tables::image_of(const MapEvent& event) {
  auto next = static_cast<uint32_t>(profile_.images.size());
  auto recorded = recorded_.find(event.image);
  bool is_recorded = event.image != ImageId{} && recorded != recorded_.end();
  uint32_t& index = is_recorded
                        ? images_.try_emplace(event.image, next).first.value()
                        : unrecorded_images_.try_emplace(event.path, next).first.value();
  if (index == next && is_recorded)
    profile_.images.push_back({kind_of(recorded->second), recorded->second});
  else if (index == next)
    profile_.images.push_back(make_image(event));
  return index;
}

// The last one that the process told while it ran the program that mapped this.
uint32_t Replay::Tables::perf_map_of(const MapEvent& event) const {
  auto known = perf_maps_.find(history_.address_space(event.pid, event.time).program);
  return known == perf_maps_.end() ? 0 : known->second;
}

uint64_t Replay::Tables::memory() const {
  auto of = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  auto of_table = [](const auto& table) {
    using Entry = typename std::remove_cvref_t<decltype(table)>::value_type;
    return table.bucket_count() * (sizeof(Entry) + sizeof(uint64_t));
  };
  // What a vector grew out of stays in the heap, and while it grows it is there twice.
  constexpr uint64_t kGrowth = 3;
  return kGrowth * (raw_stacks_.memory() + of(profile_.stack_locations)) + raw_tops_.memory() +
         kGrowth * of(dumps_.slots) + of(dumps_.begins) + label_sets_.memory() +
         samples_.memory() + of_table(settings_) + of_table(seen_) + of_table(seen_addresses_) +
         of_table(tops_) + of_table(locations_) + of_table(mappings_) +
         of_table(mapping_of_event_) + of(profile_.locations) + of(profile_.mappings) +
         of(profile_.stack_begin) + of(dumps_.states) + profile_.strings.memory();
}

bool Replay::Tables::find_callers(uint64_t least, const FindCallers& find) {
  if (dumps_.slots.size() * sizeof(StackSlot) < least)
    return true;
  if (!find(profile_, dumps_))
    return false;
  dumps_.clear();
  tops_.clear();
  profile_.stack_locations.clear();
  std::ranges::fill(profile_.stack_begin, 0);
  return true;
}

Replayed Replay::Tables::finish() && {
  profile_.samples = std::move(samples_).take();
  for (uint32_t set = 1; set < label_sets_.size(); set++)
    profile_.label_sets.emplace_back(label_sets_[set].begin(), label_sets_[set].end());
  return {std::move(profile_), std::move(dumps_)};
}

Replay::Replay(RecordingInfo info, std::vector<RecordedImage> images, std::vector<Event> events,
               std::span<const RecordedPerfMap> perf_maps, GroupBy group_by)
    : tables_(std::make_unique<Tables>(std::move(info), std::move(images), std::move(events),
                                       perf_maps, group_by)) {}

Replay::Replay(Replay&&) noexcept = default;
Replay::~Replay() = default;

std::string_view Replay::comm(const RecordedSample& sample) {
  return tables_->comm(sample);
}

std::string_view Replay::cgroup(const RecordedSample& sample) const {
  return tables_->cgroup(sample);
}

uint32_t Replay::number_stack(std::span<const uint64_t> stack) {
  return tables_->number_stack(stack);
}

uint32_t Replay::number_top(std::span<const StackWord> top) {
  return tables_->number_top(top);
}

uint32_t Replay::number_labels(std::span<const Label> labels) {
  return tables_->number_labels(labels);
}

void Replay::add(const RecordedSample& sample, const Numbers& numbers) {
  tables_->add(sample, numbers);
}

void Replay::add(const RecordedSample& sample) {
  add(sample, {number_stack(sample.kernel_stack), number_stack(sample.user_stack),
               number_top(sample.words), number_labels(sample.labels)});
}

uint64_t Replay::memory() const {
  return tables_->memory();
}

bool Replay::find_callers(uint64_t least, const FindCallers& find) {
  return tables_->find_callers(least, find);
}

void Replay::set_begin(uint64_t time, uint64_t later) {
  tables_->set_begin(time, later);
}

Replayed Replay::finish() && {
  return std::move(*tables_).finish();
}

}  // namespace gosym
