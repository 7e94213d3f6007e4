#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"

namespace gosym {

// The type in which print() formats an argument: texts are replaced by their printable().
template <class T>
using Shown = std::conditional_t<std::is_convertible_v<const T&, std::string_view>, std::string,
                                 const T&>;

template <class T>
Shown<T> shown(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return printable(value);
  else
    return value;
}

// The body of print(), for arguments that are safe to print.
void print_shown(std::FILE* stream, fmt::string_view format, fmt::format_args args);

// Writes to a standard stream. Text that is given as an argument may come from anywhere, the
// name of a file for one, so that it is made printable here, once for all messages; only the
// format may have line feeds.
//
// Unlike fmt::print it does not throw when that fails, on a full disk for one: the stream
// remembers it, and main() asks once, at the end.
template <class... Args>
void print(std::FILE* stream, fmt::format_string<Shown<std::remove_cvref_t<Args>>...> format,
           Args&&... args) {
  print_shown(stream, format, fmt::make_format_args(shown(args)...));
}

template <class... Args>
void print_warning(fmt::format_string<Args...> format, Args&&... args) {
  print(stderr, "gosym: warning: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

// A warning of a command, unless its options ask for errors only.
template <class Options, class... Args>
void warn(const Options& options, fmt::format_string<Args...> format, Args&&... args) {
  if (!options.is_quiet)
    print_warning(format, std::forward<Args>(args)...);
}

}  // namespace gosym
