#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/recording.h"
#include "model/unwind_rule.h"

namespace gosym {

// A word of a stack, or a register: a place there, in bytes as StackWord has it, a number, or
// what is returned to.
template <class Address>
struct WalkedWord {
  std::optional<uint64_t> place{};
  std::optional<uint64_t> number{};
  Address address{};  // unless it is one of these
};

// The end of a stack's chain of frame pointers.
struct ChainState {
  uint64_t frame_offset = kNoFrame;  // as in RecordedSample
  StackEnd end{};
  bool ends_in_gap = false;    // frames are left out behind it
  uint64_t stack_pointer = 0;  // the place of the leaf's: misalignment()
  uint64_t limit = kNoFrame;   // words from there on are of other stacks
  bool is_alone = false;       // the chain is all there is: nothing tells where its frames lie
};

// From where on the words are of the first of some other stacks; kNoFrame: of none.
inline uint64_t first_place(std::span<const StackSwitch> switches) {
  auto found = std::ranges::find_if(switches,
                                    [](const StackSwitch& at) { return at.place != kNoFrame; });
  return found == switches.end() ? kNoFrame : found->place;
}

// Walks up one stack by the rules of its functions. The recorder does it to see which words of
// the stack it asks for, report to find the callers: both ways alike.
//
// Without a rule the frame pointer is believed: it is all that code of no file has.
//
//   Code   using Address = ...
//          std::optional<UnwindRule> rule(Address)   none: not known
//          bool is_return_address(Address)
//          Address returned_to(Address)              as the place where the caller is
//          Address interrupted(Address)              likewise, but nothing was called there
//          bool is_go(Address)                       asked for where stacks end
//          std::optional<CallerFrame> evaluate(Address, MachineState&)
//          CallerRegister caller_register(Address, uint64_t number, uint64_t cfa,
//          MachineState&)
//   Words  std::optional<WalkedWord<Code::Address>> at(uint64_t offset)
//          of the word there, from the stack pointer of the leaf; none if it was not recorded
//          std::optional<WalkedWord<Code::Address>> register_at(uint64_t number)
//          of a register of the leaf, by place_of_register(); likewise
template <class Code, class Words>
class StackWalk {
public:
  using Address = typename Code::Address;

  // `chain` is what the frame pointers led to: the leaf, and return addresses, as far as none
  // are left out. It must outlive this, and so must `code`.
  StackWalk(Code& code, Words words, std::span<const Address> chain, ChainState state)
      : code_(code),
        words_(std::move(words)),
        chain_(chain.subspan(1)),
        ends_in_gap_(state.ends_in_gap),
        end_(state.end),
        limit_(state.limit),
        is_alone_(state.is_alone),
        leaf_(state.stack_pointer),
        stack_pointer_(state.stack_pointer) {
    if (state.frame_offset != kNoFrame)
      frame_ = state.frame_offset;
    stack_.reserve(chain.size() + 8);
    stack_.push_back(chain.front());
  }

  // Announces that go_on_with() will be called with this. If a function without a rule is
  // stopped near its end, it has left the goroutine's stack: the frame pointer leads there as
  // well, but past the function's caller.
  void expect(Address goroutine) { goroutine_ = goroutine; }

  // Up to the root, or as far as anything leads. Only the steps ask for words.
  void run() {
    while (step()) {
    }
    if (!has_root_)
      follow_chain();
    check_root();
  }

  // Goes to the caller of the last function of the stack; false if it cannot be told.
  bool step() {
    // A caller that is found from here on may be one of those that the gap counts:
    // go_on_behind() goes on.
    if (ends_in_gap_ && taken_ == chain_.size())
      return false;
    std::optional<UnwindRule> known = code_.rule(stack_.back());
    if (goroutine_ && has_left(known))
      return false;
    UnwindRule rule = known.value_or(kFramed);
    if (rule.return_kind == ReturnAddress::kNone) {
      has_root_ = true;
      end_ = StackEnd::kRoot;
      return false;
    }
    Frame frame = rule.is_evaluated ? evaluated_frame() : simple_frame(rule);
    if (known && returns_to_nothing(frame)) {
      returns_to_nothing_ = has_root_ = true;
      return false;
    }
    // Callers lie above, but for that of a leaf which has taken its return address from the
    // stack, as vfork does: it may be at the same place. With a link register that holds for
    // what a signal has interrupted as well. The limit lets no sum of offsets go round.
    bool is_popped = (stack_.size() == 1 || has_link_) && frame.return_word;
    bool is_above = frame.stack_pointer && *frame.stack_pointer + is_popped > stack_pointer_ &&
                    *frame.stack_pointer <= kMaxFrameDistance;
    Passed passed = {stack_.back(), stack_pointer_, frame_, frame.cfa};
    if (!is_above || !take_caller(rule, frame)) {
      // follow_chain() takes the rest of the chain only if that may hold the caller: the rule
      // is not known, the return address is in the link register, which may not have been
      // recorded, or nothing tells where the chain's frames lie.
      is_on_chain_ &=
          !known || rule.return_kind == ReturnAddress::kInRegister || may_go_on(rule);
      // The recorder looks there for the 0 of a fiber's first function.
      end_place_ = known && !rule.is_signal_frame ? frame.return_place : std::nullopt;
      return false;
    }
    passed_.push_back(passed);
    restore_frame(rule, frame);
    stack_pointer_ = *frame.stack_pointer;
    set_link(rule, frame);
    return true;
  }

  // The begin of the last function's stack, from the stack pointer of the leaf.
  uint64_t stack_pointer() const { return stack_pointer_; }

  // The place of what the last function returns to, if that has a rule but no caller.
  std::optional<uint64_t> end_place() const { return end_place_; }

  // From a stack to the next one: its part of the chain, and where its words begin and end, as
  // the recording says. Callers are missing in between unless the one ends in the function that
  // went there from the other.
  void switch_to(std::span<const Address> chain, const StackSwitch& at, uint64_t limit,
                 StackEnd end, bool ends_in_gap) {
    lacks_callers_ |= !has_left_stack(stack_.back());
    limit_ = limit;
    auto known = [](uint64_t offset) {
      return offset == kNoFrame ? std::nullopt : std::optional(offset);
    };
    go_on(chain, known(at.place), known(at.frame_offset), end, ends_in_gap);
  }

  // Likewise for a recording that does not say where the words are.
  //
  // From a stack of the thread's to that of the goroutine it works for, whose words, if they
  // were recorded, lie behind those of the thread's. Callers are missing in between unless the
  // one ends in the function that went there from the other. Or from that of a goroutine to
  // the thread's, from where C code called Go code: then the frame pointer leads there.
  void go_on_with(std::span<const Address> goroutine, StackEnd end, bool ends_in_gap) {
    lacks_callers_ = !may_be_root(stack_.back());
    // Far, if the walk did not come up to where the words of the goroutine's stack begin. If
    // they are not there, its chain may lead back to this place: go_back().
    std::optional<uint64_t> place = find_word(goroutine.front(), kMaxTopSize);
    if (!place)
      left_at_ = stack_pointer_;
    goroutine_.reset();
    // The goroutine's frame pointer is known only if it was saved right below that word.
    auto frame = place && frame_ && *frame_ + kWordSize == *place ? load(frame_) : std::nullopt;
    go_on(goroutine, place, frame, end, ends_in_gap);
  }

  // From what is left of a stack before a gap to what is left behind it. `gap` stands for what
  // is missing.
  void go_on_behind(Address gap, std::span<const Address> rest, StackEnd end) {
    if (!is_on_chain_ || taken_ != chain_.size())
      return;
    ends_in_gap_ = false;
    end_ = end;
    chain_ = rest;
    taken_ = 0;
    frame_.reset();
    stack_.push_back(gap);
    follow_chain();
    check_end();
  }

  std::span<const Address> stack() const { return stack_; }
  bool is_repaired() const { return is_repaired_; }
  bool is_cut() const { return !is_unknown_ && end_ != StackEnd::kRoot; }
  // It ends in code without a rule: that may have callers or none.
  bool is_unknown() const { return is_unknown_; }

private:
  using FramePointer = UnwindRule::FramePointer;
  using ReturnAddress = UnwindRule::ReturnAddress;
  static constexpr UnwindRule kFramed = {.cfa = {Anchor::kFramePointer, 16},
                                         .is_cfa_loaded = false,
                                         .return_kind = ReturnAddress::kOnStack,
                                         .return_address = {Anchor::kCfa, -8},
                                         .frame_kind = FramePointer::kOnStack,
                                         .frame_pointer = {Anchor::kCfa, -16},
                                         .is_signal_frame = false,
                                         .may_have_left = false,
                                         .is_evaluated = false};

  using Word = WalkedWord<Address>;

  // The values of a function's rule in this stack.
  struct Frame {
    uint64_t cfa = 0;
    std::optional<uint64_t> stack_pointer{};  // of the caller; none: it cannot be told
    std::optional<uint64_t> return_place{};
    std::optional<Word> return_word{};  // if it is in a register
    FramePointer frame_kind{};
    std::optional<uint64_t> frame_place{};
    std::optional<Word> frame_word{};  // if it lies nowhere on the stack
  };

  // A function whose caller was found, as it was stopped.
  struct Passed {
    Address function;
    uint64_t stack_pointer;
    std::optional<uint64_t> frame;
    uint64_t cfa;
  };

  // Rules are evaluated as if the stack of the leaf began here: nothing else lies near. The low
  // bits are those that it had.
  static constexpr uint64_t kStackBase = uint64_t{1} << 62;
  // In a walk. Rules may have loops, and a register may be looked for through all functions.
  static constexpr size_t kMaxQuestions = 1000;

  // The machine state of a function that was passed, or of the last one.
  class State : public MachineState {
  public:
    State(StackWalk& walk, size_t function) : walk_(walk), function_(function) {}

    std::optional<uint64_t> stack_pointer() override {
      return walk_.address_of(is_last() ? walk_.stack_pointer_ : passed().stack_pointer);
    }
    std::optional<uint64_t> frame_pointer() override {
      return walk_.address_of(is_last() ? walk_.frame_ : passed().frame);
    }
    std::optional<uint64_t> register_value(uint64_t number) override {
      return walk_.value_of(walk_.find_register(number, function_));
    }
    std::optional<uint64_t> word_at(uint64_t address) override {
      return walk_.value_of(walk_.word_of(address));
    }

  private:
    bool is_last() const { return function_ == walk_.passed_.size(); }
    const Passed& passed() const { return walk_.passed_[function_]; }

    StackWalk& walk_;
    size_t function_;
  };

  static constexpr uint64_t kWordSize = 8;

  // On another stack, where the first address of its chain is returned to by the word at
  // `place` and the frame pointer leads to `frame`; none: they are not known.
  void go_on(std::span<const Address> chain, std::optional<uint64_t> place,
             std::optional<uint64_t> frame, StackEnd end, bool ends_in_gap) {
    end_ = end;
    chain_ = chain;
    ends_in_gap_ = ends_in_gap;
    taken_ = 1;  // its first is pushed below
    is_on_chain_ = true;
    has_root_ = returns_to_nothing_ = has_link_ = false;
    frame_ = frame;
    if (code_.is_return_address(chain_.front())) {
      stack_.push_back(chain_.front());
      if (place)
        walk_from(*place + kWordSize);
      if (!has_root_)
        follow_chain();
    } else {
      end_ = StackEnd::kBadFrame;
    }
    check_end();
  }

  // A root does not make a stack whole that lacks callers before it.
  void check_end() {
    check_root();
    if (!lacks_callers_)
      return;
    is_unknown_ = false;
    end_ = StackEnd::kBadFrame;
  }

  // On another stack, or behind functions that the chain alone told: nothing tells what these
  // have done to the registers of the leaf.
  void walk_from(uint64_t stack_pointer) {
    passed_.clear();
    has_registers_ = false;
    stack_pointer_ = stack_pointer;
    while (step()) {
    }
  }

  // True if the last function may have left the stack for that of `goroutine_`, whose words are
  // there: near its end, or, if only the frame pointer leads on, below the place of that, which
  // is on the goroutine's stack then.
  bool has_left(const std::optional<UnwindRule>& rule) const {
    constexpr uint64_t kNear = 64;  // bytes: functions that switch stacks have small frames
    bool is_framed = !rule && frame_ && *frame_ > stack_pointer_ && *frame_ < kMaxTopSize;
    uint64_t distance = std::max(kNear, is_framed ? *frame_ - stack_pointer_ : 0);
    return (!rule || rule->may_have_left) && find_word(*goroutine_, distance);
  }

  // The place of a return address from where the stack of the last function begins.
  std::optional<uint64_t> find_word(Address address, uint64_t distance) const {
    for (uint64_t place = stack_pointer_; place <= stack_pointer_ + distance;
         place += kWordSize) {
      auto word = word_at(place);
      if (word && !word->place && !word->number && word->address == address)
        return place;
    }
    return std::nullopt;
  }

  // A place as an address that rules may count with. The leaf's stack pointer, at `leaf_`, gets
  // the low bits that it had; they are 0 if they were not recorded.
  std::optional<uint64_t> address_of(std::optional<uint64_t> place) {
    if (!base_) {
      auto alignment = words_.register_at(kStackAlignment);
      base_ = kStackBase + (alignment ? alignment->number.value_or(0) : 0) - leaf_;
    }
    return place ? std::optional(*base_ + *place) : std::nullopt;
  }

  std::optional<Word> word_at(uint64_t place) const {
    return place < limit_ ? words_.at(place) : std::nullopt;
  }

  // None for what does not point to the stack: an address below it wraps to one far above.
  std::optional<uint64_t> place_at(uint64_t address) {
    uint64_t place = address - *address_of(0);
    return place <= kMaxFrameDistance ? std::optional(place) : std::nullopt;
  }

  // The word at an address that a rule has computed. Words below the stack, of the red zone,
  // were recorded among the registers.
  std::optional<Word> word_of(uint64_t address) {
    uint64_t below = *address_of(0) - address;
    if (below - 1 < kRedZoneSize && below % kWordSize == 0)
      return words_.register_at(register_of_red_zone(below));
    auto place = place_at(address);
    return place ? word_at(*place) : std::nullopt;
  }

  // None for addresses of code, which no rule counts with.
  std::optional<uint64_t> value_of(const std::optional<Word>& word) {
    if (!word)
      return std::nullopt;
    return word->place ? address_of(word->place) : word->number;
  }

  // A register as it is where a function is stopped: that was passed, or is the last. What
  // it called tells where the value lies, or has left it to what that called in turn, down to
  // the leaf, whose registers were recorded; or to where the way from there is not known.
  std::optional<Word> find_register(uint64_t number, size_t function) {
    using Kind = CallerRegister::Kind;
    for (; function > 0; function--) {
      if (questions_++ >= kMaxQuestions)
        return std::nullopt;
      const Passed& callee = passed_[function - 1];
      State state(*this, function - 1);
      auto cfa = address_of(callee.cfa);
      CallerRegister found = code_.caller_register(callee.function, number, *cfa, state);
      if (found.kind == Kind::kInRegister)
        number = found.value;
      else if (found.kind != Kind::kUnchanged)
        return word_of(found);
    }
    return has_registers_ ? words_.register_at(place_of_register(number)) : std::nullopt;
  }

  // The value of a register of the last function's caller.
  std::optional<Word> word_of(const CallerRegister& found) {
    using Kind = CallerRegister::Kind;
    switch (found.kind) {
      case Kind::kInRegister:
        return find_register(found.value, passed_.size());
      case Kind::kOnStack:
        return word_of(found.value);
      case Kind::kValue:
        if (auto place = place_at(found.value))
          return Word{.place = place};
        return Word{.number = found.value};
      default:
        return std::nullopt;
    }
  }

  // The frame by a rule that needs no evaluation. Without a stack pointer of the caller in it,
  // step() takes the caller as one that cannot be told.
  Frame simple_frame(const UnwindRule& rule) const {
    std::optional<uint64_t> cfa = place_of(rule.cfa, 0);
    if (rule.is_cfa_loaded)
      cfa = load(cfa);
    if (!cfa)
      return {};
    Frame frame{.cfa = *cfa, .stack_pointer = cfa};
    if (rule.return_kind == ReturnAddress::kInRegister)
      frame.return_word = link_register();
    else
      frame.return_place = place_of(rule.return_address, *cfa);
    frame.frame_kind = rule.frame_kind;
    frame.frame_place = place_of(rule.frame_pointer, *cfa);
    return frame;
  }

  // The leaf has what it returns to in a register, and so had what a signal interrupted.
  std::optional<Word> link_register() const {
    if (stack_.size() == 1)
      return words_.register_at(kLinkRegister);
    return has_link_ ? word_at(link_place_) : std::nullopt;
  }

  // Notes where the link register of the last function lies, which a signal interrupted. On
  // arm64: behind its frame pointer, as the kernel saves all registers; or Go's runtime has put
  // it 16 bytes below (go/unwind_rule.h). On other machines no rule asks for it.
  void set_link(const UnwindRule& rule, const Frame& frame) {
    has_link_ = rule.is_signal_frame && !rule.is_evaluated;
    bool is_by_kernel = rule.is_cfa_loaded && frame.frame_place;
    link_place_ = is_by_kernel ? *frame.frame_place + kWordSize : frame.cfa - 2 * kWordSize;
  }

  // The values of a rule that has to be computed from registers and words. None of it can be
  // told after kMaxQuestions; the caller's stack pointer need not be the CFA here.
  Frame evaluated_frame() {
    using Kind = CallerRegister::Kind;
    State state(*this, passed_.size());
    auto found =
        questions_++ < kMaxQuestions ? code_.evaluate(stack_.back(), state) : std::nullopt;
    auto cfa = found ? place_at(found->cfa) : std::nullopt;
    if (!cfa)
      return {};
    Frame frame{.cfa = *cfa, .stack_pointer = place_at(found->stack_pointer)};
    if (found->return_address.kind == Kind::kOnStack)
      frame.return_place = place_at(found->return_address.value);
    else
      frame.return_word = word_of(found->return_address);
    frame.frame_kind = FramePointer::kOnStack;
    const CallerRegister& saved = found->frame_pointer;
    if (saved.kind == Kind::kLost || saved.kind == Kind::kUnchanged)
      frame.frame_kind =
          saved.kind == Kind::kLost ? FramePointer::kLost : FramePointer::kUnchanged;
    else if (saved.kind == Kind::kOnStack)
      frame.frame_place = place_at(saved.value);
    else
      frame.frame_word = word_of(saved);
    return frame;
  }

  // True if a function of Go is on its way from one stack to another, or has begun the one.
  bool has_left_stack(Address id) {
    std::optional<UnwindRule> rule = code_.rule(id);
    return rule ? rule->return_kind == ReturnAddress::kNone || rule->may_have_left
                : code_.is_go(id);
  }

  // True if the thread may have left its stack there, as functions without a rule do.
  bool may_be_root(Address id) {
    std::optional<UnwindRule> rule = code_.rule(id);
    return !rule || rule->return_kind == ReturnAddress::kNone || rule->may_have_left;
  }

  // `cfa` only counts for places that are told from it.
  std::optional<uint64_t> place_of(StackPlace place, uint64_t cfa) const {
    auto offset = static_cast<uint64_t>(int64_t{place.offset});
    if (place.anchor == Anchor::kCfa)
      return cfa + offset;
    if (place.anchor == Anchor::kStackPointer)
      return stack_pointer_ + offset;
    return frame_ ? std::optional(*frame_ + offset) : std::nullopt;
  }

  // The place that the word at a place points to; none if it is not known to be one.
  std::optional<uint64_t> load(std::optional<uint64_t> place) const {
    auto word = place ? word_at(*place) : std::nullopt;
    return word ? word->place : std::nullopt;
  }

  // True if the chain may lead to the caller of a function with this rule that has not been met
  // on it. It does not if the function has the register for other uses; it begins beyond the
  // callers of one that has no frame; and with a signal frame it is that of the interrupted
  // code. Only above the chain's first frames is their place not known, for there no words were
  // recorded.
  bool may_go_on(const UnwindRule& rule) const {
    bool is_place_known = frame_ || (taken_ == 0 && rule.cfa.anchor == Anchor::kStackPointer);
    return (is_alone_ || !is_place_known) && !rule.is_signal_frame;
  }

  // The maker of a fiber leaves 0 for its first function to return to. Go's runtime makes none:
  // there a 0 lies where a function is on its way to another stack.
  bool returns_to_nothing(const Frame& frame) {
    auto word = frame.return_place ? word_at(*frame.return_place) : std::nullopt;
    return word && word->number == 0 && !code_.is_go(stack_.back());
  }

  // Appends the caller. Where its return address is the chain's next, by its place, the chain
  // tells it, for the word itself may not have been recorded. One that follows no call shows
  // that the chain went wrong.
  bool take_caller(const UnwindRule& rule, const Frame& frame) {
    has_met_chain_ = is_next_of_chain(frame.return_place);
    if (has_met_chain_) {
      Address caller = chain_[taken_++];
      is_on_chain_ = may_be_caller(rule, caller);
      if (is_on_chain_)
        push_caller(rule, caller);
      return is_on_chain_;
    }
    auto word = frame.return_place ? word_at(*frame.return_place) : frame.return_word;
    if (!word || word->place || word->number || !may_be_caller(rule, word->address))
      return false;
    Address caller = word->address;
    // Without the place of the frame, an equal address is taken for the same.
    bool is_next = is_on_chain_ && taken_ < chain_.size() && chain_[taken_] == caller;
    has_met_chain_ = is_next && (!frame_ || is_put_in(rule, caller));
    if (has_met_chain_)
      taken_++;
    push_caller(rule, caller);
    is_repaired_ |= !has_met_chain_;
    return true;
  }

  // True if the next of the chain, this caller of a function that keeps no frame, is one that
  // the recorder has put in: the frame itself leads to another.
  bool is_put_in(const UnwindRule& callee, Address caller) const {
    if (taken_ == 0 || callee.frame_kind != FramePointer::kUnchanged)
      return false;
    auto word = word_at(*frame_ + kWordSize);
    return word && !word->place && !word->number && word->address != caller;
  }

  bool may_be_caller(const UnwindRule& callee, Address id) {
    return callee.is_signal_frame || code_.is_return_address(id);
  }

  void push_caller(const UnwindRule& callee, Address id) {
    stack_.push_back(callee.is_signal_frame ? code_.interrupted(id) : code_.returned_to(id));
  }

  bool is_next_of_chain(std::optional<uint64_t> place) const {
    return is_on_chain_ && frame_ && place == *frame_ + 8 && taken_ < chain_.size();
  }

  // The frame pointer of the caller. The chain goes on with it, or has nothing to do with it: a
  // function that has set up its frame is on the chain, and so is its caller.
  void restore_frame(const UnwindRule& rule, const Frame& frame) {
    // If it is lost it may still be as it was: then the chain meets the stack further up. And
    // between `leave` and `ret`, where it is the caller's again, compilers go on saying where
    // it was saved. Go saves it below its stack pointer on arm64.
    bool is_below = rule.frame_pointer.anchor == Anchor::kStackPointer && !rule.is_evaluated;
    if (frame.frame_kind != FramePointer::kOnStack ||
        (!is_below && is_popped(frame.frame_place)))
      return;
    std::optional<uint64_t> saved =
        frame.frame_word ? frame.frame_word->place : load(frame.frame_place);
    bool has_frame = frame.frame_place == frame_;
    bool is_in_chain = has_frame || (saved && saved == frame_);
    is_on_chain_ = is_on_chain_ && (is_in_chain || (!frame_ && has_met_chain_));
    // GCC puts a copy of the return address above the frame pointer that it saves in a function
    // which aligns its stack: it is on the chain, and passed now.
    if (is_on_chain_ && has_frame && !has_met_chain_ && taken_ < chain_.size())
      taken_++;
    frame_ = saved;
  }

  // True if the place lies below the stack of the last function.
  bool is_popped(std::optional<uint64_t> place) const {
    return place && static_cast<int64_t>(*place - stack_pointer_) < 0;
  }

  // The end of a chain proves nothing: a register of 0 may be anything.
  void check_root() {
    std::optional<UnwindRule> rule = code_.rule(stack_.back());
    bool is_root = returns_to_nothing_ || (rule && rule->return_kind == ReturnAddress::kNone);
    // Go functions without a rule are on their way to another stack.
    is_unknown_ = !rule && end_ != StackEnd::kLimit && !code_.is_go(stack_.back());
    if (is_root)
      end_ = StackEnd::kRoot;
    else if (end_ == StackEnd::kRoot)
      end_ = StackEnd::kBadFrame;
  }

  // Appends what is left of the chain, up to the root of the stack. A frame below the stack of
  // the last function is of one that was passed already: then the chain has come apart from the
  // stack, and its end is not the stack's.
  void follow_chain() {
    bool is_left = is_on_chain_ && (!frame_ || *frame_ + 8 >= stack_pointer_);
    if (!is_left && end_ == StackEnd::kRoot)
      end_ = StackEnd::kBadFrame;
    while (is_left && taken_ < chain_.size()) {
      std::optional<UnwindRule> known = code_.rule(stack_.back());
      UnwindRule rule = known.value_or(kFramed);
      if (rule.return_kind == ReturnAddress::kNone) {
        end_ = StackEnd::kRoot;
        return;
      }
      // Code that a handler interrupted is found by the registers that were saved, not by the
      // chain.
      Address caller = chain_[taken_++];
      bool is_handler = rule.is_signal_frame && rule.is_cfa_loaded;
      if (is_handler || !may_be_caller(rule, caller)) {
        end_ = StackEnd::kBadFrame;
        return;
      }
      push_caller(rule, caller);
      if (!known && go_back(caller))
        return;
    }
  }

  // From a goroutine's stack to the words of the thread's. There C code called Go code, which
  // works there again: what it returns to lies next to where the goroutine's stack was left for
  // that. False if this is no such caller.
  bool go_back(Address caller) {
    // The frame of cgocallback, and what asmcgocall takes to begin: 64 bytes, aligned.
    constexpr uint64_t kEntrySize = 128;
    if (!left_at_)
      return false;
    stack_pointer_ = *left_at_;
    auto place = find_word(caller, kEntrySize);
    if (!place || *place < kWordSize)
      return false;
    // Right below the return address the caller's frame pointer was saved.
    frame_ = load(*place - kWordSize);
    is_on_chain_ = false;  // C code has none
    walk_from(*place + kWordSize);
    return true;
  }

  Code& code_;
  Words words_;
  std::span<const Address> chain_;  // without the leaf
  bool ends_in_gap_;                // behind the chain frames are left out
  StackEnd end_;
  bool lacks_callers_ = false;  // between one stack and the next
  std::optional<Address> goroutine_{};
  std::optional<uint64_t> left_at_{};  // where the thread's stack leads to words of no other
  std::vector<Address> stack_;
  std::vector<Passed> passed_;  // functions whose callers were found since the walk began anew
  bool has_registers_ = true;   // these begin with the leaf, whose registers were recorded
  std::optional<uint64_t> base_{};  // what the stack pointer of the leaf is evaluated as
  size_t questions_ = 0;            // that were asked of rules to evaluate
  size_t taken_ = 0;                // of the chain
  uint64_t limit_;                  // as in ChainState, of the stack that it has come to
  bool is_alone_;                   // as in ChainState
  uint64_t leaf_;                   // the place of its stack pointer
  uint64_t stack_pointer_;
  bool has_link_ = false;          // the last function's link register was saved
  uint64_t link_place_ = 0;        // and lies there
  std::optional<uint64_t> frame_;  // where the frame pointer leads; none: not known
  bool is_on_chain_ = true;        // the chain goes on from `frame_`
  bool has_met_chain_ = false;     // the last caller was the next of the chain
  bool is_repaired_ = false;
  bool is_unknown_ = false;
  bool has_root_ = false;
  bool returns_to_nothing_ = false;  // a root that no rule tells
  std::optional<uint64_t> end_place_{};
};

}  // namespace gosym
