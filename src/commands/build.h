#pragma once

#include <string>

namespace gosym {

// The text of `gosym --version` after the program's name: the version; on a second line the
// commit, where the program was built in a clone, how it is linked, and the versions of its
// libraries.
std::string version_text();

// The text of `gosym --licenses`: gosym's own licence, and those of the libraries that are
// inside a static program, as Debian's packages state them.
std::string licenses_text();

}  // namespace gosym
