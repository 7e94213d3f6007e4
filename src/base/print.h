#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.h"

namespace gosym {

// What print() writes in the place of an argument: of text, what printable() makes of it.
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

// Writes to a standard stream. Text that is given as an argument may come from anywhere, the
// name of a file for one, so that it is made printable here, once for all messages; only the
// format may have line feeds.
//
// Unlike fmt::print it does not throw when that fails, on a full disk for one: the stream
// remembers it, and main() asks once, at the end.
template <class... Args>
void print(std::FILE* stream, fmt::format_string<Shown<std::remove_cvref_t<Args>>...> format,
           Args&&... args) {
  fmt::memory_buffer text;
  fmt::vformat_to(std::back_inserter(text), format, fmt::make_format_args(shown(args)...));
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace gosym
