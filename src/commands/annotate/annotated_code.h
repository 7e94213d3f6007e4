#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "code/disassembler.h"
#include "commands/annotate/source_files.h"
#include "output/amounts.h"
#include "output/screen.h"
#include "symbolize/image_symbols.h"
#include "symbolize/names.h"

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

}  // namespace gosym
