#include <doctest/doctest.h>

#include <fmt/core.h>

#include <set>

#include "base/text.h"
#include "demo_profile.h"
#include "output/notes.h"
#include "output/report_json.h"
#include "output/text.h"
#include "view/call_tree.h"
#include "view/category.h"
#include "view/frame_keys.h"
#include "view/recursion.h"
#include "view/selection.h"
#include "view/totals.h"

namespace gosym::view_test {
using Kind = Dimension::Kind;

namespace {

// "main.main 0/7 [...]": each node with what it has itself and in total, and those below it.
std::string text_of(const CallTree& tree, uint32_t node = 0) {
  const CallNode& at = tree.nodes[node];
  std::string text =
      fmt::format("{} {}/{}", node == 0 ? "all" : tree.key_of(at).text, at.self, at.total);
  std::string below;
  for (uint32_t i = node + 1; i < node + at.size; i += tree.nodes[i].size)
    below += (below.empty() ? "" : ", ") + text_of(tree, i);
  return below.empty() ? text : fmt::format("{} [{}]", text, below);
}

std::string rows_of(const Profile& profile, Kind kind) {
  FrameKeys keys(profile, kind);
  std::string text;
  for (const Total& total : frame_totals(profile, profile.samples, keys))
    text += fmt::format("{} {}/{}\n", keys[total.key].text, total.self, total.total);
  return text;
}

CallTree tree_of(const Profile& profile, Direction direction = Direction::kFromRoot) {
  return call_tree(profile, profile.samples, FrameKeys(profile, Kind::kFunction), {direction});
}

CallTree around(const Profile& profile, Direction direction, std::string_view name) {
  return calls_around(profile, profile.samples, FrameKeys(profile, Kind::kFunction), direction,
                      [&](const ViewKey& key) { return key.text == name; });
}

template <class Choice>
Selection selection(std::vector<Choice> Selection::*which, std::string_view pattern) {
  Selection selection;
  (selection.*which).push_back(*Pattern::parse(pattern));
  return selection;
}

Profile selected(const Selection& selection) {
  Profile profile = make_demo_profile();
  select(profile, selection);
  return profile;
}

}  // namespace

TEST_CASE("totals: a recursion counts once, inlined functions count") {
  CHECK(rows_of(make_demo_profile(), Kind::kFunction) ==
        "main.compute 5/5\nwrite 2/2\nmain.loop 1/1\nmain.main 0/7\nmain.process 0/7\n"
        "[stripped libc.so.6] 0/2\n[no mapping] 0/1\n");
  CHECK(rows_of(Profile(), Kind::kFunction).empty());
}

TEST_CASE("csv: keys within each other have a column each, and only innermost rows are there") {
  Profile profile = make_demo_profile();
  ViewOptions options;
  options.by = {{Kind::kProcess}, {Kind::kModule}, {Kind::kFunction}};
  options.has_counts = true;
  std::string csv = csv_of(make_table(profile, options));
  CHECK(csv.starts_with(
      "self %,self ns,samples,total %,total ns,process,module,function,hottest line\n"
      "62.5000,50000000,5,62.5000,50000000,demo (42),demo,main.compute,/src/demo.go:12\n"));
  CHECK(csv.find("\"a; b (7)\",") == csv.npos);
  CHECK(csv.find("12.5000,10000000,1,12.5000,10000000,a; b (7),demo,main.loop,") != csv.npos);

  uint64_t samples = 0;
  Table table = make_table(profile, options);
  for (const Table::Row& row : table.rows)
    samples += *parse_decimal(row[2].text);
  CHECK(samples == profile.total_count());
  options.by.clear();
  options.view = View::kTree;
  CHECK(csv_of(make_table(profile, options)).find("samples") == std::string::npos);
}

// The lines of the first note whose text has these words; empty if there is none.
std::string note_of(const Profile& profile, std::string_view words) {
  About about = make_about(profile, Amounts(profile), {.max_processes = 5, .is_verbose = true});
  for (const Note& note : about.notes)
    if (note.text.find(words) != std::string::npos)
      return joined(lines_of(note), "\n");
  return {};
}

TEST_CASE("totals: code without a name is told by function, else by its file") {
  Profile profile = make_demo_profile();
  Location& in_libc =
      *std::ranges::find(profile.locations, Unnamed::kStripped, &Location::unnamed);
  StringId name = profile.strings.intern("libc.so.6!fun_3000");
  profile.functions.push_back({.name = name, .system_name = name});
  in_libc.first_frame = static_cast<uint32_t>(profile.frames.size());
  in_libc.frame_count = 1;
  profile.frames.push_back({.function = static_cast<FunctionId>(profile.functions.size() - 1),
                            .source = FrameSource::kCallFrames});

  CHECK_FALSE(profile.is_named(in_libc));
  CHECK(rows_of(profile, Kind::kFunction).find("libc.so.6!fun_3000 0/2\n") !=
        std::string::npos);
  CHECK(rows_of(profile, Kind::kFile).find("[stripped libc.so.6] 0/2\n") != std::string::npos);
  CHECK(rows_of(profile, Kind::kPackage).find("libc.so.6 0/2\n") != std::string::npos);
  FrameKeys keys(profile, Kind::kFunction);
  auto nameless = std::ranges::find(keys.all(), "libc.so.6!fun_3000", &ViewKey::text);
  REQUIRE(nameless != keys.all().end());
  CHECK_FALSE(nameless->is_named);
  CHECK(note_of(profile, "from ").find("call frames") == std::string::npos);
  CHECK(note_of(profile, "from ").find("none ") != std::string::npos);
  std::string note = note_of(profile, "user frames have no name");
  CHECK(note.find("[stripped libc.so.6]  install its debug package") != std::string::npos);
  profile.images[2].debug_package = "libc6-dbg";
  note = note_of(profile, "user frames have no name");
  CHECK(note.find("[stripped libc.so.6]  install libc6-dbg, or see") != std::string::npos);
}

// The demo with a program, and a function of C of another source, that have main.main as well.
Profile profile_of_namesakes() {
  Profile profile = make_demo_profile();
  ProfileImage image;
  image.file.path = "/src/other";
  profile.images.push_back(image);
  Mapping mapping = profile.mappings.back();
  mapping.image = static_cast<uint32_t>(profile.images.size() - 1);
  profile.mappings.push_back(mapping);
  auto add = [&](std::string_view declared, MappingId in, FrameSource source, uint64_t count) {
    StringId name = profile.strings.intern("main.main");
    profile.functions.push_back({.name = name,
                                 .system_name = name,
                                 .file = profile.strings.intern("/src/body.inc"),
                                 .start_line = 7,
                                 .declared = profile.strings.intern(declared)});
    Location location;
    location.mapping = in;
    location.first_frame = static_cast<uint32_t>(profile.frames.size());
    location.frame_count = 1;
    profile.frames.push_back({.function = static_cast<FunctionId>(profile.functions.size() - 1),
                              .line = 9,
                              .source = source});
    profile.locations.push_back(location);
    profile.add_stack(std::vector{static_cast<LocationId>(profile.locations.size() - 1)});
    SampleCount sample = profile.samples[0];
    sample.stack = static_cast<StackId>(profile.stack_count() - 1);
    sample.count = count;
    profile.samples.push_back(sample);
  };
  MappingId other{static_cast<uint32_t>(profile.mappings.size() - 1)};
  add("", other, FrameSource::kPclntab, 1);
  add("/src/a.c", other, FrameSource::kDwarf, 2);
  add("/build/other/../src/a.c", other, FrameSource::kDwarf, 4);
  add("/src/b.c", other, FrameSource::kDwarf, 8);
  return profile;
}

TEST_CASE(
    "totals: functions of one name are told apart by their file, and where they are declared") {
  Profile profile = profile_of_namesakes();
  CHECK(rows_of(profile, Kind::kFunction).starts_with("main.main 8/8\nmain.main 6/6\n"));
  FrameKeys keys(profile, Kind::kFunction);
  std::set<std::string> labels;
  for (const ViewKey& key : keys.all()) {
    ChosenKey chosen = keys.choose(profile, key);
    if (key.text == "main.main")
      labels.insert(chosen.label());
    else
      CHECK(chosen.label() == key.text);
    CHECK(keys.find(chosen) == &key);
  }
  CHECK(labels == std::set<std::string>{"main.main (demo)", "main.main (other, body.inc:7)",
                                        "main.main (other, a.c:7)",
                                        "main.main (other, b.c:7)"});
}

TEST_CASE(
    "selection: of functions of one name the one that was chosen, in any order of files") {
  Profile profile = profile_of_namesakes();
  FrameKeys keys(profile, Kind::kFunction);
  Profile turned = profile_of_namesakes();
  std::swap(turned.images[3], turned.images[4]);
  std::swap(turned.mappings[3].image, turned.mappings[4].image);
  std::set<uint64_t> counts;
  for (const ViewKey& key : keys.all()) {
    if (key.text != "main.main")
      continue;
    Selection only{.focus = {FunctionChoice(keys.choose(profile, key))}};
    // A name copied from a table: an expression that as such matches nothing.
    Selection without{.ignore = {*Pattern::parse(keys.choose(profile, key).label())}};
    Profile chosen = profile;
    Profile rest = turned;
    select(chosen, only);
    select(rest, without);
    counts.insert(chosen.total_count());
    CHECK(chosen.total_count() + rest.total_count() == profile.total_count());
    CHECK(only.to_string().starts_with("--focus '^main\\.main$' ("));
  }
  CHECK(counts == std::set<uint64_t>{1, 6, 7, 8});
}

TEST_CASE("totals: by what frames have in common") {
  Profile profile = make_demo_profile();
  CHECK(rows_of(profile, Kind::kModule) ==
        "demo 6/8\n[kernel] 2/2\nlibc.so.6 0/2\n[no mapping] 0/1\n");
  CHECK(rows_of(profile, Kind::kFile) ==
        "/src/demo.go 5/7\n[no file: [kernel]] 2/2\n[no file: demo] 1/1\n"
        "[stripped libc.so.6] 0/2\n[no mapping] 0/1\n");
  profile.functions[0].package = profile.strings.intern("main");
  CHECK(rows_of(profile, Kind::kPackage) ==
        "demo 6/8\n[kernel] 2/2\nmain 0/7\nlibc.so.6 0/2\n[no mapping] 0/1\n");
  CHECK(rows_of(profile, Kind::kLine).starts_with("main.compute demo.go:12 5/5\n"));
  CHECK(rows_of(profile, Kind::kAddress).starts_with("demo+0x402000 5/5\n"));
}

TEST_CASE("totals: a function with code of two files is one, shown where it is hottest") {
  Profile profile = make_demo_profile();
  for (FunctionId function : {FunctionId{0}, FunctionId{1}})  // the callers of main.compute
    profile.functions[to_index(function)].name = profile.functions[2].name;
  profile.functions[2].file = profile.strings.intern("/src/included.h");
  std::vector<Total> totals =
      frame_totals(profile, profile.samples, FrameKeys(profile, Kind::kFunction));
  REQUIRE(totals.size() == 5);
  CHECK(totals[0].function == FunctionId{2});
  CHECK(totals[0].line == 12);
  CHECK(totals[0].self == 5);
  CHECK(totals[0].total == 7);
}

TEST_CASE("processes: each has the name that it had in most of its samples, not its threads'") {
  Profile profile = make_demo_profile();
  for (SampleCount& sample : profile.samples)
    if (profile.owner(sample).pid == 42)
      profile.change_owner(sample, [&](Owner& owner) {
        owner.process = profile.strings.intern(sample.count > 2 ? "server" : "sh");
      });
  auto processes = find_processes(profile, profile.samples, Hosts(profile));
  REQUIRE(processes.size() == 2);
  CHECK(profile.strings[processes[0].comm] == "server");
  CHECK(profile.strings[processes[1].comm] == "a; b");  // only its thread's is known
  auto keys = sample_keys(profile, profile.samples, {.kind = Kind::kProcess}).keys;
  CHECK(keys[0].text == "server (42)");
}

TEST_CASE("totals: of lines that are equally hot the first one is told") {
  Profile profile = make_demo_profile();
  auto frame = std::ranges::find(profile.frames, FunctionId{2}, &Frame::function);
  REQUIRE(frame != profile.frames.end());
  Location twice = profile.locations[to_index(profile.stack(profile.samples[0].stack).front())];
  twice.first_frame = static_cast<uint32_t>(profile.frames.size());
  twice.frame_count = 1;
  profile.frames.push_back(*frame);
  profile.frames.back().line = frame->line - 1;
  profile.locations.push_back(twice);
  auto added = static_cast<LocationId>(profile.locations.size() - 1);
  SampleCount other = profile.samples[0];
  other.stack = StackId{3};
  profile.add_stack(std::vector{added});
  profile.samples.push_back(other);
  std::vector<Total> totals =
      frame_totals(profile, profile.samples, FrameKeys(profile, Kind::kFunction));
  CHECK(totals[0].self == 10);
  CHECK(totals[0].line == 11);
}

TEST_CASE("totals: the hottest line has a plain path") {
  Profile profile = make_demo_profile();
  auto shown = [&](std::string_view file, uint32_t line) {
    profile.functions[2].file = profile.strings.intern(file);
    return hottest_line(profile, {.function = FunctionId{2}, .line = line});
  };
  CHECK(shown("./string/../sysdeps/./memmove.S", 12) == "sysdeps/memmove.S:12");
  CHECK(shown("/src/a\x1b.c", 0) == printable("/src/a\x1b.c"));
  CHECK(shown("", 12).empty());
  CHECK(hottest_line(profile, {.line = 12}).empty());
}

TEST_CASE("totals: functions of one name in two images are two") {
  Profile profile = make_demo_profile();
  profile.functions[4].name = profile.functions[3].name;  // the kernel's write
  CHECK(frame_totals(profile, profile.samples, FrameKeys(profile, Kind::kFunction)).size() ==
        7);
}

TEST_CASE("totals: people see waits at the function that waited, programs at the innermost") {
  Profile profile = make_demo_profile();
  profile.info.events = {{.name = std::string(kOffCpuEvent), .unit = "nanoseconds"}};
  for (SampleCount& sample : profile.samples)
    sample.weight = sample.count;
  auto rename = [&](size_t function, std::string_view name, std::string_view package) {
    profile.functions[function].name = profile.strings.intern(name);
    profile.functions[function].package = profile.strings.intern(package);
  };
  rename(2, "runtime.futex", "runtime");  // inlined into main.process
  auto rows = [&](Charge charge) {
    FrameKeys keys(profile, Kind::kFunction);
    std::string text;
    for (const Total& total : frame_totals(profile, profile.samples, keys, charge))
      if (total.self > 0)
        text += fmt::format("{} {}/{} {}\n", keys[total.key].text, total.self, total.total,
                            total.waited_in ? keys[*total.waited_in].text : "-");
    return text;
  };
  CHECK(charge_for_people(profile) == Charge::kWaiting);
  CHECK(rows(Charge::kInnermost) == "runtime.futex 5/5 -\nwrite 2/2 -\nmain.loop 1/1 -\n");
  CHECK(rows(Charge::kWaiting) ==
        "main.process 5/7 runtime.futex\n[stripped libc.so.6] 2/2 write\nmain.loop 1/1 -\n");
  FrameKeys keys(profile, Kind::kFunction);
  for (const Total& total : frame_totals(profile, profile.samples, keys, Charge::kWaiting))
    if (keys[total.key].text == "main.process")
      CHECK(hottest_line(profile, total) == "/src/demo.go:22");
  std::string text = make_text(profile, {});
  CHECK(text.find("waits in") != std::string::npos);
  CHECK(text.find("main.process          runtime.futex") != std::string::npos);
  CHECK(csv_of(make_table(profile, {})).find(",runtime.futex,") != std::string::npos);
  // The runtime has some under the name of another package, and enters the kernel by others.
  rename(1, "internal/poll.runtime_pollWait", "internal/poll");
  CHECK(rows(Charge::kWaiting).starts_with("main.main 5/7 runtime.futex\n"));
  rename(1, "syscall.Syscall", "syscall");
  CHECK(rows(Charge::kWaiting).starts_with("main.main 5/7 runtime.futex\n"));
  rename(1, "syscall.read", "syscall");
  CHECK(rows(Charge::kWaiting).starts_with("syscall.read 5/7 runtime.futex\n"));
  // A stack of the runtime alone is of its innermost function outside of the kernel.
  rename(1, "runtime.notesleep", "runtime");
  rename(0, "runtime.mcall", "runtime");
  CHECK(rows(Charge::kWaiting).starts_with("runtime.futex 5/5 -\n"));
}

TEST_CASE("call tree: from the root, from the leaf, and by groups") {
  Profile profile = make_demo_profile();
  CHECK(text_of(tree_of(profile)) ==
        "all 0/8 [main.main 0/7 [main.process 0/7 [main.compute 5/5, "
        "[stripped libc.so.6] 0/2 [write 2/2]]], [no mapping] 0/1 [main.loop 0/1 "
        "[main.loop 1/1]]]");
  CHECK(text_of(tree_of(profile, Direction::kFromLeaf)) ==
        "all 0/8 [main.compute 0/5 [main.process 0/5 [main.main 5/5]], write 0/2 "
        "[[stripped libc.so.6] 0/2 [main.process 0/2 [main.main 2/2]]], main.loop 0/1 "
        "[main.loop 0/1 [[no mapping] 1/1]]]");
  std::vector<SampleKeys> groups = {sample_keys(profile, profile.samples, {Kind::kProcess})};
  CHECK(text_of(call_tree(profile, profile.samples, FrameKeys(profile, Kind::kModule),
                          TreeShape(), groups)) ==
        "all 0/8 [demo (42) 0/7 [demo 5/7 [libc.so.6 0/2 [[kernel] 2/2]]], "
        "a; b (7) 0/1 [[no mapping] 0/1 [demo 1/1]]]");
  CHECK(text_of(tree_of(Profile())) == "all 0/0");
}

// "ABAB" as "A2 B2".
std::string folded(std::string_view calls) {
  std::vector<CallStep> path;
  for (char c : calls)
    path.push_back({.key = KeyId{static_cast<uint32_t>(c - 'A')},
                    .place = static_cast<uint32_t>(path.size())});
  RecursionFolder folder(26);
  folder.fold(path);
  std::string text;
  for (const CallStep& step : path) {
    char name = static_cast<char>('A' + to_index(step.key));
    CHECK(calls[step.place] == name);
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", name,
                        step.times > 1 ? std::to_string(step.times) : "");
  }
  return text;
}

TEST_CASE("recursion: calls that follow each other again are there once") {
  CHECK(folded("") == "");
  CHECK(folded("ABC") == "A B C");
  CHECK(folded("AAAB") == "A3 B");
  CHECK(folded("XABABABY") == "X A3 B3 Y");
  CHECK(folded("ABABA") == "A2 B2 A");
  CHECK(folded("AABAAAB") == "A5 B2");  // a cycle whose first calls itself
  CHECK(folded("ABCAB") == "A B C A B");
  CHECK(folded("ABCDABCDABCE") == "A2 B2 C2 D2 A B C E");
  std::string seventeen = "ABCDEFGHIJKLMNOPQ";
  CHECK(folded(seventeen + seventeen).size() == 2 * 34 - 1);  // too many in turn
}

TEST_CASE("recursion: a folded tree says how deep it was, a profile keeps the innermost") {
  Profile profile = make_demo_profile();
  FrameKeys keys(profile, Kind::kFunction);
  CallTree tree = call_tree(profile, profile.samples, keys, {Direction::kFromRoot, true});
  std::string texts;
  for (size_t i = 1; i < tree.nodes.size(); i++)
    texts += tree.text_of(tree.nodes[i]) + "\n";
  CHECK(texts.find("main.loop ×2\n") != texts.npos);
  std::string before = rows_of(profile, Kind::kFunction);
  fold_recursion(profile);
  CHECK(rows_of(profile, Kind::kFunction) == before);
  CHECK(text_of(tree_of(profile)) ==
        "all 0/8 [main.main 0/7 [main.process 0/7 [main.compute 5/5, "
        "[stripped libc.so.6] 0/2 [write 2/2]]], [no mapping] 0/1 [main.loop 1/1]]");
}

TEST_CASE("call tree: what there is no room for is a gap, and all samples are there") {
  Profile profile = make_demo_profile();
  profile.memory_limit = 192 * 4;
  CHECK(text_of(tree_of(profile)) ==
        "all 0/8 [main.main 0/7 [main.process 0/7 [main.compute 5/5, … more calls … 2/2]], "
        "… more calls … 1/1]");
  profile.memory_limit = 0;
  CHECK(text_of(tree_of(profile)) == "all 0/8 [… more calls … 8/8]");
}

TEST_CASE("call tree: around a function each path counts a sample once") {
  Profile profile = make_demo_profile();
  CHECK(text_of(around(profile, Direction::kFromLeaf, "main.process")) ==
        "all 0/7 [main.main 7/7]");
  CHECK(text_of(around(profile, Direction::kFromRoot, "main.process")) ==
        "all 0/7 [main.compute 5/5, [stripped libc.so.6] 0/2 [write 2/2]]");
  CHECK(text_of(around(profile, Direction::kFromRoot, "main.loop")) ==
        "all 1/1 [main.loop 1/1]");
  CHECK(text_of(around(profile, Direction::kFromLeaf, "main.loop")) ==
        "all 0/1 [[no mapping] 1/1, main.loop 0/1 [[no mapping] 1/1]]");
  CHECK(text_of(around(profile, Direction::kFromLeaf, "none")) == "all 0/0");
}

TEST_CASE("call tree: pruned by total and depth, and to the largest nodes") {
  CallTree tree = tree_of(make_demo_profile());
  CHECK(text_of(pruned(tree, 2)) ==
        "all 0/8 [main.main 0/7 [main.process 0/7 [main.compute 5/5, "
        "[stripped libc.so.6] 0/2 [write 2/2]]]]");
  CHECK(text_of(pruned(tree, 0, 1)) == "all 0/8 [main.main 0/7, [no mapping] 0/1]");
  CHECK(text_of(pruned(tree, 100)) == "all 0/8");
  CHECK(text_of(largest(tree, 3)) ==
        "all 0/8 [main.main 0/7 [main.process 0/7 [main.compute 5/5]]]");
  CHECK(text_of(largest(tree, 0)) == "all 0/8");
  CHECK(text_of(largest(tree, 100)) == text_of(tree));
  CHECK(text_of(with_joined_chains(tree)) ==
        "all 0/8 [main.main > main.process 0/7 [main.compute 5/5, [stripped libc.so.6] > write "
        "2/2], [no mapping] > main.loop > main.loop 1/1]");
}

TEST_CASE("select: equal samples of two recordings stay two") {
  Profile profile = make_demo_profile();
  std::vector<SampleCount> others = profile.samples;
  for (SampleCount& sample : others)
    profile.change_owner(sample, [](Owner& owner) { owner.recording = 1; });
  profile.samples.insert(profile.samples.end(), others.begin(), others.end());
  select(profile, {.has_inlines = false});
  uint64_t first = 0;
  uint64_t second = 0;
  for (const SampleCount& sample : profile.samples)
    (profile.owner(sample).recording == 0 ? first : second) += sample.count;
  CHECK(first == second);
  CHECK(first > 0);
}

TEST_CASE("call tree: a hundred thousand calls deep") {
  Profile profile = make_demo_profile();
  profile.add_stack(std::vector(100'000, LocationId{6}));
  profile.samples = {{.stack = StackId{3}, .count = 1}};
  CallTree tree = tree_of(profile);
  CHECK(tree.nodes.size() == 100'001);
  CHECK(tree.nodes.back().depth == 100'000);
  CHECK(pruned(tree, 1).nodes.size() == 100'001);
  CallTree joined = with_joined_chains(tree);
  REQUIRE(joined.nodes.size() == 2);
  CHECK(joined.key_of(joined.nodes[1]).text ==
        "main.loop > main.loop > … 99996 calls … > main.loop > main.loop");
  std::string text = make_text(profile, {.view = View::kTree, .screen = {.width = 80}});
  CHECK(std::count(text.begin(), text.end(), '\n') > 100'000);
}

TEST_CASE("selection: samples with a function, without one, and with code of a file") {
  CHECK(selected(selection(&Selection::focus, "comp")).total_amount() == 5);
  CHECK(selected(selection(&Selection::focus, "libc")).total_amount() == 2);  // has no name
  CHECK(selected(selection(&Selection::ignore, "^main\\.main$")).total_amount() == 1);
  CHECK(selected(selection(&Selection::modules, "^libc")).total_amount() == 2);
  Profile none = selected(selection(&Selection::focus, "nothing"));
  CHECK(none.samples.empty());
  CHECK(none.recorded_amounts == std::vector<uint64_t>{8});
  CHECK(none.filter == "--focus nothing");
}

TEST_CASE("selection: frames are hidden, and samples of which none is left go") {
  CHECK(text_of(tree_of(selected(selection(&Selection::hide, "process|loop")))) ==
        "all 0/8 [main.main 0/7 [main.compute 5/5, [stripped libc.so.6] 0/2 [write 2/2]], "
        "[no mapping] 1/1]");
  CHECK(text_of(tree_of(selected(selection(&Selection::show, "main.(main|compute)")))) ==
        "all 0/7 [main.main 2/7 [main.compute 5/5]]");
  Selection no_kernel;
  no_kernel.has_kernel = false;
  CHECK(rows_of(selected(no_kernel), Kind::kFunction).find("write") == std::string::npos);
  CHECK(selected(no_kernel).total_amount() == 8);
  Selection no_inlines;
  no_inlines.has_inlines = false;
  CHECK(text_of(tree_of(selected(no_inlines)))
            .starts_with("all 0/8 [main.main 0/7 [main.process 5/7 [[stripped"));
  no_inlines.focus.push_back(*Pattern::parse("compute"));  // which is inlined
  CHECK(selected(no_inlines).samples.empty());
  CHECK(no_inlines.to_string() == "--focus compute --no-inlines");
}

TEST_CASE("selection: own code alone, with what it calls") {
  Profile profile = make_demo_profile();
  profile.images[3].own.modules = {"example.com/shop"};
  StringId shop = profile.strings.intern("example.com/shop");
  for (Function& function : profile.functions)
    if (std::string_view name = profile.strings[function.name];
        name == "main.main" || name == "main.process")
      function.package = shop;
  Selection mine;
  mine.is_mine = true;
  Profile own = profile;
  select(own, mine);
  CHECK(text_of(tree_of(own)) ==
        "all 0/8 [main.main 0/7 [main.process 7/7], [not in own code: demo] 1/1]");
  CHECK(own.filter == "--mine");
  CHECK(*own.own_code == "module example.com/shop");
  CHECK(make_text(profile, {})
            .find("own code   0.0 %, and 87.5 % with what it calls, see --mine: module "
                  "example.com/shop\n") != std::string::npos);
  mine.mine.push_back(*Pattern::parse("compute|write"));
  CHECK(text_of(tree_of(selected(mine))) ==
        "all 0/8 [main.compute 5/5, write 2/2, [not in own code: demo] 1/1]");
  CHECK(mine.to_string() == "--mine='compute|write'");
}

TEST_CASE("selection: stacks that are empty or only a gap are not in own code") {
  Profile profile = make_demo_profile();
  Location gap;
  gap.address = RuntimeAddress{4100};
  gap.unnamed = Unnamed::kLeftOut;
  profile.locations.push_back(gap);
  auto stack = static_cast<StackId>(profile.stack_count());
  profile.stack_locations.push_back(static_cast<LocationId>(profile.locations.size() - 1));
  profile.stack_begin.push_back(static_cast<uint32_t>(profile.stack_locations.size()));
  OwnerId owner = profile.samples[0].owner;
  profile.samples.push_back({stack, owner, 3});
  auto empty = static_cast<StackId>(profile.stack_count());
  profile.stack_begin.push_back(static_cast<uint32_t>(profile.stack_locations.size()));
  profile.samples.push_back({empty, owner, 2});
  Selection mine;
  mine.is_mine = true;
  mine.mine.push_back(*Pattern::parse("compute"));
  select(profile, mine);
  CHECK(profile.total_amount() == 13);
  CHECK(rows_of(profile, Kind::kFunction).find("[not in own code: not known] 5/5\n") !=
        std::string::npos);
}

TEST_CASE("selection: all outputs are of what is left") {
  Profile profile = selected(selection(&Selection::focus, "compute"));
  CHECK(make_text(profile, {}).find("only       --focus compute: 62.5 % of all\n") !=
        std::string::npos);
  CHECK(profile.stack_count() == 2);  // one is of the samples that were dropped
}

TEST_CASE("pattern: an error names what is wrong") {
  auto pattern = Pattern::parse("a(b");
  REQUIRE_FALSE(pattern);
  CHECK(pattern.error().message() == "'a(b' is not a regular expression: missing ): a(b");
  CHECK_FALSE(Pattern::parse("(?=a)"));
  CHECK(Pattern::parse("")->matches("anything"));
}

TEST_CASE("dimension: names, perf's names, and labels") {
  for (std::string_view name :
       {"function", "line", "file", "module", "package", "category", "address", "process",
        "thread", "comm", "label:a b", "cgroup", "container", "goroutine"}) {
    auto parsed = parse_dimension(name);
    REQUIRE(parsed);
    CHECK(to_string(*parsed) == name);
  }
  CHECK(parse_dimension("dso")->kind == Kind::kModule);
  CHECK_FALSE(parse_dimension("label:"));
  CHECK(parse_dimension("time:100ms")->step == 100'000'000);
  CHECK(parse_dimension("time:1ms"));
  CHECK_FALSE(parse_dimension("time:0s"));
  CHECK_FALSE(parse_dimension("time:0.9ms"));
  CHECK_FALSE(parse_dimension("time:"));
  CHECK(parse_dimension("x").error().message().starts_with("'x' is not one of function, line"));
}

TEST_CASE("timeline: steps grow with the time, and parts have what steps have") {
  Timeline timeline;
  timeline.add(0, 1);
  timeline.add(19'999'999'999, 2);
  CHECK(timeline.step() == 1'000'000);
  CHECK(timeline.amounts().size() == 20'000);
  timeline.add(100'000'000'000, 4);
  CHECK(timeline.step() == 10'000'000);
  CHECK(timeline.amounts().size() == 10'001);
  CHECK(timeline.amounts()[0] == 1);
  CHECK(timeline.amounts()[1999] == 2);
  CHECK(timeline.amounts()[10'000] == 4);
  std::vector<double> parts = timeline.parts(3, 120'000'000'000);
  CHECK(parts[0] == doctest::Approx(3));
  CHECK(parts[1] == doctest::Approx(0));
  CHECK(parts[2] == doctest::Approx(4));
  CHECK(timeline.parts(2, 0) == std::vector<double>{0, 0});
  Timeline long_ones;
  long_ones.add_interval(1'500'000, 4'000'000, 25);
  long_ones.add_interval(2'100'000, 2'100'000, 1);
  CHECK(long_ones.amounts() == std::vector<uint64_t>{0, 5, 11, 10, 0});
  long_ones.add_interval(0, UINT64_MAX, 1000);
  uint64_t sum = 0;
  for (uint64_t amount : long_ones.amounts())
    sum += amount;
  CHECK(sum == 1026);
  Timeline late;
  late.add(UINT64_MAX, 7);
  CHECK(late.amounts().size() <= 20'000);
  CHECK(late.amounts().back() == 7);
}

TEST_CASE("timeline: steps that have no common one of 64 bits are added up as they are") {
  Timeline timeline(UINT64_MAX);
  timeline.add(0, 1);
  Timeline other(UINT64_MAX - 1);
  other.add(0, 2);
  timeline.add(other, 0);
  CHECK(timeline.step() == UINT64_MAX);
  CHECK(timeline.amounts() == std::vector<uint64_t>{3});
  Timeline coarse(3'000'000);
  coarse.add(0, 4);
  coarse.add(Timeline(2'000'000), 0);
  CHECK(coarse.step() == 6'000'000);
}

TEST_CASE("timeline: one of longer steps is added to one of shorter ones") {
  Timeline sum;
  sum.add(19'000'000, 1);
  sum.add(20'000'000, 2);
  Timeline page(20'000'000);
  page.add(0, 4);
  page.add(59'999'999, 8);
  sum.add(page, 20'000'000);
  CHECK(sum.step() == 20'000'000);
  CHECK(sum.amounts() == std::vector<uint64_t>{1, 6, 0, 8});
  Timeline other(50'000'000);
  other.add(0, 16);
  sum.add(other, 0);
  CHECK(sum.step() == 100'000'000);
  CHECK(sum.amounts() == std::vector<uint64_t>{31});
}

TEST_CASE("sample keys: of whom samples are") {
  Profile profile = make_demo_profile();
  profile.label_sets.push_back(
      {{profile.strings.intern("tenant"), profile.strings.intern("t1")}});
  profile.change_owner(profile.samples[0], [&](Owner& owner) { owner.label_set = 1; });
  auto texts = [&](const Dimension& dimension) {
    SampleKeys keys = sample_keys(profile, profile.samples, dimension);
    std::string text;
    for (KeyId id : keys.ids)
      text += keys.keys[to_index(id)].text + '|';
    return text;
  };
  CHECK(texts({Kind::kProcess}) == "demo (42)|demo (42)|a; b (7)|");
  CHECK(texts({Kind::kThread}) == "demo (42)|demo (43)|a; b (7)|");
  CHECK(texts({Kind::kLabel, "tenant"}) == "t1|(none)|(none)|");
  CHECK(texts({Kind::kModule}) == "demo|[kernel]|demo|");
  CHECK(texts({Kind::kContainer}) == "(none)|(none)|(none)|");
}

TEST_CASE("sample keys: processes of one name are one program") {
  Profile profile = make_demo_profile();
  SampleCount other = {.stack = StackId{0}, .owner = profile.samples[0].owner, .count = 4};
  profile.change_owner(other, [](Owner& owner) { owner.pid = owner.tid = 100; });
  profile.samples.push_back(other);
  SampleKeys keys = program_keys(profile, profile.samples);
  REQUIRE(keys.keys.size() == 2);
  CHECK(keys.keys[0].text == "demo");
  CHECK(keys.keys[1].text == "a; b");
  CHECK(keys.ids == std::vector{KeyId{0}, KeyId{0}, KeyId{1}, KeyId{0}});
}

TEST_CASE("sample keys: by program, as rows and as a tree of them") {
  Profile profile = make_demo_profile();
  profile.change_owner(profile.samples[1], [&](Owner& owner) { owner.pid = 43; });
  auto program = *parse_dimension("program");
  SampleKeys keys = sample_keys(profile, profile.samples, program);
  REQUIRE(keys.keys.size() == 2);
  CHECK(keys.keys[0].text == "demo");
  CHECK(keys.ids == std::vector<KeyId>{KeyId{0}, KeyId{0}, KeyId{1}});
  CHECK(program.is_comparable());
  CHECK_FALSE(program.is_of_frames());
}

TEST_CASE("category: by the longest beginning, then by the package, then by the module") {
  auto of = [](std::string_view name, std::string_view package) {
    return category_of(name, package, "server", false).text;
  };
  CHECK(of("runtime.gcBgMarkWorker", "runtime") == "garbage collection");
  CHECK(of("runtime.(*mspan).sweep", "runtime") == "garbage collection");
  CHECK(of("runtime.(*mspan).init", "runtime") == "allocation");
  CHECK(of("runtime.newobject", "runtime") == "allocation");
  CHECK(of("runtime.newproc1", "runtime") == "scheduling");
  CHECK(of("runtime.unheardOf", "runtime") == "Go runtime, other");
  CHECK(of("sync.(*Mutex).Lock", "sync") == "locks");
  CHECK(of("net/http.(*conn).serve", "net/http") == "network and HTTP");
  CHECK(of("network/x.F", "network/x") == "network/x");
  CHECK(of("gopkg.in/yaml.v3.Unmarshal", "gopkg.in/yaml.v3") == "JSON and other encodings");
  CHECK(of("main.fib", "main") == "main");
  CHECK(of("malloc", "") == "allocation");
  CHECK(of("png_read_row", "") == "server");
  CHECK(category_of("runtime.goexit", "runtime", "server", false).text == "roots of stacks");
  CHECK(category_of("clone3", "", "libc.so.6", false).kind == Category::Kind::kOther);
  CHECK(category_of("runtime.duffcopy", "runtime", "server", false).text == "copying values");
  CHECK(category_of("tcp_sendmsg", "", "[kernel]", true).text == "kernel: network");
  CHECK(category_of("frobnicate", "", "[kernel]", true).text == "kernel, other");
}

TEST_CASE("category: a small function of the kernel or the runtime is of its caller's") {
  Profile profile = make_demo_profile();
  StringPool& strings = profile.strings;
  profile.functions.push_back({strings.intern("tcp_sendmsg"), {}, {}, 0});
  profile.frames.push_back({FunctionId{5}, 0, FrameSource::kKallsyms});
  Location caller = profile.locations[4];
  caller.first_frame = static_cast<uint32_t>(profile.frames.size() - 1);
  profile.locations.push_back(caller);
  LocationId tcp{static_cast<uint32_t>(profile.locations.size() - 1)};
  profile.add_stack(std::vector{LocationId{4}, tcp, LocationId{0}});
  profile.samples[1].stack = StackId{3};
  CHECK(rows_of(profile, Kind::kCategory).find("kernel: network 2/2\n") != std::string::npos);
  profile.samples[1].stack = StackId{1};  // called by nothing but what is known by its module
  CHECK(rows_of(profile, Kind::kCategory).find("kernel, other 2/2\n") != std::string::npos);
}

TEST_CASE("views: callers, callees, lines and groups as text") {
  Profile profile = make_demo_profile();
  auto body = [&](const ViewOptions& options) {
    std::string text = make_text(profile, options);
    size_t begin = text.find("\n\n") + 2;
    return text.substr(begin, text.rfind("\nfew ") - begin);
  };
  Pattern process = *Pattern::parse("process");
  CHECK(body({.view = View::kCallers, .function = process}) ==
        "callers of main.process: 87.50 % of the total, 70.0 ms\n\ntotal %  function\n"
        "  87.50  main.main\n");
  CHECK(body({.view = View::kCallees, .function = process}) ==
        "callees of main.process: 87.50 % of the total, 70.0 ms\n\ntotal %  self %  function\n"
        "  62.50   62.50  ├─ main.compute\n"
        "  25.00    0.00  └─ [stripped libc.so.6]\n"
        "  25.00   25.00     write\n");
  // A share of those of the function, which has a quarter of all.
  Pattern write = *Pattern::parse("write");
  CHECK(body({.view = View::kCallers, .function = write, .least_percent = 99}) ==
        "callers of write: 25.00 % of the total, 20.0 ms\n\ntotal %  function\n"
        "  25.00  [stripped libc.so.6]\n"
        "  25.00  main.process\n"
        "  25.00  main.main\n");
  CHECK(body({.view = View::kCallers, .function = *Pattern::parse("nothing")}) ==
        "no function matches 'nothing'\n");
  CHECK(body({.view = View::kLines, .function = process}) ==
        "self %  self ms  total %  total ms  function and line        file\n"
        "  0.00      0.0    62.50      50.0  main.process demo.go:22  /src/demo.go:22\n"
        "  0.00      0.0    25.00      20.0  main.process demo.go:23  /src/demo.go:23\n");
  CHECK(body({.by = {{Kind::kProcess}, {Kind::kModule}}, .top = 1}) ==
        "self %  self ms  total %  total ms  process / module\n"
        " 87.50     70.0    87.50      70.0  demo (42)\n"
        " 62.50     50.0    87.50      70.0    demo\n"
        "1 of 2 rows; --top 0 shows all\n");
  CHECK(body({.by = {{Kind::kComm}}, .sort = SortBy::kName}) ==
        "self %  self ms  total %  total ms  comm\n"
        " 12.50     10.0    12.50      10.0  a; b\n"
        " 87.50     70.0    87.50      70.0  demo\n");
}

TEST_CASE("views: of calls around a function people see the largest, programs all") {
  Profile profile = make_demo_profile();
  for (size_t i = 0; i < 60; i++) {  // callers of main.loop, each of another name
    StringId name = profile.strings.intern(fmt::format("main.caller{}", i));
    auto function = static_cast<FunctionId>(profile.functions.size());
    profile.functions.push_back({.name = name, .system_name = name});
    Location& caller = profile.locations.emplace_back();
    caller.mapping = MappingId{3};
    caller.first_frame = static_cast<uint32_t>(profile.frames.size());
    caller.frame_count = 1;
    profile.frames.push_back({.function = function});
    StackId stack{static_cast<uint32_t>(profile.stack_count())};
    LocationId leaf = profile.stack(StackId{2}).front();
    profile.add_stack(
        std::vector{leaf, LocationId{static_cast<uint32_t>(profile.locations.size() - 1)}});
    OwnerId owner = profile.owners.intern({.pid = 7, .tid = 7});
    profile.samples.push_back({.stack = stack, .owner = owner, .count = 1});
  }
  ViewOptions options = {.view = View::kCallers, .function = *Pattern::parse("^main.loop$")};
  std::string text = make_text(profile, options);
  CHECK(text.find("13 smaller calls are left out; --min 0 --top 0 shows all\n") !=
        std::string::npos);
  CHECK(make_table(profile, options).rows.size() == 63);
  options.top = 0;
  CHECK(make_text(profile, options).find("left out") == std::string::npos);
}

TEST_CASE("views: callers of several functions of one name: all are told, one can be chosen") {
  Profile profile = make_demo_profile();
  profile.functions[4].name = profile.functions[3].name;  // of the kernel and of the program
  ViewOptions options = {.view = View::kCallers, .function = *Pattern::parse("^main.loop$")};
  auto has = [&](std::string_view part) {
    return make_text(profile, options).find(part) != std::string::npos;
  };
  CHECK(
      has("callers of main.loop ([kernel]), main.loop (demo): 37.50 % of the total, 30.0 ms\n"
          "2 functions are called main.loop; --callers 'main.loop ([kernel])' shows one of "
          "them\n\ntotal %"));
  FrameKeys keys(profile, Kind::kFunction);
  for (const ViewKey& key : keys.all())
    if (key.text == "main.loop" && !key.is_kernel)
      options.function = FunctionChoice(keys.choose(profile, key));
  CHECK(has("callers of main.loop (demo): 12.50 % of the total, 10.0 ms\n\ntotal %"));
  options.function = *Pattern::parse("^main.process$");
  CHECK_FALSE(has("are called"));
}

TEST_CASE("views: of a chain of calls that is too wide both ends are shown") {
  Profile profile = make_demo_profile();
  auto rename = [&](size_t function, std::string_view name) {
    profile.functions[function].name = profile.strings.intern(name);
  };
  rename(0, "example.com/shop/basket.(*Server).ListenAndServe");
  rename(2, "example.com/shop/prices.computeTotal");
  profile.samples.resize(1);
  auto path = [&](size_t width) {
    std::string text = make_text(profile, {.screen = {.width = width}});
    text.erase(0, text.rfind("%  function\n") + 12);
    return text.substr(0, text.find('\n')).substr(17);
  };
  CHECK(path(120) == "basket.(*Server).ListenAndServe > main.process > prices.computeTotal");
  CHECK(path(80) == "basket.(*Server).ListenAndServe > … > prices.computeTotal");
  CHECK(path(60) == "baske…tenAndServe > … > prices.computeTotal");
}

TEST_CASE("views: no line is wider than the screen, at any width") {
  Profile profile = make_demo_profile();
  profile.functions[0].name = profile.strings.intern(std::string(300, 'x'));
  for (View view : {View::kSummary, View::kTree, View::kInverted})
    for (size_t width : {60, 80, 120, 200}) {
      std::string text = make_text(profile, {.view = view, .screen = {.width = width}});
      size_t longest = 0;
      size_t column = 0;
      for (char c : text) {
        bool begins_character = (static_cast<uint8_t>(c) & 0xc0) != 0x80;
        column = c == '\n' ? 0 : column + (begins_character ? 1 : 0);
        longest = std::max(longest, column);
      }
      CHECK(longest <= width);
    }
}

TEST_CASE("views: json has totals, functions with lines, and the tree") {
  std::string json = make_report_json(make_demo_profile(), {});
  auto has = [&](std::string_view part) { return json.find(part) != json.npos; };
  CHECK(has(R"("totals":{"samples":8,"value":80000000,"unit":"nanoseconds"})"));
  CHECK(has(R"({"name":"main.process","module":"/src/demo","file":"/src/demo.go","package":"",)"
            R"("self":0,"total":70000000,"lines":[{"line":22,"self":0,"total":50000000},)"
            R"({"line":23,"self":0,"total":20000000}]})"));
  CHECK(
      has(R"("tree":{"name":"all","self":0,"total":80000000,"children":[{"name":"main.main")"));
  CHECK(json.ends_with("]}]}}\n"));
}

}  // namespace gosym::view_test
