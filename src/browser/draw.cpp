#include "browser/draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/clock.h"
#include "base/percent.h"
#include "base/text.h"
#include "browser/update.h"
#include "output/notes.h"
#include "output/text.h"
#include "output/tree.h"
#include "profile/profile.h"

namespace gosym::browser {

// Drawing is a function of the state, the answer and the size: nothing is kept from one
// picture to the next. The first part writes a grid (grid.h), the second says where things lie
// (Layout, boxes, rows). update() asks the same functions what a click or a cursor is on.

namespace {

Look look_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return Look::kPlain;
    case Style::kTitle:
      return Look::kTitle;
    case Style::kHot:
      return Look::kHot;
    case Style::kWarm:
      return Look::kWarm;
    case Style::kKernel:
      return Look::kKernel;
    case Style::kFaint:
      return Look::kFaint;
  }
  return Look::kPlain;
}

Look look_of(const ViewKey& key) {
  return look_of(style_of(key));
}

bool starts_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts,
                             [&](std::string_view start) { return text.starts_with(start); });
}

// Labels are set around what they are for.
bool is_label_plumbing(const ViewKey& key) {
  return starts_any(key.text, {"runtime/pprof.Do", "runtime/pprof.Set", "runtime/pprof.With"});
}

Look box_of(const Profile& profile, const CallTree& tree, uint32_t node) {
  // Frames of runtime/pprof only set labels around the code that decides the colour. The first
  // node below one is the largest that it calls.
  while (is_label_plumbing(tree.key_of(tree.nodes[node])) && tree.nodes[node].size > 1)
    node++;
  const ViewKey& key = tree.key_of(tree.nodes[node]);
  if (key.is_kernel)
    return Look::kKernelBox;
  if (key.is_gap || !key.is_named)
    return Look::kUnnamedBox;
  // Keys of lines have a function, those of files, packages and categories none.
  if (key.function == ViewKey::kNoFunction)
    return Look::kNativeBox;
  if (starts_any(key.text, {"runtime.", "runtime/", "internal/runtime/"}))
    return Look::kRuntimeBox;
  // Only functions of Go have a package.
  const Function& function = profile.functions[to_index(key.function)];
  return function.package == StringId{} ? Look::kNativeBox : Look::kGoBox;
}

class Drawer {
public:
  Drawer(const State& state, const Answer& answer, bool is_old)
      : state_(state),
        answer_(answer),
        is_old_(is_old),
        profile_(answer.profile()),
        layout_(layout_of(state.size)),
        grid_(state.size),
        amounts_(profile_, answer.selected->recorded, answer.selected->recorded) {}

  Grid draw() && {
    // Later parts are drawn over earlier ones: the overlay comes last.
    draw_title();
    draw_tabs();
    if (layout_.timeline != 0)
      draw_timeline();
    draw_page();
    if (layout_.detail != 0)
      draw_detail();
    draw_last();
    draw_overlay();
    return std::move(grid_);
  }

private:
  size_t width() const { return state_.size.width; }

  double share(uint64_t amount) const {
    const Selected& selected = *answer_.selected;
    return percent(amount, state_.is_share_of_shown ? selected.total : selected.recorded);
  }
  std::string share_text(uint64_t amount) const { return fmt::format("{:.2f}", share(amount)); }

  std::string with_unit(uint64_t amount) const {
    // Alone in a line an amount has the unit that suits it.
    Amounts fitting(profile_, amount, answer_.selected->recorded);
    std::string text = fitting.text(amount);
    return fitting.unit().empty() ? text : fmt::format("{} {}", text, fitting.unit());
  }

  // " in 12.10 s"; empty where it is not known.
  std::string duration_text() const {
    auto seconds = to_seconds(profile_.duration_ns);
    return profile_.duration_ns == 0 ? "" : fmt::format(" in {:.2f} s", seconds);
  }

  // "cpu.raw  9.05 s of 12.10 s (74.8 %)  /json: 12.10 %  with main.fib, no kernel"
  void draw_title() {
    grid_.fill(0, Look::kBar);
    const Selected& selected = *answer_.selected;
    // A third of the line at the most: the figures matter more than a long file name.
    size_t x = grid_.write(1, 0, cut_in_middle(state_.title, width() / 3 - 1), Look::kActive);
    std::string what = with_unit(selected.total);
    if (selected.total != selected.recorded)
      what += fmt::format(" of {} ({:.1f} %)", with_unit(selected.recorded),
                          percent(selected.total, selected.recorded));
    if (!profile_.measures_time())
      what += " of " + printable(profile_.event().name);
    else if (selected.total == selected.recorded)
      // The duration is that of all samples: beside those of a part it would mislead.
      what += " of " + printable(amount_text(profile_.event())) +
              (answer_.share < 1 ? "" : duration_text());
    x = grid_.write(x + 2, 0, what, Look::kBar);
    // The progress of reading is told before what was chosen: figures change by themselves
    // until it has ended.
    if (state_.is_live)
      x = grid_.write(x + 2, 0,
                      answer_.is_last    ? "ended"
                      : state_.is_frozen ? "frozen"
                                         : "live",
                      Look::kActive);
    else if (!answer_.is_last)
      x = grid_.write(x + 2, 0,
                      fmt::format("the first {:.0f} %, reading the rest", 100 * answer_.share),
                      Look::kActive);
    if (is_old_)
      x = grid_.write(x + 2, 0, "…", Look::kActive);
    if (answer_.query.search)
      x = grid_.write(
          x + 2, 0,
          cut_in_middle(fmt::format("/{}: {} %", printable(answer_.query.search->text()),
                                    share_text(answer_.matched)),
                        width() / 2),
          Look::kActive);
    if (!selected.shortcomings.empty())
      x = grid_.write(x + 2, 0,
                      cut_at_end(selected.shortcomings, width() - std::min(width(), x + 2)),
                      Look::kWarning);
    std::vector<std::string> words = words_of(answer_.query, profile_.time_step);
    // A filter of the command line is not in the words of the query.
    if (!profile_.filter.empty() && answer_.query.selection.keeps_all())
      words.insert(words.begin(), printable(profile_.filter));
    grid_.write(x + 2, 0, cut_at_end(joined(words, ", "), width() - std::min(width(), x + 3)),
                Look::kActive);
  }

  void draw_tabs() {
    std::vector<Tab> tabs = tabs_of(state_.size);
    for (size_t i = 0; i < tabs.size(); i++) {
      auto page = static_cast<Page>(i);
      Look look = page == state_.page ? Look::kActive : Look::kFaint;
      grid_.fill(1, look, tabs[i].begin, tabs[i].end);
      grid_.write(tabs[i].begin, 1, fmt::format("{} {}", i + 1, name_of(page)), look,
                  tabs[i].end);
    }
    // Changes the meaning of all figures, so it stands in each page.
    size_t x = tabs.back().end + 2;
    if (answer_.query.by != Dimension::Kind::kFunction)
      x = 1 + grid_.write(x, 1, "by " + to_string(Dimension{.kind = answer_.query.by}),
                          Look::kActive);
    if (answer_.selected->total != answer_.selected->recorded)
      grid_.write(x, 1, state_.is_share_of_shown ? "% of shown" : "% of all", Look::kFaint);
  }

  // Load over time; what of it is shown is told apart.
  void draw_timeline() {
    uint32_t count = step_count(answer_);
    // One height for the whole recording, and not for the part that is chosen. In steps: each
    // amount of the load is of one, and all of the time has `count`.
    std::vector<double> columns = spread(answer_.selected->load, 1, count, width());
    double most = std::ranges::max(columns);
    Steps time = state_.query.time;
    for (size_t x = 0; x < width(); x++) {
      // Columns and steps are mapped as drag() maps them back.
      uint64_t step = x * count / width();
      bool is_shown = step >= time.begin && step < time.end;
      grid_.write(x, layout_.timeline, bar_of(most == 0 ? 0 : columns[x] / most),
                  is_shown ? Look::kWarm : Look::kFaint);
    }
    if (state_.overlay != Overlay::kTime)
      return;
    // The edge that keys move is marked. The end itself is not part of what is chosen: its mark
    // is in the last column that is.
    uint64_t edge = state_.is_begin_moved ? time.begin : std::min(time.end, count) - 1;
    size_t x = std::min(edge * width() / count, width() - 1);
    grid_.select(layout_.timeline, x, x + 1);
  }

  void draw_page() {
    switch (state_.page) {
      case Page::kFunctions:
        return draw_functions();
      case Page::kTree:
        return draw_tree();
      case Page::kAround:
        return draw_around();
      case Page::kFlame:
        return draw_flame();
      case Page::kCode:
        return draw_code();
    }
  }

  // A number in columns up to `end`.
  void number(size_t y, size_t end, std::string_view text, Look look) {
    size_t size = display_width(text);
    grid_.write(end - std::min(end, size), y, text, look, end);
  }

  // A name that matches the search is marked, whatever else it is.
  Look look_of_name(const ViewKey& key) const {
    if (answer_.query.search && answer_.query.search->matches(key.text))
      return Look::kMatch;
    return look_of(key);
  }

  void draw_functions() {
    constexpr size_t kEnough = 60;       // columns for amounts besides shares
    constexpr size_t kEnoughPlace = 90;  // and for places
    bool has_amounts = width() >= kEnough;
    // Columns end at these, for numbers are aligned at the right.
    const size_t self = 8;
    const size_t self_amount = has_amounts ? self + 10 : self;
    const size_t total = self_amount + 9;
    const size_t total_amount = has_amounts ? total + 10 : total;
    size_t name = total_amount + 2;
    // Two thirds of what the numbers leave for the name, the rest for the place.
    size_t place = width() >= kEnoughPlace ? name + 1 + (width() - name) * 2 / 3 : width();
    // A program's name, of which the kernel keeps 15 bytes, with ", …".
    constexpr size_t kProgram = 18;
    bool has_programs = width() >= kEnoughForPrograms && !answer_.entries->programs.empty();
    size_t name_end = place - (place < width() ? 1 : 0) - (has_programs ? kProgram + 1 : 0);

    number(layout_.titles, self, "self %", Look::kTitle);
    if (has_amounts)
      number(layout_.titles, self_amount, title_of("self", amounts_), Look::kTitle);
    number(layout_.titles, total, "total %", Look::kTitle);
    if (has_amounts)
      number(layout_.titles, total_amount, title_of("total", amounts_), Look::kTitle);
    grid_.write(name, layout_.titles, to_string(Dimension{.kind = answer_.query.by}),
                Look::kTitle);
    if (has_programs)
      grid_.write(name_end + 1, layout_.titles, "program", Look::kTitle);
    if (place < width())
      grid_.write(place, layout_.titles, "hottest line", Look::kTitle);

    std::span<const uint32_t> rows = function_rows(state_, answer_);
    for (size_t line = 0; line < layout_.rows; line++) {
      size_t row = state_.functions.top + line;
      size_t y = layout_.body + line;
      // One line tells of the rows that are left out, if there is room: settle_functions()
      // keeps the cursor off it.
      if (row == rows.size())
        grid_.write(name, y, rest_of_functions(rows.size()), Look::kFaint);
      if (row >= rows.size())
        break;
      const Total& of = answer_.entries->totals[rows[row]];
      const ViewKey& key = answer_.entries->keys[of.key];
      number(y, self, share_text(of.self), look_of(heat_of(share(of.self))));
      number(y, total, share_text(of.total), look_of(heat_of(share(of.total))));
      if (has_amounts) {
        number(y, self_amount, amounts_.text(of.self), Look::kPlain);
        number(y, total_amount, amounts_.text(of.total), Look::kPlain);
      }
      bool is_function = answer_.query.by == Dimension::Kind::kFunction;
      grid_.write(name, y,
                  is_function ? cut_function(key.text, name_end - name)
                              : cut_name(key.text, name_end - name),
                  look_of_name(key));
      if (has_programs)
        grid_.write(name_end + 1, y, answer_.entries->programs[to_index(of.key)], Look::kFaint,
                    place - 1);
      if (place < width())
        grid_.write(place, y, cut_path(place_of(of), width() - place), Look::kFaint);
      if (row == state_.functions.row)
        grid_.select(y);
    }
  }

  // "1,012 more below 0.005 %: 0 shows them"; empty: all are shown.
  std::string rest_of_functions(size_t shown) const {
    size_t rest = answer_.entries->totals.size() - shown;
    return rest == 0 ? ""
                     : fmt::format("{} more below {} %: 0 shows them", with_commas(rest),
                                   100 * kLeastNoticed);
  }

  std::string place_of(const Total& total) const {
    if (total.function == ViewKey::kNoFunction)
      return {};
    const Function& function = profile_.functions[to_index(total.function)];
    std::string file = printable(profile_.strings[function.file]);
    return file.empty() || total.line == 0 ? file : fmt::format("{}:{}", file, total.line);
  }

  // Writes `count` lines of a tree, the first in line `begin` of the screen. `has_cursor`: it
  // is the list that the cursor is in.
  void draw_outline(const PathTree& tree, const OutlineState& list, size_t begin, size_t count,
                    bool has_self, bool has_cursor) {
    constexpr size_t kLeastName = 16;
    std::vector<OutlineRow> rows = outline_rows(tree, list);
    // Shares end at columns 8 and 16, below the titles of draw_tree() and draw_around().
    size_t name = has_self ? 19 : 10;
    for (size_t line = 0; line < count; line++) {
      size_t row = list.top + line;
      if (row >= rows.size())
        break;
      size_t y = begin + line;
      const CallNode& node = tree.tree.nodes[rows[row].node];
      const ViewKey& key = tree.tree.key_of(node);
      number(y, 8, share_text(node.total), look_of(heat_of(share(node.total))));
      if (has_self)
        number(y, 16, share_text(node.self), look_of(heat_of(share(node.self))));
      // Branches leave the name some columns, however deep it lies.
      size_t room = width() - std::min(width(), name + kLeastName);
      size_t x = grid_.write(name, y, branches_of(rows, row, room), Look::kFaint);
      if (rows[row].has_children && !rows[row].is_open)
        x = grid_.write(x, y, "+ ", Look::kTitle);
      grid_.write(x, y, cut_name(tree.tree.text_of(node), width() - std::min(width(), x)),
                  look_of_name(key));
      if (has_cursor && row == list.row)
        grid_.select(y);
    }
  }

  void draw_tree() {
    number(layout_.titles, 8, "total %", Look::kTitle);
    number(layout_.titles, 16, "self %", Look::kTitle);
    bool is_from_root = answer_.query.direction == Direction::kFromRoot;
    std::string what = is_from_root ? "who is called" : "what ran, and who calls it";
    for (const Dimension& dimension : answer_.query.groups)
      what += " · by " + to_string(dimension);
    what += answer_.query.folds ? " · recursion folded" : "";
    grid_.write(19, layout_.titles, printable(what), Look::kTitle);
    draw_outline(*answer_.tree, state_.tree, layout_.body, layout_.rows, true, true);
  }

  void draw_around() {
    if (!answer_.callers || !answer_.callees) {
      grid_.write(1, layout_.titles,
                  state_.query.centre.empty() ? "no function is chosen: Enter on one of page 1"
                                              : "looking for its calls …",
                  Look::kFaint);
      return;
    }
    Halves halves = halves_of(layout_);
    number(layout_.titles, 8, "total %", Look::kTitle);
    grid_.write(10, layout_.titles, "who calls it", Look::kTitle);
    draw_outline(*answer_.callers, state_.callers, layout_.body, halves.callers, false,
                 state_.part == Part::kCallers);
    size_t middle = layout_.body + halves.callers;
    // The root of a tree around a function is the function itself (calls_around()).
    const CallNode& root = answer_.callees->tree.nodes[0];
    grid_.fill(middle, Look::kBar);
    number(middle, 8, share_text(root.total), Look::kActive);
    std::string around = fmt::format("  {} total, {} self; below: what it calls",
                                     with_unit(root.total), with_unit(root.self));
    // The function's name, from column 10 on, gives way to the amounts, but for half of the
    // line.
    size_t room = width() - std::min<size_t>(width(), 10);
    std::string centre = cut_name(answer_.query.centre.label(),
                                  room - std::min(room / 2, display_width(around)));
    size_t x = grid_.write(10, middle, centre, Look::kActive);
    grid_.write(x, middle, around, Look::kBar);
    draw_outline(*answer_.callees, state_.callees, middle + 1, halves.callees, false,
                 state_.part == Part::kCallees);
    if (state_.part == Part::kCentre)
      grid_.select(middle);
  }

  void draw_flame() {
    Flame flame = flame_of(state_, answer_);
    bool is_from_root = answer_.query.direction == Direction::kFromRoot;
    grid_.write(1, layout_.titles,
                is_from_root ? "who is called, from top to bottom"
                             : "what ran, and who calls it, from top to bottom",
                Look::kTitle);
    // A narrow screen has no legend: it begins at the edge, so that nothing is written. The
    // four names take 34 columns.
    size_t x = width() < 80 ? width() : width() - 38;
    for (auto [look, text] : {std::pair(Look::kGoBox, "Go"),
                              {Look::kRuntimeBox, "Go's runtime"},
                              {Look::kNativeBox, "native"},
                              {Look::kKernelBox, "kernel"}})
      x = grid_.write(x, layout_.titles, fmt::format(" {} ", text), look);
    for (size_t i = 0; i < flame.boxes.size(); i++)
      draw_box(flame.boxes[i], i == flame.cursor);
  }

  void draw_box(const FlameBox& box, bool has_cursor) {
    // Rows above and below the screen; the boxes are those of the whole tree.
    if (box.row < state_.flame_top || box.row - state_.flame_top >= layout_.rows)
      return;
    size_t y = layout_.body + box.row - state_.flame_top;
    const CallTree& tree = answer_.tree->tree;
    Look look = Look::kBar;
    std::string name = "all";
    // Boxes that are too narrow were joined to one of no function. Node 0 stays "all".
    if (box.joined > 1) {
      look = Look::kUnnamedBox;
      name = fmt::format("others ({})", with_commas(box.joined));
    } else if (box.node != 0) {
      const ViewKey& key = tree.key_of(tree.nodes[box.node]);
      bool is_match = answer_.query.search && answer_.query.search->matches(key.text);
      look = is_match ? Look::kMatch : box_of(profile_, tree, box.node);
      name = tree.text_of(tree.nodes[box.node]);
    }
    grid_.fill(y, look, box.begin, box.end);
    size_t begin = box.begin;
    // A mark divides neighbours of one colour; a box of one column would be nothing but it.
    if (box.end - box.begin > 1)
      begin = grid_.write(begin, y, "▏", look, box.end);
    grid_.write(begin, y, name_in_box(name, box.end - begin), look, box.end);
    if (has_cursor)
      grid_.select(y, box.begin, box.end);
  }

  // A path of which the end is shown, "…/promql/functions.go".
  static std::string shown_path(std::string_view path, size_t room) {
    constexpr std::string_view kLeftOut = "…/";
    if (display_width(path) <= room)
      return std::string(path);
    // "…/" tells that outer directories were cut; where cut_path() cut a name too it would be
    // wrong.
    size_t mark = display_width(kLeftOut);
    std::string end = cut_path(path, room - std::min(room, mark));
    return path.ends_with(end) && room > mark ? std::string(kLeftOut) + end
                                              : cut_in_middle(path, room);
  }

  // The source file of the lines; null: there are none.
  static const std::string* file_of(const Code& code) {
    auto title =
        std::ranges::find_if(code.lines, [](const CodeLine& line) { return line.is_file; });
    return title == code.lines.end() ? nullptr : &title->text;
  }

  void draw_code() {
    if (!answer_.code || answer_.query.code.empty()) {
      grid_.write(1, layout_.titles,
                  is_old_ ? "reading the code …" : "no function is chosen: a on one of page 1",
                  Look::kFaint);
      return;
    }
    const Code& code = *answer_.code;
    if (!code.problem.empty()) {
      grid_.write(1, layout_.titles, answer_.query.code.label(), Look::kTitle);
      grid_.write(1, layout_.body, cut_at_end(code.problem, width() - 1), Look::kWarning);
      return;
    }
    // The amounts beside their shares only where they leave the code room enough. Columns end
    // at these: share of self 8, its amount 17, share of total 26, its amount 36; or 8 and 17.
    bool has_amounts = width() >= 100;
    size_t total_end = has_amounts ? 26 : 17;
    size_t code_begin = total_end + (has_amounts ? 12 : 2);
    number(layout_.titles, 8, "self %", Look::kTitle);
    number(layout_.titles, total_end, "total %", Look::kTitle);
    if (has_amounts) {
      number(layout_.titles, 17, title_of("self", amounts_), Look::kTitle);
      number(layout_.titles, 36, title_of("total", amounts_), Look::kTitle);
    }
    size_t room = width() - std::min(width(), code_begin);
    size_t file_begin =
        grid_.write(code_begin, layout_.titles, cut_function(answer_.query.code.label(), room),
                    Look::kTitle) +
        2;
    if (const std::string* file = file_of(code); file && file_begin < width())
      grid_.write(file_begin, layout_.titles, shown_path(*file, width() - file_begin),
                  Look::kFaint);
    // Rows are the lines that are shown; the cursor and the top of the screen count in them.
    std::vector<uint32_t> rows = code_rows(state_, code);
    for (size_t line = 0; line < layout_.rows; line++) {
      size_t row = state_.code.top + line;
      if (row >= rows.size())
        break;
      size_t y = layout_.body + line;
      const CodeLine& at = code.lines[rows[row]];
      // Lines without samples have empty columns, which the eye finds faster than zeros.
      auto write_amount = [&](uint64_t amount, size_t share_end) {
        if (amount == 0)
          return;
        number(y, share_end, share_text(amount), look_of(heat_of(share(amount))));
        // The amount stands behind its share: at 17 of self, at 36 of total.
        if (has_amounts)
          number(y, share_end + (share_end == total_end ? 10 : 9), amounts_.text(amount),
                 Look::kPlain);
      };
      write_amount(at.self, 8);
      write_amount(at.total, total_end);
      bool is_match = answer_.query.search && answer_.query.search->matches(at.text);
      grid_.write(code_begin, y, cut_at_end(at.text, room),
                  is_match ? Look::kMatch : look_of(at.style));
      if (row == state_.code.row)
        grid_.select(y);
    }
  }

  // The entry at the cursor, with its whole name if there is room.
  void draw_detail() {
    const ViewKey* key = entry_at_cursor(state_, answer_);
    if (!key && state_.page == Page::kFlame)
      grid_.write(1, layout_.detail, "all samples", Look::kTitle);
    if (!key)
      return;
    std::string text = cut_in_middle(key->text, width() - 2);
    size_t x = grid_.write(1, layout_.detail, text, Look::kTitle);
    // Amounts and the file are shown as far as the name leaves room.
    if (uint64_t amount = amount_at_cursor(); amount > 0 && x + 24 < width())
      x = grid_.write(x + 2, layout_.detail,
                      fmt::format("{} %, {}", share_text(amount), with_unit(amount)));
    if (key->image < profile_.images.size() && x + 12 < width())
      grid_.write(x + 2, layout_.detail,
                  shown_path(printable(profile_.images[key->image].file.path), width() - x - 3),
                  Look::kFaint);
  }

  // The amount that the line at the bottom adds. 0 where the page has it in its columns. To be
  // called with an entry at the cursor: then the tree that it is of is there.
  uint64_t amount_at_cursor() const {
    auto of = [](const PathTree& tree, uint64_t path) {
      return tree.tree.nodes[node_of(tree, path)].total;
    };
    switch (state_.page) {
      case Page::kTree:
        return of(*answer_.tree, state_.tree.path);
      case Page::kFlame:
        return of(*answer_.tree, state_.box);
      case Page::kAround:
        return state_.part == Part::kCallees   ? of(*answer_.callees, state_.callees.path)
               : state_.part == Part::kCallers ? of(*answer_.callers, state_.callers.path)
                                               : 0;
      default:
        return 0;
    }
  }

  void draw_last() {
    size_t y = layout_.last;
    grid_.fill(y, Look::kBar);
    if (state_.overlay == Overlay::kPrompt) {
      // In the order of Ask.
      constexpr std::array<std::string_view, 5> kAsked = {
          "search for: ", "only stacks with: ", "only stacks without: ", "leave out: ",
          "only stacks with code of: "};
      size_t x = grid_.write(1, y, kAsked[static_cast<size_t>(state_.ask)], Look::kActive);
      // The end is what is being typed.
      std::string typed = state_.typed;
      size_t room = width() - std::min(width(), x + 2);
      while (display_width(typed) > room)
        typed.erase(0, first_glyph(typed).size);
      x = grid_.write(x, y, typed, Look::kBar);
      grid_.select(y, x, x + 1);
      return;
    }
    if (!state_.message.empty()) {
      grid_.write(1, y, cut_at_end(printable(state_.message), width() - 1), Look::kActive);
      return;
    }
    // The place in the list keeps its room, hints are cut.
    std::string place = place_in_list();
    size_t taken = place.empty() ? 1 : display_width(place) + 3;
    grid_.write(1, y, fitting_hints(width() - std::min(width(), taken)), Look::kBar);
    if (taken < width())
      grid_.write(width() + 2 - taken, y, place, Look::kBar);
  }

  // "19 of 1,090": the line with the cursor, of a list that the screen does not hold. Empty for
  // pages that are no one list: halves have two, a flame graph has boxes.
  std::string place_in_list() const {
    size_t row = 0;
    size_t count = 0;
    size_t rows = layout_.rows;
    if (state_.overlay != Overlay::kNone)
      return {};
    if (state_.page == Page::kFunctions) {
      row = state_.functions.row;
      count = function_rows(state_, answer_).size();
    } else if (state_.page == Page::kTree) {
      row = state_.tree.row;
      count = outline_rows(*answer_.tree, state_.tree).size();
    } else if (state_.page == Page::kCode && answer_.code) {
      row = state_.code.row;
      count = code_rows(state_, *answer_.code).size();
    }
    return count <= rows ? ""
                         : fmt::format("{} of {}", with_commas(row + 1), with_commas(count));
  }

  // The last of them, which lead to all others and out, stay where there is little room.
  std::string fitting_hints(size_t room) const {
    constexpr std::string_view kLast = "  ? keys  q quit";
    std::string text = hints();
    if (display_width(text) <= room || !text.ends_with(kLast) || room < 2 * kLast.size())
      return cut_at_end(text, room);
    text.resize(text.size() - kLast.size());
    return cut_at_end(text, room - kLast.size()) + std::string(kLast);
  }

  // Keys that are likely wanted next, the most likely first: fitting_hints() cuts the end.
  // Hints of a page end in its kLast.
  std::string hints() const {
    if (state_.overlay == Overlay::kTime)
      return time_hint();
    if (state_.overlay == Overlay::kMenu)
      return "Enter only that  x without it  g group the tree  Esc back";
    if (state_.overlay == Overlay::kHelp)
      return "arrows, PgUp PgDn move  any other key goes back";
    if (state_.overlay != Overlay::kNone)
      return "any key goes back";
    switch (state_.page) {
      case Page::kFunctions:
        return "Enter callers|callees  a code  / search  f only  x without  t threads  ? keys  "
               "q quit";
      case Page::kTree:
        return "Enter open  # callers|callees  i invert  * open all  f only  / search  ? keys  "
               "q quit";
      case Page::kAround:
        return state_.part == Part::kCentre
                   ? "Enter, a code  ↑ callers  ↓ callees  Esc back  ? keys  q quit"
                   : "Enter look at that  Tab callees, callers  a code  Esc back  ? keys  q "
                     "quit";
      case Page::kFlame:
        return "Enter zoom  Esc out  i invert  # callers|callees  / search  ? keys  q quit";
      case Page::kCode:
        return "Enter hottest line  a instructions  H hot lines  / search  Esc back  ? keys  q "
               "quit";
    }
    return {};
  }

  std::string time_hint() const {
    uint32_t count = step_count(answer_);
    auto seconds = [&](uint64_t step) {
      return to_seconds(std::min<uint64_t>(step, count) * profile_.time_step);
    };
    return fmt::format(
        "{:.2f} to {:.2f} s: ← → PgUp PgDn Home End move the {}  Tab the other edge  Enter",
        seconds(state_.query.time.begin), seconds(state_.query.time.end),
        state_.is_begin_moved ? "beginning" : "end");
  }

  void draw_overlay() {
    switch (state_.overlay) {
      case Overlay::kHelp:
        return draw_window("keys", help_lines(state_.is_live, window_columns(state_.size)),
                           state_.help, false);
      case Overlay::kDetails:
        if (const ViewKey* key = entry_at_cursor(state_, answer_))
          draw_window("details", details_of(answer_, *key), {}, false);
        return;
      case Overlay::kMenu:
        return draw_menu();
      case Overlay::kExport: {
        std::vector<std::string> lines;
        for (const ExportChoice& choice : export_choices())
          lines.push_back(fmt::format("{}  {}", choice.key, choice.format));
        return draw_window("export what is shown as", lines, {}, false);
      }
      // A prompt is in the last line (draw_last()), the time's edge in the timeline.
      default:
        return;
    }
  }

  void draw_menu() {
    std::vector<std::string> lines;
    // A menu that was asked for just now is not in the answer yet.
    bool is_there =
        answer_.menu && state_.query.menu && answer_.query.menu == state_.query.menu;
    if (is_there)
      for (const MenuEntry& entry : *answer_.menu)
        lines.push_back(fmt::format("{:>7} %  {}", share_text(entry.amount), entry.text));
    else
      lines.emplace_back("…");
    draw_window(state_.query.menu ? to_string(*state_.query.menu) : "", lines, state_.menu,
                is_there);
  }

  // A box of lines in the middle of the screen.
  void draw_window(std::string_view title, const std::vector<std::string>& lines,
                   const ListState& list, bool has_cursor) {
    // Columns within the frame. The title and each line have a space on either side.
    size_t inner = display_width(title) + 2;
    // The width is that of the widest line, so that it does not change when the window is
    // scrolled.
    for (const std::string& line : lines)
      inner = std::max(inner, display_width(line) + 2);
    // Two columns are the frame, and at least one is left of the page at either side.
    inner = std::min(inner, width() - 4);
    size_t count = std::min(lines.size(), std::max<size_t>(window_rows(state_.size), 1));
    // A list with a cursor has its own top; a window without one is scrolled by its row.
    size_t top = has_cursor ? list.top : std::min(list.row, lines.size() - count);
    size_t left = (width() - inner - 2) / 2;
    size_t y = (state_.size.height - std::min(state_.size.height, count + 2)) / 2;
    frame_line(y, left, inner, "┌", "┐");
    grid_.write(left + 2, y, fmt::format(" {} ", printable(title)), Look::kTitle, left + inner);
    for (size_t i = 0; i < count; i++) {
      y++;
      grid_.fill(y, Look::kPlain, left, left + inner + 2);
      grid_.write(left, y, "│", Look::kFaint);
      grid_.write(left + 2, y, cut_in_middle(lines[top + i], inner - 1));
      grid_.write(left + inner + 1, y, "│", Look::kFaint);
      if (has_cursor && top + i == list.row)
        grid_.select(y, left + 1, left + inner + 1);
    }
    frame_line(y + 1, left, inner, "└", "┘");
    if (count < lines.size())
      grid_.write(left + 2, y + 1,
                  fmt::format(" {} to {} of {} ", top + 1, top + count, lines.size()),
                  Look::kFaint, left + inner);
  }

  void frame_line(size_t y, size_t left, size_t inner, std::string_view begin,
                  std::string_view end) {
    size_t x = grid_.write(left, y, begin, Look::kFaint);
    for (size_t i = 0; i < inner; i++)
      x = grid_.write(x, y, "─", Look::kFaint);
    grid_.write(x, y, end, Look::kFaint);
  }

  const State& state_;
  const Answer& answer_;
  bool is_old_;
  const Profile& profile_;
  Layout layout_;
  Grid grid_;
  Amounts amounts_;
};

bool is_too_small(Size size) {
  return size.width < kLeastSize.width || size.height < kLeastSize.height;
}

Grid draw_too_small(Size size) {
  Grid grid(size);
  grid.write(0, 0, "too small", Look::kWarning);
  return grid;
}

}  // namespace

Grid draw(const State& state, const Answer& answer, bool is_old) {
  if (is_too_small(state.size))
    return draw_too_small(state.size);
  return Drawer(state, answer, is_old).draw();
}

Grid draw_waiting(Size size, std::string_view title, std::string_view what) {
  if (is_too_small(size))
    return draw_too_small(size);
  Grid grid(size);
  grid.fill(0, Look::kBar);
  grid.write(1, 0, title, Look::kActive);
  grid.write(2, 2, cut_at_end(what, size.width - 2));
  grid.fill(size.height - 1, Look::kBar);
  grid.write(1, size.height - 1, "q quit", Look::kBar);
  return grid;
}

namespace {

// The sources of names, and the reasons for none, of the locations with an entry.
struct Evidence {
  std::map<FrameSource, size_t> sources;
  std::map<Unnamed, size_t> reasons;
  size_t addresses = 0;
  size_t inlined = 0;  // addresses where it is an inlined call
};

Evidence evidence_of(const Answer& answer, const ViewKey& key) {
  const Profile& profile = answer.profile();
  const FrameKeys& keys = answer.entries->keys;
  Evidence evidence;
  // All locations are gone through: the window is opened rarely, and nothing has to be kept
  // for it.
  for (size_t i = 0; i < profile.locations.size(); i++) {
    const Location& location = profile.locations[i];
    std::span<const KeyId> ids = keys.of(static_cast<LocationId>(i));
    auto found =
        std::ranges::find_if(ids, [&](KeyId id) { return keys[id].identity == key.identity; });
    if (found == ids.end())
      continue;
    evidence.addresses++;
    if (location.frame_count == 0) {
      evidence.reasons[location.unnamed]++;
      continue;
    }
    // Ids stand for the frames of the location, innermost first.
    auto depth = static_cast<size_t>(found - ids.begin());
    evidence.sources[profile.frames_of(location)[depth].source]++;
    evidence.inlined += depth + 1 < ids.size() ? 1 : 0;
  }
  return evidence;
}

}  // namespace

std::vector<std::string> details_of(const Answer& answer, const ViewKey& key) {
  const Profile& profile = answer.profile();
  std::vector<std::string> lines = {key.text, ""};
  auto add = [&](std::string_view what, std::string_view text) {
    lines.push_back(fmt::format("{:<10} {}", what, text));
  };
  // A key is found by its identity, for it does not tell its number. Groups above a tree have
  // identity 0, and are no entries.
  auto total = std::ranges::find_if(answer.entries->totals, [&](const Total& one) {
    return answer.entries->keys[one.key].identity == key.identity;
  });
  if (total != answer.entries->totals.end() && total->function != ViewKey::kNoFunction) {
    const Function& function = profile.functions[to_index(total->function)];
    if (function.file != StringId{})
      add("hottest", fmt::format("{}{}", printable(profile.strings[function.file]),
                                 total->line == 0 ? "" : fmt::format(":{}", total->line)));
    if (function.package != StringId{})
      add("package", printable(profile.strings[function.package]));
  }
  if (total != answer.entries->totals.end() && total->waited_in)
    add("waits in", answer.entries->keys[*total->waited_in].text);
  if (key.image < profile.images.size()) {
    const RecordedImage& image = profile.images[key.image].file;
    if (!image.path.empty())
      add("file", printable(image.path));
    if (!image.gnu_build_id.empty())
      add("build id", hex(image.gnu_build_id));
    if (!image.go_build_id.empty())
      add("Go's id", printable(image.go_build_id));
  }
  // Why it has this name, or none: the question that the window is opened for.
  Evidence evidence = evidence_of(answer, key);
  add("sampled",
      fmt::format("at {} {}{}", with_commas(evidence.addresses),
                  evidence.addresses == 1 ? "address" : "addresses",
                  evidence.inlined == 0
                      ? ""
                      : fmt::format(", inlined at {}", with_commas(evidence.inlined))));
  for (const auto& [source, count] : evidence.sources)
    add("named by", fmt::format("{}, {} of them", to_string(source), with_commas(count)));
  for (const auto& [reason, count] : evidence.reasons) {
    add("no name", fmt::format("{}, {} of them", to_string(reason), with_commas(count)));
    add("", remedy_of(reason));
  }
  return lines;
}

namespace {

class FlameBoxes {
public:
  FlameBoxes(const CallTree& tree, uint64_t whole, size_t width)
      : nodes_(tree.nodes), whole_(whole), width_(width) {}

  // The boxes of a node, which has the whole width, and of all below it. By a list of its own,
  // of nodes that are to come and how much of the whole lies left of each: a tree may be a
  // hundred thousand calls deep.
  std::vector<FlameBox> below(uint32_t top) {
    struct Pending {
      uint32_t node;
      uint64_t begin;
    };
    std::vector<Pending> pending = {{top, 0}};
    while (!pending.empty()) {
      auto [node, begin] = pending.back();
      pending.pop_back();
      add(node, begin, nodes_[node].total, 1);
      // A node is followed by all nodes below it, `size` of them, itself included.
      uint32_t end = node + nodes_[node].size;
      for (uint32_t child = node + 1; child < end; child += nodes_[child].size) {
        // The largest child comes first (CallTree): all that follow are as narrow, and become
        // one box.
        if (is_narrow(nodes_[child].total)) {
          add_joined(child, end, begin);
          break;
        }
        pending.push_back({child, begin});
        begin += nodes_[child].total;
      }
    }
    return std::move(boxes_);
  }

private:
  bool is_narrow(uint64_t amount) const {
    return static_cast<double>(amount) * static_cast<double>(width_) <
           static_cast<double>(whole_);
  }

  size_t column(uint64_t amount) const {
    double exact =
        static_cast<double>(amount) * static_cast<double>(width_) / static_cast<double>(whole_);
    return std::min(static_cast<size_t>(std::lround(exact)), width_);
  }

  void add(uint32_t node, uint64_t begin, uint64_t amount, size_t joined) {
    // Both ends are rounded from the left edge, so that a box begins where the one before ends.
    FlameBox box = {.node = node,
                    .row = nodes_[node].depth,
                    .begin = column(begin),
                    .end = column(begin + amount),
                    .joined = joined};
    // A box may come out as no column at all by rounding.
    if (box.begin < box.end)
      boxes_.push_back(box);
  }

  // Brothers from `first` up to the node `end`.
  void add_joined(uint32_t first, uint32_t end, uint64_t begin) {
    uint64_t amount = 0;
    size_t count = 0;
    for (uint32_t child = first; child < end; child += nodes_[child].size) {
      amount += nodes_[child].total;
      count++;
    }
    add(first, begin, amount, count);
  }

  const std::vector<CallNode>& nodes_;
  uint64_t whole_;
  size_t width_;
  std::vector<FlameBox> boxes_;
};

}  // namespace

std::vector<FlameBox> flame_boxes(const PathTree& tree, uint32_t zoomed, size_t width) {
  const std::vector<CallNode>& nodes = tree.tree.nodes;
  if (nodes[zoomed].total == 0 || width == 0)
    return {};
  // The nodes on the way to the zoomed one have the whole width: what else they call is not
  // shown.
  std::vector<FlameBox> boxes = FlameBoxes(tree.tree, nodes[zoomed].total, width).below(zoomed);
  for (uint32_t i = zoomed; i != 0; i = tree.parents[i])
    boxes.push_back({tree.parents[i], nodes[tree.parents[i]].depth, 0, width});
  std::ranges::sort(boxes, {},
                    [](const FlameBox& box) { return std::tuple(box.row, box.begin); });
  return boxes;
}

// Line 0 has the title, line 1 the tabs. On a screen below kLeastSize nothing is drawn, but
// keys are taken: it has the layout of kLeastSize, so that no difference falls below 0.
Layout layout_of(Size size) {
  size.height = std::max(size.height, kLeastSize.height);
  constexpr size_t kEnough = 14;  // lines that leave room for a timeline and a detail
  bool is_high = size.height >= kEnough;
  Layout layout;
  layout.timeline = is_high ? 2 : 0;
  layout.titles = is_high ? 3 : 2;
  layout.body = layout.titles + 1;
  layout.last = size.height - 1;
  layout.detail = is_high ? layout.last - 1 : 0;
  layout.rows = (is_high ? layout.detail : layout.last) - layout.body;
  return layout;
}

size_t window_rows(Size size) {
  constexpr size_t kAround = 6;  // lines: its frame, and what is seen of the page
  return size.height - std::min(size.height, kAround);
}

size_t window_columns(Size size) {
  constexpr size_t kAround = 6;
  return size.width - std::min(size.width, kAround);
}

Halves halves_of(const Layout& layout) {
  // One line is the function itself; kLeastSize leaves two rows at least.
  size_t callers = (layout.rows - 1) / 2;
  return {callers, layout.rows - 1 - callers};
}

std::string_view name_of(Page page) {
  constexpr std::array<std::string_view, kPageCount> kNames = {
      "functions", "tree", "callers|callees", "flame graph", "code"};
  return kNames[static_cast<size_t>(page)];
}

std::vector<Tab> tabs_of(Size size) {
  std::vector<Tab> tabs;
  size_t x = 1;
  // On a narrow terminal tabs are their numbers alone: with their names they end at column 62.
  constexpr size_t kEnough = 64;
  for (size_t i = 0; i < kPageCount; i++) {
    size_t width = size.width < kEnough ? 1 : 2 + name_of(static_cast<Page>(i)).size();
    tabs.push_back({x, x + width});
    x += width + 2;
  }
  return tabs;
}

uint32_t step_count(const Answer& answer) {
  const Profile& profile = answer.profile();
  // Samples of a damaged recording may lie behind its end.
  uint64_t steps = profile.time_step == 0
                       ? 0
                       : (profile.duration_ns + profile.time_step - 1) / profile.time_step;
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      std::max<uint64_t>(steps, answer.selected->load.size()), 1, kMaxSteps));
}

std::span<const uint32_t> function_rows(const State& state, const Answer& answer) {
  const Entries& entries = *answer.entries;
  std::span<const uint32_t> rows = state.sort == SortBy::kTotal  ? entries.by_total
                                   : state.sort == SortBy::kName ? entries.by_name
                                                                 : entries.by_self;
  // Each order has the noticed rows first (Entries), so that a row keeps its number when the
  // others come behind it.
  return state.has_unnoticed ? rows : rows.first(entries.noticed);
}

// Without a source line that has samples the instructions are shown even if nobody asked for
// them, or there would be nothing to look at. hottest_row() decides in the same way.
std::vector<uint32_t> code_rows(const State& state, const Code& code) {
  auto is_source = [](const CodeLine& line) {
    return !line.is_of_instructions && line.total > 0;
  };
  bool has_instructions = state.has_instructions || std::ranges::none_of(code.lines, is_source);
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < code.lines.size(); i++) {
    const CodeLine& line = code.lines[i];
    bool is_hot = line.self > 0 || line.total > 0;
    if ((has_instructions || !line.is_of_instructions) && (is_hot || !state.is_hot_only))
      rows.push_back(i);
  }
  return rows;
}

uint32_t node_of(const PathTree& tree, uint64_t path) {
  auto found = std::ranges::find(tree.paths, path);
  return found == tree.paths.end() ? 0 : static_cast<uint32_t>(found - tree.paths.begin());
}

Flame flame_of(const State& state, const Answer& answer) {
  Flame flame;
  flame.zoomed = node_of(*answer.tree, state.zoomed);
  flame.boxes = flame_boxes(*answer.tree, flame.zoomed, state.size.width);
  // The cursor goes to the zoomed box if its own is too narrow to be shown.
  uint32_t node = node_of(*answer.tree, state.box);
  auto found = std::ranges::find(flame.boxes, node, &FlameBox::node);
  if (found == flame.boxes.end())
    found = std::ranges::find(flame.boxes, flame.zoomed, &FlameBox::node);
  flame.cursor =
      found == flame.boxes.end() ? 0 : static_cast<size_t>(found - flame.boxes.begin());
  return flame;
}

Outline outline_of(State& state, const Answer& answer) {
  Layout layout = layout_of(state.size);
  if (state.page == Page::kTree)
    return {answer.tree.get(), &state.tree, layout.rows};
  Halves halves = halves_of(layout);
  if (state.part == Part::kCentre)
    return {};
  return state.part == Part::kCallees
             ? Outline{answer.callees.get(), &state.callees, halves.callees}
             : Outline{answer.callers.get(), &state.callers, halves.callers};
}

}  // namespace gosym::browser
