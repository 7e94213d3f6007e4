#include "base/shared_library.h"

#include <dlfcn.h>

namespace gosym {

SharedLibrary::SharedLibrary(const std::string& name)
    : handle_(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
  const char* reason = handle_ ? nullptr : dlerror();
  if (!handle_)
    why_not_ = reason ? reason : "cannot load " + name;
}

void* SharedLibrary::address_of(const std::string& name) const {
  return handle_ ? dlsym(handle_, name.c_str()) : nullptr;
}

}  // namespace gosym
