#include "goroutine/goroutines.h"

#include <algorithm>
#include <unordered_map>

#include "base/bytes.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "goroutine/moving_goroutines.h"
#include "record/stacks/time_budget.h"

namespace gosym {

namespace {

using go::GoroutineLayout;
using go::GoroutineStatus;
using proc::MemoryPiece;

// A g takes half a KiB, and a stack at least two: 10 GiB of them.
constexpr uint64_t kMaxGoroutines = 4 << 20;
// Limit for all stacks, looked at again included: of a goroutine that waits a KiB or two is in
// use. Stacks that claim the same large piece of memory would else be read for hours.
constexpr uint64_t kMaxStackBytes = uint64_t{8} << 30;
// Limit for a look at some: half of it is what 32 goroutines have at the first read.
constexpr uint64_t kMaxLookBytes = 4 << 20;
// Limit for looks that have taken too much time.
constexpr uint64_t kFewLookBytes = 256 << 10;
constexpr uint64_t kMaxLookTime = 20'000'000;  // nanoseconds of CPU time
constexpr uint64_t kShareOfLooks = 10;         // one in so many nanoseconds
// So many g are read at a look at some, half a KiB each. It takes a tenth of a millisecond, and
// the kernel twice as much to read them.
constexpr uint64_t kMaxChecked = 512;
constexpr uint64_t kFewChecked = 128;  // if looks, or these checks of them, took too much time
constexpr uint64_t kShareOfChecks = 40;  // one in so many nanoseconds
// At first nothing is known, and who moves is known once he was checked twice.
constexpr uint32_t kFirstLooks = 32;
constexpr uint64_t kMaxFirstChecked = 2048;
// Goroutines that rest are one in so many of those that are looked at, or more.
constexpr size_t kLeastShareOfResting = 8;
// Limit for the addresses of distinct stacks, 256 MiB of them. A program with a million
// goroutines has a few thousand stacks.
constexpr uint64_t kMaxStackAddresses = 32 << 20;
// A goroutine that runs and parks all the time is met parked after some looks, or never.
constexpr int kMaxLooks = 6;
// Bytes of a stack at the first look; few reach further.
constexpr uint64_t kFirstStackSize = 64 << 10;
// g, stack, g.
constexpr size_t kPiecesEach = 3;
constexpr size_t kBatch = proc::kPiecesAtOnce / kPiecesEach;

uint64_t word_at(Bytes memory, uint64_t offset) {
  return load<uint64_t>(memory, offset).value_or(0);
}

// Fields of a g that tell where its stack is, and whether it ran between two looks at it.
struct GoroutinePosition {
  uint64_t low = 0;  // bounds of the stack
  uint64_t high = 0;
  uint64_t stack_pointer = 0;
  uint64_t pc = 0;
  uint64_t frame_pointer = 0;
  uint64_t link_register = 0;
  uint64_t number = 0;
  uint64_t wait_since = 0;
  uint32_t status = 0;
  uint32_t wait_reason = 0;

  bool operator==(const GoroutinePosition&) const = default;
};

GoroutinePosition position_of(Bytes g, const GoroutineLayout& layout) {
  GoroutinePosition at = {
      .low = word_at(g, 0),
      .high = word_at(g, kGoWord),
      .number = word_at(g, layout.runtime.g_goid),
      .wait_since = word_at(g, layout.wait_since),
      .status = load<uint32_t>(g, layout.status).value_or(0) & ~go::kScanned,
      .wait_reason = load<uint8_t>(g, layout.wait_reason).value_or(0)};
  // In a system call, and in C code, the scheduler's registers are those of the last time that
  // it waited.
  bool is_away = at.status == static_cast<uint32_t>(GoroutineStatus::kSyscall) &&
                 word_at(g, layout.syscall_sp) != 0;
  uint64_t registers = is_away ? layout.syscall_sp : layout.runtime.g_sched_sp;
  at.stack_pointer = word_at(g, registers);
  at.pc = word_at(g, registers + kGoWord);
  // Not every release keeps these for a system call, and Go's rules go by stack depths: 0 does.
  // The link register lies right before bp.
  at.frame_pointer = is_away ? 0 : word_at(g, layout.runtime.g_sched_bp);
  at.link_register = is_away ? 0 : word_at(g, layout.runtime.g_sched_bp - kGoWord);
  return at;
}

bool is_on_stack(const GoroutinePosition& at) {
  return at.low < at.stack_pointer && at.stack_pointer <= at.high &&
         at.stack_pointer % kGoWord == 0;
}

bool is_dead(uint32_t status) {
  return status == static_cast<uint32_t>(GoroutineStatus::kIdle) ||
         status == static_cast<uint32_t>(GoroutineStatus::kDead) ||
         status == static_cast<uint32_t>(GoroutineStatus::kDeadExtra);
}

// True if the stack stays as it is while the status does.
bool has_left(uint32_t status) {
  return !is_dead(status) && status != static_cast<uint32_t>(GoroutineStatus::kRunning) &&
         status != static_cast<uint32_t>(GoroutineStatus::kCopiesStack);
}

Goroutine make_goroutine(uint64_t address, Bytes g, const GoroutineLayout& layout) {
  GoroutinePosition at = position_of(g, layout);
  // An offset of 0 is that of a field which the release does not have.
  return {.address = address,
          .number = at.number,
          .parent = layout.parent == 0 ? 0 : word_at(g, layout.parent),
          .status = GoroutineStatus{at.status},
          .wait_reason = static_cast<uint8_t>(at.wait_reason),
          .is_locked = word_at(g, layout.locked_thread) != 0,
          .waits_since = at.wait_since,
          .thread_address = word_at(g, layout.runtime.g_m),
          .created_at = word_at(g, layout.created_at),
          .start = word_at(g, layout.start),
          .labels = word_at(g, layout.runtime.g_labels)};
}

// A function that is stopped: at `call` in its code, an address of the instruction that it is
// at.
struct CodeFrame {
  uint64_t call = 0;
  uint64_t stack_pointer = 0;
  uint64_t frame_pointer = 0;
  uint64_t link_register = 0;  // arm64; 0: it has been used for something else
};

// Follows stacks from frame to frame, and remembers what is known of each address.
class StackWalker {
public:
  explicit StackWalker(const GoRuntime& runtime) : runtime_(runtime) {}

  // Walks from now on have so much CPU time together, and end where they are when it is over.
  void allow(uint64_t cpu_ns) {
    end_ = TimeBudget::cpu_time() + cpu_ns;
    is_over_ = cpu_ns == 0;
  }
  bool is_over() const { return is_over_; }

  // Walks the stack of a goroutine that is at `at`; `stack` are its words from the stack
  // pointer on. True if it led to the root.
  bool walk(const GoroutinePosition& at, Bytes stack, std::vector<StackCall>& calls) {
    return walk(frame_of(at), stack, calls);
  }

  // The frame in which a goroutine left its stack.
  CodeFrame frame_of(const GoroutinePosition& at) {
    return {call_before(at.pc), at.stack_pointer, at.frame_pointer, at.link_register};
  }

  // Likewise from any frame; `stack` begins at its stack pointer. Without time only the first
  // call is given.
  bool walk(CodeFrame frame, Bytes stack, std::vector<StackCall>& calls) {
    calls.clear();
    missing_word_ = UINT64_MAX;
    uint64_t begin = frame.stack_pointer;
    StackCall next = {.call = frame.call, .returns_to = frame.call};
    auto word = [&](uint64_t address) {
      auto found = address < begin ? std::nullopt : load<uint64_t>(stack, address - begin);
      // asks_beyond() tells of the last one, which ended the walk if it was missing.
      missing_word_ = found || address < begin ? UINT64_MAX : address;
      return found;
    };
    while (true) {
      std::optional<UnwindRule> rule = code_at(frame.call).rule;
      if (!rule)
        return false;
      calls.push_back(next);
      check_time(1);
      if (is_over_)
        return false;
      if (rule->return_kind == UnwindRule::ReturnAddress::kNone)
        return true;
      // A loaded CFA leads to the stack that a signal interrupted: its words are not here.
      auto caller = rule->is_cfa_loaded ? std::nullopt : caller_of(frame, *rule, word);
      // The first may have taken nothing of the stack yet.
      bool is_linked = rule->return_kind == UnwindRule::ReturnAddress::kInRegister;
      // A caller lies above: each step leads up, so a walk of damaged memory ends.
      bool is_above = caller && (caller->stack_pointer > frame.stack_pointer ||
                                 (is_linked && caller->stack_pointer == frame.stack_pointer));
      if (!is_above)
        return false;
      uint64_t place = place_of(rule->return_address, frame, caller->stack_pointer) - begin;
      uint64_t returns_to = caller->call;
      if (!rule->is_signal_frame)
        caller->call = call_before(returns_to);
      next = {caller->call, returns_to, is_linked ? UINT64_MAX : place};
      frame = *caller;
    }
  }

  // True if the last walk ended because it asked for a word beyond those that it was given, of
  // a stack that ends at `high`.
  bool asks_beyond(uint64_t high) const { return missing_word_ < high; }

  // True if a ucontext of Linux lies there, of a signal that is handled on a stack for that and
  // interrupted Go code: flags, of which three are known, at 0; no link at 8; the beginning of
  // that stack at 16; its size at 32; registers.
  template <class Word>
  bool has_context(uint64_t at, uint64_t pc_offset, const Word& word) {
    constexpr uint64_t kFlags = 7;
    constexpr uint64_t kMaxSize = 1 << 20;  // stacks for signals are smaller
    uint64_t begin = word(at + 16).value_or(0);
    uint64_t size = word(at + 32).value_or(0);
    return word(at).value_or(kFlags + 1) <= kFlags && word(at + 8) == 0 && begin <= at &&
           size <= kMaxSize && at - begin < size &&
           code_at(word(at + pc_offset).value_or(0)).rule.has_value();
  }

  // Frames that were interrupted by signals that a thread now handles, the last first. `stack`
  // are the words from its stack pointer on.
  std::vector<CodeFrame> find_interrupted(uint64_t stack_pointer, Bytes stack) {
    auto word = [&](uint64_t address) {
      return load<uint64_t>(stack, address - stack_pointer);
    };
    return runtime_.machine == EM_AARCH64 ? find_interrupted_arm64(stack_pointer, stack, word)
                                          : find_interrupted_amd64(stack_pointer, stack, word);
  }

private:
  // A handler is called with where it returns to, and there with what was interrupted. In
  // programs with C code it returns to the C library, of which nothing is known.
  template <class Word>
  std::vector<CodeFrame> find_interrupted_amd64(uint64_t stack_pointer, Bytes stack,
                                                const Word& word) {
    constexpr uint64_t kPc = 168;  // of rip, in a ucontext
    std::vector<CodeFrame> found;
    for (uint64_t at = stack_pointer; at - stack_pointer < stack.size(); at += kGoWord) {
      uint64_t call = word(at).value_or(0);
      std::optional<UnwindRule> rule = code_at(call).rule;
      if (!rule && has_context(at + kGoWord, kPc, word))
        rule = kSignalReturn;
      // Only the rule of what a handler returns to has a loaded CFA.
      if (!rule || !rule->is_cfa_loaded)
        continue;
      if (auto interrupted = caller_of(CodeFrame{call, at + kGoWord, 0}, *rule, word))
        found.push_back(*interrupted);
    }
    return found;
  }

  // A handler returns to the vdso, and what was interrupted lies beyond its stack. In a
  // ucontext of arm64 x29 is at 416, x30 at 424, sp at 432, pc at 440.
  template <class Word>
  std::vector<CodeFrame> find_interrupted_arm64(uint64_t stack_pointer, Bytes stack,
                                                const Word& word) {
    constexpr uint64_t kPc = 440;
    std::vector<CodeFrame> found;
    for (uint64_t at = stack_pointer; at - stack_pointer < stack.size(); at += kGoWord)
      if (has_context(at, kPc, word))
        found.push_back({.call = *word(at + kPc),
                         .stack_pointer = word(at + 432).value_or(0),
                         .frame_pointer = word(at + 416).value_or(0),
                         .link_register = word(at + 424).value_or(0)});
    return found;
  }

  static uint64_t place_of(const StackPlace& place, const CodeFrame& frame, uint64_t cfa) {
    uint64_t base = place.anchor == Anchor::kStackPointer   ? frame.stack_pointer
                    : place.anchor == Anchor::kFramePointer ? frame.frame_pointer
                                                            : cfa;
    return base + static_cast<uint64_t>(int64_t{place.offset});
  }

  // At what it returns to; none if the rule does not say, as one that call frame information
  // has to evaluate, or a word that it asks for is not there.
  template <class Word>
  static std::optional<CodeFrame> caller_of(const CodeFrame& frame, const UnwindRule& rule,
                                            const Word& word) {
    if (rule.is_evaluated || rule.return_kind == UnwindRule::ReturnAddress::kNone)
      return std::nullopt;
    std::optional<uint64_t> cfa = place_of(rule.cfa, frame, 0);
    if (rule.is_cfa_loaded)
      cfa = word(*cfa);
    std::optional<uint64_t> pc;
    if (rule.return_kind == UnwindRule::ReturnAddress::kInRegister && frame.link_register != 0)
      pc = frame.link_register;
    else if (rule.return_kind == UnwindRule::ReturnAddress::kOnStack && cfa)
      pc = word(place_of(rule.return_address, frame, *cfa));
    if (!cfa || !pc)
      return std::nullopt;
    CodeFrame caller = {*pc, *cfa, frame.frame_pointer};
    if (rule.is_signal_frame)  // of arm64: unwind_rule.h of Go
      caller.link_register = word(*cfa - 16).value_or(0);
    if (rule.frame_kind == UnwindRule::FramePointer::kOnStack)
      caller.frame_pointer = word(place_of(rule.frame_pointer, frame, *cfa)).value_or(0);
    return caller;
  }

  // An address of the call that returns to `pc`: of the instruction before, as the runtime has
  // it unless a function begins there. What has not begun yet is left so, and up to Go 1.20
  // what goes to the stack of its thread: as if runtime.systemstack_switch were about to begin.
  uint64_t call_before(uint64_t pc) { return pc - (code_at(pc - 1).is_last ? 0 : 1); }

  // Cached facts about an address.
  struct Code {
    std::optional<UnwindRule> rule;
    bool is_last = false;  // a function begins behind it
  };
  const Code& code_at(uint64_t address) {
    constexpr size_t kMaxCode = 1 << 16;
    if (code_.size() >= kMaxCode && !code_.contains(address))
      code_.clear();
    auto [entry, is_new] = code_.try_emplace(address);
    if (is_new) {
      // A rule that is new takes far longer than a step, so the clock is read each time.
      check_time(kStepsBetweenChecks);
      entry->second = {runtime_.find_rule(address), runtime_.is_entry(address + 1)};
    }
    return entry->second;
  }

  static constexpr uint64_t kStepsBetweenChecks = 64;

  void check_time(uint64_t steps) {
    steps_ += steps;
    if (end_ == UINT64_MAX || steps_ < kStepsBetweenChecks)
      return;
    steps_ = 0;
    is_over_ = is_over_ || TimeBudget::cpu_time() >= end_;
  }

  const GoRuntime& runtime_;
  uint64_t end_ = UINT64_MAX;  // CPU time, in ns
  uint64_t steps_ = 0;         // since the clock was read
  bool is_over_ = false;
  std::unordered_map<uint64_t, Code> code_;
  uint64_t missing_word_ = UINT64_MAX;  // word that the last walk asked for; UINT64_MAX: none
};

// Keeps a stack that was found, and gives its number. None: there are too many.
using KeepStack = std::function<std::optional<uint32_t>(std::span<const StackCall> calls)>;

// The reading of one list.
class GoroutineReader {
public:
  GoroutineReader(const GoRuntime& runtime, const proc::ReadMemory& read_memory,
                  KeepStack keep_stack)
      : layout_(runtime.layout),
        threads_(runtime.threads),
        read_memory_(read_memory),
        keep_stack_(std::move(keep_stack)),
        walker_(runtime) {}

  // All of the list at `allgs`, by number. False: it is no list of goroutines.
  Result<bool> read(uint64_t allgs) {
    auto list = read_list(allgs);
    if (!list)
      return std::move(list).error();
    if (auto done = read_these(*list); !done)
      return std::move(done).error();
    if (!is_list())
      return false;
    std::ranges::sort(all_, {}, &Goroutine::number);
    add_notes(list->size());
    return true;
  }

  // Some of it, anew, within so much CPU time; gives the length of the list. The first of
  // `random`, out of [0, 1), tells who is checked, and the others, one at the least, who of
  // these is looked at. None: it is no list of goroutines.
  Result<std::optional<uint64_t>> read_some(uint64_t allgs, std::span<const double> random,
                                            uint64_t cpu_ns) {
    all_.clear();
    odd_ = 0;
    shortened_ = 0;
    bool has_time = cpu_ns >= kMaxLookTime;
    // A look without time left is small, but is taken.
    stack_bytes_left_ = has_time ? kMaxLookBytes : kFewLookBytes;
    walker_.allow(std::min(cpu_ns, kMaxLookTime));
    Result<std::vector<Checked>> checked = std::vector<Checked>();
    uint64_t most = !has_time || !checks_.has_left() ? kFewChecked
                    : is_new()                       ? kMaxFirstChecked
                                                     : kMaxChecked;
    checks_.spend([&] { checked = check(allgs, most, random.front()); });
    if (!checked)
      return std::move(checked).error();
    looked_at_ = choose_among(*checked, random.subspan(1));
    if (auto done = look_at_chosen(); !done)
      return std::move(done).error();
    // A list whose goroutines make no sense is another variable: the program has gone on to
    // another one.
    bool is_none = checked->empty() || odd_ > all_.size() / 2;
    if (is_none)
      moves_.forget();
    return is_none ? std::optional<uint64_t>() : std::optional(list_size_);
  }

  // Number of goroutines that each of these stands for.
  std::vector<double> counts_of(std::span<const Goroutine> some) const {
    std::vector<double> counts;
    for (const Goroutine& goroutine : some) {
      auto at = std::ranges::find(looked_at_, goroutine.address, &Checked::address);
      counts.push_back(at == looked_at_.end() ? 0 : at->stands_for);
    }
    return counts;
  }

  std::vector<Goroutine> take_all() { return std::exchange(all_, {}); }
  uint64_t shortened() const { return shortened_; }
  std::vector<std::string> take_notes() { return std::move(notes_); }

private:
  // A goroutine of the batch that is being read.
  struct Look {
    uint64_t address = 0;
    GoroutinePosition at;  // its state at the last look
  };

  // A goroutine of which no more than its g was read.
  struct Checked {
    uint64_t address = 0;
    size_t copy = 0;        // the number of what was read
    double stands_for = 1;  // so many of all
    bool is_moving = false;
    bool is_alive = false;
  };

  Result<std::optional<Bytes>> read_at(uint64_t address, std::span<std::byte> room) {
    MemoryPiece piece = {address, room};
    if (auto done = read_memory_({&piece, 1}); !done)
      return std::move(done).error();
    return piece.is_read ? std::optional<Bytes>(room) : std::nullopt;
  }

  bool is_list() const { return !all_.empty() && odd_ <= all_.size() / 2; }

  Result<> read_these(std::span<const uint64_t> list) {
    while (!list.empty()) {
      std::span<const uint64_t> next = list.first(std::min(kBatch, list.size()));
      if (auto done = read_batch(next); !done)
        return done;
      list = list.subspan(next.size());
    }
    // walk_running() goes by the ids of threads.
    if (auto done = read_threads(); !done)
      return done;
    for (Goroutine& goroutine : all_)
      if (!threads_.empty() && goroutine.stack_state == GoroutineStack::kRunning)
        if (auto done = walk_running(goroutine); !done)
          return done;
    return Ok{};
  }

  // Reads some g of the list, and tells who of them has moved. Of the list, which may be very
  // long, pointers to these alone are read; the runtime may give it a new place meanwhile, and
  // use the old one for something else.
  Result<std::vector<Checked>> check(uint64_t allgs, uint64_t most, double random) {
    for (int look = 0; look < kMaxLooks; look++) {
      uint64_t slice[3] = {};
      uint64_t after = 0;
      if (auto read = read_at(allgs, std::as_writable_bytes(std::span(slice))); !read || !*read)
        return read ? Result(std::vector<Checked>()) : std::move(read).error();
      // The slice may be torn between its words, as the program runs meanwhile: it is looked at
      // again.
      auto [address, length, capacity] = slice;
      if (address == 0 || address % kGoWord != 0 || length == 0 || length > capacity ||
          length > kMaxGoroutines)
        continue;
      list_size_ = length;
      std::vector<Chosen> places = moves_.choose(length, most, random);
      std::vector<uint64_t> list(places.size());
      pieces_.clear();
      for (size_t i = 0; i < list.size(); i++)
        pieces_.push_back({address + kGoWord * places[i].index,
                           std::as_writable_bytes(std::span(&list[i], 1))});
      pieces_.push_back({allgs, std::as_writable_bytes(std::span(&after, 1))});
      if (auto done = read_memory_(pieces_); !done)
        return std::move(done).error();
      if (after == address)
        return check_these(places, list);
    }
    return std::vector<Checked>();
  }

  // Reads the g that `list` has at these places; what cannot be one is left out.
  Result<std::vector<Checked>> check_these(std::span<const Chosen> places,
                                           std::span<const uint64_t> list) {
    checked_copies_.resize(list.size() * layout_.size());
    pieces_.clear();
    for (size_t i = 0; i < list.size(); i++)
      pieces_.push_back({list[i], checked_copy(i)});
    if (auto done = read_memory_(pieces_); !done)
      return std::move(done).error();
    std::vector<Checked> checked;
    for (size_t i = 0; i < list.size(); i++) {
      if (!pieces_[i].is_read || list[i] == 0 || list[i] % kGoWord != 0)
        continue;
      GoroutinePosition at = position_of(checked_copy(i), layout_);
      bool is_moving =
          moves_.note(places[i].index, mark_of(checked_copy(i), at), may_rest(at.status));
      checked.push_back({.address = list[i],
                         .copy = i,
                         .stands_for = places[i].stands_for,
                         .is_moving = is_moving,
                         .is_alive = !is_dead(at.status)});
    }
    return checked;
  }

  // Changes each time that the goroutine runs, but for one of Go before 1.17 that comes to wait
  // where it waited before. The collector may give a stack another place.
  uint32_t mark_of(Bytes g, const GoroutinePosition& at) const {
    // A hash, of which the upper half is mixed best; the factor is 2^64 by the golden section.
    uint64_t mark = 0;
    for (uint64_t part : {at.number, at.high - at.stack_pointer, at.pc, uint64_t{at.status},
                          uint64_t{at.wait_reason}, switch_count(g)})
      mark = (mark ^ part) * 0x9e3779b97f4a7c15 ^ mark >> 29;
    return static_cast<uint32_t>(mark >> 32);
  }

  uint64_t switch_count(Bytes g) const {
    return layout_.switch_count == 0 ? 0 : load<uint8_t>(g, layout_.switch_count).value_or(0);
  }

  bool is_new() {
    looks_ += looks_ <= kFirstLooks ? 1 : 0;
    return looks_ <= kFirstLooks;
  }

  // True if one with that status may have been as it is for long. Calls of the same function
  // that ends soon look alike where nothing counts them.
  bool may_rest(uint32_t status) const {
    bool is_away = status == to_underlying(GoroutineStatus::kSyscall);
    return is_dead(status) || status == to_underlying(GoroutineStatus::kWaiting) ||
           status == to_underlying(GoroutineStatus::kLeaked) ||
           (is_away && layout_.switch_count != 0);
  }

  // Goroutines that move have most of the room, and those that rest as much of it as is left,
  // but a part at least. There is room for one at the least (WallOptions::most).
  static std::vector<Checked> choose_among(std::span<const Checked> checked,
                                           std::span<const double> random) {
    std::vector<Chosen> moving;
    std::vector<Chosen> resting;
    for (size_t i = 0; i < checked.size(); i++)
      if (checked[i].is_alive)
        (checked[i].is_moving ? moving : resting).push_back({i, checked[i].stands_for});
    size_t room = random.size();
    // Room that the moving ones do not need goes to those that rest.
    size_t left = room - std::min(moving.size(), room);
    size_t of_resting =
        std::min(resting.size(), std::max({left, room / kLeastShareOfResting, size_t{1}}));
    size_t of_moving = std::max<size_t>(room - std::min(of_resting, room), 1);
    std::vector<Checked> chosen;
    for (const auto& [some, numbers] :
         {std::pair(std::span(moving), random.first(std::min(of_moving, room))),
          std::pair(std::span(resting), random.last(of_resting))})
      for (const Chosen& one : choose_by_weight(some, numbers)) {
        chosen.push_back(checked[one.index]);
        chosen.back().stands_for = one.stands_for;
      }
    return chosen;
  }

  // One that has ended since it was checked is as it was then, without its stack.
  Result<> look_at_chosen() {
    std::vector<Look> pending;
    for (const Checked& one : looked_at_)
      sort_out(one.address, checked_copy(one.copy), pending);
    if (auto done = look_at_all(pending); !done)
      return done;
    for (const Checked& one : looked_at_)
      if (std::ranges::find(all_, one.address, &Goroutine::address) == all_.end()) {
        all_.push_back(make_goroutine(one.address, checked_copy(one.copy), layout_));
        all_.back().stack_state = GoroutineStack::kMoving;
      }
    return read_threads();
  }

  // Reads words; false if they are not there. Room is taken as they come, however many the list
  // claims to have.
  Result<bool> read_words(uint64_t address, uint64_t count, std::vector<uint64_t>& words) {
    constexpr uint64_t kAtOnce = 64 << 10;
    words.clear();
    while (words.size() < count) {
      uint64_t begin = words.size();
      words.resize(std::min(begin + kAtOnce, count));
      auto read = read_at(address + begin * kGoWord,
                          std::as_writable_bytes(std::span(words).subspan(begin)));
      if (!read)
        return std::move(read).error();
      if (!*read)
        return false;
    }
    return true;
  }

  // Pointers to all g, without doubles. The runtime may give the list a new place meanwhile,
  // and use the old one for something else.
  Result<std::vector<uint64_t>> read_list(uint64_t allgs) {
    std::vector<uint64_t> list;
    for (int look = 0; look < kMaxLooks; look++) {
      uint64_t slice[3] = {};
      uint64_t after[3] = {};
      if (auto read = read_at(allgs, std::as_writable_bytes(std::span(slice))); !read || !*read)
        return read ? Result(std::move(list)) : std::move(read).error();
      auto [address, length, capacity] = slice;
      // A slice that is torn between its words is looked at again.
      if (address == 0 || address % kGoWord != 0 || length == 0 || length > capacity)
        continue;
      list_size_ = length;
      // The address after the read tells if the list lay there all the time.
      auto is_read = read_words(address, std::min(length, kMaxGoroutines), list);
      if (!is_read)
        return std::move(is_read).error();
      auto read = read_at(allgs, std::as_writable_bytes(std::span(after)));
      if (!read)
        return std::move(read).error();
      if (!*is_read)
        list.clear();
      else if (after[0] == address)
        break;
    }
    // After the last look what was read is taken as it is: odd goroutines in it are counted.
    // A g that stands in the list twice would be counted twice.
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase_if(list, [](uint64_t g) { return g == 0 || g % kGoWord != 0; });
    return list;
  }

  Result<> read_batch(std::span<const uint64_t> addresses) {
    copies_.resize(addresses.size() * layout_.size());
    pieces_.clear();
    for (size_t i = 0; i < addresses.size(); i++)
      pieces_.push_back({addresses[i], copy(i)});
    // First all g at once; then, of those that have a stack to be read, [g][stack][g] each.
    if (auto done = read_memory_(pieces_); !done)
      return done;
    std::vector<Look> pending;
    for (size_t i = 0; i < addresses.size(); i++)
      if (pieces_[i].is_read)
        sort_out(addresses[i], copy(i), pending);
      else
        unreadable_++;
    return look_at_all(pending);
  }

  // Adds one that has no stack to be looked at.
  void sort_out(uint64_t address, Bytes g, std::vector<Look>& pending) {
    GoroutinePosition at = position_of(g, layout_);
    if (has_left(at.status) && is_on_stack(at))
      pending.push_back({address, at});
    else
      add(address, g, GoroutineStack::kRunning, {});
  }

  Result<> look_at_all(std::vector<Look>& pending) {
    for (int look = 0; look < kMaxLooks && !pending.empty(); look++)
      if (auto done = look_at(pending, look + 1 == kMaxLooks); !done)
        return done;
    return Ok{};
  }

  // Reads the stacks of those that are pending, and leaves those that have to be looked at
  // again; at the last look none are left.
  Result<> look_at(std::vector<Look>& pending, bool is_last) {
    copies_.resize(2 * pending.size() * layout_.size());
    stacks_.resize(pending.size());
    pieces_.clear();
    for (size_t i = 0; i < pending.size(); i++) {
      const GoroutinePosition& at = pending[i].at;
      // The g is read before and after its stack: if both are equal it did not run in between.
      // kBatch sees to it that one system call reads these three.
      stacks_[i].resize(take_bytes(std::min(at.high - at.stack_pointer, kFirstStackSize)));
      pieces_.push_back({pending[i].address, copy(2 * i)});
      pieces_.push_back({at.stack_pointer, stacks_[i]});
      pieces_.push_back({pending[i].address, copy(2 * i + 1)});
    }
    if (auto done = read_memory_(pieces_); !done)
      return done;
    std::vector<Look> again;
    for (size_t i = 0; i < pending.size(); i++) {
      bool is_first_read = pieces_[kPiecesEach * i].is_read;
      bool is_stack_read = pieces_[kPiecesEach * i + 1].is_read;
      // Its memory was freed, or is not the program's any more.
      if (!is_first_read || !pieces_[kPiecesEach * i + 2].is_read) {
        unreadable_++;
        continue;
      }
      GoroutinePosition before = position_of(copy(2 * i), layout_);
      GoroutinePosition after = position_of(copy(2 * i + 1), layout_);
      // One that runs now has its stack in motion; one that only moved on is looked at again.
      if (is_stack_read && before == pending[i].at && before == after) {
        if (auto done = add_stack(pending[i], copy(2 * i), stacks_[i]); !done)
          return done;
      } else if (!has_left(after.status) || !is_on_stack(after)) {
        add(pending[i].address, copy(2 * i + 1), GoroutineStack::kRunning, {});
      } else if (is_last) {
        add(pending[i].address, copy(2 * i + 1), GoroutineStack::kMoving, {});
      } else {
        again.push_back({pending[i].address, after});
      }
    }
    pending = std::move(again);
    return Ok{};
  }

  // One whose words are known to be of that position.
  Result<> add_stack(const Look& look, Bytes g, Bytes stack) {
    bool is_whole = walker_.walk(look.at, stack, calls_);
    GoroutineStack state = is_whole ? GoroutineStack::kWhole : GoroutineStack::kCut;
    // Most stacks are whole at the first read; only one that needs more words is read again.
    bool is_short = stack.size() < look.at.high - look.at.stack_pointer;
    if (!is_whole && is_short && walker_.asks_beyond(look.at.high)) {
      auto deep = read_deep(look);
      if (!deep)
        return std::move(deep).error();
      state = *deep;
    }
    bool lacks_bytes = stack_bytes_left_ == 0 && is_short;
    shortened_ += state == GoroutineStack::kCut && (lacks_bytes || walker_.is_over()) ? 1 : 0;
    add(look.address, g, state, calls_);
    return Ok{};
  }

  // Reads a stack that reaches further than the first look.
  Result<GoroutineStack> read_deep(const Look& look) {
    const GoroutinePosition& at = look.at;
    std::vector<std::byte> stack(
        take_bytes(std::min(at.high - at.stack_pointer, kMaxStackSize)));
    std::vector<std::byte> copies(2 * size_t{layout_.size()});
    std::span<std::byte> before = std::span(copies).first(layout_.size());
    std::span<std::byte> after = std::span(copies).subspan(layout_.size());
    MemoryPiece pieces[] = {
        {look.address, before}, {at.stack_pointer, stack}, {look.address, after}};
    if (auto done = read_memory_(pieces); !done)
      return std::move(done).error();
    // Both copies have to be as planned: in between the goroutine may have run, and its stack
    // then is of two moments.
    bool is_same = pieces[0].is_read && pieces[1].is_read && pieces[2].is_read &&
                   position_of(before, layout_) == at && position_of(after, layout_) == at;
    if (!is_same)
      return GoroutineStack::kCut;  // as far as it was seen before
    return state_of(walker_.walk(at, stack, calls_), stack.size(), at.high);
  }

  // State of a stack that was walked, which ends at `high` and of which `size` bytes were read.
  GoroutineStack state_of(bool is_whole, uint64_t size, uint64_t high) const {
    if (is_whole)
      return GoroutineStack::kWhole;
    bool is_deep = size == kMaxStackSize && walker_.asks_beyond(high);
    return is_deep ? GoroutineStack::kDeep : GoroutineStack::kCut;
  }

  void add(uint64_t address, Bytes g, GoroutineStack state, std::span<const StackCall> calls) {
    Goroutine goroutine = make_goroutine(address, g, layout_);
    if (is_dead(to_underlying(goroutine.status)))
      return;
    // These conditions hold for every g of a program whose layout is right; many odd ones mean
    // that it is not. Numbers count up from 1, and none comes near 2^48.
    bool is_status = !go::to_string(goroutine.status).empty();
    bool has_stack = state != GoroutineStack::kRunning ||
                     goroutine.status == GoroutineStatus::kRunning ||
                     goroutine.status == GoroutineStatus::kCopiesStack;
    if (!is_status || !has_stack || goroutine.number == 0 || goroutine.number >> 48 != 0)
      odd_++;
    auto kept = keep_stack_(calls);
    left_out_ += !kept;
    goroutine.stack_state = kept ? state : GoroutineStack::kCut;
    goroutine.stack = kept.value_or(0);
    all_.push_back(goroutine);
  }

  static uint32_t to_underlying(GoroutineStatus status) {
    return static_cast<uint32_t>(status);
  }

  // Sets the ids of the threads, which their m have. An id that no thread can have is not one.
  Result<> read_threads() {
    std::vector<Goroutine*> with;
    for (Goroutine& goroutine : all_)
      if (goroutine.thread_address != 0)
        with.push_back(&goroutine);
    std::vector<uint64_t> ids(with.size());
    pieces_.clear();
    for (size_t i = 0; i < with.size(); i++)
      pieces_.push_back({with[i]->thread_address + layout_.thread_id,
                         std::as_writable_bytes(std::span(&ids[i], 1))});
    if (auto done = read_memory_(pieces_); !done)
      return done;
    for (size_t i = 0; i < with.size(); i++)
      if (pieces_[i].is_read && ids[i] <= INT32_MAX)
        with[i]->thread = static_cast<uint32_t>(ids[i]);
    return Ok{};
  }

  // A goroutine that was running has a stack as well if the program stands still.
  Result<> walk_running(Goroutine& goroutine) {
    std::vector<std::byte> g(layout_.size());
    auto read = read_at(goroutine.address, g);
    if (!read)
      return std::move(read).error();
    GoroutinePosition at = position_of(g, layout_);
    // A goroutine that left for the stack of the scheduler, to come back, has its place in its
    // g. Of others runtime.gogo has set that stack pointer to 0 when they went on.
    CodeFrame frame = walker_.frame_of(at);
    if (!*read || !is_on_stack(at)) {
      auto interrupted = find_frame(goroutine.thread, at);
      if (!interrupted)
        return std::move(interrupted).error();
      if (!*interrupted)
        return Ok{};
      frame = **interrupted;
    }
    auto stack = read_stack(frame.stack_pointer, at.high);
    if (!stack)
      return std::move(stack).error();
    bool is_whole = walker_.walk(frame, *stack, calls_);
    auto kept = calls_.empty() ? std::nullopt : keep_stack_(calls_);
    if (!kept)
      return Ok{};
    goroutine.stack_state = state_of(is_whole, stack->size(), at.high);
    goroutine.stack = *kept;
    return Ok{};
  }

  // The frame in which a thread is on the stack of the goroutine, or was when a signal came.
  Result<std::optional<CodeFrame>> find_frame(uint32_t thread, const GoroutinePosition& at) {
    auto is_on = [&](const CodeFrame& frame) {
      return at.low < frame.stack_pointer && frame.stack_pointer <= at.high;
    };
    auto known = threads_.find(thread);
    if (known == threads_.end())
      return std::optional<CodeFrame>();
    const ThreadRegisters& registers = known->second;
    CodeFrame frame = {registers.pc, registers.stack_pointer, registers.frame_pointer,
                       registers.link_register};
    if (is_on(frame))
      return std::optional(frame);
    // A thread in a signal handler is on the stack of its gsignal: where it was interrupted, it
    // was on the goroutine's.
    constexpr uint64_t kHandlerStack = 32 << 10;  // as runtime.malg() makes it
    auto stack = read_stack(frame.stack_pointer, frame.stack_pointer + kHandlerStack);
    if (!stack)
      return std::move(stack).error();
    std::vector<CodeFrame> interrupted = walker_.find_interrupted(frame.stack_pointer, *stack);
    auto found = std::ranges::find_if(interrupted, is_on);
    return found == interrupted.end() ? std::nullopt : std::optional(*found);
  }

  // Reads the memory between the addresses, as far as it is there. `end` is never below
  // `begin`: callers have compared the two, or counted from it.
  Result<std::vector<std::byte>> read_stack(uint64_t begin, uint64_t end) {
    constexpr uint64_t kStep = 1024;
    std::vector<std::byte> stack;
    uint64_t size = take_bytes(std::min(end - begin, kMaxStackSize));
    while (stack.size() < size) {
      uint64_t old = stack.size();
      stack.resize(std::min(old + kStep, size));
      auto read = read_at(begin + old, std::span(stack).subspan(old));
      if (!read)
        return std::move(read).error();
      // In steps, as memory may end anywhere above.
      if (*read)
        continue;
      stack.resize(old);
      break;
    }
    return stack;
  }

  void add_notes(size_t count) {
    auto note = [this](uint64_t number, std::string_view what) {
      if (number > 0)
        notes_.push_back(fmt::format("{}: {}", what, with_commas(number)));
    };
    if (list_size_ > kMaxGoroutines)
      note(list_size_ - count, "goroutines left out, as the program says it has too many");
    note(unreadable_, "goroutines that cannot be read");
    auto with_state = [this](GoroutineStack state) {
      return static_cast<uint64_t>(std::ranges::count(all_, state, &Goroutine::stack_state));
    };
    note(with_state(GoroutineStack::kMoving),
         "goroutines without a stack, as they ran whenever they were looked at");
    note(left_out_, fmt::format("goroutines without a stack, as those before have {} addresses",
                                with_commas(kMaxStackAddresses)));
    note(with_state(GoroutineStack::kDeep),
         fmt::format("goroutines whose stacks end before their begin, as {} of a stack is read "
                     "at most",
                     human_size(kMaxStackSize)));
    // add() has given those that were left out this state, too.
    note(with_state(GoroutineStack::kCut) - left_out_,
         stack_bytes_left_ > 0
             ? "goroutines whose stacks end before their begin"
             : fmt::format("goroutines whose stacks end before their begin, some as {} of all "
                           "stacks is read at most",
                           human_size(kMaxStackBytes)));
  }

  // So many of the bytes that are wanted of a stack, or fewer if it gets too much.
  uint64_t take_bytes(uint64_t wanted) {
    uint64_t taken = std::min(wanted, stack_bytes_left_);
    stack_bytes_left_ -= taken;
    return taken;
  }

  std::span<std::byte> copy(size_t i) {
    return std::span(copies_).subspan(i * layout_.size(), layout_.size());
  }

  std::span<std::byte> checked_copy(size_t i) {
    return std::span(checked_copies_).subspan(i * layout_.size(), layout_.size());
  }

  const GoroutineLayout& layout_;
  const std::map<uint32_t, ThreadRegisters>& threads_;
  const proc::ReadMemory& read_memory_;
  KeepStack keep_stack_;
  StackWalker walker_;
  std::vector<Goroutine> all_;
  std::vector<std::string> notes_;
  uint64_t list_size_ = 0;
  uint64_t unreadable_ = 0;
  uint64_t shortened_ = 0;  // stacks of which more would take too much
  uint64_t odd_ = 0;        // goroutines that hold what none holds
  uint64_t left_out_ = 0;   // stacks that could not be kept
  uint64_t stack_bytes_left_ = kMaxStackBytes;
  // For looks at some:
  MovingGoroutines moves_;
  uint32_t looks_ = 0;  // up to kFirstLooks and one more
  TimeBudget checks_ = TimeBudget(kShareOfChecks);
  std::vector<Checked> looked_at_;  // by the last look

  // Room for what is read.
  std::vector<MemoryPiece> pieces_;
  std::vector<std::byte> checked_copies_;
  std::vector<std::byte> copies_;
  std::vector<std::vector<std::byte>> stacks_;
  std::vector<StackCall> calls_;
};

// The addresses of each stack, once.
class StackPool {
public:
  StackPool() { stacks_.intern({}); }

  std::optional<uint32_t> keep(std::span<const StackCall> calls) {
    if (addresses_ + calls.size() > kMaxStackAddresses)
      return std::nullopt;
    scratch_.clear();
    for (const StackCall& call : calls)
      scratch_.push_back(call.call);
    // A stack that is new gets the next number.
    uint32_t known = stacks_.size();
    uint32_t number = stacks_.intern(scratch_);
    addresses_ += number == known ? calls.size() : 0;
    return number;
  }
  SequencePool<uint64_t> take() { return std::move(stacks_); }

private:
  SequencePool<uint64_t> stacks_;
  uint64_t addresses_ = 0;  // in all stacks
  std::vector<uint64_t> scratch_;
};

// State that is kept from one reading to the next.
struct Reading {
  GoRuntime runtime;
  proc::ReadMemory read_memory;
  std::vector<std::vector<StackCall>> stacks = {{}};
  GoroutineReader reader;
  std::optional<uint64_t> allgs = {};  // once it is known which of them it is
  TimeBudget budget = TimeBudget(kShareOfLooks);

  Reading(GoRuntime of, proc::ReadMemory read)
      : runtime(std::move(of)),
        read_memory(std::move(read)),
        // Stacks are kept for one look alone, with the places of their words, so that equal
        // ones are not made one.
        reader(runtime, read_memory, [this](std::span<const StackCall> calls) {
          if (calls.empty())
            return std::optional<uint32_t>(0);
          stacks.emplace_back(calls.begin(), calls.end());
          return std::optional(static_cast<uint32_t>(stacks.size() - 1));
        }) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  Result<SomeGoroutines> look(std::span<const double> random) {
    Result<SomeGoroutines> found = SomeGoroutines();
    uint64_t left = budget.left_ns();
    budget.spend([&] { found = look_within(left, random); });
    return found;
  }

  // Looks at the list, or where it may be as long as that is not known. Without one the answer
  // has a list of size 0: the program has ended, or executes another one.
  Result<SomeGoroutines> look_within(uint64_t cpu_ns, std::span<const double> random) {
    std::vector<uint64_t> places = runtime.allgs;
    if (allgs)
      places = {*allgs};
    for (uint64_t place : places) {
      stacks.resize(1);  // number 0, of those without a stack, stays
      auto size = reader.read_some(place, random, cpu_ns);
      if (!size)
        return std::move(size).error();
      std::vector<Goroutine> all = reader.take_all();
      // Memory of zeros reads as goroutines that have ended: those that live tell the place.
      if (!*size || (!allgs && all.empty()))
        continue;
      allgs = place;
      std::vector<double> counts = reader.counts_of(all);
      return SomeGoroutines{.list_size = **size,
                            .counts = std::move(counts),
                            .all = std::move(all),
                            .shortened = reader.shortened(),
                            .stacks = stacks};
    }
    return SomeGoroutines();
  }
};

}  // namespace

Result<Goroutines> read_goroutines(const GoRuntime& runtime,
                                   const proc::ReadMemory& read_memory) {
  for (uint64_t allgs : runtime.allgs) {
    StackPool stacks;
    GoroutineReader reader(runtime, read_memory, [&stacks](std::span<const StackCall> calls) {
      return stacks.keep(calls);
    });
    auto is_list = reader.read(allgs);
    if (!is_list)
      return std::move(is_list).error();
    if (*is_list)
      return Goroutines{
          .all = reader.take_all(), .stacks = stacks.take(), .notes = reader.take_notes()};
  }
  return Error("no list of goroutines is where the program's code says it is")
      .with_exit_status(kUnsupported);
}

LookAtSome look_at_some(GoRuntime runtime, proc::ReadMemory read_memory) {
  auto reading = std::make_shared<Reading>(std::move(runtime), std::move(read_memory));
  return [reading](std::span<const double> random) { return reading->look(random); };
}

}  // namespace gosym
