#include "exchange/profile_builder.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace gosym {

namespace {

// Bytes of memory per entry of a table while that grows, its hash table included.
template <class Thing>
constexpr uint64_t kSize = 2 * sizeof(Thing) + 160;  // a vector doubles; 160: the hash table's

}  // namespace

ProfileBuilder::ProfileBuilder(uint64_t memory_budget) : memory_budget_(memory_budget) {
  add_fixed_mappings(profile_);
  // Set 0 is the empty one, which a profile has from the beginning.
  label_sets_.number({});
}

StringId ProfileBuilder::intern(std::string_view text) {
  size_t before = profile_.strings.size();
  StringId id = profile_.strings.intern(text);
  if (profile_.strings.size() > before)
    memory_ += kSize<std::string> + 2 * text.size();
  return id;
}

FunctionId ProfileBuilder::add_function(const Function& function) {
  memory_ += kSize<Function>;
  profile_.functions.push_back(function);
  return FunctionId(profile_.functions.size() - 1);
}

uint32_t ProfileBuilder::add_image(ProfileImage image) {
  memory_ += kSize<ProfileImage> + image.file.path.size();
  profile_.images.push_back(std::move(image));
  return static_cast<uint32_t>(profile_.images.size() - 1);
}

MappingId ProfileBuilder::add_mapping(const Mapping& mapping) {
  memory_ += kSize<Mapping>;
  profile_.mappings.push_back(mapping);
  return MappingId(profile_.mappings.size() - 1);
}

LocationId ProfileBuilder::add_location(Location location, std::span<const Frame> frames) {
  memory_ += kSize<Location> + 2 * frames.size() * sizeof(Frame);
  location.first_frame = static_cast<uint32_t>(profile_.frames.size());
  location.frame_count = static_cast<uint32_t>(frames.size());
  profile_.frames.insert(profile_.frames.end(), frames.begin(), frames.end());
  profile_.locations.push_back(location);
  return LocationId(profile_.locations.size() - 1);
}

StackId ProfileBuilder::add_stack(std::span<const LocationId> stack) {
  // Asked before it is added: one stack may be longer than all that is left. is_full() is true
  // from then on.
  uint64_t needed = memory_ + stacks_.memory_to_add(stack.size());
  if (needed > memory_budget_) {
    // No stack is meant: readers ask is_full() before they give out the profile.
    memory_ = needed;
    return StackId{0};
  }
  return StackId{stacks_.intern(stack)};
}

uint32_t ProfileBuilder::add_label_set(std::span<const ProfileLabel> labels) {
  std::vector<StringId> texts;
  for (const ProfileLabel& label : labels) {
    texts.push_back(label.key);
    texts.push_back(label.value);
  }
  uint32_t id = label_sets_.number(texts);
  // A new set has the next number; both tables begin with the empty one.
  if (id == profile_.label_sets.size()) {
    memory_ += kSize<std::vector<ProfileLabel>> + labels.size_bytes();
    profile_.label_sets.emplace_back(labels.begin(), labels.end());
  }
  return id;
}

OwnerId ProfileBuilder::add_owner(const Owner& owner) {
  size_t before = profile_.owners.size();
  OwnerId id = profile_.owners.intern(owner);
  if (profile_.owners.size() > before)
    memory_ += kSize<Owner>;
  return id;
}

void ProfileBuilder::add_sample(SampleCount sample, std::span<const uint64_t> others) {
  memory_ += 2 * (sizeof(SampleCount) + others.size_bytes());
  if (!others.empty())
    sample.set_others(others, profile_.other_amounts);
  profile_.samples.push_back(sample);
}

Profile ProfileBuilder::finish() && {
  memory_ += stacks_.memory();
  std::move(stacks_).take(profile_.stack_locations, profile_.stack_begin);
  profile_.stats.samples = profile_.total_count();
  // The rest of the budget is for those who work on the profile later.
  profile_.memory_limit = memory_budget_ - std::min(memory_budget_, memory_);
  return std::move(profile_);
}

bool is_stand_in(std::string_view name) {
  return name.size() > 2 && name.starts_with('[') && name.ends_with(']');
}

Unnamed unnamed_by(std::string_view stand_in) {
  if (stand_in == "[kernel]")
    return Unnamed::kNoKernelSymbols;
  // The first row is the answer if the word of no other fits.
  for (const UnnamedRow& row : std::span(kUnnamedRows).subspan(1)) {
    // is_stand_in() holds, so that a bracket is at the end: there is a byte behind each word
    // that fits.
    std::string_view rest = stand_in.substr(1);
    if (row.reason != Unnamed::kLeftOut && rest.starts_with(row.word) &&
        (rest[row.word.size()] == ' ' || rest[row.word.size()] == ']'))
      return row.reason;
  }
  return Unnamed::kNotSymbolized;
}

std::optional<uint64_t> left_out_frames(std::string_view name) {
  constexpr std::string_view kBegin = "… ";
  constexpr std::string_view kEnd = " frames …";
  if (name.size() <= kBegin.size() + kEnd.size() || !name.starts_with(kBegin) ||
      !name.ends_with(kEnd))
    return std::nullopt;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(kEnd.size());
  return parse_decimal(name);
}

}  // namespace gosym
