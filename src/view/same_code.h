#pragma once

#include <string>
#include <string_view>

namespace gosym {

// The name of a function without what a new build of the same source may give it anew:
//
//   main.(*Server).run.func2.1, main.run.gowrap1    numbers of closures: "main.(*Server).run.*"
//   main.Map[go.shape.int,go.shape.string]          type arguments: "main.Map[*]"
//   find.constprop.0, find.isra.3.cold              clones of compilers: "find"
//   serde::parse::h0123456789abcdef                 the hash of Rust: "serde::parse"
//   cc1plus!fun_6d6ad0                              code without a name: "cc1plus!fun_*"
std::string name_across_builds(std::string_view name);

// "web.(*Server).run" of "example.com/a/web.(*Server).run": what is left when a package moves.
std::string name_without_directories(std::string_view name);

// "example.com/a/*.(*Server).run" of "example.com/a/web.(*Server).run": what is left when code
// moves to another package of the same directory. Every package has an init, which stays as it
// is.
std::string name_without_package(std::string_view name);

}  // namespace gosym
