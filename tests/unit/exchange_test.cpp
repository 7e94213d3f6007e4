#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "demo_profile.h"
#include "exchange/folded_reader.h"
#include "exchange/gunzip.h"
#include "exchange/input_kind.h"
#include "exchange/pprof_reader.h"
#include "output/folded.h"
#include "output/pprof.h"
#include "output/write.h"
#include "profile/accumulated_profile.h"
#include "profile/filter.h"

namespace gosym::exchange_test {

namespace {

constexpr uint64_t kBudget = 100 << 20;

std::string folded(const Profile& profile) {
  return written_by([&](const Write& write) { write_folded(profile, write); });
}

std::string folded_again(std::string_view text) {
  auto profile = read_folded(text, kBudget);
  return profile ? folded(*profile) : profile.error().message();
}

std::string problem_of(const Result<Profile>& profile) {
  return profile ? "none" : profile.error().message();
}

std::string encoded(const Profile& profile) {
  return written_by([&](const Write& write) { encode_pprof(profile, write); });
}

// The demo profile as pprof has it: what has no name has none yet.
constexpr std::string_view kDemoInTicks =
    "a: b;[no mapping];main.loop;main.loop 1\n"
    "demo;main.main;main.process;[not symbolized];write_[k] 2\n"
    "demo;main.main;main.process;main.compute 5\n";

// A profile.proto, put together field by field.
class Pprof {
public:
  Pprof() {
    for (std::string_view text : {"", "cpu", "nanoseconds", "samples", "count", "f", "f.go"})
      out_.add_string(6, text.data(), text.size());
  }
  Pprof& message(uint32_t field, std::initializer_list<std::pair<uint32_t, uint64_t>> numbers) {
    protozero::pbf_writer message(out_, field);
    for (auto [number, value] : numbers)
      message.add_uint64(number, value);
    return *this;
  }
  Pprof& text(std::string_view text) {
    out_.add_string(6, text.data(), text.size());
    return *this;
  }
  Pprof& number(uint32_t field, uint64_t value) {
    out_.add_uint64(field, value);
    return *this;
  }
  Pprof& location(uint64_t id, uint64_t mapping, uint64_t function, uint64_t line) {
    protozero::pbf_writer message(out_, 4);
    message.add_uint64(1, id);
    message.add_uint64(2, mapping);
    protozero::pbf_writer lines(message, 4);
    lines.add_uint64(1, function);
    lines.add_uint64(2, line);
    return *this;
  }
  // A location of so many calls.
  Pprof& inlined_calls(uint64_t id, uint64_t function, size_t count) {
    protozero::pbf_writer message(out_, 4);
    message.add_uint64(1, id);
    for (size_t i = 0; i < count; i++)
      protozero::pbf_writer(message, 4).add_uint64(1, function);
    return *this;
  }
  Pprof& sample_with_label(std::initializer_list<std::pair<uint32_t, uint64_t>> label) {
    protozero::pbf_writer message(out_, 2);
    message.add_uint64(2, 1);
    protozero::pbf_writer numbers(message, 3);
    for (auto [number, value] : label)
      numbers.add_uint64(number, value);
    return *this;
  }
  // Enough for samples of CPU time in one function.
  static Pprof of_cpu() {
    Pprof pprof;
    pprof.message(1, {{1, 1}, {2, 2}});
    return pprof;
  }

  std::string problem() const { return problem_of(read_pprof(data_, kBudget)); }
  const std::string& data() const { return data_; }

private:
  std::string data_;
  protozero::pbf_writer out_{data_};
};

}  // namespace

TEST_CASE("input kind: told by content") {
  CHECK(detect_input_kind("") == InputKind::kRecording);
  CHECK(detect_input_kind("GOSYMRAW\1\2") == InputKind::kRecording);
  CHECK(detect_input_kind("\x1f\x8b\x08") == InputKind::kPprof);
  CHECK(detect_input_kind(Pprof::of_cpu().data()) == InputKind::kPprof);
  CHECK(detect_input_kind("main;f 12\n") == InputKind::kFolded);
  CHECK(detect_input_kind("\n\nmain;f 12") == InputKind::kFolded);
  CHECK(detect_input_kind("main;f 12\r\n") == InputKind::kFolded);
  CHECK(detect_input_kind("# austin: 3.6.0\n# mode: wall\n\nP1;f 12\n") == InputKind::kFolded);
  for (std::string_view number : {"12.5", ".5", "1e-05", "-3", "1.5 -2"})
    CHECK(detect_input_kind(fmt::format("main;f {}\n", number)) == InputKind::kFolded);
  CHECK(detect_input_kind("# a heading\na text of words\n") == InputKind::kRecording);
  CHECK(detect_input_kind("main " + std::string(10'000, 'f')) == InputKind::kFolded);
  CHECK(detect_input_kind("a text of words\n") == InputKind::kRecording);
  CHECK(detect_input_kind("PERFILE2\n1\1") == InputKind::kRecording);
  CHECK(detect_input_kind("\177ELF\2\1\1") == InputKind::kRecording);
  CHECK(detect_input_kind("\x89PNG\r\n\x1a\n") == InputKind::kRecording);
}

TEST_CASE("folded reader: what is written is what was read") {
  CHECK(folded_again("main;f 12\nmain;g;sys_read_[k] 3\n") ==
        "main;f 12\nmain;g;sys_read_[k] 3\n");
  CHECK(folded_again("main;f 1\nmain;f 2\n") == "main;f 3\n");
  CHECK(folded_again("a name with spaces;x 2\r\n\n") == "a name with spaces;x 2\n");
  CHECK(folded_again("main;[stripped libc.so.6];… 400 frames …;f 7\n") ==
        "main;[stripped libc.so.6];… 400 frames …;f 7\n");
  CHECK(folded_again("f 0\n").empty());
  CHECK(folded_again("# austin: 3.6.0\n# mode: wall\n\nP1;T2;f 5\n# duration: 12\n") ==
        "P1;T2;f 5\n");
}

TEST_CASE("folded reader: what cannot stand in a line is as it was before it was written") {
  // ESC, a mark of direction, what is no UTF-8, and a name that ends as a mark does.
  std::string_view text =
      "main\\x1b[31m;a\\xe2\\x80\\xaeb\\xff;evil_[k\\x5d;\\x41\\x;\\xzz\\x1 3\n";
  auto profile = read_folded(text, kBudget);
  REQUIRE(profile);
  for (std::string_view name : {"main\x1b[31m",
                                "a\u202e"
                                "b\xff",
                                "evil_[k]", "\\x41\\x", "\\xzz\\x1"})
    CHECK(std::ranges::any_of(profile->functions, [&](const Function& function) {
      return profile->strings[function.name] == name;
    }));
  CHECK(folded_again(std::string(text)) == text);
}

TEST_CASE("folded reader: marks tell inlined and compiled code") {
  auto profile = read_folded("main;f;g_[i];h_[i] 2\nmain;jit_[j] 1\n_[k];x_[i] 1\n", kBudget);
  REQUIRE(profile);
  CHECK(folded(*profile) == "_[k\\x5d;x 1\nmain;f;g;h 2\nmain;jit 1\n");
  const Location& leaf = profile->locations[to_index(profile->stack(StackId{0}).front())];
  CHECK(leaf.frame_count == 3);
}

TEST_CASE("folded reader: stand-ins have no name") {
  auto profile = read_folded("main;[deleted server] 4\n[odd] 1\n", kBudget);
  REQUIRE(profile);
  const Location& deleted = profile->locations[to_index(profile->stack(StackId{0}).front())];
  CHECK_FALSE(profile->is_named(deleted));
  CHECK(deleted.unnamed == Unnamed::kDeleted);
  const Location& odd = profile->locations[to_index(profile->stack(StackId{1}).front())];
  CHECK(odd.unnamed == Unnamed::kNotSymbolized);
}

TEST_CASE("folded reader: functions are Go's where its runtime is") {
  auto source_of = [](std::string_view text) {
    auto profile = read_folded(text, kBudget);
    return profile->frames.front().source;
  };
  CHECK(source_of("runtime.goexit;main.main 1\n") == FrameSource::kGivenGo);
  CHECK(source_of("java.lang.Thread;main.main 1\n") == FrameSource::kGiven);
}

TEST_CASE("folded reader: what is wrong is named with its line") {
  CHECK(folded_again("main 1\nmain;f\n") == "line 2: it does not end in a number: 'main;f'");
  for (std::string number : {"0.25", ".5", "1e-05", "2.5E+3", "3."})
    CHECK(folded_again("main 1\nmain;f " + number + "\n") ==
          "line 2: its count is a fraction: '" + number + "'");
  CHECK(folded_again("main -1\n") == "line 1: its count is negative: '-1'");
  CHECK(folded_again("main 1.5 2.5\n") ==
        "line 1: it ends in two numbers: this is a difference of two profiles");
  for (std::string text : {"1e", ".", "-", "e5", "1.2.3", "--1", "1e+"})
    CHECK(folded_again("main " + text + "\n") ==
          "line 1: it does not end in a number: 'main " + text + "'");
  CHECK(folded_again("main 99999999999999999999\n") ==
        "line 1: its count is too large: '99999999999999999999'");
  CHECK(folded_again("a 9223372036854775807\nb 1\n") ==
        "line 2: its count is too large, the counts have no sum of 63 bits: '1'");
  CHECK(folded_again("a 1 2\nb 0 3\n") ==
        "each line ends in two numbers: this is a difference of two profiles");
  CHECK(folded_again("main 1 2\nmain 3\n") == "main 3\nmain 1 2\n");
}

TEST_CASE("folded reader: every prefix is read or refused") {
  std::string_view text = "main;f;g_[i] 12\nmain;[stripped x];h_[k] 3\n";
  for (size_t size = 0; size <= text.size(); size++) {
    CAPTURE(size);
    auto profile = read_folded(text.substr(0, size), kBudget);
    if (profile)
      CHECK(profile->total_amount() <= 15);
  }
}

TEST_CASE("readers: memory is bounded") {
  std::string text;
  for (int i = 0; i < 20'000; i++)
    text += fmt::format("f{} 1\n", i);
  CHECK(read_folded(text, kBudget));
  CHECK(problem_of(read_folded(text, 100'000)).ends_with("take too much memory"));
  auto profile = read_folded(text, kBudget);
  CHECK(problem_of(read_pprof(encoded(*profile), 100'000)).ends_with("too much memory"));
}

TEST_CASE("pprof reader: what write_pprof() wrote") {
  Profile demo = make_demo_profile();
  auto profile = read_pprof(encoded(demo), kBudget);
  REQUIRE(profile);
  CHECK(folded(*profile) == kDemoInTicks);
  CHECK(profile->total_count() == 8);
  CHECK(profile->total_amount() == 8);
  CHECK(profile->period() == 10'000'000);
  CHECK(profile->info.events.front().name == "cpu-clock");
  CHECK(profile->info.source == "a pprof profile");
  CHECK(encoded(*profile) == encoded(*read_pprof(encoded(*profile), kBudget)));
}

TEST_CASE("pprof reader: ticks of a clock, where all samples are some number of them") {
  Profile demo = make_demo_profile();
  demo.samples[0].skipped = 3;
  auto ticks = read_pprof(encoded(demo), kBudget);
  REQUIRE(ticks);
  CHECK(ticks->total_amount() == 11);
  CHECK(ticks->total_count() == 8);
  auto has_nanoseconds = [&] {
    auto profile = read_pprof(encoded(demo), kBudget);
    return profile && profile->info.events.front().unit == "nanoseconds" &&
           profile->info.events.front().name == "cpu";
  };
  CHECK_FALSE(has_nanoseconds());
  // Their period is not the one that the event's frequency has.
  demo.info.events.front() = {.name = "cpu-clock", .period = 7};
  CHECK(has_nanoseconds());
  demo.info.events.front() = {.name = "cpu", .period = 10'000'000, .unit = "nanoseconds"};
  CHECK(has_nanoseconds());
}

TEST_CASE("pprof reader: compressed, in one member or more") {
  Profile demo = make_demo_profile();
  std::string file = written_by([&](const Write& write) { write_pprof(demo, write); });
  CHECK(folded(*read_pprof(file, kBudget)) == kDemoInTicks);
  std::string twice = *gunzip(file + file, kBudget);
  CHECK(twice.size() == 2 * gunzip(file, kBudget)->size());
  CHECK(gunzip(file, 100).error().message() == "gzip: more than 100 B unpacked");
  for (size_t size = 0; size < file.size(); size++)
    CHECK_FALSE(gunzip(file.substr(0, size), kBudget));
  std::string damaged = file;
  damaged[damaged.size() / 2] ^= 0x55;
  CHECK_FALSE(read_pprof(damaged, kBudget));
}

namespace {

// samples/count, cpu/count, f/nanoseconds, without a default type: the last is shown first.
Pprof of_three_values() {
  Pprof pprof;
  pprof.message(1, {{1, 3}, {2, 4}}).message(1, {{1, 1}, {2, 4}}).message(1, {{1, 5}, {2, 2}});
  pprof.message(2, {{2, 7}, {2, 8}, {2, 9}}).message(2, {{2, 0}, {2, 1}, {2, 0}});
  return pprof;
}

std::vector<std::string> shown_names(const Profile& profile) {
  std::vector<std::string> names;
  for (const RecordedEvent& event : shown_events(profile.info.events))
    names.push_back(event.name);
  return names;
}

// "samples/count cpu/count; 7 8 9; 0 1 0": the values of a file that was written, by column.
std::string values_text(std::string_view pprof) {
  std::vector<std::string> texts;
  std::string types;
  std::string samples;
  for (protozero::pbf_reader message(pprof.data(), pprof.size()); message.next();)
    if (message.tag() == 6)
      texts.push_back(message.get_string());
    else
      message.skip();
  for (protozero::pbf_reader file(pprof.data(), pprof.size()); file.next();) {
    bool is_type = file.tag() == 1;
    if (!is_type && file.tag() != 2) {
      file.skip();
      continue;
    }
    samples += is_type ? "" : ";";
    for (protozero::pbf_reader message = file.get_message(); message.next();)
      if (is_type)
        types += (message.tag() == 1 ? " " : "/") + texts.at(message.get_uint64());
      else if (message.tag() == 2)
        for (int64_t value : message.get_packed_int64())
          samples += fmt::format(" {}", value);
      else
        message.skip();
  }
  return types.substr(1) + samples;
}

}  // namespace

TEST_CASE("pprof reader: sample types are the values of one event, the default first") {
  Pprof pprof = of_three_values();
  auto last = read_pprof(pprof.data(), kBudget);
  REQUIRE(last);
  REQUIRE(last->info.events.size() == 1);
  CHECK(last->event().name == "f");
  CHECK(last->event().unit == "nanoseconds");
  CHECK(shown_names(*last) == std::vector<std::string>{"f", "cpu", "samples"});
  CHECK_FALSE(last->info.has_counts);
  // A sample of nothing but 0 in the value that is shown first stays whole.
  REQUIRE(last->samples.size() == 2);
  CHECK(last->amount(last->samples[0]) == 9);
  CHECK(last->amount(last->samples[0], 1) == 8);
  CHECK(last->amount(last->samples[0], 2) == 7);
  CHECK(last->amount(last->samples[1]) == 0);
  CHECK(last->amount(last->samples[1], 1) == 1);
  pprof.number(14, 1);
  CHECK(shown_names(*read_pprof(pprof.data(), kBudget)) ==
        std::vector<std::string>{"cpu", "samples", "f"});
}

TEST_CASE("pprof: values are written as they were read, whichever is shown first") {
  Pprof pprof = of_three_values();
  constexpr std::string_view kValues =
      "samples/count cpu/count f/nanoseconds; 7 8 9; 0 1 0; 0 0 0; 2 0 4";
  pprof.message(2, {{2, 0}, {2, 0}, {2, 0}}).message(2, {{2, 2}, {2, 0}, {2, 4}});
  for (uint64_t default_type : {0, 1, 3, 5}) {
    auto profile = read_pprof(pprof.number(14, default_type).data(), kBudget);
    REQUIRE(profile);
    CHECK(values_text(encoded(*profile)) == kValues);
    auto again = read_pprof(encoded(*profile), kBudget);
    REQUIRE(again);
    CHECK(again->info.events == profile->info.events);
    CHECK(values_text(encoded(*again)) == kValues);
  }
}

TEST_CASE("profile: a value of an event is shown as an event") {
  Profile profile = *read_pprof(of_three_values().data(), kBudget);
  profile.recorded_amounts = {90, 80, 70};
  Profile cpu = of_event(profile, 1);
  CHECK(cpu.info.events ==
        std::vector<RecordedEvent>{{.name = "cpu", .period = 1, .unit = "count"}});
  CHECK(cpu.total_amount() == 9);
  CHECK(cpu.total_count() == 2);
  CHECK(cpu.recorded_amounts == std::vector<uint64_t>{80});
  CHECK(of_event(profile, 0).samples.size() == 1);
  CHECK(values_text(encoded(of_event(profile, 2))) == "samples/count; 7");
  // All at once, in the order of the file: as many samples as there are amounts.
  Profile apart = with_values_apart(profile);
  CHECK(shown_names(apart) == shown_names(profile));
  CHECK_FALSE(has_values(apart.info.events));
  REQUIRE(apart.samples.size() == 4);
  CHECK(apart.owner(apart.samples[0]).event == 2);
  CHECK(apart.amount(apart.samples[0]) == 7);
  CHECK(apart.amount(apart.samples[2]) == 9);
  CHECK(apart.owner(apart.samples[3]).event == 1);
  CHECK(apart.amount(apart.samples[3]) == 1);
}

TEST_CASE("profile: values of samples that become equal are added up, each to its own") {
  Profile profile = *read_pprof(of_three_values().data(), kBudget);
  Profile before = profile;
  drop_unused_stacks(profile);
  REQUIRE(profile.samples.size() == 1);
  CHECK(values_text(encoded(profile)) == "samples/count cpu/count f/nanoseconds; 7 9 9");
  // Copies share nothing that was changed.
  CHECK(before.amount(before.samples[0], 1) == 8);
  AccumulatedProfile sum(AccumulatedProfile::kNoLimits);
  sum.add(before);
  sum.add(profile);
  CHECK(values_text(encoded(sum.profile())) ==
        "samples/count cpu/count f/nanoseconds; 14 18 18");
  // An event with other values is another one.
  sum.add(of_event(before, 1));
  CHECK(values_text(encoded(sum.profile())) ==
        "samples/count cpu/count f/nanoseconds cpu/count; 14 18 18 0; 0 0 0 9");
}

TEST_CASE("pprof reader: a file of several events has them, as the recording did") {
  Profile demo = make_demo_profile();
  demo.info.events.push_back({"page-faults", 99, 0});
  demo.change_owner(demo.samples[1], [&](Owner& owner) { owner.event = 1; });
  demo.samples[1].weight = 4000;
  auto again = read_pprof(encoded(demo), kBudget);
  REQUIRE(again);
  CHECK(again->info.events.size() == 2);
  CHECK(again->samples.size() == 3);
  CHECK(again->other_amounts.empty());
}

TEST_CASE("pprof reader: samples have a value of each sample type") {
  CHECK(of_three_values().message(2, {{2, 1}, {2, 1}}).problem() ==
        "sample 3: it has 2 values, there are 3 sample types");
  CHECK(of_three_values().message(2, {{2, 1}, {2, 1}, {2, 1}, {2, 1}}).problem() ==
        "sample 3: it has 4 values, there are 3 sample types");
  CHECK(of_three_values().message(2, {{2, 1}, {2, UINT64_MAX}, {2, 1}}).problem() ==
        "sample 3: the value -1 is negative: this is a difference of two profiles");
  CHECK(of_three_values().message(2, {{2, INT64_MAX}, {2, 0}, {2, 0}}).problem() ==
        "sample 3: the values have no sum of 63 bits");
}

TEST_CASE("pprof reader: values take memory, and are refused beyond it") {
  constexpr uint64_t kSmall = 100 << 10;
  Pprof pprof;
  for (int i = 0; i < 100; i++)
    pprof.message(1, {{1, 1}, {2, 4}});
  std::string types = pprof.data();
  // Each of 100 bytes and a few, as packed numbers of one byte.
  std::string values(100, '\1');
  std::string sample = "\x12\x66\x12\x64" + values;
  std::string file = types;
  for (int i = 0; i < 100; i++)
    file += sample;
  CHECK(problem_of(read_pprof(file, kSmall)) == "what it says takes too much memory");
  auto read = read_pprof(file, kBudget);
  REQUIRE(read);
  CHECK(read->other_amounts.size() == 9900);
  CHECK(read->memory_limit < kBudget - 2 * 9900 * sizeof(uint64_t));
}

TEST_CASE("pprof reader: labels that say whose a sample is") {
  Pprof pprof = Pprof::of_cpu();
  CHECK(pprof.sample_with_label({{1, 5}, {3, 12}}).problem() == "none");
  CHECK(pprof.sample_with_label({{1, 5}, {2, 6}}).problem() == "none");
  auto profile = read_pprof(pprof.data(), kBudget);
  REQUIRE(profile->label_sets.size() == 3);
  CHECK(profile->strings[profile->label_sets[1][0].value] == "12");
  CHECK(profile->strings[profile->label_sets[2][0].value] == "f.go");
  CHECK(pprof.sample_with_label({{1, 99}}).problem() ==
        "sample 3: label: text 99 of a table of 7");
}

TEST_CASE("pprof reader: a label without a key sets nothing of whose a sample is") {
  constexpr uint32_t kComment = 13;
  Pprof pprof = Pprof::of_cpu();
  pprof.text("gosym 0.1.0").number(kComment, 7).sample_with_label({{1, 0}, {3, 9}});
  auto profile = read_pprof(pprof.data(), kBudget);
  REQUIRE(profile);
  REQUIRE(profile->samples.size() == 1);
  const Owner& owner = profile->owner(profile->samples[0]);
  CHECK(owner.event == 0);
  CHECK(owner.recording == 0);
  CHECK(profile->label_sets[owner.label_set].size() == 1);
}

// A table that takes numbers for their own hashes grows without end by such.
TEST_CASE("pprof reader: numbers that are alike in their low bits") {
  Pprof pprof = Pprof::of_cpu();
  for (uint64_t i = 1; i <= 5'000; i++)
    pprof.message(5, {{1, i << 40}}).location(i << 40, 0, i << 40, 1);
  CHECK(pprof.problem() == "none");
}

TEST_CASE("pprof reader: each field made wrong") {
  auto cpu = [] { return Pprof::of_cpu(); };
  CHECK(Pprof().problem() == "it has no sample types");
  CHECK(Pprof().message(1, {{1, 7}}).problem() == "sample type: text 7 of a table of 7");
  CHECK(cpu().message(5, {{1, 0}}).problem() == "function 1: its id 0 is none");
  CHECK(cpu().message(5, {{1, 1}}).message(5, {{1, 1}}).problem() ==
        "function 2: its id 1 is another's as well");
  for (uint32_t text : {2, 3, 4})
    CHECK(cpu().message(5, {{1, 1}, {text, 9}}).problem() ==
          "function 1: text 9 of a table of 7");
  CHECK(cpu().message(3, {{2, 1}}).problem() == "mapping 1: its id 0 is none");
  CHECK(cpu().message(3, {{1, 1}}).message(3, {{1, 1}}).problem() ==
        "mapping 2: its id 1 is another's as well");
  for (uint32_t text : {5, 6})
    CHECK(cpu().message(3, {{1, 1}, {text, 8}}).problem() ==
          "mapping 1: text 8 of a table of 7");
  CHECK(cpu().message(4, {{2, 1}}).problem() == "location 1: there is no mapping 1");
  CHECK(cpu().location(1, 0, 3, 1).problem() == "location 1: there is no function 3");
  CHECK(cpu().message(4, {{3, 1}}).problem() == "location 1: its id 0 is none");
  CHECK(cpu().message(4, {{1, 1}}).message(4, {{1, 1}}).problem() ==
        "location 2: its id 1 is another's as well");
  CHECK(cpu().message(2, {{1, 4}, {2, 1}}).problem() == "sample 1: there is no location 4");
  CHECK(cpu().message(2, {{9, 1}}).problem() ==
        "sample 1: it has 0 values, there are 1 sample types");
  CHECK(cpu().message(2, {{2, 1}, {2, 1}}).problem() ==
        "sample 1: it has 2 values, there are 1 sample types");
  CHECK(cpu().message(2, {{2, UINT64_MAX}}).problem() ==
        "sample 1: the value -1 is negative: this is a difference of two profiles");
  CHECK(cpu().message(2, {{2, INT64_MAX}}).message(2, {{2, 1}}).problem() ==
        "sample 2: the values have no sum of 63 bits");
  CHECK(cpu().number(13, 40).problem() == "comment: text 40 of a table of 7");
  // Numbers that no program has are unknown, not wrong.
  auto odd = read_pprof(cpu()
                            .message(5, {{1, 1}, {2, 5}, {5, UINT64_MAX}})
                            .location(1, 0, 1, UINT64_MAX)
                            .message(2, {{1, 1}, {2, 1}})
                            .data(),
                        kBudget);
  REQUIRE(odd);
  CHECK(odd->functions.front().start_line == 0);
  CHECK(odd->frames.front().line == 0);
}

TEST_CASE("pprof reader: frames of inlined calls count in each stack that has them") {
  constexpr uint64_t kSmall = 400 << 10;
  Pprof pprof = Pprof::of_cpu();
  pprof.message(5, {{1, 1}, {2, 5}}).inlined_calls(1, 1, 5'000);
  for (int i = 0; i < 10; i++)
    pprof.message(2, {{1, 1}, {2, 1}});  // the same stack
  CHECK(problem_of(read_pprof(pprof.data(), kSmall)) == "none");
  pprof.message(2, {{1, 1}, {1, 1}, {2, 1}});
  CHECK(problem_of(read_pprof(pprof.data(), kSmall)) ==
        "sample 11: stacks of more than 12,800 frames in all, which no profile of its size "
        "needs");
  CHECK(pprof.problem() == "none");
}

TEST_CASE("pprof reader: every prefix is read or refused") {
  std::string data = encoded(make_demo_profile());
  size_t read = 0;
  for (size_t size = 0; size < data.size(); size++)
    if (auto profile = read_pprof(data.substr(0, size), kBudget))
      read++;
  // The table of texts is the last: without it nothing has a name.
  CHECK(read < data.size() / 4);
}

}  // namespace gosym::exchange_test
