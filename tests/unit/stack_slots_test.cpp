#include "record/stacks/stack_slots.h"

#include <algorithm>
#include <random>
#include <set>

#include "dwarf/call_frames.h"
#include "record/stacks/passed_callers.h"
#include "unwound_stack.h"

namespace gosym::stack_slots_test {

namespace {

constexpr uint64_t kStackPointer = 0x7ffd00001000;
const CodeRanges kCode = {{kLoaded, kLoaded + 0x4000}};

// The rules of some of the functions of the vdso.
class SomeRules {
public:
  explicit SomeRules(std::set<uint64_t> places) : places_(std::move(places)) {
    auto parsed = elf::parse(as_bytes(unwind_vdso()));
    REQUIRE(parsed);
    image_ = *std::move(parsed);
    frames_ = dwarf::CallFrames::open(image_);
  }

  std::optional<UnwindRule> operator()(uint64_t address) const {
    uint64_t place = (address - kLoaded - FrameSpec::kCode) / 0x100;
    return places_.contains(place) ? frames_->find(ImageAddress{address - kLoaded})
                                   : std::nullopt;
  }

private:
  std::set<uint64_t> places_;
  elf::Image image_;
  std::unique_ptr<dwarf::CallFrames> frames_;
};

struct Case {
  std::vector<uint64_t> stack;
  uint64_t frame_offset = kNoFrame;
  std::vector<uint64_t> top;
  std::vector<StackWord> far_words = {};
};

std::vector<StackWord> needed(const Case& given, const RuleOf& rule_of) {
  RecordedSample sample;
  sample.user_stack = given.stack;
  sample.frame_offset = given.frame_offset;
  std::vector<StackWord> words;
  StackTop top = {
      .stack_pointer = kStackPointer, .words = given.top, .far_words = given.far_words};
  select_stack_slots(sample, top, kCode, rule_of, words);
  return words;
}

std::string unwound(const Case& given, const std::vector<StackWord>& words) {
  Unwound found = unwound(Sampled{given.stack, given.frame_offset, words, StackEnd::kRoot});
  return fmt::format("{}, repaired {}, cut {}", found.stack, found.counts.repaired,
                     found.counts.cut);
}

const RuleOf kNoRules = [](uint64_t) { return std::nullopt; };

using Words = std::vector<StackWord>;

}  // namespace

TEST_CASE("needed words: where nothing is known, all that may be of use") {
  std::vector<uint64_t> top = {caller(kFramed), 1, kStackPointer + 32, kStackPointer,
                               leaf(kRoot)};
  CHECK(needed({{leaf(kFramed)}, kNoFrame, top}, kNoRules) ==
        Words{{0, caller(kFramed)}, {16, 32}, {32, leaf(kRoot)}});
  // Up to the frame there is no frame pointer that leads there.
  CHECK(needed({{leaf(kFramed)}, 40, top}, kNoRules) ==
        Words{{0, caller(kFramed)}, {32, leaf(kRoot)}});
  CHECK(needed({{}, kNoFrame, top}, kNoRules).empty());
}

TEST_CASE("needed words: of a leaf without a frame the return address, with one nothing") {
  SomeRules rules({kFrameless, kFramed, kSized, kRoot});
  std::vector<uint64_t> top = {caller(kFramed), caller(kSized), leaf(kFramed)};
  CHECK(needed({{leaf(kFrameless), caller(kRoot)}, 24, top}, std::ref(rules)) ==
        Words{{0, caller(kFramed)}});
  CHECK(needed({{leaf(kFramed), caller(kRoot)}, 24, top}, std::ref(rules)).empty());
}

TEST_CASE("needed words: from the first function on that is not known, all") {
  SomeRules rules({kFrameless, kFramed});
  std::vector<uint64_t> top = {caller(kSized), caller(kFramed), 7, caller(kRoot)};
  CHECK(needed({{leaf(kFrameless)}, kNoFrame, top}, std::ref(rules)) ==
        Words{{0, caller(kSized)}, {8, caller(kFramed)}, {24, caller(kRoot)}});
}

TEST_CASE("needed words: those of other stacks, however far up callers lie on the own one") {
  SomeRules rules({kFramed, kSized});
  std::vector<uint64_t> stack = {leaf(kFramed), caller(kSized), caller(kFrameless)};
  std::vector<StackSwitch> switches = {{2, 16}};
  std::vector<uint64_t> words = {caller(kSized), 1, caller(kFrameless), caller(kRoot)};
  std::vector<StackPiece> pieces = {{0x7f0000001000, 16}};
  RecordedSample sample;
  sample.user_stack = stack;
  sample.frame_offset = 2048;
  sample.goroutine_start = 2;
  sample.switches = switches;
  StackTop top = {.stack_pointer = kStackPointer, .words = words, .pieces = pieces};
  std::vector<StackWord> needed;
  select_stack_slots(sample, top, kCode, std::ref(rules), needed);
  CHECK(needed == Words{{16, caller(kFrameless)}, {24, caller(kRoot)}});
}

TEST_CASE("needed words: places of each stack lie where its words do") {
  std::vector<StackPiece> pieces = {{0x5000, 16}, {0x9000, 48}};
  StackTop top = {.stack_pointer = 0x7000, .words = {}, .pieces = pieces};
  CHECK(top.offset_of(0x7000) == 0);
  CHECK(top.offset_of(0x7008) == 8);
  CHECK(top.offset_of(0x7010) == kNoFrame);
  CHECK(top.offset_of(0x5000) == 16);
  CHECK(top.offset_of(0x501f) == 47);
  CHECK(top.offset_of(0x5020) == kNoFrame);
  CHECK(top.offset_of(0x8fff) == kNoFrame);
  CHECK(top.offset_of(0x9100) == 48 + 0x100);
}

TEST_CASE("needed words: of a leaf that has moved its stack pointer by two bytes") {
  SomeRules rules({kMisaligned, kSized});
  RecordedSample sample;
  std::vector<uint64_t> stack = {leaf(kMisaligned), caller(kRoot)};
  sample.user_stack = stack;
  std::vector<uint64_t> words = {0, caller(kSized), 1, 2, 3, caller(kRoot)};
  // Its return address lies 2 bytes above the stack pointer, the caller's 32 above that.
  StackTop top = {.stack_pointer = kStackPointer, .words = words, .misaligned = 6};
  std::vector<StackWord> needed;
  select_stack_slots(sample, top, kCode, std::ref(rules), needed);
  StackWord alignment = {offset_of_register(kStackAlignment), StackWord::kNumber + 6};
  CHECK(needed == Words{{8, caller(kSized)}, {40, caller(kRoot)}, alignment});
  Case given = {.stack = {leaf(kMisaligned)}, .top = {}};
  CHECK(unwound(given, needed) == "misaligned sized< root<, repaired 1, cut 0");
  needed.pop_back();
  CHECK(unwound(given, needed) == "misaligned, repaired 0, cut 1");
}

TEST_CASE("needed words: those further up as well, if they point into code") {
  SomeRules rules({kFrameless, kFramed, kSized, kRoot});
  Words far = {{32, caller(kRoot)}, {40, 7}, {kMaxWordOffset - 8, caller(kFramed)}};
  // A walk up to the root asks for no other word.
  CHECK(needed({{leaf(kFrameless)}, kNoFrame, {caller(kSized)}, far}, std::ref(rules)) ==
        Words{{0, caller(kSized)}, {32, caller(kRoot)}});
  CHECK(needed({{leaf(kFrameless)}, kNoFrame, {caller(kSized)}, far}, kNoRules) ==
        Words{{0, caller(kSized)}, {32, caller(kRoot)}, {kMaxWordOffset - 8, caller(kFramed)}});
  // The walk has come up to them when it meets code without a rule.
  far[0] = {32, caller(kUnknown)};
  CHECK(needed({{leaf(kFrameless)}, kNoFrame, {caller(kSized)}, far}, std::ref(rules)) ==
        Words{{0, caller(kSized)},
              {32, caller(kUnknown)},
              {kMaxWordOffset - 8, caller(kFramed)}});
}

namespace {

class VdsoCode : public SampledCode {
public:
  VdsoCode() : image_(*elf::parse(as_bytes(unwind_vdso()))) {
    frames_ = dwarf::CallFrames::open(image_);
  }
  std::optional<UnwindRule> rule(uint64_t address) override {
    return frames_->find(ImageAddress{address - kLoaded});
  }
  std::optional<CallerFrame> evaluate(uint64_t address, MachineState& state) override {
    return frames_->evaluate(ImageAddress{address - kLoaded}, state);
  }
  CallerRegister caller_register(uint64_t address, uint64_t number, uint64_t cfa,
                                 MachineState& state) override {
    return frames_->caller_register(ImageAddress{address - kLoaded}, number, cfa, state);
  }

private:
  elf::Image image_;
  std::unique_ptr<dwarf::CallFrames> frames_;
};

std::vector<StackWord> needed_registers(const Case& given,
                                        const std::vector<uint64_t>& registers,
                                        const std::vector<uint64_t>& red_zone = {}) {
  RecordedSample sample;
  sample.user_stack = given.stack;
  sample.frame_offset = given.frame_offset;
  std::vector<StackWord> words;
  VdsoCode code;
  StackTop top = {.stack_pointer = kStackPointer + 0x18,
                  .words = given.top,
                  .registers = registers,
                  .red_zone = red_zone};
  find_needed_registers(sample, top, kCode, code, words);
  return words;
}

}  // namespace

TEST_CASE("needed words: behind the stack of a signal handler lies the interrupted one") {
  constexpr uint64_t kInterrupted = kStackPointer - 0x100000;
  std::vector<uint64_t> top = {kStackPointer + 8, kInterrupted + 16,  caller(kFramed),
                               kInterrupted + 24, kStackPointer + 16, caller(kRoot)};
  std::vector<StackPiece> pieces = {{kInterrupted, 16}};
  StackTop stack = {.stack_pointer = kStackPointer, .words = top, .pieces = pieces};
  CHECK(stack.offset_of(kStackPointer) == 0);
  CHECK(stack.offset_of(kStackPointer + 8) == 8);
  CHECK(stack.offset_of(kInterrupted) == 16);
  CHECK(stack.offset_of(kInterrupted + 0x8000) == 0x8010);
  CHECK(stack.offset_of(kInterrupted - 8) > kMaxTopSize);
  std::vector<uint64_t> chain = {leaf(kFramed)};
  RecordedSample sample;
  sample.user_stack = chain;
  std::vector<StackWord> words;
  select_stack_slots(sample, stack, kCode, kNoRules, words);
  CHECK(words == Words{{0, 8}, {8, 32}, {16, caller(kFramed)}, {24, 40}, {40, caller(kRoot)}});
}

TEST_CASE("needed words: registers are taken if a rule asks for them") {
  constexpr uint64_t kTop = kStackPointer + 0x18;
  const StackWord kAlignment = {offset_of_register(kStackAlignment), StackWord::kNumber + 0x18};
  std::vector<uint64_t> registers(16, 7);
  registers[0] = kTop + 8;
  std::vector<uint64_t> top = {caller(kByRax), caller(kRoot)};
  CHECK(needed_registers({{leaf(kFramed)}, kNoFrame, top}, registers).empty());
  CHECK(needed_registers({{leaf(kByRax)}, kNoFrame, top}, registers) ==
        Words{{offset_of_register(0), 8}, kAlignment});
  CHECK(needed_registers({{leaf(kFrameless)}, kNoFrame, top}, registers) ==
        Words{{offset_of_register(0), 8}, kAlignment});
  CHECK(needed_registers({{leaf(kByRbx)}, kNoFrame, top}, registers) ==
        Words{{offset_of_register(3), StackWord::kNumber + 7}, kAlignment});
  registers[3] = caller(kRoot);
  CHECK(needed_registers({{leaf(kByRbx)}, kNoFrame, top}, registers) ==
        Words{{offset_of_register(3), caller(kRoot)}});
  registers[3] = uint64_t{1} << 32;  // of no use
  CHECK(needed_registers({{leaf(kByRbx)}, kNoFrame, top}, registers).empty());
  CHECK(needed_registers({{leaf(kByRax)}, kNoFrame, top}, {}).empty());
}

TEST_CASE("needed words: where the first function of a fiber would return to nothing") {
  std::vector<uint64_t> top = {1, 1, 1, caller(kSized), 1, 1, 1, 0, 1};
  Words words = needed_registers({{leaf(kSized)}, kNoFrame, top}, {});
  CHECK(words == Words{{56, 0}});
  CHECK(unwound({{leaf(kSized)}, kNoFrame, top}, {{24, caller(kSized)}, {56, 0}}) ==
        "sized sized<, repaired 1, cut 0");
  top.push_back(caller(kFramed));  // it is amid others
  CHECK(needed_registers({{leaf(kSized)}, kNoFrame, top}, {}).empty());
  top = {1, 1, 1, caller(kSized), 1, 1, 1};  // it was not recorded
  CHECK(needed_registers({{leaf(kSized)}, kNoFrame, top}, {}).empty());
  top = {1, 1, 1, 0};
  CHECK(needed_registers({{leaf(kRoot)}, kNoFrame, top}, {}).empty());
}

TEST_CASE("needed words: one below the stack pointer is taken if a rule asks for it") {
  constexpr uint64_t kTop = kStackPointer + 0x18;
  const StackWord kAlignment = {offset_of_register(kStackAlignment), StackWord::kNumber + 0x18};
  const uint64_t kNearest = offset_of_register(register_of_red_zone(8));
  std::vector<uint64_t> registers(16, 7);
  std::vector<uint64_t> red_zone(16, kTop);
  std::vector<uint64_t> top = {1, caller(kRoot)};
  auto needed = [&](Place leaf_place) {
    return needed_registers({{leaf(leaf_place)}, kNoFrame, top}, registers, red_zone);
  };
  CHECK(needed(kByRedZone) == Words{{kNearest, 0}, kAlignment});
  red_zone.back() = kTop + 8;
  CHECK(needed(kByRedZone) == Words{{kNearest, 8}, kAlignment});
  CHECK(needed(kFramed).empty());
  red_zone.back() = 9;
  CHECK(needed(kByRedZone) == Words{{kNearest, StackWord::kNumber + 9}, kAlignment});
  red_zone.back() = uint64_t{1} << 32;  // of no use
  CHECK(needed(kByRedZone) == Words{kAlignment});
  red_zone.clear();  // a sampler that has none
  CHECK(needed(kByRedZone) == Words{kAlignment});
}

TEST_CASE("needed words: of code that is not known yet all registers are taken") {
  constexpr uint64_t kTop = kStackPointer + 0x18;
  std::vector<uint64_t> registers(16, uint64_t{1} << 32);  // of no use
  registers[3] = kTop + 8;
  registers[5] = caller(kRoot);
  registers[15] = 9;
  std::vector<uint64_t> chain = {leaf(kFramed)};
  std::vector<uint64_t> top = {1, caller(kRoot)};
  RecordedSample sample;
  sample.user_stack = chain;
  Words words = {{8, caller(kRoot)}};
  take_registers(sample, {.stack_pointer = kTop, .words = top, .registers = registers}, kCode,
                 words);
  CHECK(words == Words{{8, caller(kRoot)},
                       {offset_of_register(3), 8},
                       {offset_of_register(5), caller(kRoot)},
                       {offset_of_register(15), StackWord::kNumber + 9},
                       {offset_of_register(kStackAlignment), StackWord::kNumber + 0x18}});
}

TEST_CASE("needed words: of a leaf of arm64 the link register, without what signs it") {
  using ReturnAddress = UnwindRule::ReturnAddress;
  RuleOf rule_of = [](uint64_t address) -> std::optional<UnwindRule> {
    if (address == leaf(kFrameless))
      return UnwindRule{.return_kind = ReturnAddress::kInRegister};
    return UnwindRule{.cfa = {Anchor::kStackPointer, 32},
                      .return_kind = ReturnAddress::kOnStack,
                      .return_address = {Anchor::kStackPointer, 0}};
  };
  constexpr uint64_t kSignature = uint64_t{0x55} << 48;
  std::vector<uint64_t> stack = {leaf(kFrameless), caller(kRoot)};
  std::vector<uint64_t> registers(31, kSignature + caller(kFramed));
  std::vector<uint64_t> words = {kSignature + caller(kSized)};
  RecordedSample sample;
  sample.user_stack = stack;
  sample.frame_offset = 8;
  StackTop top = {.stack_pointer = kStackPointer,
                  .words = words,
                  .registers = registers,
                  .misaligned = 16,
                  .code_mask = (uint64_t{1} << 48) - 1};
  std::vector<StackWord> needed;
  select_stack_slots(sample, top, kCode, rule_of, needed);
  StackWord link = {offset_of_register(kLinkRegister), caller(kFramed)};
  StackWord place = {offset_of_register(kStackPointerRegister), 16};
  CHECK(needed == Words{link, place});
  select_stack_slots(sample, top, kCode, kNoRules, needed);
  CHECK(needed == Words{link, place});  // the word lies below the stack pointer
  top.code_mask = ~uint64_t{0};
  select_stack_slots(sample, top, kCode, kNoRules, needed);
  CHECK(needed == Words{place});
}

TEST_CASE("passed callers: they are of functions without a frame") {
  // 0x1000 has a frame, 0x2000 none, 0x3000 is injected into what it returns to; of others
  // nothing is known.
  RuleOf rule_of = [](uint64_t address) -> std::optional<UnwindRule> {
    UnwindRule rule{.cfa = {Anchor::kStackPointer, 8}, .return_address = {Anchor::kCfa, -8}};
    rule.is_signal_frame = address / 0x1000 == 3;
    if (address / 0x1000 == 1 || rule.is_signal_frame) {
      rule.cfa.offset = 32;
      rule.frame_kind = UnwindRule::FramePointer::kOnStack;
    }
    bool is_known = address >= 0x1000 && address < 0x4000;
    return is_known ? std::optional(rule) : std::nullopt;
  };
  struct Settled {
    std::vector<uint64_t> stack;
    uint32_t goroutine_start;
    uint32_t gap;
  };
  using Stack = std::vector<uint64_t>;
  using Passed = std::vector<PassedCaller>;
  auto settled = [&](const Stack& given, const Passed& passed, uint32_t goroutine = 0,
                     uint32_t gap = 0) {
    RecordedSample sample;
    sample.user_stack = given;
    sample.goroutine_start = goroutine;
    sample.gap = gap;
    SettledStack changed;
    settle_passed_callers(sample, passed, rule_of, changed);
    return Settled{{sample.user_stack.begin(), sample.user_stack.end()},
                   sample.goroutine_start,
                   sample.gap};
  };
  CHECK(settled({}, {{0, 0x1020}}).stack.empty());
  CHECK(settled({0x1010, 0x2010, 0x1020}, {}).stack == Stack{0x1010, 0x2010, 0x1020});
  CHECK(settled({0x1010, 0x2010, 0x1030}, {{2, 0x1020}}).stack ==
        Stack{0x1010, 0x2010, 0x1020, 0x1030});
  CHECK(settled({0x1010, 0x1020, 0x1040}, {{2, 0x1030}}).stack ==
        Stack{0x1010, 0x1020, 0x1040});
  // Behind all, and of no frame.
  CHECK(settled({0x1010, 0x2010}, {{2, 0x1020}}).stack == Stack{0x1010, 0x2010, 0x1020});
  CHECK(settled({0x1010, 0x2010}, {{3, 0x1020}}).stack == Stack{0x1010, 0x2010});
  CHECK(settled({0x1010, 0x2010}, {{0, 0x1020}}).stack == Stack{0x1010, 0x2010});
  // One above the other; where the first is nobody's the second is not either.
  CHECK(settled({0x1010, 0x2010}, {{2, 0x2020}, {2, 0x1030}}).stack ==
        Stack{0x1010, 0x2010, 0x2020, 0x1030});
  CHECK(settled({0x1010, 0x2010}, {{2, 0x1020}, {2, 0x1030}}).stack ==
        Stack{0x1010, 0x2010, 0x1020});
  CHECK(settled({0x1010, 0x1020}, {{2, 0x2020}, {2, 0x1030}}).stack == Stack{0x1010, 0x1020});
  // Interrupted at its first instruction; it is returned to, behind the last of another.
  CHECK(settled({0x3010, 0x2000}, {{2, 0x1020}}).stack == Stack{0x3010, 0x2000, 0x1020});
  CHECK(settled({0x1010, 0x2000}, {{2, 0x1020}}).stack == Stack{0x1010, 0x2000});
  CHECK(settled({0x1010, 0x9010}, {{2, 0x1020}}).stack == Stack{0x1010, 0x9010});
  // In any order: those that do not follow are left out.
  CHECK(settled({0x1010, 0x2010, 0x2020}, {{3, 0x1020}, {2, 0x1030}}).stack ==
        Stack{0x1010, 0x2010, 0x2020, 0x1020});

  // All that lies behind goes on as far behind.
  Settled moved = settled({0x1010, 0x2020, 0x2040, 0x1060}, {{2, 0x1030}, {3, 0x1050}}, 2, 3);
  CHECK(moved.stack == Stack{0x1010, 0x2020, 0x1030, 0x2040, 0x1050, 0x1060});
  CHECK(moved.goroutine_start == 3);
  CHECK(moved.gap == 5);

  // Each stack that it goes on on begins with the same frame as before.
  std::vector<uint64_t> given = {0x1010, 0x2020, 0x1030, 0x1040, 0x2050, 0x1060};
  std::vector<StackSwitch> switches = {{2, 8, 16}, {4}, {5, 24}};
  RecordedSample sample;
  sample.user_stack = given;
  sample.switches = switches;
  SettledStack changed;
  settle_passed_callers(sample, Passed{{2, 0x1021}, {5, 0x1051}}, rule_of, changed);
  CHECK(changed.frames ==
        Stack{0x1010, 0x2020, 0x1021, 0x1030, 0x1040, 0x2050, 0x1051, 0x1060});
  CHECK(
      std::ranges::equal(sample.switches, std::vector<StackSwitch>{{3, 8, 16}, {5}, {7, 24}}));
}

TEST_CASE("needed words: report finds the same callers in them as in all words") {
  std::mt19937_64 random(1);
  auto one_of = [&](uint64_t count) { return random() % count; };
  size_t dropped = 0;
  for (int turn = 0; turn < 3000; turn++) {
    std::set<uint64_t> places;
    for (uint64_t place = kFrameless; place <= kRoot; place++)
      if (one_of(4) != 0)
        places.insert(place);
    constexpr std::array kPlaces = {kFrameless, kFramed, kSized,  kLosing,
                                    kHandler,   kRoot,   kUnknown};
    auto any = [&] { return kPlaces[one_of(kPlaces.size())]; };
    Case given;
    given.stack = {leaf(any())};
    for (uint64_t depth = one_of(5); depth > 0; depth--)
      given.stack.push_back(one_of(8) ? caller(any()) : leaf(any()));
    for (uint64_t size = one_of(24); size > 0; size--) {
      std::array words = {caller(any()), caller(any()), leaf(any()),
                          kStackPointer + 8 * one_of(30), random()};
      given.top.push_back(words[one_of(words.size())]);
    }
    for (uint64_t at = given.top.size(), size = one_of(24); size > 0; size--)
      given.far_words.push_back({8 * (at += one_of(3) + 1), caller(any())});
    std::array offsets = {kNoFrame, 8 * given.top.size(), 8 * one_of(30)};
    given.frame_offset = offsets[one_of(offsets.size())];

    SomeRules rules(places);
    std::vector<StackWord> all = needed(given, kNoRules);
    std::vector<StackWord> some = needed(given, std::ref(rules));
    CAPTURE(turn);
    CHECK(some.size() <= all.size());
    dropped += all.size() - some.size();
    CHECK(unwound(given, some) == unwound(given, all));
  }
  CHECK(dropped > 1000);
}

}  // namespace gosym::stack_slots_test
