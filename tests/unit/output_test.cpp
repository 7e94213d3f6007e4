#include <doctest/doctest.h>

#include <filesystem>
#include <utility>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "demo_profile.h"
#include "output/firefox.h"
#include "output/folded.h"
#include "output/format.h"
#include "output/json.h"
#include "output/output_file.h"
#include "output/report_json.h"
#include "output/table.h"
#include "output/text.h"
#include "output/write.h"
#include "temporary_directory.h"
#include "view/selection.h"

namespace gosym::output_test {

namespace {

Result<> write_output(const std::string& path, std::string_view data) {
  auto file = OutputFile::open(path);
  if (!file)
    return std::move(file).error();
  file->write(data);
  return file->finish();
}

std::string text_with(const ViewOptions& options) {
  return make_text(make_demo_profile(), options);
}

}  // namespace

TEST_CASE("text: what was sampled, the table, the largest paths, and what is missing") {
  CHECK(text_with({}) ==
        R"(8 samples of cpu-clock at 100 Hz: 80.0 ms of CPU time in 2.50 s, 0.03 CPUs
recorded   2023-11-14T22:13:20Z on box by gosym record -a, Linux 6.1.0 x86_64
processes  demo (42) 87.5 %, a; b (7) 12.5 %

self %  self ms  total %  total ms  function              program  hottest line
 62.50     50.0    62.50      50.0  main.compute          demo     /src/demo.go:12
 25.00     20.0    25.00      20.0  write                 demo     [kernel.kallsyms]
 12.50     10.0    12.50      10.0  main.loop             a; b     demo
  0.00      0.0    87.50      70.0  main.main             demo     /src/demo.go:31
  0.00      0.0    87.50      70.0  main.process          demo     /src/demo.go:22
  0.00      0.0    25.00      20.0  [stripped libc.so.6]  demo     libc.so.6
  0.00      0.0    12.50      10.0  [no mapping]          a; b

total %  self %  function
  87.50    0.00  ├─ demo > main.main > main.process
  62.50   62.50  │  ├─ main.compute
  25.00   25.00  │  └─ [stripped libc.so.6] > write
  12.50   12.50  └─ a; b > [no mapping] > main.loop ×2

few        8 samples: shares are rough; record longer, or at a higher rate
)");
}

TEST_CASE("text: a narrow screen keeps the CPUs of the first line, not the clock's name") {
  std::string text = text_with({.screen = {.width = 60}});
  CHECK(text.starts_with("8 samples: 80.0 ms of CPU time in 2.50 s, 0.03 CPUs\n"));
}

TEST_CASE("table: several columns of names or paths share the room of a screen") {
  using enum Table::Kind;
  std::string name(80, 'n');
  std::string path(80, 'p');
  Table table = {.columns = {{"self %", kNumber},
                             {"function", kFunction},
                             {"waits in", kName},
                             {"short", kName},
                             {"line", kPath},
                             {"file", kPath}},
                 .rows = {{{"1.00"}, {name}, {name}, {"main"}, {path}, {path}}}};
  for (size_t width : {80, 110, 200}) {
    std::string text = text_of(table, {.width = width});
    CHECK(text.find("main") != std::string::npos);
    for (std::string_view line : split(text, '\n'))
      CHECK(display_width(line) <= width);
  }
}

TEST_CASE("text: load is shown where a line has room for bars") {
  Profile profile = make_demo_profile();
  profile.duration_ns = 2'400'000'000;  // two parts of whole steps
  Timeline& timeline = profile.timelines.emplace_back();
  for (uint64_t i = 0; i < 8; i++)
    timeline.add(i * 300'000'000, 1);
  auto has_load = [&](size_t width) {
    return make_text(profile, {.screen = {.width = width}}).find("\nload ") !=
           std::string::npos;
  };
  for (size_t width = 40; width <= 50; width++)
    CHECK_FALSE(has_load(width));
  CHECK(has_load(51));
  CHECK(has_load(80));
}

TEST_CASE("text: paths begin with the program where no one has nearly all samples") {
  Profile profile = make_demo_profile();
  profile.samples[0].count = 100;
  std::string text = make_text(profile, {});
  CHECK(text.find("demo > main.main") == text.npos);
  CHECK(text.find("main.main > main.process") != text.npos);
}

TEST_CASE("text: all that there is to tell of names and stacks, if it is to be verbose") {
  CHECK(text_with({.is_verbose = true})
            .ends_with(
                R"(names      from pclntab 73.1 %, none 11.5 %, kallsyms 7.7 %, symtab 7.7 %
3 of 24 user frames have no name:
         2  [stripped libc.so.6]  install its debug package, or see --debug-dir and --debuginfod
         1  [no mapping]          the CPU was outside all mapped code, or a mapping was lost
)"));
}

TEST_CASE("text: code without a name is told in a line where samples are in it") {
  Profile profile = make_demo_profile();
  profile.add_stack(std::vector{LocationId{3}});
  profile.samples[0].stack = StackId{3};
  CHECK(make_text(profile, {})
            .find("\nunnamed    62.5 % of the samples, 62.5 % in [stripped libc.so.6]: install "
                  "its debug package, or see --debug-dir and --debuginfod\n") !=
        std::string::npos);
}

TEST_CASE("text: CPU time without a sample is told, and time that was not charged") {
  Profile profile = make_demo_profile();
  profile.info.has_user = profile.info.has_kernel = true;
  profile.stats.cpus = {{.cpu = 0, .samples = 10'000, .lost_samples = 100, .skipped = 400}};
  auto told = [&](uint64_t charged_ns) {
    profile.stats.charged_ns = charged_ns;
    std::string text = make_text(profile, {});
    size_t begin = std::min(text.find("\nunsampled "), text.find("\nexcess "));
    return begin == text.npos ? ""
                              : text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  };
  // At 100 Hz there are 105 s, of which 1 s is chance.
  CHECK(told(0).empty());
  CHECK(told(107'000'000'000).empty());
  CHECK(told(126'500'000'000) ==
        "unsampled  21.50 s (17.0 %) of 126.50 s that the kernel charged has no sample: mostly "
        "its "
        "own switching between threads and timers");
  CHECK(told(101'000'000'000).empty());
  CHECK(told(96'000'000'000) ==
        "excess     the samples stand for 9.00 s (9.4 %) more than the 96.00 s that the kernel "
        "charged: shares may be wrong");
  // Ticks that did not come are of no sample of perf_event's.
  profile.info.sampler = "perf";
  CHECK(told(126'500'000'000).starts_with("unsampled  25.50 s (20.2 %) of 126.50 s"));
  profile.filter = "--pid 42";
  CHECK(told(126'500'000'000).empty());
  profile.filter.clear();
  profile.info.has_kernel = false;
  CHECK(told(126'500'000'000).empty());
}

TEST_CASE("text: of goroutines is told how many there were, and were looked at") {
  Profile profile = make_demo_profile();
  profile.info.events = {{.name = "wall", .frequency = 100, .unit = "nanoseconds"}};
  profile.duration_ns = 1'000'000'000;
  uint64_t count = profile.total_count();
  REQUIRE(count > 0);
  auto told = [&](uint64_t goroutines) {
    profile.samples[0].weight += goroutines * profile.duration_ns - profile.total_amount();
    std::string text = make_text(profile, {});
    size_t begin = text.find("\ngoroutines ");
    return begin == text.npos ? ""
                              : text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  };
  std::string looked_at = fmt::format("{:.1f}", static_cast<double>(count) / 100);
  CHECK(told(10'012) ==
        fmt::format("goroutines 10,012 on average, {} looked at each time", looked_at));
  profile.duration_ns = 10'000'000 * count / 4;  // four each time
  CHECK(told(4) == "goroutines 4 on average, all looked at each time");
  profile.filter = "--pid 42";
  CHECK(told(4).empty());
  profile.filter.clear();
  profile.info.events[0].measure = Measure::kWaiting;
  CHECK(told(4).empty());
}

TEST_CASE("text: the first N, the filter and the loss are told") {
  Profile profile = make_demo_profile();
  profile.filter = "--pid 42";
  profile.stats.lost_samples = 2;
  profile.stats.lost_events = 1;
  std::string text = make_text(profile, {.top = 1});
  auto contains = [&](std::string_view part) { return text.find(part) != text.npos; };
  CHECK(contains("\nonly       --pid 42\n"));
  CHECK(contains("\nlost       2 of 10 samples (20.0 %)\n"));
  CHECK(contains("\nlost       1 events; mappings and names may be missing\n"));
  CHECK(contains(
      " main.compute  demo     /src/demo.go:12\n1 of 7 functions; --top 0 shows all\n"));
  CHECK_FALSE(contains("/src/demo.go:31"));
  CHECK(make_text(profile, {.top = 0}).find("/src/demo.go:31") != text.npos);
}

TEST_CASE("text: when and where samples were lost") {
  Profile profile = make_demo_profile();
  profile.stats.lost_samples = 2;
  profile.stats.cpus = {{0, 4, 1, 0, 0}, {1, 4, 1, 0, 1'500'000'000}};
  profile.losses = {{1'000'000'000, 2'000'000'000, {0, 1, 1, 0, 0}},
                    {3'000'000'000, 4'000'000'000, {1, 1, 1, 0, 1'500'000'000}}};
  std::string text = make_text(profile, {.top = 1});
  CHECK(text.find("lost       2 of 10 samples (20.0 %), from 1.0 to 4.0 s on CPU 0 and 1\n") !=
        text.npos);
  CHECK(text.find("throttled  1.50 s of CPU time without samples, by the kernel, from 3.0 to "
                  "4.0 s on CPU 1\n") != text.npos);
}

TEST_CASE("text: ticks that did not come, and samples that stand for them") {
  Profile profile = make_demo_profile();
  profile.stats.samples = 88;
  profile.stats.lost_samples = 12;
  profile.stats.cpus = {{0, 88, 12, 0, 0, 50, 600'000'000}, {1, 0, 0, 0, 0, 50, 0}};
  profile.losses = {{1'000'000'000, 2'000'000'000, {0, 88, 12, 0, 0, 50, 600'000'000}}};
  profile.samples.front().skipped = 100;
  std::string text = make_text(profile, {.top = 1});
  CHECK(text.starts_with(
      "8 samples of cpu-clock at 100 Hz: 1.08 s of CPU time in 2.50 s, 0.43 CPUs\n"));
  CHECK(text.find(
            "lost       12 of 100 samples (12.0 %), 0.60 s of CPU time, from 1.0 to 2.0 s on "
            "CPU 0\n") != text.npos);
  CHECK(text.find(
            "skipped    100 of 200 ticks (50.0 %), from 1.0 to 2.0 s on CPU 0: sampling, or "
            "the machine, took longer than a tick\n") != text.npos);

  profile.info.sampler = "perf";
  profile.info.has_kernel = false;
  CHECK(make_text(profile, {.top = 1})
            .find("skipped    100 of 200 ticks (50.0 %), 1.00 s of CPU time: they "
                  "came in the kernel, or not at all\n") != text.npos);

  SUBCASE("few are none") {
    profile.stats.cpus.front().skipped = 0;
    profile.stats.cpus.back().skipped = 9;
    CHECK(make_text(profile, {.top = 1}).find("skipped") == text.npos);
  }
  SUBCASE("what a sample stands for is whole ticks") {
    CHECK(profile.skipped_in(0) == 0);
    CHECK(profile.skipped_in(10'000'000) == 0);
    CHECK(profile.skipped_in(30'000'000) == 2);
    profile.info.events[0].frequency = UINT64_MAX;
    CHECK(profile.skipped_in(30'000'000) == 0);
    profile.info.events[0].frequency = 0;
    CHECK(profile.skipped_in(30'000'000) == 0);
  }
}

TEST_CASE("outputs: events that are counted, and not time") {
  Profile profile = make_demo_profile();
  profile.info.events[0] = {"page-faults", 100};
  for (SampleCount& sample : profile.samples)
    sample.weight = sample.count * 1000;
  std::string text = make_text(profile, {.top = 1});
  CHECK(text.starts_with("8 samples of page-faults at 100 Hz: 8,000 page-faults in 2.50 s\n"));
  CHECK(text.find(" 62.50  5,000 ") != text.npos);
  CHECK(written_by(write_folded, profile).find(" 5000\n") != std::string::npos);

  profile.info.events[0].frequency = 0;
  profile.info.events[0].period = 10;
  CHECK(make_text(profile, {.top = 1})
            .starts_with("8 samples of page-faults, one in 10: 80 page-faults in 2.50 s\n"));
}

TEST_CASE("outputs: time that is not CPU time, by state and by who ended it") {
  Profile profile = make_demo_profile();
  profile.info.events[0] = {"off-cpu", 0, 10'000'000, "nanoseconds"};
  for (SampleCount& sample : profile.samples) {
    sample.weight = sample.count * 1'000'000'000;
    profile.change_owner(
        sample, [&](Owner& owner) { owner.state = profile.strings.intern("sleeping"); });
  }
  profile.change_owner(profile.samples[0], [&](Owner& owner) {
    owner.waker = profile.strings.intern("nginx (7)");
  });
  profile.timelines.resize(1);
  std::string text = make_text(profile, {.top = 1});
  CHECK(text.starts_with("8 samples of off-cpu, one in 10 ms: 8.00 s of waiting in 2.50 s\n"));
  CHECK(text.find("load") == text.npos);
  CHECK(text.find(" 5.00 ") != text.npos);
  CHECK(make_text(profile, {.by = {{Dimension::Kind::kState}}}).find(" sleeping\n") !=
        text.npos);
  CHECK(make_text(profile, {.by = {{Dimension::Kind::kWaker}}}).find("  nginx (7)\n") !=
        text.npos);
  CHECK(profile.skipped_in(30'000'000) == 0);
}

TEST_CASE("formats: one that writes each sample by itself refuses more than can be written") {
  Profile profile = make_demo_profile();
  CHECK(check_samples(profile, *find_format("script")));
  profile.samples[0].count = 5'000'000'000;
  CHECK(check_samples(profile, *find_format("folded")));
  auto checked = check_samples(profile, *find_format("script"));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message() ==
        "script writes each sample by itself: 5,000,000,003 are more than 200,000,000");
}

TEST_CASE("firefox: the interval is that of the first clock, or 1 ms") {
  Profile profile = make_demo_profile();
  auto has = [&](std::string_view part) {
    return written_by(write_firefox, profile).find(part) != std::string::npos;
  };
  CHECK(has("\"interval\":10.0,"));
  RecordedEvent clock = profile.info.events[0];
  profile.info.events = {{"off-cpu", 0, 10'000'000, "nanoseconds"}};
  CHECK(has("\"interval\":1.0,"));
  profile.info.events.push_back(clock);
  CHECK(has("\"interval\":10.0,"));
}

TEST_CASE("outputs: whose threshold was raised, and to what, of waits") {
  Profile profile = make_demo_profile();
  std::vector<RaisedThreshold> raised;
  for (uint32_t pid = 1; pid <= 12; pid++)
    raised.push_back(
        {.pid = pid, .process = profile.strings.intern("a\x1b[2J"), .nanoseconds = 80'000'000});
  profile.raised_thresholds = {raised[0]};
  CHECK(make_text(profile, {.top = 1}).find("threshold") == std::string::npos);
  CHECK(make_report_json(profile, {}).find("raised_thresholds") == std::string::npos);

  profile.info.events[0] = {"off-cpu", 0, 10'000'000, "nanoseconds"};
  CHECK(make_text(profile, {.top = 1})
            .find("threshold  up to 80 ms for a\\x1b[2J (1), which waited more often") !=
        std::string::npos);
  CHECK(make_report_json(profile, {}).find("\"threshold_ns\":80000000") != std::string::npos);
  profile.raised_thresholds = raised;
  std::string text = make_text(profile, {.top = 1});
  CHECK(text.find("(12)") == std::string::npos);
  CHECK(text.find(" more, which waited more often") != std::string::npos);
}

TEST_CASE("outputs: of several events one is selected, with what was counted of it") {
  Profile profile = make_demo_profile();
  profile.info.events.push_back({"page-faults", 99, 0});
  profile.change_owner(profile.samples[1], [&](Owner& owner) { owner.event = 1; });
  profile.samples[1].weight = 4000;
  profile.unwound.cut = 7;
  profile.unwound_by_event = {{.cut = 5}, {.cut = 2}};
  profile.recorded_amounts = {10, 8000};
  profile.stats = {.time = 1, .samples = 110, .lost_samples = 12, .lost_events = 3};
  profile.stats.cpus = {{.cpu = 2, .samples = 100, .lost_samples = 10, .lost_events = 3},
                        {.cpu = 2, .samples = 10, .lost_samples = 2, .event = 1}};
  profile.losses = {{0, 9, profile.stats.cpus[0]}, {0, 9, profile.stats.cpus[1]}};

  const Profile clock = of_event(profile, 0);
  CHECK(clock.info.events == std::vector<RecordedEvent>{{"cpu-clock", 100, 0}});
  CHECK(clock.samples.size() == 2);
  CHECK(clock.unwound.cut == 5);
  CHECK(clock.stats.samples == 100);
  CHECK(clock.stats.lost_samples == 10);

  const Profile faults = of_event(profile, 1);
  // Code is not copied.
  CHECK(&faults.locations[0] == &std::as_const(profile).locations[0]);
  CHECK(faults.strings[faults.functions[0].name].data() ==
        profile.strings[profile.functions[0].name].data());
  CHECK(faults.info.events.size() == 1);
  CHECK(faults.event().name == "page-faults");
  CHECK_FALSE(faults.measures_time());
  CHECK(faults.total_count() == 2);
  CHECK(faults.total_amount() == 4000);
  CHECK(faults.unwound.cut == 2);
  CHECK(faults.stats.samples == 10);
  CHECK(faults.stats.lost_samples == 2);
  CHECK(faults.recorded_amounts == std::vector<uint64_t>{8000});
  // Nobody knows of which event these are.
  CHECK(faults.stats.sum_of(&CpuCounts::lost_events) == 3);
  CHECK(faults.losses[0].counts == CpuCounts{.cpu = 2, .lost_events = 3});
  CHECK(faults.losses[1].counts.lost_samples == 2);
  CHECK(make_text(faults, {.top = 1})
            .starts_with("2 samples of page-faults at 99 Hz: 4,000 page-faults in 2.50 s\n"));
  CHECK(profile.info.events.size() == 2);
  CHECK(profile.total_count() == 8);
  CHECK(profile.unwound.cut == 7);
}

TEST_CASE("stats: skipped ticks are a share of those of their own event") {
  RecordingStats stats{.samples = 1100};
  stats.cpus = {{.cpu = 0, .samples = 80, .skipped = 20},
                {.cpu = 0, .samples = 1000, .event = 1},
                {.cpu = 1, .samples = 20}};
  CHECK(stats.due_ticks() == 120);
  CHECK(stats.skipped_percent() == doctest::Approx(100 * 20 / 120.0));
}

TEST_CASE("text: of what has no name the first N, and --top 0 all") {
  auto verbose = [](size_t top) { return text_with({.top = top, .is_verbose = true}); };
  CHECK(verbose(2).ends_with("a mapping was lost\n"));
  CHECK(verbose(1).ends_with(" --debuginfod\n1 of 2 rows; --top 0 shows all\n"));
  CHECK(verbose(0).ends_with("a mapping was lost\n"));
}

TEST_CASE("text: a library that names some of its code is told from one that names none") {
  Profile profile = make_demo_profile();
  Location exported = profile.locations[3];
  REQUIRE(exported.unnamed == Unnamed::kStripped);
  profile.frames.push_back({FunctionId{0}, 0, FrameSource::kDynsym});
  exported.first_frame = static_cast<uint32_t>(profile.frames.size() - 1);
  exported.frame_count = 1;
  profile.locations.push_back(exported);
  std::string_view remedy = "names only what it exports: ";
  ViewOptions verbose = {.is_verbose = true};
  CHECK(make_text(profile, verbose).find(remedy) == std::string::npos);  // in no stack
  profile.stack_locations.push_back(LocationId{8});
  profile.stack_begin.back()++;
  CHECK(make_text(profile, verbose).find(remedy) != std::string::npos);
}

TEST_CASE("text: what was done to stacks is told, and once") {
  Profile profile = make_demo_profile();
  profile.unwound = {.samples = 8, .repaired = 4, .cut = 2, .unknown = 1};
  std::string text = make_text(profile, {.is_verbose = true});
  CHECK(text.find(
            "\ntruncated  25.0 % of the stacks are incomplete: total % is a lower bound\n") !=
        std::string::npos);
  CHECK(text.find(
            "\nrepaired   50.0 % of the stacks: missing callers found by unwind tables\n") !=
        std::string::npos);
  CHECK(text.find(
            "\nunknown    12.5 % of the stacks end in code without unwind tables: callers may "
            "be missing\n") != std::string::npos);
  CHECK(text.find("truncated") == text.rfind("truncated"));
}

TEST_CASE("text: of stacks that were selected nobody knows how many are incomplete") {
  Profile profile = make_demo_profile();
  profile.unwound = {.samples = 8, .cut = 2};
  select(profile, {.focus = {*Pattern::parse("main.loop")}});
  CHECK(profile.total_count() == 1);
  CHECK(make_text(profile, {}).find("\ntruncated  25.0 % of all stacks are incomplete: ") !=
        std::string::npos);
}

TEST_CASE(
    "text: sources that round to nothing are left out, a symbol without a size is a guess") {
  Profile profile = make_demo_profile();
  profile.samples[0].count = 9990;
  profile.frames.back().source = FrameSource::kLabel;
  std::string rare = make_text(profile, {.is_verbose = true});
  CHECK(rare.find("\nnames      from pclntab 100.0 %\n") != std::string::npos);
  profile.samples[2].count = 9990;
  CHECK(make_text(profile, {.is_verbose = true}).find(", guess 16.7 %") != std::string::npos);
}

namespace {

void add_sample(Profile& profile, uint32_t pid, std::string_view comm) {
  OwnerId owner =
      profile.owners.intern({.pid = pid, .tid = pid, .comm = profile.strings.intern(comm)});
  profile.samples.push_back({.stack = StackId{0}, .owner = owner, .count = 1});
}

}  // namespace

TEST_CASE("text: of many processes five names are told, by --top 0 all of them") {
  Profile profile = make_demo_profile();
  for (uint32_t pid = 100; pid < 105; pid++)
    add_sample(profile, pid, "sh");
  CHECK(make_text(profile, {})
            .find("\nprocesses  demo (42) 53.8 %, sh (5 processes) 38.5 %, a; b (7) 7.7 %\n") !=
        std::string::npos);
  for (uint32_t pid = 200; pid < 204; pid++)
    add_sample(profile, pid, std::to_string(pid));
  CHECK(make_text(profile, {}).find(" 201 (201) 5.9 %, and 2 more\n") != std::string::npos);
  std::string all = make_text(profile, {.top = 0});
  CHECK(all.find(" sh (104) 5.9 %") != std::string::npos);
  CHECK(all.find(" more\n") == std::string::npos);
}

TEST_CASE("text: names cannot drive the terminal, and long ones are whole") {
  Profile profile = make_demo_profile();
  std::string name = "\x1b[31m" + std::string(300, 'x');
  profile.functions[0].name = profile.strings.intern(name);
  profile.info.host = "\x1b]0;";
  std::string text = make_text(profile, {.top = 0});
  CHECK(text.find('\x1b') == text.npos);
  CHECK(text.find("\\x1b[31m" + std::string(300, 'x') + "  demo     /src/demo.go:31\n") !=
        text.npos);
}

TEST_CASE("folded: outermost first, kernel frames marked, separators replaced") {
  CHECK(written_by(write_folded, make_demo_profile()) ==
        "a: b;[no mapping];main.loop;main.loop 1\n"
        "demo;main.main;main.process;[stripped libc.so.6];write_[k] 2\n"
        "demo;main.main;main.process;main.compute 5\n");
}

TEST_CASE("folded: equal lines of different threads are one") {
  Profile profile = make_demo_profile();
  SampleCount other = profile.samples[0];
  profile.change_owner(other, [](Owner& owner) { owner.tid++; });
  profile.samples.push_back(other);
  CHECK(written_by(write_folded, profile).find("main.compute 10\n") != std::string::npos);
}

TEST_CASE("folded: a user's name does not pass for the kernel's") {
  Profile profile = make_demo_profile();
  profile.functions[0].name = profile.strings.intern("evil_[k]");
  profile.functions[1].name = profile.strings.intern("evil_[j]");
  profile.change_owner(profile.samples[0],
                       [&](Owner& owner) { owner.comm = profile.strings.intern("init_[k]"); });
  std::string text = written_by(write_folded, profile);
  CHECK(text.find("init_[k\\x5d;evil_[k\\x5d;evil_[j\\x5d;") != text.npos);
  CHECK(text.find(";write_[k] ") != text.npos);
}

TEST_CASE("folded: a difference has every line of both, those before to scale") {
  Profile before = make_demo_profile();
  Profile after = make_demo_profile();
  before.samples.pop_back();
  after.samples.own().erase(after.samples.begin());
  std::string text = written_by(write_folded_difference, before, after, 2);
  CHECK(text ==
        "a: b;[no mapping];main.loop;main.loop 0 1\n"
        "demo;main.main;main.process;[stripped libc.so.6];write_[k] 4 2\n"
        "demo;main.main;main.process;main.compute 10 0\n");
}

TEST_CASE("folded: a difference has all digits of a large amount") {
  Profile large = make_demo_profile();
  large.samples.resize(1);
  large.samples[0].count = (uint64_t{1} << 53) + 1;
  std::string text = written_by(write_folded_difference, large, large, 1);
  CHECK(text.ends_with(" 9007199254740993 9007199254740993\n"));
}

TEST_CASE("folded: a difference ends where its reader does") {
  Profile profile = make_demo_profile();
  int lines = 0;
  write_folded_difference(profile, profile, 1, [&](std::string_view) {
    lines++;
    return false;
  });
  CHECK(lines == 1);
}

TEST_CASE("folded: lines are sorted as text") {
  Profile profile = make_demo_profile();
  for (std::string_view comm : {"demo;", "demo!", "dem"}) {
    SampleCount other = profile.samples[0];
    profile.change_owner(other,
                         [&](Owner& owner) { owner.comm = profile.strings.intern(comm); });
    profile.samples.push_back(other);
  }
  for (size_t i = 0; i < 2; i++)
    profile.functions[i].name = profile.strings.intern(i == 0 ? "main" : "main.f");
  profile.add_stack(std::vector(profile.stack(profile.samples[0].stack).begin() + 1,
                                profile.stack(profile.samples[0].stack).end()));
  SampleCount shorter = profile.samples[0];
  shorter.stack = StackId{static_cast<uint32_t>(profile.stack_count() - 1)};
  profile.samples.push_back(shorter);
  std::string text = written_by(write_folded, profile);
  std::vector<std::string_view> lines = split(text, '\n');
  REQUIRE(lines.size() == 8);
  for (size_t i = 1; i + 1 < lines.size(); i++)
    CHECK(lines[i - 1].substr(0, lines[i - 1].rfind(' ')) <
          lines[i].substr(0, lines[i].rfind(' ')));
}

TEST_CASE("json: every character that a terminal acts on, or nobody sees, is escaped") {
  for (int c = 0; c < 0x100; c++) {
    JsonWriter json;
    json.value(std::string(16, 'a') + static_cast<char>(c) + std::string(16, 'b'));
    CAPTURE(c);
    CHECK(is_printable(json.text()));
  }
  JsonWriter json;
  json.value("\x1a\x1f\u200b\"\\\xff\U000e0041·");
  CHECK(json.text() == "\"\\u001A\\u001F\\u200B\\\"\\\\\ufffd\\uDB40\\uDC41·\"");
}

TEST_CASE("formats: by name") {
  CHECK(formats().front().name == "text");
  ViewOptions top = {.top = 1};
  CHECK(written_by(find_format("folded")->write, make_demo_profile(), top) ==
        written_by(write_folded, make_demo_profile()));
  CHECK(written_by(find_format("text")->write, make_demo_profile(), top) ==
        make_text(make_demo_profile(), top));
  CHECK(find_format("pprof")->is_binary);
  CHECK(find_format("png") == nullptr);
}

TEST_CASE("output file: a regular file is replaced whole") {
  TemporaryDirectory directory;
  std::string path = directory / "out";
  REQUIRE(write_output(path, "one"));
  REQUIRE(write_output(path, "two"));
  CHECK(*read_file(path, 10) == "two");
  CHECK(std::distance(std::filesystem::directory_iterator(directory / ""), {}) == 1);
}

TEST_CASE("output file: a link is followed") {
  TemporaryDirectory directory;
  std::filesystem::create_symlink("target", directory / "link");
  REQUIRE(write_output(directory / "link", "text"));
  CHECK(std::filesystem::is_symlink(directory / "link"));
  CHECK(*read_file(directory / "target", 10) == "text");
}

TEST_CASE("output file: what goes wrong is told, and leaves nothing") {
  TemporaryDirectory directory;
  std::string missing = directory / "no/out";
  auto result = write_output(missing, "x");
  REQUIRE_FALSE(result);
  CHECK(result.error().message() ==
        fmt::format("cannot write '{}': No such file or directory", missing));
  CHECK(result.error().exit_status() == kFailure);

  std::string subdirectory = directory / "sub";
  std::filesystem::create_directory(subdirectory);
  CHECK(write_output(subdirectory, "x").error().message() ==
        fmt::format("cannot write '{}': Is a directory", subdirectory));

  auto full = write_output("/dev/full", "x");
  REQUIRE_FALSE(full);
  CHECK(full.error().message() == "cannot write '/dev/full': No space left on device");
  CHECK(full.error().exit_status() == kPartial);
}

}  // namespace gosym::output_test
