#include "output/folded.h"

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/sequence_pool.h"
#include "base/text.h"
#include "profile/rewrite_stacks.h"
#include "view/frame_keys.h"

// folded.h has the form of a line.
namespace gosym {

namespace {

// Suffixes that flamegraph.pl and its kin take for a mark of kernel code, or of inlined,
// compiled or waking code. A name may end in one all the same.
constexpr std::string_view kMarks[] = {"_[k]", "_[i]", "_[j]", "_[w]"};
constexpr std::string_view kKernelMark = kMarks[0];

std::string safe(std::string_view name) {
  std::string text = printable(name);
  // Semicolons separate frames; flamegraph.pl has no way to quote them.
  std::ranges::replace(text, ';', ':');
  // The last bracket is written as \x5d, as printable() writes other bytes.
  if (std::ranges::any_of(kMarks, [&](auto mark) { return text.ends_with(mark); }))
    text.replace(text.size() - 1, 1, "\\x5d");
  return text;
}

// A line is never made before it is written: deep stacks of long names would take gigabytes.
// Each distinct text of a frame has a number instead, and so has each distinct sequence of them
// that a location is shown as, and each of those that a stack is.
class FoldedLines {
public:
  explicit FoldedLines(const Profile& profile)
      : profile_(profile), keys_(profile, Dimension::Kind::kFunction) {
    SequenceNumbers<uint32_t> shown;
    for (size_t i = 0; i < profile.locations.size(); i++) {
      add_frames(static_cast<LocationId>(i));
      begins_.push_back(frames_.size());
      shown_as_.push_back(shown.number(frames_of(static_cast<LocationId>(i))));
    }
    add_lines();
    std::ranges::sort(lines_,
                      [this](const Line& a, const Line& b) { return compare(a, b) < 0; });
  }

  // The lines one after the other, of which one at a time is text.
  class Cursor {
  public:
    explicit Cursor(const FoldedLines& lines) : lines_(lines) { next(); }

    bool has_more() const { return has_more_; }
    const std::string& stack() const { return stack_; }
    uint64_t amount() const { return amount_; }
    void next();

  private:
    const FoldedLines& lines_;
    size_t next_ = 0;  // of lines_
    bool has_more_ = false;
    std::string stack_;
    uint64_t amount_ = 0;
  };

private:
  struct Line {
    uint32_t comm;  // the number of its text
    StackId stack;
    uint64_t amount;
  };

  // The numbers of the texts of a line: the name of the thread, then the frames, outermost
  // first.
  class Frames {
  public:
    Frames(const FoldedLines& lines, uint32_t comm, std::span<const LocationId> stack)
        : lines_(lines), comm_(comm), stack_(stack) {
      if (lines.texts_[comm_].empty())  // of a profile that does not tell threads
        next();
    }

    bool has_more() const { return is_first_ || frame_ != frames_.size() || !stack_.empty(); }
    uint32_t get() const { return is_first_ ? comm_ : frames_[frame_]; }
    void next() {
      frame_ += is_first_ ? 0 : 1;
      is_first_ = false;
      while (frame_ == frames_.size() && !stack_.empty()) {
        frames_ = lines_.frames_of(stack_.back());
        stack_ = stack_.first(stack_.size() - 1);
        frame_ = 0;
      }
    }

  private:
    const FoldedLines& lines_;
    uint32_t comm_;
    std::span<const LocationId> stack_;
    std::span<const uint32_t> frames_ = {};  // of one location
    size_t frame_ = 0;
    bool is_first_ = true;
  };

  // Stacks that are shown alike, most of which differ by addresses, are one line.
  void add_lines() {
    SequenceNumbers<uint32_t> stacks;
    std::vector<uint32_t> stack_number(profile_.stack_count(), UINT32_MAX);
    std::vector<uint32_t> sequence;
    SequenceNumbers<uint32_t> lines;
    for (const SampleCount& sample : profile_.samples) {
      // A stack's sequence is numbered once, however many samples have it.
      uint32_t& number = stack_number[to_index(sample.stack)];
      if (number == UINT32_MAX) {
        sequence.clear();
        for (LocationId location : profile_.stack(sample.stack))
          sequence.push_back(shown_as_[to_index(location)]);
        number = stacks.number(sequence);
      }
      // Idle threads are told apart by the name of the thread: lines have no other place.
      const Owner& owner = profile_.owner(sample);
      bool is_idle = profile_.strings[owner.state] == kIdleThread;
      uint32_t comm = text_id(safe(profile_.strings[owner.comm]) +
                              (is_idle ? fmt::format(" [{}]", kIdleThread) : ""));
      uint32_t line = lines.number(std::array{comm, number});
      if (line == lines_.size())
        lines_.push_back({comm, sample.stack, 0});
      lines_[line].amount += profile_.amount(sample);
    }
  }

  // Outermost first.
  void add_frames(LocationId location) {
    std::span<const KeyId> keys = keys_.of(location);
    for (size_t i = keys.size(); i-- > 0;) {
      const ViewKey& key = keys_[keys[i]];
      frames_.push_back(text_id(safe(key.text).append(key.is_kernel ? kKernelMark : "")));
    }
  }

  uint32_t text_id(std::string text) {
    auto next = static_cast<uint32_t>(texts_.size());
    auto [known, is_new] = ids_.try_emplace(text, next);
    if (is_new)
      texts_.push_back(std::move(text));
    return known->second;
  }

  std::span<const uint32_t> frames_of(LocationId id) const {
    size_t begin = begins_[to_index(id)];
    return std::span(frames_).subspan(begin, begins_[to_index(id) + 1] - begin);
  }

  // Compares the lines by their texts, without making these.
  int compare(const Line& a, const Line& b) const {
    std::span<const LocationId> stack_a = profile_.stack(a.stack);
    std::span<const LocationId> stack_b = profile_.stack(b.stack);
    auto is_shown_alike = [this](LocationId one, LocationId other) {
      return shown_as_[to_index(one)] == shown_as_[to_index(other)];
    };
    // Skips what both have in common without looking at texts: sorted neighbours share most of
    // their stack.
    while (a.comm == b.comm && !stack_a.empty() && !stack_b.empty() &&
           is_shown_alike(stack_a.back(), stack_b.back())) {
      stack_a = stack_a.first(stack_a.size() - 1);
      stack_b = stack_b.first(stack_b.size() - 1);
    }
    Frames left(*this, a.comm, stack_a);
    Frames right(*this, b.comm, stack_b);
    while (left.has_more() && right.has_more() && left.get() == right.get()) {
      left.next();
      right.next();
    }
    // The shorter line is a beginning of the other, and sorts first.
    if (!left.has_more() || !right.has_more())
      return int{left.has_more()} - int{right.has_more()};
    std::string_view first = texts_[left.get()];
    std::string_view second = texts_[right.get()];
    left.next();
    right.next();
    // One frame's text may be a beginning of the other's: then the byte behind it decides,
    // which may be a semicolon or the line's end.
    size_t common = std::min(first.size(), second.size());
    if (int order = first.substr(0, common).compare(second.substr(0, common)); order != 0)
      return order;
    return behind(first, common, left) - behind(second, common, right);
  }

  // The byte of a line after `taken` bytes of the text of a frame; -1 at the end of the line.
  static int behind(std::string_view text, size_t taken, const Frames& after) {
    if (taken < text.size())
      return static_cast<uint8_t>(text[taken]);
    return after.has_more() ? ';' : -1;
  }

  const Profile& profile_;
  FrameKeys keys_;
  std::vector<std::string> texts_;
  tsl::robin_map<std::string, uint32_t> ids_;
  std::vector<uint32_t>
      frames_;  // of location i: [begins_[i], begins_[i + 1]), outermost first
  std::vector<size_t> begins_ = {0};
  std::vector<uint32_t> shown_as_;  // by location; equal: the same texts
  std::vector<Line> lines_;
};

void FoldedLines::Cursor::next() {
  const std::vector<Line>& lines = lines_.lines_;
  has_more_ = next_ < lines.size();
  if (!has_more_)
    return;
  const Line& first = lines[next_];
  stack_.clear();
  for (Frames frames(lines_, first.comm, lines_.profile_.stack(first.stack)); frames.has_more();
       frames.next()) {
    if (!stack_.empty())
      stack_.push_back(';');
    stack_.append(lines_.texts_[frames.get()]);
  }
  // Two stacks of different locations may be the same text. Equal lines are neighbours after
  // sorting, and become one.
  amount_ = 0;
  for (; next_ < lines.size() && lines_.compare(first, lines[next_]) == 0; next_++)
    amount_ += lines[next_].amount;
}

}  // namespace

void write_folded(const Profile& profile, const Write& write) {
  FoldedLines lines(profile);
  std::string text;
  bool is_read = true;
  for (FoldedLines::Cursor line(lines); line.has_more() && is_read; line.next()) {
    text.assign(line.stack()).push_back(' ');
    append_number(line.amount(), 10, text);
    text.push_back('\n');
    is_read = write(text);
  }
}

void write_folded_difference(const Profile& before, const Profile& after, double scale,
                             const Write& write) {
  FoldedLines lines_before(before);
  FoldedLines lines_after(after);
  FoldedLines::Cursor old(lines_before);
  FoldedLines::Cursor now(lines_after);
  bool is_read = true;
  // Both are sorted by their text, so that the lesser stack is not in the other one any more.
  while (is_read && (old.has_more() || now.has_more())) {
    int order = !old.has_more() ? 1 : !now.has_more() ? -1 : old.stack().compare(now.stack());
    // Amounts have 64 bits, all of which a double does not.
    long double amount_before = order <= 0 ? scale * static_cast<long double>(old.amount()) : 0;
    is_read = write(fmt::format("{} {:.0f} {}\n", order <= 0 ? old.stack() : now.stack(),
                                amount_before, order >= 0 ? now.amount() : 0));
    if (order <= 0)
      old.next();
    if (order >= 0)
      now.next();
  }
}

}  // namespace gosym
