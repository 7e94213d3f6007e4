#include "model/container.h"

#include <algorithm>

namespace gosym {

namespace {

constexpr size_t kIdSize = 64;

bool is_id_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

// From the end on, for containers may run in one another.
std::string_view container_id(std::string_view cgroup) {
  // A run of digits that is longer or shorter than an id is none, nor is a part of it.
  while (true) {
    size_t end = cgroup.size();
    while (end > 0 && !is_id_digit(cgroup[end - 1]))
      end--;
    size_t begin = end;
    while (begin > 0 && is_id_digit(cgroup[begin - 1]))
      begin--;
    if (end - begin == kIdSize)
      return cgroup.substr(begin, kIdSize);
    if (begin == 0)
      return {};
    cgroup = cgroup.substr(0, begin);
  }
}

}  // namespace gosym
