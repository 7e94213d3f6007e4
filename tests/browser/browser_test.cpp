#include <doctest/doctest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/text.h"
#include "browser/draw.h"
#include "browser/terminal.h"
#include "browser/update.h"
#include "demo_profile.h"

using namespace gosym;
using namespace gosym::browser;
using Kind = Key::Kind;

namespace {

// A person before the browser: keys go in, text comes out.
class Person {
public:
  explicit Person(Profile profile, Size size = {80, 24}) {
    state.title = "cpu.raw";
    state.size = size;
    state.query.is_by_program = false;  // the tests of that set it
    recorded.events = by_event(std::move(profile));
    recorded.generation = 1;
    recorded.find_code = [](const Profile& /*profile*/, std::span<const SampleCount> samples,
                            const ChosenKey& function) {
      if (function.text == "main.main")
        return Code{.problem = "the file is gone"};
      return Code{
          .lines = {{.text = function.label()},
                    {.total = 1, .text = "11  first()"},
                    {.text = "12  "},
                    {.self = samples.size(), .total = samples.size(), .text = "13  loop()"},
                    {.is_of_instructions = true, .text = "11  first()"},
                    {.total = 1,
                     .is_instruction = true,
                     .is_of_instructions = true,
                     .text = "  call"},
                    {.self = samples.size(),
                     .total = samples.size(),
                     .is_instruction = true,
                     .is_of_instructions = true,
                     .text = "  mov"},
                    {.is_instruction = true, .is_of_instructions = true, .text = "  ret"}}};
    };
    ask();
  }

  void ask() {
    shown = answer(recorded, state.query, shown.get());
    settle(state, *shown);
  }
  Effect press(Key key) {
    Effect effect = update(state, key, *shown);
    if (!is_same(shown->query, state.query))
      ask();
    return effect;
  }
  // Characters, and of other keys "<Enter>".
  Effect type(std::string_view keys) {
    static const std::map<std::string_view, Kind> kNamed = {
        {"Enter", Kind::kEnter},    {"Esc", Kind::kEscape},  {"Back", Kind::kBackspace},
        {"Up", Kind::kUp},          {"Down", Kind::kDown},   {"Left", Kind::kLeft},
        {"Right", Kind::kRight},    {"PgUp", Kind::kPageUp}, {"PgDn", Kind::kPageDown},
        {"Home", Kind::kHome},      {"End", Kind::kEnd},     {"Tab", Kind::kTab},
        {"BackTab", Kind::kBackTab}};
    Effect effect;
    while (!keys.empty()) {
      if (keys[0] == '<') {
        size_t end = keys.find('>');
        effect = press({.kind = kNamed.at(keys.substr(1, end - 1))});
        keys.remove_prefix(end + 1);
      } else {
        effect = press(character_key(static_cast<unsigned char>(keys[0])));
        keys.remove_prefix(1);
      }
    }
    return effect;
  }

  std::string screen() const { return draw(state, *shown).text(); }
  bool shows(std::string_view text) const { return screen().find(text) != std::string::npos; }
  std::string at_cursor() const {
    const ViewKey* key = entry_at_cursor(state, *shown);
    return key ? key->text : "";
  }
  uint64_t total() const { return shown->selected->total; }

  State state;
  Recorded recorded;
  std::shared_ptr<const Answer> shown;
};

// The demo profile over 10 steps of 250 ms, of three threads, one of them with a label.
Profile timed_profile() {
  Profile profile = make_demo_profile();
  profile.time_step = 250'000'000;
  for (size_t i = 0; i < profile.samples.size(); i++)
    profile.samples[i].step = static_cast<uint32_t>(3 * i);
  profile.label_sets.push_back(
      {{profile.strings.intern("handler"), profile.strings.intern("/api")}});
  profile.label_sets.push_back(
      {{profile.strings.intern("user"), profile.strings.intern("bob")}});
  profile.change_owner(profile.samples[0], [&](Owner& owner) { owner.label_set = 1; });
  profile.change_owner(profile.samples[1], [&](Owner& owner) { owner.label_set = 2; });
  return profile;
}

// A recursion of so many calls, and names that are hard to show.
Profile hard_profile(size_t depth) {
  Profile profile = timed_profile();
  std::string wide;
  for (int i = 0; i < 300; i++)
    wide += "漢字e\u0301";
  profile.functions[0].name = profile.strings.intern(wide);
  profile.functions[1].name = profile.strings.intern("\x1b[31m\u202e<script>\n\t");
  profile.functions[2].name = profile.strings.intern("");
  std::vector<LocationId> deep(depth, LocationId{0});
  deep.push_back(LocationId{1});
  profile.add_stack(deep);
  profile.samples.push_back(profile.samples[0]);
  profile.samples.back().stack = StackId{static_cast<uint32_t>(profile.stack_count() - 1)};
  profile.samples.back().step = 4000000000;
  return profile;
}

Profile two_event_profile() {
  Profile profile = timed_profile();
  profile.info.events.push_back({"page-faults", 100, 0});
  for (size_t i = 0, count = profile.samples.size(); i < count; i++) {
    profile.samples.push_back(profile.samples[i]);
    profile.change_owner(profile.samples.back(), [&](Owner& owner) { owner.event = 1; });
    profile.samples.back().weight = 7;
  }
  return profile;
}

// Screens are kept as files, so that a change of one is seen as such. SCREENS=update writes
// them anew.
void check_screen(const std::string& name, const std::string& screen) {
  std::string path = std::string(SCREENS) + "/" + name + ".txt";
  const char* mode = std::getenv("SCREENS");
  if (mode && std::string_view(mode) == "update")
    std::ofstream(path) << screen;
  std::ifstream file(path);
  std::string kept((std::istreambuf_iterator<char>(file)), {});
  CHECK_MESSAGE(kept == screen, path, ":\n", screen);
}

// Invariants, whatever was pressed.
void check_invariants(const Person& person) {
  const State& state = person.state;
  const Answer& shown = *person.shown;
  CHECK(shown.selected->total <= shown.selected->recorded);
  if (shown.query.by == Dimension::Kind::kFunction) {
    uint64_t self = 0;
    for (const Total& total : shown.entries->totals)
      self += total.self;
    CHECK(self <= shown.selected->total);
    CHECK(shown.tree->tree.nodes[0].total == shown.selected->total);
  }
  Layout layout = layout_of(state.size);
  auto is_on_screen = [](size_t row, size_t top, size_t rows) {
    return row >= top && row < top + rows;
  };
  if (!shown.entries->totals.empty() && state.page == Page::kFunctions) {
    CHECK(state.functions.row < shown.entries->totals.size());
    CHECK(is_on_screen(state.functions.row, state.functions.top, layout.rows));
  }
  std::vector<OutlineRow> rows = outline_rows(*shown.tree, state.tree);
  if (!rows.empty() && state.page == Page::kTree) {
    REQUIRE(state.tree.row < rows.size());
    CHECK(shown.tree->paths[rows[state.tree.row].node] == state.tree.path);
    CHECK(is_on_screen(state.tree.row, state.tree.top, layout.rows));
  }
  Grid grid = draw(state, shown);
  CHECK(grid.size() == state.size);
  for (size_t y = 0; y < grid.size().height; y++)
    for (size_t x = 0; x < grid.size().width; x++)
      if (!is_printable(grid.at(x, y).text))
        FAIL_CHECK("not printable at ", x, ", ", y);
}

}  // namespace

TEST_CASE("browser: pages at several sizes") {
  for (Size size : {Size{80, 24}, Size{40, 10}, Size{120, 40}}) {
    auto name = [&](std::string_view page) {
      return fmt::format("{}-{}x{}", page, size.width, size.height);
    };
    Person person(timed_profile(), size);
    check_screen(name("functions"), person.screen());
    person.type("2");
    check_screen(name("tree"), person.screen());
    person.type("jjj#");
    check_screen(name("around"), person.screen());
    person.type("4<Down><Down>");
    check_screen(name("flame"), person.screen());
    person.type("a");
    check_screen(name("code"), person.screen());
    person.type("t");
    check_screen(name("menu"), person.screen());
    person.type("<Esc>?");
    check_screen(name("help"), person.screen());
    person.type("<Esc>1w");
    check_screen(name("details"), person.screen());
  }
  Person person(hard_profile(50), {60, 20});
  check_screen("hard-functions", person.screen());
  person.type("2*");
  check_screen("hard-tree", person.screen());
  person.type("4");
  check_screen("hard-flame", person.screen());
  person.state.size = {20, 5};
  CHECK(person.screen().starts_with("too small\n"));
  CHECK(draw_waiting({40, 10}, "cpu.raw", "naming functions …")
            .text()
            .starts_with(" cpu.raw\n\n  naming functions …\n"));
  CHECK(draw_waiting({4, 1}, "cpu.raw", "reading").text() == "too\n");
}

namespace {

// The words of `.It` lines below a heading of a man page: "1 2 3 4 5, Tab" is six.
std::set<std::string> keys_in_man(const std::string& page, const std::string& heading) {
  std::ifstream file(std::string(MAN) + "/" + page);
  std::string text{std::istreambuf_iterator(file), {}};
  size_t begin = text.find(".Sh " + heading + "\n");
  REQUIRE(begin != text.npos);
  size_t end = std::min(text.find("\n.Sh ", begin), text.size());
  std::set<std::string> keys;
  for (std::string_view line : split(std::string_view(text).substr(begin, end - begin), '\n'))
    if (line.starts_with(".It ") && !line.starts_with(".It Fl"))  // which is an option
      for (std::string_view word : split(line.substr(4), ' '))
        keys.insert(std::string(word));
  return keys;
}

std::set<std::string> keys_in_help(bool is_live) {
  std::set<std::string> keys;
  for (std::string_view row : help_keys(is_live))
    for (std::string_view word : split(row, ' '))
      // mdoc escapes these two.
      keys.insert(word == "-" ? "\\-" : word == "\\" ? "\\e" : std::string(word));
  return keys;
}

}  // namespace

TEST_CASE("browser: man pages have the keys of the help") {
  std::set<std::string> keys = keys_in_help(false);
  keys.insert("?");
  // The help says "Enter, #" where the man page tells of Enter alone as well.
  keys.erase("Enter,");
  CHECK(keys_in_man("gosym-report.1", "BROWSER") == keys);
  CHECK(keys_in_man("gosym-top.1", "DESCRIPTION") == keys_in_help(true));
}

TEST_CASE("browser: moving in lists") {
  Person person(timed_profile());
  CHECK(person.at_cursor() == "main.compute");
  person.type("j");
  CHECK(person.at_cursor() == "write");
  person.type("<Down>k<Up><Up>");
  CHECK(person.at_cursor() == "main.compute");
  person.type("G");
  CHECK(person.at_cursor() == "[no mapping]");
  person.type("j<PgDn> <End>");
  CHECK(person.at_cursor() == "[no mapping]");
  person.type("g");
  CHECK(person.at_cursor() == "main.compute");
  person.type("<PgDn><PgUp><Home>");
  CHECK(person.at_cursor() == "main.compute");
  person.press({.kind = Kind::kWheelDown});
  CHECK(person.state.functions.row == 3);
  person.press({.kind = Kind::kWheelUp});
  CHECK(person.state.functions.row == 0);
}

TEST_CASE("browser: a list longer than the screen scrolls") {
  Person person(timed_profile(), {60, 6});  // two rows
  person.type("jj");
  CHECK(person.state.functions.row == 2);
  CHECK(person.state.functions.top == 1);
  person.type("k");
  CHECK(person.state.functions.top == 1);
  person.type("G");
  CHECK(person.state.functions.top == 5);
  person.state.size = {60, 24};
  settle(person.state, *person.shown);
  CHECK(person.state.functions.top == 0);
}

TEST_CASE("browser: pages, and back") {
  Person person(timed_profile());
  person.type("2");
  CHECK(person.state.page == Page::kTree);
  person.type("4");
  CHECK(person.state.page == Page::kFlame);
  person.type("<Esc>");
  CHECK(person.state.page == Page::kTree);
  person.type("<Back>");
  CHECK(person.state.page == Page::kFunctions);
  person.type("<Esc>");
  CHECK(person.shows("q quits"));
  person.type("<Tab>");
  CHECK(person.state.page == Page::kTree);
  person.type("<BackTab>");
  CHECK(person.state.page == Page::kFunctions);
  person.type("<BackTab>");  // of what has the cursor
  CHECK(person.state.page == Page::kCode);
  CHECK(person.state.query.code.text == "main.compute");
  CHECK(person.type("q").kind == Effect::Kind::kQuit);
}

TEST_CASE("browser: the tree opens and closes") {
  Person person(timed_profile());
  person.type("2");
  CHECK(person.at_cursor() == "main.main");
  size_t all = outline_rows(*person.shown->tree, person.state.tree).size();
  CHECK(all == person.shown->tree->tree.nodes.size() - 1);  // of so few, all have a twentieth
  person.type("<Left>");
  CHECK(outline_rows(*person.shown->tree, person.state.tree).size() == all - 4);
  CHECK(person.shows("+ main.main"));
  person.type("<Right>");
  CHECK(outline_rows(*person.shown->tree, person.state.tree).size() == all);
  person.type("l");
  CHECK(person.at_cursor() == "main.process");
  person.type("-");
  CHECK(outline_rows(*person.shown->tree, person.state.tree).size() == all - 3);
  person.type("*");
  CHECK(outline_rows(*person.shown->tree, person.state.tree).size() == all);
  person.type("<Enter>+");
  CHECK(outline_rows(*person.shown->tree, person.state.tree).size() == all);
  person.type("<Enter>hh");
  CHECK(person.at_cursor() == "main.main");
}

TEST_CASE("browser: of a large tree the largest are opened") {
  // The root calls 6,000 functions, each of another total; each calls two, which call one.
  constexpr uint32_t kFunctions = 6000;
  constexpr uint32_t kSize = 5;  // of the subtree of each
  PathTree large;
  auto add = [&](uint32_t depth, uint32_t size, uint64_t total, uint32_t parent) {
    large.tree.nodes.push_back({KeyId{}, depth, size, 0, total});
    large.parents.push_back(parent);
    large.paths.push_back(large.paths.size() + 1);
  };
  large.tree.nodes.clear();
  add(0, 1 + kSize * kFunctions, 1'000'000'000, 0);
  for (uint64_t total = kFunctions * 10; total > 0; total -= 10) {
    auto at = static_cast<uint32_t>(large.paths.size());
    add(1, kSize, total, 0);
    for (uint32_t child : {at + 1, at + 3}) {
      add(2, 2, total / 2, at);
      add(3, 1, total / 2, child);
    }
  }
  OutlineState state;
  CHECK(outline_rows(large, state).size() == kFunctions);
  // All nodes but the leaves: 18,001.
  CHECK(open_all(large, 0, state) == 1 + 3 * kFunctions - kMostOpened);
  size_t open = 0;
  uint64_t least_open = UINT64_MAX;
  uint64_t most_closed = 0;
  for (uint32_t i = 0; i < large.tree.nodes.size(); i++) {
    const CallNode& node = large.tree.nodes[i];
    if (node.size == 1)
      continue;
    open += is_open(large, i, state) ? 1 : 0;
    if (is_open(large, i, state))
      least_open = std::min(least_open, node.total);
    else
      most_closed = std::max(most_closed, node.total);
    CHECK((!is_open(large, i, state) || is_open(large, large.parents[i], state)));
  }
  CHECK(open == kMostOpened);
  CHECK(least_open >= most_closed);
  close_all(large, 0, state);
  for (uint32_t i = 1; i < large.tree.nodes.size(); i++)
    CHECK_FALSE(is_open(large, i, state));
}

TEST_CASE("browser: callers and callees") {
  Person person(timed_profile());
  std::shared_ptr<const Answer> before = person.shown;
  person.type("<Down><Enter>");
  // The answer before this one has none.
  CHECK(draw(person.state, *before, true).text().find("looking for its calls") !=
        std::string::npos);
  CHECK(person.state.page == Page::kAround);
  CHECK(person.state.query.centre.text == "write");
  CHECK(person.at_cursor() == "write");
  CHECK(person.shown->callers->tree.nodes[0].total == 2);
  person.type("k");
  CHECK(person.at_cursor() == "[stripped libc.so.6]");
  person.type("j<Enter>");
  CHECK(person.state.query.centre.text == "main.process");
  CHECK(person.shown->callees->tree.nodes[0].total == 7);
  person.type("<Down>");
  CHECK(person.at_cursor() == "main.compute");
  person.type("<Up>");
  CHECK(person.at_cursor() == "main.process");
  person.type("<Up>");
  CHECK(person.at_cursor() == "main.main");
  person.type("<Down>");
  CHECK(person.at_cursor() == "main.process");
  person.type("<Tab>");
  CHECK(person.state.part == Part::kCallees);
  person.type("<Tab>");
  CHECK(person.state.part == Part::kCallers);
  person.type("<Tab>");
  CHECK(person.state.page == Page::kFlame);
  person.type("<Down><Down>#");
  CHECK(person.state.query.centre.text == "main.process");
}

TEST_CASE("browser: of entries of one name the one with the cursor is meant") {
  Profile profile = timed_profile();
  profile.images.push_back(profile.images[3]);
  profile.images.back().file.path = "/src/link";
  profile.mappings.push_back(profile.mappings[3]);
  profile.mappings.back().image = static_cast<uint32_t>(profile.images.size() - 1);
  Location location = profile.locations[0];  // of main.main
  location.mapping = MappingId{static_cast<uint32_t>(profile.mappings.size() - 1)};
  profile.locations.push_back(location);
  profile.add_stack(std::vector{static_cast<LocationId>(profile.locations.size() - 1)});
  profile.samples.push_back(profile.samples[0]);
  profile.samples.back().stack = StackId{static_cast<uint32_t>(profile.stack_count() - 1)};
  profile.samples.back().count = 3;

  Person person(profile, {120, 24});
  person.type("/^main.main$");
  person.press({.kind = Kind::kEnter});
  for (bool is_link : {false, true}) {
    auto is_there = [&] {
      const ViewKey* key = entry_at_cursor(person.state, *person.shown);
      return key->text == "main.main" && (key->image + 1 == profile.images.size()) == is_link;
    };
    for (int i = 0; i < 2 && !is_there(); i++)
      person.type("n");
    REQUIRE(is_there());
    std::string label = is_link ? "main.main (link)" : "main.main (demo)";
    uint64_t total = is_link ? 3 : 7;
    person.type("<Enter>");
    CHECK(person.shown->callees->tree.nodes[0].total == total);
    CHECK(person.shows(label));
    person.type("a");
    CHECK(person.state.query.code.label() == label);
    person.type("<Esc><Esc>f");
    CHECK(is_there());
    CHECK(person.total() == total);
    CHECK(person.shows("with " + label));
    person.type("ux");
    CHECK(person.total() == 11 - total);
    CHECK(person.shows("without " + label));
    person.type("u");
    CHECK(person.total() == 11);
  }
}

TEST_CASE("browser: flame graph") {
  Person person(timed_profile());
  person.type("4");
  std::vector<FlameBox> boxes = flame_boxes(*person.shown->tree, 0, 80);
  REQUIRE(boxes.size() == 9);
  CHECK(boxes[0].end - boxes[0].begin == 80);
  CHECK(boxes[1].end == 70);  // main.main: 7 of 8
  CHECK(boxes[2].begin == 70);
  // No box is outside of that of its caller, and none lies over another.
  for (size_t i = 1; i < boxes.size(); i++) {
    if (boxes[i].row == boxes[i - 1].row)
      CHECK(boxes[i].begin >= boxes[i - 1].end);
    auto caller =
        std::ranges::find(boxes, person.shown->tree->parents[boxes[i].node], &FlameBox::node);
    REQUIRE(caller != boxes.end());
    CHECK(boxes[i].begin >= caller->begin);
    CHECK(boxes[i].end <= caller->end);
  }
  person.type("<Down>");
  CHECK(person.at_cursor() == "main.main");
  person.type("<Right>");
  CHECK(person.at_cursor() == "[no mapping]");
  person.type("<Left><Down><Down>");
  CHECK(person.at_cursor() == "main.compute");
  person.type("<Right><Enter>");
  CHECK(person.at_cursor() == "[stripped libc.so.6]");
  boxes = flame_of(person.state, *person.shown).boxes;
  CHECK(std::ranges::all_of(boxes, [](const FlameBox& box) { return box.end == 80; }));
  person.type("<Up>");
  CHECK(person.at_cursor() == "main.process");
  person.type("<Esc>");
  CHECK(person.state.zoomed == 1);
  CHECK(person.state.page == Page::kFlame);
  person.type("i");
  CHECK(person.state.query.direction == Direction::kFromLeaf);
  person.type("j");
  CHECK(person.at_cursor() == "main.compute");
  person.type("<Home>");
  CHECK(person.at_cursor().empty());  // all samples
  person.type("<End>");
  CHECK(!person.at_cursor().empty());
}

// A function that calls 200 others, of which only the first has a column; and itself.
Profile wide_profile() {
  Profile profile = timed_profile();
  auto location = [&](std::string_view name) {
    profile.functions.push_back({.name = profile.strings.intern(std::string(name))});
    profile.frames.push_back(
        {.function = static_cast<FunctionId>(profile.functions.size() - 1)});
    Location at = profile.locations[0];
    at.first_frame = static_cast<uint32_t>(profile.frames.size() - 1);
    at.frame_count = 1;
    profile.locations.push_back(at);
    return static_cast<LocationId>(profile.locations.size() - 1);
  };
  LocationId caller = location("runtime/pprof.Do");
  profile.samples.resize(1);
  SampleCount sample = profile.samples[0];
  profile.samples.clear();
  for (int i = 0; i < 200; i++) {
    LocationId called = location(fmt::format("example.com/long/path/wide.callee{}", i));
    std::vector<LocationId> stack = {called, caller, caller, caller};
    profile.add_stack(stack);
    sample.stack = StackId{static_cast<uint32_t>(profile.stack_count() - 1)};
    sample.count = i == 0 ? 10'000 : 1;
    profile.samples.push_back(sample);
  }
  return profile;
}

TEST_CASE("browser: what is narrower than a column is one box, and as wide as all of it") {
  Person person(wide_profile());
  person.type("4");
  std::vector<FlameBox> boxes = flame_boxes(*person.shown->tree, 0, 80);
  const FlameBox& last = boxes.back();
  CHECK(last.row == 4);
  CHECK(last.joined == 199);
  CHECK(last.end == 80);
  CHECK(last.begin == boxes[boxes.size() - 2].end);
  CHECK(person.shows("wide.callee0"));
  Person large(wide_profile(), {4000, 24});
  large.type("4");
  CHECK(large.shows("others (199)"));
}

TEST_CASE("browser: a recursion folds, and says how deep it was") {
  Person person(wide_profile());
  person.type("2");
  size_t all = person.shown->tree->tree.nodes.size();
  person.type("R");
  CHECK(person.shown->tree->tree.nodes.size() == all - 2);
  CHECK(person.shows("runtime/pprof.Do ×3"));
  CHECK(person.shows("recursion folded"));
  person.type("4");
  CHECK(person.shows("runtime/pprof.Do ×3"));
  person.type("R");
  CHECK(person.shown->tree->tree.nodes.size() == all);
}

TEST_CASE("browser: rows of 0.00 % are left out, and told") {
  Profile profile = wide_profile();
  profile.samples[0].count = 1'000'000;
  Person person(std::move(profile));
  CHECK(person.shows("199 more below 0.005 %: 0 shows them"));
  person.type("G");
  CHECK(person.at_cursor() == "runtime/pprof.Do");
  person.type("/callee77<Enter>");  // they are searched as well
  CHECK(person.at_cursor() == "example.com/long/path/wide.callee77");
  CHECK(!person.shows("0 shows them"));
  person.type("0G");
  CHECK(person.shows("199 more below"));
}

TEST_CASE("browser: the tree begins with programs, if there are several") {
  Person person(timed_profile(), {120, 24});
  CHECK(person.shows("program"));
  person.type("P2");
  CHECK(person.at_cursor() == "demo");
  CHECK(person.shows("├─ demo"));
  person.type("i");  // who calls a function is asked of all
  CHECK(person.at_cursor() == "main.compute");
  person.type("i<Home>");
  CHECK(person.at_cursor() == "demo");
  person.type("P");
  CHECK(person.at_cursor() == "main.main");
  Profile one = timed_profile();
  std::erase_if(one.samples.own(),
                [&](const SampleCount& sample) { return one.owner(sample).pid != 42; });
  Person alone(std::move(one), {120, 24});
  CHECK(!alone.shows("program"));
  alone.type("P2");
  CHECK(alone.at_cursor() == "main.main");
}

TEST_CASE("browser: code names its file, and what is cut has an ellipsis") {
  Person person(timed_profile());
  person.recorded.find_code = [](const Profile& /*profile*/,
                                 std::span<const SampleCount> /*samples*/,
                                 const ChosenKey& /*function*/) {
    return Code{.lines = {{.is_file = true, .text = "/src/example/shop/cart.go"},
                          {.self = 1, .total = 1, .text = "13  " + std::string(200, 'x')}}};
  };
  person.type("a");
  CHECK(person.shows("main.compute  /src/example/shop/cart.go"));
  CHECK(person.shows("xx…"));
}

TEST_CASE(
    "browser: an editor opens at the line of the code that has the cursor, or at the last "
    "above") {
  Person person(timed_profile());
  CHECK(person.type("v").kind == Effect::Kind::kNone);
  CHECK(person.shows("a shows the code"));
  person.type("a");
  CHECK(person.type("v").kind == Effect::Kind::kNone);
  CHECK(person.shows("no source file of this is shown"));
  Person other(timed_profile());
  other.recorded.find_code = [](const Profile& /*profile*/,
                                std::span<const SampleCount> /*samples*/,
                                const ChosenKey& /*function*/) {
    return Code{.lines = {{.total = 1,
                           .text = "13  loop()",
                           .source_path = "/src/main.go",
                           .source_line = 13},
                          {.total = 1,
                           .is_instruction = true,
                           .is_of_instructions = true,
                           .text = "  call"}}};
  };
  other.type("aaG");
  Effect effect = other.type("v");
  CHECK(effect.kind == Effect::Kind::kEdit);
  CHECK(effect.text == "/src/main.go");
  CHECK(effect.line == 13);
}

TEST_CASE("browser: code") {
  Person person(timed_profile());
  person.type("a");
  CHECK(person.state.page == Page::kCode);
  CHECK(person.shows("13  loop()"));  // the source alone
  CHECK(!person.shows("  mov"));
  CHECK(person.state.code.row == 3);  // where it is hot
  person.type("g");
  CHECK(person.state.code.row == 0);
  person.type("<Enter>");
  CHECK(person.state.code.row == 3);
  person.type("a");
  CHECK(person.shows("  mov"));
  CHECK(person.state.code.row == 6);
  person.type("H");
  CHECK(person.shows("  mov"));
  CHECK(!person.shows("  ret"));
  CHECK(!person.shows("12  "));
  CHECK(person.state.code.row == 3);
  person.type("aH/first<Enter>");
  CHECK(person.state.code.row == 1);
  CHECK(!person.shows("  mov"));
  person.type("<Esc>/main.main\n");
  person.type("<Esc>");
  Person other(timed_profile());
  other.type("jjja");
  CHECK(other.state.query.code.text == "main.main");
  CHECK(other.shows("the file is gone"));
  Person unnamed(timed_profile());
  unnamed.type("Ga");
  CHECK(unnamed.state.page == Page::kFunctions);
  CHECK(unnamed.shows("no function is chosen"));
}

TEST_CASE("browser: searching") {
  Person person(timed_profile());
  person.type("/main\\.p<Enter>");
  CHECK(person.at_cursor() == "main.process");
  CHECK(person.shown->matched == 7);
  CHECK(person.shows("/main\\.p: 87.50 %"));
  person.type("/main<Enter>");
  std::string first = person.at_cursor();
  person.type("n");
  CHECK(person.at_cursor() != first);
  person.type("N");
  CHECK(person.at_cursor() == first);
  person.type("2/write<Enter>");
  CHECK(person.at_cursor() == "write");
  person.type("-h-/compute<Enter>");  // below what is closed
  CHECK(person.at_cursor() == "main.compute");
  person.type("4/loop<Enter>");
  CHECK(person.at_cursor() == "main.loop");
  person.type("/nothing like it<Enter>");
  CHECK(person.shows("no box that is wide enough"));
  person.type("1/(<Enter>");
  CHECK(person.shows("is not a regular expression"));
  person.type("/mai<Back><Back>xyz\x15write<Enter>");
  CHECK(person.state.query.search->text() == "write");
  person.type("/two words\x17<Esc>");
  CHECK(person.state.typed == "two ");
  person.type("/<Enter>n");
  CHECK(!person.state.query.search);
  CHECK(person.shows("nothing was searched for"));
}

TEST_CASE("browser: which stacks") {
  Person person(timed_profile());
  CHECK(person.total() == 8);
  person.type("jf");  // write
  CHECK(person.total() == 2);
  CHECK(person.shows("with write"));
  CHECK(person.shows("20.0 ms of 80.0 ms (25.0 %)  with write"));
  CHECK(person.shows("% of all"));
  person.type("%");
  CHECK(person.shows(" 100.00 "));
  CHECK(person.shows("% of shown"));
  person.type("u");
  CHECK(person.total() == 8);
  person.type("u");
  CHECK(person.shows("nothing to take back"));
  person.type("gx");  // main.compute
  CHECK(person.total() == 3);
  person.type("Fwrite<Enter>");
  CHECK(person.total() == 2);
  person.type("c");
  CHECK(person.total() == 8);
  person.type("Xmain\\.main<Enter>");
  CHECK(person.total() == 1);
  person.type("uMlibc<Enter>");
  CHECK(person.total() == 2);
  person.type("cgd");
  CHECK(person.at_cursor() != "main.compute");
  CHECK(person.total() == 8);
  CHECK(person.shows("hide main.compute"));
  person.type("cDmain<Enter>");
  CHECK(!person.shows("main.process"));
  person.type("cK");
  CHECK(!person.shows("write"));
  person.type("K");
  CHECK(person.shows("write"));
  person.type("I");
  CHECK(!person.shows("main.compute"));
  person.type("c");
  CHECK(person.shows("main.compute"));
  person.type("c");
  CHECK(person.shows("nothing is left out"));
}

TEST_CASE("browser: whose samples") {
  Person person(timed_profile());
  person.type("t");
  CHECK(person.shows("62.50 %  demo (42)"));
  person.type("<Enter>");
  CHECK(person.total() == 5);
  CHECK(person.shows("thread demo (42)"));
  person.type("up");
  person.type("j<Enter>");
  CHECK(person.total() == 1);
  person.type("upx");
  CHECK(person.total() == 1);
  CHECK(person.shows("not process demo (42)"));
  person.type("ut<Esc>");
  CHECK(person.state.overlay == Overlay::kNone);
  CHECK(!person.state.query.menu);
  person.type("L");
  CHECK(person.state.query.menu->label == "handler");
  CHECK(person.shows("/api"));
  person.type("L");
  CHECK(person.state.query.menu->label == "user");
  person.type("L");
  CHECK(person.state.query.menu->label == "handler");
  person.type("<Enter>");
  CHECK(person.total() == 5);
  person.type("uC");
  CHECK(person.shows("(none)"));
  person.type("B");
  CHECK(person.state.query.menu->kind == Dimension::Kind::kCategory);
  person.type("p");
  CHECK(person.state.query.menu->kind == Dimension::Kind::kProcess);
  person.type("g");
  CHECK(person.state.page == Page::kTree);
  CHECK(person.at_cursor() == "demo (42)");
  CHECK(person.shows("by process"));
  person.type("pg");
  CHECK(person.at_cursor() != "demo (42)");
  Person without(make_demo_profile());
  without.type("L");
  CHECK(without.shows("no goroutine has a label"));
}

TEST_CASE("browser: what an entry is, and their order") {
  Person person(timed_profile());
  person.type("m");
  CHECK(person.shows("main.compute demo.go:12"));
  person.type("m");
  CHECK(person.at_cursor() == "demo");
  CHECK(person.shows("by module"));
  person.type("f");
  CHECK(person.shows("m goes back to functions"));
  person.type("mm");
  CHECK(person.state.query.by == Dimension::Kind::kCategory);
  person.type("m");
  CHECK(person.at_cursor() == "main.compute");
  person.type("s");
  CHECK(person.at_cursor() == "main.main");
  person.type("s");
  CHECK(person.at_cursor() == "[no mapping]");
  person.type("s");
  CHECK(person.at_cursor() == "main.compute");
  person.type("E");
  CHECK(person.shows("there is one event: cpu-clock"));
  person.type("gfm<Enter>");
  CHECK(person.state.page == Page::kAround);
  CHECK(person.state.query.centre.text == "main.compute demo.go:12");
  person.type("u");  // back to functions, of which this line is none
  CHECK(person.state.query.by == Dimension::Kind::kFunction);
  CHECK(person.state.query.centre.empty());
  CHECK(person.state.page == Page::kFunctions);
}

TEST_CASE("browser: time") {
  Person person(timed_profile());  // samples at 0, 0.75 and 1.5 s of 2.5
  person.type("[<Right>");
  CHECK(person.state.query.time.begin == 1);
  CHECK(person.total() == 3);
  CHECK(person.shows("0.25 to 2.50 s"));
  person.type("<Esc>");
  CHECK(person.total() == 8);
  person.type("[<Right><Enter>");
  CHECK(person.total() == 3);
  person.type("]<Left><Left><Left><Left><Enter>");
  CHECK(person.total() == 2);
  person.type("u");
  CHECK(person.total() == 3);
  person.type("[<Tab><Home>");  // the end cannot go before the beginning
  CHECK(person.state.query.time == Steps{1, 2});
  person.type("<End><Tab><PgDn><PgUp><Home><Enter>");
  CHECK(person.total() == 8);
  CHECK(person.state.query.time == Steps());
  person.press({.kind = Kind::kDrag, .x = 79, .y = 2, .to_x = 20});
  CHECK(person.total() == 3);
  person.type("\\");
  CHECK(person.total() == 8);
  Profile still = make_demo_profile();  // no time is told apart
  Person timeless(std::move(still));
  timeless.type("]");
  CHECK(timeless.shows("too short"));
}

TEST_CASE("browser: the mouse") {
  Person person(timed_profile());
  auto click = [&](size_t x, size_t y) {
    person.press({.kind = Kind::kClick, .x = x, .y = y, .to_x = x});
  };
  click(20, 5);
  CHECK(person.at_cursor() == "write");
  click(20, 5);
  CHECK(person.state.page == Page::kAround);
  click(16, 1);
  CHECK(person.state.page == Page::kTree);
  click(10, 5);
  CHECK(person.at_cursor() == "main.process");
  size_t before = outline_rows(*person.shown->tree, person.state.tree).size();
  click(10, 5);
  CHECK(outline_rows(*person.shown->tree, person.state.tree).size() < before);
  click(44, 1);
  CHECK(person.state.page == Page::kFlame);
  click(75, 5);
  CHECK(person.at_cursor() == "[no mapping]");
  click(75, 5);
  CHECK(person.state.zoomed != 1);
  click(79, 23);  // nothing is there
  click(500, 500);
  person.type("3");
  click(10, 17);
  CHECK(person.state.part == Part::kCallees);
}

TEST_CASE("browser: details, copies and exports") {
  Person person(timed_profile());
  auto key = [&](std::string_view name) -> const ViewKey& {
    return *std::ranges::find(person.shown->entries->keys.all(), name, &ViewKey::text);
  };
  auto details = [&](std::string_view name) {
    std::string text;
    for (const std::string& line : details_of(*person.shown, key(name)))
      text += line + '\n';
    return text;
  };
  CHECK(details("main.compute") ==
        "main.compute\n\nhottest    /src/demo.go:12\nfile       /src/demo\nGo's id    go-id\n"
        "sampled    at 1 address, inlined at 1\nnamed by   pclntab, 1 of them\n");
  CHECK(details("[stripped libc.so.6]") ==
        "[stripped libc.so.6]\n\nfile       /lib/libc.so.6\nbuild id   01ab\n"
        "sampled    at 1 address\nno name    stripped, 1 of them\n"
        "           install its debug package, or see --debug-dir and --debuginfod\n");
  Effect copied = person.type("y");
  CHECK(copied.kind == Effect::Kind::kCopy);
  CHECK(copied.text == "main.compute");
  for (const ExportChoice& choice : export_choices()) {
    Effect effect = person.type(std::string("e") + choice.key);
    CHECK(effect.kind == Effect::Kind::kExport);
    CHECK(effect.text == choice.format);
  }
  CHECK(person.type("e<Esc>").kind == Effect::Kind::kNone);
  CHECK(person.type("zrW").kind == Effect::Kind::kNone);
  person.state.is_live = true;
  CHECK(person.type("r").kind == Effect::Kind::kReset);
  CHECK(person.type("W").kind == Effect::Kind::kSave);
  person.recorded.is_last = false;
  person.shown = answer(person.recorded, person.state.query, nullptr);
  person.type("z");
  CHECK(person.shows("frozen"));
}

TEST_CASE("browser: a part of a recording says so until the rest is there") {
  Person person(timed_profile(), {100, 24});
  CHECK(person.shows(" in 2.50 s"));
  person.recorded.share = 0.04;
  person.recorded.is_last = false;
  person.shown = answer(person.recorded, person.state.query, nullptr);
  CHECK(person.shows("the first 4 %, reading the rest"));
  CHECK_FALSE(person.shows(" in 2.50 s"));
  person.type("<Down>");
  std::string at = person.at_cursor();

  person.recorded.share = 1;
  person.recorded.is_last = true;
  person.recorded.generation++;
  person.shown = answer(person.recorded, person.state.query, nullptr);
  settle(person.state, *person.shown);
  CHECK_FALSE(person.shows("reading the rest"));
  CHECK(person.at_cursor() == at);
}

TEST_CASE("browser: events are looked at one by one") {
  Person person(two_event_profile());
  CHECK(person.shows("80.0 ms"));
  person.type("E");
  CHECK(person.total() == 21);
  CHECK(person.shows("21 of page-faults"));
  person.type("E");
  CHECK(person.total() == 8);
}

TEST_CASE("browser: cursors stay where they were when samples come and go") {
  Person person(timed_profile());
  person.type("jj");  // main.loop
  person.type("2jj");
  std::string at = person.at_cursor();
  person.recorded.events = by_event(two_event_profile());
  person.shown = answer(person.recorded, person.state.query, nullptr);
  settle(person.state, *person.shown);
  CHECK(person.at_cursor() == at);
  person.type("1");
  CHECK(person.at_cursor() == "main.loop");
}

TEST_CASE("browser: no samples") {
  Profile profile = timed_profile();
  profile.samples.clear();
  Person person(std::move(profile));
  for (Page page : {Page::kFunctions, Page::kTree, Page::kAround, Page::kFlame, Page::kCode}) {
    person.state.page = page;
    person.type("jkhlgG#awyt<Esc>/x<Enter>nNfx<Enter><Tab>");
    check_invariants(person);
  }
}

TEST_CASE("browser: grid") {
  Grid grid({6, 2});
  CHECK(grid.write(0, 0, "ab漢字c") == 6);  // the last one has no room
  CHECK(grid.text() == "ab漢字\n\n");
  grid.write(3, 0, "x");  // over half of a wide one
  CHECK(grid.text() == "ab x字\n\n");
  CHECK(grid.write(0, 1, "e\u0301\u0301", Look::kHot) == 1);
  CHECK(grid.at(0, 1).text == "e\u0301\u0301");
  CHECK(grid.write(5, 1, "漢") == 5);
  std::string many = "e";
  for (int i = 0; i < 1000; i++)
    many += "\u0301";
  grid.write(2, 1, many);
  CHECK(grid.at(2, 1).text.size() <= 16);
  CHECK(grid.write(0, 7, "below") == 0);
  grid.fill(0, Look::kBar, 4, 5);
  CHECK(grid.at(5, 0).text == " ");
}

TEST_CASE("browser: terminals without UTF-8, and clipboards") {
  CHECK(ascii_of("a") == 'a');
  CHECK(ascii_of("├") == '|');
  CHECK(ascii_of("") == ' ');
  CHECK(ascii_of("漢") == '?');
  CHECK(clipboard_sequence("a") == "\x1b]52;c;YQ==\a");
  CHECK(clipboard_sequence("ab") == "\x1b]52;c;YWI=\a");
  CHECK(clipboard_sequence("main.main") == "\x1b]52;c;bWFpbi5tYWlu\a");
}

// Keys as they come, over three recordings and sizes that change; now and then before the
// answer to the last ones is there.
TEST_CASE("browser: a random walk") {
  constexpr int kKeys = 100'000;
  constexpr int kDrawn = 20;  // each so many keys the screen is looked at
  std::mt19937 random(20261123);
  auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  static constexpr std::string_view kCharacters =
      "12345/nNfxdDFXMcu#as%iImEK[]\\wyezrW?hjklgG +-*tpLCBq.(漢";
  std::vector<Profile (*)()> profiles = {timed_profile, [] { return hard_profile(2000); },
                                         two_event_profile};
  for (auto make : profiles) {
    Person person(make());
    person.state.is_live = make == profiles[0];
    for (int i = 0; i < kKeys / static_cast<int>(profiles.size()); i++) {
      Key key;
      if (below(2) == 0)
        key = character_key(static_cast<unsigned char>(kCharacters[below(kCharacters.size())]));
      else
        key = {.kind = static_cast<Kind>(below(static_cast<size_t>(Kind::kWheelDown) + 1)),
               .character = U'x',
               .x = below(130),
               .y = below(45),
               .to_x = below(130)};
      update(person.state, key, *person.shown);
      if (below(500) == 0)
        person.state.size = {30 + below(100), 6 + below(40)};
      // Choices pile up as nobody would have them.
      if (person.state.query.picks.size() > 3 || below(300) == 0) {
        person.state.query = {};
        person.state.overlay = Overlay::kNone;
      }
      if (below(4) != 0)
        person.ask();
      if (i % kDrawn == 0) {
        person.ask();
        check_invariants(person);
      }
    }
  }
}
