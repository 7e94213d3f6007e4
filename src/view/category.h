#pragma once

#include <string_view>

#include "profile/profile.h"

namespace gosym {

// The kind of work that a function does, judged by its name alone: "garbage collection",
// "allocation", "locks", "kernel: network".
struct Category {
  enum class Kind : uint8_t {
    kWork,   // a kind of work
    kOther,  // of the kernel or Go's runtime, where a small function may serve any kind of work
    kPart,   // nothing is known but the package, or the module, that it is part of
  };
  std::string_view text;  // constant, or a view into an argument of category_of()
  Kind kind = Kind::kWork;
};

// `name` is for people, `package` may be empty.
Category category_of(std::string_view name, std::string_view package, std::string_view module,
                     bool is_kernel);

}  // namespace gosym
