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

// The code with a frame that `is_wanted` says: of the function that has it, or of an inlined
// call.
enum class Calls : uint8_t { kFunctions, kInlined };
template <class IsWanted>
SampledImages find_code(const Profile& profile, Calls calls, IsWanted is_wanted) {
  SampledImages images;
  for (const Location& location : profile.locations) {
    auto address = code_address(profile, location);
    auto frames = profile.frames_of(location);
    if (calls == Calls::kFunctions)
      frames = frames.last(std::min<size_t>(frames.size(), 1));
    bool has_wanted = std::ranges::any_of(frames, [&](const Frame& frame) {
      return is_wanted(profile.functions[to_index(frame.function)]);
    });
    if (address && has_wanted)
      images[profile.mappings[to_index(location.mapping)].image].wanted.push_back(
          ImageAddress{*address});
  }
  return images;
}

// Of `size` bytes from an address on.
uint64_t sum_of(const AmountByAddress& self, uint64_t begin, uint64_t size) {
  uint64_t result = 0;
  for (auto at = self.lower_bound(begin); at != self.end() && at->first - begin < size; ++at)
    result += at->second;
  return result;
}

}  // namespace

Result<SampledImages> find_sampled(const Profile& profile, std::span<const SampleCount> samples,
                                   const std::string& wanted) {
  auto has_name = [&](const Function& function) {
    return profile.strings[function.name] == wanted ||
           profile.strings[function.system_name] == wanted;
  };
  SampledImages images = find_code(profile, Calls::kFunctions, has_name);
  if (images.empty())
    images = find_code(profile, Calls::kInlined, has_name);
  if (images.empty()) {
    auto pattern = Pattern::parse(wanted);
    if (!pattern)
      return std::move(pattern).error().with_exit_status(kUsage);
    auto matches = [&](const Function& function) {
      return pattern->matches(profile.strings[function.name]);
    };
    images = find_code(profile, Calls::kFunctions, matches);
    if (images.empty())
      images = find_code(profile, Calls::kInlined, matches);
  }
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
