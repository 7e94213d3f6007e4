#include "symbolize/unwind.h"

#include <algorithm>

#include "profile/rewrite_stacks.h"
#include "symbolize/unwind_rules.h"

namespace gosym {

namespace {

using FramePointer = UnwindRule::FramePointer;
using ReturnAddress = UnwindRule::ReturnAddress;

// Where nobody knows better the frame pointer is believed: it is all that code of no file has.
constexpr UnwindRule kFramed = {.cfa = {Anchor::kFramePointer, 16},
                                .is_cfa_loaded = false,
                                .return_kind = ReturnAddress::kOnStack,
                                .return_address = {Anchor::kCfa, -8},
                                .frame_kind = FramePointer::kOnStack,
                                .frame_pointer = {Anchor::kCfa, -16},
                                .is_signal_frame = false};

// What unwinding asks of the code, remembered for each location.
class Code {
public:
  Code(Profile& profile, std::string_view vdso, const DebugFileOptions& files,
       const HeldFiles& held)
      : profile_(profile), rules_(profile, vdso, files, held) {}

  std::optional<UnwindRule> rule(LocationId id) {
    auto [known, is_new] = known_rules_.try_emplace(to_index(id));
    if (is_new)
      known.value() = rules_.find(profile_.locations[to_index(id)]);
    return known->second;
  }

  // What a chain of frame pointers leads to: behind a call, or the root of a goroutine, which
  // nothing calls; a signal handler returns to code that has not called it either.
  bool may_be_returned_to(LocationId id) {
    auto [known, is_new] = returned_to_.try_emplace(to_index(id), true);
    if (is_new && !rules_.may_be_returned_to(profile_.locations[to_index(id)])) {
      std::optional<UnwindRule> uncalled = rule(id);
      known.value() = uncalled && (uncalled->return_kind == ReturnAddress::kNone ||
                                   uncalled->is_signal_frame);
    }
    return known->second;
  }

  // The same place, but interrupted there and not returned to.
  LocationId interrupted(LocationId id) {
    auto next = static_cast<LocationId>(profile_.locations.size());
    auto [known, is_new] = interrupted_.try_emplace(to_index(id), next);
    if (is_new) {
      Location location = profile_.locations[to_index(id)];
      location.is_return = false;
      profile_.locations.push_back(location);
    }
    return known->second;
  }

private:
  Profile& profile_;
  UnwindRules rules_;
  tsl::robin_map<size_t, std::optional<UnwindRule>> known_rules_;
  tsl::robin_map<size_t, bool> returned_to_;
  tsl::robin_map<size_t, LocationId> interrupted_;
};

// The walk up one stack. Places are offsets from the stack pointer of the leaf.
class Walk {
public:
  // `chain` is what the frame pointers led to: the leaf, and return addresses.
  Walk(Code& code, std::span<const LocationId> chain, std::span<const TopWord> words,
       const StackState& state)
      : code_(code), chain_(chain.subspan(1)), words_(words), end_(state.end) {
    if (state.frame_offset != kNoFrame)
      frame_ = state.frame_offset;
    stack_.push_back(chain.front());
  }

  void run() {
    while (step()) {
    }
    if (!has_root_)
      follow_chain();
    check_root();
  }

  // From a stack of the thread's to that of the goroutine it works for. Callers are missing in
  // between unless the one ends in the function that went there from the other.
  void go_on_with(std::span<const LocationId> goroutine, StackEnd end) {
    bool lacks_callers = !may_be_root(stack_.back());
    end_ = end;
    chain_ = goroutine;
    taken_ = 1;
    is_on_chain_ = true;
    frame_.reset();
    if (code_.may_be_returned_to(chain_.front())) {
      stack_.push_back(chain_.front());
      follow_chain();
    } else {
      end_ = StackEnd::kBadFrame;
    }
    check_root();
    if (lacks_callers && end_ == StackEnd::kRoot)
      end_ = StackEnd::kBadFrame;
  }

  std::span<const LocationId> stack() const { return stack_; }
  bool is_repaired() const { return is_repaired_; }
  bool is_cut() const { return end_ != StackEnd::kRoot; }

private:
  // A frame pointer of 0 is the end of a chain, but a register of 0 may be anything.
  bool may_be_root(LocationId id) {
    std::optional<UnwindRule> rule = code_.rule(id);
    return !rule || rule->return_kind == ReturnAddress::kNone;
  }

  const TopWord* word_at(std::optional<uint64_t> place) const {
    auto found =
        std::ranges::lower_bound(words_, place.value_or(UINT64_MAX), {},
                                 [](const TopWord& word) { return uint64_t{word.offset}; });
    return found != words_.end() && found->offset == place ? &*found : nullptr;
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
    const TopWord* word = word_at(place);
    if (!word || !word->is_place)
      return std::nullopt;
    return word->value;
  }

  // Goes to the caller of the last function of the stack; false if it cannot be told.
  bool step() {
    std::optional<UnwindRule> known = code_.rule(stack_.back());
    UnwindRule rule = known.value_or(kFramed);
    if (rule.return_kind == ReturnAddress::kInRegister)
      return false;
    if (rule.return_kind == ReturnAddress::kNone) {
      has_root_ = true;
      end_ = StackEnd::kRoot;
      return false;
    }
    std::optional<uint64_t> cfa = place_of(rule.cfa, 0);
    if (rule.is_cfa_loaded)
      cfa = load(cfa);
    // Callers lie above; the limit lets no sum of offsets go round.
    bool is_above = cfa && *cfa > stack_pointer_ && *cfa <= kMaxTopSize;
    if (!is_above || !take_caller(rule, place_of(rule.return_address, *cfa))) {
      is_on_chain_ &= !known || may_go_on(rule);
      return false;
    }
    restore_frame(rule, place_of(rule.frame_pointer, *cfa));
    stack_pointer_ = *cfa;
    return true;
  }

  // Whether the chain may lead to the caller of a function with this rule that has not been met
  // on it. It has none of a function that has the register for other uses, begins beyond the
  // callers of one that has no frame, and with a signal frame it is that of the interrupted
  // code. Only above its first frames is their place not known, for there no words were
  // recorded.
  bool may_go_on(const UnwindRule& rule) const {
    bool is_place_known = frame_ || (taken_ == 0 && rule.cfa.anchor == Anchor::kStackPointer);
    return !is_place_known && !rule.is_signal_frame;
  }

  bool take_caller(const UnwindRule& rule, std::optional<uint64_t> place) {
    if (is_next_of_chain(place)) {
      LocationId caller = chain_[taken_++];
      is_on_chain_ = may_be_caller(rule, caller);
      if (is_on_chain_)
        push_caller(rule, caller);
      return is_on_chain_;
    }
    const TopWord* word = word_at(place);
    if (!word || word->is_place || !may_be_caller(rule, LocationId{word->value}))
      return false;
    LocationId caller{word->value};
    // Without the place of the frame, an equal address is taken for the same.
    bool is_of_chain = !frame_ && taken_ < chain_.size() && chain_[taken_] == caller;
    if (is_of_chain)
      taken_++;
    push_caller(rule, caller);
    is_repaired_ |= !is_of_chain;
    return true;
  }

  bool may_be_caller(const UnwindRule& callee, LocationId id) {
    return callee.is_signal_frame || code_.may_be_returned_to(id);
  }

  void push_caller(const UnwindRule& callee, LocationId id) {
    stack_.push_back(callee.is_signal_frame ? code_.interrupted(id) : id);
  }

  bool is_next_of_chain(std::optional<uint64_t> place) const {
    return is_on_chain_ && frame_ && place == *frame_ + 8 && taken_ < chain_.size();
  }

  // The frame pointer of the caller. The chain goes on with it, or has nothing to do with it.
  void restore_frame(const UnwindRule& rule, std::optional<uint64_t> place) {
    // If it is lost it may still be as it was: then the chain meets the stack further up.
    if (rule.frame_kind != FramePointer::kOnStack)
      return;
    std::optional<uint64_t> saved = load(place);
    bool is_in_chain = place == frame_ || (saved && saved == frame_);
    is_on_chain_ = is_on_chain_ && (is_in_chain || !frame_);
    frame_ = saved;
  }

  void check_root() {
    if (end_ == StackEnd::kRoot && !may_be_root(stack_.back()))
      end_ = StackEnd::kBadFrame;
  }

  // Appends what is left of the chain, up to the root of the stack.
  void follow_chain() {
    bool is_left = is_on_chain_ && (!frame_ || *frame_ + 8 >= stack_pointer_);
    if (!is_left && end_ == StackEnd::kRoot)
      end_ = StackEnd::kBadFrame;
    while (is_left && taken_ < chain_.size()) {
      UnwindRule rule = code_.rule(stack_.back()).value_or(kFramed);
      if (rule.return_kind == ReturnAddress::kNone) {
        end_ = StackEnd::kRoot;
        return;
      }
      // What a handler interrupted is told by the registers that were saved, not by the chain.
      LocationId caller = chain_[taken_++];
      bool is_handler = rule.is_signal_frame && rule.is_cfa_loaded;
      if (is_handler || !may_be_caller(rule, caller)) {
        end_ = StackEnd::kBadFrame;
        return;
      }
      push_caller(rule, caller);
    }
  }

  Code& code_;
  std::span<const LocationId> chain_;  // without the leaf
  std::span<const TopWord> words_;
  StackEnd end_;
  std::vector<LocationId> stack_;
  size_t taken_ = 0;  // of the chain
  uint64_t stack_pointer_ = 0;
  std::optional<uint64_t> frame_;  // where the frame pointer leads; none: not known
  bool is_on_chain_ = true;        // the chain goes on from `frame_`
  bool is_repaired_ = false;
  bool has_root_ = false;
};

size_t kernel_depth(const Profile& profile, std::span<const LocationId> stack) {
  auto is_user = [&](LocationId id) {
    return !profile.is_kernel(profile.locations[to_index(id)]);
  };
  return static_cast<size_t>(std::ranges::find_if(stack, is_user) - stack.begin());
}

std::vector<uint64_t> count_samples(const Profile& profile) {
  std::vector<uint64_t> counts(profile.stack_count());
  for (const SampleCount& sample : profile.samples)
    counts[to_index(sample.stack)] += sample.count;
  return counts;
}

}  // namespace

void unwind(Profile& profile, std::string_view vdso, const DebugFileOptions& files,
            const HeldFiles& held) {
  Code code(profile, vdso, files, held);
  std::vector<uint64_t> counts = count_samples(profile);
  rewrite_stacks(profile, [&](StackId id, std::vector<LocationId>& stack) {
    std::span<const LocationId> recorded = profile.stack(id);
    const StackState& state = profile.stack_states[to_index(id)];
    std::span<const LocationId> kernel = recorded.first(kernel_depth(profile, recorded));
    stack.assign(kernel.begin(), kernel.end());
    if (kernel.size() == recorded.size()) {
      profile.unwound.cut += state.end == StackEnd::kRoot ? 0 : counts[to_index(id)];
      return;
    }
    std::span<const LocationId> user = recorded.subspan(kernel.size());
    std::span<const LocationId> goroutine = user.last(state.goroutine_depth);
    Walk walk(code, user.first(user.size() - goroutine.size()), profile.top(state.top), state);
    walk.run();
    if (!goroutine.empty())
      walk.go_on_with(goroutine, state.end);
    stack.insert(stack.end(), walk.stack().begin(), walk.stack().end());
    profile.unwound.repaired += walk.is_repaired() ? counts[to_index(id)] : 0;
    profile.unwound.bridged += goroutine.empty() ? 0 : counts[to_index(id)];
    profile.unwound.cut += walk.is_cut() ? counts[to_index(id)] : 0;
  });
  profile.stack_states.clear();
  profile.top_words.clear();
  profile.top_begin = {0};
}

}  // namespace gosym
