#include "output/services.h"

#include <fmt/core.h>

#include "base/sequence_pool.h"
#include "model/workload.h"

namespace gosym {

std::string service_of(std::string_view cgroup, std::string_view process) {
  constexpr std::string_view kServiceEnd = ".service";
  constexpr size_t kShortId = 12;  // digits, as engines of containers show ids
  Workload workload = workload_of(cgroup);
  if (!workload.container.empty())
    return std::string(workload.container.substr(0, kShortId));
  if (workload.unit.ends_with(kServiceEnd))
    return workload.unit.substr(0, workload.unit.size() - kServiceEnd.size());
  return std::string(process);
}

std::map<Service, std::vector<size_t>> samples_by_service(const Profile& profile) {
  std::map<Service, std::vector<size_t>> services;
  for (size_t i = 0; i < profile.samples.size(); i++) {
    const Owner& owner = profile.owner(profile.samples[i]);
    const RecordingInfo& info =
        profile.recordings.empty() ? profile.info : profile.recordings[owner.recording].info;
    std::string_view cgroup = profile.strings[owner.cgroup];
    Workload workload = workload_of(cgroup);
    services[{.name = service_of(cgroup, profile.strings[owner.process_name()]),
              .host = info.host,
              .machine = info.machine,
              .container = std::string(workload.container),
              .pod = std::move(workload.pod)}]
        .push_back(i);
  }
  return services;
}

std::string profile_id(const Profile& profile, const Service& service, std::string_view what) {
  std::string of =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", service.host, service.name, service.container,
                  service.pod, profile.start_realtime_ns, profile.duration_ns, what);
  // In canonical form, which is the same on machines of either byte order.
  XXH128_canonical_t id;
  XXH128_canonicalFromHash(&id, XXH3_128bits(of.data(), of.size()));
  return {reinterpret_cast<const char*>(id.digest), sizeof(id.digest)};
}

}  // namespace gosym
