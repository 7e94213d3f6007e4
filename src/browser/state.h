#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "browser/grid.h"
#include "browser/key.h"
#include "browser/list.h"
#include "browser/outline.h"
#include "browser/query.h"
#include "output/view_options.h"

namespace gosym::browser {

enum class Page : uint8_t { kFunctions, kTree, kAround, kFlame, kCode };
inline constexpr size_t kPageCount = 5;

// The part of Page::kAround that the cursor is in.
enum class Part : uint8_t { kCallers, kCentre, kCallees };

// The window that lies over the page and takes the keys.
enum class Overlay : uint8_t { kNone, kHelp, kDetails, kMenu, kPrompt, kExport, kTime };

enum class Ask : uint8_t { kSearch, kFocus, kIgnore, kHide, kModule };  // of a prompt

// All that a person has done: what the screen shows follows from it, the answer and the size.
struct State {
  std::string title;  // "cpu.raw"
  Size size = {};
  bool is_live = false;
  bool is_frozen = false;  // of a live one

  Query query;                // what is wanted; the answer may still be of another
  std::vector<Query> before;  // to be taken back
  Page page = Page::kFunctions;
  std::vector<Page> pages_before;
  SortBy sort = SortBy::kSelf;
  bool is_share_of_shown = false;  // percentages are of what is shown, not of all

  ListState functions;
  uint64_t function = 0;  // identity of the entry that has the cursor; 0: of the first line
  OutlineState tree;
  OutlineState callers;
  OutlineState callees;
  Part part = Part::kCentre;
  uint64_t zoomed = kRootPath;  // path of a node of the flame graph
  uint64_t box = kRootPath;     // path of the node that has the cursor
  size_t flame_top = 0;         // its first row on the screen
  bool has_unnoticed = false;   // functions that nobody would notice (kLeastNoticed)
  ListState code;
  bool has_instructions = false;  // of the code, not its source alone
  bool is_hot_only = false;       // of the code, lines with samples alone
  ChosenKey code_shown;           // the function whose hottest line was gone to

  Overlay overlay = Overlay::kNone;
  ListState menu;
  ListState help;
  Ask ask = Ask::kSearch;
  std::string typed;
  bool is_begin_moved = true;  // of the time: the left edge has the cursor
  Steps time_before;

  std::string message;  // on the last line, until the next key
};

// The action that the session is to take besides.
struct Effect {
  enum class Kind : uint8_t { kNone, kQuit, kCopy, kExport, kSave, kReset, kEdit };
  Kind kind = Kind::kNone;
  // To be copied; the format to be exported; the path of the file to be edited.
  std::string text = {};
  uint32_t line = 0;  // of that file
};

}  // namespace gosym::browser
