#include "record/recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <fstream>
#include <functional>
#include <ostream>

#include "base/clock.h"
#include "base/text.h"
#include "image_builder.h"
#include "raw/sample_batch.h"
#include "temporary_directory.h"

namespace gosym::recorder_test {

// The recorder between a sampler that tells what a test says and a sink that keeps it as text.
// The processes of a test are numbers that no process has: nothing is found of them in /proc.

namespace {

struct Texts : std::vector<std::string> {
  using std::vector<std::string>::vector;
};

std::ostream& operator<<(std::ostream& out, const Texts& texts) {
  return out << joined(texts, "; ");
}

constexpr uint32_t kNoProcess = 5'000'000;  // beyond the largest number that Linux gives

uint32_t own_pid() {
  return static_cast<uint32_t>(getpid());
}

std::string name_of(uint32_t pid) {
  return pid == own_pid() ? "own" : std::to_string(pid - kNoProcess);
}

// By their small numbers.
constexpr uint32_t pid(uint32_t number) {
  return kNoProcess + number;
}

RawMapping mmap_of(uint32_t number, uint64_t time, uint64_t start,
                   std::string path = "[code]") {
  return {.time = time,
          .pid = pid(number),
          .start = start,
          .length = 0x1000,
          .file_offset = 0,
          .file = {},
          .path = std::move(path)};
}
ForkEvent fork_of(uint32_t parent, uint32_t child, uint64_t time) {
  return {time, pid(child), pid(child), pid(parent), pid(parent)};
}
CommEvent exec_of(uint32_t number, uint64_t time, std::string name) {
  return {time, pid(number), pid(number), std::move(name), true};
}
ExitEvent exit_of(uint32_t number, uint64_t time) {
  return {time, pid(number), pid(number)};
}

class FakeSampler : public Sampler {
public:
  struct Sample {
    uint64_t time;
    uint32_t pid;
    std::vector<uint64_t> stack;
    std::vector<uint64_t> words = {};  // of the stack's top
    uint32_t tid = 0;                  // 0: the first thread
  };

  std::vector<SidebandRecord> sideband;
  std::function<void(std::vector<SidebandRecord>&)> drain = [](auto&) {};  // gives more of them
  std::vector<SidebandRecord> of_gone_cpu;                                 // what its ring has
  std::vector<Sample> samples;
  std::function<void()> drained_samples = [] {};
  uint64_t lost = 0;
  std::set<uint32_t> refused;
  bool can_follow = false;
  Texts calls;  // what the recorder has asked for

  void set_go_program(const GoProgram& program, const MapEvent& code) override {
    calls.push_back(fmt::format("{} runs {}", name_of(code.pid), program.version));
  }
  void forget_go_program(uint32_t pid) override {
    calls.push_back(fmt::format("{} runs another", name_of(pid)));
  }
  bool follow(uint32_t pid) override {
    calls.push_back("follow " + name_of(pid));
    return can_follow;
  }

  void drain_samples(const Handler& handler) override {
    for (const Sample& sample : std::exchange(samples, {}))
      handler({.time = sample.time,
               .pid = sample.pid,
               .tid = sample.tid == 0 ? sample.pid : sample.tid,
               .kernel_stack = {},
               .user_stack = sample.stack},
              {.stack_pointer = 0x7ffd00001000, .words = sample.words});
    drained_samples();
  }
  void drain_events(std::vector<SidebandRecord>& records) override {
    std::ranges::move(std::exchange(sideband, {}), std::back_inserter(records));
    drain(records);
  }
  Result<> follow_cpus(std::vector<SidebandRecord>& records) override {
    std::ranges::move(std::exchange(of_gone_cpu, {}), std::back_inserter(records));
    return Ok{};
  }
  std::set<uint32_t> take_refused() override { return std::exchange(refused, {}); }
  uint64_t lost_events() const override { return lost; }

  Result<> start() override { return Ok{}; }
  void stop() override {}
  int poll_fd() const override { return -1; }
  Counters counters() const override { return {}; }
  std::span<const EventType> events() const override { return {&event_, 1}; }
  uint32_t cpu_count() const override { return 1; }

private:
  EventType event_;
};

class FakeSink : public RecordingSink {
public:
  Texts texts;

  Result<> write_image(const RecordedImage& image) override {
    add("image {} {}", static_cast<uint32_t>(image.id),
        image.path.substr(image.path.rfind('/') + 1));
    return Ok{};
  }
  Result<> write_events(std::span<const Event> events) override {
    for (const Event& event : events)
      std::visit([this](const auto& e) { on(e); }, event);
    return Ok{};
  }
  Result<> write_samples(const raw::SampleBatch& batch) override {
    for (const auto& row : batch.rows()) {
      std::string words;
      for (const StackWord& word : batch.top(row.top_index))
        words += fmt::format(" {:x}", word.value);
      add("sample of {} at {:x}{}", name_of(row.pid), batch.stack(row.user_index).front(),
          words);
    }
    return Ok{};
  }
  Result<> write_kernel_symbols(std::string_view) override { return Ok{}; }
  Result<> write_perf_map(const RecordedPerfMap& map) override {
    add("map of {} at {}: {}", name_of(map.pid), map.time, map.text);
    return Ok{};
  }
  Result<> write_piece(const ImagePiece& piece) override {
    if (piece.total > 0)
      add("archived {}", static_cast<uint32_t>(piece.image));
    return Ok{};
  }
  Result<> write_vdso(std::string_view) override { return Ok{}; }
  Result<> write_stats(const RecordingStats&) override { return Ok{}; }
  Result<> write_end(uint64_t) override { return Ok{}; }
  uint64_t bytes_written() const override { return 0; }

private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    texts.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  void on(const MapEvent& e) {
    std::string what =
        e.image == ImageId{} ? e.path : fmt::format("{}", static_cast<uint32_t>(e.image));
    add("{} maps {} at {:x}", name_of(e.pid), what, e.start);
  }
  void on(const CommEvent& e) {
    add("{} {} {}", name_of(e.pid), e.is_exec ? "executes" : "is", e.comm);
  }
  void on(const ForkEvent& e) { add("{} forks {}", name_of(e.parent_pid), name_of(e.pid)); }
  void on(const ExitEvent& e) { add("{} exits", name_of(e.pid)); }
  void on(const KernelCodeEvent&) {}
  void on(const CgroupEvent&) {}  // of the machine that this runs on
};

Scope of_process(uint32_t pid) {
  Scope scope;
  scope.pids = {pid};
  return scope;
}

SamplerOptions user_code_of(Scope scope) {
  SamplerOptions options;
  options.scope = std::move(scope);
  options.has_kernel = false;
  return options;
}

// A recording of the process 1, unless it is told otherwise.
struct Recording {
  FakeSampler sampler;
  FakeSink sink;
  Recorder recorder;

  explicit Recording(const Scope& scope = of_process(pid(1)),
                     ArchiveChoice archive = {ArchiveMode::kNone})
      : recorder(user_code_of(scope), sampler, sink, archive) {
    REQUIRE(recorder.start());
    sink.texts.clear();
  }

  // One look at the rings, which have these samples and events.
  void look(std::vector<SidebandRecord> events, std::vector<FakeSampler::Sample> samples = {}) {
    sampler.sideband = std::move(events);
    sampler.samples = std::move(samples);
    REQUIRE(recorder.collect());
  }
  // The events and samples that were recorded, in order.
  Texts finish() {
    REQUIRE(recorder.finish());
    return sink.texts;
  }
};

struct CodeFile {
  RawMapping mapping(uint32_t number, uint64_t time, uint64_t start) const {
    RawMapping mapping = mmap_of(number, time, start, path);
    mapping.file = key;
    return mapping;
  }
  std::string path;
  FileKey key;
};

CodeFile write_file(const TemporaryDirectory& folder, std::string_view name,
                    const ImageSpec& spec) {
  CodeFile file{.path = folder / name, .key = {}};
  std::ofstream(file.path, std::ios::binary) << build_image(spec);
  struct stat status {};
  REQUIRE(stat(file.path.c_str(), &status) == 0);
  file.key = {.device = status.st_dev, .inode = status.st_ino};
  return file;
}

ImageSpec::Part code_part(std::string contents) {
  return {.name = ".text",
          .contents = std::move(contents),
          .address = 0x401000,
          .segment_flags = PF_R | PF_X};
}

ImageSpec some_library() {
  ImageSpec spec;
  spec.parts = {code_part(std::string(300, 'c'))};
  return spec;
}

// With what the sampler has to know of it.
ImageSpec go_executable() {
  using namespace std::string_literals;
  std::string record = "\xff Go buildinf:\x08\x02"s + std::string(16, '\0') + "\x08go1.23.4\0"s;
  ImageSpec spec;
  spec.parts = {code_part("\x64\x48\xc7\x04\x25\xf8\xff\xff\xff\x23\x01\0\0"s),
                {.name = ".go.buildinfo",
                 .contents = record,
                 .address = 0x600000,
                 .segment_flags = PF_R | PF_W}};
  return spec;
}

size_t page_size() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// A page of this process that no event tells of.
uint64_t map_code() {
  void* code =
      mmap(nullptr, page_size(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  return std::bit_cast<uint64_t>(code);
}

// The newest process that this thread has started.
pid_t last_child() {
  std::ifstream children("/proc/thread-self/children");
  pid_t last = 0;
  for (pid_t child = 0; children >> child;)
    last = child;
  return last;
}

void unmap_code(uint64_t address) {
  munmap(std::bit_cast<void*>(address), page_size());
}

}  // namespace

TEST_CASE("recorder: a child is recorded from its first sample on, with what it inherited") {
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000), fork_of(1, 2, 20), fork_of(2, 3, 30),
                  mmap_of(3, 40, 0x5000), fork_of(1, 4, 50), mmap_of(9, 60, 0x9000)},
                 {{70, pid(3), {0x1010}}, {71, pid(3), {0x5010}}});
  // Process 4 has no sample, and 9 is a stranger.
  CHECK(recording.finish() == Texts{"1 maps [code] at 1000", "2 forks 3",
                                    "3 maps [code] at 1000", "3 maps [code] at 5000",
                                    "sample of 3 at 1010", "sample of 3 at 5010"});
  CHECK(recording.recorder.summary().unplaced == 0);
  CHECK(recording.recorder.summary().process_count == 1);
}

TEST_CASE("recorder: children are left out if that is asked for") {
  Scope scope = of_process(pid(1));
  scope.follows_children = false;
  Recording recording(scope);
  recording.look({fork_of(1, 2, 20), mmap_of(2, 30, 0x5000)}, {{40, pid(2), {0x5010}}});
  CHECK(recording.finish() == Texts{"sample of 2 at 5010"});
}

TEST_CASE("recorder: events come in order of time, whichever ring they come from") {
  Recording recording;
  recording.look({mmap_of(2, 20, 0x5000), exit_of(2, 30), fork_of(1, 2, 10)},
                 {{25, pid(2), {0x5010}}});
  CHECK(recording.finish() ==
        Texts{"1 forks 2", "2 maps [code] at 5000", "sample of 2 at 5010"});
}

TEST_CASE("recorder: what happened while the rings were read waits for what was before it") {
  Recording recording;
  uint64_t time = 0;
  int turn = 0;
  // Later than the look began, so it is not handled before the next one.
  recording.sampler.drain = [&](std::vector<SidebandRecord>& records) {
    if (turn++ == 0) {
      time = monotonic_ns() + 1;
      records.emplace_back(mmap_of(2, time, 0x5000));
      recording.sampler.samples = {{time, pid(2), {0x5010}}};
    } else if (turn == 2) {
      records.emplace_back(fork_of(1, 2, time - 1));
    }
  };
  recording.look({});
  CHECK(recording.finish() ==
        Texts{"1 forks 2", "2 maps [code] at 5000", "sample of 2 at 5010"});
}

TEST_CASE("recorder: what a program maps while its samples are read is known in them") {
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000)});
  uint64_t time = 0;
  int turn = 0;
  recording.sampler.drain = [&](std::vector<SidebandRecord>& records) {
    if (++turn == 1) {
      time = monotonic_ns() + 1;
      recording.sampler.samples = {{time, pid(2), {0x5010}, {0x5030, 0x1030}}};
    } else if (turn == 2) {  // for the sample
      records.emplace_back(mmap_of(2, time, 0x5000));
    } else if (turn == 3) {  // of another ring
      records.emplace_back(fork_of(1, 2, time - 1));
    }
  };
  recording.look({});
  recording.look({}, {{time + 1, pid(2), {0x5010}, {0x5030, 0x1030}}});
  CHECK(recording.finish() == Texts{"1 maps [code] at 1000", "1 forks 2",
                                    "2 maps [code] at 1000", "2 maps [code] at 5000",
                                    "sample of 2 at 5010 5030",
                                    "sample of 2 at 5010 5030 1030"});
}

TEST_CASE("recorder: a library that is loaded later") {
  TemporaryDirectory folder;
  CodeFile library = write_file(folder, "library", some_library());
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000)}, {{20, pid(1), {0x1010}, {0x1020, 0x5030}}});
  // Its event is drained before the samples, so its code is known in them.
  recording.look({library.mapping(1, 30, 0x5000)},
                 {{40, pid(1), {0x5010}, {0x5030, 0x1020, 0x9000}}});
  CHECK(recording.finish() == Texts{"image 1 library", "1 maps [code] at 1000",
                                    "1 maps 1 at 5000", "sample of 1 at 1010 1020",
                                    "sample of 1 at 5010 5030 1020"});
  CHECK(recording.recorder.summary().unplaced == 0);
}

TEST_CASE("recorder: exec ends what was known of the program") {
  TemporaryDirectory folder;
  CodeFile program = write_file(folder, "program", go_executable());
  CodeFile next = write_file(folder, "next", some_library());
  Recording recording(of_process(pid(1)), {ArchiveMode::kAll});
  recording.look({program.mapping(1, 10, 0x401000)});
  CHECK(recording.sampler.calls == Texts{"1 runs go1.23.4"});
  recording.look({exec_of(1, 20, "next"), next.mapping(1, 30, 0x500000)},
                 {{40, pid(1), {0x500010}}});
  CHECK(recording.sampler.calls == Texts{"1 runs go1.23.4", "1 runs another"});
  // The first program had no sample, so it is not archived.
  CHECK(recording.finish() == Texts{"image 1 program", "image 2 next", "1 maps 1 at 401000",
                                    "1 executes next", "1 maps 2 at 500000",
                                    "sample of 1 at 500010", "archived 2"});
}

TEST_CASE("recorder: the program before an exec is archived if it had samples") {
  TemporaryDirectory folder;
  CodeFile program = write_file(folder, "program", some_library());
  Recording recording(of_process(pid(1)), {ArchiveMode::kAll});
  recording.look({program.mapping(1, 10, 0x401000)}, {{20, pid(1), {0x401010}}});
  recording.look({exec_of(1, 30, "next")});
  Texts texts = recording.finish();
  CHECK(std::ranges::count(texts, "archived 1") == 1);
}

TEST_CASE("recorder: a sample before an exec comes after one behind it") {
  TemporaryDirectory folder;
  CodeFile program = write_file(folder, "program", go_executable());
  CodeFile next = write_file(folder, "next", go_executable());
  Recording recording(of_process(pid(1)), {ArchiveMode::kAll});
  auto two_programs = [&](uint32_t number) -> std::vector<SidebandRecord> {
    return {program.mapping(number, 30, 0x401000), exec_of(number, 40, "next"),
            next.mapping(number, 50, 0x601000)};
  };
  std::vector<SidebandRecord> events = {fork_of(1, 2, 20)};
  std::ranges::move(two_programs(2), std::back_inserter(events));
  recording.look(std::move(events), {{60, pid(2), {0x601010}}, {35, pid(2), {0x401010}}});
  // The sampler is told of the program that runs.
  CHECK(recording.sampler.calls == Texts{"2 runs go1.23.4"});
  CHECK(recording.recorder.summary().unplaced == 0);
  Texts texts = recording.finish();
  for (const char* text :
       {"2 maps 2 at 401000", "2 maps 1 at 601000", "archived 1", "archived 2"})
    CHECK_MESSAGE(std::ranges::count(texts, text) == 1, text);
}

TEST_CASE("recorder: a program whose samples come after its end is archived") {
  TemporaryDirectory folder;
  CodeFile program = write_file(folder, "program", some_library());
  Recording recording(of_process(pid(1)), {ArchiveMode::kAll});
  std::vector<FakeSampler::Sample> samples = {{40, pid(1), {0x9000}}};
  int archived = 0;
  SUBCASE("it has samples") {
    samples.push_back({20, pid(1), {0x401010}});
    archived = 1;
  }
  SUBCASE("it has none") {}
  recording.look({program.mapping(1, 10, 0x401000), exec_of(1, 30, "next")}, samples);
  Texts texts = recording.finish();
  CHECK(std::ranges::count(texts, "archived 1") == archived);
}

TEST_CASE("recorder: a child of a Go program is one, too") {
  TemporaryDirectory folder;
  CodeFile program = write_file(folder, "program", go_executable());
  Recording recording;
  recording.look({program.mapping(1, 10, 0x401000), fork_of(1, 2, 20)},
                 {{30, pid(2), {0x401000}}});
  CHECK(recording.sampler.calls == Texts{"1 runs go1.23.4", "2 runs go1.23.4"});
}

TEST_CASE("recorder: a process that has ended is forgotten, once its last samples are here") {
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000), fork_of(1, 2, 20), mmap_of(2, 30, 0x5000)},
                 {{35, pid(2), {0x5010}}});
  recording.look({exit_of(2, 40)});
  recording.look({}, {{36, pid(2), {0x5020}}});
  CHECK(recording.recorder.summary().unplaced == 0);
  // From here on the number is that of a stranger.
  recording.look({mmap_of(2, 50, 0x9000)});
  recording.look({}, {{60, pid(1), {0x1010}}});
  CHECK(recording.finish() == Texts{"1 maps [code] at 1000", "1 forks 2",
                                    "2 maps [code] at 1000", "2 maps [code] at 5000", "2 exits",
                                    "sample of 2 at 5010", "sample of 2 at 5020",
                                    "sample of 1 at 1010"});
  CHECK(recording.recorder.summary().process_count == 2);
}

TEST_CASE("recorder: a thread that ended since the last look at samples still has its name") {
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000), ForkEvent{20, pid(1), pid(2), pid(1), pid(1)},
                  CommEvent{30, pid(1), pid(2), "worker", false}},
                 {{35, pid(1), {0x1010}}});
  // It ends between the samples of a look and the events behind them, which tell of its end.
  std::vector<uint64_t> exits;
  recording.sampler.drained_samples = [&] { exits = {monotonic_ns()}; };
  recording.sampler.drain = [&](std::vector<SidebandRecord>& records) {
    for (uint64_t time : std::exchange(exits, {}))
      records.emplace_back(ExitEvent{time, pid(1), pid(2)});
  };
  recording.look({});
  recording.sampler.drained_samples = [] {};
  recording.look({}, {{monotonic_ns(), pid(1), {0x1020}, {}, pid(2)}});
  CHECK(recording.finish() == Texts{"1 maps [code] at 1000", "1 is worker",
                                    "sample of 1 at 1010", "sample of 1 at 1020"});
}

TEST_CASE("recorder: a process goes on when its first thread has ended, until the last has") {
  // One that /proc has, so that only events tell of the last.
  uint32_t own = own_pid();
  auto own_mmap = [&](uint64_t time, uint64_t start) {
    RawMapping mapping = mmap_of(0, time, start);
    mapping.pid = own;
    return mapping;
  };
  Recording recording(of_process(own));
  recording.look({ForkEvent{10, own, own + 1, own, own}, ExitEvent{20, own, own}});
  recording.look({});
  recording.look({own_mmap(30, 0x1000)}, {{40, own, {0x1010}}});
  CHECK(recording.recorder.summary().unplaced == 0);
  recording.look({ExitEvent{50, own, own + 1}});
  recording.look({});
  recording.look({own_mmap(60, 0x9000)});
  CHECK(recording.finish() ==
        Texts{"own exits", "own maps [code] at 1000", "sample of own at 1010"});
}

TEST_CASE("recorder: the number of a process that has ended is given to another") {
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000), fork_of(1, 2, 20)}, {{25, pid(2), {0x1010}}});
  recording.look({exit_of(2, 30), fork_of(1, 2, 40), mmap_of(2, 50, 0x5000)});
  recording.look({});
  recording.look({});
  recording.look({mmap_of(2, 60, 0x6000)}, {{70, pid(2), {0x5010}}, {71, pid(2), {0x6010}}});
  CHECK(recording.recorder.summary().unplaced == 0);
  CHECK(recording.finish() == Texts{"1 maps [code] at 1000", "1 forks 2",
                                    "2 maps [code] at 1000", "2 exits", "1 forks 2",
                                    "2 maps [code] at 1000", "2 maps [code] at 5000",
                                    "2 maps [code] at 6000", "sample of 2 at 1010",
                                    "sample of 2 at 5010", "sample of 2 at 6010"});
}

TEST_CASE("recorder: what a process leaves is kept when its number is given to another") {
  TemporaryDirectory folder;
  CodeFile program = write_file(folder, "program", some_library());
  std::string map = fmt::format("/tmp/perf-{}.map", pid(2));
  std::ofstream(map) << "1000 10 f\n";
  Recording recording(of_process(pid(1)), {ArchiveMode::kAll});
  recording.look(
      {fork_of(1, 2, 10), program.mapping(2, 20, 0x401000), mmap_of(2, 21, 0x1000, "//anon")},
      {{30, pid(2), {0x1010}}, {31, pid(2), {0x9010}}});
  recording.look({exit_of(2, 40), fork_of(1, 2, 50), exit_of(2, 60)});
  unlink(map.c_str());
  recording.look({});
  recording.look({});
  Texts texts = recording.finish();
  CHECK(std::ranges::count(texts, "map of 2 at 40: 1000 10 f\n") == 1);
  CHECK(std::ranges::count(texts, "archived 1") == 1);
  CHECK(recording.recorder.summary().unplaced == 1);
}

TEST_CASE("recorder: a process that executed a program of other rights is followed again") {
  Recording recording;
  recording.sampler.can_follow = true;
  recording.look({exit_of(1, 20)});
  CHECK(recording.sampler.calls == Texts{"follow 1"});
  recording.look({});
  recording.look({mmap_of(1, 30, 0x1000)}, {{40, pid(1), {0x1010}}});
  CHECK(recording.finish() == Texts{"1 maps [code] at 1000", "sample of 1 at 1010"});
}

TEST_CASE("recorder: a perf map is taken when its process ends, and at the end") {
  auto write_map = [](uint32_t number) {
    std::string path = fmt::format("/tmp/perf-{}.map", pid(number));
    std::ofstream(path) << "1000 10 f\n";
    return path;
  };
  std::string first = write_map(1);
  std::string second = write_map(2);
  Recording recording;
  recording.look(
      {mmap_of(1, 10, 0x1000, "//anon"), fork_of(1, 2, 20), mmap_of(2, 30, 0x5000, "//anon")},
      {{40, pid(2), {0x5010}}, {41, pid(1), {0x1010}}});
  recording.look({exit_of(2, 50)});
  recording.look({});
  unlink(second.c_str());
  Texts texts = recording.finish();
  unlink(first.c_str());
  REQUIRE(texts.size() > 2);
  CHECK(std::ranges::count(texts, "map of 2 at 50: 1000 10 f\n") == 1);
  CHECK(texts.back().starts_with("map of 1 at "));
}

TEST_CASE("recorder: what was mapped unseen is read again when events were lost") {
  Recording recording(of_process(own_pid()));
  recording.look({}, {{20, own_pid(), {std::bit_cast<uint64_t>(&own_pid)}}});
  uint64_t address = map_code();
  std::string mapped = fmt::format("own maps //anon at {:x}", address);
  recording.look({}, {{30, own_pid(), {address}}});
  CHECK(recording.recorder.summary().unplaced == 1);
  SUBCASE("of any process") {
    recording.sampler.lost = 1;
  }
  SUBCASE("of this one") {
    recording.sampler.refused = {own_pid()};
  }
  recording.look({});
  CHECK(recording.recorder.summary().unplaced == 0);
  unmap_code(address);
  Texts texts = recording.finish();
  CHECK(std::ranges::count_if(texts, [&](const std::string& text) { return text == mapped; }) ==
        1);
}

TEST_CASE("recorder: mappings that a helper did not read in time are read again") {
  Recording recording(of_process(own_pid()));
  recording.look({}, {{20, own_pid(), {std::bit_cast<uint64_t>(&own_pid)}}});
  uint64_t address = map_code();
  pid_t helper = last_child();
  REQUIRE(kill(helper, SIGSTOP) == 0);
  recording.sampler.lost = 1;
  recording.look({}, {{30, own_pid(), {address}}});
  CHECK(recording.recorder.summary().hung_looks == 1);
  while (recording.recorder.summary().unplaced > 0) {
    usleep(10'000);
    recording.look({});
  }
  CHECK(recording.recorder.summary().unreadable == 0);
  unmap_code(address);
  Texts texts = recording.finish();
  CHECK(std::ranges::count(texts, fmt::format("own maps //anon at {:x}", address)) == 1);
}

TEST_CASE("recorder: code that no event told of is looked for after a few samples of it") {
  Recording recording(of_process(own_pid()));
  recording.look({}, {{20, own_pid(), {std::bit_cast<uint64_t>(&own_pid)}}});
  uint64_t address = map_code();
  for (uint64_t i = 1; i <= 3; i++) {
    recording.look({}, {{29 + i, own_pid(), {address}}});
    CHECK(recording.recorder.summary().unplaced == i);
  }
  recording.look({}, {{33, own_pid(), {address}}});
  CHECK(recording.recorder.summary().unplaced == 0);
  unmap_code(address);
  Texts texts = recording.finish();
  CHECK(std::ranges::count(texts, fmt::format("own maps //anon at {:x}", address)) == 1);
}

TEST_CASE("recorder: a process whose beginning was lost is followed and read") {
  Recording recording;
  recording.look({}, {{20, own_pid(), {std::bit_cast<uint64_t>(&own_pid)}}});
  CHECK(recording.sampler.calls == Texts{"follow own"});
  CHECK(recording.recorder.summary().unplaced == 0);
  Texts texts = recording.finish();
  CHECK(std::ranges::count_if(
            texts, [](const std::string& text) { return text.starts_with("own maps "); }) > 1);
}

TEST_CASE("recorder: samples of unknown code are counted") {
  Recording recording;
  recording.look({mmap_of(1, 10, 0x1000), fork_of(1, 2, 11)},
                 {{20, pid(1), {0x1010}}, {21, pid(1), {0x2010}}, {22, pid(2), {0x3010}}});
  CHECK(recording.recorder.summary().unplaced == 2);
  recording.look({exit_of(2, 30)});
  recording.look({});
  recording.look({mmap_of(2, 40, 0x3000)});
  CHECK(recording.recorder.summary().unplaced == 2);
}

TEST_CASE("recorder: code is known that the ring of a CPU told of which has gone") {
  Recording recording;
  recording.sampler.of_gone_cpu = {fork_of(1, 2, 11), mmap_of(1, 10, 0x1000)};
  REQUIRE(recording.recorder.write());
  recording.look({}, {{20, pid(1), {0x1010}}, {21, pid(2), {0x1010}}});
  CHECK(recording.recorder.summary().unplaced == 0);
}

TEST_CASE("recorder: threads that are targets are waited for") {
  Scope scope;
  scope.tids = {static_cast<uint32_t>(gettid())};
  Recording recording(scope);
  CHECK_FALSE(recording.recorder.have_threads_ended());
  recording.look({ExitEvent{20, own_pid(), own_pid() + 1}});
  CHECK_FALSE(recording.recorder.have_threads_ended());
  recording.look({ExitEvent{20, own_pid(), static_cast<uint32_t>(gettid())}});
  CHECK(recording.recorder.have_threads_ended());
}

}  // namespace gosym::recorder_test
