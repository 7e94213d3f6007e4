#pragma once

#include <string>
#include <string_view>

#include "profile/profile.h"

namespace gosym {

// The parts of a name that are shown.
enum class NameForm : uint8_t {
  kShort,  // without types: "slices.Sort[...]", "std::vector<...>::push_back"
  kFull,   // "slices.Sort[go.shape.[]string]", "std::vector<int>::push_back(int&&)"
  kNone,   // as the linker has it
};

// The forms of a profile's names. Tools know Go functions by the linker's names: `go build
// -pgo` does, and runtime/pprof writes them.
struct NameForms {
  NameForm go = NameForm::kShort;
  NameForm native = NameForm::kShort;
  bool has_system_names = false;  // the linker's names are kept beside the others
};

// A name for people, of a function that `source` told. For native code see demangle.h.
//
// Go's linker escapes a few bytes in the last element of a package path: "gopkg.in/yaml%2ev3".
// Types of instances stand in brackets, which may be nested: "pkg.(*List[go.shape.[]int]).Add".
std::string display_name(std::string_view name, FrameSource source, NameForm form);
// Avoids a copy if the name is shown unchanged: returns the name itself, or else `room`.
std::string_view display_name(std::string_view name, FrameSource source, NameForm form,
                              std::string& room);
// The import path of a Go function, the crate of one of Rust; empty if there is none. `shown`
// is its display_name().
std::string package_of(std::string_view name, std::string_view shown, FrameSource source);
// The package of a function of Go whose name has none, as many of assembly: the folder of its
// file below the root of Go's or of the modules' sources; empty if it has none.
std::string package_of_assembly(std::string_view file);

}  // namespace gosym
