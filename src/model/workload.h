#pragma once

#include <string>
#include <string_view>

namespace gosym {

inline constexpr std::string_view kServiceSuffix = ".service";  // of a unit of systemd

// Whose a cgroup is, by the shapes that systemd, the kubelet and engines of containers give its
// path. Text may be empty: it is of no such thing.
//
//   /system.slice/nginx.service                                   a unit of systemd
//   /system.slice/docker-<id>.scope                               Docker, and podman (libpod-)
//   /docker/<id>                                                  Docker without systemd
//   /machine.slice/libpod-<id>.scope/container                    podman
//   /kubepods.slice/kubepods-burstable.slice/
//     kubepods-burstable-pod<uid>.slice/cri-containerd-<id>.scope the kubelet with systemd;
//                                                                 crio-<id>.scope, docker-…
//   /kubepods/burstable/pod<uid>/<id>                             and without
//
// A path comes from whoever made the cgroup: a user may have named his as he likes.
struct Workload {
  std::string unit;            // innermost: "nginx.service"; not the scope of a container
  std::string_view container;  // its id, a view into the path
  std::string pod;             // its uid, with dashes: "0b8d…-…"; 32 digits of a static one
};

Workload workload_of(std::string_view cgroup);

// The name of a unit as people write it: `wanted` may lack ".service".
bool is_unit(std::string_view unit, std::string_view wanted);

}  // namespace gosym
