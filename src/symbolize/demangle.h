#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gosym {

// The name in the source of what a compiler of C++ (Itanium ABI), Rust (both of its schemes) or
// D mangled: "_ZN3foo3barEi" -> "foo::bar(int)". None if it is none of these, or so long that
// no person would read it. With `is_short` without parameters, and for C++ with "<...>" for
// what templates were given: "std::vector<...>::push_back".
std::optional<std::string> demangle(std::string_view name, bool is_short);

}  // namespace gosym
