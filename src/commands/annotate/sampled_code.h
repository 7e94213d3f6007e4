#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "code/disassembler.h"
#include "commands/annotate/annotated_code.h"
#include "profile/profile.h"
#include "symbolize/find_functions.h"
#include "symbolize/recorded_file.h"
#include "view/frame_keys.h"

// Code of images that was sampled.

namespace gosym {

using Functions = std::vector<FunctionRange>;

// The amount of samples (Profile::amount) at each address.
using AmountByAddress = std::map<uint64_t, uint64_t>;

// Sampled addresses of an image.
struct SamplesOfCode {
  std::vector<ImageAddress> wanted;  // in functions that are to be shown
  AmountByAddress self;
};
using SampledImages = std::map<uint32_t, SamplesOfCode>;  // by index in the profile

// The code of the functions of this name, or of those that it was inlined into where it has
// none of its own; or else of those that it matches as a regular expression. Fails if it is
// none. Samples are of the profile.
Result<SampledImages> find_sampled(const Profile& profile, std::span<const SampleCount> samples,
                                   const std::string& wanted);
// The code of one of several functions of a name.
SampledImages find_sampled(const Profile& profile, std::span<const SampleCount> samples,
                           const ChosenKey& wanted);

// The file whose code was sampled. A debug file would have the names, but not the code.
struct SampledFile {
  std::unique_ptr<ImageSymbols> symbols;  // never null
  Functions functions;                    // all of them
  int64_t built = 0;                      // when it was last changed, in ns since 1970
  std::optional<uid_t> owner = {};  // ImageSymbols::owner(); none of what a recording keeps
};
Result<SampledFile> open_sampled(const RecordedImage& image, const DebugFileOptions& files,
                                 const HeldFiles& held);

// The code of functions of an image, by its index in the profile, with its samples. Those of
// the profile are gone through once for all of the functions.
std::vector<AnnotatedFunction> annotate_sampled(const ImageSymbols& symbols,
                                                std::span<const FunctionRange> ranges,
                                                code::Disassembler& disassembler,
                                                const Profile& profile,
                                                std::span<const SampleCount> samples,
                                                uint32_t image);

// Functions of an image that have the addresses, the one with the most samples first.
Functions functions_at(const Functions& all, const SamplesOfCode& code);

}  // namespace gosym
