#include "proc/packages.h"

#include <dirent.h>

#include <memory>
#include <string_view>

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

namespace {

// The longest list of Debian 12 has 2 MiB.
constexpr size_t kMaxList = 16 << 20;
// The whole of Debian would have 200 MiB.
constexpr size_t kMaxStatus = 256 << 20;

// "libc6" of "libc6:amd64.list"; empty if it is no list.
std::string package_of_list(std::string_view file) {
  std::string_view ending = ".list";
  if (!file.ends_with(ending))
    return {};
  file.remove_suffix(ending.size());
  return std::string(file.substr(0, file.find(':')));
}

// The path by which a list may have the file instead: /lib is a link to /usr/lib, and a package
// has a file by one of both.
std::string other_path(const std::string& path) {
  std::string_view usr = "/usr";
  return path.starts_with("/usr/") ? path.substr(usr.size()) : std::string(usr) + path;
}

}  // namespace

std::map<std::string, std::string> owners_of(const std::set<std::string>& paths,
                                             const std::string& directory) {
  std::map<std::string, std::string> owners;
  std::unique_ptr<DIR, int (*)(DIR*)> lists(opendir(directory.c_str()), closedir);
  while (const dirent* entry = lists ? readdir(lists.get()) : nullptr) {
    std::string package = package_of_list(entry->d_name);
    // Lists are read until all paths have an owner.
    if (package.empty() || owners.size() == paths.size())
      continue;
    auto text = read_file(directory + "/" + entry->d_name, kMaxList);
    if (!text)
      continue;
    // Newlines around each path, so that it matches whole lines.
    std::string lines = "\n" + *text + "\n";
    for (const std::string& path : paths)
      for (const std::string& name : {path, other_path(path)})
        if (lines.find("\n" + name + "\n") != lines.npos)
          owners[path] = package;
  }
  return owners;
}

std::map<std::string, std::string> versions_of(const std::set<std::string>& packages,
                                               const std::string& file) {
  constexpr std::string_view kPackage = "Package: ";
  constexpr std::string_view kVersion = "Version: ";
  std::map<std::string, std::string> versions;
  auto text = packages.empty() ? Error("none asked for") : read_file(file, kMaxStatus);
  std::string_view left = text ? std::string_view(*text) : std::string_view();
  std::string package;
  // A version belongs to the package named last before it.
  while (!left.empty()) {
    std::string_view line = take_line(left);
    if (line.starts_with(kPackage))
      package = line.substr(kPackage.size());
    else if (line.starts_with(kVersion) && packages.contains(package))
      versions.emplace(package, line.substr(kVersion.size()));
  }
  return versions;
}

std::string debug_package_of(const std::string& package) {
  // The one package whose debug files are in the main archive.
  return package == "libc6" ? "libc6-dbg" : package + "-dbgsym";
}

}  // namespace gosym::proc
