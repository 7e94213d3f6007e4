#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "demo_profile.h"
#include "exchange/page_reader.h"
#include "output/difference_text.h"
#include "output/folded.h"
#include "output/html.h"
#include "output/svg.h"
#include "output/write.h"
#include "page/html.h"
#include "page/make_page.h"
#include "page/message.h"
#include "profile/filter.h"
#include "profile/own_code.h"
#include "profile/rewrite_stacks.h"
#include "view/difference.h"

namespace gosym::page_test {
using namespace std::literals;

namespace {

constexpr uint64_t kBudget = 256 << 20;

Profile read_back(const Profile& profile) {
  auto decoded = page::decode(as_bytes(page::encode(page::make_page(profile, {}))));
  REQUIRE(decoded);
  auto read = make_profile_of(*decoded, kBudget);
  REQUIRE_MESSAGE(read, read.error().message());
  return *std::move(read);
}

std::string frames_text(const Profile& profile, LocationId id) {
  const Location& location = profile.locations[to_index(id)];
  const ProfileImage& image = profile.image_of(location.mapping);
  std::string text = fmt::format("{}/{}", static_cast<int>(image.kind), image.file.path);
  if (!profile.is_named(location))
    text += fmt::format(" {}", static_cast<int>(location.unnamed));
  for (const Frame& frame : profile.frames_of(location)) {
    const Function& function = profile.functions[to_index(frame.function)];
    text += fmt::format(" ({} {} {}:{} {} {} {})", profile.strings[function.name],
                        profile.strings[function.package], profile.strings[function.file],
                        frame.line, function.start_line, static_cast<int>(frame.source),
                        static_cast<int>(frame.kind));
  }
  return text;
}

// All that a page keeps of a profile, whatever the order.
std::map<std::string, std::array<uint64_t, 3>> samples_of(const Profile& profile) {
  std::map<std::string, std::array<uint64_t, 3>> samples;
  for (const SampleCount& sample : profile.samples) {
    const Owner& owner = profile.owner(sample);
    std::string text = fmt::format("{}", sample.step);
    // All fields of which the page has a column; label sets may have other numbers.
    for_each_owner_field([&](const auto& field) {
      auto value = static_cast<uint64_t>(owner.*field.member);
      if (field.role == OwnerRole::kText)
        text += fmt::format(" {}", profile.strings[StringId(value)]);
      else if (field.role != OwnerRole::kLabelSet && field.name != "goid")
        text += fmt::format(" {}", value);
    });
    for (const ProfileLabel& label : profile.label_sets[owner.label_set])
      text += fmt::format(" {}={}", profile.strings[label.key], profile.strings[label.value]);
    for (LocationId id : profile.stack(sample.stack))
      text += "\n  " + frames_text(profile, id);
    auto& [count, weight, skipped] = samples[text];
    count += sample.count;
    weight += sample.weight;
    skipped += sample.skipped;
  }
  return samples;
}

// With all that a profile can have, in any order.
class RandomProfile {
public:
  explicit RandomProfile(uint32_t seed) : random_(seed) {}

  Profile make() {
    profile_ = make_demo_profile();
    profile_.samples.clear();
    profile_.stack_locations.clear();
    profile_.stack_begin = {0};
    profile_.info.events = {{"cpu-clock", 99, 0}, {"cache-misses", 99, 0}};
    profile_.time_step = 20'000'000;
    profile_.recordings.resize(3);
    for (uint32_t i = 0; i < 20; i++)
      add_function(i);
    for (int i = 0; i < 40; i++)
      add_location();
    for (int i = 0; i < 5; i++)
      profile_.label_sets.push_back({{text("key", 3), text("value", 4)}});
    size_t stacks = 1 + below(30);
    for (size_t i = 0; i < stacks; i++)
      add_stack();
    for (size_t i = 0; i < 200; i++)
      add_sample();
    return std::move(profile_);
  }

private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  StringId text(std::string_view word, uint32_t limit) {
    return profile_.strings.intern(fmt::format("{} {}", word, below(limit)));
  }

  void add_function(uint32_t i) {
    StringId name = profile_.strings.intern(fmt::format("pkg.function{}", i));
    profile_.functions.push_back({name, name, text("/src/file", 5), below(3), text("pkg", 4)});
  }

  void add_location() {
    Location location;
    location.mapping = MappingId{below(4)};
    location.first_frame = static_cast<uint32_t>(profile_.frames.size());
    location.frame_count = below(4);
    for (uint32_t i = 0; i < location.frame_count; i++)
      profile_.frames.push_back({FunctionId{below(25)}, below(3),
                                 static_cast<FrameSource>(below(3)),
                                 static_cast<FunctionKind>(below(2))});
    if (location.frame_count == 0)
      location.unnamed = Unnamed::kStripped;
    profile_.locations.push_back(location);
  }

  void add_stack() {
    std::vector<LocationId> stack;
    uint32_t depth = below(12);
    for (uint32_t i = 0; i < depth; i++)
      stack.push_back(LocationId{below(static_cast<uint32_t>(profile_.locations.size()))});
    profile_.add_stack(stack);
  }

  void add_sample() {
    SampleCount sample;
    sample.stack = StackId{below(static_cast<uint32_t>(profile_.stack_count()))};
    Owner owner;
    for_each_owner_field([&](const auto& field) {
      auto& member = owner.*field.member;
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, StringId>)
        member = text(field.name, 3);
      else
        member = below(3);
    });
    owner.event = below(2);
    owner.label_set = below(6);
    sample.owner = profile_.owners.intern(owner);
    sample.count = 1 + below(3);
    sample.weight = owner.event == 0 ? 0 : below(1000);
    sample.skipped = owner.event == 0 ? below(2) : 0;
    sample.step = below(100);
    profile_.samples.push_back(sample);
  }

  std::mt19937 random_;
  Profile profile_;
};

std::string folded(const Profile& profile) {
  return written_by(write_folded, profile);
}

std::string error_of(const page::Page& page) {
  auto read = make_profile_of(page, kBudget);
  return read ? "" : read.error().message();
}

}  // namespace

TEST_CASE("page: a profile is read back as it was") {
  Profile demo = make_demo_profile();
  Profile read = read_back(demo);
  CHECK(samples_of(read) == samples_of(demo));
  CHECK(folded(read) == folded(demo));
  CHECK(read.info.host == "box");
  CHECK(read.info.events == demo.info.events);
  CHECK(read.duration_ns == demo.duration_ns);
  CHECK(read.stats.samples == 8);
  auto libc = std::ranges::find(read.images, "/lib/libc.so.6",
                                [](const ProfileImage& image) { return image.file.path; });
  REQUIRE(libc != read.images.end());
  CHECK(libc->file.gnu_build_id == "\x01\xab");
}

TEST_CASE("page: what idle threads waited is told as long as it is of all that the page has") {
  Profile profile = make_demo_profile();
  profile.idle_ns = 12'345;
  Profile read = read_back(profile);
  CHECK(read.idle_ns == 12'345);
  leave_out_idle_threads(read);  // of which it has none
  CHECK(read.idle_ns == 12'345);
  Filter filter;
  filter.pids = {read.owner(read.samples.front()).pid};
  apply(filter, read);
  CHECK(read.samples.size() < profile.samples.size());
  CHECK(read.idle_ns == 0);
}

TEST_CASE("page: it tells which frames are own code") {
  Profile profile = RandomProfile(3).make();
  for (ProfileImage& image : profile.images)
    image.own.modules = {"pkg 1"};
  page::Page page = page::make_page(profile, {});
  std::set<std::string_view> expected;
  for (const SampleCount& sample : profile.samples)
    for (LocationId id : profile.stack(sample.stack)) {
      const Location& location = profile.locations[to_index(id)];
      for (const Frame& frame : profile.frames_of(location))
        if (is_own(profile, location, frame))
          expected.insert(profile.name_of(frame.function));
    }
  std::vector<std::string> texts;
  for (size_t i = 0, at = 0; i < page.texts.shared.size(); at += page.texts.rest[i++])
    texts.push_back((i == 0 ? "" : texts[i - 1].substr(0, page.texts.shared[i])) +
                    page.texts.bytes.substr(at, page.texts.rest[i]));
  std::set<std::string_view> found;
  for (size_t i = 0; i < page.frames.function.size(); i++)
    if (page.frames.is_own[i] != 0)
      found.insert(texts[page.functions.name[page.frames.function[i] - 1]]);
  CHECK(found == expected);
  CHECK(!found.empty());
}

TEST_CASE("page: source texts are in it if they are given, and only then") {
  std::vector<SourceText> sources = {{"/src/a.go", "package a\n\n"}};
  page::Page page = page::make_page(make_demo_profile(), {}, sources);
  auto read = page::decode(as_bytes(page::encode(page)));
  REQUIRE(read);
  REQUIRE(read->sources.size() == 1);
  CHECK(read->sources[0].text == "package a\n\n");
  CHECK(read->sources[0].file == page.sources[0].file);
  CHECK(make_profile_of(*read, kBudget));
  CHECK(page::make_page(make_demo_profile(), {}).sources.empty());
}

TEST_CASE("page: samples of which nothing is known are read back") {
  Profile profile = make_demo_profile();
  for (SampleCount& sample : profile.samples) {
    sample.owner = {};
  }
  CHECK(samples_of(read_back(profile)) == samples_of(profile));
}

TEST_CASE("page: counts of more than 32 bits are read back, and their sums") {
  Profile profile = make_demo_profile();
  profile.samples[0].count = 5'000'000'007;
  SampleCount again = profile.samples[1];
  profile.samples[1].count = again.count = 3'000'000'000;
  again.cpu = 1;  // which a page does not tell apart
  profile.samples.push_back(again);
  Profile read = read_back(profile);
  CHECK(read.samples.size() == 3);
  CHECK(samples_of(read) == samples_of(profile));
}

TEST_CASE("page: each column of the owners is of one of their fields") {
  const page::Owners table;
  for_each_column(table, [](std::string_view name, const page::Column&) {
    CAPTURE(name);
    bool is_field = false;
    for_each_owner_field([&](const auto& field) { is_field |= field.name == name; });
    CHECK(is_field);
  });
}

TEST_CASE("page: so is any other") {
  for (uint32_t seed = 0; seed < 50; seed++) {
    Profile profile = RandomProfile(seed).make();
    Profile read = read_back(profile);
    REQUIRE(samples_of(read) == samples_of(profile));
    REQUIRE(folded(read) == folded(profile));
  }
}

TEST_CASE("page: a day at 19 Hz of 500 threads is read back") {
  constexpr uint32_t kThreads = 500;
  constexpr uint32_t kSteps = 8640;  // of ten seconds
  constexpr uint32_t kRate = 19;
  Profile profile = make_demo_profile();
  profile.info.events[0].frequency = kRate;
  profile.duration_ns = 86'400'000'000'000;
  profile.time_step = profile.duration_ns / kSteps;
  profile.samples.clear();
  std::mt19937 random(1);
  for (uint32_t step = 0; step < kSteps; step++)
    for (uint32_t i = 0; i < kRate; i++) {
      auto tid = static_cast<uint32_t>(1 + random() % kThreads);
      OwnerId owner = profile.owners.intern(
          {.pid = 1, .tid = tid, .comm = profile.strings.intern(fmt::format("t{}", tid))});
      profile.samples.push_back({.stack = StackId(random() % profile.stack_count()),
                                 .owner = owner,
                                 .count = 10,
                                 .step = step});
    }
  Profile read = read_back(profile);
  CHECK(read.total_count() == uint64_t{10} * kRate * kSteps);
  CHECK(read.time_step == profile.time_step);
  CHECK(read.duration_ns == profile.duration_ns);
  CHECK(samples_of(read) == samples_of(profile));
}

TEST_CASE("page: what is cut short is an error or has less, and never more") {
  std::string message = page::encode(page::make_page(RandomProfile(1).make(), {}));
  uint64_t whole = RandomProfile(1).make().total_count();
  for (size_t size = 0; size < message.size(); size++) {
    auto page = page::decode(as_bytes(std::string_view(message).substr(0, size)));
    if (!page)
      continue;
    auto read = make_profile_of(*page, kBudget);
    if (read)
      REQUIRE(read->total_count() <= whole);
  }
}

TEST_CASE("page: each number that refers to nothing is told") {
  page::Page good = page::make_page(RandomProfile(2).make(), {});
  CHECK(error_of(good).empty());
  auto wrong = [&](auto change) {
    page::Page page = good;
    change(page);
    return error_of(page);
  };
  constexpr uint32_t kMuch = UINT32_MAX;
  CHECK(wrong([](page::Page& p) { p.events.clear(); }) ==
        "0 events, where 1 to 64 are allowed");
  CHECK(wrong([](page::Page& p) { p.texts.shared[1] = 1; }).starts_with("text 1 of "));
  CHECK(wrong([](page::Page& p) { p.texts.rest[1] = kMuch; }).starts_with("text 1 of "));
  CHECK(wrong([](page::Page& p) { p.texts.rest.pop_back(); }) ==
        "texts: columns of different lengths");
  CHECK(wrong([](page::Page& p) {
          p.modules[0].path = kMuch;
        }).starts_with("module: text 4294967295 of "));
  CHECK(wrong([](page::Page& p) { p.modules[0].kind = 4; }) == "module of kind 4");
  CHECK(wrong([](page::Page& p) {
          p.functions.name[0] = kMuch;
        }).starts_with("function 0: text 4294967295 of "));
  CHECK(wrong([](page::Page& p) { p.functions.file.pop_back(); }) ==
        "functions: columns of different lengths");
  CHECK(wrong([](page::Page& p) {
          p.frames.function[0] = kMuch;
        }).starts_with("frame 0: function 4294967295 of "));
  CHECK(wrong([](page::Page& p) {
          p.frames.module[0] = kMuch;
        }).starts_with("frame 0: module 4294967295 of "));
  CHECK(wrong([](page::Page& p) {
          p.frames.source[0] = 200;
        }).starts_with("frame 0: source 200 of "));
  CHECK(wrong([](page::Page& p) { p.frames.kind[0] = 5; }) == "frame 0: kind 5 of 5");
  CHECK(wrong([](page::Page& p) {
          p.frames.unnamed[0] = 200;
        }).starts_with("frame 0: reason 200 of "));
  CHECK(wrong([](page::Page& p) {
          p.tree.up[1] = kMuch;
        }).starts_with("stack 1: 4294967295 up from depth "));
  CHECK(wrong([](page::Page& p) { p.tree.next[0] = 7; }) ==
        "stack 0: frame 7 of 0 that follow the one above");
  CHECK(wrong([](page::Page& p) {
          p.tree.first[0] = kMuch;
        }).starts_with("stack 0: frame 4294967295 of "));
  CHECK(wrong([](page::Page& p) { p.tree.first.clear(); }) == "stack 0: its frame is missing");
  CHECK(wrong([](page::Page& p) { p.tree.added[0] = 0; }).starts_with("stack 0: 0 nodes, "));
  CHECK(wrong([](page::Page& p) {
          p.tree.added[1] = kMuch;
        }).starts_with("stack 1: 4294967295 nodes, where "));
  CHECK(wrong([](page::Page& p) { p.tree.next.push_back(1); }) == "1 nodes are of no stack");
  CHECK(wrong([](page::Page& p) {
          p.tree.root_samples = kMuch;
        }).starts_with("4294967295 samples, where "));
  CHECK(wrong([](page::Page& p) { p.samples.owner[0] = kMuch; }).find("owner 4294967295 of ") !=
        std::string::npos);
  CHECK(wrong([](page::Page& p) { p.samples.step[0] = kMuch; }).find("step 4294967295") !=
        std::string::npos);
  CHECK(wrong([](page::Page& p) { p.samples.owner.push_back(0); }) ==
        "samples: columns of different lengths");
  CHECK(wrong([](page::Page& p) { p.owners.event[0] = 2; }) == "owner 0: event 2 of 2");
  CHECK(wrong([](page::Page& p) { p.owners.label_set[0] = 6; }) == "owner 0: label set 6 of 6");
  CHECK(wrong([](page::Page& p) { p.owners.recording[0] = 3; }) == "owner 0: recording 3 of 3");
  CHECK(wrong([](page::Page& p) {
          p.label_sets[0].key[0] = kMuch;
        }).starts_with("labels: text 4294967295 of "));
  CHECK(wrong([](page::Page& p) {
          p.samples.weight.assign(p.samples.owner.size(), uint64_t{1} << 63);
        }).find("amounts that have no sum") != std::string::npos);
  constexpr uint64_t kHalf = uint64_t{1} << 62;
  for (uint64_t page::Event::*count :
       {&page::Event::recorded_samples, &page::Event::lost_samples, &page::Event::skipped_ticks,
        &page::Event::throttled_ns, &page::Event::lost_ns, &page::Event::recorded_amount})
    CHECK(wrong([&](page::Page& p) {
            p.events[0].unit_ns = p.events[0].unit_events = 1;
            p.events[0].*count = 2 * kHalf;
            p.events[1].*count = kHalf;
          }) == "amounts that have no sum of 63 bits");
  CHECK(wrong([](page::Page& p) { p.events[0].period = UINT64_MAX; }).starts_with("event "));
  CHECK(wrong([](page::Page& p) { p.events[0].frequency = UINT64_MAX; }).starts_with("event "));
  CHECK(wrong([&](page::Page& p) { p.events[0].unit_events = kHalf; }).find("have no sum") !=
        std::string::npos);
}

TEST_CASE("page: what there is no room for is a gap, and all samples are there") {
  Profile profile = RandomProfile(2).make();
  uint64_t all = profile.total_count();
  profile.memory_limit = 128 * 5;
  page::Page page = page::make_page(profile, {});
  CHECK(page.tree.up.size() >= 5);
  auto read = make_profile_of(page, kBudget);
  REQUIRE(read);
  CHECK(read->total_count() == all);
  bool has_gap = std::ranges::any_of(read->locations, [](const Location& location) {
    return location.unnamed == Unnamed::kLeftOut;
  });
  CHECK(has_gap);
}

TEST_CASE("page: values of labels for which there is no room are told as left out") {
  Profile profile = RandomProfile(2).make();
  profile.label_sets[2][0].value = profile.strings.intern(std::string(300, 'v'));
  profile.memory_limit = 1000;
  auto read = make_profile_of(page::make_page(profile, {}), kBudget);
  REQUIRE(read);
  std::set<std::string> values;
  for (const auto& labels : read->label_sets)
    for (const ProfileLabel& label : labels)
      values.emplace(read->strings[label.value]);
  CHECK(values.contains("[left out]"));
  CHECK(values.contains(std::string(profile.strings[profile.label_sets[1][0].value])));
  CHECK(
      std::ranges::all_of(values, [](const std::string& value) { return value.size() < 300; }));
}

TEST_CASE("page: another version is refused") {
  page::Page page;
  page.version = 2;
  auto decoded = page::decode(as_bytes(page::encode(page)));
  REQUIRE(!decoded);
  CHECK(decoded.error().message() == "a page of version 2, where this gosym reads version 1");
}

TEST_CASE("page: texts that would take more than memory has are refused") {
  page::Page page = page::make_page(make_demo_profile(), {});
  constexpr uint32_t kLong = 60'000;
  page.texts = {.shared = {0, 0}, .rest = {0, kLong}, .bytes = std::string(kLong, 'a')};
  for (int i = 0; i < 10'000; i++) {
    page.texts.shared.push_back(kLong - 4);
    page.texts.rest.push_back(4);
    page.texts.bytes += fmt::format("{:04}", i);
  }
  auto read = make_profile_of(page, 16 << 20);
  REQUIRE(!read);
  CHECK(read.error().message() == "it asks for more memory than a page of its size needs");
}

TEST_CASE("page: it is found in the file, whoever saved that") {
  std::string html = written_by(write_html, make_demo_profile());
  CHECK(page::is_html(html));
  CHECK(page::is_html("\xef\xbb\xbf\n<HTML lang=en>"));
  CHECK(!page::is_html("<svg"));
  auto read = read_page(html, kBudget);
  REQUIRE(read);
  CHECK(folded(*read) == folded(make_demo_profile()));
  auto none = read_page("<!doctype html><p>", kBudget);
  CHECK(none.error().message() == "there is no profile in it, or it is cut short");
  size_t begin = html.find("id=\"profile\"");
  for (size_t size : {begin / 2, begin + 10, begin + 100, html.find("</script", begin)})
    CHECK(!read_page(std::string_view(html).substr(0, size), kBudget));
}

TEST_CASE("page: names cannot leave the element they are in") {
  const std::string long_name(kMaxNameSize, 'n');
  Profile profile = make_demo_profile();
  for (std::string_view name :
       {"</script><script>alert(1)</script>"sv, "\"'><img src=x>"sv, "a\0b"sv, "\u202eevil"sv,
        "<!--"sv, "]]>"sv, std::string_view(long_name)}) {
    StringId id = profile.strings.intern(name);
    for (Function& function : profile.functions)
      function.name = function.system_name = id;
    std::string html = written_by(write_html, profile);
    size_t begin = html.find('>', html.find("id=\"profile\"")) + 1;
    size_t end = html.find('<', begin);
    CHECK(html.substr(end).starts_with("</script>"));
    CHECK(html.substr(begin, end - begin).find_first_of(std::string_view("&<> \r\t\0", 7)) ==
          std::string::npos);
    auto read = read_page(html, kBudget);
    REQUIRE(read);
    CHECK(folded(*read) == folded(profile));
    std::string svg = make_svg(profile);
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find("<img") == std::string::npos);
    CHECK(svg.find('\0') == std::string::npos);
  }
}

// Two recordings, of 2.5 s each, the second of which began a minute after the first.
Profile two_runs(uint64_t times, uint64_t frequency) {
  Profile profile = make_demo_profile();
  profile.time_step = 500'000'000;
  profile.info.events[0].frequency = frequency;
  profile.duration_ns = 62'500'000'000;
  std::vector<SampleCount> samples;
  for (uint32_t run : {0, 1}) {
    uint64_t begin = profile.start_realtime_ns + run * 60'000'000'000;
    profile.recordings.push_back(
        {fmt::format("{}.raw", run), profile.info, begin, 2'500'000'000});
    for (SampleCount sample : profile.samples) {
      profile.change_owner(sample, [&](Owner& owner) { owner.recording = run; });
      sample.step = run * 120 + static_cast<uint32_t>(samples.size() % 5);
      sample.count *= times + run;
      samples.push_back(sample);
    }
  }
  profile.samples = std::move(samples);
  return profile;
}

TEST_CASE("page: a comparison has both sides, of which the same comparison can be made") {
  Profile before = two_runs(3, 200);
  Profile after = two_runs(1, 100);
  for (Per per : {Per::kShare, Per::kSecond, Per::kRun}) {
    CAPTURE(to_string(per));
    DifferenceOptions options;
    options.per = per;
    Difference found = difference({before}, {after}, options);
    std::string html = written_by(write_html_difference, found, ComparedProfile{before},
                                  ComparedProfile{after});
    auto page = page::read_html(html, kBudget);
    REQUIRE(page);
    CHECK(page->origin.compared_per == to_string(per));
    // By share it counts 3 / 7 as much; as time a sample of 200 Hz is half of one of 100 Hz.
    CHECK(page->origin.scale_before == (per == Per::kShare ? 428'571'428 : 500'000'000));
    REQUIRE(page->events.size() == 1);
    CHECK(page->events[0].frequency == 100);
    CHECK(page->recordings.size() == 4);
    CHECK(page->origin.time_step_ns == 0);

    auto read_before = read_page(html, kBudget, Side::kBefore);
    auto read_after = read_page(html, kBudget, Side::kAfter);
    REQUIRE_MESSAGE(read_before, read_before.error().message());
    REQUIRE_MESSAGE(read_after, read_after.error().message());
    CHECK(samples_of(*read_before) == samples_of(before));
    CHECK(samples_of(*read_after) == samples_of(after));
    CHECK(read_before->event() == before.event());
    CHECK(read_after->event() == after.event());
    CHECK(difference_json(difference({*read_before}, {*read_after}, options), *read_before,
                          *read_after) == difference_json(found, before, after));

    auto neither = read_page(html, kBudget);
    REQUIRE(!neither);
    CHECK(neither.error().message() == "it compares two profiles");
  }
  auto plain = read_page(written_by(write_html, after), kBudget, Side::kAfter);
  REQUIRE(!plain);
  CHECK(plain.error().message() == no_sides().message());
}

TEST_CASE("page: of a time that was chosen it has that time, and tells when it was") {
  Profile profile = two_runs(1, 100);
  Filter filter;
  filter.time = {.begin = 60'500'000'000, .end = 62'000'000'000};
  apply(filter, profile);
  CHECK(profile.duration_ns == 1'500'000'000);
  CHECK(profile.time_begin() == 60'500'000'000);
  page::Page page = page::make_page(profile, {});
  CHECK(std::ranges::max(page.samples.step) == 2);
  Profile read = read_back(profile);
  CHECK(samples_of(read) == samples_of(profile));
  CHECK(read.duration_ns == profile.duration_ns);
  CHECK(read.time_begin() == profile.time_begin());
  // A part of the part.
  filter.time = {.begin = 61'000'000'000};
  apply(filter, read);
  CHECK(read.duration_ns == 1'000'000'000);
  CHECK(read.time_begin() == 61'000'000'000);
  // It is compared by the time that it has.
  TimeRange compared = recorded_time({read}, 1);
  CHECK(compared == TimeRange{61'000'000'000, 62'000'000'000});
  std::string html = written_by(write_html_difference, difference({read}, {read}, {}),
                                ComparedProfile{read}, ComparedProfile{read});
  CHECK(read_page(html, kBudget, Side::kAfter));
}

TEST_CASE("page: a comparison of a chosen time has how much that was, and no steps") {
  Profile before = two_runs(3, 100);
  Profile after = two_runs(1, 100);
  TimeRange time = {.begin = 1'000'000'000, .end = 61'000'000'000};
  DifferenceOptions options;
  options.per = Per::kSecond;
  Difference found = difference({before, time}, {after, time}, options);
  std::string html = written_by(write_html_difference, found, ComparedProfile{before, time},
                                ComparedProfile{after, time});
  auto read = read_page(html, kBudget, Side::kAfter);
  REQUIRE(read);
  CHECK(read->time_step == 0);
  CHECK(read->recordings[0].duration_ns == 1'500'000'000);
  CHECK(read->recordings[1].duration_ns == 1'000'000'000);
  CHECK(scale_of({*read}, {after, time}, Per::kSecond) == 1);
}

TEST_CASE("page: sides that do not fit the recordings are refused") {
  Profile profile = two_runs(1, 100);
  page::Page page = page::make_page(profile, {});
  page.origin.scale_before = 1;
  auto refused = [&](std::vector<page::Side> sides) {
    page.sides = std::move(sides);
    auto read = make_profile_of(page, kBudget, Side::kAfter);
    return !read && read.error().message() == "what it compares is not two sides of recordings";
  };
  page::Side one = page::make_side(profile);
  one.recordings = 1;
  CHECK(refused({}));
  CHECK(refused({one}));
  CHECK(refused({one, one, one}));
  page::Side many = one;
  many.recordings = UINT32_MAX;
  CHECK(refused({one, many}));
  CHECK(refused({many, many}));
  CHECK(!refused({one, one}));
}

TEST_CASE("page: text and DEFLATE that are damaged are errors, bombs as well") {
  std::string text = page::packed(std::string(100'000, 'x'));
  CHECK(*page::unpacked(text, 100'000) == std::string(100'000, 'x'));
  CHECK(*page::unpacked(" " + text + "\r\n", 100'000) == std::string(100'000, 'x'));
  CHECK(page::unpacked(text, 99'999).error().message() ==
        "the profile in it has more than 97.7 KiB unpacked, which none of its size has");
  for (size_t size = 0; size < text.size(); size++)
    CHECK(!page::unpacked(std::string_view(text).substr(0, size), 100'000));
  CHECK(!page::unpacked("a<b_", 10));
  CHECK(!page::unpacked("~~", 10));  // 8,280 is more than 13 bits
  CHECK(!page::unpacked("~", 10));   // and 90 more than 6
}

TEST_CASE("page: bytes of any length and value come back from their text") {
  std::mt19937 random(5);
  for (size_t size = 0; size < 300; size++) {
    std::string bytes(size, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random());
    CHECK(*page::unpacked(page::packed(bytes), size) == bytes);
  }
}

TEST_CASE("page: columns of any numbers come back from their differences") {
  std::mt19937 random(9);
  auto column = [&](size_t rows) {
    page::Column numbers(rows);
    constexpr std::array kOdd = {0u, 1u, 0x7fffffffu, 0x80000000u, UINT32_MAX};
    for (uint32_t& number : numbers)
      number =
          random() % 2 ? kOdd.at(random() % kOdd.size()) : static_cast<uint32_t>(random() % 9);
    return numbers;
  };
  for (int round = 0; round < 100; round++) {
    page::Page page;
    page.version = page::kVersion;
    page.functions = {column(7), column(7), column(7), column(7), column(7), column(7)};
    page.frames = {column(50), column(50), column(50), column(50), column(50), column(50),
                   column(50), column(50), column(50), column(50), column(50), column(50)};
    page.tree.first = column(30);
    page.samples.owner = column(40);
    page.samples.step = column(40);
    auto read = page::decode(as_bytes(page::encode(page)));
    REQUIRE(read);
    CHECK(read->functions.file == page.functions.file);
    CHECK(read->functions.package == page.functions.package);
    CHECK(read->frames.function == page.frames.function);
    CHECK(read->frames.line == page.frames.line);
    CHECK(read->frames.category_kind == page.frames.category_kind);
    CHECK(read->frames.is_own == page.frames.is_own);
    CHECK(read->tree.first == page.tree.first);
    CHECK(read->samples.owner == page.samples.owner);
    CHECK(read->samples.step == page.samples.step);
  }
}

TEST_CASE("page: a filter counts what it leaves, by steps of time") {
  Profile profile = read_back(RandomProfile(3).make());
  Filter filter;
  filter.time = {.begin = 10 * profile.time_step, .end = 20 * profile.time_step};
  uint64_t expected = 0;
  for (const SampleCount& sample : profile.samples)
    expected += sample.step >= 10 && sample.step < 20 ? sample.count : 0;
  apply(filter, profile);
  CHECK(profile.total_count() == expected);
  widen_steps(profile, 45'000'000);
  CHECK(profile.time_step == 40'000'000);
  CHECK(profile.total_count() == expected);
  widen_steps(profile, 0);
  CHECK(profile.time_step == 0);
  CHECK(profile.total_count() == expected);
}

TEST_CASE("svg: boxes as wide as their share, with a tooltip each") {
  std::string svg = make_svg(make_demo_profile());
  CHECK(svg.starts_with("<svg xmlns"));
  CHECK(svg.find("<title>main.main: 70.0 ms of CPU time, 87.50 %</title>"
                 "<rect x=\"10.0\"") != std::string::npos);
  CHECK(svg.find("<title>[stripped libc.so.6]: 20.0 ms of CPU time, 25.00 %</title>") !=
        std::string::npos);
  CHECK(svg.find(">main.compute</text>") != std::string::npos);
}

TEST_CASE("svg: all packages of Go's runtime have its colour") {
  Profile profile = make_demo_profile();
  for (std::string_view package : {"runtime", "runtime/pprof", "internal/runtime/maps"}) {
    profile.functions[2].package = profile.strings.intern(package);
    std::string svg = make_svg(profile);
    size_t box = svg.find("<title>main.compute:");
    REQUIRE(box != std::string::npos);
    CHECK(svg.substr(svg.find("hsl(", box), 8) == "hsl(190,");
  }
}

}  // namespace gosym::page_test
