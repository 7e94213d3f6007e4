#include "raw/sample_limits.h"

#include <algorithm>

#include "base/text.h"
#include "raw/messages.h"

namespace gosym::raw {

namespace {

// The other fourth is of the outer end.
constexpr size_t kInnerFrames = kMaxStackSize / 4 * 3;

constexpr std::string_view kCutMark = "...";

// True if it was too long; then it is cut, not within a character of UTF-8.
bool shorten(std::string_view text, size_t most, std::string& cut) {
  if (text.size() <= most)
    return false;
  cut = beginning_of(text, most - kCutMark.size());
  cut += kCutMark;
  return true;
}

bool shorten_view(std::string_view& text, std::string& cut) {
  bool is_cut = shorten(text, kMaxText, cut);
  if (is_cut)
    text = cut;
  return is_cut;
}

// The frames [begin, begin + count) are left out of a user stack. A gap that was there lies
// within.
struct LeftOut {
  uint32_t begin;
  uint32_t count;
};

// The gap lies after three quarters of what is kept, or takes in the gap that is there already,
// a place between two frames: a sample has room for one. So it begins at that gap at the
// latest, ends there at the earliest, and never begins at 0, which means that there is none.
// `size` is more than kMaxStackSize.
LeftOut choose_gap(size_t size, uint32_t gap) {
  auto count = static_cast<uint32_t>(size - kMaxStackSize);
  uint32_t begin = kInnerFrames;
  if (gap != 0)
    begin = std::clamp(begin, std::max(gap - std::min(gap, count), 1U), gap);
  return {begin, count};
}

}  // namespace

bool is_possible(const StackWord& word) {
  return word.offset % 8 == 0 && word.offset < offset_of_register(kEndOfRegisters) &&
         (!word.is_number() || word.value - StackWord::kNumber <= UINT32_MAX);
}

bool is_frame_offset(uint64_t offset) {
  return offset == kNoFrame || (offset <= kMaxFrameDistance && offset % 8 == 0);
}

bool are_sound(std::span<const StackSwitch> switches) {
  // Starts rise strictly and places do not fall: a stack leads from each switch outward.
  uint64_t start = 0;
  uint64_t least_place = 0;
  for (const StackSwitch& next : switches) {
    bool has_words = next.place != kNoFrame;
    bool is_place = !has_words || (next.place >= least_place && next.place < kMaxWordOffset &&
                                   next.place % 8 == 0);
    if (next.start <= start || next.start > kMaxStackSize || !is_place ||
        !is_frame_offset(next.frame_offset))
      return false;
    start = next.start;
    if (has_words)
      least_place = next.place;
  }
  return switches.size() <= kMaxSwitches;
}

Shortened SampleFitter::fit(RecordedSample& sample) {
  Shortened shortened;
  shortened.stack = fit_stacks(sample);
  // Switches are numbered by frames, which a cut has renumbered.
  if (shortened.stack || !are_sound(sample.switches))
    sample.switches = {};
  shortened.stack |= fit_words(sample);
  shortened.texts = fit_labels(sample);
  shortened.texts |= shorten_view(sample.state, state_);
  shortened.texts |= shorten_view(sample.waker, waker_);
  // A frame pointer that leads nowhere is common in code that uses the register for other
  // things.
  if (!is_frame_offset(sample.frame_offset))
    sample.frame_offset = kNoFrame;
  return shortened;
}

bool SampleFitter::fit_stacks(RecordedSample& sample) {
  bool is_cut = sample.kernel_stack.size() > kMaxStackSize;
  if (is_cut) {
    // The reader drops what lies beyond a cut as well: user code is not the caller of these.
    sample.kernel_stack = sample.kernel_stack.first(kMaxStackSize);
    sample.user_stack = {};
    sample.words = {};
    sample.frame_offset = kNoFrame;
    sample.user_end = StackEnd::kUnreadable;
  }
  // A place behind the end of the stack says nothing, and a reader would refuse it with all of
  // the sample.
  std::span<const uint64_t> user = sample.user_stack;
  if (sample.goroutine_start >= user.size())
    sample.goroutine_start = 0;
  if (sample.gap >= user.size() || sample.gap == 0 || sample.missing == 0)
    sample.gap = sample.missing = 0;
  // A stack that is too deep gets a gap in its middle, or a larger one: the leaf and the root
  // tell more than what is between. `goroutine_start` moves with its frame, or to the gap if
  // that frame is gone.
  if (user.size() > kMaxStackSize) {
    auto [begin, count] = choose_gap(user.size(), sample.gap);
    stack_.assign(user.begin(), user.begin() + begin);
    stack_.insert(stack_.end(), user.begin() + begin + count, user.end());
    sample.user_stack = stack_;
    if (sample.goroutine_start > begin)
      sample.goroutine_start =
          std::max(sample.goroutine_start - std::min(sample.goroutine_start, count), begin);
    sample.gap = begin;
    sample.missing = std::min(sample.missing, kMaxMissing) + count;
    is_cut = true;
  }
  sample.missing = std::min(sample.missing, kMaxMissing);
  return is_cut;
}

bool SampleFitter::fit_words(RecordedSample& sample) {
  std::span<const StackWord> words = sample.words;
  bool is_ordered = std::ranges::is_sorted(words, {}, &StackWord::offset);
  auto registers = static_cast<size_t>(std::ranges::count_if(words, &StackWord::is_register));
  bool fits = std::ranges::all_of(words, is_possible) && registers <= kMaxRegisters &&
              words.size() - registers <= kMaxTopWords;
  if (is_ordered && fits)
    return false;
  // Impossible words go first, then what is too many: registers lie behind all words of the
  // stack, so that both lists can be cut at their ends.
  words_.assign(words.begin(), words.end());
  std::erase_if(words_, [](const StackWord& word) { return !is_possible(word); });
  std::ranges::stable_sort(words_, {}, &StackWord::offset);
  auto first_register = std::ranges::find_if(words_, &StackWord::is_register);
  if (words_.end() - first_register > static_cast<ptrdiff_t>(kMaxRegisters))
    words_.erase(first_register + kMaxRegisters, words_.end());
  if (first_register - words_.begin() > static_cast<ptrdiff_t>(kMaxTopWords))
    words_.erase(words_.begin() + kMaxTopWords, first_register);
  sample.words = words_;
  return !fits;
}

bool SampleFitter::fit_labels(RecordedSample& sample) {
  auto is_long = [](const Label& label) {
    return std::max(label.key.size(), label.value.size()) > kMaxLabelText;
  };
  if (sample.labels.size() <= kMaxLabels && std::ranges::none_of(sample.labels, is_long))
    return false;
  // The first labels are kept, in the order of the program.
  std::span<const Label> kept = sample.labels.first(std::min(sample.labels.size(), kMaxLabels));
  labels_.assign(kept.begin(), kept.end());
  for (Label& label : labels_)
    for (std::string* text : {&label.key, &label.value})
      if (std::string cut; shorten(*text, kMaxLabelText, cut))
        *text = std::move(cut);
  sample.labels = labels_;
  return true;
}

}  // namespace gosym::raw
