#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <iterator>

namespace gosym {

// Writes to a standard stream. Unlike fmt::print it does not throw when that fails, on a full
// disk for one: the stream remembers it, and main() asks once, at the end.
template <class... Args>
void print(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace gosym
