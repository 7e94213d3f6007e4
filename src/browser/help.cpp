#include "browser/help.h"

#include "base/text.h"
#include "base/width.h"

namespace gosym::browser {

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
