#pragma once

#include <string>
#include <string_view>

namespace gosym {

// All that a function passes on to the Write (output/write.h) that it is given last.
template <class Function, class... Args>
std::string written_by(Function function, const Args&... args) {
  std::string text;
  function(args..., [&text](std::string_view part) {
    text += part;
    return true;
  });
  return text;
}

}  // namespace gosym
