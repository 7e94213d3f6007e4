#include "browser/terminal.h"

#include <langinfo.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "base/exit_status.h"
#include "base/terminal_modes.h"
#include "base/text.h"
#include "browser/known_terminals.h"

// Its macros have names such as "timeout" and "lines".
#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>

// Declared here as in <term.h>, most of whose names are macros that would collide.
struct term;
extern "C" {
int setupterm(const char* name, int file, int* error);
term* set_curterm(term* terminal);
int del_curterm(term* terminal);
}

namespace gosym::browser {

// The only source that knows ncurses. Cells become characters with attributes, and input
// becomes keys. The state of ncurses is global, and so are the variables here: there is one
// terminal.

namespace {

constexpr size_t kLooks = static_cast<size_t>(Look::kUnnamedBox) + 1;

// The terminal's attributes for each look.
std::array<attr_t, kLooks> attributes;
std::array<short, kLooks> pairs;
bool has_utf8 = false;
bool shows_colour = false;

struct Press {
  int x;
  int y;
};
std::optional<Press> press;  // a button of the mouse, until it is released

void set_look(Look look, attr_t attribute, short foreground = -1, short background = -1) {
  auto i = static_cast<size_t>(look);
  attributes[i] = attribute;
  pairs[i] = 0;
  if (!shows_colour || (foreground == -1 && background == -1))
    return;
  // Pair 0 is the terminal's own colours, which cannot be set.
  pairs[i] = static_cast<short>(i + 1);
  init_pair(pairs[i], foreground, background);
}

// Uses those of the terminal's own colours only that can be read on light and on dark.
void set_looks() {
  set_look(Look::kPlain, A_NORMAL);
  set_look(Look::kTitle, A_BOLD);
  set_look(Look::kBar, A_REVERSE);
  set_look(Look::kActive, A_REVERSE | A_BOLD);
  set_look(Look::kHot, A_BOLD, COLOR_RED);
  set_look(Look::kWarm, A_NORMAL, COLOR_GREEN);
  set_look(Look::kFaint, A_DIM);
  set_look(Look::kKernel, A_NORMAL, COLOR_MAGENTA);
  set_look(Look::kMatch, shows_colour ? A_NORMAL : A_UNDERLINE, COLOR_BLACK, COLOR_YELLOW);
  set_look(Look::kWarning, A_BOLD, COLOR_RED);
  // Colours from 16 on are alike on all terminals, which themes of users seldom change: 16 is
  // black, the others are pale, so that black text can be read on each.
  bool has_many = COLORS >= 256;
  // Without colours the edges of boxes tell them apart.
  attr_t box = shows_colour ? A_NORMAL : A_REVERSE;
  short text = has_many ? 16 : COLOR_BLACK;
  set_look(Look::kGoBox, box, text, has_many ? 114 : COLOR_GREEN);
  set_look(Look::kRuntimeBox, box, text, has_many ? 180 : COLOR_YELLOW);
  set_look(Look::kNativeBox, box, text, has_many ? 110 : COLOR_CYAN);
  set_look(Look::kKernelBox, box, text, has_many ? 175 : COLOR_MAGENTA);
  set_look(Look::kUnnamedBox, box, text, has_many ? 250 : COLOR_WHITE);
}

void show_cell(const Cell& cell, int x, int y) {
  auto look = static_cast<size_t>(cell.look);
  attr_t attribute = attributes[look];
  if (cell.is_selected)
    // A selected cell is drawn in reverse, and one that is in reverse already the other way.
    attribute ^= A_REVERSE;
  std::array<wchar_t, CCHARW_MAX + 1> text{};
  if (has_utf8) {
    const char* from = cell.text.c_str();
    std::mbstate_t state{};
    // A cell that is not valid in this locale must not end the whole picture.
    if (std::mbsrtowcs(text.data(), &from, CCHARW_MAX, &state) == static_cast<size_t>(-1))
      text = {L'?'};
  } else {
    text[0] = static_cast<unsigned char>(ascii_of(cell.text));
  }
  // A character that the C library does not know is not combined with the marks after it.
  if (wcwidth(text[0]) < 0)
    text = {L'?'};
  cchar_t character{};
  // Pairs are those of set_look(), 0 for the terminal's own colours.
  setcchar(&character, text.data(), attribute, pairs[look], nullptr);
  mvadd_wch(y, x, &character);
}

// By the code of ncurses for a key that is a sequence. None: it means nothing here.
std::optional<Key> of_code(wint_t code) {
  switch (code) {
    case KEY_UP:
      return Key{.kind = Key::Kind::kUp};
    case KEY_DOWN:
      return Key{.kind = Key::Kind::kDown};
    case KEY_LEFT:
      return Key{.kind = Key::Kind::kLeft};
    case KEY_RIGHT:
      return Key{.kind = Key::Kind::kRight};
    case KEY_PPAGE:
      return Key{.kind = Key::Kind::kPageUp};
    case KEY_NPAGE:
      return Key{.kind = Key::Kind::kPageDown};
    case KEY_HOME:
      return Key{.kind = Key::Kind::kHome};
    case KEY_END:
      return Key{.kind = Key::Kind::kEnd};
    case KEY_ENTER:
      return Key{.kind = Key::Kind::kEnter};
    case KEY_BACKSPACE:
      return Key{.kind = Key::Kind::kBackspace};
    case KEY_BTAB:
      return Key{.kind = Key::Kind::kBackTab};
    // Here is KEY_RESIZE as well: the session asks for the size after each read().
    default:
      return std::nullopt;
  }
}

Key of_character(wint_t code) {
  constexpr wint_t kEscape = 27;
  constexpr wint_t kDelete = 127;
  switch (code) {
    case '\n':
    case '\r':
      return {.kind = Key::Kind::kEnter};
    case '\t':
      return {.kind = Key::Kind::kTab};
    case kEscape:
      return {.kind = Key::Kind::kEscape};
    // Terminals send one or the other for Backspace.
    case kDelete:
    case '\b':
      return {.kind = Key::Kind::kBackspace};
    default:
      return character_key(static_cast<char32_t>(code));
  }
}

std::optional<Key> of_mouse() {
  MEVENT event;
  if (getmouse(&event) != OK || event.x < 0 || event.y < 0)
    return std::nullopt;
  auto key = [&](Key::Kind kind, int x) {
    return Key{.kind = kind,
               .x = static_cast<size_t>(x),
               .y = static_cast<size_t>(event.y),
               .to_x = static_cast<size_t>(event.x)};
  };
  // ncurses reports the wheel as buttons 4 and 5.
  if ((event.bstate & BUTTON4_PRESSED) != 0)
    return key(Key::Kind::kWheelUp, event.x);
  if ((event.bstate & BUTTON5_PRESSED) != 0)
    return key(Key::Kind::kWheelDown, event.x);
  // A press is kept until its release tells whether it was a click or a drag. ncurses makes
  // BUTTON1_CLICKED of both where it reads them together.
  if ((event.bstate & BUTTON1_PRESSED) != 0)
    press = Press{event.x, event.y};
  if ((event.bstate & BUTTON1_CLICKED) != 0)
    return key(Key::Kind::kClick, event.x);
  // A drag ends in the line where it began, or means nothing.
  if ((event.bstate & BUTTON1_RELEASED) != 0 && press) {
    Press from = *std::exchange(press, std::nullopt);
    if (from.y == event.y)
      return key(from.x == event.x ? Key::Kind::kClick : Key::Kind::kDrag, from.x);
  }
  return std::nullopt;
}

}  // namespace

std::string clipboard_sequence(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string encoded;
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t bits = 0;
    // Three bytes are four digits of 6 bits; a group that is short ends in "=".
    for (size_t j = 0; j < 3; j++)
      bits = bits << 8 | (i + j < text.size() ? static_cast<uint8_t>(text[i + j]) : 0);
    // Digit j needs byte j - 1 of the group, or it has no bits of the text.
    for (size_t j = 0; j < 4; j++)
      encoded += i + j > text.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return "\x1b]52;c;" + encoded + '\a';
}

namespace {

// The description of ours that has the name, or else one that begins with the same word. Null
// if there is none.
const KnownTerminal* find_known(std::string_view wanted) {
  std::string_view family = wanted.substr(0, wanted.find('-'));
  const KnownTerminal* found = nullptr;
  for (const KnownTerminal& known : kKnownTerminals)
    if (known.name == wanted || (!found && std::string_view(known.name).starts_with(family)))
      found = &known;
  return found;
}

// By the description in terminfo(5), or else by one of ours. Null if neither is there.
SCREEN* open_screen(const char* name) {
  if (SCREEN* screen = newterm(nullptr, stdout, stdin))
    return screen;
  const KnownTerminal* found = find_known(name);
  if (!found)
    return nullptr;
  setenv("TERMINFO", found->description, 1);
  SCREEN* screen = newterm(found->name, stdout, stdin);
  unsetenv("TERMINFO");  // programs that are started from here look for themselves
  return screen;
}

bool can_move_cursor() {
  const char* move = tigetstr("cup");
  return move && move != reinterpret_cast<char*>(-1);
}

// All that a crash needs to leave the terminal as it was found.
termios found_settings;
bool has_found_settings = false;
std::string leaving;  // sequences
// SIGSYS and SIGBUS have handlers already: by the one a parser asks for files, by the other it
// is told of a mapped file that was cut.
constexpr int kCrashes[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE};

void leave_in_crash(int signal) {
  if (has_found_settings)
    tcsetattr(STDIN_FILENO, TCSANOW, &found_settings);
  (void)!write(STDOUT_FILENO, leaving.data(), leaving.size());
  // The signal is raised once more without a handler, so that the program ends by it, with a
  // core.
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// After the screen was opened, so that these are its terminal's.
void prepare_for_crashes() {
  leaving = kNoPointerReports;
  // These end the mode of the keypad and all attributes, show the cursor, and give back the
  // screen as it was.
  for (const char* capability : {"rmkx", "sgr0", "cnorm", "rmcup"}) {
    const char* sequence = tigetstr(capability);
    // Without the delays that old terminals need.
    if (sequence && sequence != reinterpret_cast<char*>(-1))
      leaving += std::string_view(sequence).substr(0, std::string_view(sequence).find("$<"));
  }
  for (int signal : kCrashes)
    std::signal(signal, leave_in_crash);
}

void forget_crashes() {
  for (int signal : kCrashes)
    std::signal(signal, SIG_DFL);
}

}  // namespace

bool can_browse_on(const std::string& name) {
  if (find_known(name))
    return true;
  int error = 0;
  bool is_found = setupterm(name.c_str(), STDOUT_FILENO, &error) == OK && can_move_cursor();
  // setupterm() makes this its current terminal, which newterm() must not find.
  if (term* looked_at = set_curterm(nullptr))
    del_curterm(looked_at);
  return is_found;
}

Result<Terminal> Terminal::open(bool has_colour) {
  // The locale decides whether cells may have characters beyond ASCII.
  has_utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const char* name = std::getenv("TERM");
  has_found_settings = tcgetattr(STDIN_FILENO, &found_settings) == 0;
  SCREEN* screen = name && *name != '\0' ? open_screen(name) : nullptr;
  bool can_move = screen && can_move_cursor();
  if (screen && !can_move)
    endwin();
  if (!can_move)
    return errorf("a terminal that cannot move its cursor: TERM is '{}'",
                  printable(name ? name : ""))
        .with_hint(
            "set TERM to what the terminal is, xterm-256color for most; or print with "
            "--stdio")
        .with_exit_status(kUnsupported);
  // Ctrl-C and Ctrl-Z come as keys: what runs beside gets no signal of them.
  raw();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  // Keys such as arrows are sequences that begin with Esc: it is the key Esc if nothing follows
  // for so many ms. A person does not wait, and a line is not slower.
  set_escdelay(25);
  curs_set(0);
  mousemask(
      BUTTON1_PRESSED | BUTTON1_RELEASED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED,
      nullptr);
  // 0: ncurses would else wait to see whether a press becomes a click.
  mouseinterval(0);
  shows_colour = has_colour && has_colors();
  if (shows_colour) {
    start_color();
    use_default_colors();
  }
  set_looks();
  prepare_for_crashes();
  return Terminal();
}

Terminal::~Terminal() {
  if (!is_open_)
    return;
  endwin();
  forget_crashes();
}

void Terminal::leave() {
  def_prog_mode();
  endwin();
}

void Terminal::come_back() {
  reset_prog_mode();
  // The other program has written over the screen, so that nothing of it may be kept.
  clearok(curscr, TRUE);
  refresh();
}

Size Terminal::size() const {
  return {static_cast<size_t>(std::max(getmaxx(stdscr), 1)),
          static_cast<size_t>(std::max(getmaxy(stdscr), 1))};
}

void Terminal::show(const Grid& grid) {
  werase(stdscr);
  // The second cell of a wide character is drawn by the first.
  for (size_t y = 0; y < grid.size().height; y++)
    for (size_t x = 0; x < grid.size().width; x++)
      if (const Cell& cell = grid.at(x, y); !cell.text.empty())
        show_cell(cell, static_cast<int>(x), static_cast<int>(y));
  wrefresh(stdscr);
}

std::optional<Key> Terminal::read() {
  while (true) {
    wint_t code = 0;
    int kind = wget_wch(stdscr, &code);
    if (kind == ERR)
      return std::nullopt;
    constexpr wint_t kSuspend = 26;  // Ctrl-Z
    if (kind == OK && code == kSuspend)
      std::raise(SIGTSTP);  // ncurses gives the terminal back, and takes it again
    else if (kind == OK)
      return of_character(code);
    // Other codes may mean nothing here, and then the loop goes on; one tells of a new size.
    else if (auto key = code == KEY_MOUSE ? of_mouse() : of_code(code))
      return key;
  }
}

void Terminal::copy(std::string_view text) {
  std::string sequence = clipboard_sequence(text);
  (void)std::fwrite(sequence.data(), 1, sequence.size(), stdout);
  std::fflush(stdout);
}

}  // namespace gosym::browser
