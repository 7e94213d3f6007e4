#include "base/shared_library.h"

// For a program that is linked statically.

namespace gosym {

SharedLibrary::SharedLibrary(const std::string& name)
    : why_not_("a static gosym does not load " + name) {}

void* SharedLibrary::address_of(const std::string& /*name*/) const {
  return nullptr;
}

}  // namespace gosym
