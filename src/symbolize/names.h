#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace gosym {

// How much of a name is shown.
enum class NameForm : uint8_t {
  kShort,  // without the types of instances: "slices.Sort[...]"
  kFull,   // "slices.Sort[go.shape.[]string]"
  kNone,   // as the linker has it, which `go build -pgo` and other tools know it by
};

// A name for people, of a function that `source` told.
//
// Go's linker escapes a few bytes in the last element of a package path: "gopkg.in/yaml%2ev3".
// Types of instances stand in brackets, which may be nested: "pkg.(*List[go.shape.[]int]).Add".
std::string display_name(std::string_view name, FrameSource source, NameForm form);

}  // namespace gosym
