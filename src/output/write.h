#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gosym {

// Takes the next part of an output; false if nobody reads it any more.
using Write = std::function<bool(std::string_view)>;

// All that a function passes on to the Write that it is given last.
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
