#include "browser/update.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "browser/draw.h"

namespace gosym::browser {

// A key changes the state and nothing else: what has to be computed is a query in the state,
// which the session asks, and what has to be done outside is the Effect. The table kKeyRows,
// near the end, has all keys with their help; functions before it are what they do. settle()
// comes last, after each key and each answer, so that cursors are always on rows that there
// are.

namespace {

using Kind = Key::Kind;

// Bytes in a prompt: more than a person types, while text that is pasted may have any length.
constexpr size_t kMaxTyped = 200;
// Queries that are kept for take_back(): more than anybody goes back, and bounded in a long
// session.
constexpr size_t kMaxUndone = 100;

// The key that a letter stands for where it has no meaning of its own: those of vi and less.
Key as_arrow(const Key& key) {
  constexpr std::pair<char32_t, Kind> kLetters[] = {
      {'h', Kind::kLeft}, {'j', Kind::kDown}, {'k', Kind::kUp},       {'l', Kind::kRight},
      {'g', Kind::kHome}, {'G', Kind::kEnd},  {' ', Kind::kPageDown},
  };
  for (auto [letter, kind] : kLetters)
    if (is_character(key, letter))
      return {.kind = kind};
  return key;
}

// The number of lines that a key moves in a list, of which so many are on the screen; none for
// other keys.
std::optional<ptrdiff_t> lines_of(const Key& key, size_t rows) {
  // A page less one line, which stays as a bearing.
  auto page = static_cast<ptrdiff_t>(std::max<size_t>(rows, 2) - 1);
  // Far enough for any list, and adding it to a row does not overflow.
  constexpr ptrdiff_t kAll = PTRDIFF_MAX / 2;
  constexpr ptrdiff_t kWheel = 3;
  switch (as_arrow(key).kind) {
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
    default:
      return std::nullopt;
  }
}

// ---- the lists --------------------------------------------------------------------------

// `row` is one that there is: a List asks for no other.
const ViewKey& function_at(const State& state, const Answer& answer, size_t row) {
  return answer.entries->keys[answer.entries->totals[function_rows(state, answer)[row]].key];
}

List function_list(State& state, const Answer& answer) {
  return {state.functions, function_rows(state, answer).size(), state.function,
          [&](size_t row) { return function_at(state, answer, row).identity; }};
}

// The nodes of a new answer have other numbers: the cursor's is found by its path.
List outline_list(const PathTree& tree, OutlineState& state,
                  const std::vector<OutlineRow>& rows) {
  return {state, rows.size(), state.path,
          [&](size_t row) { return tree.paths[rows[row].node]; }};
}

List code_list(State& state, const Code& code) {
  return {state.code, code_rows(state, code).size()};
}

void settle_outline(const PathTree& tree, OutlineState& state, size_t rows) {
  std::vector<OutlineRow> lines = outline_rows(tree, state);
  outline_list(tree, state, lines).settle(rows);
}

void settle_functions(State& state, const Answer& answer, size_t rows) {
  List list = function_list(state, answer);
  // The line about rows that are left out takes one from the list.
  bool has_rest = list.count() < answer.entries->totals.size();
  list.settle(rows - (has_rest && rows > 1 ? 1 : 0));
}

void settle_flame(State& state, const Answer& answer, size_t rows) {
  Flame flame = flame_of(state, answer);
  if (flame.boxes.empty())
    return;
  // A node that the new tree does not have is the root by now (node_of()).
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
  // Without rows this is the end, and so row 0.
  auto hottest = std::ranges::max_element(rows, {}, heat);
  return static_cast<size_t>(hottest - rows.begin());
}

// The screen goes to the hottest row: of code that is new, or shown in another way.
void go_to_hottest(State& state, const Code& code) {
  state.code.row = hottest_row(state, code);
  size_t rows = layout_of(state.size).rows;
  state.code.top = state.code.row - std::min(state.code.row, rows / 2);
}

// For an answer that has code: settle() asks first.
void settle_code(State& state, const Answer& answer, size_t rows) {
  // Once for each function, when its code has come: later the cursor is the user's.
  if (answer.query.code == state.query.code && state.code_shown != state.query.code) {
    state.code_shown = state.query.code;
    go_to_hottest(state, *answer.code);
  }
  code_list(state, *answer.code).settle(rows);
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

// Keeps the query for take_back(); the oldest is dropped.
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
  // Functions of Page::kAround and Page::kCode, and the search, leave no sample out: they stay.
  // All else of the query is as it was when the choice was made, the event and the kind of
  // entries included.
  Query query = std::move(state.before.back());
  state.before.pop_back();
  // Entries of another kind have other callers: then it is as it was, too.
  if (query.by == state.query.by)
    query.centre = state.query.centre;
  else if (query.centre.empty() && state.page == Page::kAround)
    state.page = Page::kFunctions;
  query.code = state.query.code;
  query.search = state.query.search;
  state.query = std::move(query);
}

void show_all(State& state) {
  // No words: nothing is selected. The time step does not matter for that.
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
  // Groups of the tree (threads, processes) have no identity among functions.
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
  // The first row of the new order is what the sort is for.
  state.functions = {};
  state.function = 0;
  state.message = state.sort == SortBy::kSelf    ? "sorted by self"
                  : state.sort == SortBy::kTotal ? "sorted by total"
                                                 : "sorted by name";
}

void change_entries(State& state) {
  using By = Dimension::Kind;
  constexpr By kOrder[] = {By::kFunction, By::kLine, By::kModule, By::kPackage, By::kCategory};
  // --by may have begun with a kind that is none of these: the first one follows it.
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
  // An end that is open has no edge that keys could move.
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
  bool is_found = function_list(state, answer).find(forward, [&](size_t row) {
    return is_match(pattern, &function_at(state, answer, row));
  });
  if (is_found)
    return;
  // From a list of all rows, nothing more is tried; otherwise the search goes on among the rows
  // that were left out.
  if (std::exchange(state.has_unnoticed, true))
    state.message = "no function matches";
  else
    find_function(state, answer, pattern, forward);
}

void find_in_outline(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  // The centre is no outline: a search goes on from there in its direction.
  if (state.page == Page::kAround && state.part == Part::kCentre)
    state.part = forward ? Part::kCallees : Part::kCallers;
  Outline outline = outline_of(state, answer);
  if (!outline.tree)
    return;
  const PathTree& tree = *outline.tree;
  // All nodes are searched, in whatever is closed as well. The root is no call.
  auto found = find_around(
      tree.tree.nodes.size(), node_of(tree, outline.state->path), forward, [&](size_t node) {
        return is_match(pattern, key_at(&tree, static_cast<uint32_t>(node)));
      });
  if (!found) {
    state.message = "no call matches";
    return;
  }
  auto node = static_cast<uint32_t>(*found);
  // Parents of the node are opened, or it would be on no line.
  for (uint32_t i = tree.parents[node]; i != 0; i = tree.parents[i])
    set_open(tree, i, true, *outline.state);
  outline.state->path = tree.paths[node];
}

void find_box(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  Flame flame = flame_of(state, answer);
  auto found = find_around(flame.boxes.size(), flame.cursor, forward, [&](size_t box) {
    return is_match(pattern, key_at(answer.tree.get(), flame.boxes[box].node));
  });
  if (found)
    state.box = answer.tree->paths[flame.boxes[*found].node];
  else
    state.message = "no box that is wide enough to be shown matches";
}

void find_line(State& state, const Answer& answer, const Pattern& pattern, bool forward) {
  if (!answer.code)
    return;
  std::vector<uint32_t> rows = code_rows(state, *answer.code);
  bool is_found = code_list(state, *answer.code).find(forward, [&](size_t row) {
    return pattern.matches(answer.code->lines[rows[row]].text);
  });
  if (!is_found)
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
    // An empty search ends the search; an empty selection is none.
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
    while (!state.typed.empty() && continues_character(state.typed.back()))
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
  // A menu is open, and so there is a query of one (open_menu()).
  Dimension dimension = *std::exchange(state.query.menu, std::nullopt);
  if (state.menu.row >= answer.menu->size())
    return;
  remember(state);
  state.query.picks.push_back({dimension, (*answer.menu)[state.menu.row].text, is_left_out});
}

void group_by(State& state) {
  state.overlay = Overlay::kNone;
  // A menu is open, and so there is a query of one (open_menu()).
  Dimension dimension = *std::exchange(state.query.menu, std::nullopt);
  std::vector<Dimension>& groups = state.query.groups;
  // A dimension that is chosen once more is taken back.
  if (auto found = std::ranges::find(groups, dimension); found != groups.end())
    groups.erase(found);
  else
    groups.push_back(dimension);
  // Paths of the new tree begin with other groups: none of the old ones is found in it. Those
  // of the flame graph fall back to the root by themselves (settle_flame()).
  state.tree = {};
  if (state.page != Page::kFlame)
    go_to(state, Page::kTree);
  state.message = groups.empty() ? "the tree is not grouped"
                                 : "the tree is grouped by " + to_string(groups.back());
}

// Presses a key that opens a menu, from the page or from another menu. False: it is none.
bool press_menu_key(State& state, const Key& key, const Answer& answer);

void update_menu(State& state, const Key& key, const Answer& answer) {
  // An answer of another menu may still be on its way: until it is here, there is nothing to
  // choose.
  bool is_there = answer.menu && state.query.menu && answer.query.menu == state.query.menu;
  List list(state.menu, is_there ? answer.menu->size() : 0);
  // In a menu g is a key of its own, not Home as in other lists (as_arrow()).
  if (auto by = lines_of(key, window_rows(state.size)); by && key.character != 'g')
    list.move(*by);
  else if (key.kind == Kind::kEnter && is_there)
    choose(state, answer, false);
  else if (is_character(key, 'x') && is_there)
    choose(state, answer, true);
  else if (is_character(key, 'g'))
    group_by(state);
  else if (press_menu_key(state, key, answer))
    return;
  else if (key.kind == Kind::kEscape || key.kind == Kind::kBackspace ||
           is_character(key, 'q')) {
    state.overlay = Overlay::kNone;
    state.query.menu.reset();
  }
  list.settle(window_rows(state.size));
}

void update_time(State& state, const Key& pressed, const Answer& answer) {
  Key key = as_arrow(pressed);
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
  if (key.kind == Kind::kLeft)
    move(-one);
  else if (key.kind == Kind::kRight)
    move(one);
  // Ten columns: PgUp goes back in time as it goes up in a list, while Up is later.
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
    // All of the time is an open end: samples that a live session gets later belong to it.
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
  if (key.kind == Kind::kLeft) {
    // Boxes of a row follow each other, so a neighbour has the next index.
    if (flame.cursor > 0 && flame.boxes[flame.cursor - 1].row == at.row)
      go(flame.boxes[flame.cursor - 1]);
  } else if (key.kind == Kind::kRight) {
    if (flame.cursor + 1 < flame.boxes.size() && flame.boxes[flame.cursor + 1].row == at.row)
      go(flame.boxes[flame.cursor + 1]);
  } else if (key.kind == Kind::kUp || key.kind == Kind::kWheelUp) {
    if (at.node != 0)
      state.box = answer.tree->paths[answer.tree->parents[at.node]];
  } else if (key.kind == Kind::kDown || key.kind == Kind::kWheelDown) {
    // The widest one that it calls.
    const FlameBox* widest = nullptr;
    for (const FlameBox& box : flame.boxes)
      if (box.row == at.row + 1 && box.begin >= at.begin && box.end <= at.end &&
          (!widest || box.end - box.begin > widest->end - widest->begin))
        widest = &box;
    if (widest)
      go(*widest);
  } else if (key.kind == Kind::kHome) {
    go(flame.boxes.front());
  } else if (key.kind == Kind::kEnd) {
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
  // Numbers of rows and nodes hold for this tree alone. `list.path` names a node in the tree of
  // the next answer, too; settle(), which update() ends with, puts the cursor into its row.
  uint32_t node = rows[list.row].node;
  bool open = rows[list.row].is_open && rows[list.row].has_children;
  auto is = [&](char32_t character) { return is_character(key, character); };
  if (auto by = lines_of(key, outline.rows)) {
    outline_list(tree, list, rows).move(*by);
  } else if (is('*')) {
    if (size_t closed = open_all(tree, node, list); closed > 0)
      state.message = fmt::format("opened the {} largest; {} smaller ones stay closed",
                                  with_commas(kMostOpened), with_commas(closed));
  } else if (is('-')) {
    close_all(tree, node, list);
  } else if (key.kind == Kind::kRight || is('+')) {
    // Right goes on to the first child of an open node, + does not.
    if (!open)
      set_open(tree, node, true, list);
    else if (!is('+'))
      // The first child follows its parent (CallTree).
      list.path = tree.paths[node + 1];
  } else if (key.kind == Kind::kLeft) {
    if (open)
      set_open(tree, node, false, list);
    // Node 0, the root, has no line.
    else if (tree.parents[node] != 0)
      list.path = tree.paths[tree.parents[node]];
  } else if (key.kind == Kind::kEnter && state.page == Page::kTree) {
    set_open(tree, node, !open, list);
  }
}

void move_in_functions(State& state, const Key& key, const Answer& answer) {
  if (key.kind == Kind::kEnter || key.kind == Kind::kRight)
    look_at(state, answer, entry_at_cursor(state, answer));
  else if (auto by = lines_of(key, layout_of(state.size).rows))
    function_list(state, answer).move(*by);
}

void move_in_code(State& state, const Key& key, const Answer& answer) {
  if (!answer.code)
    return;
  if (auto by = lines_of(key, layout_of(state.size).rows))
    code_list(state, *answer.code).move(*by);
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
  // At the centre only the direction counts, and so the rows of the screen do not.
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

// Keys that each page understands in its own way.
void move_in_page(State& state, const Key& pressed, const Answer& answer) {
  Key key = as_arrow(pressed);
  switch (state.page) {
    case Page::kFunctions:
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
  // Both are of a function: without one, of that at the cursor. Without `callers` the answer is
  // to a query that had no centre yet, so that there is nothing to be shown of one.
  if (page == Page::kAround && (state.query.centre.empty() || !answer.callers))
    return look_at(state, answer, entry_at_cursor(state, answer));
  if (page == Page::kCode && state.query.code.empty())
    return look_at_code(state, answer, entry_at_cursor(state, answer));
  go_to(state, page);
}

// A click on the box at the cursor zooms into it.
void click_flame(State& state, size_t line, size_t x, const Answer& answer) {
  Flame flame = flame_of(state, answer);
  for (const FlameBox& box : flame.boxes)
    if (box.row == state.flame_top + line && x >= box.begin && x < box.end) {
      bool is_again = state.box == answer.tree->paths[box.node];
      state.box = answer.tree->paths[box.node];
      if (is_again)
        state.zoomed = state.box;
    }
}

// A second click does what Enter does: the cursor is in the line already. List::row() is that
// of the page as it was settled last, which is the one that was clicked on.
void click_list(State& state, List list, size_t line, const Answer& answer) {
  // `line` counts from the first line of the list on the screen.
  size_t row = list.row_at(line);
  if (row < list.count() && row == list.row())
    move_in_page(state, {.kind = Kind::kEnter}, answer);
  else if (row < list.count())
    list.put(row);
}

void click_outline(State& state, size_t line, const Answer& answer) {
  // The line of the function itself is between the halves, and in neither of their lists.
  if (state.page == Page::kAround) {
    size_t callers = halves_of(layout_of(state.size)).callers;
    state.part = line < callers    ? Part::kCallers
                 : line == callers ? Part::kCentre
                                   : Part::kCallees;
    // Lines of the callees count from the first one below that of the function.
    line -= line > callers ? callers + 1 : 0;
  }
  Outline outline = outline_of(state, answer);
  if (!outline.tree)
    return;
  std::vector<OutlineRow> rows = outline_rows(*outline.tree, *outline.state);
  click_list(state, outline_list(*outline.tree, *outline.state, rows), line, answer);
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
  switch (state.page) {
    case Page::kFunctions:
      return click_list(state, function_list(state, answer), line, answer);
    case Page::kFlame:
      return click_flame(state, line, key.x, answer);
    case Page::kCode:
      // Enter is "the hottest line again" here: a second click must not jump there.
      state.code.row = state.code.top + line;  // settle() keeps it within the lines
      return;
    case Page::kTree:
    case Page::kAround:
      return click_outline(state, line, answer);
  }
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

// Turns on or off what of the code is shown; `told` says so, in this order.
void change_code(State& state, const Code& code, bool& is_on,
                 std::pair<std::string_view, std::string_view> told) {
  is_on = !is_on;
  state.message = is_on ? told.first : told.second;
  go_to_hottest(state, code);
}

void turn_tree(State& state) {
  bool is_from_root = state.query.direction != Direction::kFromRoot;
  state.query.direction = is_from_root ? Direction::kFromRoot : Direction::kFromLeaf;
  state.zoomed = state.box = kRootPath;
  state.tree = {};
  state.message = is_from_root ? "from the first functions to what they call"
                               : "from what ran to who calls it";
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

// ---- the keys ---------------------------------------------------------------------------

// A key that is pressed on a page.
struct Pressed {
  State& state;
  const Answer& answer;
  char32_t key;
  const ViewKey* entry;  // that the cursor is on; null: none
  Effect effect = {};    // what the session is to do
};

using Act = void (*)(Pressed&);

// A key, and what it does.
struct BoundKey {
  char32_t key = 0;  // 0: none
  Act act = nullptr;
};

// A row of the help, and the keys that it tells of.
struct KeyRow {
  std::string_view keys;  // as people read them
  std::string_view help;  // \n begins another line
  // None: keys that lists and windows understand in their own ways, such as arrows.
  std::array<BoundKey, 5> bound = {};
  std::string_view group = {};  // the heading above, of the first of a group
  bool opens_menu = false;      // works in a menu as well
  bool is_live = false;         // only there is in a session of `gosym top`
};

void choose_page_by_number(Pressed& pressed) {
  choose_page(pressed.state, static_cast<Page>(pressed.key - '1'), pressed.answer);
}

void find_by_key(Pressed& pressed) {
  find_next(pressed.state, pressed.answer, pressed.key == 'n');
}

template <Ask ask>
void ask_for(Pressed& pressed) {
  open_prompt(pressed.state, ask);
}

template <std::vector<FunctionChoice> Selection::*choices>
void select_at_cursor(Pressed& pressed) {
  select_entry(pressed.state, pressed.answer, pressed.entry, choices);
}

template <Dimension::Kind kind>
void list_of(Pressed& pressed) {
  open_menu(pressed.state, {.kind = kind});
}

// A switch of what is selected, which can be taken back.
template <bool Selection::*part>
void turn(Pressed& pressed) {
  remember(pressed.state);
  pressed.state.query.selection.*part = !(pressed.state.query.selection.*part);
}

template <bool State::*part>
void turn_code(Pressed& pressed, std::pair<std::string_view, std::string_view> told) {
  if (pressed.state.page == Page::kCode && pressed.answer.code)
    change_code(pressed.state, *pressed.answer.code, pressed.state.*part, told);
}

void show_code(Pressed& pressed) {
  if (pressed.state.page == Page::kCode && pressed.answer.code)
    turn_code<&State::has_instructions>(pressed,
                                        {"source lines and instructions", "source lines"});
  else
    look_at_code(pressed.state, pressed.answer, pressed.entry);
}

void turn_programs(Pressed& pressed) {
  State& state = pressed.state;
  state.query.is_by_program = !state.query.is_by_program;
  state.query.groups.clear();
  state.tree = {};
  // The paths of the old tree are not those of the new one.
  state.zoomed = state.box = kRootPath;
  state.message = state.query.is_by_program ? "the tree begins with programs, if it has several"
                                            : "the tree begins with calls";
}

void turn_folding(Pressed& pressed) {
  State& state = pressed.state;
  state.query.folds = !state.query.folds;
  state.message = state.query.folds ? "calls that a recursion repeats are there once"
                                    : "all calls of a recursion are there";
}

void turn_unnoticed(Pressed& pressed) {
  State& state = pressed.state;
  state.has_unnoticed = !state.has_unnoticed;
  state.message = state.has_unnoticed ? "all rows" : "rows of 0.00 % are left out";
}

void turn_shares(Pressed& pressed) {
  State& state = pressed.state;
  state.is_share_of_shown = !state.is_share_of_shown;
  state.message = state.is_share_of_shown ? "shares are of what is shown"
                                          : "shares are of all that was recorded";
}

void turn_mine(Pressed& pressed) {
  turn<&Selection::is_mine>(pressed);
  // "o" is the program's own code without patterns, whatever --mine said.
  pressed.state.query.selection.mine.clear();
}

void take_all_time(Pressed& pressed) {
  if (pressed.state.query.time != Steps())
    remember(pressed.state);
  pressed.state.query.time = {};
}

void copy_name(Pressed& pressed) {
  if (pressed.entry)
    pressed.effect = {Effect::Kind::kCopy, pressed.entry->text};
}

// All keys of the browser: what they do, what the help says of them, and in which order. The
// man pages list the same keys, which a test compares.
constexpr KeyRow kKeyRows[] = {
    {.keys = "1 2 3 4 5, Tab",
     .help = "functions, tree, callers|callees, flame graph, code",
     .bound = {{{'1', choose_page_by_number},
                {'2', choose_page_by_number},
                {'3', choose_page_by_number},
                {'4', choose_page_by_number},
                {'5', choose_page_by_number}}},
     .group = "Which function uses the time"},
    {.keys = "s",
     .help = "sort functions by self, total or name",
     .bound = {{{'s', [](Pressed& pressed) { change_sort(pressed.state); }}}}},
    {.keys = "m",
     .help = "functions, lines, modules, packages or categories",
     .bound = {{{'m', [](Pressed& pressed) { change_entries(pressed.state); }}}}},
    {.keys = "0",
     .help = "rows of 0.00 %, which are left out",
     .bound = {{{'0', turn_unnoticed}}}},
    {.keys = "o", .help = "only the program's own code, or all", .bound = {{{'o', turn_mine}}}},
    {.keys = "/ n N",
     .help = "search for a regular expression; next, the one before",
     .bound = {{{'/', ask_for<Ask::kSearch>}, {'n', find_by_key}, {'N', find_by_key}}}},
    {.keys = "w",
     .help = "where its name comes from, or why it has none",
     .bound = {{{'w',
                 [](Pressed& pressed) {
                   if (pressed.entry)
                     pressed.state.overlay = Overlay::kDetails;
                 }}}}},
    {.keys = "%",
     .help = "shares of all that was recorded (first), or of what is shown",
     .bound = {{{'%', turn_shares}}}},

    {.keys = "a",
     .help = "its source, the hottest line in view; there: with instructions",
     .bound = {{{'a', show_code}}},
     .group = "Which line of it"},
    {.keys = "H",
     .help = "only lines with samples, or all",
     .bound = {{{'H',
                 [](Pressed& pressed) {
                   turn_code<&State::is_hot_only>(pressed,
                                                  {"lines with samples alone", "all lines"});
                 }}}}},
    {.keys = "Enter", .help = "the hottest line again"},
    {.keys = "v",
     .help = "$VISUAL or $EDITOR at the line (not in gosym top)",
     .bound = {{{'v',
                 [](Pressed& pressed) {
                   pressed.effect = edit(pressed.state, pressed.answer);
                 }}}}},

    {.keys = "Enter, #",
     .help = "callers and callees of what has the cursor",
     .bound = {{{'#',
                 [](Pressed& pressed) {
                   look_at(pressed.state, pressed.answer, pressed.entry);
                 }}}},
     .group = "Who calls it, and what does it call"},
    {.keys = "+ - *", .help = "tree: open; close, or open, all below"},
    {.keys = "i",
     .help = "tree and flame graph from the functions that ran outward",
     .bound = {{{'i', [](Pressed& pressed) { turn_tree(pressed.state); }}}}},
    {.keys = "R",
     .help = "fold recursions: functions that call themselves, or each other\n"
             "in turn, are there once; ×98: up to 98 calls on that path",
     .bound = {{{'R', turn_folding}}}},
    {.keys = "K I",
     .help = "kernel, inlined calls: off and on",
     .bound = {{{'K', turn<&Selection::has_kernel>}, {'I', turn<&Selection::has_inlines>}}}},

    {.keys = "P",
     .help = "the tree begins with programs, or with calls",
     .bound = {{{'P', turn_programs}}},
     .group = "Who is it"},
    {.keys = "t p L C B",
     .help = "threads, processes, labels, containers, categories: a list\n"
             "to choose from; there Enter only that one, x without it,\n"
             "g groups the tree by them",
     .bound = {{{'t', list_of<Dimension::Kind::kThread>},
                {'p', list_of<Dimension::Kind::kProcess>},
                {'L', [](Pressed& pressed) { open_label_menu(pressed.state, pressed.answer); }},
                {'C', list_of<Dimension::Kind::kContainer>},
                {'B', list_of<Dimension::Kind::kCategory>}}},
     .opens_menu = true},
    {.keys = "E",
     .help = "next event, of a recording that has several",
     .bound = {{{'E', [](Pressed& pressed) { next_event(pressed.state, pressed.answer); }}}}},

    {.keys = "f x",
     .help = "only stacks with what has the cursor; only those without",
     .bound = {{{'f', select_at_cursor<&Selection::focus>},
                {'x', select_at_cursor<&Selection::ignore>}}},
     .group = "Only a part of it"},
    {.keys = "F X",
     .help = "the same for a regular expression",
     .bound = {{{'F', ask_for<Ask::kFocus>}, {'X', ask_for<Ask::kIgnore>}}}},
    {.keys = "d D",
     .help = "leave what has the cursor, or matches, out of stacks",
     .bound = {{{'d', select_at_cursor<&Selection::hide>}, {'D', ask_for<Ask::kHide>}}}},
    {.keys = "M",
     .help = "only stacks with code of a file whose name matches",
     .bound = {{{'M', ask_for<Ask::kModule>}}}},
    {.keys = "[ ]",
     .help = "move the beginning, the end of the time that is shown: by\n"
             "Left Right, PgUp PgDn, Home End",
     .bound =
         {{{'[', [](Pressed& pressed) { begin_time(pressed.state, true, pressed.answer); }},
           {']', [](Pressed& pressed) { begin_time(pressed.state, false, pressed.answer); }}}}},
    {.keys = "\\", .help = "all of the time", .bound = {{{'\\', take_all_time}}}},
    {.keys = "u c",
     .help = "take the last choice back; show all",
     .bound = {{{'u', [](Pressed& pressed) { take_back(pressed.state); }},
                {'c', [](Pressed& pressed) { show_all(pressed.state); }}}}},

    {.keys = "arrows, h j k l",
     .help = "move; in a tree left and right close and open",
     .group = "Move"},
    {.keys = "PgUp PgDn Space", .help = "a screen further; g G, Home End: first and last line"},
    {.keys = "Enter",
     .help = "tree: open, close; callers|callees: look at that one;\n"
             "flame graph: zoom"},
    {.keys = "Esc, Backspace", .help = "back; in the flame graph zoom out first"},
    {.keys = "mouse", .help = "click chooses, again opens; wheel; drag over the time"},

    {.keys = "y",
     .help = "copy the name to the clipboard, if the terminal can",
     .bound = {{{'y', copy_name}}},
     .group = "Take along"},
    {.keys = "e",
     .help = "export what is shown: text, folded, pprof, HTML, JSON, CSV, Markdown",
     .bound = {{{'e', [](Pressed& pressed) { pressed.state.overlay = Overlay::kExport; }}}}},
    {.keys = "q",
     .help = "quit",
     .bound = {{{'q', [](Pressed& pressed) { pressed.effect = {Effect::Kind::kQuit}; }}}}},

    {.keys = "z",
     .help = "freeze the screen; the recorder goes on",
     .bound =
         {{{'z',
            [](Pressed& pressed) { pressed.state.is_frozen = !pressed.state.is_frozen; }}}},
     .group = "Live",
     .is_live = true},
    {.keys = "r",
     .help = "forget what was sampled up to now",
     .bound = {{{'r', [](Pressed& pressed) { pressed.effect = {Effect::Kind::kReset}; }}}},
     .is_live = true},
    {.keys = "W",
     .help = "save what is kept as a recording",
     .bound = {{{'W', [](Pressed& pressed) { pressed.effect = {Effect::Kind::kSave}; }}}},
     .is_live = true},
};

// The help has no row for the key that opens it.
constexpr BoundKey kHelpKey = {'?', [](Pressed& pressed) {
                                 pressed.state.overlay = Overlay::kHelp;
                                 pressed.state.help = {};
                               }};

// The action of a character; null: it has none of its own.
Act find_act(char32_t character, bool is_live, bool is_in_menu) {
  if (character == kHelpKey.key && !is_in_menu)
    return kHelpKey.act;
  // A walk through some forty rows is nothing for a person's key.
  for (const KeyRow& row : kKeyRows) {
    if ((row.is_live && !is_live) || (is_in_menu && !row.opens_menu))
      continue;
    for (const BoundKey& bound : row.bound)
      if (bound.act && bound.key == character)
        return bound.act;
  }
  return nullptr;
}

Effect press_key(State& state, const Key& key, const Answer& answer) {
  // No menu is open: for keys in one there is press_menu_key().
  Act act = find_act(key.character, state.is_live, false);
  // Characters without a meaning of their own move the cursor.
  if (!act) {
    move_in_page(state, key, answer);
    return {};
  }
  // Entries of an answer to an older query may be of another kind than the state asks for.
  bool is_current = answer.query.by == state.query.by;
  Pressed pressed = {state, answer, key.character,
                     is_current ? entry_at_cursor(state, answer) : nullptr};
  act(pressed);
  return std::move(pressed.effect);
}

bool press_menu_key(State& state, const Key& key, const Answer& answer) {
  Act act =
      key.kind == Kind::kCharacter ? find_act(key.character, state.is_live, true) : nullptr;
  if (!act)
    return false;
  // Keys of a menu do not ask what the cursor of the page is on.
  Pressed pressed = {state, answer, key.character, nullptr};
  act(pressed);
  return true;
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
      return press_key(state, key, answer);
    case Kind::kTab:
    case Kind::kBackTab: {
      // Tab goes through the parts of this page, callers last, before it goes to the next.
      if (state.page == Page::kAround && key.kind == Kind::kTab &&
          state.part != Part::kCallers) {
        state.part = state.part == Part::kCentre ? Part::kCallees : Part::kCallers;
        break;
      }
      // Backwards is forwards by one less than there are pages.
      size_t step = key.kind == Kind::kTab ? 1 : kPageCount - 1;
      size_t next = (static_cast<size_t>(state.page) + step) % kPageCount;
      // It may stay where it is, if no function is at the cursor to be looked at.
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
  // Less shows nothing (draw()).
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
    List(state.menu, answer.menu->size()).settle(window_rows(state.size));
  // A new recording, or begin_time(), may end before the time that was chosen begins.
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
        // The row of a window without a cursor is its top: the last one shows the end of the
        // text.
        size_t tops = count - std::min(count, window_rows(state.size)) + 1;
        List(state.help, tops).move(*by);
      } else {
        state.overlay = Overlay::kNone;
      }
      break;
    case Overlay::kDetails:
      // Any key closes it, and does nothing else.
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
  constexpr size_t kKeys = 23;  // columns that keys have
  std::vector<std::string> lines;
  for (const KeyRow& row : kKeyRows) {
    if (row.is_live && !is_live)
      continue;
    if (!row.group.empty() && !lines.empty())
      lines.emplace_back();
    if (!row.group.empty())
      lines.emplace_back(row.group);
    // Only the first line of a row has its keys.
    std::string_view keys = row.keys;
    for (std::string_view part : split(row.help, '\n'))
      lines.push_back(fmt::format("  {:<{}}{}", std::exchange(keys, ""), kKeys - 2, part));
  }
  // Screens that are narrower than these lines break them once more.
  std::vector<std::string> fitting;
  for (const std::string& line : lines) {
    std::string broken = wrapped(line, width, std::min(kKeys, width / 2));
    for (std::string_view part : split(broken, '\n'))
      fitting.emplace_back(part);
  }
  return fitting;
}

std::vector<std::string_view> help_keys(bool is_live) {
  std::vector<std::string_view> keys;
  for (const KeyRow& row : kKeyRows)
    if (row.is_live == is_live)
      keys.push_back(row.keys);
  return keys;
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
