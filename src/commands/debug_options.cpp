#include "commands/debug_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/exit_status.h"
#include "base/file_tree.h"
#include "base/text.h"
#include "commands/option_values.h"
#include "proc/packages.h"
#include "record/system_state.h"

namespace gosym {

namespace {

constexpr size_t kMaxUrlFile = 65536;  // a few lines, each with a URL

// Each file *.urls has URLs separated by white space, as debuginfod-client-config(7) tells.
std::string urls_of_system() {
  std::vector<std::string> paths;
  std::error_code failed;
  for (auto entry = std::filesystem::directory_iterator("/etc/debuginfod", failed);
       !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    if (entry->path().extension() == ".urls")
      paths.push_back(entry->path());
  std::ranges::sort(paths);

  std::string urls;
  for (const std::string& path : paths)
    if (auto text = read_file(path, kMaxUrlFile))
      urls += *text + " ";
  // DEBUGINFOD_URLS has spaces between them.
  for (char space : {'\n', '\t', '\r'})
    std::ranges::replace(urls, space, ' ');
  urls.erase(0, urls.find_first_not_of(' '));
  urls.erase(urls.find_last_not_of(' ') + 1);
  return urls;
}

// They lie below --symfs, which may be given after them.
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
  // DEBUGINFOD_URLS counts without the option, as for other tools; the system's list only with
  // it.
  bool is_asked = options.debuginfod.has_value();
  if (options.no_debuginfod)
    return std::string();
  if (is_asked && !options.debuginfod->empty())
    return *options.debuginfod;
  std::string urls = environment("DEBUGINFOD_URLS");
  if (urls.empty() && is_asked)
    urls = urls_of_system();
  if (urls.empty() && is_asked)
    return Error("--debuginfod: no server is known")
        .with_hint("name one: --debuginfod=URL, or set DEBUGINFOD_URLS")
        .with_exit_status(kUsage);
  return urls;
}

}  // namespace

Option symfs_option(std::string& symfs) {
  return {.names = "--symfs",
          .value = "DIR",
          .help = "Look for all files below DIR instead of /",
          .take = into(symfs, parse_directory)};
}

OptionGroup debug_options(DebugOptions& options) {
  return {"Where to find files",
          {{.names = "--debug-dir",
            .value = "DIR",
            .help = "Look for debug files below DIR before /usr/lib/debug; may be repeated",
            .take = into(options.debug_dirs),
            .values = Values::kEach},
           symfs_option(options.symfs),
           {.names = "--debuginfod",
            .value = "URLS",
            .help = "Fetch missing debug files from these servers (default: those in "
                    "DEBUGINFOD_URLS, or the system's)",
            .take = into(options.debuginfod),
            .excludes = {"--no-debuginfod"},
            .values = Values::kOptional},
           {.names = "--no-debuginfod",
            .help = "Fetch nothing, even if DEBUGINFOD_URLS is set",
            .take = into(options.no_debuginfod)}}};
}

Result<DebugFileOptions> find_debug_files(const DebugOptions& options, std::FILE* stream) {
  if (auto checked = check_debug_dirs(options); !checked)
    return std::move(checked).error();
  auto urls = server_urls(options);
  if (!urls)
    return std::move(urls).error();
  DebugFileOptions files;
  files.symfs = options.symfs;
  // Before the system's own directory, so that a user's files are found first.
  files.debug_dirs.insert(files.debug_dirs.begin(), options.debug_dirs.begin(),
                          options.debug_dirs.end());
  bool is_terminal = stream && isatty(fileno(stream)) == 1;
  if (!urls->empty())
    files.debuginfod = std::make_unique<Debuginfod>(*urls, is_terminal ? stream : nullptr);
  // Its helper is started while programs may still be executed.
  if (files.debuginfod)
    if (auto started = files.debuginfod->start(); !started)
      return std::move(started).error();
  return files;
}

Result<DebugFileOptions> find_files_of_profile(const DebugOptions& options, std::FILE* stream) {
  auto files = find_debug_files(options, stream);
  // With --symfs the files are of another system, and so is its kernel.
  if (files && options.symfs.empty())
    files->kernel = {open_kernel_symbols(), own_vdso()};
  return files;
}

std::vector<std::string> roots_of(const DebugFileOptions& files) {
  std::vector<std::string> roots = files.debug_dirs;
  roots.push_back(files.symfs);
  roots.insert(roots.end(), files.stores.begin(), files.stores.end());
  return roots;
}

void find_debug_packages(Profile& profile, const HeldFiles& held) {
  // A package of debug files helps where the file has no symbol table.
  std::set<uint32_t> stripped;
  for (const Location& location : profile.locations)
    if (location.unnamed == Unnamed::kStripped && !profile.is_named(location))
      stripped.insert(profile.mappings[to_index(location.mapping)].image);
  std::set<std::string> paths;
  for (uint32_t image : stripped)
    if (const RecordedImage& file = profile.images[image].file; !held.contains(file.id))
      paths.insert(file.path);
  // Packages by path, by dpkg's lists: a file of no package has no entry.
  auto owners = paths.empty() ? std::map<std::string, std::string>() : proc::owners_of(paths);
  for (uint32_t image : stripped)
    if (auto owner = owners.find(profile.images[image].file.path); owner != owners.end())
      profile.images[image].debug_package = proc::debug_package_of(owner->second);
}

}  // namespace gosym
