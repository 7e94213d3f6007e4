#include "commands/annotated_code.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/width.h"
#include "symbolize/find_functions.h"

namespace gosym {

namespace {

// Longer ones are damage, or tables that a symbol calls a function.
constexpr uint64_t kMaxFunction = 16 << 20;

bool is_same(const Call& a, const Call& b) {
  return a.function == b.function && a.file == b.file && a.line == b.line;
}

std::string shown_name(std::string_view name, FrameSource source, const AnnotateView& view) {
  return printable(display_name(name, source, view.name_form));
}

std::string shown_place(const Call& call) {
  if (call.file.empty())
    return "??";
  std::string file = printable(call.file);
  return call.line == 0 ? file : fmt::format("{}:{}", file, call.line);
}

// Of the two columns of samples: empty where there are none.
class SampleColumns {
public:
  explicit SampleColumns(const AnnotateView& view) : view_(view) {}

  std::string title() const {
    return view_.amounts ? fmt::format("{:>9} {:>6}  ", title_of("self", *view_.amounts), "%")
                         : "";
  }
  std::string of(uint64_t self) const {
    if (!view_.amounts)
      return "";
    if (self == 0)
      return fmt::format("{:18}", "");
    double percent = view_.amounts->percent(self);
    return styled(fmt::format("{:>9} {:>6.1f}", view_.amounts->text(self), percent),
                  heat_of(percent), view_.screen) +
           "  ";
  }
  size_t width() const { return view_.amounts ? 18 : 0; }

private:
  const AnnotateView& view_;
};

class TextWriter {
public:
  TextWriter(const AnnotatedFunction& function, const AnnotateView& view)
      : function_(function), view_(view), columns_(view) {}

  std::string write() && {
    write_title();
    if (view_.amounts)
      write_lines();
    text_ += styled(columns_.title(), Style::kTitle, view_.screen);
    if (view_.amounts)
      text_ += styled("address  instruction", Style::kTitle, view_.screen) + "\n";
    std::span<const Call> before;
    for (size_t i = 0; i < function_.instructions.size(); i++) {
      const AnnotatedInstruction& instruction = function_.instructions[i];
      if (i == 0 || !std::ranges::equal(before, instruction.calls, is_same))
        write_calls(before, i);
      before = instruction.calls;
      write_instruction(instruction);
    }
    if (function_.missing > 0)
      text_ += fmt::format("{} bytes more are not shown\n", with_commas(function_.missing));
    return std::move(text_);
  }

private:
  void write_title() {
    std::string name = shown_name(function_.range.name, function_.source, view_);
    text_ += styled(name, Style::kTitle, view_.screen);
    text_ += fmt::format("  {:#x}, {} bytes", to_integer(function_.range.address),
                         with_commas(function_.range.size));
    if (view_.amounts) {
      uint64_t self = 0;
      for (const AnnotatedInstruction& instruction : function_.instructions)
        self += instruction.self;
      text_ += fmt::format(", {} {}, {:.1f} %", view_.amounts->text(self),
                           view_.amounts->unit(), view_.amounts->percent(self));
    }
    text_ += '\n';
  }

  // The function's own lines, each with the samples of all code that is there for it.
  void write_lines() {
    std::map<std::pair<std::string_view, uint32_t>, uint64_t> lines;
    for (const AnnotatedInstruction& instruction : function_.instructions)
      if (!instruction.calls.empty() && instruction.calls.back().line != 0)
        lines[{instruction.calls.back().file, instruction.calls.back().line}] +=
            instruction.self;
    std::string_view file;
    uint32_t last = 0;
    for (const auto& [place, self] : lines) {
      if (place.first != std::exchange(file, place.first) || last == 0) {
        text_ += columns_.title() + printable(file) + '\n';
        last = place.second - 1;
      }
      // Between lines with code those without are shown, where there are but a few.
      constexpr uint32_t kFew = 8;
      if (place.second - last <= kFew)
        for (uint32_t line = last + 1; line < place.second; line++)
          write_line(file, line, 0);
      write_line(file, place.second, self);
      last = place.second;
    }
    if (!lines.empty())
      text_ += '\n';
  }

  void write_line(std::string_view file, uint32_t line, uint64_t self) {
    std::string start = fmt::format("{:>6}  ", line);
    auto source = view_.sources->line(file, line);
    if (source || self > 0)
      text_ += columns_.of(self) + start +
               fitting(source.value_or(""), columns_.width() + start.size()) + '\n';
  }

  // Those that are not the same as before, each inside the one that it is inlined into.
  void write_calls(std::span<const Call> before, size_t first) {
    const AnnotatedInstruction& instruction = function_.instructions[first];
    std::span<const Call> calls = instruction.calls;
    if (calls.empty())
      text_ += columns_.of(0) + "??\n";
    size_t same = 0;
    while (same + 1 < calls.size() && same < before.size() &&
           is_same(before[before.size() - 1 - same], calls[calls.size() - 1 - same]))
      same++;
    for (size_t depth = same; depth < calls.size(); depth++)
      write_call(calls[calls.size() - 1 - depth], depth,
                 depth + 1 == calls.size() ? self_from(first) : 0);
  }

  // Of the instructions up to the next change of place.
  uint64_t self_from(size_t first) const {
    uint64_t self = 0;
    for (size_t i = first; i < function_.instructions.size(); i++) {
      if (!std::ranges::equal(function_.instructions[first].calls,
                              function_.instructions[i].calls, is_same))
        break;
      self += function_.instructions[i].self;
    }
    return self;
  }

  void write_call(const Call& call, size_t depth, uint64_t self) {
    std::string place = std::string(2 * depth, ' ');
    if (depth > 0)
      place += shown_name(call.function, function_.source, view_) + " ";
    place += shown_place(call);
    text_ += columns_.of(self) + styled(place, Style::kFaint, view_.screen);
    size_t used = columns_.width() + display_width(place) + 2;
    if (auto source = view_.sources->line(call.file, call.line)) {
      std::string_view code = *source;
      code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
      std::string shown = fitting(code, used);
      if (!shown.empty())
        text_ += "  " + shown;
    }
    text_ += '\n';
  }

  std::string fitting(std::string_view text, size_t used) const {
    if (!view_.screen.has_width())
      return std::string(text);
    return used < view_.screen.width ? cut_at_end(text, view_.screen.width - used) : "";
  }

  void write_instruction(const AnnotatedInstruction& instruction) {
    text_ += columns_.of(instruction.self);
    text_ += fmt::format("{:{}}{:x}:  ", "", 2 * instruction.calls.size() + 2,
                         to_integer(instruction.address));
    if (instruction.code.text.empty()) {
      text_ += ".byte";
      for (size_t i = 0; i < instruction.bytes.size(); i++)
        text_ += fmt::format("{} {:#04x}", i == 0 ? "" : ",",
                             std::to_integer<unsigned>(instruction.bytes[i]));
    } else {
      text_ += printable(instruction.code.text);
    }
    if (instruction.code.target)
      text_ += target_name(*instruction.code.target);
    else if (instruction.code.data)
      text_ += fmt::format("  # {:#x}", to_integer(*instruction.code.data));
    text_ += '\n';
  }

  // "  <runtime.morestack>"; empty inside of the function.
  std::string target_name(ImageAddress target) const {
    auto starts_after =
        std::ranges::upper_bound(view_.functions, target, {}, &FunctionRange::address);
    if (starts_after != view_.functions.begin()) {
      const FunctionRange& function = *std::prev(starts_after);
      uint64_t offset = to_integer(target) - to_integer(function.address);
      bool is_own = function.address == function_.range.address;
      if (offset < function.size && is_own && offset > 0)
        return "";
      if (offset < function.size)
        return fmt::format("  <{}{}>", name_at(target, function.name),
                           offset == 0 ? "" : fmt::format("+{:#x}", offset));
    }
    std::string name = name_at(target, "");
    return name.empty() ? "" : fmt::format("  <{}>", name);
  }

  std::string name_at(ImageAddress address, std::string_view known) const {
    std::vector<Call> calls;
    auto source = view_.symbols->find(address, calls);
    if (!source)
      return printable(known);
    return shown_name(known.empty() ? calls.back().function : known, *source, view_);
  }

  const AnnotatedFunction& function_;
  const AnnotateView& view_;
  SampleColumns columns_;
  std::string text_;
};

}  // namespace

AnnotatedFunction annotate(const ImageSymbols& symbols, const FunctionRange& range,
                           code::Disassembler& disassembler) {
  AnnotatedFunction function{.range = range, .source = {}, .instructions = {}, .missing = 0};
  function.source = source_of(symbols, range).value_or(FrameSource::kSymtab);
  Bytes code = symbols.image().loaded_from(range.address).value_or(Bytes{});
  code = code.first(std::min<uint64_t>({code.size(), range.size, kMaxFunction}));
  function.missing = range.size - code.size();
  for (uint64_t offset = 0; offset < code.size();) {
    AnnotatedInstruction instruction;
    instruction.address = ImageAddress{to_integer(range.address) + offset};
    instruction.code = disassembler.decode(code.subspan(offset), instruction.address);
    instruction.bytes = code.subspan(offset, instruction.code.size);
    symbols.find(instruction.address, instruction.calls);
    offset += instruction.code.size;
    function.instructions.push_back(std::move(instruction));
  }
  return function;
}

std::string text_of(const AnnotatedFunction& function, const AnnotateView& view) {
  return TextWriter(function, view).write();
}

}  // namespace gosym
