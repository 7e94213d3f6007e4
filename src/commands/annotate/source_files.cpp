#include "commands/annotate/source_files.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/file_tree.h"
#include "base/shell.h"
#include "base/text.h"
#include "commands/report_notes.h"

namespace gosym {

namespace {

// Longer ones are no source that a person wrote, and the paths come from the binary.
constexpr size_t kMaxFile = 64 << 20;
constexpr size_t kMaxLine = 4096;

// Paths come from the binary: none leads out of the directory that it is looked for in.
bool has_dots(std::string_view path) {
  std::vector<std::string_view> parts = split(path, '/');
  return std::ranges::find(parts, "..") != parts.end();
}

// Go keeps modules in directories without capitals: "github.com/!azure/sdk@v1.2.3".
std::string in_module_cache(std::string_view path) {
  size_t version = path.find('@');
  size_t end = version == path.npos ? path.size() : path.find('/', version);
  std::string result;
  for (char c : path.substr(0, end)) {
    bool is_capital = c >= 'A' && c <= 'Z';
    if (is_capital)
      result.push_back('!');
    result.push_back(is_capital ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return result + std::string(end == path.npos ? "" : path.substr(end));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty())
    lines.push_back(take_line(text));
  return lines;
}

std::string shown_line(std::string_view line) {
  constexpr size_t kTab = 4;
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  std::string spaced;
  for (char c : line.substr(0, kMaxLine))
    if (c == '\t')
      spaced.append(kTab - spaced.size() % kTab, ' ');
    else
      spaced.push_back(c);
  return printable(spaced);
}

}  // namespace

std::vector<std::string> SourceFiles::candidates(std::string_view path) const {
  std::vector<std::string> found;
  for (std::string_view rest = path; !places_.directory.empty() && !rest.empty();) {
    if (!rest.starts_with('/'))
      found.push_back(places_.directory + "/" + std::string(rest));
    size_t slash = rest.find('/');
    rest = slash == rest.npos ? "" : rest.substr(slash + 1);
  }
  if (path.starts_with('/'))
    return found;
  if (!places_.go_root.empty())
    found.push_back(places_.go_root + "/src/" + std::string(path));
  for (const std::string& directory : places_.module_directories)
    found.push_back(directory + "/" + in_module_cache(path));
  return found;
}

namespace {

bool lies_below(const std::string& path, const std::string& directory) {
  UniqueFd top = find_file(directory);
  std::string real = top ? real_path(top, "") : "";
  return !real.empty() && path.starts_with(real == "/" ? real : real + "/");
}

// All zeros if there is no such file.
struct stat status_of(const UniqueFd& found) {
  struct stat status {};
  if (found)
    (void)fstat(found.get(), &status);
  return status;
}

// The file by itself, and each directory that it is in.
bool everybody_may_read(const UniqueFd& found, const std::string& root) {
  std::string path = real_path(found, root);
  if (path.empty() || (status_of(found).st_mode & S_IROTH) == 0)
    return false;
  for (size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1))
    if ((status_of(find_file(path.substr(0, end), root)).st_mode & S_IXOTH) == 0)
      return false;
  return true;
}

}  // namespace

SourceFiles::SourceFiles(Places places, std::optional<uid_t> writer, uid_t caller)
    : places_(std::move(places)) {
  if (writer)
    trusted_.push_back(*writer);
  if (caller != 0)
    trusted_.push_back(caller);
}

bool SourceFiles::may_show(const UniqueFd& found, const std::string& root) const {
  return std::ranges::find(trusted_, status_of(found).st_uid) != trusted_.end() ||
         (!places_.directory.empty() && lies_below(real_path(found, ""), places_.directory)) ||
         everybody_may_read(found, root);
}

bool SourceFiles::open(const std::string& path, const std::string& root, File& file) const {
  UniqueFd found = find_file(path, root);
  if (!S_ISREG(status_of(found).st_mode))
    return false;
  if (!may_show(found, root)) {
    file.is_withheld = true;
    file.path = path;
    return false;
  }
  auto mapped = MappedFile::open(found);
  if (!mapped || (*mapped)->bytes().size() > kMaxFile)
    return false;
  std::string_view text = as_text((*mapped)->bytes());
  if (text.find('\0') != text.npos)
    return false;
  file = {.mapped = *std::move(mapped),
          .path = path,
          .place = root + path,
          .lines = lines_of(text)};
  return true;
}

const SourceFiles::File& SourceFiles::find(std::string_view path) {
  auto known = files_.find(path);
  if (known != files_.end())
    return known->second;
  File& file = files_[std::string(path)];
  if (path.empty() || has_dots(path))
    return file;
  for (const std::string& candidate : candidates(path))
    if (open(candidate, "", file))
      return file;
  if (path.starts_with('/'))
    open(std::string(path), places_.root, file);
  return file;
}

std::optional<std::string> SourceFiles::line(std::string_view path, uint32_t number) {
  const File& file = find(path);
  if (number == 0 || number > file.lines.size())
    return std::nullopt;
  return shown_line(file.lines[number - 1]);
}

std::string SourceFiles::place(std::string_view path) {
  const File& file = find(path);
  return file.mapped ? file.place : std::string();
}

std::vector<std::string> SourceFiles::changed_after(int64_t time_ns) const {
  std::vector<std::string> changed;
  for (const auto& [path, file] : files_)
    if (file.mapped && file.mapped->mtime_ns() > time_ns)
      changed.push_back(file.path);
  return changed;
}

std::vector<std::string> SourceFiles::missing() const {
  std::vector<std::string> missing;
  for (const auto& [path, file] : files_)
    if (!file.mapped && !file.is_withheld && !path.empty())
      missing.push_back(path);
  return missing;
}

std::vector<std::string> SourceFiles::withheld() const {
  std::vector<std::string> withheld;
  for (const auto& [path, file] : files_)
    if (file.is_withheld)
      withheld.push_back(file.path);
  return withheld;
}

std::string withheld_note(const SourceFiles& sources) {
  std::vector<std::string> paths = sources.withheld();
  if (paths.empty())
    return {};
  return fmt::format(
      "source {} is not shown: not everybody may read it, and its owner is not known to be the "
      "program's (--source DIR shows what lies below DIR)",
      with_more(fmt::format("'{}'", printable(paths.front())), paths.size()));
}

std::string missing_note(const SourceFiles& sources) {
  std::vector<std::string> paths = sources.missing();
  return paths.empty() ? std::string()
                       : fmt::format("source not found: {} (--source DIR looks below DIR)",
                                     with_more(printable(paths.front()), paths.size()));
}

SourceFiles::Places source_places(const std::string& directory, const std::string& root) {
  SourceFiles::Places places{.directory = directory,
                             .root = root,
                             .go_root = environment("GOROOT"),
                             .module_directories = {}};
  if (std::string cache = environment("GOMODCACHE"); !cache.empty())
    places.module_directories.push_back(cache);
  std::string go_path = environment("GOPATH");
  if (go_path.empty() && !environment("HOME").empty())
    go_path = environment("HOME") + "/go";
  for (std::string_view part : split(go_path, ':'))
    if (!part.empty()) {
      places.module_directories.push_back(std::string(part) + "/pkg/mod");
      places.module_directories.push_back(std::string(part) + "/src");
    }
  return places;
}

}  // namespace gosym
