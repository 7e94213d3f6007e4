#pragma once

namespace gosym {

// One visitor of a std::variant out of a function for each of its types.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace gosym
