#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gosym {

// The name in the source of what a compiler of C++ (Itanium ABI), Rust (both of its schemes) or
// D mangled: "_ZN3foo3barEi" -> "foo::bar(int)". None if it is none of these, or so long that
// no person would read it. With `is_short` without parameters, and for C++ with "<...>" for
// what templates were given: "std::vector<...>::push_back"; but lambdas stay, as functions that
// call them differ by nothing else: "std::_Function_handler<...,
// main::{lambda()#1}>::_M_invoke". Likewise for D: "std.conv.to!(int).to(char[])" ->
// "std.conv.to!(...).to".
std::optional<std::string> demangle(std::string_view name, bool is_short);

// True for a name that a compiler of C++ mangled, and that demangle() does not read: libiberty
// of Debian 12 does not know the constraints of C++20.
bool is_unreadable(std::string_view name);

// Shortens a name that was never mangled, as debugging information has some, as demangle()
// does.
std::string shorten_native(std::string_view name);

}  // namespace gosym
