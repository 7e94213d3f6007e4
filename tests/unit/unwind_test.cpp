#include "base/workers.h"
#include "unwound_stack.h"

namespace gosym::unwind_test {

TEST_CASE("unwind: a leaf without a frame gets its caller") {
  Unwound found = unwound({.stack = {leaf(kFrameless), caller(kRoot)},
                           .frame_offset = 8,
                           .words = {{0, caller(kFramed)}}});
  CHECK(found.stack == "frameless framed< root<");
  CHECK(found.counts.repaired == 1);
  CHECK(found.counts.cut == 0);
}

TEST_CASE("unwind: a leaf that has left its frame gets its caller, whose frame it is again") {
  Unwound found = unwound({.stack = {leaf(kLeft), caller(kFramed), caller(kRoot)},
                           .frame_offset = 24,
                           .words = {{0, caller(kFramed)}}});
  CHECK(found.stack == "left framed< framed< root<");
  CHECK(found.counts.cut == 0);
}

TEST_CASE("unwind: a leaf with a frame has its caller already") {
  Unwound found = unwound({.stack = {leaf(kFramed), caller(kFramed), caller(kRoot)},
                           .frame_offset = 16,
                           .words = {{8, caller(kSized)}, {24, caller(kFramed)}}});
  CHECK(found.stack == "framed framed< root<");
  CHECK(found.counts.repaired == 0);
}

TEST_CASE("unwind: without the frame's place an equal caller is the same") {
  Unwound found = unwound({.stack = {leaf(kFrameless), caller(kFramed), caller(kRoot)},
                           .words = {{0, caller(kFramed)}}});
  CHECK(found.stack == "frameless framed< root<");
  CHECK(found.counts.repaired == 0);
}

TEST_CASE("unwind: code without frame pointers is walked by its words to the root") {
  Unwound found =
      unwound({.stack = {leaf(kSized)},
               .frame_offset = kNoFrame,
               .words = {{24, caller(kSized)}, {56, caller(kFrameless)}, {64, caller(kRoot)}}});
  CHECK(found.stack == "sized sized< frameless< root<");
  CHECK(found.counts.repaired == 1);
  CHECK(found.counts.cut == 0);
}

TEST_CASE("unwind: a function that returns to nothing is a root") {
  std::vector<StackWord> words = {{24, caller(kSized)}, {56, 0}};
  Unwound found = unwound({.stack = {leaf(kSized)}, .frame_offset = kNoFrame, .words = words});
  CHECK(found.stack == "sized sized<");
  CHECK(found.counts.cut == 0);
  words.back().offset = 64;
  found = unwound({.stack = {leaf(kSized)}, .frame_offset = kNoFrame, .words = words});
  CHECK(found.counts.cut == 1);
}

TEST_CASE("unwind: a frame pointer that was saved leads on") {
  // The register is used otherwise in the leaf; what it saved is the frame of a caller.
  Unwound found =
      unwound({.stack = {leaf(kSized)},
               .words = {{16, 48}, {24, caller(kFramed)}, {48, 0}, {56, caller(kRoot)}}});
  CHECK(found.stack == "sized framed< root<");
  CHECK(found.counts.cut == 0);
}

TEST_CASE("unwind: a chain that has nothing to do with the stack is left") {
  Unwound found = unwound({.stack = {leaf(kSized), caller(kFramed), caller(kFramed)},
                           .frame_offset = 4096,
                           .words = {{24, caller(kSized)}},
                           .end = StackEnd::kRoot});
  CHECK(found.stack == "sized sized<");
  CHECK(found.counts.cut == 1);
}

TEST_CASE("unwind: frames may be larger than what is recorded of a stack") {
  constexpr uint64_t kFar = 48 * 1024;
  Unwound found =
      unwound({.stack = {leaf(kFramed), caller(kFramed), caller(kRoot)}, .frame_offset = kFar});
  CHECK(found.stack == "framed framed< root<");
  CHECK(found.counts.cut == 0);
  Unwound called = unwound({.stack = {leaf(kFrameless), caller(kRoot)},
                            .frame_offset = kFar,
                            .words = {{0, caller(kFramed)}}});
  CHECK(called.stack == "frameless framed< root<");
  CHECK(called.counts.cut == 0);
}

TEST_CASE("unwind: a function with a frame whose caller the chain has not is not on it") {
  // The register holds data, and what that leads to looks like callers.
  Unwound found =
      unwound({.stack = {leaf(kSized), caller(kLosing), caller(kLosing), caller(kRoot)},
               .words = {{16, 48}, {24, caller(kFramed)}, {48, 80}, {56, caller(kSized)}}});
  CHECK(found.stack == "sized framed< sized<");
  CHECK(found.counts.cut == 1);
}

TEST_CASE("unwind: a lost frame pointer may still be on the chain") {
  Unwound found = unwound({.stack = {leaf(kLosing), caller(kRoot)},
                           .frame_offset = 16,
                           .words = {{8, caller(kFramed)}}});
  CHECK(found.stack == "losing framed< root<");
  CHECK(found.counts.repaired == 1);
}

TEST_CASE("unwind: a caller that the recorder has put into the chain is met once") {
  Sampled put_in{
      .stack = {leaf(kFramed), caller(kFrameless), caller(kFramed), caller(kRoot)},
      .frame_offset = 0,
      .words = {{0, 32}, {8, caller(kFrameless)}, {16, caller(kFramed)}, {40, caller(kRoot)}}};
  CHECK(unwound(put_in).stack == "framed frameless< framed< root<");
  put_in.words.clear();
  CHECK(unwound(put_in).stack == "framed frameless< framed< root<");
  // In a recursion an equal one is none.
  Sampled recursion{.stack = {leaf(kFramed), caller(kFrameless), caller(kFrameless)},
                    .frame_offset = 0,
                    .words = {{0, 32},
                              {8, caller(kFrameless)},
                              {16, caller(kFrameless)},
                              {24, caller(kFramed)},
                              {40, caller(kFrameless)},
                              {48, caller(kRoot)}}};
  CHECK(unwound(recursion).stack == "framed frameless< frameless< framed< frameless< root<");
}

TEST_CASE("unwind: what follows no call is no caller") {
  Unwound word = unwound({.stack = {leaf(kFrameless), caller(kRoot)},
                          .frame_offset = 8,
                          .words = {{0, leaf(kFramed)}}});
  CHECK(word.stack == "frameless");  // the chain leaves its caller out
  CHECK(word.counts.repaired == 0);
  CHECK(word.counts.cut == 1);

  Unwound chain =
      unwound({.stack = {leaf(kUnknown), caller(kUnknown), leaf(kFramed), caller(kRoot)}});
  CHECK(chain.stack == "unknown unknown<");
  CHECK(chain.counts.unknown == 1);
  CHECK(chain.counts.cut == 0);
}

TEST_CASE("unwind: the root need not follow a call, and nothing comes after it") {
  Unwound found = unwound(
      {.stack = {leaf(kUnknown), leaf(kRoot), caller(kFramed)}, .end = StackEnd::kUnreadable});
  CHECK(found.stack == "unknown root<");
  CHECK(found.counts.cut == 0);
  Unwound word = unwound({.stack = {leaf(kFrameless), caller(kFramed)},
                          .frame_offset = 0,
                          .words = {{0, leaf(kRoot)}},
                          .end = StackEnd::kUnreadable});
  CHECK(word.stack == "frameless root<");
  CHECK(word.counts.cut == 0);
}

TEST_CASE("unwind: what a signal handler returns to was interrupted") {
  Unwound word = unwound({.stack = {leaf(kHandler), caller(kRoot)},
                          .frame_offset = 8,
                          .words = {{0, leaf(kFramed)}}});
  CHECK(word.stack == "handler framed root<");
  Unwound chain =
      unwound({.stack = {leaf(kUnknown), caller(kHandler), leaf(kFramed), caller(kRoot)}});
  CHECK(chain.stack == "unknown handler< framed root<");
  CHECK(chain.counts.cut == 0);
}

TEST_CASE("unwind: a stack without user code is whole, unless that was lost") {
  CHECK(unwound({.stack = {}}).counts.cut == 0);
  CHECK(unwound({.stack = {}, .end = StackEnd::kUnreadable}).counts.cut == 1);
}

TEST_CASE("unwind: a chain that ends where no root is was cut short") {
  CHECK(unwound({.stack = {leaf(kUnknown), caller(kFramed)}}).counts.cut == 1);
  CHECK(unwound({.stack = {leaf(kUnknown), caller(kRoot)}}).counts.cut == 0);
}

TEST_CASE("unwind: whether code without a rule is a root nobody knows") {
  for (StackEnd end : {StackEnd::kRoot, StackEnd::kBadFrame, StackEnd::kUnreadable}) {
    Unwound found = unwound({.stack = {leaf(kUnknown), caller(kUnknown)}, .end = end});
    CHECK(found.counts.cut == 0);
    CHECK(found.counts.unknown == 1);
  }
  // The frames that were left out had callers.
  Unwound deep =
      unwound({.stack = {leaf(kUnknown), caller(kUnknown)}, .end = StackEnd::kLimit});
  CHECK(deep.counts.cut == 1);
  CHECK(deep.counts.unknown == 0);
  CHECK(unwound({.stack = {leaf(kUnknown), caller(kRoot)}}).counts.unknown == 0);
}

TEST_CASE("unwind: words that lead down or round end the walk") {
  std::vector<StackWord> words;
  for (uint64_t offset = 0; offset < kMaxTopSize; offset += 8)
    words.push_back({offset, caller(kFrameless)});
  Unwound found = unwound({.stack = {leaf(kFrameless)}, .words = words});
  CHECK(std::ranges::count(found.stack, ' ') == words.size());
  CHECK(found.counts.cut == 1);
}

TEST_CASE("unwind: the last word of a stack that is taken is its root") {
  std::vector<StackWord> words;
  for (uint64_t offset = 0; offset < kMaxWordOffset - 8; offset += 8)
    words.push_back({offset, caller(kFrameless)});
  words.push_back({kMaxWordOffset - 8, caller(kRoot)});
  Unwound found = unwound({.stack = {leaf(kFrameless)}, .words = words});
  CHECK(found.stack.ends_with(" frameless< root<"));
  CHECK(found.counts.cut == 0);
}

namespace {

StackWord rax(uint64_t value) {
  return {offset_of_register(0), value};
}
StackWord rbx(uint64_t value) {
  return {offset_of_register(3), value};
}

}  // namespace

TEST_CASE("unwind: frames by any register, and by what is loaded") {
  CHECK(unwound({.stack = {leaf(kByRax)}, .words = {{24, caller(kRoot)}, rax(24)}}).stack ==
        "by-rax root<");
  CHECK(unwound({.stack = {leaf(kByRax)}, .words = {{24, caller(kRoot)}}}).stack == "by-rax");
  CHECK(unwound({.stack = {leaf(kByRax)}, .words = {{24, caller(kRoot)}}}).counts.cut == 1);
  CHECK(unwound({.stack = {leaf(kByLoad)}, .words = {{16, 40}, {40, caller(kRoot)}}}).stack ==
        "by-load root<");
}

TEST_CASE("unwind: frames by a word below the stack pointer") {
  auto by_red_zone = [](StackWord word) {
    return unwound({.stack = {leaf(kByRedZone)}, .words = {{32, caller(kRoot)}, word}});
  };
  const uint64_t kNearest = offset_of_register(62);
  CHECK(register_of_red_zone(8) == 62);
  CHECK(register_of_red_zone(kRedZoneSize) == 47);
  CHECK(by_red_zone({kNearest, 32}).stack == "by-red-zone root<");
  CHECK(by_red_zone({kNearest, 32}).counts.cut == 0);
  // Another word there, a place without a word, what leads down, a number, and code.
  CHECK(by_red_zone({kNearest - 8, 32}).stack == "by-red-zone");
  CHECK(by_red_zone({kNearest - 8, 32}).counts.cut == 1);
  for (uint64_t value :
       {uint64_t{40}, uint64_t{kMaxTopSize}, StackWord::kNumber + 32, caller(kRoot)})
    CHECK(by_red_zone({kNearest, value}).stack == "by-red-zone");
  // For a caller it is the word below its own stack pointer.
  CHECK(unwound({.stack = {leaf(kFrameless)},
                 .words = {{0, caller(kByRedZone)}, {32, caller(kRoot)}, {kNearest, 32}}})
            .stack == "frameless by-red-zone<");
}

TEST_CASE("unwind: registers are as the functions below left them") {
  // Through one that does not mention it, and one that saved it.
  CHECK(unwound({.stack = {leaf(kFrameless)},
                 .words = {{0, caller(kByRax)}, {24, caller(kRoot)}, rax(24)}})
            .stack == "frameless by-rax< root<");
  CHECK(unwound({.stack = {leaf(kSavesRbx)},
                 .words = {{8, 40}, {16, caller(kByRbx)}, {48, caller(kRoot)}, rbx(8)}})
            .stack == "saves-rbx by-rbx< root<");
  CHECK(unwound({.stack = {leaf(kSavesRbx)},
                 .words = {{16, caller(kByRbx)}, {48, caller(kRoot)}, rbx(40)}})
            .stack == "saves-rbx by-rbx<");
}

TEST_CASE("unwind: rules that each ask twice end") {
  // Twice as often with each function: so many would never end.
  constexpr uint64_t kDeep = 60;
  std::vector<StackWord> words;
  std::string expected = "doubles";
  for (uint64_t i = 0; i + 1 < kDeep; i++) {
    words.push_back({8 * i, caller(kDoubles)});
    expected += " doubles<";
  }
  words.push_back({8 * (kDeep - 1), caller(kByRbx)});
  words.push_back(rbx(8));  // registers lie behind the stack
  CHECK(unwound({.stack = {leaf(kDoubles)}, .words = words}).stack == expected + " by-rbx<");
}

TEST_CASE("unwind: a leaf may have taken its return address from the stack") {
  CHECK(unwound(
            {.stack = {leaf(kPopped)}, .words = {{0, caller(kRoot)}, rbx(caller(kFrameless))}})
            .stack == "popped frameless< root<");
  CHECK(unwound({.stack = {leaf(kPopped)}, .words = {{0, caller(kRoot)}}}).stack == "popped");
  CHECK(unwound({.stack = {leaf(kPopped)}, .words = {rbx(24)}}).stack == "popped");
  // A caller has not: it would be called from where it is itself, again and again.
  CHECK(unwound({.stack = {leaf(kFrameless)},
                 .words = {{0, caller(kPopped)}, rbx(caller(kPopped))}})
            .stack == "frameless popped<");
}

TEST_CASE("unwind: a number, or what leads down, is no frame") {
  for (uint64_t value : {StackWord::kNumber + 24, uint64_t{0}}) {
    CAPTURE(value);
    CHECK(unwound({.stack = {leaf(kByRax)},
                   .frame_offset = 16,
                   .words = {{0, caller(kRoot)}, {24, caller(kRoot)}, rax(value)}})
              .stack == (value == 0 ? "by-rax root<" : "by-rax"));
  }
  CHECK(unwound({.stack = {leaf(kSized)},
                 .words = {{24, caller(kByRax)}, {32, caller(kRoot)}, rax(8)}})
            .stack == "sized by-rax<");
}

TEST_CASE("unwind: a stack that the kernel alone has stays as it is") {
  std::vector<Event> events;
  Replay replay({}, {}, std::move(events));
  uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020};
  RecordedSample sample;
  sample.kernel_stack = kernel;
  replay.add(sample);
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  unwind(profile, dumps, "", {});
  CHECK(profile.stack(profile.samples[0].stack).size() == 2);
  CHECK(profile.unwound.cut == 0);
}

TEST_CASE("unwind: stacks walked part by part are those walked at once") {
  std::vector<Event> events;
  events.emplace_back(MapEvent{0, 1, kLoaded, 0x4000, 0, ImageId{}, "[vdso]"});
  std::vector<uint64_t> stacks[] = {{leaf(kFrameless)}, {leaf(kSized)}, {leaf(kFrameless)}};
  std::vector<StackWord> words[] = {
      {{0, caller(kByRbx)}, {8, caller(kRoot)}}, {{24, caller(kRoot)}}, {{0, caller(kRoot)}}};
  constexpr size_t kOrder[] = {0, 1, 2, 0, 1, 2};
  const DebugFileOptions files;
  ImageCache images;
  auto walked = [&](bool is_in_parts) {
    Replay replay({}, {}, events);
    Unwinder unwinder(unwind_vdso(), files, images);
    size_t parts = 0;
    for (size_t i : kOrder) {
      RecordedSample sample;
      sample.pid = sample.tid = 1;
      sample.time = 1;
      sample.user_stack = stacks[i];
      sample.words = words[i];
      replay.add(sample);
      uint64_t least = is_in_parts ? 1 : UINT64_MAX;
      REQUIRE(replay.find_callers(least, [&](Profile& profile, const StackDumps& dumps) {
        parts++;
        return unwinder.walk(profile, dumps, UINT64_MAX);
      }));
    }
    Replayed replayed = std::move(replay).finish();
    CHECK(parts == (is_in_parts ? 3 : 0));  // a stack that is known has no words again
    Profile profile = std::move(replayed.profile);
    REQUIRE(unwinder.walk(profile, replayed.dumps, UINT64_MAX));
    std::move(unwinder).finish(profile);
    return profile;
  };
  Profile whole = walked(false);
  Profile parts = walked(true);
  REQUIRE(whole.stack_count() == 3);
  CHECK(whole.samples.size() == 3);
  CHECK(parts.stack_begin.rows() == whole.stack_begin.rows());
  CHECK(parts.stack_locations.rows() == whole.stack_locations.rows());
  REQUIRE(parts.locations.size() == whole.locations.size());
  for (size_t i = 0; i < parts.locations.size(); i++)
    CHECK(parts.locations[i].address == whole.locations[i].address);
  CHECK(parts.unwound.repaired == whole.unwound.repaired);
  CHECK(parts.unwound.repaired == 6);
  CHECK(parts.unwound.cut == whole.unwound.cut);

  Replay replay({}, {}, events);
  RecordedSample sample;
  sample.pid = sample.tid = 1;
  sample.time = 1;
  sample.user_stack = stacks[0];
  sample.words = words[0];
  replay.add(sample);
  Unwinder unwinder(unwind_vdso(), files, images);
  CHECK(!replay.find_callers(1, [&](Profile& profile, const StackDumps& dumps) {
    return unwinder.walk(profile, dumps, 1);
  }));
}

TEST_CASE("unwind: stacks are the same on however many threads they are walked") {
  std::vector<Event> events;
  events.emplace_back(MapEvent{0, 1, kLoaded, 0x4000, 0, ImageId{}, "[vdso]"});
  // Any of the functions, with any words, in an order that brings new ones again and again.
  auto walk = [&] {
    Replay replay({}, {}, events);
    uint32_t state = 1;
    auto next = [&](uint32_t below) {
      state = state * 1103515245 + 12345;
      return (state >> 8) % below;
    };
    for (uint32_t i = 0; i < 3000; i++) {
      uint32_t known = 1 + std::min<uint32_t>(kUnknown, i / 100);
      std::vector<uint64_t> stack = {leaf(static_cast<Place>(next(known))) + next(8)};
      std::vector<StackWord> words;
      for (uint64_t offset = 0; offset < 160; offset += 8)
        if (next(3) != 0)
          words.push_back({offset, next(3) == 0 ? offset + 8 * (1 + next(4))
                                                : caller(static_cast<Place>(next(known)))});
      if (next(2) == 0)
        stack.push_back(caller(static_cast<Place>(next(known))));
      replay.add({.time = 1,
                  .pid = 1,
                  .tid = 1,
                  .user_end = StackEnd::kRoot,
                  .kernel_stack = {},
                  .user_stack = stack,
                  .frame_offset = next(2) == 0 ? kNoFrame : 8 * next(16),
                  .words = words});
    }
    Replayed replayed = std::move(replay).finish();
    CHECK(unwind(replayed.profile, replayed.dumps, unwind_vdso(), {}));
    return std::move(replayed.profile);
  };
  Profile alone = walk();
  CHECK(alone.stack_count() > 100);
  CHECK(alone.unwound.repaired > 100);
  for (size_t workers : {2, 5}) {
    worker_limit = workers;
    Profile shared = walk();
    CHECK(shared.stack_begin == alone.stack_begin);
    CHECK(shared.stack_locations == alone.stack_locations);
    CHECK(std::ranges::equal(shared.locations, alone.locations, {}, &Location::address,
                             &Location::address));
    CHECK(shared.unwound.repaired == alone.unwound.repaired);
    CHECK(shared.unwound.cut == alone.unwound.cut);
    CHECK(shared.unwound.unknown == alone.unwound.unknown);
  }
  worker_limit = 1;
}

TEST_CASE("unwind: a stack goes on behind what is left out of it") {
  std::vector<uint64_t> deep = {leaf(kFramed), caller(kFramed), caller(kSized), caller(kRoot)};
  Unwound found = unwound({.stack = deep, .frame_offset = 16, .gap = 2});
  CHECK(found.stack == "framed framed< ... sized< root<");
  CHECK(found.counts.cut == 0);
  CHECK(found.counts.deep == 1);

  Unwound joined = unwound(
      {.stack = {leaf(kFramed), caller(kRoot), caller(kSized), caller(kFramed), caller(kRoot)},
       .frame_offset = 16,
       .gap = 3,
       .goroutine_start = 2});
  CHECK(joined.stack == "framed root< sized< ... framed< root<");
  CHECK(joined.counts.cut == 0);
  Unwound at_join = unwound({.stack = {leaf(kFramed), caller(kRoot), caller(kRoot)},
                             .frame_offset = 16,
                             .gap = 2,
                             .goroutine_start = 2});
  CHECK(at_join.stack == "framed root< ... root<");
}

TEST_CASE(
    "unwind: words do not lead into what is left out, and a chain left has no other end") {
  Unwound found = unwound({.stack = {leaf(kFrameless), caller(kFramed), caller(kRoot)},
                           .frame_offset = 8,
                           .words = {{0, caller(kSized)}, {16, caller(kFrameless)}},
                           .gap = 2});
  CHECK(found.stack == "frameless sized<");
  CHECK(found.counts.cut == 1);
  Unwound beyond = unwound({.stack = {leaf(kFramed), caller(kSized), caller(kRoot)},
                            .frame_offset = 0,
                            .words = {{40, caller(kFrameless)}, {48, caller(kRoot)}},
                            .gap = 2});
  CHECK(beyond.stack == "framed sized< ... root<");
}

TEST_CASE("unwind: the words of a goroutine's stack lie behind those of the thread's") {
  Sampled sampled = {.stack = {leaf(kSized), caller(kSized)},
                     .words = {{24, caller(kRoot)},
                               {32, leaf(kFramed)},
                               {40, caller(kSized)},
                               {72, caller(kFrameless)},
                               {80, caller(kRoot)}},
                     .goroutine_start = 1};
  Unwound found = unwound(sampled);
  CHECK(found.stack == "sized root< sized< frameless< root<");
  CHECK(found.counts.cut == 0);

  // Without the place of what is returned to there is no more than the chain.
  sampled.words[2].value = caller(kFramed);
  found = unwound(sampled);
  CHECK(found.stack == "sized root< sized<");
  CHECK(found.counts.cut == 1);
}

TEST_CASE("unwind: from a goroutine's stack to that of the C code that called Go code") {
  Sampled sampled = {.stack = {leaf(kUnknown), caller(kFrameless)},
                     .frame_offset = 32,
                     .words = {{32, 96},  // the frame pointer leads here
                               {40, caller(kFrameless)},
                               {48, caller(kFramed)},
                               {104, caller(kRoot)}},
                     .goroutine_start = 1};
  Unwound found = unwound(sampled);
  CHECK(found.stack == "unknown frameless< framed< root<");
  CHECK(found.counts.cut == 0);

  // Nothing is known there with another frame pointer.
  sampled.frame_offset = 24;
  CHECK(unwound(sampled).stack == "unknown frameless< framed<");
}

TEST_CASE("unwind: a function that has aligned its stack is met once on the chain") {
  // It has copied its return address to above the frame pointer that it saved.
  Sampled sampled = {
      .stack = {leaf(kFrameless), caller(kFramed), caller(kFramed), caller(kRoot)},
      .frame_offset = 24,
      .words = {{0, caller(kAligned)},
                {16, 64},
                {24, 80},
                {32, caller(kFramed)},
                {56, caller(kFramed)},
                {80, 112},
                {88, caller(kFramed)},
                {112, 0},
                {120, caller(kRoot)}}};
  CHECK(unwound(sampled).stack == "frameless aligned< framed< framed< root<");
}

TEST_CASE("unwind: code without a rule has no frame on the goroutine's stack") {
  // The frame pointer, which the code has not saved, is that of the goroutine's second
  // function.
  Sampled sampled = {.stack = {leaf(kUnknown), caller(kFrameless)},
                     .frame_offset = 112,
                     .words = {{96, caller(kFrameless)},
                               {104, caller(kSized)},
                               {112, 144},
                               {120, caller(kFramed)},
                               {136, caller(kRoot)}},
                     .goroutine_start = 1};
  Unwound found = unwound(sampled);
  CHECK(found.stack == "unknown frameless< sized< root<");
  CHECK(found.counts.cut == 0);
}

TEST_CASE("unwind: from a goroutine's stack back to that of the thread") {
  Sampled sampled = {.stack = {leaf(kUnknown), caller(kSized), caller(kUnknown),
                               caller(kFrameless), caller(kSized)},
                     .words = {{24, 96},
                               {32, caller(kFrameless)},
                               {40, caller(kFramed)},
                               {104, caller(kRoot)}},
                     .goroutine_start = 1};
  Unwound found = unwound(sampled);
  CHECK(found.stack == "unknown sized< unknown< frameless< framed< root<");
  CHECK(found.counts.cut == 0);

  // Only what left the goroutine's stack may have been called from the other.
  sampled.stack[2] = caller(kSized);
  CHECK(unwound(sampled).stack == "unknown sized< sized< frameless< sized<");
  sampled.stack[2] = caller(kUnknown);
  sampled.words = {{136, caller(kFrameless)}, {144, caller(kRoot)}};
  CHECK(unwound(sampled).stack == "unknown sized< unknown< frameless< sized<");
}

TEST_CASE("unwind: over several stacks, each with its own words") {
  // The second has words from 40 on, the third none, the fourth from 56 on.
  Sampled sampled = {.stack = {leaf(kSized), caller(kSized), caller(kFramed), caller(kRoot),
                               caller(kFrameless)},
                     .words = {{24, caller(kRoot)},
                               {32, caller(kFramed)},
                               {40, caller(kSized)},
                               {56, caller(kFrameless)},
                               {64, caller(kRoot)},
                               {72, caller(kRoot)}},
                     .goroutine_start = 1,
                     .switches = {{1, 40}, {2}, {4, 56}}};
  Unwound found = unwound(sampled);
  CHECK(found.stack == "sized root< sized< framed< root< frameless< root<");
  // Nothing is known to have left the second one.
  CHECK(found.counts.cut == 1);
  CHECK(found.counts.bridged == 1);

  // A stack that ends in the middle has none of the words of the next one.
  sampled.words[0].value = caller(kSized);
  CHECK(unwound(sampled).stack == "sized sized< sized< framed< root< frameless< root<");

  // A frame pointer tells where the chain goes on, and words what it leaves out.
  sampled = {.stack = {leaf(kRoot), caller(kFrameless), caller(kRoot)},
             .words = {{8, caller(kFrameless)}, {16, caller(kFramed)}, {32, 64}, {40, 48}},
             .goroutine_start = 1,
             .switches = {{1, 8, 32}}};
  found = unwound(sampled);
  CHECK(found.stack == "root frameless< framed< root<");
  CHECK(found.counts.cut == 0);
}

TEST_CASE("unwind: the registers of a stack are not those of the next one") {
  Sampled sampled = {
      .stack = {leaf(kFrameless), caller(kByRax)},
      .words = {{0, caller(kRoot)}, {8, caller(kByRax)}, {24, caller(kRoot)}, rax(24)},
      .goroutine_start = 1,
      .switches = {{1, 8}}};
  CHECK(unwound(sampled).stack == "frameless root< by-rax<");
  // One that was saved there is known.
  sampled.stack[1] = caller(kSavesRbx);
  sampled.words = {{0, caller(kRoot)},   {8, caller(kSavesRbx)}, {24, 56},
                   {32, caller(kByRbx)}, {64, caller(kRoot)},    rbx(24)};
  CHECK(unwound(sampled).stack == "frameless root< saves-rbx< by-rbx< root<");
}

TEST_CASE("unwind: a gap in a goroutine's stack is not one in the thread's own") {
  Sampled sampled = {.stack = {leaf(kSized), caller(kSized), caller(kFramed), caller(kRoot)},
                     .words = {{24, caller(kFrameless)}, {32, caller(kRoot)}},
                     .goroutine_start = 1};
  CHECK(unwound(sampled).stack == "sized frameless< root< sized< framed< root<");
  sampled.gap = 2;
  CHECK(unwound(sampled).stack == "sized frameless< root< sized< ... framed< root<");
  sampled.gap = 3;
  CHECK(unwound(sampled).stack == "sized frameless< root< sized< framed< ... root<");

  sampled.words.clear();
  for (uint32_t gap : {0, 2, 3}) {
    sampled.gap = gap;
    CHECK(unwound(sampled).counts.cut == 1);  // between the two stacks
  }
}

TEST_CASE("unwind: places may be told from below the stack pointer") {
  Sampled below = {.stack = {leaf(kFrameless)}, .words = {{16, caller(kRoot)}}};
  CHECK(unwound(below).stack == "frameless");
  below.words.push_back({offset_of_register(kStackPointerRegister), 16});
  CHECK(unwound(below).stack == "frameless root<");
  below.words.back().value += StackWord::kNumber;  // that is no place
  CHECK(unwound(below).stack == "frameless");
}

}  // namespace gosym::unwind_test
