#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace gosym {

// Code is a program's own if those who wrote the program wrote it, and not those of the
// standard library, of a module or crate that it was built from, of a library of the system or
// of the kernel. It is told
//
//   of Go       by the import path: packages of the main module, of modules of its workspace,
//               and of those that a folder replaces, as the program's build information names
//               them. Without that: package main, and packages whose path begins with a
//               domain and whose file is of no version of a module, "…@v1.2.3/…"
//   of others   by the source file: none below the folders of a system, of a compiler or of a
//               package manager. Without debugging information: all code of the executable
//   of scripts  of which a perf map tells, by the file that the name has: likewise
bool is_own(const Profile& profile, const Location& location, const Frame& frame);
// Likewise, and not by a guess: build information or source files tell it.
bool is_surely_own(const Profile& profile, const Location& location, const Frame& frame);
// Code without a name is own where all code of its executable is.
bool is_own(const Profile& profile, const Location& location);

// "runtime", "runtime/pprof", "internal/runtime/maps": a package of Go's runtime.
bool is_runtime_package(std::string_view package);

// One answer a location: true if any of its frames is own.
std::vector<bool> find_own(const Profile& profile);

// By what the own code of a profile is told, for people: "module example.com/shop". Empty: it
// has none. `is_of_own` is what find_own() gave, here and below.
std::string own_code_text(const Profile& profile, const std::vector<bool>& is_of_own);

// Events of samples of own code: which ran itself, and with all that it called.
struct OwnAmounts {
  uint64_t self = 0;
  uint64_t total = 0;
};
OwnAmounts own_amounts(const Profile& profile, const std::vector<bool>& is_of_own);

}  // namespace gosym
