#include "profile/replay.h"
#include "profile/location_table.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "profile/process_history.h"
#include "unwind/unwind.h"

namespace gosym::replay_test {

namespace {

constexpr uint64_t kSize = 0x1000;

MapEvent map(uint64_t time, uint32_t pid, uint64_t start, std::string path,
             uint64_t length = kSize) {
  return {time, pid, start, length, 0, ImageId{}, std::move(path)};
}
CommEvent comm(uint64_t time, uint32_t pid, uint32_t tid, std::string name) {
  return {time, pid, tid, std::move(name), false};
}
CommEvent exec(uint64_t time, uint32_t pid, std::string name) {
  return {time, pid, pid, std::move(name), true};
}
ForkEvent fork(uint64_t time, uint32_t parent_pid, uint32_t pid) {
  return {time, pid, pid, parent_pid, parent_pid};
}

// One by one: g++ 12 warns falsely of a braced list of variants.
template <class... Events>
std::vector<Event> events(Events... values) {
  std::vector<Event> result;
  (result.emplace_back(std::move(values)), ...);
  return result;
}

// The path that is mapped at an address, or "-".
std::string path_at(const ProcessHistory& history, uint32_t pid, uint64_t time,
                    uint64_t address) {
  const MapEvent* event = history.find(history.address_space(pid, time), address);
  return event ? event->path : "-";
}

RecordedSample sample_of(uint64_t time, uint32_t pid, std::span<const uint64_t> user,
                         std::span<const uint64_t> kernel = {}) {
  RecordedSample sample;
  sample.time = time;
  sample.pid = pid;
  sample.tid = pid;
  sample.user_stack = user;
  sample.kernel_stack = kernel;
  return sample;
}

// "IMAGE ADDRESS" of each frame of a stack, with "<" where the address follows a call.
std::vector<std::string> frames_of(const Profile& profile, StackId id) {
  std::vector<std::string> frames;
  for (LocationId location_id : profile.stack(id)) {
    const Location& location = profile.locations[to_index(location_id)];
    frames.push_back(fmt::format("{} {:#x}{}", profile.image_of(location.mapping).file.path,
                                 to_integer(location.address), location.is_return ? "<" : ""));
  }
  return frames;
}

using Frames = std::vector<std::string>;

}  // namespace

TEST_CASE("range history: the latest of the first n shows") {
  RangeHistory::Range ranges[] = {{10, 50}, {20, 30}, {0, 25}, {40, 40}, {25, 26}};
  RangeHistory history(ranges);
  CHECK_FALSE(history.find(20, 0));
  CHECK(history.find(20, 1) == 0);
  CHECK(history.find(20, 2) == 1);
  CHECK(history.find(20, 3) == 2);
  CHECK(history.find(25, 3) == 1);
  CHECK(history.find(25, 5) == 4);
  CHECK(history.find(40, 5) == 0);
  CHECK(history.find(49, 5) == 0);
  CHECK_FALSE(history.find(50, 5));
  CHECK_FALSE(history.find(UINT64_MAX, 5));
  CHECK_FALSE(RangeHistory().find(0, 1));
}

TEST_CASE("range history: it agrees with looking at each range") {
  uint64_t state = 1;
  auto next = [&state] { return (state = state * 6364136223846793005 + 1) >> 33; };
  std::vector<RangeHistory::Range> ranges;
  for (int i = 0; i < 200; i++) {
    uint64_t start = next() % 100;
    ranges.push_back({start, start + next() % 40});
  }
  RangeHistory history(ranges);
  for (uint64_t address = 0; address < 150; address++) {
    for (uint32_t count = 0; count <= ranges.size(); count += 7) {
      std::optional<uint32_t> expected;
      for (uint32_t i = 0; i < count; i++)
        if (address >= ranges[i].start && address < ranges[i].limit)
          expected = i;
      REQUIRE(history.find(address, count) == expected);
    }
  }
}

TEST_CASE("history: mappings count from their time on, later ones hide earlier ones") {
  ProcessHistory history(events(map(20, 1, 0x1800, "later"), map(10, 1, 0x1000, "first")));
  CHECK(path_at(history, 1, 9, 0x1000) == "-");
  CHECK(path_at(history, 1, 10, 0x1000) == "first");
  CHECK(path_at(history, 1, 19, 0x1900) == "first");
  CHECK(path_at(history, 1, 20, 0x1900) == "later");
  CHECK(path_at(history, 1, 20, 0x17ff) == "first");
  CHECK(path_at(history, 1, 20, 0x2800) == "-");
  CHECK(path_at(history, 2, 20, 0x1900) == "-");
}

TEST_CASE("history: an exec leaves no mapping, and the next ones may bear its time") {
  ProcessHistory history(
      {map(0, 1, 0x1000, "old"), exec(10, 1, "new"), map(10, 1, 0x5000, "new")});
  CHECK(path_at(history, 1, 9, 0x1000) == "old");
  CHECK(path_at(history, 1, 10, 0x1000) == "-");
  CHECK(path_at(history, 1, 10, 0x5000) == "new");
  CHECK(history.comm(1, 1, 10) == "new");
}

TEST_CASE("history: a fork has its parent's mappings as they were") {
  ProcessHistory history(events(map(0, 1, 0x1000, "before"), fork(10, 1, 2),
                                map(11, 1, 0x1000, "after"), map(12, 2, 0x3000, "own"),
                                fork(13, 2, 3)));
  CHECK(path_at(history, 2, 9, 0x1000) == "-");
  CHECK(path_at(history, 2, 20, 0x1000) == "before");
  CHECK(path_at(history, 2, 20, 0x3000) == "own");
  CHECK(path_at(history, 3, 20, 0x1000) == "before");
  CHECK(path_at(history, 3, 20, 0x3000) == "own");
  CHECK(path_at(history, 1, 20, 0x3000) == "-");
}

TEST_CASE("history: a fork is not disturbed by its parent's exec") {
  ProcessHistory history(
      events(map(0, 1, 0x1000, "shell"), fork(10, 1, 2), exec(11, 1, "other")));
  CHECK(path_at(history, 2, 12, 0x1000) == "shell");
}

TEST_CASE("history: a process id that is used again begins anew") {
  ProcessHistory history(events(map(0, 2, 0x1000, "first"), comm(0, 2, 2, "first"),
                                ExitEvent{5, 2, 2}, map(0, 1, 0x9000, "parent"),
                                comm(0, 1, 1, "parent"), fork(10, 1, 2)));
  CHECK(path_at(history, 2, 9, 0x1000) == "first");
  CHECK(path_at(history, 2, 10, 0x1000) == "-");
  CHECK(path_at(history, 2, 10, 0x9000) == "parent");
  CHECK(history.comm(2, 2, 9) == "first");
  CHECK(history.comm(2, 2, 10) == "parent");
}

TEST_CASE("history: a thread has its own name, else its creator's, else its process's") {
  ProcessHistory history(events(comm(0, 1, 1, "main"), ForkEvent{5, 1, 11, 1, 1},
                                comm(8, 1, 11, "worker"), ForkEvent{9, 1, 12, 1, 11}));
  CHECK(history.comm(1, 11, 4) == "main");
  CHECK(history.comm(1, 11, 7) == "main");
  CHECK(history.comm(1, 11, 8) == "worker");
  CHECK(history.comm(1, 12, 9) == "worker");
  CHECK(history.comm(1, 13, 9) == "main");
  CHECK(history.comm(7, 7, 9).empty());
  CHECK(history.process_name(1, 9) == "main");
  CHECK(history.process_name(7, 9).empty());
}

TEST_CASE("history: forks that loop or never end cost no more than their number") {
  std::vector<Event> forks = events(map(0, 1, 0x1000, "root"));
  for (uint32_t i = 1; i < 100'000; i++) {
    forks.push_back(fork(i, i, i + 1));
    forks.push_back(map(i, i + 1, 0x9000 + i * kSize, "own"));
  }
  forks.push_back(fork(200'000, 100'000, 1));
  forks.push_back(fork(200'001, 5, 5));
  ProcessHistory history(std::move(forks));
  CHECK(path_at(history, 3, 100'000, 0x1000) == "root");
  CHECK(path_at(history, 100'000, 100'000, 0x1000) == "-");  // too far up
  CHECK(path_at(history, 1, 300'000, 0x9000 + 99'999 * kSize) == "own");
}

TEST_CASE("history: ranges past the end of memory stop there") {
  ProcessHistory history(events(map(0, 1, 0xfffffffffffff000, "top", UINT64_MAX),
                                map(0, 1, 0x1000, "empty", 0),
                                map(0, 0, 0, "all", UINT64_MAX)));
  CHECK(path_at(history, 1, 0, UINT64_MAX - 1) == "top");
  CHECK(path_at(history, 1, 0, 0) == "-");
  CHECK(path_at(history, 1, 0, 0x1000) == "-");
  CHECK(path_at(history, 0, 0, 0) == "all");
}

TEST_CASE("image address: by the code segment that holds the byte of the file") {
  RecordedImage image;
  image.segments = {{0x0, 0x900, 0x400000, 0x900, PF_R},
                    {0x800, 0x1000, 0x401800, 0x1000, PF_R | PF_X},
                    {0x1800, 0x100, 0x700000, 0x9000, PF_R | PF_W}};
  Mapping mapping = {2, 0x555500000000, 0x555500002000, 0x0};
  auto at = [&](uint64_t offset) {
    return code_at(image.segments,
                   mapping.file_offset_of(RuntimeAddress{mapping.start + offset}));
  };
  CHECK_FALSE(at(0x7ff));
  CHECK(at(0x800) == ImageAddress{0x401800});  // the data segment before it has this byte, too
  CHECK(at(0x17ff) == ImageAddress{0x4027ff});
  CHECK_FALSE(at(0x1800));
  mapping.file_offset = 0x1000;
  CHECK(at(0x10) == ImageAddress{0x402010});
  mapping.file_offset = UINT64_MAX;
  CHECK(at(0x801) == ImageAddress{0x401800});
}

TEST_CASE("replay: kernel frames, then user frames, and what follows a call") {
  Replay replay({}, {}, events(map(0, 1, 0x1000, "a")));
  uint64_t user[] = {0x1010, 0x1020};
  uint64_t kernel[] = {0xffffffff81000010, 0xffffffff81000020};
  replay.add(sample_of(1, 1, user, kernel));
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  REQUIRE(profile.samples.size() == 1);
  CHECK(frames_of(profile, profile.samples[0].stack) ==
        Frames{"[kernel.kallsyms] 0xffffffff81000010", "[kernel.kallsyms] 0xffffffff81000020<",
               "a 0x1010", "a 0x1020<"});
  REQUIRE(dumps.states.size() == 1);
  CHECK(dumps.states[0].end == StackEnd::kRoot);
  CHECK(profile.is_kernel(profile.locations[0]));
}

TEST_CASE(
    "replay: a stack ends where it leaves mapped code, and only its leaf may lie outside") {
  Replay replay({}, {}, events(map(0, 1, 0x1000, "a")));
  uint64_t junk_at_root[] = {0x1010, 0x1020, 0x9999, 0x1030};
  uint64_t wild_jump[] = {0x9999, 0x1020};
  replay.add(sample_of(1, 1, junk_at_root));
  replay.add(sample_of(2, 1, junk_at_root));
  replay.add(sample_of(3, 1, wild_jump));
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  REQUIRE(profile.samples.size() == 2);
  CHECK(frames_of(profile, profile.samples[0].stack) == Frames{"a 0x1010", "a 0x1020<"});
  CHECK(frames_of(profile, profile.samples[1].stack) == Frames{" 0x9999", "a 0x1020<"});
  CHECK(profile.locations[2].mapping == kNoMapping);
  CHECK(dumps.states[0].end == StackEnd::kBadFrame);
  CHECK(dumps.states[1].end == StackEnd::kRoot);

  Replay unreadable({}, {}, events(map(0, 1, 0x1000, "a")));
  uint64_t leaf[] = {0x1010};
  RecordedSample sample = sample_of(1, 1, leaf);
  sample.user_end = StackEnd::kUnreadable;
  unreadable.add(sample);
  unreadable.add(sample_of(2, 1, leaf));
  Replayed replayed_twice = std::move(unreadable).finish();
  const StackDumps& twice_dumps = replayed_twice.dumps;
  REQUIRE(twice_dumps.states.size() == 2);
  CHECK(twice_dumps.states[0].end == StackEnd::kUnreadable);
  CHECK(twice_dumps.states[1].end == StackEnd::kRoot);
}

TEST_CASE("replay: words of a stack are places, and addresses of what is mapped") {
  Replay replay({}, {}, events(map(0, 1, 0x100000, "a"), map(20, 1, 0x200000, "b")));
  uint64_t leaf[] = {0x100010};
  std::vector<StackWord> words = {{0, 0x100020}, {8, 16}, {16, 0x200020}};
  RecordedSample sample = sample_of(10, 1, leaf);
  sample.words = words;
  sample.frame_offset = 24;
  replay.add(sample);
  sample.time = 20;
  replay.add(sample);
  sample.frame_offset = kNoFrame;
  replay.add(sample);
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;

  REQUIRE(dumps.states.size() == 3);
  for (const StackState& state : dumps.states)
    CHECK(std::ranges::equal(dumps.dump(state.top), words));
  CHECK(profile.images.size() == 3);  // words are looked at when a walk asks for them
  auto returned_to = [&](size_t stack, size_t word) {
    return dumps.locations->of_word(profile, dumps.states[stack].space, words[word].value);
  };
  auto in_a = returned_to(0, 0);
  REQUIRE(in_a);
  CHECK(to_integer(profile.locations[to_index(*in_a)].address) == 0x100020);
  CHECK(profile.locations[to_index(*in_a)].is_return);
  CHECK(returned_to(1, 0) == in_a);
  CHECK(!returned_to(0, 2));  // before it was mapped
  auto in_b = returned_to(1, 2);
  REQUIRE(in_b);
  CHECK(profile.image_of(profile.locations[to_index(*in_b)].mapping).file.path == "b");
  CHECK(profile.images.size() == 4);
  CHECK(dumps.states[1].frame_offset == 24);
  CHECK(dumps.states[2].frame_offset == kNoFrame);
  CHECK(dumps.states[1].top == dumps.states[2].top);
}

TEST_CASE("replay: equal samples are counted, in whatever order they come") {
  Replay replay(
      {}, {}, events(map(10, 1, 0x1000, "a"), map(20, 1, 0x1000, "b"), comm(0, 1, 1, "demo")));
  uint64_t stack[] = {0x1010};
  for (uint64_t time : {25, 12, 21, 15, 29})
    replay.add(sample_of(time, 1, stack));
  replay.add(sample_of(25, 2, stack));
  Profile profile = std::move(replay).finish().profile;
  REQUIRE(profile.samples.size() == 3);
  CHECK(profile.samples[0].count == 3);
  CHECK(frames_of(profile, profile.samples[0].stack) == Frames{"b 0x1010"});
  CHECK(profile.samples[1].count == 2);
  CHECK(frames_of(profile, profile.samples[1].stack) == Frames{"a 0x1010"});
  CHECK(profile.strings[profile.owner(profile.samples[1]).comm] == "demo");
  CHECK(frames_of(profile, profile.samples[2].stack) == Frames{" 0x1010"});
  CHECK(profile.strings[profile.owner(profile.samples[2]).comm] == ":2");
  CHECK(profile.strings[profile.owner(profile.samples[2]).process] == ":2");
  CHECK(profile.total_count() == 6);
}

TEST_CASE("replay: a process has its first thread's name, whichever has samples") {
  Replay replay(
      {}, {},
      events(comm(0, 1, 1, "server"), comm(5, 1, 7, "worker-7"), comm(20, 1, 1, "renamed")));
  uint64_t stack[] = {0x1010};
  for (uint64_t time : {15, 25}) {
    RecordedSample sample = sample_of(time, 1, stack);
    sample.tid = 7;
    replay.add(sample);
  }
  Profile profile = std::move(replay).finish().profile;
  REQUIRE(profile.samples.size() == 2);
  CHECK(profile.strings[profile.owner(profile.samples[0]).comm] == "worker-7");
  CHECK(profile.strings[profile.owner(profile.samples[0]).process] == "server");
  CHECK(profile.strings[profile.owner(profile.samples[1]).process] == "renamed");
}

TEST_CASE("replay: a new mapping elsewhere makes no new location or mapping") {
  Replay replay({}, {},
                events(map(0, 1, 0x1000, "a"), map(5, 1, 0x8000, "b"), map(0, 2, 0x1000, "a")));
  uint64_t stack[] = {0x1010};
  replay.add(sample_of(1, 1, stack));
  replay.add(sample_of(6, 1, stack));
  replay.add(sample_of(6, 2, stack));
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  CHECK(profile.locations.size() == 1);
  CHECK(profile.mappings.size() == 3);
  unwind(profile, dumps, "", {});
  CHECK(profile.samples.size() == 2);
  CHECK(profile.samples[0].count == 2);
  CHECK(profile.samples[0].stack == profile.samples[1].stack);
  CHECK(profile.stack_count() == 1);
}

TEST_CASE("replay: a file's image comes with its addresses, the others with their kind") {
  RecordedImage image;
  image.id = ImageId{7};
  image.path = "/bin/demo";
  image.segments = {{0, 0x1000, 0x400000, 0x1000, PF_R | PF_X}};
  MapEvent file = map(0, 1, 0x10000, "");
  file.image = ImageId{7};
  MapEvent unknown = map(0, 1, 0x20000, "/bin/gone");
  unknown.image = ImageId{99};
  Replay replay(
      {}, {image},
      events(file, unknown, map(0, 1, 0x30000, "[vdso]"), map(0, 1, 0x40000, "//anon")));
  uint64_t stack[] = {0x10020, 0x20020, 0x30020, 0x40020};
  replay.add(sample_of(1, 1, stack));
  Profile profile = std::move(replay).finish().profile;

  using Kind = ProfileImage::Kind;
  auto kind = [&](size_t i) { return profile.image_of(profile.locations[i].mapping).kind; };
  CHECK(frames_of(profile, StackId{0}) == Frames{"/bin/demo 0x10020", "/bin/gone 0x20020<",
                                                 "[vdso] 0x30020<", "//anon 0x40020<"});
  CHECK(profile.locations[0].image_address == ImageAddress{0x400020});
  CHECK_FALSE(profile.locations[1].image_address);
  CHECK(kind(0) == Kind::kFile);
  CHECK(kind(1) == Kind::kFile);
  CHECK(profile.image_of(profile.locations[1].mapping).file.problem ==
        "not described in the recording");
  CHECK(kind(2) == Kind::kVdso);
  CHECK(kind(3) == Kind::kAnonymous);
}

TEST_CASE("replay: copies of one build in several containers are one image") {
  auto image = [](uint32_t id, std::string build) {
    RecordedImage recorded;
    recorded.id = ImageId{id};
    recorded.path = "/bin/demo";
    recorded.inode = id;
    recorded.size = 4096;
    recorded.gnu_build_id = std::move(build);
    return recorded;
  };
  auto file = [](uint32_t pid, uint32_t id) {
    MapEvent event = map(0, pid, 0x10000, "");
    event.image = ImageId{id};
    return event;
  };
  // The last two have no build id: nothing but a path and a size tells that they are equal.
  Replay replay({},
                {image(1, "b1"), image(2, "b1"), image(3, "b2"), image(4, ""), image(5, "")},
                events(file(1, 1), file(2, 2), file(3, 3), file(4, 4), file(5, 5)));
  uint64_t stack[] = {0x10020};
  for (uint32_t pid : {1, 2, 3, 4, 5})
    replay.add(sample_of(1, pid, stack));
  Profile profile = std::move(replay).finish().profile;
  std::vector<ImageId> files;
  for (const ProfileImage& one : profile.images)
    if (one.kind == ProfileImage::Kind::kFile && one.file.path == "/bin/demo")
      files.push_back(one.file.id);
  CHECK(files == std::vector{ImageId{1}, ImageId{3}, ImageId{4}, ImageId{5}});
  CHECK(profile.locations.size() == 4);
}

namespace {

// The numbers of the perf maps for the one location of each sample.
std::vector<uint32_t> perf_map_numbers(const Profile& profile) {
  std::vector<uint32_t> numbers;
  for (const SampleCount& sample : profile.samples) {
    const Location& location = profile.locations[to_index(profile.stack(sample.stack)[0])];
    numbers.push_back(profile.mappings[to_index(location.mapping)].perf_map);
  }
  return numbers;
}

}  // namespace

TEST_CASE("replay: a perf map is for the memory of the program that wrote it") {
  std::vector<RecordedPerfMap> maps = {{9, 1, {}, {}, {}},   // of what 1 ran before the exec
                                       {50, 1, {}, {}, {}},  // of what it ran afterwards
                                       {50, 3, {}, {}, {}},
                                       {50, 99, {}, {}, {}}};
  Replay replay(
      {}, {},
      events(map(0, 1, 0x1000, "//anon"), exec(10, 1, "next"), map(11, 1, 0x1000, "//anon"),
             map(0, 2, 0x1000, "//anon"), map(0, 3, 0x1000, "[vdso]"),
             map(1, 3, 0x2000, "[anon:v8]"), fork(20, 3, 4)),
      maps);
  uint64_t code[] = {0x1010};
  uint64_t other_code[] = {0x2010};
  replay.add(sample_of(5, 1, code));
  replay.add(sample_of(15, 1, code));
  replay.add(sample_of(15, 2, code));
  replay.add(sample_of(15, 3, code));
  replay.add(sample_of(15, 3, other_code));
  replay.add(sample_of(25, 4, other_code));  // a fork's code is its parent's
  Profile profile = std::move(replay).finish().profile;
  CHECK(perf_map_numbers(profile) == std::vector<uint32_t>{1, 2, 0, 0, 3, 3});
}

TEST_CASE(
    "replay: memory that has a file without a name is anonymous, unless it is a program") {
  RecordedImage memory;
  memory.id = ImageId{1};
  memory.path = "/memfd:doublemapper";
  RecordedImage program = memory;
  program.id = ImageId{2};
  program.segments = {{0, 0x1000, 0x400000, 0x1000, PF_X}};
  MapEvent first = map(0, 1, 0x1000, "");
  first.image = ImageId{1};
  MapEvent second = map(0, 1, 0x2000, "");
  second.image = ImageId{2};
  Replay replay({}, {memory, program}, events(first, second));
  uint64_t stack[] = {0x1010, 0x2010};
  replay.add(sample_of(1, 1, stack));
  Profile profile = std::move(replay).finish().profile;
  using Kind = ProfileImage::Kind;
  CHECK(profile.image_of(profile.locations[0].mapping).kind == Kind::kAnonymous);
  CHECK(profile.image_of(profile.locations[1].mapping).kind == Kind::kFile);
}

TEST_CASE("replay: kernel code has the name of what was loaded there at the time") {
  constexpr uint64_t kStart = 0xffffffffc0201000;
  Replay replay({}, {},
                events(KernelCodeEvent{30, kStart, 0x40, "second", false},
                       KernelCodeEvent{10, kStart, 0x40, "first", false},
                       KernelCodeEvent{20, kStart, 0x40, "first", true}));
  uint64_t inside[] = {kStart + 0x10, kStart + 0x40, kStart};
  for (uint64_t time : {9, 10, 20, 31})
    replay.add(sample_of(time, 1, {}, inside));
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  unwind(profile, dumps, "", {});
  std::vector<std::string> names;
  for (const SampleCount& sample : profile.samples)
    for (LocationId id : profile.stack(sample.stack))
      names.emplace_back(profile.strings[profile.locations[to_index(id)].kernel_name]);
  // Before it is loaded and once it is removed there is nothing; the second address follows a
  // call in the last instruction, the third one before the first.
  CHECK(names ==
        std::vector<std::string>{"", "", "", "first", "first", "", "second", "second", ""});
  CHECK(profile.samples[0].count == 2);
}

TEST_CASE("kernel history: lengths past the end of memory, and no events") {
  CHECK(KernelHistory({}).find(0, 0).empty());
  auto all = events(KernelCodeEvent{1, 0x1000, UINT64_MAX, "all", false});
  KernelHistory history(all);
  CHECK(history.count_at(0) == 0);
  CHECK(history.count_at(1) == 1);
  CHECK(history.find(UINT64_MAX - 1, 1) == "all");
  CHECK(history.find(0xfff, 1).empty());
}

TEST_CASE("replay: samples of different labels, or numbers of goroutines, are different") {
  const std::vector<Label> labels = {{"name", "x"}};
  const std::vector<uint64_t> user = {0x1000};
  Replay replay({}, {}, events(map(0, 1, 0x1000, "//anon")));
  RecordedSample sample = sample_of(1, 1, user);
  replay.add(sample);
  sample.labels = labels;
  replay.add(sample);
  replay.add(sample);
  sample.goid = 18;
  replay.add(sample);

  Profile profile = std::move(replay).finish().profile;
  REQUIRE(profile.samples.size() == 3);
  REQUIRE(profile.label_sets.size() == 2);
  CHECK(profile.label_sets[0].empty());
  REQUIRE(profile.label_sets[1].size() == 1);
  CHECK(profile.strings[profile.label_sets[1][0].key] == "name");
  CHECK(profile.strings[profile.label_sets[1][0].value] == "x");
  CHECK(profile.owner(profile.samples[0]).label_set == 0);
  CHECK(profile.owner(profile.samples[1]).label_set == 1);
  CHECK(profile.samples[1].count == 2);
  CHECK(profile.owner(profile.samples[2]).goid == 18);
}

TEST_CASE("replay: samples of different events are different, and skip their own ticks") {
  const std::vector<uint64_t> user = {0x1000};
  RecordingInfo info;
  info.events = {{"page-faults", 99, 0}, {"cpu-clock", 100, 0}};
  Replay replay(info, {}, events(map(0, 1, 0x1000, "//anon")));
  RecordedSample sample = sample_of(1, 1, user);
  sample.weight = 30'000'000;
  replay.add(sample);
  sample.event = 1;
  replay.add(sample);
  replay.add(sample);

  Profile profile = std::move(replay).finish().profile;
  REQUIRE(profile.samples.size() == 2);
  CHECK(profile.owner(profile.samples[0]).event == 0);
  CHECK(profile.samples[0].skipped == 0);
  CHECK(profile.amount(profile.samples[0]) == 30'000'000);
  CHECK(profile.owner(profile.samples[1]).event == 1);
  CHECK(profile.samples[1].skipped == 4);
  CHECK(profile.amount(profile.samples[1]) == 6);
}

TEST_CASE("replay: a wait lies in each step of its time") {
  const std::vector<uint64_t> user = {0x1000};
  RecordingInfo info;
  info.events = {{"off-cpu", 0, 10, "nanoseconds"}};
  Replay replay(info, {}, events(map(0, 1, 0x1000, "//anon")), {}, {.time_step = 1'000'000});
  replay.set_begin(5'000'000, 0);
  RecordedSample sample = sample_of(5'000'000 + 3'400'000, 1, user);
  sample.weight = 2'000'000;
  sample.state = "sleeping";
  replay.add(sample);
  sample.state = "disk sleep";
  sample.weight = 100;
  replay.add(sample);
  sample.weight = UINT64_MAX;
  replay.add(sample);

  Profile profile = std::move(replay).finish().profile;
  std::vector<std::pair<uint32_t, uint64_t>> steps;
  uint64_t count = 0;
  for (const SampleCount& of : profile.samples) {
    count += of.count;
    if (profile.strings[profile.owner(of).state] == "sleeping")
      steps.emplace_back(of.step, of.weight);
  }
  CHECK(steps ==
        std::vector<std::pair<uint32_t, uint64_t>>{{3, 400'000}, {2, 1'000'000}, {1, 600'000}});
  CHECK(count == 3);
  CHECK(profile.total_amount() == 2'000'000 + 100 + UINT64_MAX);
}

TEST_CASE("replay: what a raised threshold made of a wait is of its end, and whose it was") {
  const std::vector<uint64_t> user = {0x1000};
  RecordingInfo info;
  info.events = {{"off-cpu", 0, 1'000'000, "nanoseconds"}};
  Replay replay(info, {}, events(map(0, 1, 0x1000, "//anon")), {}, {.time_step = 1'000'000});
  replay.set_begin(0, 0);
  RecordedSample sample = sample_of(9'400'000, 1, user);
  auto add = [&](uint32_t doublings, uint64_t weight) {
    sample.doublings = doublings;
    sample.weight = weight;
    replay.add(sample);
  };
  add(3, 8'000'000);  // as long as it weighs, or shorter
  add(1, 2'000'001);  // as long as it weighs
  sample.pid = 2;
  add(1, 2'000'000);
  sample.pid = 3;
  add(0, 1'000'000);
  sample.pid = 4;
  add(UINT32_MAX, UINT64_MAX / 2);

  Profile profile = std::move(replay).finish().profile;
  std::vector<std::pair<uint32_t, uint64_t>> steps;
  for (const SampleCount& of : profile.samples)
    if (profile.owner(of).pid == 1)
      steps.emplace_back(of.step, of.weight);
  std::ranges::sort(steps);
  CHECK(steps == std::vector<std::pair<uint32_t, uint64_t>>{
                     {7, 600'001}, {8, 1'000'000}, {9, 8'400'000}});
  std::vector<std::pair<uint32_t, uint64_t>> raised;
  for (const RaisedThreshold& of : profile.raised_thresholds)
    raised.emplace_back(of.pid, of.nanoseconds);
  CHECK(raised == std::vector<std::pair<uint32_t, uint64_t>>{
                      {4, 1'000'000ULL << 30}, {1, 8'000'000}, {2, 2'000'000}});
}

TEST_CASE("replay: the goroutine's part of a stack is told, unless the stack ends before") {
  const std::vector<uint64_t> user = {0x1000, 0x1010, 0x1020, 0x1030};
  const std::vector<uint64_t> broken = {0x1000, 0x9000, 0x1020, 0x1030};
  Replay replay({}, {}, events(map(0, 1, 0x1000, "//anon")));
  RecordedSample sample = sample_of(1, 1, user);
  replay.add(sample);
  sample.goroutine_start = 2;
  replay.add(sample);
  sample.user_stack = broken;
  replay.add(sample);
  // One that would begin with the first frame of no code, and one beyond the stack.
  const std::vector<StackSwitch> switches = {{1, 8}, {3, 16}, {9, 24}};
  sample.switches = switches;
  replay.add(sample);
  sample.user_stack = user;
  replay.add(sample);
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  REQUIRE(dumps.states.size() == 5);
  auto switches_of = [&](size_t stack) {
    auto found = dumps.switches_of(dumps.states[stack]);
    return std::vector<StackSwitch>(found.begin(), found.end());
  };
  CHECK(switches_of(0).empty());
  CHECK(switches_of(1) == std::vector<StackSwitch>{{.start = 2}});
  CHECK_FALSE(dumps.states[1].knows_places);
  CHECK(switches_of(2).empty());
  CHECK(switches_of(3).empty());
  CHECK(switches_of(4) == std::vector<StackSwitch>{{1, 8}, {3, 16}});
  CHECK(dumps.states[4].knows_places);
  CHECK(frames_of(profile, StackId{2}).size() == 1);
}

TEST_CASE("replay: creators are no frames, and told apart only where they are wanted") {
  const std::vector<uint64_t> user = {0x1000, 0x1010};
  for (bool is_wanted : {false, true}) {
    Replay replay({}, {}, events(map(0, 1, 0x1000, "//anon")), {}, {.has_creators = is_wanted});
    RecordedSample sample = sample_of(1, 1, user);
    for (uint64_t creator : {0x1020, 0x1024, 0x1020}) {
      sample.creator = creator;
      replay.add(sample);
    }
    Replayed replayed = std::move(replay).finish();
    const Profile& profile = replayed.profile;
    REQUIRE(profile.stack_count() == (is_wanted ? 2 : 1));
    for (uint32_t i = 0; i < profile.stack_count(); i++)
      CHECK(frames_of(profile, StackId{i}).size() == 2);
    auto creator = replayed.dumps.states.back().creator;
    REQUIRE(creator.has_value() == is_wanted);
    if (creator)
      CHECK(profile.locations[to_index(*creator)].address == RuntimeAddress{0x1024});
  }
}

TEST_CASE("replay: what is left out of a stack is a place in it, its number of two digits") {
  const std::vector<uint64_t> user = {0x1000, 0x1010, 0x1020};
  Replay replay({}, {}, events(map(0, 1, 0x1000, "//anon")));
  RecordedSample sample = sample_of(1, 1, user);
  sample.gap = 2;
  for (uint32_t missing : {3976u, 4049u, 4051u, 99u, 1u << 30}) {
    sample.missing = missing;
    replay.add(sample);
  }
  Replayed replayed = std::move(replay).finish();
  Profile& profile = replayed.profile;
  const StackDumps& dumps = replayed.dumps;
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < profile.stack_count(); i++) {
    std::span<const LocationId> stack = profile.stack(StackId{i});
    REQUIRE(stack.size() == 4);
    CHECK(dumps.states[i].gap == 2);
    texts.push_back(profile.unnamed_text(profile.locations[to_index(stack[2])]));
  }
  CHECK(texts == std::vector<std::string>{"… 4000 frames …", "… 4100 frames …", "… 99 frames …",
                                          "… 1100000000 frames …"});
}

TEST_CASE("replay: no samples, empty stacks") {
  Profile none = Replay({}, {}, {}).finish().profile;
  CHECK(none.samples.empty());
  CHECK(none.total_count() == 0);

  Replay replay({}, {}, {});
  replay.add(sample_of(0, 1, {}));
  Profile profile = std::move(replay).finish().profile;
  CHECK(profile.stack(profile.samples[0].stack).empty());
}

}  // namespace gosym::replay_test
