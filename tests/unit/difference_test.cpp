#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/text.h"
#include "output/difference_text.h"
#include "view/difference.h"
#include "view/same_code.h"
#include "view/significance.h"

namespace gosym::difference_test {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kSteps = 20;

// Samples of each stack, "main;run;work", in each second, of a program of this build.
// "run>work": work is inlined into run.
using StepCounts = std::vector<uint64_t>;
using FunctionCounts = std::map<std::string, StepCounts>;

Profile profile_of(const FunctionCounts& counts, std::string build) {
  Profile profile;
  profile.info.events = {{.name = "cpu-clock", .frequency = 100}};
  profile.time_step = kSecond;
  profile.duration_ns = kSteps * kSecond;
  profile.images.resize(3);
  profile.images[1].kind = ProfileImage::Kind::kKernel;
  profile.images[2].file.path = "/bin/server";
  profile.images[2].file.gnu_build_id = std::move(build);
  profile.mappings = {{}, {.image = 1}, {.image = 2}};
  std::map<std::string, uint32_t, std::less<>> functions;
  auto function_of = [&](std::string_view name) {
    auto number = static_cast<uint32_t>(profile.functions.size());
    auto [known, is_new] = functions.try_emplace(std::string(name), number);
    if (is_new)
      profile.functions.push_back({.name = profile.strings.intern(name)});
    return FunctionId{known->second};
  };
  std::map<std::string, uint32_t, std::less<>> locations;
  auto location_of = [&](std::string_view name) {
    auto number = static_cast<uint32_t>(profile.locations.size());
    auto [known, is_new] = locations.try_emplace(std::string(name), number);
    if (is_new) {
      Location& place = profile.locations.emplace_back();
      place.mapping = MappingId{2};
      place.first_frame = static_cast<uint32_t>(profile.frames.size());
      std::vector<std::string_view> calls = split(name, '>');
      place.frame_count = static_cast<uint32_t>(calls.size());
      std::ranges::reverse(calls);  // the innermost is the first frame
      for (std::string_view call : calls)
        profile.frames.push_back({.function = function_of(call)});
    }
    return LocationId{known->second};
  };
  uint32_t stacks = 0;
  for (const auto& [stack, steps] : counts) {
    std::vector<LocationId> path;
    for (std::string_view name : split(stack, ';'))
      path.insert(path.begin(), location_of(name));
    profile.add_stack(path);
    StackId id{stacks++};
    for (size_t step = 0; step < steps.size(); step++)
      if (steps[step] > 0)
        profile.samples.push_back(
            {.stack = id, .count = steps[step], .step = static_cast<uint32_t>(step)});
  }
  return profile;
}

StepCounts each_step(uint64_t count) {
  return StepCounts(kSteps, count);
}

// Varies by a fifth from step to step, and by `count` in the mean.
StepCounts uneven(uint64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  StepCounts counts;
  for (size_t i = 0; i < kSteps; i++)
    counts.push_back(count * (80 + random() % 41) / 100);
  return counts;
}

const DifferenceRow& row_of(const Difference& difference, std::string_view name) {
  auto row = std::ranges::find(difference.rows, name, &DifferenceRow::name);
  REQUIRE(row != difference.rows.end());
  return *row;
}

Difference compare(const FunctionCounts& before, const FunctionCounts& after,
                   DifferenceOptions options = {}) {
  return difference({profile_of(before, "a")}, {profile_of(after, "b")}, options);
}

}  // namespace

TEST_CASE("significance: Student's t as tables have it") {
  CHECK(student_limit(0.05, 20) == doctest::Approx(2.0860));
  CHECK(student_limit(0.05, 1) == doctest::Approx(12.7062));
  CHECK(student_limit(0.01, 5) == doctest::Approx(4.0321));
  CHECK(student_limit(0.05, 1e6) == doctest::Approx(1.95996));
  CHECK(student_chance(2.0860, 20) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(student_chance(0, 7) == doctest::Approx(1));
  CHECK(student_chance(-4.0321, 5) == doctest::Approx(0.01).epsilon(0.001));
}

TEST_CASE("significance: a rate varies as its blocks do") {
  std::vector<double> amounts = {1, 3, 1, 3};
  std::vector<double> bases = {1, 1, 1, 1};
  Rate rate = rate_of(amounts, bases);
  CHECK(rate.value == 2);
  CHECK(rate.variance == doctest::Approx(4.0 / 3 * 4 / 16));
  CHECK(rate.freedom == 3);
  bases[3] = 0;
  amounts[3] = 0;
  CHECK(rate_of(amounts, bases).freedom == 2);
  CHECK(rate_of({}, {}).freedom == 0);
  CHECK(change_of(rate, Rate{.value = 5}).chance == 1);
}

TEST_CASE("significance: Holm's correction") {
  std::vector<double> equal(4, 7.0);
  std::vector<double> corrected =
      holm_corrected(std::vector<double>{0.04, 0.01, 0.03, 0.6}, equal);
  CHECK(corrected[1] == doctest::Approx(0.04));
  CHECK(corrected[2] == doctest::Approx(0.09));
  CHECK(corrected[0] == doctest::Approx(0.09));
  CHECK(corrected[3] == doctest::Approx(0.6));
  CHECK(holm_corrected({}, {}).empty());
}

TEST_CASE("significance: Holm's correction by weight") {
  // By chance and weight: 0.01 of 0.1, 0.03 of 0.2, 0.2 of 0.7.
  std::vector<double> corrected =
      holm_corrected(std::vector<double>{0.2, 0.01, 0.03}, std::vector<double>{0.7, 0.1, 0.2});
  CHECK(corrected[1] == doctest::Approx(0.1));
  CHECK(corrected[2] == doctest::Approx(0.135));
  CHECK(corrected[0] == doctest::Approx(0.2));
}

TEST_CASE("same code: what a build numbers anew is left out of names") {
  CHECK(name_across_builds("main.(*Server).run.func2.1") == "main.(*Server).run.*");
  CHECK(name_across_builds("main.run.gowrap1") == "main.run.*");
  CHECK(name_across_builds("main.Map[go.shape.int,go.shape.[]string]") == "main.Map[*]");
  CHECK(name_across_builds("main.Map[int].func1") == "main.Map[*].*");
  CHECK(name_across_builds("main.Map[int].a[b") == "main.Map[*].a[b");
  CHECK(name_across_builds("main.a[b[int]") == "main.a[b[int]");
  CHECK(name_across_builds("find.constprop.0") == "find");
  CHECK(name_across_builds("find.isra.3.cold") == "find");
  CHECK(name_across_builds("a::b::h0123456789abcdef") == "a::b");
  CHECK(name_across_builds("cc1plus!fun_6d6ad0") == "cc1plus!fun_*");
  CHECK(name_across_builds("[stripped libc.so.6]") == "[stripped libc.so.6]");
  CHECK(name_across_builds("main.function1") == "main.function1");
  CHECK(name_across_builds("f.[") == "f.[");
  CHECK(name_across_builds("").empty());
  CHECK(name_without_directories("example.com/a/web.(*S).run") == "web.(*S).run");
  CHECK(name_without_directories("a/b.Map[c/d.T]") == "b.Map[c/d.T]");
  CHECK(name_without_directories("main.run") == "main.run");
  CHECK(name_without_package("example.com/a/web.(*S).run") == "example.com/a/*.(*S).run");
  CHECK(name_without_package("a/b.Map[c/d.T]") == "a/*.Map[c/d.T]");
  CHECK(name_without_package("a/b.init.0") == "a/b.init.0");
  CHECK(name_without_package("runtime.mallocgc") == "runtime.mallocgc");
  CHECK(name_without_package("a/b") == "a/b");
}

TEST_CASE("difference: what is dearer is told from what varies as much by itself") {
  FunctionCounts before = {{"main.a", uneven(100, 1)}, {"main.b", uneven(100, 2)}};
  FunctionCounts after = {{"main.a", uneven(150, 3)}, {"main.b", uneven(100, 4)}};
  Difference found = compare(before, after, {.per = Per::kSecond});
  CHECK(found.blocks_before == kSteps);
  CHECK(row_of(found, "main.a").verdict == Verdict::kDearer);
  CHECK(row_of(found, "main.a").relative() == doctest::Approx(0.5).epsilon(0.1));
  CHECK(row_of(found, "main.b").verdict == Verdict::kSame);
  CHECK(found.rows.front().name == "main.a");
  REQUIRE(found.whole);
  CHECK(found.whole->verdict == Verdict::kDearer);

  Difference back = compare(after, before, {.per = Per::kSecond});
  CHECK(row_of(back, "main.a").verdict == Verdict::kCheaper);
}

TEST_CASE("difference: a change that one block makes alone is noise") {
  StepCounts burst = each_step(100);
  burst[7] = 1000;
  FunctionCounts before = {{"main.a", each_step(100)}, {"main.b", each_step(1000)}};
  FunctionCounts after = {{"main.a", burst}, {"main.b", each_step(1000)}};
  CHECK(row_of(compare(before, after), "main.a").verdict != Verdict::kDearer);
}

TEST_CASE("difference: of many samples that all are in a few blocks nothing is told") {
  StepCounts bursts = each_step(0);
  bursts[3] = bursts[11] = 1000;
  FunctionCounts before = {{"main.a", bursts}, {"main.b", each_step(1000)}};
  Difference found = compare(before, {{"main.b", each_step(1000)}}, {.per = Per::kSecond});
  CHECK(row_of(found, "main.a").verdict == Verdict::kTooUneven);
  CHECK(to_string(Verdict::kTooUneven) == "varies too much to tell");
}

TEST_CASE("difference: few samples tell nothing, however their blocks agree") {
  FunctionCounts before = {{"main.a", each_step(100)}, {"main.rare", {2}}, {"main.few", {9}}};
  FunctionCounts after = {{"main.a", each_step(100)}, {"main.rare", {5}}, {"main.few", {9}}};
  Difference found = compare(before, after);
  CHECK(row_of(found, "main.rare").verdict == Verdict::kTooFew);
  CHECK(row_of(found, "main.rare").corrected_chance == 1);
  CHECK(row_of(found, "main.few").verdict == Verdict::kTooFew);
  CHECK(found.compared == 2);
}

TEST_CASE("difference: each change of counts is one") {
  Profile before = profile_of({{"main.a", {1}}, {"main.b", {3}}, {"main.gone", {2}}}, "a");
  Profile after = profile_of({{"main.a", {2}}, {"main.b", {3}}}, "a");
  Difference found = difference({before}, {after}, {.per = Per::kRun, .is_exact = true});
  CHECK(row_of(found, "main.a").verdict == Verdict::kMore);
  CHECK(row_of(found, "main.b").verdict == Verdict::kAsMany);
  CHECK(row_of(found, "main.gone").verdict == Verdict::kFewer);
  CHECK(found.compared == 3);
  CHECK(has_verdicts(found));
}

TEST_CASE("difference: rates of a run need several of each side") {
  Profile before = profile_of({{"main.a", each_step(100)}}, "a");
  Profile after = profile_of({{"main.a", each_step(200)}}, "a");
  Difference found = difference({before}, {after}, {.per = Per::kRun});
  REQUIRE(found.whole);
  CHECK(found.whole->verdict == Verdict::kUntold);
  CHECK(found.whole->before.value == doctest::Approx(20e9));
  CHECK(found.whole->change.freedom == 0);
}

TEST_CASE("difference: closures, generics and functions whose package has moved are matched") {
  FunctionCounts before = {{"main.run.func1", each_step(50)},
                           {"main.Map[int]", each_step(50)},
                           {"old/web.Serve", each_step(50)},
                           {"x/js_ast.(*Freq).Scan", each_step(50)},
                           {"main.gone", each_step(50)}};
  FunctionCounts after = {
      {"main.run.func1", each_step(20)},         {"main.run.func2", each_step(30)},
      {"main.Map[go.shape.int]", each_step(50)}, {"new/web.Serve", each_step(50)},
      {"x/ast.(*Freq).Scan", each_step(50)},     {"main.come", each_step(50)}};
  Difference found = compare(before, after);
  CHECK(found.rows.size() == 6);
  CHECK(row_of(found, "main.run.*").note == "2 functions");
  CHECK(row_of(found, "main.run.*").verdict == Verdict::kSame);
  CHECK(row_of(found, "main.Map[go.shape.int]").note == "was main.Map[int]");
  CHECK(row_of(found, "new/web.Serve").note == "was old/web.Serve");
  CHECK(row_of(found, "x/ast.(*Freq).Scan").note == "was x/js_ast.(*Freq).Scan");
  CHECK(row_of(found, "main.gone").note == "none after");
  CHECK(row_of(found, "main.gone").verdict == Verdict::kCheaper);
  CHECK(row_of(found, "main.come").verdict == Verdict::kDearer);
  CHECK(std::isinf(row_of(found, "main.come").relative()));
}

TEST_CASE("difference: what became of inlined functions") {
  FunctionCounts before = {{"main;called", each_step(300)},    {"main>inlined", each_step(300)},
                           {"main>gone", each_step(300)},      {"main;once", each_step(300)},
                           {"main>inlined;f", each_step(300)}, {"main>gone;f", each_step(300)}};
  FunctionCounts after = {{"main>called", each_step(300)},
                          {"main;inlined", each_step(300)},
                          {"main>once;f", each_step(300)},
                          {"main>gone;f", each_step(300)}};
  Difference found = compare(before, after);
  CHECK(row_of(found, "called").note == "inlined now");
  CHECK(row_of(found, "inlined").note == "no longer inlined");
  CHECK(row_of(found, "once").note == "inlined now: its callers have its cost");
  // It was inlined before as well, and there were samples of it.
  CHECK(row_of(found, "gone").note == "none after");
  CHECK(row_of(compare(after, before), "gone").note == "none before");
}

TEST_CASE("difference: of one build a name is a name") {
  Profile before = profile_of({{"main.run.func1", each_step(50)}}, "a");
  Profile after = profile_of({{"main.run.func2", each_step(50)}}, "a");
  CHECK(difference({before}, {after}, {}).rows.size() == 2);
}

// A profile of functions that are all called main.main, each of a file of its own that the main
// function of all of them is in, too.
Profile profile_of_programs(const std::map<std::string, uint64_t>& counts, std::string build) {
  Profile profile = profile_of({}, std::move(build));
  StringId name = profile.strings.intern("main.main");
  profile.functions.push_back({.name = name});
  for (const auto& [file, count] : counts) {
    profile.mappings.push_back({.image = static_cast<uint32_t>(profile.images.size())});
    profile.images.push_back(profile.images[2]);
    profile.images.back().file.path = file;
    Location& place = profile.locations.emplace_back();
    place.mapping = MappingId{static_cast<uint32_t>(profile.mappings.size() - 1)};
    place.first_frame = static_cast<uint32_t>(profile.frames.size());
    place.frame_count = 1;
    profile.frames.push_back({.function = FunctionId{0}});
    StackId stack{static_cast<uint32_t>(profile.stack_count())};
    profile.add_stack(
        std::vector{LocationId{static_cast<uint32_t>(profile.locations.size() - 1)}});
    for (uint32_t step = 0; step < kSteps; step++)
      profile.samples.push_back({.stack = stack, .count = count, .step = step});
  }
  return profile;
}

TEST_CASE("difference: functions of one name are told apart by their files, in each view") {
  Profile before = profile_of_programs({{"/go/link", 100}, {"/go/compile", 300}}, "a");
  Profile after = profile_of_programs({{"/go/link", 300}, {"/go/compile", 100}}, "b");
  for (bool is_tree : {false, true}) {
    Difference found = is_tree ? difference_tree({before}, {after}, {}, {})
                               : difference({before}, {after}, {});
    REQUIRE(found.rows.size() == 2);
    CHECK(row_of(found, "main.main (link)").before.value == doctest::Approx(0.25));
    CHECK(row_of(found, "main.main (link)").after.value == doctest::Approx(0.75));
    CHECK(row_of(found, "main.main (compile)").verdict == Verdict::kCheaper);
  }
  // The other side has one of them alone, and it is known which.
  Profile one = profile_of_programs({{"/go/link", 100}}, "b");
  Difference found = difference({before}, {one}, {});
  CHECK(row_of(found, "main.main (compile)").note == "none after");
  CHECK(row_of(found, "main.main (link)").note.empty());
}

TEST_CASE("difference: a name that is of one file on each side is a name, whatever the file") {
  Profile before = profile_of_programs({{"/old/server", 100}}, "a");
  Profile after = profile_of_programs({{"/new/server-2", 100}}, "b");
  Difference found = difference({before}, {after}, {});
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].name == "main.main");
  // Two builds of one program on a side are one.
  Profile builds = profile_of_programs({{"/1/server", 100}, {"/2/server", 100}}, "c");
  found = difference({builds}, {after}, {});
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].name == "main.main");
}

TEST_CASE("difference: of a tree the paths to what changed are left") {
  FunctionCounts before = {{"main;serve;parse", uneven(100, 1)},
                           {"main;serve;parse;copy", uneven(20, 2)},
                           {"main;load;parse", uneven(100, 3)},
                           {"main;load;rest", uneven(300, 4)}};
  FunctionCounts after = before;
  after["main;serve;parse"] = uneven(200, 5);
  Profile profiles[] = {profile_of(before, "a"), profile_of(after, "b")};
  Difference found = difference_tree({profiles[0]}, {profiles[1]}, {.per = Per::kSecond}, {});
  std::vector<std::string> lines;
  for (size_t i = 0; i < found.rows.size(); i++)
    lines.push_back(std::string(found.tree->nodes[i + 1].depth, ' ') + found.rows[i].name +
                    (found.rows[i].is_significant() ? " +" : ""));
  CHECK(lines == std::vector<std::string>{" main +", "  load", "   rest", "   parse",
                                          "  serve +", "   parse +", "    copy"});
  // Each has all that it calls: deeper frames count for their callers.
  CHECK(found.rows[5].after.value == doctest::Approx(220e7).epsilon(0.1));
  CHECK(found.rows[5].is_as_caller);
  CHECK_FALSE(found.rows[6].is_as_caller);
  CHECK(found.compared == 6);

  Difference changed = changed_branches(found);
  CHECK(changed.rows.size() == 3);
  CHECK(changed.tree->nodes.size() == 4);
  CHECK(changed.rows[2].name == "parse");
  Difference joined = with_joined_chains(changed);
  CHECK(joined.rows.size() == 2);
  CHECK(joined.rows[1].name == "serve > parse");
  CHECK(joined.rows[1].after.value == changed.rows[1].after.value);
  CHECK(joined.tree->nodes[1].size == 2);
  std::string text = difference_text(found, profiles[0], profiles[1], {});
  CHECK(text.find("  main\n") != text.npos);
  CHECK(text.find("load") == text.npos);
  CHECK(text.find("2 dearer, 0 cheaper, of 6 compared") != text.npos);
  std::string json = difference_json(found, profiles[0], profiles[1]);
  CHECK(json.find(R"("name":"copy","parent":5)") != json.npos);

  Difference shallow =
      difference_tree({profiles[0]}, {profiles[1]}, {}, {.least_percent = 25, .depth = 2});
  CHECK(shallow.rows.size() == 3);
}

TEST_CASE("difference: of a tree renamed functions are one path") {
  Profile before = profile_of(
      {{"main;old/web.Serve;main.run.func1", each_step(50)}, {"main;main.rest", each_step(50)}},
      "a");
  Profile after = profile_of(
      {{"main;new/web.Serve;main.run.func2", each_step(50)}, {"main;main.rest", each_step(50)}},
      "b");
  Difference found = difference_tree({before}, {after}, {}, {});
  CHECK(found.rows.size() == 4);
  CHECK(row_of(found, "main").verdict == Verdict::kSame);  // all of both
  const DifferenceRow& moved = row_of(found, "new/web.Serve");
  CHECK(moved.note == "was old/web.Serve");
  CHECK(moved.before.value == doctest::Approx(0.5));
  CHECK(moved.after.value == doctest::Approx(0.5));
  CHECK(row_of(found, "main.run.func2").note == "was main.run.func1");
}

TEST_CASE("difference: the same as text, Markdown and JSON") {
  Profile before = profile_of({{"main.a", each_step(100)}, {"main.b", each_step(900)}}, "a");
  Profile after = profile_of({{"main.a", each_step(200)}, {"main.b", each_step(800)}}, "b");
  Difference found = difference({before}, {after}, {});
  std::string text = difference_text(found, before, after, {});
  CHECK(text.find("dearer in this run, +100 %  main.a") != text.npos);
  CHECK(text.find("verdict:  1 dearer, 1 cheaper, of 2 compared by function; most: ") !=
        text.npos);
  CHECK(difference_markdown(found, before, after, {}).find("| `main.a` |") != text.npos);
  std::string json = difference_json(found, before, after);
  CHECK(json.find(R"("verdict":"dearer")") != json.npos);
  CHECK(json.find(R"("relative":1.0)") != json.npos);
}

}  // namespace gosym::difference_test
