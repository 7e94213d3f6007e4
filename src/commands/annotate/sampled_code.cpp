#include "commands/annotate/sampled_code.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/exit_status.h"
#include "base/pattern.h"
#include "commands/annotate/count_samples.h"

namespace gosym {

namespace {

std::optional<uint64_t> code_address(const Profile& profile, const Location& location) {
  if (!location.image_address ||
      profile.image_of(location.mapping).kind != ProfileImage::Kind::kFile)
    return std::nullopt;
  return location.call_of(to_integer(*location.image_address));
}

// The code with a frame that `is_wanted(location, frame)` says: of the function that has it, or
// of an inlined call.
enum class Calls : uint8_t { kFunctions, kInlined };
template <class IsWanted>
SampledImages find_code(const Profile& profile, Calls calls, IsWanted is_wanted) {
  SampledImages images;
  for (size_t i = 0; i < profile.locations.size(); i++) {
    const Location& location = profile.locations[i];
    auto address = code_address(profile, location);
    size_t frame =
        calls == Calls::kInlined || location.frame_count == 0 ? 0 : location.frame_count - 1;
    bool has_wanted = false;
    for (; frame < location.frame_count; frame++)
      has_wanted = has_wanted || is_wanted(static_cast<LocationId>(i), frame);
    if (address && has_wanted)
      images[profile.mappings[to_index(location.mapping)].image].wanted.push_back(
          ImageAddress{*address});
  }
  return images;
}

// Sum for `size` bytes from an address on.
uint64_t sum_of(const AmountByAddress& self, uint64_t begin, uint64_t size) {
  uint64_t result = 0;
  for (auto at = self.lower_bound(begin); at != self.end() && at->first - begin < size; ++at)
    result += at->second;
  return result;
}

// The code of wanted functions, or where there are none, that of wanted inlined calls.
template <class IsWanted>
SampledImages find_code(const Profile& profile, IsWanted is_wanted) {
  SampledImages images = find_code(profile, Calls::kFunctions, is_wanted);
  return images.empty() ? find_code(profile, Calls::kInlined, is_wanted) : images;
}

void count_self(const Profile& profile, std::span<const SampleCount> samples,
                SampledImages& images) {
  for (const SampleCount& sample : samples) {
    std::span<const LocationId> stack = profile.stack(sample.stack);
    if (stack.empty())
      continue;
    const Location& location = profile.locations[to_index(stack.front())];
    auto address = code_address(profile, location);
    auto image = images.find(profile.mappings[to_index(location.mapping)].image);
    if (address && image != images.end())
      image->second.self[*address] += profile.amount(sample);
  }
}

}  // namespace

Result<SampledImages> find_sampled(const Profile& profile, std::span<const SampleCount> samples,
                                   const std::string& wanted) {
  auto function_of = [&](LocationId id, size_t frame) -> const Function& {
    const Location& location = profile.locations[to_index(id)];
    return profile.functions[to_index(profile.frames_of(location)[frame].function)];
  };
  SampledImages images = find_code(profile, [&](LocationId id, size_t frame) {
    const Function& function = function_of(id, frame);
    return profile.strings[function.name] == wanted ||
           profile.strings[function.system_name] == wanted;
  });
  if (images.empty()) {
    auto pattern = Pattern::parse(wanted);
    if (!pattern)
      return std::move(pattern).error().with_exit_status(kUsage);
    images = find_code(profile, [&](LocationId id, size_t frame) {
      return pattern->matches(profile.strings[function_of(id, frame).name]);
    });
  }
  count_self(profile, samples, images);
  return images;
}

SampledImages find_sampled(const Profile& profile, std::span<const SampleCount> samples,
                           const ChosenKey& wanted) {
  FrameKeys keys(profile, Dimension::Kind::kFunction);
  SampledImages images = find_code(profile, [&](LocationId id, size_t frame) {
    return wanted.is(keys[keys.of(id)[frame]]);
  });
  count_self(profile, samples, images);
  return images;
}

Result<SampledFile> open_sampled(const RecordedImage& image, const DebugFileOptions& files,
                                 const HeldFiles& held) {
  RecordedBinary binary = open_recorded_binary(image, files, held);
  if (!binary.binary)
    return Error(binary.problem.empty() ? std::string(to_string(binary.unnamed))
                                        : binary.problem);
  RecordedFile file = open_recorded(image, binary, files);
  Functions all = all_functions(*file.symbols);
  // The copy in a recording is ours, or its maker's, and not of who wrote the program.
  bool is_copy = held.contains(image.id);
  auto owner = is_copy ? std::nullopt : file.symbols->owner();
  int64_t built_ns = is_copy ? image.mtime_ns : binary.binary->mtime_ns();
  return SampledFile{std::move(file.symbols), std::move(all), built_ns, owner};
}

std::vector<AnnotatedFunction> annotate_sampled(const ImageSymbols& symbols,
                                                std::span<const FunctionRange> ranges,
                                                code::Disassembler& disassembler,
                                                const Profile& profile,
                                                std::span<const SampleCount> samples,
                                                uint32_t image) {
  std::vector<AnnotatedFunction> functions;
  for (const FunctionRange& range : ranges)
    functions.push_back(annotate(symbols, range, disassembler));
  count_samples(profile, samples, image, functions);
  return functions;
}

Functions functions_at(const Functions& all, const SamplesOfCode& code) {
  std::set<size_t> indices;
  for (ImageAddress address : code.wanted) {
    auto after = std::ranges::upper_bound(all, address, {}, &FunctionRange::address);
    if (after != all.begin() &&
        to_integer(address) - to_integer(std::prev(after)->address) < std::prev(after)->size)
      indices.insert(static_cast<size_t>(std::prev(after) - all.begin()));
  }
  Functions found;
  for (size_t index : indices)
    found.push_back(all[index]);
  std::ranges::stable_sort(found, std::greater(), [&](const FunctionRange& function) {
    return sum_of(code.self, to_integer(function.address), function.size);
  });
  return found;
}

}  // namespace gosym
