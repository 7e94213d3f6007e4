#pragma once

#include <string>

namespace gosym {

// A library that is loaded while the program runs, and is not needed by all of it. It stays
// loaded. A static program loads none: a second C library would come with it.
class SharedLibrary {
public:
  // `name` is as dlopen(3) takes it, "libLLVM-14.so.1".
  explicit SharedLibrary(const std::string& name);

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& why_not() const { return why_not_; }  // empty if it is loaded

  // False if the library has no function of that name, or is not loaded.
  template <class Function>
  bool find(const std::string& name, Function& function) const {
    function = reinterpret_cast<Function>(address_of(name));
    return function != nullptr;
  }

private:
  void* address_of(const std::string& name) const;

  void* handle_ = nullptr;
  std::string why_not_;
};

}  // namespace gosym
