#include "commands/annotate/source_files.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/file_tree.h"
#include "base/text.h"
#include "commands/annotate/annotated_code.h"
#include "commands/report.h"
#include "view/frame_keys.h"
#include "view/totals.h"

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
  // Borrowed from the mapping, which File keeps as long as the lines.
  std::vector<std::string_view> lines;
  while (!text.empty())
    lines.push_back(take_line(text));
  return lines;
}

// The text goes to a terminal: tabs become spaces so that widths can be counted, and
// printable() takes control characters away. Lines of Windows end in "\r\n".
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
  // Below --source every end of the path is tried, the longest first: the directory may be a
  // checkout of any part of the tree that the program was built from.
  std::vector<std::string> found;
  for (std::string_view rest = path; !places_.directory.empty() && !rest.empty();) {
    if (!rest.starts_with('/'))
      found.push_back(places_.directory + "/" + std::string(rest));
    size_t slash = rest.find('/');
    rest = slash == rest.npos ? "" : rest.substr(slash + 1);
  }
  // An absolute path is left to find(), which looks for it below the root. A relative one is
  // of a program built with -trimpath: "net/http/server.go" lies in GOROOT, and a path that
  // begins with a module in the cache of modules.
  if (path.starts_with('/'))
    return found;
  if (!places_.go_root.empty())
    found.push_back(places_.go_root + "/src/" + std::string(path));
  for (const std::string& directory : places_.module_directories)
    found.push_back(directory + "/" + in_module_cache(path));
  return found;
}

namespace {

// Compared by real paths: a link below the directory may lead anywhere.
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
  // A directory without the x bit for others hides a file whose own bits say that all may read
  // it.
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
  // Root as the caller would be trusted with every file of root's, /etc/shadow too.
  if (caller != 0)
    trusted_.push_back(caller);
}

bool SourceFiles::may_show(const UniqueFd& found, const std::string& root) const {
  return std::ranges::find(trusted_, status_of(found).st_uid) != trusted_.end() ||
         (!places_.directory.empty() && lies_below(real_path(found, ""), places_.directory)) ||
         everybody_may_read(found, root);
}

bool SourceFiles::open(const std::string& path, const std::string& root, File& file) const {
  // Looked at before it is opened, and then opened by the same descriptor: the file that was
  // allowed is the one that is read, whatever the path leads to by then.
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
  // A source has no NUL; a binary that a path happens to name has.
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
  // A path without a file is kept as well, so that each is looked for once.
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
  // The directories of `go env`, by the environment alone: go itself may not be installed here,
  // and parsers start no programs.
  SourceFiles::Places places{.directory = directory,
                             .root = root,
                             .go_root = environment("GOROOT"),
                             .module_directories = {}};
  if (std::string cache = environment("GOMODCACHE"); !cache.empty())
    places.module_directories.push_back(cache);
  std::string go_path = environment("GOPATH");
  if (go_path.empty() && !environment("HOME").empty())
    go_path = environment("HOME") + "/go";
  // GOPATH may be a list. Go downloads modules into the first directory of it only, but older
  // ones may have been left in others.
  for (std::string_view part : split(go_path, ':'))
    if (!part.empty()) {
      places.module_directories.push_back(std::string(part) + "/pkg/mod");
      places.module_directories.push_back(std::string(part) + "/src");
    }
  return places;
}

ImageSources sources_of(const RecordedImage& image, const std::string& directory,
                        const DebugFileOptions& files, const HeldFiles& held) {
  RecordedFile file = open_recorded(image, files, held);
  // A copy in a recording belongs to whoever recorded, which says nothing of the program's
  // author.
  bool has_owner = file.symbols && !held.contains(image.id);
  return {SourceFiles(source_places(directory, files.symfs),
                      has_owner ? file.symbols->owner() : std::nullopt),
          image.mtime_ns};
}

std::vector<std::string> problems_of(const SourceFiles& sources, int64_t built) {
  std::vector<std::string> problems;
  if (std::string note = withheld_note(sources); !note.empty())
    problems.push_back(std::move(note));
  if (built == 0)
    return problems;
  for (const std::string& path : sources.changed_after(built))
    problems.push_back(fmt::format(
        "'{}' was changed after the program was built: lines may be wrong", printable(path)));
  return problems;
}

namespace {

// A function without its code, of a file of the profile.
struct LinesOfFunction {
  AnnotatedFunction function;
  uint32_t image = 0;
};

// `options.function` is there: --lines sets it with the view.
std::vector<LinesOfFunction> find_lines(const Profile& profile, const ViewOptions& options) {
  FrameKeys functions(profile, Dimension::Kind::kFunction);
  // One entry for a function as the table of functions tells them apart: static functions of
  // one name in two files are two.
  std::map<uint64_t, LinesOfFunction> found;  // by the identity of the function
  for (const Total& total : frame_totals(profile, profile.samples, functions)) {
    const ViewKey& key = functions[total.key];
    if (key.function == ViewKey::kNoFunction || !options.function->matches(key))
      continue;
    LinesOfFunction& lines = found[key.identity];
    lines.image = key.image;
    // A size of 0 stands for a function without code: no instructions are shown for it.
    lines.function.range.name = profile.name_of(key.function);
    // The name has the form that the profile shows: it is taken as given.
    lines.function.source = FrameSource::kGiven;
    lines.function.samples = {total.self, total.total};
  }
  // Functions first, then the lines of those that match: both by the same totals as the table
  // of functions has them.
  FrameKeys lines(profile, Dimension::Kind::kLine);
  for (const Total& total : frame_totals(profile, profile.samples, lines)) {
    auto of = found.find(lines[total.key].function_identity);
    if (of == found.end() || total.function == ViewKey::kNoFunction || total.line == 0)
      continue;
    std::string file(profile.strings[profile.functions[to_index(total.function)].file]);
    SelfAndTotal& samples = of->second.function.lines[{file, total.line}];
    samples.self += total.self;
    samples.total += total.total;
  }
  std::vector<LinesOfFunction> result;
  for (auto& [identity, function] : found)
    result.push_back(std::move(function));
  std::ranges::stable_sort(result, [&](const LinesOfFunction& a, const LinesOfFunction& b) {
    if (options.sort == SortBy::kName)
      return a.function.range.name < b.function.range.name;
    const SelfAndTotal& left = a.function.samples;
    const SelfAndTotal& right = b.function.samples;
    return options.sort == SortBy::kTotal
               ? std::tuple(left.total, left.self) > std::tuple(right.total, right.self)
               : std::tuple(left.self, left.total) > std::tuple(right.self, right.total);
  });
  // No --top, or 0, shows all.
  if (options.top.value_or(0) > 0)
    result.resize(std::min(result.size(), *options.top));
  return result;
}

}  // namespace

std::string FunctionLines::text(const Profile& profile, const ViewOptions& options,
                                const Amounts& amounts) {
  std::map<uint32_t, ImageSources> images;
  auto image_of = [&](uint32_t index) -> ImageSources& {
    // Functions of one image share its source files, which are so opened once.
    auto known = images.find(index);
    if (known == images.end())
      known =
          images
              .emplace(index, sources_of(profile.images[index].file, directory_, files_, held_))
              .first;
    return known->second;
  };
  std::string text;
  for (const LinesOfFunction& of : find_lines(profile, options)) {
    AnnotateView view{
        .screen = options.screen, .amounts = &amounts, .sources = &image_of(of.image).sources};
    text += (text.empty() ? "" : "\n") + text_of(of.function, view);
  }
  if (text.empty())
    return fmt::format("no function matches '{}'\n", printable(options.function->text()));
  auto note = [&](std::string problem) {
    if (!problem.empty() && std::ranges::find(notes_, problem) == notes_.end())
      notes_.push_back(std::move(problem));  // and not again of another event
  };
  for (const auto& [index, image] : images) {
    note(missing_note(image.sources));
    for (std::string& problem : problems_of(image.sources, image.built))
      note(std::move(problem));
  }
  return text;
}

}  // namespace gosym
