#pragma once

#include <string>

#include "profile/profile.h"

namespace gosym {

// Code is a program's own if those who wrote the program wrote it, and not those of the
// standard library, of a module or crate that it was built from, of a library of the system or
// of the kernel. It is told
//
//   of Go       by the import path: packages of the main module, of modules of its workspace
//   and
//               of those that a folder replaces, as the program's build information names them.
//               Without that: package main, and packages whose path begins with a domain and
//               whose file is of no version of a module, "…@v1.2.3/…"
//   of others   by the source file: none below the folders of a system, of a compiler or of a
//               package manager. Without debugging information: all code of the executable
//   of scripts  of which a perf map tells, by the file that the name has: likewise
bool is_own(const Profile& profile, const Location& location, const Frame& frame);
// The same of a location without a name for its code.
bool is_own(const Profile& profile, const Location& location);

// By what the own code of a profile is told, for people: "module example.com/shop". Empty: it
// has none.
std::string own_code_text(const Profile& profile);

// Events of samples of own code: which ran itself, and with all that it called.
struct OwnAmounts {
  uint64_t self = 0;
  uint64_t total = 0;
};
OwnAmounts own_amounts(const Profile& profile);

}  // namespace gosym
