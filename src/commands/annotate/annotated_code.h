#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "code/disassembler.h"
#include "commands/annotate/source_files.h"
#include "output/table.h"
#include "output/text.h"
#include "profile/profile.h"
#include "symbolize/find_functions.h"
#include "symbolize/image_symbols.h"
#include "symbolize/names.h"
#include "symbolize/symbolizer.h"
#include "view/frame_keys.h"

namespace gosym {

// Amounts (Profile::amount) of samples in some code, and in it or in what it calls: there a
// stack counts once, however often it goes through.
struct SelfAndTotal {
  uint64_t self = 0;
  uint64_t total = 0;
};

struct AnnotatedInstruction {
  ImageAddress address{};
  Bytes bytes{};
  code::Instruction code{};
  std::vector<Call> calls{};  // innermost first; none: nobody knows
  SelfAndTotal samples = {};
  std::string called = {};  // by an indirect call, as the samples have it; empty: not known
};

// Lines of source files, by the names of these.
using SampledLines = std::map<std::pair<std::string, uint32_t>, SelfAndTotal>;

// The code of one function. Borrows from its image. Without code of its own, size 0, it has
// lines alone.
//
// The instructions are those of its code, with what was inlined into it. Its samples and those
// of its lines are the function's, as report and go tool pprof count them: wherever it was
// inlined, and without what was inlined into it.
struct AnnotatedFunction {
  FunctionRange range;
  FrameSource source{};
  std::vector<AnnotatedInstruction> instructions;
  SelfAndTotal samples = {};
  SampledLines lines = {};
  uint64_t missing = 0;  // bytes of it at the end that are not shown: not in the file, too many
};

AnnotatedFunction annotate(const ImageSymbols& symbols, const FunctionRange& range,
                           code::Disassembler& disassembler);

// Form in which it is shown.
struct AnnotateView {
  NameForm name_form = NameForm::kShort;
  Screen screen = {};
  const Amounts* amounts = nullptr;  // null: no samples are shown
  SourceFiles* sources = nullptr;
  // The functions of the image, by address, that jumps and calls lead to.
  const ImageSymbols* symbols = nullptr;
  std::span<const FunctionRange> functions = {};
};

// A line of it.
struct AnnotatedLine {
  enum class Kind : uint8_t {
    kText,
    kTitle,  // of columns
    kCode,   // of the source, or what code was inlined from
    kInstruction,
  };
  Kind kind = Kind::kText;
  bool is_of_instructions = false;  // or stands above such
  SelfAndTotal samples = {};        // of kCode and kInstruction
  std::string head = {};
  Style head_style = Style::kPlain;
  std::string text = {};  // stands behind the head
  Style style = Style::kPlain;
  SourcePlace place = {};  // of kCode and of a file's title; an empty path: it is not shown
};

// None is wider than `width` columns for its source.
std::vector<AnnotatedLine> lines_of(const AnnotatedFunction& function, const AnnotateView& view,
                                    size_t width);
std::string text_of(const AnnotatedFunction& function, const AnnotateView& view);

// Code of images that was sampled.

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

// Sets what samples of the profile each function has, each of its lines and each of its
// instructions, and what indirect calls called. The functions are of the image that has this
// index in the profile.
void count_samples(const Profile& profile, std::span<const SampleCount> samples, uint32_t image,
                   std::span<AnnotatedFunction> functions);

}  // namespace gosym
