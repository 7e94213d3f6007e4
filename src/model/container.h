#pragma once

#include <cstddef>
#include <string_view>

namespace gosym {

// The id of the container that a cgroup belongs to: 64 hexadecimal digits in the last part of
// the path that has them, as Docker, containerd, CRI-O and Podman name cgroups:
//
//   /system.slice/docker-<id>.scope
//   /kubepods.slice/kubepods-pod<uid>.slice/cri-containerd-<id>.scope
//   /kubepods/besteffort/pod<uid>/<id>
//
// Empty if there is none. A view into the path.
std::string_view container_id(std::string_view cgroup);

// Digits of an id that engines of containers show.
inline constexpr size_t kShortContainerId = 12;

}  // namespace gosym
