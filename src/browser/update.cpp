#include "browser/update.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "browser/draw.h"

namespace gosym::browser {

namespace {

using Kind = Key::Kind;

constexpr size_t kMaxTyped = 200;  // bytes in a prompt
constexpr size_t kMaxUndone = 100;

// The number of lines that a key moves in a list; none for other keys.
std::optional<ptrdiff_t> lines_of(const Key& key, size_t rows) {
  auto page = static_cast<ptrdiff_t>(std::max<size_t>(rows, 2) - 1);
  // Far enough for any list, and adding it to a row does not overflow.
  constexpr ptrdiff_t kAll = PTRDIFF_MAX / 2;
  constexpr ptrdiff_t kWheel = 3;
  switch (key.kind) {
    case Kind::kUp:
      return -1;
    case Kind::kDown:
      return 1;
    case Kind::kPageUp:
      return -page;
    case Kind::kPageDown:
      return page;
    case Kind::kHome:
      return -kAll;
    case Kind::kEnd:
      return kAll;
    case Kind::kWheelUp:
      return -kWheel;
    case Kind::kWheelDown:
      return kWheel;
    case Kind::kCharacter:
      break;
    default:
      return std::nullopt;
  }
  switch (key.character) {
    case 'k':
      return -1;
    case 'j':
      return 1;
    case 'g':
      return -kAll;
    case 'G':
      return kAll;
    case ' ':
      return page;
    default:
      return std::nullopt;
  }
}

size_t moved(size_t row, ptrdiff_t by, size_t count) {
  if (count == 0)
    return 0;
  auto to = static_cast<ptrdiff_t>(row) + by;
  return static_cast<size_t>(std::clamp<ptrdiff_t>(to, 0, static_cast<ptrdiff_t>(count) - 1));
}

// The first line so that the row is on the screen, and no line stays empty without need.
size_t top_for(size_t top, size_t row, size_t count, size_t rows) {
  rows = std::max<size_t>(rows, 1);
  if (row < top)
    top = row;
  if (row >= top + rows)
    top = row + 1 - rows;
  return std::min(top, count - std::min(count, rows));
}

void keep_on_screen(ListState& list, size_t count, size_t rows) {
  list.row = count == 0 ? 0 : std::min(list.row, count - 1);
  list.top = top_for(list.top, list.row, count, rows);
}

// Puts the cursor on its node again, or leaves it in the line where that was.
void settle_outline(const PathTree& tree, OutlineState& state, size_t rows) {
  std::vector<OutlineRow> lines = outline_rows(tree, state);
  if (lines.empty()) {
    state.row = state.top = 0;
    return;
  }
  // The nodes of a new answer have other numbers: the cursor's is found by its path.
  bool is_there = state.row < lines.size() && tree.paths[lines[state.row].node] == state.path;
  if (!is_there) {
    auto found = std::ranges::find(
        lines, state.path, [&](const OutlineRow& line) { return tree.paths[line.node]; });
    state.row = found != lines.end() ? static_cast<size_t>(found - lines.begin())
                                     : std::min(state.row, lines.size() - 1);
  }
  state.path = tree.paths[lines[state.row].node];
  state.top = top_for(state.top, state.row, lines.size(), rows);
}

void settle_functions(State& state, const Answer& answer, size_t rows) {
  std::span<const uint32_t> order = function_rows(state, answer);
  auto identity = [&](uint32_t row) {
    return answer.entries->keys[answer.entries->totals[row].key].identity;
  };
  // Rows of a new answer are in another order: the cursor follows its function.
  bool is_there = state.functions.row < order.size() &&
                  identity(order[state.functions.row]) == state.function;
  if (!is_there && state.function != 0)
    if (auto found = std::ranges::find(order, state.function, identity); found != order.end())
      state.functions.row = static_cast<size_t>(found - order.begin());
  // The line about rows that are left out takes one from the list.
  bool has_rest = order.size() < answer.entries->totals.size();  // a line that tells of them
  keep_on_screen(state.functions, order.size(), rows - (has_rest && rows > 1 ? 1 : 0));
  state.function = order.empty() ? 0 : identity(order[state.functions.row]);
}

void settle_flame(State& state, const Answer& answer, size_t rows) {
  Flame flame = flame_of(state, answer);
  if (flame.boxes.empty())
    return;
  state.zoomed = answer.tree->paths[flame.zoomed];
  const FlameBox& box = flame.boxes[flame.cursor];
  state.box = answer.tree->paths[box.node];
  state.flame_top = top_for(state.flame_top, box.row, flame.boxes.back().row + 1, rows);
}

// The row with the most samples of its own: of the source, or in what it calls where no line
// has any; else the instruction.
size_t hottest_row(const State& state, const Code& code) {
  std::vector<uint32_t> rows = code_rows(state, code);
  auto is_source = [&](uint32_t row) { return !code.lines[row].is_of_instructions; };
  // Instructions decide if no line of the source has samples, as in code without lines.
  bool is_by_source = !state.has_instructions && std::ranges::any_of(rows, [&](uint32_t row) {
    return is_source(row) && code.lines[row].total > 0;
  });
  auto heat = [&](uint32_t row) {
    const CodeLine& line = code.lines[row];
    bool is_meant = is_by_source ? is_source(row) : line.is_instruction;
    return is_meant ? std::pair(line.self, line.total) : std::pair<uint64_t, uint64_t>();
  };
  auto hottest = std::ranges::max_element(rows, {}, heat);
  return static_cast<size_t>(hottest - rows.begin());
}

// The screen goes to the hottest row: of code that is new, or shown in another way.
void go_to_hottest(State& state, const Code& code) {
  state.code.row = hottest_row(state, code);
  size_t rows = layout_of(state.size).rows;
  state.code.top = state.code.row - std::min(state.code.row, rows / 2);
}

void settle_code(State& state, const Answer& answer, size_t rows) {
  if (answer.query.code == state.query.code && state.code_shown != state.query.code) {
    state.code_shown = state.query.code;
    go_to_hottest(state, *answer.code);
  }
  keep_on_screen(state.code, code_rows(state, *answer.code).size(), rows);
}

const ViewKey* key_at(const PathTree* tree, uint32_t node) {
  return tree && node != 0 ? &tree->tree.key_of(tree->tree.nodes[node]) : nullptr;
}

// An entry as what is chosen.
ChosenKey chosen_of(const Answer& answer, const ViewKey& key) {
  return answer.entries->keys.choose(answer.profile(), key);
}

void go_to(State& state, Page page) {
  if (page == state.page)
    return;
  constexpr size_t kMost = 50;
  if (state.pages_before.size() == kMost)
    state.pages_before.erase(state.pages_before.begin());
  state.pages_before.push_back(state.page);
  state.page = page;
}

// Keeps the query for undo(); the oldest is dropped.
void remember(State& state, Query query) {
  if (state.before.size() == kMaxUndone)
    state.before.erase(state.before.begin());
  state.before.push_back(std::move(query));
}
void remember(State& state) {
  remember(state, state.query);
}

void take_back(State& state) {
  if (state.before.empty()) {
    state.message = "nothing to take back";
    return;
  }
  // The function of Page::kAround stays.
  Query query = std::move(state.before.back());
  state.before.pop_back();
  query.centre = state.query.centre;
  query.code = state.query.code;
  query.search = state.query.search;
  state.query = std::move(query);
}

void show_all(State& state) {
  if (words_of(state.query, 0).empty()) {
    state.message = "nothing is left out";
    return;
  }
  remember(state);
  state.query.selection = {};
  state.query.picks.clear();
  state.query.time = {};
}

void select_entry(State& state, const Answer& answer, const ViewKey* key,
                  std::vector<FunctionChoice> Selection::*choices) {
  if (!key || state.query.by != Dimension::Kind::kFunction) {
    state.message = key ? "m goes back to functions, which can be chosen" : "nothing is chosen";
    return;
  }
  if (key->identity == 0) {
    state.message = "that is whose the samples are: t, p, L, C choose by it";
    return;
  }
  remember(state);
  (state.query.selection.*choices).emplace_back(chosen_of(answer, *key));
}

void open_prompt(State& state, Ask ask) {
  state.overlay = Overlay::kPrompt;
  state.ask = ask;
  state.typed.clear();
}

void open_menu(State& state, Dimension dimension) {
  state.overlay = Overlay::kMenu;
  state.query.menu = std::move(dimension);
  state.menu = {};
}

// Each time it is asked for, the next key of labels.
void open_label_menu(State& state, const Answer& answer) {
  std::set<std::string> keys;
  const Profile& profile = answer.profile();
  for (const std::vector<ProfileLabel>& set : profile.label_sets)
    for (const ProfileLabel& label : set)
      keys.insert(std::string(profile.strings[label.key]));
  if (keys.empty()) {
    state.message = "no goroutine has a label: runtime/pprof.Do sets them";
    return;
  }
  std::string key = *keys.begin();
  // From the menu of one label the same key goes on to the next, and after the last to the
  // first.
  if (state.overlay == Overlay::kMenu && state.query.menu &&
      state.query.menu->kind == Dimension::Kind::kLabel)
    if (auto next = keys.upper_bound(state.query.menu->label); next != keys.end())
      key = *next;
  open_menu(state, {.kind = Dimension::Kind::kLabel, .label = key});
}

void look_at(State& state, const Answer& answer, const ViewKey* key) {
  if (!key || key->identity == 0) {
    state.message = key ? "that is whose the samples are, and no call" : "nothing is chosen";
    return;
  }
  state.query.centre = chosen_of(answer, *key);
  state.callers = {};
  state.callees = {};
  state.part = Part::kCentre;
  go_to(state, Page::kAround);
}

// A line has the code of its function.
void look_at_code(State& state, const Answer& answer, const ViewKey* key) {
  if (!key || !key->is_named || key->function == ViewKey::kNoFunction) {
    state.message = "no function is chosen";
    return;
  }
  ChosenKey chosen = chosen_of(answer, *key);
  // Lines are entries of their own, but code is looked up by function.
  if (key->identity != key->function_identity)
    chosen.text = printable(answer.profile().name_of(key->function));
  chosen.identity = key->function_identity;
  state.query.code = std::move(chosen);
  state.code_shown = {};
  go_to(state, Page::kCode);
}

void change_sort(State& state) {
  state.sort = state.sort == SortBy::kSelf    ? SortBy::kTotal
               : state.sort == SortBy::kTotal ? SortBy::kName
                                              : SortBy::kSelf;
  state.functions = {};
  state.function = 0;
  state.message = state.sort == SortBy::kSelf    ? "sorted by self"
                  : state.sort == SortBy::kTotal ? "sorted by total"
                                                 : "sorted by name";
}

void change_entries(State& state) {
  using By = Dimension::Kind;
  constexpr By kOrder[] = {By::kFunction, By::kLine, By::kModule, By::kPackage, By::kCategory};
  const auto* at = std::ranges::find(kOrder, state.query.by);
  state.query.by = at == std::end(kOrder) || at + 1 == std::end(kOrder) ? kOrder[0] : at[1];
  // Entries of another kind have other callers: Page::kAround has nothing to show.
  state.query.centre = {};
  state.functions = {};
  state.function = 0;
  if (state.page == Page::kAround)
    state.page = Page::kFunctions;
  state.message = "by " + to_string(Dimension{.kind = state.query.by});
}

void begin_time(State& state, bool is_begin, const Answer& answer) {
  if (step_count(answer) < 2) {
    state.message = "the recording is too short to choose a part";
    return;
  }
  state.overlay = Overlay::kTime;
  state.is_begin_moved = is_begin;
  state.time_before = state.query.time;
  state.query.time.end = std::min(state.query.time.end, step_count(answer));
}

void next_event(State& state, const Answer& answer) {
  if (answer.event_count < 2) {
    state.message = fmt::format("there is one event: {}", answer.profile().event().name);
    return;
  }
  state.query.event = (state.query.event + 1) % answer.event_count;
}

// True if a line of the page matches the search.
bool is_match(const Pattern& pattern, const ViewKey* key) {
  return key && pattern.matches(key->text);
}

// Rows that are left out are searched when no other matches.
void find_function(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  std::span<const uint32_t> order = function_rows(state, answer);
  for (size_t i = 1; i <= order.size(); i++) {
    size_t row = (state.functions.row + (forward ? i : order.size() - i)) % order.size();
    const ViewKey& key = answer.entries->keys[answer.entries->totals[order[row]].key];
    if (!is_match(pattern, &key))
      continue;
    state.functions.row = row;
    state.function = key.identity;
    return;
  }
  // From a list of all rows, nothing more is tried; otherwise the search goes on among the rows
  // that were left out.
  if (std::exchange(state.has_unnoticed, true))
    state.message = "no function matches";
  else
    find_function(state, answer, pattern, forward);
}

// Among all nodes; those that lead to the one found are opened.
uint32_t find_node(const PathTree& tree, uint32_t from, const Pattern& pattern, bool forward) {
  size_t count = tree.tree.nodes.size();
  for (size_t i = 1; i <= count; i++) {
    auto node = static_cast<uint32_t>((from + (forward ? i : count - i)) % count);
    if (is_match(pattern, key_at(&tree, node)))
      return node;
  }
  return 0;
}

void find_in_outline(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  // The centre is no outline: a search goes on from there in its direction.
  if (state.page == Page::kAround && state.part == Part::kCentre)
    state.part = forward ? Part::kCallees : Part::kCallers;
  Outline outline = outline_of(state, answer);
  if (!outline.tree)
    return;
  const PathTree& tree = *outline.tree;
  uint32_t node = find_node(tree, node_of(tree, outline.state->path), pattern, forward);
  if (node == 0) {
    state.message = "no call matches";
    return;
  }
  // Parents of the node are opened, or it would be on no line.
  for (uint32_t i = tree.parents[node]; i != 0; i = tree.parents[i])
    set_open(tree, i, true, *outline.state);
  outline.state->path = tree.paths[node];
}

void find_box(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  Flame flame = flame_of(state, answer);
  for (size_t i = 1; i <= flame.boxes.size(); i++) {
    size_t at = (flame.cursor + (forward ? i : flame.boxes.size() - i)) % flame.boxes.size();
    if (!is_match(pattern, key_at(answer.tree.get(), flame.boxes[at].node)))
      continue;
    state.box = answer.tree->paths[flame.boxes[at].node];
    return;
  }
  state.message = "no box that is wide enough to be shown matches";
}

void find_line(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  if (!answer.code)
    return;
  std::vector<uint32_t> rows = code_rows(state, *answer.code);
  for (size_t i = 1; i <= rows.size(); i++) {
    size_t row = (state.code.row + (forward ? i : rows.size() - i)) % rows.size();
    if (!pattern.matches(answer.code->lines[rows[row]].text))
      continue;
    state.code.row = row;
    return;
  }
  state.message = "no line matches";
}

void find_next(State& state, const Answer& answer, bool forward) {
  if (!state.query.search) {
    state.message = "nothing was searched for: / searches";
    return;
  }
  const Pattern& pattern = *state.query.search;
  switch (state.page) {
    case Page::kFunctions:
      return find_function(state, answer, pattern, forward);
    case Page::kTree:
    case Page::kAround:
      return find_in_outline(state, answer, pattern, forward);
    case Page::kFlame:
      return find_box(state, answer, pattern, forward);
    case Page::kCode:
      return find_line(state, answer, pattern, forward);
  }
}

void answer_prompt(State& state, const Answer& answer) {
  state.overlay = Overlay::kNone;
  if (state.typed.empty()) {
    if (state.ask == Ask::kSearch)
      state.query.search.reset();
    return;
  }
  auto pattern = Pattern::parse(state.typed);
  if (!pattern) {
    state.message = pattern.error().message();
    return;
  }
  if (state.ask == Ask::kSearch) {
    state.query.search = *std::move(pattern);
    find_next(state, answer, true);
    return;
  }
  // Only selections can be taken back; a search changes no samples.
  remember(state);
  Selection& selection = state.query.selection;
  if (state.ask == Ask::kModule)
    return selection.modules.push_back(*std::move(pattern));
  std::vector<FunctionChoice>& choices = state.ask == Ask::kFocus    ? selection.focus
                                         : state.ask == Ask::kIgnore ? selection.ignore
                                                                     : selection.hide;
  choices.emplace_back(*std::move(pattern));
}

void update_prompt(State& state, const Key& key, const Answer& answer) {
  constexpr char32_t kDeleteWord = 0x17;  // Ctrl-W
  constexpr char32_t kDeleteLine = 0x15;  // Ctrl-U
  if (key.kind == Kind::kEnter)
    return answer_prompt(state, answer);
  if (key.kind == Kind::kEscape) {
    state.overlay = Overlay::kNone;
  } else if (key.kind == Kind::kBackspace) {
    // Bytes of a UTF-8 character go together.
    while (!state.typed.empty() && (static_cast<uint8_t>(state.typed.back()) & 0xc0) == 0x80)
      state.typed.pop_back();
    if (!state.typed.empty())
      state.typed.pop_back();
  } else if (is_character(key, kDeleteLine)) {
    state.typed.clear();
  } else if (is_character(key, kDeleteWord)) {
    state.typed.erase(state.typed.find_last_of(' ') + 1);
  } else if (key.kind == Kind::kCharacter && key.character >= ' ' &&
             state.typed.size() < kMaxTyped) {
    std::string character = utf8_of(key.character);
    if (is_printable(character))
      state.typed += character;
  }
}

void choose(State& state, const Answer& answer, bool is_left_out) {
  state.overlay = Overlay::kNone;
  Dimension dimension = *std::exchange(state.query.menu, std::nullopt);
  if (state.menu.row >= answer.menu->size())
    return;
  remember(state);
  state.query.picks.push_back({dimension, (*answer.menu)[state.menu.row].text, is_left_out});
}

void group_by(State& state) {
  state.overlay = Overlay::kNone;
  Dimension dimension = *std::exchange(state.query.menu, std::nullopt);
  std::vector<Dimension>& groups = state.query.groups;
  if (auto found = std::ranges::find(groups, dimension); found != groups.end())
    groups.erase(found);
  else
    groups.push_back(dimension);
  state.tree = {};
  if (state.page != Page::kFlame)
    go_to(state, Page::kTree);
  state.message = groups.empty() ? "the tree is not grouped"
                                 : "the tree is grouped by " + to_string(groups.back());
}

// The keys that open a menu open another one from there.
bool open_menu_of(State& state, char32_t character, const Answer& answer) {
  using By = Dimension::Kind;
  switch (character) {
    case 't':
      open_menu(state, {.kind = By::kThread});
      return true;
    case 'p':
      open_menu(state, {.kind = By::kProcess});
      return true;
    case 'C':
      open_menu(state, {.kind = By::kContainer});
      return true;
    case 'B':
      open_menu(state, {.kind = By::kCategory});
      return true;
    case 'L':
      open_label_menu(state, answer);
      return true;
    default:
      return false;
  }
}

void update_menu(State& state, const Key& key, const Answer& answer) {
  // An answer of another menu may still be on its way: until it is here, there is nothing to
  // choose.
  bool is_there = answer.menu && state.query.menu && answer.query.menu == state.query.menu;
  size_t count = is_there ? answer.menu->size() : 0;
  if (auto by = lines_of(key, window_rows(state.size)); by && key.character != 'g')
    state.menu.row = moved(state.menu.row, *by, count);
  else if (key.kind == Kind::kEnter && is_there)
    choose(state, answer, false);
  else if (is_character(key, 'x') && is_there)
    choose(state, answer, true);
  else if (is_character(key, 'g'))
    group_by(state);
  else if (key.kind == Kind::kCharacter && open_menu_of(state, key.character, answer))
    return;
  else if (key.kind == Kind::kEscape || key.kind == Kind::kBackspace ||
           is_character(key, 'q')) {
    state.overlay = Overlay::kNone;
    state.query.menu.reset();
  }
  keep_on_screen(state.menu, count, window_rows(state.size));
}

void update_time(State& state, const Key& key, const Answer& answer) {
  uint32_t count = step_count(answer);
  // A column, as far as it can be seen.
  auto one =
      static_cast<int64_t>(std::max<size_t>(1, count / std::max<size_t>(state.size.width, 1)));
  Steps& time = state.query.time;
  auto move = [&](int64_t by) {
    auto end = static_cast<int64_t>(std::min(time.end, count));
    auto begin = static_cast<int64_t>(time.begin);
    if (begin >= end)  // of samples that are gone
      return;
    if (state.is_begin_moved)
      time.begin = static_cast<uint32_t>(std::clamp<int64_t>(begin + by, 0, end - 1));
    else
      time.end = static_cast<uint32_t>(std::clamp<int64_t>(end + by, begin + 1, count));
  };
  auto is = [&](char32_t character) { return is_character(key, character); };
  if (key.kind == Kind::kLeft || is('h'))
    move(-one);
  else if (key.kind == Kind::kRight || is('l'))
    move(one);
  else if (key.kind == Kind::kPageUp || key.kind == Kind::kDown)
    move(-10 * one);
  else if (key.kind == Kind::kPageDown || key.kind == Kind::kUp)
    move(10 * one);
  else if (key.kind == Kind::kHome)
    move(-static_cast<int64_t>(count));
  else if (key.kind == Kind::kEnd)
    move(count);
  else if (is('[') || is(']') || key.kind == Kind::kTab)
    state.is_begin_moved = key.kind == Kind::kTab ? !state.is_begin_moved : is('[');
  else if (key.kind == Kind::kEscape) {
    state.overlay = Overlay::kNone;
    time = state.time_before;
  } else if (key.kind == Kind::kEnter || is('q')) {
    state.overlay = Overlay::kNone;
    if (time == Steps{0, count})
      time = {};
    // The time moved while the overlay was open: what was selected before it is one step to
    // take back.
    if (time != state.time_before) {
      Query before = state.query;
      before.time = state.time_before;
      remember(state, std::move(before));
    }
  }
}

void move_in_flame(State& state, const Key& key, const Answer& answer) {
  Flame flame = flame_of(state, answer);
  if (flame.boxes.empty())
    return;
  const FlameBox& at = flame.boxes[flame.cursor];
  auto go = [&](const FlameBox& box) { state.box = answer.tree->paths[box.node]; };
  auto is = [&](char32_t character) { return is_character(key, character); };
  if (key.kind == Kind::kLeft || is('h')) {
    // Boxes of a row follow each other, so a neighbour has the next index.
    if (flame.cursor > 0 && flame.boxes[flame.cursor - 1].row == at.row)
      go(flame.boxes[flame.cursor - 1]);
  } else if (key.kind == Kind::kRight || is('l')) {
    if (flame.cursor + 1 < flame.boxes.size() && flame.boxes[flame.cursor + 1].row == at.row)
      go(flame.boxes[flame.cursor + 1]);
  } else if (key.kind == Kind::kUp || is('k') || key.kind == Kind::kWheelUp) {
    if (at.node != 0)
      state.box = answer.tree->paths[answer.tree->parents[at.node]];
  } else if (key.kind == Kind::kDown || is('j') || key.kind == Kind::kWheelDown) {
    // The widest one that it calls.
    const FlameBox* widest = nullptr;
    for (const FlameBox& box : flame.boxes)
      if (box.row == at.row + 1 && box.begin >= at.begin && box.end <= at.end &&
          (!widest || box.end - box.begin > widest->end - widest->begin))
        widest = &box;
    if (widest)
      go(*widest);
  } else if (key.kind == Kind::kHome || is('g')) {
    go(flame.boxes.front());
  } else if (key.kind == Kind::kEnd || is('G')) {
    go(flame.boxes.back());
  } else if (key.kind == Kind::kEnter) {
    state.zoomed = state.box;
  }
}

void move_in_outline(State& state, const Key& key, const Answer& answer) {
  Outline outline = outline_of(state, answer);
  if (!outline.tree)
    return;
  const PathTree& tree = *outline.tree;
  OutlineState& list = *outline.state;
  std::vector<OutlineRow> rows = outline_rows(tree, list);
  if (rows.empty())
    return;
  // The list may have become shorter since it was drawn.
  list.row = std::min(list.row, rows.size() - 1);
  // Rows are of the tree as it is folded; paths tell nodes in the tree that comes next, and are
  // what is kept.
  uint32_t node = rows[list.row].node;
  bool open = rows[list.row].is_open && rows[list.row].has_children;
  auto is = [&](char32_t character) { return is_character(key, character); };
  if (auto by = lines_of(key, outline.rows)) {
    list.row = moved(list.row, *by, rows.size());
    list.path = tree.paths[rows[list.row].node];
  } else if (is('*')) {
    if (size_t closed = open_all(tree, node, list); closed > 0)
      state.message = fmt::format("opened the {} largest; {} smaller ones stay closed",
                                  with_commas(kMostOpened), with_commas(closed));
  } else if (is('-')) {
    close_all(tree, node, list);
  } else if (key.kind == Kind::kRight || is('l') || is('+')) {
    // Right goes on to the first child of an open node, + does not.
    if (!open)
      set_open(tree, node, true, list);
    else if (!is('+'))
      list.path = tree.paths[node + 1];
  } else if (key.kind == Kind::kLeft || is('h')) {
    if (open)
      set_open(tree, node, false, list);
    else if (tree.parents[node] != 0)
      list.path = tree.paths[tree.parents[node]];
  } else if (key.kind == Kind::kEnter && state.page == Page::kTree) {
    set_open(tree, node, !open, list);
  }
}

void move_in_functions(State& state, const Key& key, const Answer& answer) {
  std::span<const uint32_t> rows = function_rows(state, answer);
  auto by = lines_of(key, layout_of(state.size).rows);
  if (!by || rows.empty())
    return;
  state.functions.row = moved(state.functions.row, *by, rows.size());
  const Total& total = answer.entries->totals[rows[state.functions.row]];
  state.function = answer.entries->keys[total.key].identity;
}

void move_in_code(State& state, const Key& key, const Answer& answer) {
  if (!answer.code)
    return;
  if (auto by = lines_of(key, layout_of(state.size).rows))
    state.code.row = moved(state.code.row, *by, code_rows(state, *answer.code).size());
  if (key.kind == Kind::kEnter)
    go_to_hottest(state, *answer.code);
}

// From the callers through the function itself to what it calls.
void move_around(State& state, const Key& key, const Answer& answer) {
  if (key.kind == Kind::kEnter) {
    if (state.part == Part::kCentre)
      look_at_code(state, answer, entry_at_cursor(state, answer));
    else
      look_at(state, answer, entry_at_cursor(state, answer));
    return;
  }
  auto by = lines_of(key, 1);
  if (state.part == Part::kCentre) {
    if (by && *by != 0)
      state.part = *by < 0 ? Part::kCallers : Part::kCallees;
    return;
  }
  Outline outline = outline_of(state, answer);
  size_t count = outline.tree ? outline_rows(*outline.tree, *outline.state).size() : 0;
  // At the end of a half the cursor leaves it for the function in the middle.
  bool leaves = by && (state.part == Part::kCallers ? *by > 0 && outline.state->row + 1 >= count
                                                    : *by < 0 && outline.state->row == 0);
  if (leaves)
    state.part = Part::kCentre;
  else
    move_in_outline(state, key, answer);
}

void move_in_page(State& state, const Key& key, const Answer& answer) {
  switch (state.page) {
    case Page::kFunctions:
      if (key.kind == Kind::kEnter || key.kind == Kind::kRight)
        return look_at(state, answer, entry_at_cursor(state, answer));
      return move_in_functions(state, key, answer);
    case Page::kAround:
      return move_around(state, key, answer);
    case Page::kTree:
      return move_in_outline(state, key, answer);
    case Page::kFlame:
      return move_in_flame(state, key, answer);
    case Page::kCode:
      return move_in_code(state, key, answer);
  }
}

void go_back(State& state) {
  // Esc undoes the latest of several things: the zoom, then the page, then the search.
  if (state.page == Page::kFlame && state.zoomed != kRootPath) {
    state.zoomed = kRootPath;
  } else if (!state.pages_before.empty()) {
    state.page = state.pages_before.back();
    state.pages_before.pop_back();
  } else if (state.query.search) {
    state.query.search.reset();
  } else {
    state.message = "q quits, ? lists all keys";
  }
}

void choose_page(State& state, Page page, const Answer& answer) {
  // Both are of a function: without one, of that at the cursor.
  if (page == Page::kAround && (state.query.centre.empty() || !answer.callers))
    return look_at(state, answer, entry_at_cursor(state, answer));
  if (page == Page::kCode && state.query.code.empty())
    return look_at_code(state, answer, entry_at_cursor(state, answer));
  go_to(state, page);
}

void click(State& state, const Key& key, const Answer& answer) {
  Layout layout = layout_of(state.size);
  // Line 1 has the tabs.
  if (key.y == 1) {
    std::vector<Tab> tabs = tabs_of(state.size);
    for (size_t i = 0; i < tabs.size(); i++)
      if (key.x >= tabs[i].begin && key.x < tabs[i].end)
        choose_page(state, static_cast<Page>(i), answer);
    return;
  }
  // Below the tabs only lines of the page itself are of use.
  if (key.y < layout.body || key.y >= layout.body + layout.rows)
    return;
  size_t line = key.y - layout.body;
  Key enter = {.kind = Kind::kEnter};
  if (state.page == Page::kFlame) {
    // A click on the box at the cursor zooms into it.
    Flame flame = flame_of(state, answer);
    for (const FlameBox& box : flame.boxes)
      if (box.row == state.flame_top + line && key.x >= box.begin && key.x < box.end) {
        bool is_again = state.box == answer.tree->paths[box.node];
        state.box = answer.tree->paths[box.node];
        if (is_again)
          state.zoomed = state.box;
      }
    return;
  }
  // A second click does what Enter does.
  if (state.page == Page::kFunctions) {
    std::span<const uint32_t> rows = function_rows(state, answer);
    size_t row = state.functions.top + line;
    if (row >= rows.size())
      return;
    if (row == state.functions.row)
      return move_in_page(state, enter, answer);
    state.functions.row = row;
    state.function = answer.entries->keys[answer.entries->totals[rows[row]].key].identity;
    return;
  }
  if (state.page == Page::kCode) {
    state.code.row = state.code.top + line;
    return;
  }
  // The line of the function itself is between the halves, and in neither of their lists.
  if (state.page == Page::kAround) {
    size_t callers = halves_of(layout).callers;
    state.part = line < callers    ? Part::kCallers
                 : line == callers ? Part::kCentre
                                   : Part::kCallees;
    line -= line > callers ? callers + 1 : 0;
  }
  Outline outline = outline_of(state, answer);
  if (!outline.tree)
    return;
  std::vector<OutlineRow> rows = outline_rows(*outline.tree, *outline.state);
  size_t row = outline.state->top + line;
  if (row >= rows.size())
    return;
  if (row == outline.state->row)
    return move_in_page(state, enter, answer);
  outline.state->row = row;
  outline.state->path = outline.tree->paths[rows[row].node];
}

// Time is chosen where it is drawn.
void drag(State& state, const Key& key, const Answer& answer) {
  Layout layout = layout_of(state.size);
  uint32_t count = step_count(answer);
  if (layout.timeline == 0 || key.y != layout.timeline || count < 2)
    return;
  auto step = [&](size_t x) {
    return static_cast<uint32_t>(std::min<uint64_t>(x * count / state.size.width, count));
  };
  size_t from = std::min(key.x, key.to_x);
  // Both ends are in the selection, so that a drag within one column has one step.
  size_t to = std::max(key.x, key.to_x);
  remember(state);
  state.query.time = {step(from), std::max(step(to + 1), step(from) + 1)};
}

// Characters that ask the user for more, or open something over the page. False: this one does
// not.
bool open_by_character(State& state, char32_t character) {
  switch (character) {
    case '?':
      state.overlay = Overlay::kHelp;
      state.help = {};
      return true;
    case '/':
      open_prompt(state, Ask::kSearch);
      return true;
    case 'F':
      open_prompt(state, Ask::kFocus);
      return true;
    case 'X':
      open_prompt(state, Ask::kIgnore);
      return true;
    case 'D':
      open_prompt(state, Ask::kHide);
      return true;
    case 'M':
      open_prompt(state, Ask::kModule);
      return true;
    case 'e':
      state.overlay = Overlay::kExport;
      return true;
    default:
      return false;
  }
}

// Turns on or off what of the code is shown; `told` says so, in this order.
void change_code(State& state, const Code& code, bool& is_on,
                 std::pair<std::string_view, std::string_view> told) {
  is_on = !is_on;
  state.message = is_on ? told.first : told.second;
  go_to_hottest(state, code);
}

// Characters that act on the entry at the cursor, null for none. False: this one does not.
bool use_entry(State& state, char32_t character, const Answer& answer, const ViewKey* key) {
  switch (character) {
    case 'f':
      select_entry(state, answer, key, &Selection::focus);
      return true;
    case 'x':
      select_entry(state, answer, key, &Selection::ignore);
      return true;
    case 'd':
      select_entry(state, answer, key, &Selection::hide);
      return true;
    case '#':
      look_at(state, answer, key);
      return true;
    case 'a':
      if (state.page == Page::kCode && answer.code)
        change_code(state, *answer.code, state.has_instructions,
                    {"source lines and instructions", "source lines"});
      else
        look_at_code(state, answer, key);
      return true;
    case 'H':
      if (state.page == Page::kCode && answer.code)
        change_code(state, *answer.code, state.is_hot_only,
                    {"lines with samples alone", "all lines"});
      return true;
    case 'w':
      if (key)
        state.overlay = Overlay::kDetails;
      return true;
    default:
      return false;
  }
}

void turn_tree(State& state) {
  bool is_from_root = state.query.direction != Direction::kFromRoot;
  state.query.direction = is_from_root ? Direction::kFromRoot : Direction::kFromLeaf;
  state.zoomed = state.box = kRootPath;
  state.tree = {};
  state.message = is_from_root ? "from the first functions to what they call"
                               : "from what ran to who calls it";
}

// Keys that change how the tree and the list are made. False: the character is none of them.
bool change_shape(State& state, char32_t character) {
  switch (character) {
    case 'i':
      turn_tree(state);
      return true;
    case 'R':
      state.query.folds = !state.query.folds;
      state.message = state.query.folds ? "calls that a recursion repeats are there once"
                                        : "all calls of a recursion are there";
      return true;
    case 'P':
      state.query.is_by_program = !state.query.is_by_program;
      state.query.groups.clear();
      state.tree = {};
      state.zoomed = state.box = kRootPath;
      state.message = state.query.is_by_program
                          ? "the tree begins with programs, if it has several"
                          : "the tree begins with calls";
      return true;
    case '0':
      state.has_unnoticed = !state.has_unnoticed;
      state.message = state.has_unnoticed ? "all rows" : "rows of 0.00 % are left out";
      return true;
    case 'm':
      change_entries(state);
      return true;
    case 's':
      change_sort(state);
      return true;
    default:
      return false;
  }
}

// Characters that change which part is shown, or how. False: this one does not.
bool change_view(State& state, char32_t character, const Answer& answer) {
  switch (character) {
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
      choose_page(state, static_cast<Page>(character - '1'), answer);
      return true;
    case 'n':
    case 'N':
      find_next(state, answer, character == 'n');
      return true;
    case 'c':
      show_all(state);
      return true;
    case 'u':
      take_back(state);
      return true;
    case '%':
      state.is_share_of_shown = !state.is_share_of_shown;
      state.message = state.is_share_of_shown ? "shares are of what is shown"
                                              : "shares are of all that was recorded";
      return true;
    case 'I':
      remember(state);
      state.query.selection.has_inlines = !state.query.selection.has_inlines;
      return true;
    case 'o':
      remember(state);
      state.query.selection.is_mine = !state.query.selection.is_mine;
      state.query.selection.mine.clear();
      return true;
    case 'K':
      remember(state);
      state.query.selection.has_kernel = !state.query.selection.has_kernel;
      return true;
    case '[':
    case ']':
      begin_time(state, character == '[', answer);
      return true;
    case '\\':
      if (state.query.time != Steps())
        remember(state);
      state.query.time = {};
      return true;
    case 'E':
      next_event(state, answer);
      return true;
    case 'z':
      state.is_frozen = state.is_live && !state.is_frozen;
      return true;
    default:
      return false;
  }
}

// An editor at the line of the source that the cursor is on, or at the last one above.
Effect edit(State& state, const Answer& answer) {
  if (state.page != Page::kCode || !answer.code) {
    state.message = "an editor opens at a line of the code: a shows the code";
    return {};
  }
  std::vector<uint32_t> rows = code_rows(state, *answer.code);
  // Instructions, and lines of other files, have the source line above them.
  for (size_t row = std::min(state.code.row + 1, rows.size()); row > 0; row--)
    if (const CodeLine& line = answer.code->lines[rows[row - 1]]; !line.source_path.empty())
      return {Effect::Kind::kEdit, line.source_path, line.source_line};
  state.message = "no source file of this is shown, so that none is opened";
  return {};
}

Effect update_character(State& state, char32_t character, const Answer& answer) {
  // Entries of an answer to an older query may be of another kind than the state asks for.
  const ViewKey* key =
      answer.query.by == state.query.by ? entry_at_cursor(state, answer) : nullptr;
  switch (character) {
    case 'q':
      return {Effect::Kind::kQuit};
    case 'y':
      return {key ? Effect::Kind::kCopy : Effect::Kind::kNone, key ? key->text : ""};
    case 'r':
      return {state.is_live ? Effect::Kind::kReset : Effect::Kind::kNone};
    case 'W':
      return {state.is_live ? Effect::Kind::kSave : Effect::Kind::kNone};
    case 'v':
      return edit(state, answer);
    default:
      break;
  }
  // Characters without a meaning of their own move the cursor.
  if (!open_by_character(state, character) && !use_entry(state, character, answer, key) &&
      !change_shape(state, character) && !change_view(state, character, answer) &&
      !open_menu_of(state, character, answer))
    move_in_page(state, character_key(character), answer);
  return {};
}

Effect update_export(State& state, const Key& key) {
  state.overlay = Overlay::kNone;
  if (key.kind != Kind::kCharacter)
    return {};
  for (const ExportChoice& choice : export_choices())
    if (key.character == static_cast<char32_t>(choice.key))
      return {Effect::Kind::kExport, std::string(choice.format)};
  return {};
}

Effect update_page(State& state, const Key& key, const Answer& answer) {
  switch (key.kind) {
    case Kind::kCharacter:
      return update_character(state, key.character, answer);
    case Kind::kTab:
    case Kind::kBackTab: {
      // Tab goes through the parts of this page before it goes to the next.
      if (state.page == Page::kAround && key.kind == Kind::kTab &&
          state.part != Part::kCallers) {  // through its parts
        state.part = state.part == Part::kCentre ? Part::kCallees : Part::kCallers;
        break;
      }
      // Backwards is forwards by one less than there are pages.
      size_t step = key.kind == Kind::kTab ? 1 : kPageCount - 1;
      size_t next = (static_cast<size_t>(state.page) + step) % kPageCount;
      choose_page(state, static_cast<Page>(next), answer);
      break;
    }
    case Kind::kEscape:
    case Kind::kBackspace:
      go_back(state);
      break;
    case Kind::kClick:
      click(state, key, answer);
      break;
    case Kind::kDrag:
      drag(state, key, answer);
      break;
    default:
      move_in_page(state, key, answer);
  }
  return {};
}

}  // namespace

const ViewKey* entry_at_cursor(const State& state, const Answer& answer) {
  switch (state.page) {
    case Page::kFunctions: {
      std::span<const uint32_t> rows = function_rows(state, answer);
      if (state.functions.row >= rows.size())
        return nullptr;
      return &answer.entries->keys[answer.entries->totals[rows[state.functions.row]].key];
    }
    case Page::kTree:
      // A path that is in no tree is the root's, which is no entry.
      return key_at(answer.tree.get(), node_of(*answer.tree, state.tree.path));
    case Page::kAround: {
      if (state.part == Part::kCentre)
        return answer.entries->keys.find(answer.query.centre);
      bool is_callee = state.part == Part::kCallees;
      const PathTree* tree = (is_callee ? answer.callees : answer.callers).get();
      return tree ? key_at(tree,
                           node_of(*tree, (is_callee ? state.callees : state.callers).path))
                  : nullptr;
    }
    case Page::kFlame: {
      Flame flame = flame_of(state, answer);
      return flame.boxes.empty() ? nullptr
                                 : key_at(answer.tree.get(), flame.boxes[flame.cursor].node);
    }
    case Page::kCode:
      return answer.entries->keys.find(answer.query.code);
  }
  return nullptr;
}

void settle(State& state, const Answer& answer) {
  if (state.size.width < kLeastSize.width || state.size.height < kLeastSize.height)
    return;
  Layout layout = layout_of(state.size);
  Halves halves = halves_of(layout);
  // Pages that are not shown may take long, and are settled once they are shown.
  switch (state.page) {
    case Page::kFunctions:
      settle_functions(state, answer, layout.rows);
      break;
    case Page::kTree:
      settle_outline(*answer.tree, state.tree, layout.rows);
      break;
    case Page::kAround:
      if (answer.callers)
        settle_outline(*answer.callers, state.callers, halves.callers);
      if (answer.callees)
        settle_outline(*answer.callees, state.callees, halves.callees);
      break;
    case Page::kFlame:
      settle_flame(state, answer, layout.rows);
      break;
    case Page::kCode:
      if (answer.code)
        settle_code(state, answer, layout.rows);
  }
  // An answer may have fewer entries than the one before: cursors are put back into their
  // lists.
  if (answer.menu)
    keep_on_screen(state.menu, answer.menu->size(), window_rows(state.size));
  if (state.query.time.end != UINT32_MAX && state.query.time.begin >= state.query.time.end)
    state.query.time = {};
}

Effect update(State& state, const Key& key, const Answer& answer) {
  state.message.clear();
  Effect effect;
  switch (state.overlay) {
    case Overlay::kNone:
      effect = update_page(state, key, answer);
      break;
    case Overlay::kHelp:
      if (auto by = lines_of(key, window_rows(state.size))) {
        size_t count = help_lines(state.is_live, window_columns(state.size)).size();
        size_t tops = count - std::min(count, window_rows(state.size)) + 1;
        state.help.row = moved(state.help.row, *by, tops);
      } else {
        state.overlay = Overlay::kNone;
      }
      break;
    case Overlay::kDetails:
      state.overlay = Overlay::kNone;
      break;
    case Overlay::kMenu:
      update_menu(state, key, answer);
      break;
    case Overlay::kPrompt:
      update_prompt(state, key, answer);
      break;
    case Overlay::kExport:
      effect = update_export(state, key);
      break;
    case Overlay::kTime:
      update_time(state, key, answer);
      break;
  }
  // Whatever the key has done, cursor and screen fit the answer afterwards, so that drawing
  // needs no checks.
  settle(state, answer);
  return effect;
}

std::vector<std::string> help_lines(bool is_live, size_t width) {
  std::vector<std::string> lines = {
      "Which function uses the time",
      "  1 2 3 4 5, Tab       functions, tree, callers|callees, flame graph, code",
      "  s                    sort functions by self, total or name",
      "  m                    functions, lines, modules, packages or categories",
      "  0                    rows of 0.00 %, which are left out",
      "  o                    only the program's own code, or all",
      "  / n N                search for a regular expression; next, the one before",
      "  w                    where its name comes from, or why it has none",
      "  %                    shares of all that was recorded (first), or of what is shown",
      "",
      "Which line of it",
      "  a                    its source, the hottest line in view; there: with instructions",
      "  H                    only lines with samples, or all",
      "  Enter                the hottest line again",
      "  v                    $VISUAL or $EDITOR at the line (not in gosym top)",
      "",
      "Who calls it, and what does it call",
      "  Enter, #             callers and callees of what has the cursor",
      "  + - *                tree: open; close, or open, all below",
      "  i                    tree and flame graph from the functions that ran outward",
      "  R                    fold recursions: functions that call themselves, or each other",
      "                       in turn, are there once; ×98: up to 98 calls on that path",
      "  K I                  kernel, inlined calls: off and on",
      "",
      "Who is it",
      "  P                    the tree begins with programs, or with calls",
      "  t p L C B            threads, processes, labels, containers, categories: a list",
      "                       to choose from; there Enter only that one, x without it,",
      "                       g groups the tree by them",
      "  E                    next event, of a recording that has several",
      "",
      "Only a part of it",
      "  f x                  only stacks with what has the cursor; only those without",
      "  F X                  the same for a regular expression",
      "  d D                  leave what has the cursor, or matches, out of stacks",
      "  M                    only stacks with code of a file whose name matches",
      "  [ ]                  move the beginning, the end of the time that is shown: by",
      "                       Left Right, PgUp PgDn, Home End",
      "  \\                    all of the time",
      "  u c                  take the last choice back; show all",
      "",
      "Move",
      "  arrows, h j k l      move; in a tree left and right close and open",
      "  PgUp PgDn Space      a screen further; g G, Home End: first and last line",
      "  Enter                tree: open, close; callers|callees: look at that one;",
      "                       flame graph: zoom",
      "  Esc, Backspace       back; in the flame graph zoom out first",
      "  mouse                click chooses, again opens; wheel; drag over the time",
      "",
      "Take along",
      "  y                    copy the name to the clipboard, if the terminal can",
      ("  e                    export what is shown: text, folded, pprof, HTML, JSON, CSV, "
       "Markdown"),
      "  q                    quit",
  };
  if (is_live) {
    const char* const live[] = {
        "", "Live", "  z                    freeze the screen; the recorder goes on",
        "  r                    forget what was sampled up to now",
        "  W                    save what is kept as a recording"};
    lines.insert(lines.end(), std::begin(live), std::end(live));
  }
  constexpr size_t kKeys = 23;  // columns that keys have
  std::vector<std::string> fitting;
  for (const std::string& line : lines) {
    std::string broken = wrapped(line, width, std::min(kKeys, width / 2));
    for (std::string_view part : split(broken, '\n'))
      fitting.emplace_back(part);
  }
  return fitting;
}

std::span<const ExportChoice> export_choices() {
  static constexpr ExportChoice kChoices[] = {
      {'t', "text", "txt"},  {'f', "folded", "folded"}, {'p', "pprof", "pb.gz"},
      {'h', "html", "html"}, {'j', "json", "json"},     {'c', "csv", "csv"},
      {'m', "md", "md"},
  };
  return kChoices;
}

}  // namespace gosym::browser
