#include "exchange/folded_reader.h"
#include "base/sequence_pool.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "exchange/profile_builder.h"

namespace gosym {

namespace {

// The text of a frame, split into its name and what its mark says.
struct MarkedFrame {
  std::string_view name;
  bool is_kernel = false;
  bool is_inlined = false;
};

// Marks are those of flamegraph.pl: "_[k]" is of the kernel's code, "_[i]" of what was inlined
// into the frame before. Those of code that was compiled at run time, "_[j]", and of who woke a
// thread, "_[w]", tell nothing here.
MarkedFrame without_mark(std::string_view text) {
  constexpr size_t kMarkSize = std::string_view("_[k]").size();
  // A mark alone is a name: nothing would be left of it.
  auto ends_in = [&](std::string_view mark) {
    return text.size() > kMarkSize && text.ends_with(mark);
  };
  std::string_view name = text.substr(0, text.size() - std::min(text.size(), kMarkSize));
  if (ends_in("_[k]"))
    return {.name = name, .is_kernel = true};
  if (ends_in("_[i]"))
    return {.name = name, .is_inlined = true};
  if (ends_in("_[j]") || ends_in("_[w]"))
    return {.name = name};
  return {.name = text};
}

// The byte that gosym has written as "\x1b" where one cannot stand in a line, or would be read
// as the end of a mark; none for what it leaves as it is.
std::optional<char> escaped_byte(std::string_view text) {
  constexpr size_t kSize = 4;
  auto digit = [&](size_t i) {
    char c = text[i];
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() < kSize || !text.starts_with("\\x") || digit(2) < 0 || digit(3) < 0)
    return std::nullopt;
  int byte = digit(2) * 16 + digit(3);
  // The bytes that printable() and safe() of output/folded.cpp write so; any other "\x.." is
  // part of a name.
  bool is_written_so = byte < 0x20 || byte >= 0x7f || byte == ']';
  return is_written_so ? std::optional(static_cast<char>(byte)) : std::nullopt;
}

// The name that stands in a line as `text`.
std::string unescaped(std::string_view text) {
  std::string name;
  while (!text.empty()) {
    auto byte = escaped_byte(text);
    name += byte.value_or(text.front());
    text.remove_prefix(byte ? 4 : 1);
  }
  return name;
}

// The end of the digits that begin there.
size_t skip_digits(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of("0123456789", at), text.size());
}

// Why a number that other tools take for a count is none.
std::string_view what_is_wrong_with(std::string_view number) {
  if (number.starts_with('-'))
    return "negative";
  return number.find_first_of(".eE") == number.npos ? "too large" : "a fraction";
}

class FoldedReader {
public:
  explicit FoldedReader(uint64_t memory_budget)
      : builder_(memory_budget), max_frames_(memory_budget / kFrameSize) {}

  Result<Profile> read(std::string_view text) {
    builder_.take(text.size());  // the text is in memory, and counts for the budget
    while (!text.empty()) {
      line_number_++;
      std::string_view line = take_line(text);
      if (line.ends_with('\r'))
        line.remove_suffix(1);
      if (is_no_stack(line))
        continue;
      if (auto added = add_line(line); !added)
        return std::move(added).error().context(fmt::format("line {}", line_number_));
      if (builder_.is_full())
        return errorf("line {}: the stacks up to here take too much memory", line_number_);
    }
    // Frames may end in a number, but not all of them.
    if (lines_ > 0 && lines_with_two_ == lines_)
      return Error("each line ends in two numbers: this is a difference of two profiles");
    // Folded text tells no language: what a Go function is called tells it, and once all names
    // are known.
    mark_go_functions();
    Profile& profile = builder_.profile();
    profile.info.events = {{.name = "samples", .period = 1, .unit = "count"}};
    profile.info.source = "folded text";
    return std::move(builder_).finish();
  }

private:
  static constexpr uint64_t kFrameSize =
      32;  // what a frame of a stack takes while that is read

  // A line is a stack, its outermost frame first and ";" between frames, a space and a count.
  Result<> add_line(std::string_view line) {
    size_t space = line.rfind(' ');
    // None for what is no number as well as for one that is too large, or no whole one.
    auto count = space == line.npos ? std::nullopt : parse_decimal(line.substr(space + 1));
    std::string_view last = space == line.npos ? "" : line.substr(space + 1);
    if (!count && !looks_like_number(last))
      return errorf("it does not end in a number: '{}'", printable(line.substr(0, 80)));
    size_t other = space == line.npos ? space : line.substr(0, space).rfind(' ');
    if (!count && other != line.npos &&
        looks_like_number(line.substr(other + 1, space - other - 1)))
      return Error("it ends in two numbers: this is a difference of two profiles");
    if (!count)
      return errorf("its count is {}: '{}'", what_is_wrong_with(last),
                    printable(last.substr(0, 80)));
    if (*count > INT64_MAX - total_)
      return errorf("its count is too large, the counts have no sum of 63 bits: '{}'", last);
    total_ += *count;
    std::string_view frames = line.substr(0, space);
    size_t before = frames.rfind(' ');
    lines_++;
    // A frame may end in a number; only if all lines do, it is a second count, as of
    // write_folded_difference(). read() decides at the end.
    lines_with_two_ += before != frames.npos && parse_decimal(frames.substr(before + 1));
    if (!add_stack(frames))
      return Error("its stack takes too much memory");
    if (*count > 0)
      builder_.add_sample(
          {.stack = builder_.add_stack(stack_), .count = *count, .weight = *count});
    return Ok{};
  }

  // Innermost first. What is inlined is one location with the frame that it was inlined into.
  // False if it has more frames than there is memory for.
  bool add_stack(std::string_view frames) {
    stack_.clear();
    // Frames are taken from the end of the line, which is the innermost one. Inlined ones are
    // held in `location` until the frame comes that has their code.
    std::string_view location = frames;  // from its first frame to the end of its last
    while (!frames.empty()) {
      if (stack_.size() > max_frames_)
        return false;
      size_t separator = frames.rfind(';');
      std::string_view frame = frames.substr(separator == frames.npos ? 0 : separator + 1);
      if (!without_mark(frame).is_inlined || separator == frames.npos) {
        stack_.push_back(
            location_of(location.substr(static_cast<size_t>(frame.data() - location.data()))));
        location = frames.substr(0, separator == frames.npos ? 0 : separator);
      }
      frames = frames.substr(0, separator == frames.npos ? 0 : separator);
    }
    return true;
  }

  // `text` has the frame that all others are inlined into, and these behind it.
  LocationId location_of(std::string_view text) {
    auto [known, is_new] = locations_.try_emplace(text);
    if (!is_new)
      return known.value();
    std::vector<std::string_view> texts = split(text, ';');
    Location location;
    std::vector<Frame> frames;
    if (auto count = left_out_frames(text)) {
      location.unnamed = Unnamed::kLeftOut;
      location.address = RuntimeAddress{*count};
      return known.value() = builder_.add_location(location, frames);
    }
    // Outermost first in the text, innermost first in the profile.
    for (size_t i = texts.size(); i-- > 0;) {
      MarkedFrame frame = without_mark(texts[i]);
      if (frame.is_kernel)
        location.mapping = kKernelMapping;
      bool is_unnamed = is_stand_in(frame.name);
      if (is_unnamed)
        location.unnamed = unnamed_by(frame.name);
      frames.push_back({.function = function_of(frame.name),
                        .source = is_unnamed ? FrameSource::kCallFrames : FrameSource::kGiven});
    }
    return known.value() = builder_.add_location(location, frames);
  }

  // Marks functions of Go if the program is one: it has functions that each Go program has, and
  // they look like Go.
  void mark_go_functions() {
    Profile& profile = builder_.profile();
    auto is_of_runtime = [](std::string_view name) {
      return name == "runtime.goexit" || name == "runtime.mcall" || name == "runtime.main" ||
             name == "runtime.mstart" || name == "runtime.morestack";
    };
    if (std::ranges::none_of(profile.frames, [&](const Frame& frame) {
          return is_of_runtime(profile.name_of(frame.function));
        }))
      return;
    for (Frame& frame : profile.frames) {
      std::string_view name = profile.name_of(frame.function);
      if (frame.source == FrameSource::kGiven && name.find('.') != name.npos &&
          name.find("::") == name.npos)
        frame.source = FrameSource::kGivenGo;
    }
  }

  FunctionId function_of(std::string_view text) {
    bool has_escapes = text.find("\\x") != text.npos;
    StringId id = builder_.intern(has_escapes ? unescaped(text) : std::string(text));
    auto [known, is_new] = functions_.try_emplace(static_cast<uint32_t>(id));
    if (is_new)
      known.value() = builder_.add_function({.name = id, .system_name = id});
    return known->second;
  }

  ProfileBuilder builder_;
  uint64_t max_frames_;                                        // of one stack
  std::vector<LocationId> stack_;                              // of a line
  tsl::robin_map<std::string_view, LocationId> locations_;     // by their text
  tsl::robin_map<uint32_t, FunctionId, BytesHash> functions_;  // by their names
  uint64_t line_number_ = 0;
  uint64_t lines_ = 0;
  uint64_t lines_with_two_ = 0;  // that end in two numbers
  uint64_t total_ = 0;
};

}  // namespace

bool looks_like_number(std::string_view text) {
  size_t begin = text.starts_with('-') ? 1 : 0;
  size_t at = skip_digits(text, begin);
  size_t digits = at - begin;
  if (at < text.size() && text[at] == '.') {
    size_t end = skip_digits(text, at + 1);
    digits += end - at - 1;
    at = end;
  }
  if (digits > 0 && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 1 : 0;
    size_t end = skip_digits(text, at + 1 + sign);
    // An "e" without digits behind it is left over, so that this is no number.
    at = end > at + 1 + sign ? end : at;
  }
  return digits > 0 && at == text.size();
}

bool is_no_stack(std::string_view line) {
  return line.empty() || line.starts_with("# ");
}

Result<Profile> read_folded(std::string_view text, uint64_t memory_budget) {
  return FoldedReader(memory_budget).read(text);
}

}  // namespace gosym
