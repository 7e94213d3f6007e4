#include "commands/annotate/annotated_code.h"

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

class LineWriter {
public:
  LineWriter(const AnnotatedFunction& function, const AnnotateView& view, size_t width)
      : function_(function), view_(view), width_(width) {}

  std::vector<AnnotatedLine> write() && {
    write_title();
    if (view_.amounts)
      write_lines();
    is_at_instructions_ = true;
    if (view_.amounts && function_.range.size > 0)
      add({.kind = AnnotatedLine::Kind::kTitle,
           .text = "address  instruction",
           .style = Style::kTitle});
    std::span<const Call> before;
    for (size_t i = 0; i < function_.instructions.size(); i++) {
      const AnnotatedInstruction& instruction = function_.instructions[i];
      if (i == 0 || !std::ranges::equal(before, instruction.calls, is_same))
        write_calls(before, i);
      before = instruction.calls;
      write_instruction(instruction);
    }
    if (function_.missing > 0)
      add({.text = fmt::format("{} bytes more are not shown", with_commas(function_.missing))});
    return std::move(lines_);
  }

private:
  void write_title() {
    std::string name = shown_name(function_.range.name, function_.source, view_);
    std::vector<std::string> facts;
    if (function_.range.size > 0)
      facts = {fmt::format("{:#x}", to_integer(function_.range.address)),
               with_commas(function_.range.size) + " bytes"};
    if (view_.amounts) {
      facts.push_back("self " + shown_amount(function_.samples.self));
      facts.push_back("total " + shown_amount(function_.samples.total));
    }
    add({.head = std::move(name),
         .head_style = Style::kTitle,
         .text = "  " + joined(facts, ", ")});
  }

  // "1.31 s (38.0 %)".
  std::string shown_amount(uint64_t amount) const {
    std::string_view unit = view_.amounts->unit();
    return fmt::format("{}{}{} ({:.1f} %)", view_.amounts->text(amount),
                       unit.empty() ? "" : " ", unit, view_.amounts->percent(amount));
  }

  // The function's own lines, also those that have code and no samples.
  void write_lines() {
    SampledLines lines = function_.lines;
    for (const AnnotatedInstruction& instruction : function_.instructions)
      if (!instruction.calls.empty() && instruction.calls.back().line != 0)
        lines.try_emplace(std::pair(std::string(instruction.calls.back().file),
                                    instruction.calls.back().line));
    // The hottest line is the one that the table of functions shows: by samples in the line
    // itself; without such samples, by those in what it calls.
    auto hottest = std::ranges::max_element(lines, {}, [](const auto& line) {
      return std::pair(line.second.self, line.second.total);
    });
    std::string_view file;
    uint32_t last = 0;
    for (const auto& [place, samples] : lines) {
      if (place.first != std::exchange(file, place.first) || last == 0) {
        add({.kind = AnnotatedLine::Kind::kTitle,
             .text = printable(file),
             .style = Style::kPlain,
             .place = {view_.sources->place(file), place.second}});
        last = place.second - 1;
        last_shown_ = 0;
      }
      // Between lines with code those without are shown, where there are but a few.
      constexpr uint32_t kFew = 8;
      if (place.second - last <= kFew)
        for (uint32_t line = last + 1; line < place.second; line++)
          write_line(file, line, {}, false);
      write_line(file, place.second, samples, samples.total > 0 && place == hottest->first);
      last = place.second;
    }
    if (!lines.empty() && function_.range.size > 0)
      add({});
  }

  void write_line(std::string_view file, uint32_t line, SelfAndTotal samples, bool is_hottest) {
    std::string start = fmt::format("{}{:>5}  ", is_hottest ? '>' : ' ', line);
    auto source = view_.sources->line(file, line);
    if (source && !source->empty())
      start += fitting(*source, start.size());
    else
      start.erase(start.find_last_not_of(' ') + 1);
    if (!source && samples.total == 0)
      return;
    if (last_shown_ != 0 && line > last_shown_ + 1)
      add({.kind = AnnotatedLine::Kind::kCode,
           .text = "   ...",
           .style = Style::kFaint});  // lines are left out
    last_shown_ = line;
    add({.kind = AnnotatedLine::Kind::kCode,
         .samples = samples,
         .text = std::move(start),
         .place = {view_.sources->place(file), line}});
  }

  // Writes the calls that differ from those before, each inside the one that it is inlined
  // into.
  void write_calls(std::span<const Call> before, size_t first) {
    const AnnotatedInstruction& instruction = function_.instructions[first];
    std::span<const Call> calls = instruction.calls;
    if (calls.empty())
      add({.kind = AnnotatedLine::Kind::kCode, .text = "??"});
    size_t same = 0;
    while (same + 1 < calls.size() && same < before.size() &&
           is_same(before[before.size() - 1 - same], calls[calls.size() - 1 - same]))
      same++;
    for (size_t depth = same; depth < calls.size(); depth++)
      write_call(calls[calls.size() - 1 - depth], depth,
                 depth + 1 == calls.size() ? self_from(first) : 0);
  }

  // Sum for the instructions up to the next change of place.
  uint64_t self_from(size_t first) const {
    uint64_t self = 0;
    for (size_t i = first; i < function_.instructions.size(); i++) {
      if (!std::ranges::equal(function_.instructions[first].calls,
                              function_.instructions[i].calls, is_same))
        break;
      self += function_.instructions[i].samples.self;
    }
    return self;
  }

  void write_call(const Call& call, size_t depth, uint64_t self) {
    std::string place = std::string(2 * depth, ' ');
    if (depth > 0)
      place += shown_name(call.function, function_.source, view_) + " ";
    place += shown_place(call);
    size_t used = display_width(place) + 2;
    AnnotatedLine line = {.kind = AnnotatedLine::Kind::kCode,
                          .samples = {.self = self},
                          .head = std::move(place),
                          .head_style = Style::kFaint,
                          .place = {view_.sources->place(call.file), call.line}};
    if (auto source = view_.sources->line(call.file, call.line)) {
      std::string_view code = *source;
      code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
      std::string shown = fitting(code, used);
      if (!shown.empty())
        line.text = "  " + shown;
    }
    add(std::move(line));
  }

  std::string fitting(std::string_view text, size_t used) const {
    if (width_ == SIZE_MAX)
      return std::string(text);
    return used < width_ ? cut_at_end(text, width_ - used) : "";
  }

  void write_instruction(const AnnotatedInstruction& instruction) {
    std::string text = fmt::format("{:{}}{:x}:  ", "", 2 * instruction.calls.size() + 2,
                                   to_integer(instruction.address));
    if (instruction.code.text.empty()) {
      text += ".byte";
      for (size_t i = 0; i < instruction.bytes.size(); i++)
        text += fmt::format("{} {:#04x}", i == 0 ? "" : ",",
                            std::to_integer<unsigned>(instruction.bytes[i]));
    } else {
      text += printable(instruction.code.text);
    }
    if (instruction.code.target)
      text += target_name(*instruction.code.target);
    else if (instruction.code.data)
      text += fmt::format("  # {:#x}", to_integer(*instruction.code.data));
    if (!instruction.called.empty())
      text += fmt::format("  <{}>", printable(instruction.called));
    add({.kind = AnnotatedLine::Kind::kInstruction,
         .samples = instruction.samples,
         .text = std::move(text)});
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

  void add(AnnotatedLine line) {
    line.is_of_instructions = is_at_instructions_;
    lines_.push_back(std::move(line));
  }

  const AnnotatedFunction& function_;
  const AnnotateView& view_;
  size_t width_;
  bool is_at_instructions_ = false;  // behind the lines of the source
  uint32_t last_shown_ = 0;          // line of the file; 0: none
  std::vector<AnnotatedLine> lines_;
};

// The amount and its share of all, for one's own samples and for all.
constexpr size_t kColumnsWidth = 2 * 16 + 2;

std::string amount_column(uint64_t amount, const AnnotateView& view) {
  if (amount == 0)
    return fmt::format("{:16}", "");
  double percent = view.amounts->percent(amount);
  return styled(fmt::format("{:>9} {:>6.1f}", view.amounts->text(amount), percent),
                heat_of(percent), view.screen);
}

std::string sample_columns(const SelfAndTotal& samples, const AnnotateView& view) {
  return amount_column(samples.self, view) + amount_column(samples.total, view) + "  ";
}

std::string titles_of_columns(const AnnotateView& view) {
  std::string titles;
  for (std::string_view what : {"self", "total"})
    titles += fmt::format("{:>9} {:>6}", title_of(what, *view.amounts), "%");
  return styled(titles + "  ", Style::kTitle, view.screen);
}

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

std::vector<AnnotatedLine> lines_of(const AnnotatedFunction& function, const AnnotateView& view,
                                    size_t width) {
  return LineWriter(function, view, width).write();
}

std::string text_of(const AnnotatedFunction& function, const AnnotateView& view) {
  size_t width = view.screen.width;
  if (view.screen.has_width() && view.amounts)
    width -= std::min(width, kColumnsWidth);
  std::string text;
  for (const AnnotatedLine& line : lines_of(function, view, width)) {
    if (view.amounts && line.kind == AnnotatedLine::Kind::kTitle)
      text += titles_of_columns(view);
    else if (view.amounts && line.kind != AnnotatedLine::Kind::kText)
      text += sample_columns(line.samples, view);
    text += styled(line.head, line.head_style, view.screen) +
            styled(line.text, line.style, view.screen) + '\n';
  }
  return text;
}

}  // namespace gosym
