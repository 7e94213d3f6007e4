#include "commands/character_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <clocale>
#include <cstdlib>
#include <string>

#include "base/unique_fd.h"
#include "exchange/gunzip.h"

namespace gosym {

namespace {

constexpr uint64_t kMaxLocale = 4 << 20;  // bytes; it is 0.4 MB

// Chooses the locale as setlocale(3) does.
std::string_view wanted_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(variable); value && *value != '\0')
      return value;
  return {};
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
  std::ranges::transform(locale, locale.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return !locale.empty() && locale.find("utf-8") == locale.npos &&
         locale.find("utf8") == locale.npos;
}

void choose_character_set() {
  if (std::setlocale(LC_CTYPE, ""))
    return;
  std::string_view locale = wanted_locale();
  if (!(locale.ends_with("UTF-8") || locale.ends_with("utf8")) ||
      std::setlocale(LC_CTYPE, "C.UTF-8"))
    return;
  auto text = gunzip(kUtf8Locale, kMaxLocale);
  for (const char* parent : {"/tmp", "/dev/shm", "/run", "."})
    if (text && load_from_new_directory(parent, *text))
      return;
}

}  // namespace gosym
