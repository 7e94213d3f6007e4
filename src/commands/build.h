#pragma once

#include <string>

namespace gosym {

// What `gosym --version` prints after the program's name: the version; on a second line the
// commit, where the program was built in a clone, how it is linked, and the versions of its
// libraries.
std::string version_text();

// What `gosym --licenses` prints: gosym's own, and those of the libraries that are inside a
// static program, as Debian's packages state them.
std::string licenses_text();

}  // namespace gosym
