#pragma once

#include <map>
#include <set>
#include <string>

// Asks dpkg, the package manager of Debian and Ubuntu, about files.

namespace gosym::proc {

// The packages that own files, by path; files of no package are left out. They are looked for
// in DIRECTORY/NAME.list, or NAME:ARCHITECTURE.list, which has the path of each file of a
// package on a line of its own: below /usr, or without it, as packages had it before /lib was a
// link.
std::map<std::string, std::string> owners_of(
    const std::set<std::string>& paths, const std::string& directory = "/var/lib/dpkg/info");

// The versions of packages, by name, as the file says that dpkg keeps of those that are
// installed: groups of lines "Package: NAME", "Version: VERSION". Others are left out.
std::map<std::string, std::string> versions_of(
    const std::set<std::string>& packages, const std::string& file = "/var/lib/dpkg/status");

// The package that has the debug files of a package.
std::string debug_package_of(const std::string& package);

}  // namespace gosym::proc
