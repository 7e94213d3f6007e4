#include "base/shared_library.h"

#ifdef GOSYM_STATIC

namespace gosym {

SharedLibrary::SharedLibrary(const std::string& name)
    : why_not_("a static gosym does not load " + name) {}

void* SharedLibrary::address_of(const std::string& /*name*/) const {
  return nullptr;
}

}  // namespace gosym

#else

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

#endif
