#include "commands/debug_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/text.h"

namespace gosym {

namespace {

// What CLI11 makes of a flag without a value.
constexpr std::string_view kWithoutUrls = "true";

constexpr size_t kMaxUrlFile = 65536;  // a few lines, each with a URL

// Each file *.urls has URLs separated by white space, as debuginfod-client-config(7) tells.
std::string urls_of_system() {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/etc/debuginfod", failed))
    if (entry.path().extension() == ".urls")
      paths.push_back(entry.path());
  std::ranges::sort(paths);

  std::string urls;
  for (const std::string& path : paths)
    if (auto text = read_file(path, kMaxUrlFile))
      urls += *text + " ";
  std::ranges::replace(urls, '\n', ' ');
  urls.erase(0, urls.find_first_not_of(' '));
  urls.erase(urls.find_last_not_of(' ') + 1);
  return urls;
}

std::string urls_of_environment() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  return urls ? urls : "";
}

// A check for CLI11.
std::string check_directory(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed))
    return {};
  return fmt::format("'{}' is not a directory", printable(path));
}

// They lie below --symfs, which CLI11 may know only after them.
Result<> check_debug_dirs(const DebugOptions& options) {
  for (const std::string& path : options.debug_dirs) {
    UniqueFd found = find_file(path, options.symfs);
    struct stat status {};
    if (!found || fstat(found.get(), &status) != 0 || !S_ISDIR(status.st_mode))
      return errorf("--debug-dir: '{}' is not a directory{}", printable(path),
                    options.symfs.empty() ? "" : " below that of --symfs")
          .with_exit_status(kUsage);
  }
  return Ok{};
}

// Empty if nothing is to be fetched.
Result<std::string> server_urls(const DebugOptions& options) {
  bool is_asked = !options.debuginfod.empty();
  if (options.no_debuginfod)
    return std::string();
  if (is_asked && options.debuginfod != kWithoutUrls)
    return options.debuginfod;
  std::string urls = urls_of_environment();
  if (urls.empty() && is_asked)
    urls = urls_of_system();
  if (urls.empty() && is_asked)
    return Error("--debuginfod: no server is known")
        .with_hint("name one: --debuginfod=URL, or set DEBUGINFOD_URLS")
        .with_exit_status(kUsage);
  return urls;
}

}  // namespace

void add_debug_options(CLI::App& app, DebugOptions& options) {
  app.add_option("--debug-dir", options.debug_dirs,
                 "Look for debug files here, before /usr/lib/debug; may be repeated")
      ->allow_extra_args(false)
      ->type_name("DIR");
  app.add_option("--symfs", options.symfs, "Take all files from below DIR")
      ->check(check_directory, "")
      ->type_name("DIR");
  CLI::Option* debuginfod =
      app.add_flag("--debuginfod", options.debuginfod,
                   "Fetch missing debug files from these servers; without URLS from those of "
                   "DEBUGINFOD_URLS, or else of the system")
          ->type_name("[=URLS]");
  app.add_flag("--no-debuginfod", options.no_debuginfod,
               "Fetch nothing, even if DEBUGINFOD_URLS is set")
      ->excludes(debuginfod);
}

Result<DebugFileOptions> find_debug_files(const DebugOptions& options, std::FILE* stream) {
  if (auto checked = check_debug_dirs(options); !checked)
    return std::move(checked).error();
  auto urls = server_urls(options);
  if (!urls)
    return std::move(urls).error();
  DebugFileOptions files;
  files.symfs = options.symfs;
  files.debug_dirs.insert(files.debug_dirs.begin(), options.debug_dirs.begin(),
                          options.debug_dirs.end());
  bool is_terminal = stream && isatty(fileno(stream)) == 1;
  if (!urls->empty())
    files.debuginfod = std::make_unique<Debuginfod>(*urls, is_terminal ? stream : nullptr);
  return files;
}

}  // namespace gosym
