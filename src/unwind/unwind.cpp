#include "unwind/unwind.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/workers.h"
#include "profile/location_table.h"
#include "profile/rewrite_stacks.h"
#include "unwind/stack_walk.h"
#include "unwind/unwind_rules.h"

// Unwinder::walk() takes the stacks one after the other. Code answers what a walk asks about
// code, and remembers it by location; it alone opens files. With several threads, WalkedAhead
// first walks a part of the stacks by FixedCode, which has what Code remembers and nothing
// else: a walk that asks for more is thrown away, and done again in its turn.
namespace gosym {

namespace unwinding {

// Answers about code that unwinding needs, remembered for each location.
class Code {
  friend class FixedCode;

public:
  Code(std::string_view vdso, const DebugFileOptions& files, ImageCache& cache)
      : rules_(vdso, files, cache) {}

  // Words are of `locations`. `open` is called when the profile has got images, before their
  // files are opened.
  void set_profile(Profile& profile, LocationTable& locations,
                   const std::function<void(Profile&)>& open) {
    profile_ = &profile;
    locations_ = &locations;
    open_ = &open;
    rules_.set_profile(profile);
    take_new();
  }

  using Address = LocationId;

  // The location that a word of a stack returns to.
  std::optional<LocationId> of_word(AddressSpace space, uint64_t address) {
    std::optional<LocationId> id = locations_->of_word(*profile_, space, address);
    // Hardly any word is a new location.
    if (known_.size() != profile_->locations.size() || images_ != profile_->images.size())
      take_new();
    return id;
  }

  std::optional<UnwindRule> rule(LocationId id) {
    Known& known = known_[to_index(id)];
    if (!known.has_rule) {
      known.has_rule = true;
      known.rule = rules_.find(profile_->locations[to_index(id)]);
    }
    return known.rule;
  }

  std::optional<CallerFrame> evaluate(LocationId id, MachineState& state) {
    return rules_.evaluate(profile_->locations[to_index(id)], state);
  }
  CallerRegister caller_register(LocationId id, uint64_t number, uint64_t cfa,
                                 MachineState& state) {
    return rules_.caller_register(profile_->locations[to_index(id)], number, cfa, state);
  }

  bool is_go(LocationId id) { return bordering(id).has_value(); }

  // True if the one can have called the other: Go code and other code call each other in few
  // places.
  bool may_call(LocationId caller, LocationId callee) {
    std::optional<go::Bordering> of_caller = bordering(caller);
    return may_call(of_caller, bordering(callee));
  }
  static bool may_call(std::optional<go::Bordering> of_caller,
                       std::optional<go::Bordering> of_callee) {
    using enum go::Bordering;
    if (!of_caller)
      return of_callee != kCalledByAssembly;
    // A nullopt is code that is not Go's. Go code that only C enters has no caller in Go; C is
    // entered from Go by assembly alone.
    if (of_callee == kCalledByC)
      return false;
    return of_caller != kCompiled || (of_callee && of_callee != kCalledByAssembly);
  }

  // True for all that a chain of frame pointers leads to: an address behind a call, or the root
  // of a goroutine, which nothing calls; a signal handler returns to code that has not called
  // it either.
  bool is_return_address(LocationId id) {
    if (!known_[to_index(id)].is_return_address) {
      bool may_be = rules_.is_return_address(profile_->locations[to_index(id)]) ||
                    returns_uncalled(id) || returned_to(id) != id;
      known_[to_index(id)].is_return_address = may_be;
    }
    return *known_[to_index(id)].is_return_address;
  }

  // The location of the caller. Up to Go 1.3 goroutines return to the first instruction of
  // runtime.goexit, handlers of signals to that of the code that ends them, and up to Go 1.20
  // callbacks from C code to that of runtime.systemstack_switch: before it lies another
  // function.
  LocationId returned_to(LocationId id) {
    if (!known_[to_index(id)].returned_to) {
      LocationId found = find_returned_to(id);
      known_[to_index(id)].returned_to = found;
    }
    return *known_[to_index(id)].returned_to;
  }

  // A copy of the location as interrupted there, not returned to.
  LocationId interrupted(LocationId id) {
    return copy_of(id, interrupted_, [](Location& location) { location.is_return = false; });
  }

  // A copy of the location, as where a goroutine was created.
  LocationId creator(LocationId id) {
    return copy_of(id, creators_, [](Location& location) { location.is_creator = true; });
  }

private:
  struct Known {
    bool has_rule = false;
    bool has_bordering = false;
    std::optional<go::Bordering> bordering;
    std::optional<bool> is_return_address;
    std::optional<LocationId> returned_to;
    std::optional<UnwindRule> rule;
  };

  using Copies = tsl::robin_map<size_t, LocationId>;

  template <class Change>
  LocationId copy_of(LocationId id, Copies& copies, Change change) {
    auto next = static_cast<LocationId>(profile_->locations.size());
    auto [known, is_new] = copies.try_emplace(to_index(id), next);
    if (is_new) {
      Location location = profile_->locations[to_index(id)];
      change(location);
      profile_->locations.push_back(location);
      known_.emplace_back();  // one for each location, as take_new() has it
    }
    return known->second;
  }

  // Takes over the locations and images that the profile has got.
  void take_new() {
    known_.resize(profile_->locations.size());
    if (images_ == profile_->images.size())
      return;
    images_ = profile_->images.size();
    (*open_)(*profile_);
    rules_.set_profile(*profile_);
  }

  std::optional<go::Bordering> bordering(LocationId id) {
    Known& known = known_[to_index(id)];
    if (!known.has_bordering) {
      known.has_bordering = true;
      known.bordering = rules_.bordering(profile_->locations[to_index(id)]);
    }
    return known.bordering;
  }

  LocationId find_returned_to(LocationId id) {
    const Location& location = profile_->locations[to_index(id)];
    // The address is the first instruction of what it returns to: a byte before it lies other
    // code.
    if (rules_.is_signal_return(location) || rules_.is_context_start(location) ||
        rules_.begins_switch(location))
      return interrupted(id);
    if (rules_.is_return_address(profile_->locations[to_index(id)]) || returns_uncalled(id))
      return id;
    LocationId itself = interrupted(id);
    return is_root(itself) ? itself : id;
  }

  bool is_root(LocationId id) {
    std::optional<UnwindRule> at = rule(id);
    return at && at->return_kind == UnwindRule::ReturnAddress::kNone;
  }

  bool returns_uncalled(LocationId id) {
    std::optional<UnwindRule> uncalled = rule(id);
    return uncalled && (uncalled->return_kind == UnwindRule::ReturnAddress::kNone ||
                        uncalled->is_signal_frame);
  }

  Profile* profile_ = nullptr;
  LocationTable* locations_ = nullptr;
  const std::function<void(Profile&)>* open_ = nullptr;
  size_t images_ = 0;  // that the profile has
  UnwindRules rules_;
  std::vector<Known> known_;  // by location
  Copies interrupted_;
  Copies creators_;
};

// The answers that Code has remembered, which several threads may ask for while nobody asks
// Code itself. Of a walk that needed anything else no result counts.
class FixedCode {
public:
  explicit FixedCode(const Code& code) : code_(code) {}

  using Address = LocationId;

  bool lacked_something() const { return lacked_something_; }

  std::optional<LocationId> of_word(AddressSpace space, uint64_t address) {
    auto id = code_.locations_->known_word(*code_.profile_, space, address);
    return id ? *id : lack(std::optional<LocationId>());
  }
  // Once something is lacking, the walk is to end.
  std::optional<UnwindRule> rule(LocationId id) {
    const Code::Known& known = at(id);
    return known.has_rule && !lacked_something_
               ? known.rule
               : lack(UnwindRule{.return_kind = UnwindRule::ReturnAddress::kNone});
  }
  // These read the tables of a file when they are asked for something new.
  std::optional<CallerFrame> evaluate(LocationId /*id*/, MachineState& /*state*/) {
    return lack(std::nullopt);
  }
  CallerRegister caller_register(LocationId /*id*/, uint64_t /*number*/, uint64_t /*cfa*/,
                                 MachineState& /*state*/) {
    return lack(CallerRegister{});
  }
  bool is_go(LocationId id) { return bordering(id).has_value(); }
  bool may_call(LocationId caller, LocationId callee) {
    return Code::may_call(bordering(caller), bordering(callee));
  }
  bool is_return_address(LocationId id) {
    const std::optional<bool>& known = at(id).is_return_address;
    return known ? *known : lack(true);
  }
  LocationId returned_to(LocationId id) {
    const std::optional<LocationId>& known = at(id).returned_to;
    return known ? *known : lack(id);
  }
  LocationId interrupted(LocationId id) {
    auto known = code_.interrupted_.find(to_index(id));
    return known != code_.interrupted_.end() ? known->second : lack(id);
  }

private:
  template <class T>
  T lack(T instead) {
    lacked_something_ = true;
    return instead;
  }
  const Code::Known& at(LocationId id) const { return code_.known_[to_index(id)]; }
  std::optional<go::Bordering> bordering(LocationId id) {
    const Code::Known& known = at(id);
    return known.has_bordering ? known.bordering : lack(std::optional<go::Bordering>());
  }

  const Code& code_;
  bool lacked_something_ = false;
};

}  // namespace unwinding

namespace {

using unwinding::Code;
using unwinding::FixedCode;

// The words of one stack that were recorded.
template <class Code>
class Words {
public:
  Words(Code& code, AddressSpace space, std::span<const StackWord> words)
      : code_(code), space_(space), words_(words) {}

  std::optional<WalkedWord<LocationId>> at(uint64_t offset) const {
    return offset < kMaxWordOffset ? find(offset) : std::nullopt;
  }
  std::optional<WalkedWord<LocationId>> register_at(uint64_t number) const {
    return find(offset_of_register(number));
  }

private:
  std::optional<WalkedWord<LocationId>> find(uint64_t offset) const {
    const StackWord* found = search(offset);
    if (!found || found->offset != offset)
      return std::nullopt;
    // By its value 0 would be a place as well.
    if (found->is_zero())
      return WalkedWord<LocationId>{.number = 0};
    if (found->is_place())
      return WalkedWord<LocationId>{.place = found->value};
    if (found->is_number())
      return WalkedWord<LocationId>{.number = static_cast<uint32_t>(found->value)};
    auto address = code_.of_word(space_, found->value);
    return address ? std::optional(WalkedWord<LocationId>{.address = *address}) : std::nullopt;
  }

  // The first word at `offset` or above. A walk goes up, so that it mostly is the one found
  // last or the next: to search for each takes a fifth of the time of a report.
  const StackWord* search(uint64_t offset) const {
    auto is_below = [&](size_t i) { return i < words_.size() && words_[i].offset < offset; };
    // The word after the one found last is tried before a search.
    next_ += is_below(next_);
    if (is_below(next_) || (next_ > 0 && !is_below(next_ - 1)))
      next_ = static_cast<size_t>(
          std::ranges::lower_bound(words_, offset, {}, &StackWord::offset) - words_.begin());
    return next_ < words_.size() ? &words_[next_] : nullptr;
  }

  Code& code_;
  AddressSpace space_;
  std::span<const StackWord> words_;
  mutable size_t next_ = 0;  // the one found last
};

// A part of a chain: all of it, or what is left before and behind a gap.
struct ChainPart {
  // `gap_at` is 0 if the gap lies in a part before, or there is none.
  ChainPart(std::span<const LocationId> chain, size_t gap_at) : before(chain) {
    if (gap_at == 0 || gap_at >= chain.size())
      return;
    before = chain.first(gap_at);
    gap = chain[gap_at];
    behind = chain.subspan(gap_at + 1);
  }

  std::span<const LocationId> before;
  std::optional<LocationId> gap;
  std::span<const LocationId> behind = {};
};

size_t kernel_depth(const Profile& profile, std::span<const LocationId> stack) {
  auto is_user = [&](LocationId id) {
    return !profile.is_kernel(profile.locations[to_index(id)]);
  };
  return static_cast<size_t>(std::ranges::find_if(stack, is_user) - stack.begin());
}

// The results of walking a stack, as a set of bits.
enum Outcome : uint8_t { kRepaired = 1, kCut = 2, kUnknown = 4, kDeep = 8, kBridged = 16 };

constexpr std::pair<Outcome, uint64_t UnwindCounts::*> kCounted[] = {
    {kRepaired, &UnwindCounts::repaired},
    {kCut, &UnwindCounts::cut},
    {kUnknown, &UnwindCounts::unknown},
    {kDeep, &UnwindCounts::deep},
    {kBridged, &UnwindCounts::bridged}};

void count(uint8_t outcome, uint64_t samples, UnwindCounts& counts) {
  counts.samples += samples;
  for (auto [bit, counted] : kCounted)
    if ((outcome & bit) != 0)
      counts.*counted += samples;
}

// The place of the leaf's stack pointer, by what was recorded among the registers, which are
// the last words: 0 unless offsets count from further down.
uint64_t stack_pointer_of(std::span<const StackWord> words) {
  for (size_t i = words.size(); i > 0 && words[i - 1].is_register(); i--) {
    const StackWord& word = words[i - 1];
    if (word.is_place() && word.offset == offset_of_register(kStackPointerRegister))
      return word.value;
  }
  bool is_known = !words.empty() && words.back().is_number() &&
                  words.back().offset == offset_of_register(kStackAlignment);
  return is_known ? misalignment(words.back().value) : 0;
}

// True if a frame of a stack cannot have called the one before it, so that others are missing
// in between. A handler of a signal interrupts whatever it likes.
template <class Code>
bool lacks_frames(Code& code, std::span<const LocationId> stack) {
  for (size_t i = 1; i < stack.size(); i++) {
    std::optional<UnwindRule> rule = code.rule(stack[i - 1]);
    if ((!rule || !rule->is_signal_frame) && !code.may_call(stack[i], stack[i - 1]))
      return true;
  }
  return false;
}

// Sets `stack` to the recorded one with its callers, and gives bits of Outcome. `state` is of
// this stack, and `dumps` have its words.
template <class Code>
uint8_t walk_stack(Code& code, const Profile& profile, std::span<const LocationId> recorded,
                   const StackState& state, const StackDumps& dumps,
                   std::vector<LocationId>& stack) {
  std::span<const StackWord> words = dumps.dump(state.top);
  std::span<const StackSwitch> switches = dumps.switches_of(state);
  std::span<const LocationId> kernel = recorded.first(kernel_depth(profile, recorded));
  stack.assign(kernel.begin(), kernel.end());
  // A stack of the kernel alone: its end says whether user code is missing.
  if (kernel.size() == recorded.size())
    return state.end == StackEnd::kRoot ? 0 : kCut;
  std::span<const LocationId> user = recorded.subspan(kernel.size());
  // One location stands for the whole stack (LocationTable::call_from_c): none of it is known.
  if (state.end == StackEnd::kCallFromC) {
    stack.insert(stack.end(), user.begin(), user.end());
    return kCut;
  }
  // Up to the next switch of stacks, or the end. Switches rise, so that no part is empty.
  auto part_from = [&](size_t begin, std::span<const StackSwitch> next) {
    size_t end = next.empty() ? user.size() : next.front().start;
    return ChainPart(user.subspan(begin, end - begin),
                     state.gap - std::min<size_t>(state.gap, begin));
  };
  ChainPart own = part_from(0, switches);
  // Call chains of perf have nothing but addresses.
  bool is_alone =
      !profile.info.source.empty() && words.empty() && state.frame_offset == kNoFrame;
  StackWalk walk(code, Words(code, state.space, words), own.before,
                 ChainState{state.frame_offset, state.end, own.gap.has_value(),
                            stack_pointer_of(words), first_place(switches), is_alone});
  // Without places the walk itself has to find where the thread left the goroutine's stack.
  if (!switches.empty() && !state.knows_places)
    walk.expect(user[switches.front().start]);
  walk.run();
  if (own.gap)
    walk.go_on_behind(*own.gap, own.behind, state.end);
  for (size_t i = 0; i < switches.size(); i++) {
    std::span<const StackSwitch> next = switches.subspan(i + 1);
    ChainPart part = part_from(switches[i].start, next);
    if (state.knows_places)
      walk.switch_to(part.before, switches[i], first_place(next), state.end,
                     part.gap.has_value());
    else
      walk.go_on_with(part.before, state.end, part.gap.has_value());
    if (part.gap)
      walk.go_on_behind(*part.gap, part.behind, state.end);
  }
  stack.insert(stack.end(), walk.stack().begin(), walk.stack().end());
  // A chain may skip frames without any step that looks wrong: impossible calls tell of that.
  bool is_cut = walk.is_cut() || lacks_frames(code, walk.stack());
  return static_cast<uint8_t>((walk.is_repaired() ? kRepaired : 0) |
                              (state.gap != 0 ? kDeep : 0) |
                              (!switches.empty() ? kBridged : 0) | (is_cut ? kCut : 0) |
                              (walk.is_unknown() && !is_cut ? kUnknown : 0));
}

// The place where the goroutine was created, at whose root a stack ends; none: it is not known,
// or the stack does not end at a root. Recordings that have no field of its own for it have it
// in the stack, beyond that root.
std::optional<LocationId> creator_of(Code& code, std::span<const LocationId> recorded,
                                     const StackState& state, uint8_t outcome) {
  if ((outcome & kCut) != 0)
    return {};
  if (state.creator)
    return state.creator;
  if ((outcome & kUnknown) != 0 || recorded.size() < 2)
    return {};
  std::optional<UnwindRule> rule = code.rule(recorded[recorded.size() - 2]);
  bool is_root = rule && rule->return_kind == UnwindRule::ReturnAddress::kNone;
  return is_root ? std::optional(recorded.back()) : std::nullopt;
}

// Stacks that were walked on several threads by what was known before. Most have nothing new:
// the code of a program is soon known, its stacks go on being others.
class WalkedAhead {
public:
  // In parts that are large enough to be worth a thread.
  static constexpr size_t kPart = 64;
  static constexpr size_t kMost = 64 * kPart;

  // Walks the stacks [first, end) of the profile, kMost of them at the most. Nobody asks Code
  // meanwhile.
  void walk(const Code& code, const Profile& profile, const StackDumps& dumps, size_t first,
            size_t end) {
    first_ = first;
    parts_.resize((end - first + kPart - 1) / kPart);
    share_work(parts_.size(), [&](size_t i) {
      size_t begin = first + i * kPart;
      parts_[i] = walk_part(code, profile, dumps, begin, std::min(begin + kPart, end));
    });
  }

  // Gives what walk() has found of a stack, by its number in the profile. False if it has to be
  // walked when all before it have been.
  bool take(size_t number, std::vector<LocationId>& stack, uint8_t& outcome) const {
    const Part& part = parts_[(number - first_) / kPart];
    size_t i = (number - first_) % kPart;
    if (!part.are_known[i])
      return false;
    auto items =
        std::span(part.items).subspan(part.begins[i], part.begins[i + 1] - part.begins[i]);
    stack.assign(items.begin(), items.end());
    outcome = part.outcomes[i];
    return true;
  }

private:
  struct Part {
    std::vector<LocationId> items;  // stack i is [begins[i], begins[i + 1])
    std::vector<size_t> begins = {0};
    std::vector<uint8_t> outcomes;
    std::vector<bool> are_known;
  };

  static Part walk_part(const Code& code, const Profile& profile, const StackDumps& dumps,
                        size_t begin, size_t end) {
    Part part;
    std::vector<LocationId> stack;
    for (size_t i = begin; i < end; i++) {
      FixedCode known(code);
      part.outcomes.push_back(walk_stack(known, profile, profile.stack(static_cast<StackId>(i)),
                                         dumps.states[i - dumps.first_stack], dumps, stack));
      part.are_known.push_back(!known.lacked_something());
      if (part.are_known.back())
        part.items.insert(part.items.end(), stack.begin(), stack.end());
      part.begins.push_back(part.items.size());
    }
    return part;
  }

  size_t first_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

struct Unwinder::Walked {
  Code code;
  bool has_creators;
  SequencePool<LocationId> stacks = {};
  std::vector<uint32_t> numbers = {};  // in `stacks`, of each stack of the profile
  std::vector<uint8_t> outcomes = {};
};

Unwinder::Unwinder(std::string_view vdso, const DebugFileOptions& files, ImageCache& cache,
                   bool has_creators)
    : walked_(new Walked{.code = Code(vdso, files, cache), .has_creators = has_creators}) {}

Unwinder::~Unwinder() = default;

bool Unwinder::walk(Profile& profile, const StackDumps& dumps, uint64_t memory_limit,
                    const OpenImages& open) {
  Walked& walked = *walked_;
  // The limit is what is left beside the locations that there are by now.
  uint64_t known = dumps.locations->memory();
  std::function<void(Profile&)> open_images = [&](Profile& grown) {
    if (open)
      memory_limit = open(grown);
  };
  walked.code.set_profile(profile, *dumps.locations, open_images);
  std::vector<LocationId> stack;
  WalkedAhead ahead;
  size_t count = profile.stack_count();
  size_t ahead_end = dumps.first_stack;
  // The first stacks have all that is new: more and more are walked ahead at once.
  size_t step = WalkedAhead::kPart;
  for (size_t i = dumps.first_stack; i < count; i++) {
    const StackState& state = dumps.states[i - dumps.first_stack];
    std::span<const LocationId> recorded = profile.stack(static_cast<StackId>(i));
    if (i == ahead_end && worker_limit > 1) {
      ahead_end = std::min(i + step, count);
      step = std::min(2 * step, WalkedAhead::kMost);
      ahead.walk(walked.code, profile, dumps, i, ahead_end);
    }
    // Whatever a walk asks for is remembered in the order of the stacks, by however many
    // threads they were walked: so the answer is the same.
    uint8_t outcome = 0;
    if (worker_limit == 1 || !ahead.take(i, stack, outcome))
      outcome = walk_stack(walked.code, profile, recorded, state, dumps, stack);
    walked.outcomes.push_back(outcome);
    if (walked.has_creators)
      if (auto creator = creator_of(walked.code, recorded, state, walked.outcomes.back()))
        stack.push_back(walked.code.creator(*creator));
    // The stacks of the profile stay as they were until finish(), so that it can go on without
    // callers.
    if (walked.stacks.memory_to_add(stack.size()) + dumps.locations->memory() - known >
        memory_limit)
      return false;
    walked.numbers.push_back(walked.stacks.intern(stack));
  }
  return true;
}

void Unwinder::finish(Profile& profile) && {
  profile.unwound_by_event.resize(profile.info.events.size());
  for (const SampleCount& sample : profile.samples) {
    uint8_t outcome = walked_->outcomes[to_index(sample.stack)];
    count(outcome, sample.count, profile.unwound);
    count(outcome, sample.count, profile.unwound_by_event[profile.owner(sample).event]);
  }
  replace_stacks(profile, std::move(walked_->stacks), walked_->numbers);
}

bool unwind(Profile& profile, const StackDumps& dumps, std::string_view vdso,
            const DebugFileOptions& files) {
  ImageCache cache;
  Unwinder unwinder(vdso, files, cache);
  if (!unwinder.walk(profile, dumps, profile.memory_limit))
    return false;
  std::move(unwinder).finish(profile);
  return true;
}

}  // namespace gosym
