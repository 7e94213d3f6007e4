#include "commands/annotate/annotated_code.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/exit_status.h"
#include "base/pattern.h"
#include "base/text.h"
#include "symbolize/find_functions.h"

namespace gosym {

// The way of the code: find_sampled() picks the sampled addresses of the wanted functions, by
// image. open_sampled() opens such an image, functions_at() finds the functions at these
// addresses, annotate() takes their code apart, count_samples() charges the samples to
// functions, lines and instructions, and LineWriter makes lines of text of one function. gosym
// annotate BINARY has no samples and begins at annotate().

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

// Writes a function from its title to its last instruction. Without amounts there is no part
// for source lines: it would be lines without figures, and each stands above its instructions
// anyway.
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
      // The source line is written where it changes, not above each of its instructions. The
      // compiler mixes lines, so a line may come several times.
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
    // A line that has code and was not hit is a finding as well. Only the outermost call
    // counts: what was inlined here has its lines in its own function.
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
      // A function has lines of several files where the compiler was given #line or //line
      // directives. Nothing connects the lines of one file with those of the next. `last` is 0
      // before the first line, whose file may have the empty name that `file` begins with.
      if (place.first != std::exchange(file, place.first) || last == 0) {
        add({.kind = AnnotatedLine::Kind::kTitle,
             .text = printable(file),
             .style = Style::kPlain,
             .place = {view_.sources->place(file), place.second}});
        // Lines count from 1: code of an unknown line is in none of these.
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
    // Three cases: the line can be shown; it is empty, and only its number is left; or there
    // is no source, and then only a line with samples is worth its number.
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
    // Calls are innermost first, so equal ones are looked for from the end. The innermost is
    // always written: something has changed, and it carries the samples of the instructions
    // that follow.
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
    // The outermost call is the function that the title names.
    if (depth > 0)
      place += shown_name(call.function, function_.source, view_) + " ";
    place += shown_place(call);
    // The two spaces between the place and the code.
    size_t used = display_width(place) + 2;
    AnnotatedLine line = {.kind = AnnotatedLine::Kind::kCode,
                          .samples = {.self = self},
                          .head = std::move(place),
                          .head_style = Style::kFaint,
                          .place = {view_.sources->place(call.file), call.line}};
    if (auto source = view_.sources->line(call.file, call.line)) {
      std::string_view code = *source;
      // The line stands behind its place: its own indentation says nothing here.
      code.remove_prefix(std::min(code.find_first_not_of(' '), code.size()));
      std::string shown = fitting(code, used);
      if (!shown.empty())
        line.text = "  " + shown;
    }
    add(std::move(line));
  }

  // A width of SIZE_MAX is that of a file or a pipe: nothing is cut.
  std::string fitting(std::string_view text, size_t used) const {
    if (width_ == SIZE_MAX)
      return std::string(text);
    return used < width_ ? cut_at_end(text, width_ - used) : "";
  }

  void write_instruction(const AnnotatedInstruction& instruction) {
    // Instructions are indented one step more than the innermost call above them.
    std::string text = fmt::format("{:{}}{:x}:  ", "", 2 * instruction.calls.size() + 2,
                                   to_integer(instruction.address));
    // Bytes that are no instruction, such as a jump table in the code, are shown as an
    // assembler takes them.
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
    // A jump within the function has no name, whatever symbols lie in it; one to its begin has:
    // it is a recursive call.
    uint64_t inside = to_integer(target) - to_integer(function_.range.address);
    if (inside > 0 && inside < function_.range.size)
      return "";
    // The linker's list of functions is asked first, for it has the begin and so the offset.
    auto starts_after =
        std::ranges::upper_bound(view_.functions, target, {}, &FunctionRange::address);
    if (starts_after != view_.functions.begin()) {
      const FunctionRange& function = *std::prev(starts_after);
      uint64_t offset = to_integer(target) - to_integer(function.address);
      if (offset < function.size)
        return fmt::format("  <{}{}>", name_at(target, function.name),
                           offset == 0 ? "" : fmt::format("+{:#x}", offset));
    }
    std::string name = name_at(target, "");
    return name.empty() ? "" : fmt::format("  <{}>", name);
  }

  std::string name_at(ImageAddress address, std::string_view known) const {
    std::vector<Call> calls;
    // A place without a listed function may still have a name: a stub in the PLT, say.
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
  // Only the form of the name depends on the source: kSymtab stands in where none has a name
  // for the begin of the function.
  function.source = source_of(symbols, range).value_or(FrameSource::kSymtab);
  Bytes code = symbols.image().loaded_from(range.address).value_or(Bytes{});
  code = code.first(std::min<uint64_t>({code.size(), range.size, kMaxFunction}));
  function.missing = range.size - code.size();
  // The code is decoded from the function's begin, one instruction after the other: x86-64 has
  // no other place to begin at. After data among the code a decoder may be out of step for
  // some instructions.
  // decode() takes a byte at least, so that this ends. find() leaves the calls empty where
  // nobody knows any.
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
  // Source lines get what the columns of amounts leave of the width.
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

namespace {

// The address in the file of the instruction that ran or called; none for code of the kernel,
// of a JIT, or of nobody known.
std::optional<ImageAddress> code_address(const Profile& profile, const Location& location) {
  if (!location.image_address ||
      profile.image_of(location.mapping).kind != ProfileImage::Kind::kFile)
    return std::nullopt;
  return location.call_in_image();
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
    // The last frame is the function that has the code; those before it were inlined into it.
    size_t frame =
        calls == Calls::kInlined || location.frame_count == 0 ? 0 : location.frame_count - 1;
    bool has_wanted = false;
    for (; frame < location.frame_count; frame++)
      has_wanted = has_wanted || is_wanted(static_cast<LocationId>(i), frame);
    if (address && has_wanted)
      images[profile.mappings[to_index(location.mapping)].image].wanted.push_back(*address);
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
    // Samples of the innermost location alone: these order the functions and set the unit of
    // amounts.
    if (stack.empty())
      continue;
    const Location& location = profile.locations[to_index(stack.front())];
    auto address = code_address(profile, location);
    auto image = images.find(profile.mappings[to_index(location.mapping)].image);
    if (address && image != images.end())
      image->second.self[to_integer(*address)] += profile.amount(sample);
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
  // A name goes before an expression, so that "main.f" does not show main.f2 as well, and a
  // name with brackets or parentheses needs no escapes.
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
  // The very file that was sampled, or none: the code of another build would be shown with
  // samples that are not its own.
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
  // All functions first and then one pass through the samples, which are many more.
  for (const FunctionRange& range : ranges)
    functions.push_back(annotate(symbols, range, disassembler));
  count_samples(profile, samples, image, functions);
  return functions;
}

Functions functions_at(const Functions& all, const SamplesOfCode& code) {
  // Several sampled addresses lie in one function, which is shown once.
  std::set<size_t> indices;
  for (ImageAddress address : code.wanted) {
    // The function that begins last before it, if it reaches so far.
    auto after = std::ranges::upper_bound(all, address, {}, &FunctionRange::address);
    if (after != all.begin() &&
        to_integer(address) - to_integer(std::prev(after)->address) < std::prev(after)->size)
      indices.insert(static_cast<size_t>(std::prev(after) - all.begin()));
  }
  Functions found;
  for (size_t index : indices)
    found.push_back(all[index]);
  // The hottest function first; those without samples of their own stay in the order of
  // addresses.
  std::ranges::stable_sort(found, std::greater(), [&](const FunctionRange& function) {
    return sum_of(code.self, to_integer(function.address), function.size);
  });
  return found;
}

namespace {

// Counts for a function, a line or an instruction.
struct Counter {
  SelfAndTotal* samples;
  uint64_t last_stack = 0;  // from 1: which one it has counted last
};

// A frame of a stack counts for this one.
struct CountedPlace {
  size_t counter = 0;
  bool is_innermost = true;  // no other function was inlined there
};

struct Place {
  std::vector<CountedPlace> counted = {};
  AnnotatedInstruction* indirect_call = nullptr;  // if it returns to behind one
};

// Charges samples to code in one pass. Each location of the profile is looked up once, when
// this is made, and from then on has a list of counters to add to; a stack is then nothing but
// a walk over those lists.
class CodeCounter {
public:
  CodeCounter(const Profile& profile, uint32_t image, std::span<AnnotatedFunction> functions)
      : profile_(profile), image_(image) {
    for (AnnotatedFunction& function : functions)
      for (AnnotatedInstruction& instruction : function.instructions)
        instructions_.push_back({to_integer(instruction.address), &instruction, &function});
    std::ranges::sort(instructions_, {}, &CodeAt::address);
    // Owners before places: place_of() asks for the owner of each function.
    find_owners();
    places_.reserve(profile.locations.size());
    for (const Location& location : profile.locations)
      places_.push_back(place_of(location));
  }

  void count(std::span<const SampleCount> samples) {
    // Samples are numbered from 1, for 0 is the state of a counter that has seen none. A
    // function that is in a stack twice finds its number there the second time, and adds to
    // its total once.
    uint64_t number = 0;
    for (const SampleCount& sample : samples) {
      std::span<const LocationId> stack = profile_.stack(sample.stack);
      uint64_t amount = profile_.amount(sample);
      number++;
      for (size_t i = 0; i < stack.size(); i++) {
        const Place& place = places_[to_index(stack[i])];
        for (const CountedPlace& counted : place.counted)
          add(counters_[counted.counter], number, amount, i == 0 && counted.is_innermost);
        // The profile knows which function an indirect call went to: the callee is the frame
        // next to it in the stack, and its outermost function is the one that was called, not
        // one inlined there.
        if (!place.indirect_call || i == 0)
          continue;
        std::span<const Frame> called =
            profile_.frames_of(profile_.locations[to_index(stack[i - 1])]);
        if (!called.empty())
          called_[{place.indirect_call, called.back().function}] += amount;
      }
    }
  }

  // The one that was called the most is told, and how many others were.
  void name_called() const {
    // The map is sorted by instruction first, so the callees of one lie side by side.
    for (auto of = called_.begin(); of != called_.end();) {
      auto next = std::find_if(of, called_.end(), [&](const auto& other) {
        return other.first.first != of->first.first;
      });
      auto most = std::max_element(
          of, next, [](const auto& a, const auto& b) { return a.second < b.second; });
      std::string& text = most->first.first->called;
      text = profile_.name_of(most->first.second);
      if (auto others = std::distance(of, next) - 1; others > 0)
        text += fmt::format(" and {} other{}", others, others == 1 ? "" : "s");
      of = next;
    }
  }

private:
  struct CodeAt {
    uint64_t address;
    AnnotatedInstruction* instruction;
    AnnotatedFunction* function;  // that it is of
  };

  static void add(Counter& counter, uint64_t stack, uint64_t amount, bool is_self) {
    if (is_self)
      counter.samples->self += amount;
    if (std::exchange(counter.last_stack, stack) != stack)
      counter.samples->total += amount;
  }

  // The instruction at the location, or whose call returns there; null: it is of other code.
  const CodeAt* instruction_at(const Location& location) const {
    // A goroutine's creator is no frame of the stack: counting it would charge the go
    // statement with the work of all goroutines that it began.
    if (!location.image_address || location.is_creator ||
        profile_.mappings[to_index(location.mapping)].image != image_)
      return nullptr;
    // Return addresses are those of the next instruction: call_of() steps back into the call.
    uint64_t address = to_integer(location.call_in_image());
    auto after = std::ranges::upper_bound(instructions_, address, {}, &CodeAt::address);
    if (after == instructions_.begin())
      return nullptr;
    const CodeAt& known = *std::prev(after);
    return address - known.address < known.instruction->code.size ? &known : nullptr;
  }

  // A function of the profile is that of the code in which its calls are the outermost. One
  // that lies in several pieces is that of the first.
  void find_owners() {
    for (const Location& location : profile_.locations) {
      std::span<const Frame> frames = profile_.frames_of(location);
      const CodeAt* at = frames.empty() ? nullptr : instruction_at(location);
      if (!at)
        continue;
      AnnotatedFunction*& owner = owners_[to_index(frames.back().function)];
      owner = owner ? std::min(owner, at->function) : at->function;
    }
  }

  // The counters that a stack through the location adds to.
  Place place_of(const Location& location) {
    Place place;
    if (const CodeAt* at = instruction_at(location)) {
      place.counted.push_back({counter_of(at->instruction->samples)});
      // A call whose target the instruction itself has is direct.
      if (location.is_return && !at->instruction->code.target)
        place.indirect_call = at->instruction;
    }
    // Functions and lines by their names in the profile, wherever their code is: also in
    // functions that inlined them.
    std::span<const Frame> frames =
        location.is_creator ? std::span<const Frame>() : profile_.frames_of(location);
    for (size_t i = 0; i < frames.size(); i++) {
      auto owner = owners_.find(to_index(frames[i].function));
      if (owner == owners_.end())
        continue;
      AnnotatedFunction& function = *owner->second;
      place.counted.push_back({counter_of(function.samples), i == 0});
      if (frames[i].line != 0)
        place.counted.push_back({counter_of(line_of(function, frames[i])), i == 0});
    }
    return place;
  }

  SelfAndTotal& line_of(AnnotatedFunction& function, const Frame& frame) const {
    std::string_view file = profile_.strings[profile_.functions[to_index(frame.function)].file];
    // An entry of a std::map stays at its place, so that a counter may point to it.
    return function.lines[{std::string(file), frame.line}];
  }

  size_t counter_of(SelfAndTotal& samples) {
    auto [known, is_new] = counter_numbers_.try_emplace(&samples, counters_.size());
    if (is_new)
      counters_.push_back({&samples});
    return known->second;
  }

  const Profile& profile_;
  uint32_t image_;
  std::vector<CodeAt> instructions_;  // by address
  std::vector<Counter> counters_;
  tsl::robin_map<SelfAndTotal*, size_t> counter_numbers_;
  std::map<size_t, AnnotatedFunction*> owners_;  // by function of the profile
  std::vector<Place> places_;                    // by location
  std::map<std::pair<AnnotatedInstruction*, FunctionId>, uint64_t> called_;
};

}  // namespace

void count_samples(const Profile& profile, std::span<const SampleCount> samples, uint32_t image,
                   std::span<AnnotatedFunction> functions) {
  CodeCounter counter(profile, image, functions);
  counter.count(samples);
  counter.name_called();
}

}  // namespace gosym
