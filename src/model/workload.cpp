#include "model/workload.h"

#include <algorithm>

#include "model/container.h"

namespace gosym {

namespace {

constexpr std::string_view kScope = ".scope";
constexpr std::string_view kSlice = ".slice";

int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// systemd writes "-" and others as "\x2d" in names that come from elsewhere.
std::string name_of_unit(std::string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size(); i++) {
    bool is_escape = name.substr(i).starts_with("\\x") && i + 3 < name.size() &&
                     hex_digit(name[i + 2]) >= 0 && hex_digit(name[i + 3]) >= 0;
    int code = is_escape ? hex_digit(name[i + 2]) * 16 + hex_digit(name[i + 3]) : 0;
    // A control character would be none of a name.
    if (is_escape && code >= ' ' && code < 0x7f) {
      text += static_cast<char>(code);
      i += 3;
    } else {
      text += name[i];
    }
  }
  return text;
}

// 8-4-4-4-12 digits, or 32 of a pod that a file on the node describes.
bool is_uid(std::string_view text) {
  constexpr size_t kStatic = 32;
  constexpr std::string_view kShape = "00000000-0000-0000-0000-000000000000";
  if (text.size() == kStatic)
    return std::ranges::all_of(text, [](char c) { return hex_digit(c) >= 0; });
  if (text.size() != kShape.size())
    return false;
  for (size_t i = 0; i < text.size(); i++)
    if (kShape[i] == '-' ? text[i] != '-' : hex_digit(text[i]) < 0)
      return false;
  return true;
}

// The uid in a part of a path, "kubepods-burstable-pod0b8d_….slice" or "pod0b8d-…"; empty:
// it is none of a pod. Slices have "_" for "-", which divides their names.
std::string pod_in(std::string_view part) {
  bool is_slice = part.ends_with(kSlice);
  if (is_slice)
    part.remove_suffix(kSlice.size());
  if (is_slice && !part.starts_with("kubepods"))
    return {};
  size_t at = is_slice ? part.rfind("-pod") : part.starts_with("pod") ? 0 : part.npos;
  if (at == part.npos)
    return {};
  std::string uid(part.substr(at + (is_slice ? 4 : 3)));  // behind "-pod" or "pod"
  std::ranges::replace(uid, '_', '-');
  return is_uid(uid) ? uid : std::string();
}

}  // namespace

Workload workload_of(std::string_view cgroup) {
  Workload found{.unit = {}, .container = container_id(cgroup), .pod = {}};
  // Outer parts first: each inner unit replaces the one around it. The scope of a container is
  // no unit: a service around it, as the user's that podman runs in, stays the unit.
  while (!cgroup.empty()) {
    size_t slash = cgroup.find('/');
    std::string_view part = cgroup.substr(0, slash);
    cgroup = slash == cgroup.npos ? std::string_view() : cgroup.substr(slash + 1);
    bool is_of_container = !container_id(part).empty();
    if (part.ends_with(kServiceSuffix) || (part.ends_with(kScope) && !is_of_container))
      found.unit = name_of_unit(part);
    if (std::string pod = pod_in(part); !pod.empty())
      found.pod = std::move(pod);
  }
  return found;
}

bool is_unit(std::string_view unit, std::string_view wanted) {
  return !unit.empty() &&
         (unit == wanted || (unit.ends_with(kServiceSuffix) &&
                             unit.substr(0, unit.size() - kServiceSuffix.size()) == wanted));
}

}  // namespace gosym
