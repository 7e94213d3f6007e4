#include <benchmark/benchmark.h>

#include <random>

#include "base/mapped_file.h"
#include "elf/image.h"
#include "output/format.h"
#include "profile/function_totals.h"
#include "profile/replay.h"
#include "program.h"
#include "symbolize/symbolizer.h"

using namespace gosym;

namespace {

constexpr uint32_t kPid = 1;
constexpr size_t kSamples = 100000;
constexpr size_t kStacks = 5000;
constexpr size_t kDepth = 30;
constexpr size_t kCalls = 20000;  // distinct addresses

// A recording of the program: samples of random stacks of its code, in which some are met
// often.
struct Recording {
  RecordedImage image;
  std::vector<Event> events;
  std::vector<std::vector<uint64_t>> stacks;
  std::vector<size_t> samples;  // which stack each has
};

RecordedImage identify(const elf::Image& image) {
  RecordedImage recorded;
  recorded.id = ImageId{1};
  recorded.path = program_path;
  recorded.size = image.file.size();
  recorded.mtime_ns = (*MappedFile::open(program_path))->mtime_ns();
  elf::BuildIds ids = elf::build_ids(image);
  recorded.gnu_build_id = ids.gnu;
  recorded.go_build_id = ids.go;
  for (const elf::Segment& segment : image.segments)
    if (segment.type == PT_LOAD)
      recorded.segments.push_back({segment.offset, segment.file_size,
                                   to_integer(segment.address), segment.memory_size,
                                   segment.flags});
  return recorded;
}

Recording make_recording() {
  auto symbols = open_program();
  Recording recording{.image = identify(symbols->image()),
                      .events = {},
                      .stacks = std::vector<std::vector<uint64_t>>(kStacks),
                      .samples = std::vector<size_t>(kSamples)};
  for (const LoadSegment& segment : recording.image.segments)
    if ((segment.flags & PF_X) != 0)
      recording.events.push_back(MapEvent{0, kPid, segment.address, segment.memory_size,
                                          segment.file_offset, ImageId{1}, program_path});
  std::vector<ImageAddress> calls = code_addresses(*symbols, kCalls);
  std::mt19937 random(1);
  for (std::vector<uint64_t>& stack : recording.stacks)
    for (size_t i = 0; i < kDepth; i++)
      stack.push_back(to_integer(calls[random() % kCalls]));
  for (size_t& sample : recording.samples)
    sample = random() % (1 + random() % kStacks);
  return recording;
}

const Recording& the_recording() {
  static const Recording recording = make_recording();
  return recording;
}

Profile replay_all(const Recording& recording) {
  Replay replay({}, {recording.image}, recording.events);
  RecordedSample sample;
  for (size_t stack : recording.samples) {
    sample.time++;
    sample.pid = sample.tid = kPid;
    sample.user_stack = recording.stacks[stack];
    replay.add(sample);
  }
  return std::move(replay).finish().profile;
}

const Profile& the_profile() {
  static const Profile profile = [] {
    Profile named = replay_all(the_recording());
    symbolize(named, {}, {});
    return named;
  }();
  return profile;
}

void replay_samples(benchmark::State& state) {
  const Recording& recording = the_recording();
  for (auto _ : state) {
    Counted counted;
    benchmark::DoNotOptimize(replay_all(recording));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kSamples));
}
BENCHMARK(replay_samples)->Name("replay")->Unit(benchmark::kMillisecond);

void name_all(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Profile profile = replay_all(the_recording());
    state.ResumeTiming();
    Counted counted;
    benchmark::DoNotOptimize(symbolize(profile, {}, {}));
  }
}
BENCHMARK(name_all)->Name("symbolize")->Unit(benchmark::kMillisecond);

void intern_names(benchmark::State& state) {
  const Profile& profile = the_profile();
  for (auto _ : state) {
    Counted counted;
    StringPool pool;
    for (const Function& function : profile.functions)
      benchmark::DoNotOptimize(pool.intern(profile.strings[function.name]));
  }
  state.SetItemsProcessed(state.iterations() * std::ssize(profile.functions));
}
BENCHMARK(intern_names)->Name("intern")->Unit(benchmark::kMicrosecond);

void total_functions(benchmark::State& state) {
  const Profile& profile = the_profile();
  for (auto _ : state) {
    Counted counted;
    benchmark::DoNotOptimize(function_totals(profile));
  }
}
BENCHMARK(total_functions)->Name("function totals")->Unit(benchmark::kMillisecond);

void write_format(benchmark::State& state, const Format& format) {
  const Profile& profile = the_profile();
  for (auto _ : state) {
    Counted counted;
    benchmark::DoNotOptimize(format.make(profile, {}));
  }
}

const bool are_writers_registered = [] {
  for (const Format& format : formats())
    benchmark::RegisterBenchmark(
        ("write/" + std::string(format.name)).c_str(),
        [&format](benchmark::State& state) { write_format(state, format); })
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
