#include "live/recording_window.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <random>

#include "demo_profile.h"
#include "proc/cgroups.h"
#include "profile/accumulated_profile.h"
#include "raw/replay_recording.h"
#include "raw/sample_batch.h"
#include "temporary_directory.h"

namespace gosym::recording_window_test {

// The window is the sink of a recorder that tells what a test says. Its processes run, unless
// the test says that they have ended.

namespace {

struct Lines : std::map<std::string, uint64_t> {
  using std::map<std::string, uint64_t>::map;
};

std::ostream& operator<<(std::ostream& out, const Lines& lines) {
  for (const auto& [line, count] : lines)
    out << line << " x " << count << "; ";
  return out;
}

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kSpan = 10 * kSecond;
constexpr uint32_t kFirstPid = 5'000'000;
constexpr uint64_t kCode = 0x400000;
constexpr uint64_t kCodeSize = 0x1000;

constexpr uint32_t process(uint32_t number) {
  return kFirstPid + number;
}

bool runs(uint32_t) {
  return false;
}
bool has_ended(uint32_t) {
  return true;
}

// The name of what is mapped is all that is of interest here.
MapEvent map_of(uint32_t pid, uint64_t second, std::string name, uint64_t start = kCode,
                uint64_t length = kCodeSize) {
  return {.time = second * kSecond,
          .pid = pid,
          .start = start,
          .length = length,
          .file_offset = 0,
          .image = {},
          .path = std::move(name)};
}
CommEvent comm_of(uint32_t pid, uint64_t second, std::string name, bool is_exec = false) {
  return {second * kSecond, pid, pid, std::move(name), is_exec};
}
ForkEvent fork_from(uint32_t parent, uint32_t child, uint64_t second) {
  return {second * kSecond, child, child, parent, parent};
}
ExitEvent end_of(uint32_t pid, uint64_t second) {
  return {second * kSecond, pid, pid};
}

struct SampleAt {
  uint32_t pid;
  uint64_t second;
  uint64_t address = kCode;
};

void add_samples(RecordingWindow& window, const std::vector<SampleAt>& samples) {
  raw::SampleBatch batch;
  for (const SampleAt& sample : samples) {
    const uint64_t stack[] = {sample.address};
    batch.add({.time = sample.second * kSecond,
               .pid = sample.pid,
               .tid = sample.pid,
               .kernel_stack = {},
               .user_stack = stack});
  }
  REQUIRE(window.write_samples(batch));
}

// Up to a second all has been told.
void reach(RecordingWindow& window, uint64_t second) {
  REQUIRE(window.write_stats({.time = second * kSecond}));
}

// The number of samples of each process by id, name and code: "1 sh in /bin/sh".
Lines lines_of(const Profile& profile) {
  Lines lines;
  for (const SampleCount& sample : profile.samples) {
    const Owner& owner = profile.owner(sample);
    std::string line = fmt::format("{} {}", owner.pid - kFirstPid, profile.strings[owner.comm]);
    for (LocationId id : profile.stack(sample.stack)) {
      MappingId mapping = profile.locations[to_index(id)].mapping;
      line += " in ";
      line += mapping == kNoMapping ? "nothing" : profile.image_of(mapping).file.path;
    }
    lines[line] += sample.count;
  }
  return lines;
}

Profile profile_of(raw::Recording recording) {
  auto replayed = replay(recording, {}, {});
  REQUIRE(replayed);
  CHECK(recording.damaged_chunks == 0);
  return std::move(replayed->profile);
}

Lines lines_of(raw::Recording recording) {
  return lines_of(profile_of(std::move(recording)));
}

Lines in_window(const RecordingWindow& window) {
  return lines_of(window.since(0));
}

void write(RecordingWindow& window, std::vector<Event> events) {
  REQUIRE(window.write_events(events));
}

}  // namespace

TEST_CASE("window: samples before it are gone, also those of a chunk that goes on") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "a"), map_of(process(1), 1, "A")});
  add_samples(window, {{process(1), 1}, {process(1), 2}});
  add_samples(window, {{process(1), 3}, {process(1), 8}});
  reach(window, 10);
  CHECK(in_window(window) == Lines{{"1 a in A", 4}});
  CHECK(window.size().samples == 4);
  reach(window, 15);
  CHECK(in_window(window) == Lines{{"1 a in A", 1}});
  CHECK(window.size().samples == 2);
  CHECK(lines_of(window.since(3 * kSecond)) == Lines{{"1 a in A", 1}});
  CHECK(lines_of(window.since(9 * kSecond)).empty());
  reach(window, 30);
  CHECK(in_window(window).empty());
  CHECK(window.size().sample_bytes == 0);
}

TEST_CASE("window: what was mapped and named before it names samples in it") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "old"), map_of(process(1), 1, "A"),
                 comm_of(process(1), 2, "new")});
  reach(window, 100);
  CHECK(window.size().events == 0);
  add_samples(window, {{process(1), 101}, {process(1), 101, kCode + kCodeSize}});
  reach(window, 102);
  CHECK(in_window(window) == Lines{{"1 new in A", 1}, {"1 new in nothing", 1}});
}

TEST_CASE("window: a program ends when another is executed, before the window or in it") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "sh", true), map_of(process(1), 1, "SH"),
                 map_of(process(1), 1, "LIBRARY", 0x700000)});
  write(window, {comm_of(process(1), 5, "cc", true), map_of(process(1), 5, "CC")});
  reach(window, 50);
  add_samples(window, {{process(1), 51}, {process(1), 51, 0x700000}});
  write(window, {comm_of(process(1), 52, "ld", true), map_of(process(1), 52, "LD")});
  add_samples(window, {{process(1), 53}});
  reach(window, 54);
  CHECK(in_window(window) ==
        Lines{{"1 cc in CC", 1}, {"1 cc in nothing", 1}, {"1 ld in LD", 1}});
}

TEST_CASE("window: a child has the code and the name that it is told to have") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "server"), map_of(process(1), 1, "A")});
  write(window, {fork_from(process(1), process(2), 3), map_of(process(2), 3, "A")});
  write(window, {comm_of(process(2), 4, "worker")});
  reach(window, 50);
  write(window, {fork_from(process(2), process(3), 51), map_of(process(3), 51, "A")});
  add_samples(window, {{process(1), 52}, {process(2), 52}, {process(3), 52}});
  reach(window, 53);
  CHECK(in_window(window) ==
        Lines{{"1 server in A", 1}, {"2 worker in A", 1}, {"3 worker in A", 1}});
}

TEST_CASE("window: a child that was forked in it is named after a parent without samples") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "make")});
  reach(window, 50);
  write(window, {fork_from(process(1), process(2), 51)});
  add_samples(window, {{process(2), 52}});
  reach(window, 53);
  CHECK(in_window(window) == Lines{{"2 make in nothing", 1}});
}

TEST_CASE(
    "window: a child is named after the parent of a parent, in whatever order that is told") {
  for (bool is_in_order : {true, false}) {
    CAPTURE(is_in_order);
    RecordingWindow window({}, kSpan, runs);
    write(window, {comm_of(process(1), 1, "make")});
    reach(window, 50);
    ForkEvent first = fork_from(process(1), process(2), 51);
    ForkEvent second = fork_from(process(2), process(3), 52);
    write(window,
          is_in_order ? std::vector<Event>{first, second} : std::vector<Event>{second, first});
    add_samples(window, {{process(3), 53}});
    reach(window, 54);
    CHECK(in_window(window) == Lines{{"3 make in nothing", 1}});
  }
}

TEST_CASE("window: code that is loaded later hides what was there") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {map_of(process(1), 1, "A", kCode, 3 * kCodeSize),
                 map_of(process(1), 2, "B", kCode + kCodeSize)});
  reach(window, 50);
  std::vector<SampleAt> of_each = {{process(1), 51},
                                   {process(1), 51, kCode + kCodeSize},
                                   {process(1), 51, kCode + 2 * kCodeSize}};
  add_samples(window, of_each);
  write(window, {map_of(process(1), 52, "C", kCode, 3 * kCodeSize)});
  for (SampleAt& sample : of_each)
    sample.second = 53;
  add_samples(window, of_each);
  reach(window, 54);
  std::string name = fmt::format("1 :{}", process(1));
  CHECK(in_window(window) ==
        Lines{{name + " in A", 2}, {name + " in B", 1}, {name + " in C", 3}});
  reach(window, 63);
  CHECK(in_window(window) == Lines{{name + " in C", 3}});
}

TEST_CASE("window: of many cgroups those that are gone are forgotten, if they have no sample" *
          doctest::skip(!proc::cgroup_mount())) {
  RecordingWindow window({}, kSpan, runs);
  std::vector<Event> events;
  for (uint64_t id = 1; id <= 2000; id++)
    events.push_back(CgroupEvent{kSecond, id, fmt::format("/gosym-no-such-cgroup-{}", id)});
  write(window, events);
  raw::SampleBatch batch;
  const uint64_t stack[] = {kCode};
  batch.add({.time = 49 * kSecond,
             .pid = process(1),
             .tid = process(1),
             .kernel_stack = {},
             .user_stack = stack,
             .cgroup = 7});
  REQUIRE(window.write_samples(batch));
  reach(window, 50);
  std::vector<uint64_t> left;
  for (const Event& event : window.since(0).events)
    if (const auto* cgroup = std::get_if<CgroupEvent>(&event))
      left.push_back(cgroup->id);
  CHECK(left == std::vector<uint64_t>{7});
}

TEST_CASE("window: another process may have the number") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "first"), map_of(process(1), 1, "A"),
                 end_of(process(1), 2), fork_from(process(9), process(1), 5),
                 comm_of(process(1), 5, "second"), map_of(process(1), 5, "B", 0x500000)});
  reach(window, 50);
  add_samples(window, {{process(1), 51}, {process(1), 51, 0x500000}});
  write(window, {end_of(process(1), 52), fork_from(process(9), process(1), 53),
                 comm_of(process(1), 53, "third"), map_of(process(1), 53, "C")});
  add_samples(window, {{process(1), 54}, {process(1), 54, 0x500000}});
  reach(window, 55);
  CHECK(in_window(window) == Lines{{"1 second in nothing", 1},
                                   {"1 second in B", 1},
                                   {"1 third in C", 1},
                                   {"1 third in nothing", 1}});
}

TEST_CASE("window: what is told late is of its own time") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 5, "new", true), map_of(process(1), 5, "NEW")});
  reach(window, 50);
  write(window, {comm_of(process(1), 1, "old", true), map_of(process(1), 1, "OLD"),
                 map_of(process(1), 6, "LIBRARY", 0x700000)});
  add_samples(window, {{process(1), 51}, {process(1), 51, 0x700000}});
  Lines expected{{"1 new in NEW", 1}, {"1 new in LIBRARY", 1}};
  CHECK(in_window(window) == expected);
  reach(window, 52);
  CHECK(in_window(window) == expected);
}

TEST_CASE("window: a process that runs is known, however long it was idle") {
  auto has_second_ended = [](uint32_t pid) { return pid == process(2); };
  RecordingWindow window({}, kSpan, has_second_ended);
  for (uint32_t pid : {process(1), process(2)})
    write(window, {comm_of(pid, 1, "idle"), map_of(pid, 1, "A")});
  for (uint64_t second = 2; second < 1000; second++)
    reach(window, second);
  CHECK(window.size().processes == 1);
  add_samples(window, {{process(1), 1000}});
  reach(window, 1001);
  CHECK(in_window(window) == Lines{{"1 idle in A", 1}});
}

TEST_CASE("window: it does not grow while processes come and go") {
  RecordingWindow window({}, kSpan, has_ended);
  RecordingWindow::Size most;
  for (uint32_t second = 1; second <= 3000; second++) {
    for (uint32_t i = 0; i < 10; i++) {
      uint32_t pid = process(10 * second + i);
      write(window, {fork_from(process(1), pid, second), comm_of(pid, second, "cc", true),
                     map_of(pid, second, "CC"), end_of(pid, second)});
      add_samples(window, {{pid, second}});
    }
    reach(window, second);
    RecordingWindow::Size size = window.size();
    most.samples = std::max(most.samples, size.samples);
    most.events = std::max(most.events, size.events);
    most.processes = std::max(most.processes, size.processes);
  }
  CHECK(most.samples == 110);
  CHECK(most.events == 440);
  // They are looked for once in ten seconds.
  CHECK(most.processes <= 200);
  CHECK(in_window(window).size() == 110);
}

TEST_CASE("window: of a process that maps code all the time the last is known") {
  RecordingWindow window({}, kSpan, runs);
  constexpr uint64_t kMany = 10'000;
  for (uint64_t i = 0; i < kMany; i++)
    write(window, {map_of(process(1), 1, "A", kCode + i * kCodeSize)});
  reach(window, 50);
  add_samples(window, {{process(1), 51, kCode + (kMany - 1) * kCodeSize}});
  reach(window, 52);
  CHECK(window.since(0).events.size() < kMany / 2);
  CHECK(in_window(window).begin()->first.ends_with("in A"));
}

TEST_CASE("window: too many events make it shorter, and what is left is told right") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 100, "a", true), map_of(process(1), 100, "A")});
  add_samples(window, {{process(1), 101}, {process(1), 106}});
  std::vector<Event> renamings(600'000, comm_of(process(2), 104, "b"));
  write(window, renamings);
  reach(window, 108);
  CHECK(window.size().events < 10);
  CHECK(in_window(window) == Lines{{"1 a in A", 1}});
}

TEST_CASE("window: each sample is new once") {
  RecordingWindow window({}, kSpan, runs);
  write(window, {comm_of(process(1), 1, "a"), map_of(process(1), 1, "A")});
  add_samples(window, {{process(1), 2}, {process(1), 3}});
  reach(window, 4);
  CHECK(lines_of(window.take_new()) == Lines{{"1 a in A", 2}});
  CHECK(lines_of(window.take_new()).empty());
  add_samples(window, {{process(1), 3}, {process(1), 5}});  // one lay in a ring for long
  reach(window, 6);
  CHECK(lines_of(window.take_new()) == Lines{{"1 a in A", 2}});
  CHECK(in_window(window) == Lines{{"1 a in A", 4}});
  CHECK(window.size().missed_samples == 0);
  add_samples(window, {{process(1), 7}});
  reach(window, 50);
  CHECK(lines_of(window.take_new()).empty());
  CHECK(window.size().missed_samples == 1);
}

TEST_CASE("window: what was counted in it, and lost") {
  RecordingWindow window({}, kSpan, runs);
  auto count = [&](uint64_t second, uint64_t samples, uint64_t lost) {
    REQUIRE(window.write_stats({.time = second * kSecond,
                                .samples = samples,
                                .lost_samples = lost,
                                .cpus = {{.cpu = 0, .samples = samples, .lost_samples = lost}},
                                .charged_ns = 10 * samples}));
  };
  count(1, 0, 0);
  count(5, 100, 7);
  CHECK(window.since(0).begin_time == kSecond);
  count(12, 200, 7);
  count(14, 300, 10);
  raw::Recording recording = window.since(0);
  CHECK(recording.begin_time == 4 * kSecond);
  CHECK(recording.stats.time == 14 * kSecond);
  count(16, 400, 10);
  recording = window.since(0);
  CHECK(recording.begin_time == 6 * kSecond);
  CHECK(recording.stats.samples == 300);
  CHECK(recording.stats.lost_samples == 3);
  CHECK(recording.stats.charged_ns == 3000);
  REQUIRE(recording.stats.cpus.size() == 1);
  CHECK(recording.stats.cpus[0].samples == 300);
  REQUIRE(recording.losses.size() == 1);
  CHECK(recording.losses[0].end == 14 * kSecond);
  CHECK(recording.losses[0].counts.lost_samples == 3);

  TemporaryDirectory folder;
  REQUIRE(window.save(0, folder / "window.raw"));
  auto saved = raw::read(folder / "window.raw");
  REQUIRE(saved);
  CHECK(saved->stats.samples == 300);
  CHECK(saved->stats.charged_ns == 3000);
  REQUIRE(saved->losses.size() == 1);
  CHECK(saved->losses[0].begin == recording.losses[0].begin);
  CHECK(saved->losses[0].end == recording.losses[0].end);
}

TEST_CASE("window: saved it is a recording like others") {
  RecordingInfo info;
  info.host = "here";
  RecordingWindow window(info, kSpan, runs);
  REQUIRE(window.write_vdso("vdso"));
  REQUIRE(window.write_kernel_symbols("ffff800000000000 T start_kernel\n"));
  write(window, {comm_of(process(1), 1, "a"), map_of(process(1), 1, "A")});
  add_samples(window, {{process(1), 1}});
  reach(window, 1);
  add_samples(window, {{process(1), 12}, {process(1), 13}});
  ImagePiece piece;
  piece.image = ImageId{1};
  piece.bytes = "code";
  piece.total = 4;
  REQUIRE(window.write_piece(piece));
  REQUIRE(window.write_stats({.time = 14 * kSecond, .samples = 3}));
  TemporaryDirectory folder;
  std::string path = folder / "window.raw";
  raw::Recording kept = window.since(0);
  REQUIRE(window.save(0, path));
  auto read = raw::read(path);
  REQUIRE(read);
  CHECK(read->damaged_bytes == 0);
  CHECK(read->damaged_chunks == 0);
  CHECK(read->info.host == "here");
  CHECK(read->vdso == "vdso");
  CHECK(read->kernel_symbols == kept.kernel_symbols);
  CHECK(read->begin_time == 4 * kSecond);
  CHECK(read->end_time == 14 * kSecond);
  CHECK(read->monotonic_ns == kept.monotonic_ns);
  CHECK(read->realtime_ns == kept.realtime_ns);
  CHECK(read->piece_chunks.size() == 1);
  CHECK(lines_of(*std::move(read)) == Lines{{"1 a in A", 2}});
}

TEST_CASE("window: whatever happens, its samples are named as in a recording of all") {
  for (uint32_t seed = 0; seed < 200; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    RecordingWindow window({}, kSpan, runs);
    RecordingWindow whole({}, UINT64_MAX, runs);
    // No two events of a process have the same time: which of them came first nobody knows.
    for (uint64_t second = 1; second < 60; second++) {
      uint32_t pid = process(below(4));
      std::vector<Event> events;
      switch (below(6)) {
        case 0:
          events = {fork_from(process(4 + below(2)), pid, second),
                    map_of(pid, second, fmt::format("F{}", second))};
          break;
        case 1:
          events = {comm_of(pid, second, fmt::format("e{}", second), true),
                    map_of(pid, second, fmt::format("E{}", second))};
          break;
        case 2:
          events = {comm_of(pid, second, fmt::format("n{}", second))};
          break;
        case 3:
          events = {end_of(pid, second)};
          break;
        default:
          events = {map_of(pid, second, fmt::format("M{}", second),
                           kCode + below(3) * kCodeSize, (1 + below(2)) * kCodeSize)};
      }
      write(window, events);
      write(whole, events);
      std::vector<SampleAt> samples;
      for (uint32_t i = 0; i < 4; i++)
        samples.push_back({process(i), second, kCode + below(4) * kCodeSize});
      add_samples(window, samples);
      add_samples(whole, samples);
      reach(window, second);
      reach(whole, second);
    }
    CHECK(in_window(window) == lines_of(whole.since(49 * kSecond)));
  }
}

namespace {

// Random samples of four processes, each of which has other code at other places; they are
// added up part by part, of which there are many, and are in the window as a whole.
struct Sum {
  AccumulatedProfile parts;
  Lines whole;
  uint64_t lost = 0;
};

Sum make_sum(uint32_t seed, AccumulatedProfile::Limits limits) {
  Sum sum{AccumulatedProfile(limits), {}, 0};
  std::mt19937 random(seed);
  RecordingInfo info;
  info.events = {{.name = "cpu-clock", .frequency = 99}};
  RecordingWindow window(info, UINT64_MAX, runs);
  auto add_new = [&] {
    raw::Recording recording = window.take_new();
    uint64_t begin = recording.begin_time;
    Profile part = profile_of(std::move(recording));
    part.start_realtime_ns = begin;
    sum.parts.add(part);
  };
  reach(window, 1);
  for (uint32_t number = 0; number < 4; number++)
    write(window, {comm_of(process(number), 1, fmt::format("p{}", number)),
                   map_of(process(number), 1, fmt::format("M{}", number % 2),
                          kCode + number % 3 * kCodeSize, 4 * kCodeSize)});
  for (uint64_t second = 2; second <= 41; second++) {
    std::vector<SampleAt> samples;
    for (uint32_t i = 0; i < 5; i++)
      samples.push_back({process(static_cast<uint32_t>(random() % 4)),
                         second - random() % std::min<uint64_t>(second, 3),
                         kCode + random() % 8 * kCodeSize});
    add_samples(window, samples);
    sum.lost += random() % 2;
    REQUIRE(window.write_stats(
        {.time = second * kSecond,
         .samples = 5 * (second - 1),
         .lost_samples = sum.lost,
         .cpus = {{.samples = 5 * (second - 1), .lost_samples = sum.lost}}}));
    if (random() % 3 == 0)
      add_new();
  }
  add_new();
  sum.whole = in_window(window);
  return sum;
}

}  // namespace

TEST_CASE("accumulated: the sum of parts is the whole") {
  for (uint32_t seed = 0; seed < 100; seed++) {
    CAPTURE(seed);
    Sum sum = make_sum(seed, {});
    const Profile& profile = sum.parts.profile();
    CHECK(lines_of(profile) == sum.whole);
    CHECK(profile.total_count() == 200);
    CHECK(profile.stats.samples == 200);
    CHECK(profile.stats.lost_samples == sum.lost);
    CHECK(profile.duration_ns == 40 * kSecond);
    CHECK(profile.timelines[0].parts(1, 100 * kSecond)[0] == 200);
    CHECK(sum.parts.shortened_samples() == 0);
    // Each function once, not once a part.
    CHECK(profile.samples.size() <= 4 * 8);
    CHECK(profile.stack_count() <= 4 * 8);
  }
}

TEST_CASE("accumulated: beyond its limits samples are still counted") {
  Sum sum = make_sum(1, {.samples = 5, .stack_locations = 5, .locations = 5});
  const Profile& profile = sum.parts.profile();
  CHECK(profile.total_count() == 200);
  CHECK(sum.parts.shortened_samples() > 0);
  CHECK(profile.locations.size() <= 6);
  // Four names, each with one sample for each of six locations.
  CHECK(profile.samples.size() <= 5 + 4 * 6);
}

TEST_CASE("accumulated: what the kernel charged is known if each part knows it") {
  Profile known = make_demo_profile();
  known.stats.time = kSecond;
  known.stats.charged_ns = 5;
  Profile unknown = make_demo_profile();  // of a page: it has counts, and no time of them
  auto charged = [](const Profile& first, const Profile& second) {
    AccumulatedProfile sum;
    sum.add(first);
    sum.add(second);
    return sum.profile().stats.charged_ns;
  };
  CHECK(charged(known, known) == 10);
  CHECK(charged(known, unknown) == 0);
  CHECK(charged(unknown, known) == 0);
}

TEST_CASE("accumulated: code beyond the limit of locations takes no frames") {
  AccumulatedProfile::Limits limits;
  limits.locations = 1;
  AccumulatedProfile sum(limits);
  sum.add(make_demo_profile());
  CHECK(sum.profile().locations.size() == 2);  // and what stands for all others
  CHECK(sum.profile().frames.size() == 1);
  CHECK(sum.profile().total_count() == 8);
}

}  // namespace gosym::recording_window_test
