#include "commands/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "base/uninterrupted.h"
#include "base/unique_fd.h"
#include "confine/parser.h"
#include "exchange/gunzip.h"

namespace gosym {

namespace {

// 0: not known.
size_t number_in(const char* name) {
  return static_cast<size_t>(std::max(0, std::atoi(environment(name).c_str())));
}

}  // namespace

void show_progress(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0)
    return;
  print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

void wait_for_look(size_t number, size_t count, uint64_t interval_ns) {
  if (count > 0)
    show_progress(fmt::format("look {} of {} follows", number, count));
  std::this_thread::sleep_for(std::chrono::nanoseconds(interval_ns));
  if (count > 0)
    show_progress("");
}

// An empty variable, or "cat", asks for no pager, as with git.
std::string pager_command() {
  for (const char* name : {"GOSYM_PAGER", "PAGER"})
    if (std::getenv(name))
      return environment(name);
  return "less";
}

Option colour_option(ColourMode& mode) {
  return {.names = "--color",
          .value = "WHEN",
          .help = "Use colours: auto, always or never (default: auto; see NO_COLOR)",
          .take = one_of(mode, {{"auto", ColourMode::kAuto},
                                {"always", ColourMode::kAlways},
                                {"never", ColourMode::kNever}})};
}

Option pager_option(bool& has_pager) {
  return {.names = "--no-pager",
          .help = "Do not use a pager for long output",
          .take = sets(has_pager, false)};
}

bool wants_colour(ColourMode mode) {
  return mode == ColourMode::kAlways ||
         (mode == ColourMode::kAuto && environment("NO_COLOR").empty());
}

Screen standard_output(ColourMode mode) {
  Screen screen;
  screen.is_ascii = wants_ascii();
  bool can_colour = isatty(STDOUT_FILENO) != 0 && environment("TERM") != "dumb";
  screen.has_colour = wants_colour(mode) && (can_colour || mode == ColourMode::kAlways);
  winsize size{};
  // No limits: a pipe or a file has no width.
  if (isatty(STDOUT_FILENO) == 0)
    return screen;
  bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  size_t width = is_known ? size.ws_col : 0;
  size_t height = is_known ? size.ws_row : 0;
  // A terminal that does not know its size, such as a serial line, may be told by the
  // environment.
  width = width == 0 ? number_in("COLUMNS") : width;
  height = height == 0 ? number_in("LINES") : height;
  // Narrower than this nothing can be read; 80 by 24 is what all terminals can do.
  constexpr size_t kLeastWidth = 40;
  constexpr size_t kLeastHeight = 10;
  screen.width = width == 0 ? 80 : std::max(width, kLeastWidth);
  screen.height = height == 0 ? 24 : std::max(height, kLeastHeight);
  return screen;
}

bool show_in_pager(std::string_view text, const Screen& screen) {
  auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  // A height of SIZE_MAX is that of no terminal (standard_output()). An empty variable, or
  // "cat", is the wish for no pager, as in git.
  std::string command = pager_command();
  if (screen.height == SIZE_MAX || lines < screen.height || command.empty() ||
      command == "cat" || environment("TERM") == "dumb")
    return false;
  auto pager = start_pager(command);
  if (!pager)
    return false;
  // Ctrl-C is for the pager, which may also end while text is left.
  auto on_interrupt = std::signal(SIGINT, SIG_IGN);
  auto on_closed_pipe = std::signal(SIGPIPE, SIG_IGN);
  // A reader may have had enough: what is left is then dropped.
  write_all(pager->input.get(), text);
  int status = wait_for_pager(*std::move(pager));
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGPIPE, on_closed_pipe);
  // Exit statuses by which the shell says that a command is not there, or cannot be executed. A
  // pager that somebody has killed has shown the text.
  return !WIFEXITED(status) ||
         (WEXITSTATUS(status) != kNotFound && WEXITSTATUS(status) != kNotExecutable);
}

namespace {

constexpr uint64_t kMaxLocale = 4 << 20;  // bytes; it is 0.4 MB

// Chooses the locale as setlocale(3) does.
std::string_view wanted_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(variable); value && *value != '\0')
      return value;
  return {};
}

// "en_US.UTF-8", "en_US.utf8"
bool names_utf8(std::string locale) {
  std::ranges::transform(locale, locale.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return locale.find("utf-8") != locale.npos || locale.find("utf8") != locale.npos;
}

bool write_whole(const std::string& path, std::string_view text) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file &&
         write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The C library reads a locale from a directory alone, maps the file, and needs its name no
// more.
bool load_from_new_directory(std::string parent, std::string_view text) {
  std::string folder = std::move(parent) + "/gosym-locale-XXXXXX";
  if (!mkdtemp(folder.data()))
    return false;
  std::string locale = folder + "/C.UTF-8";
  std::string file = locale + "/LC_CTYPE";
  // LOCPATH is set for this one call; no other thread may run meanwhile.
  bool is_loaded = mkdir(locale.c_str(), 0700) == 0 && write_whole(file, text) &&
                   setenv("LOCPATH", folder.c_str(), 1) == 0 &&
                   std::setlocale(LC_CTYPE, "C.UTF-8");
  unsetenv("LOCPATH");
  unlink(file.c_str());
  rmdir(locale.c_str());
  rmdir(folder.c_str());
  return is_loaded;
}

}  // namespace

bool wants_ascii() {
  std::string locale(wanted_locale());
  // Without a locale UTF-8 is taken for granted: most systems show it.
  return !locale.empty() && !names_utf8(locale);
}

void choose_character_set() {
  // setlocale(3) gives null for a locale that the system does not have.
  if (std::setlocale(LC_CTYPE, ""))
    return;
  if (!names_utf8(std::string(wanted_locale())) || std::setlocale(LC_CTYPE, "C.UTF-8"))
    return;
  auto text = gunzip(kUtf8Locale, kMaxLocale);
  // Any place that can be written for a moment will do.
  for (const char* parent : {"/tmp", "/dev/shm", "/run", "."})
    if (text && load_from_new_directory(parent, *text))
      return;
}

}  // namespace gosym
