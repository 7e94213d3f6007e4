#include "record/stacks/stack_slots.h"

#include <algorithm>

#include "unwind/stack_walk.h"

namespace gosym {

namespace {

struct SampledAddress {
  uint64_t value = 0;
  bool is_return = true;
  bool operator==(const SampledAddress&) const = default;
};

// The place whose rule is asked for: behind a call another function may begin.
uint64_t place_of(SampledAddress address) {
  return address.value - (address.is_return ? 1 : 0);
}

// The code of the functions, as far as rules are known.
class KnownCode {
public:
  using Address = SampledAddress;

  explicit KnownCode(const RuleOf& rule_of) : rule_of_(rule_of) {}

  std::optional<UnwindRule> rule(Address address) {
    auto rule = rule_of_(place_of(address));
    has_unknown_ |= !rule;
    return rule;
  }
  // Report also sees whether a call lies before: that ends its walk earlier at most, and it
  // asks for no other word.
  bool is_return_address(Address) const { return true; }
  Address returned_to(Address address) const { return address; }
  Address interrupted(Address address) const { return {address.value, false}; }
  bool is_go(Address) const { return true; }
  // No rule of Go's has to be evaluated.
  std::optional<CallerFrame> evaluate(Address, MachineState&) const { return std::nullopt; }
  CallerRegister caller_register(Address, uint64_t, uint64_t, MachineState&) const {
    return {};
  }

  // A rule was asked for that is not known.
  bool has_unknown() const { return has_unknown_; }

private:
  const RuleOf& rule_of_;
  bool has_unknown_ = false;
};

// The words of a top that may be of use. Where it was taken up to the frame that the frame
// pointer leads to, that is all there is to know of frame pointers: of places only this one may
// be saved, by a function that has not set up its frame yet. Others were saved below the place
// that they point to.
class UsefulWords {
public:
  UsefulWords(const StackTop& top, const CodeRanges& code, uint64_t frame_offset)
      : top_(top), code_(code), ends_at_frame_(frame_offset == 8 * top.words.size()) {}

  std::optional<StackWord> at(uint64_t offset) const {
    if (offset % 8 != 0 || offset / 8 >= top_.words.size())
      return far_at(offset);
    uint64_t value = top_.words[offset / 8];
    // A place is recorded as its distance from the stack pointer.
    uint64_t place = top_.offset_of(value);
    if (contains(code_, value & top_.code_mask))
      return StackWord{offset, value & top_.code_mask};
    bool may_be_frame = !ends_at_frame_ || place == 8 * top_.words.size();
    if (may_be_frame && place <= kMaxTopSize && place > offset)
      return StackWord{offset, place};
    return std::nullopt;
  }

  // Encodes a register's value as it is recorded: a place of the stack, an address of code, or
  // a small number; none for other values.
  std::optional<uint64_t> useful(uint64_t value) const {
    uint64_t place = top_.offset_of(value);
    if (place <= kMaxTopSize)
      return place;
    if (uint64_t address = value & top_.code_mask;
        address < StackWord::kNumber && contains(code_, address))
      return address;
    return value <= UINT32_MAX ? std::optional(StackWord::kNumber + value) : std::nullopt;
  }

private:
  std::optional<StackWord> far_at(uint64_t offset) const {
    auto word = std::ranges::lower_bound(top_.far_words, offset, {}, &StackWord::offset);
    bool is_there = word != top_.far_words.end() && word->offset == offset;
    return is_there && contains(code_, word->value) ? std::optional(*word) : std::nullopt;
  }

  const StackTop& top_;
  const CodeRanges& code_;
  bool ends_at_frame_;
};

WalkedWord<SampledAddress> walked(const StackWord& word) {
  if (word.is_place())
    return {.place = word.value};
  if (word.is_number())
    return {.number = word.value - StackWord::kNumber};
  return {.address = {word.value}};
}

// Notes what a walk asks for.
class NotedWords {
public:
  NotedWords(const UsefulWords& words, const StackTop& top, std::vector<StackWord>& noted)
      : words_(words), top_(top), noted_(noted) {}

  std::optional<WalkedWord<SampledAddress>> at(uint64_t offset) const {
    auto word = words_.at(offset);
    if (!word)
      return std::nullopt;
    noted_.push_back(*word);
    return walked(*word);
  }
  // Registers are read only as far as Go code asks for them.
  std::optional<WalkedWord<SampledAddress>> register_at(uint64_t number) const {
    if (number != kLinkRegister || number >= top_.registers.size())
      return std::nullopt;
    auto value = words_.useful(top_.registers[number]);
    if (!value)
      return std::nullopt;
    noted_.push_back({offset_of_register(number), *value});
    return walked(noted_.back());
  }

private:
  const UsefulWords& words_;
  const StackTop& top_;
  std::vector<StackWord>& noted_;
};

std::vector<SampledAddress> chain_of(const RecordedSample& sample) {
  std::vector<SampledAddress> chain;
  size_t own = sample.user_stack.size();
  for (size_t end : {sample.goroutine_start, sample.gap})
    own = end != 0 ? std::min(own, end) : own;
  for (uint64_t address : sample.user_stack.first(own))
    chain.push_back({address, !chain.empty()});
  return chain;
}

// The chain of the stack that the code runs on ends in the gap only if that lies on the same
// stack, and so before the first frame of the goroutine's: report's walk has it so, too.
ChainState state_of(const RecordedSample& sample, const StackTop& top) {
  bool is_of_goroutine = sample.goroutine_start != 0 && sample.goroutine_start <= sample.gap;
  return {.frame_offset = sample.frame_offset,
          .end = sample.user_end,
          .ends_in_gap = sample.gap != 0 && !is_of_goroutine,
          .stack_pointer = top.misaligned,
          .limit = first_place(sample.switches)};
}

// Returns the offset where the stack of the first function without a known rule begins. For a
// goroutine it may be where the words of another stack begin; kMaxWordOffset if there is
// nothing more to take.
uint64_t walk(const RecordedSample& sample, const StackTop& top, const UsefulWords& words,
              const RuleOf& rule_of, std::vector<StackWord>& needed) {
  std::vector<SampledAddress> chain = chain_of(sample);
  if (chain.empty())
    return kMaxWordOffset;
  KnownCode code(rule_of);
  // The leaf's rule may be unknown, as there was no time to look: then it may be in a register
  // too.
  NotedWords noted(words, top, needed);
  if (!code.rule(chain.front()))
    noted.register_at(kLinkRegister);
  StackWalk walk(code, noted, std::span<const SampledAddress>(chain), state_of(sample, top));
  while (true) {
    // Callers may lie further up than the words that were taken of their stack.
    uint64_t begin = std::min(walk.stack_pointer(), first_place(sample.switches));
    bool goes_on = walk.step();
    // The reader may know the rule, so everything from there on is kept.
    if (code.has_unknown())
      return begin;
    if (!goes_on)
      return sample.goroutine_start == 0 ? kMaxWordOffset : begin;
  }
}

// All code, as far as rules are known.
class AllCode {
public:
  using Address = SampledAddress;

  explicit AllCode(SampledCode& code) : code_(code) {}

  std::optional<UnwindRule> rule(Address address) { return code_.rule(place_of(address)); }
  bool is_return_address(Address) const { return true; }
  Address returned_to(Address address) const { return address; }
  Address interrupted(Address address) const { return {address.value, false}; }
  // It does not matter here: no word that is given is 0.
  bool is_go(Address) const { return false; }
  std::optional<CallerFrame> evaluate(Address address, MachineState& state) {
    return code_.evaluate(place_of(address), state);
  }
  CallerRegister caller_register(Address address, uint64_t number, uint64_t cfa,
                                 MachineState& state) {
    return code_.caller_register(place_of(address), number, cfa, state);
  }

private:
  SampledCode& code_;
};

// The low bits of the stack pointer, as they are recorded: a rule may ask for its alignment.
uint64_t stack_alignment(const StackTop& top) {
  constexpr uint64_t kAlignmentMask = 0xfff;
  return StackWord::kNumber + ((top.stack_pointer + top.misaligned) & kAlignmentMask);
}

// Notes the registers that a walk asks for.
class NotedRegisters {
public:
  NotedRegisters(const UsefulWords& words, const StackTop& top, std::vector<StackWord>& noted)
      : words_(words), top_(top), noted_(noted) {}

  std::optional<WalkedWord<SampledAddress>> at(uint64_t offset) const {
    auto word = words_.at(offset);
    return word ? std::optional(walked(*word)) : std::nullopt;
  }

  std::optional<WalkedWord<SampledAddress>> register_at(uint64_t number) const {
    std::optional<uint64_t> value = value_of(number);
    if (!value)
      return std::nullopt;
    noted_.push_back({offset_of_register(number), *value});
    return walked(noted_.back());
  }

private:
  std::optional<uint64_t> value_of(uint64_t number) const {
    if (number == kStackAlignment && !top_.registers.empty())
      return stack_alignment(top_);
    if (number < top_.registers.size())
      return words_.useful(top_.registers[number]);
    size_t first = kStackAlignment - top_.red_zone.size();
    if (number >= first && number < kStackAlignment)
      return words_.useful(top_.red_zone[number - first]);
    return std::nullopt;
  }

  const UsefulWords& words_;
  const StackTop& top_;
  std::vector<StackWord>& noted_;
};

// True if the word there is 0, and the next ones lead to no code: above the first function of a
// fiber lies nothing that called it. A walk that went wrong ends amid other callers, of which
// one lies within so many words.
bool is_end_of_fiber(const StackTop& top, const CodeRanges& code, uint64_t offset) {
  constexpr size_t kNextWords = 128;
  size_t index = offset / 8;
  if (offset % 8 != 0 || index >= top.words.size() || top.words[index] != 0)
    return false;
  std::span<const uint64_t> above = std::span(top.words).subspan(index + 1);
  return std::ranges::none_of(above.first(std::min(above.size(), kNextWords)),
                              [&](uint64_t word) { return contains(code, word); });
}

void put_in_order(std::vector<StackWord>& words) {
  std::ranges::sort(words, {}, &StackWord::offset);
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

}  // namespace

void find_needed_registers(const RecordedSample& sample, const StackTop& top,
                           const CodeRanges& ranges, SampledCode& code,
                           std::vector<StackWord>& needed) {
  // A rule that has to be evaluated is not far from where the registers were used, and the
  // stack of a fiber is not deep.
  constexpr int kMaxFunctions = 256;
  // The walk is repeated with all code and not Go's alone: only rules of other code use
  // registers.
  std::vector<SampledAddress> chain = chain_of(sample);
  if (chain.empty())
    return;
  UsefulWords words(top, ranges, sample.frame_offset);
  AllCode all(code);
  StackWalk walk(all, NotedRegisters(words, top, needed),
                 std::span<const SampledAddress>(chain), state_of(sample, top));
  // The walk is done for what NotedRegisters notes.
  for (int i = 0; i < kMaxFunctions && walk.step(); i++) {
  }
  if (auto end = walk.end_place(); end && is_end_of_fiber(top, ranges, *end))
    needed.push_back({*end, 0});
  put_in_order(needed);
}

void take_registers(const RecordedSample& sample, const StackTop& top, const CodeRanges& ranges,
                    std::vector<StackWord>& needed) {
  UsefulWords words(top, ranges, sample.frame_offset);
  NotedRegisters noted(words, top, needed);
  for (uint64_t number = 0; number < top.registers.size(); number++)
    noted.register_at(number);
  noted.register_at(kStackAlignment);
  put_in_order(needed);
}

void select_stack_slots(const RecordedSample& sample, const StackTop& top,
                        const CodeRanges& code, const RuleOf& rule_of,
                        std::vector<StackWord>& needed) {
  needed.clear();
  // Words are told from a place that is a multiple of 8, and on arm64 16 bytes further in: how
  // far that is from the stack pointer goes with the words, in the place of registers.
  if (top.misaligned % 8 != 0)
    needed.push_back({offset_of_register(kStackAlignment), stack_alignment(top)});
  if (top.misaligned >= 8)
    needed.push_back({offset_of_register(kStackPointerRegister), top.misaligned});
  UsefulWords words(top, code, sample.frame_offset);
  // Before `begin` the rules tell which words are needed; from there on each may be. The walk
  // may end between two words.
  uint64_t begin = walk(sample, top, words, rule_of, needed) & ~uint64_t{7};
  for (uint64_t offset = begin; offset < 8 * top.words.size(); offset += 8)
    if (auto word = words.at(offset))
      needed.push_back(*word);
  // Far words were chosen by the BPF program for pointing into the code of the program; here
  // they are checked against all code that is known by now.
  for (const StackWord& word : top.far_words)
    if (word.offset >= begin && contains(code, word.value))
      needed.push_back(word);
  put_in_order(needed);
}

namespace {

// So many have a few processes only, that make code by the page; more would only cost time.
constexpr size_t kMaxRanges = 65536;

}  // namespace

void add(CodeRanges& ranges, CodeRange range) {
  if (range.begin >= range.end)
    return;
  // Ranges that touch the new one become one with it.
  auto first = std::ranges::lower_bound(ranges, range.begin, {}, &CodeRange::end);
  auto last = std::ranges::upper_bound(first, ranges.end(), range.end, {}, &CodeRange::begin);
  if (first != last) {
    range.begin = std::min(range.begin, first->begin);
    range.end = std::max(range.end, std::prev(last)->end);
    first = ranges.erase(first, last);
  }
  if (ranges.size() < kMaxRanges)
    ranges.insert(first, range);
}

bool contains(const CodeRanges& ranges, uint64_t address) {
  if (ranges.empty() || address < ranges.front().begin || address >= ranges.back().end)
    return false;
  auto above = std::ranges::upper_bound(ranges, address, {}, &CodeRange::begin);
  return address < std::prev(above)->end;
}

bool contains(const CodeRanges& ranges, CodeRange range) {
  auto at = std::ranges::upper_bound(ranges, range.begin, {}, &CodeRange::begin);
  return at != ranges.begin() && range.end <= std::prev(at)->end;
}

}  // namespace gosym
