#pragma once

#include <string>
#include <vector>

#include "code/disassembler.h"
#include "commands/annotate/source_files.h"
#include "output/amounts.h"
#include "output/screen.h"
#include "symbolize/image_symbols.h"
#include "symbolize/names.h"

namespace gosym {

struct AnnotatedInstruction {
  ImageAddress address{};
  Bytes bytes{};
  code::Instruction code{};
  std::vector<Call> calls{};  // innermost first; none: nobody knows
  uint64_t self = 0;          // amount (Profile::amount) of samples in it
};

// The code of one function. Borrows from its image.
struct AnnotatedFunction {
  FunctionRange range;
  FrameSource source{};
  std::vector<AnnotatedInstruction> instructions;
  uint64_t missing = 0;  // bytes of it at the end that are not shown: not in the file, too many
};

AnnotatedFunction annotate(const ImageSymbols& symbols, const FunctionRange& range,
                           code::Disassembler& disassembler);

// How it is shown.
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
    kTitle,  // of the columns
    kCode,   // of the source, or what code was inlined from
    kInstruction,
  };
  Kind kind = Kind::kText;
  uint64_t self = 0;  // of kCode and kInstruction
  std::string head = {};
  Style head_style = Style::kPlain;
  std::string text = {};  // stands behind the head
  Style style = Style::kPlain;
};

// None is wider than `width` columns for its source.
std::vector<AnnotatedLine> lines_of(const AnnotatedFunction& function, const AnnotateView& view,
                                    size_t width);
std::string text_of(const AnnotatedFunction& function, const AnnotateView& view);

}  // namespace gosym
