#include "output/services.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/sequence_pool.h"
#include "model/container.h"
#include "model/workload.h"

namespace gosym {

namespace {

std::string name_of_service(const Workload& workload, std::string_view process) {
  if (!workload.container.empty())
    return std::string(workload.container.substr(0, kShortContainerId));
  if (workload.unit.ends_with(kServiceSuffix))
    return workload.unit.substr(0, workload.unit.size() - kServiceSuffix.size());
  return std::string(process);
}

Service service_of(const Profile& profile, const Owner& owner) {
  const RecordingInfo& info =
      profile.recordings.empty() ? profile.info : profile.recordings[owner.recording].info;
  Workload workload = workload_of(profile.strings[owner.cgroup]);
  return {.name = name_of_service(workload, profile.strings[owner.process_name()]),
          .host = info.host,
          .machine = info.machine,
          .container = std::string(workload.container),
          .pod = workload.pod};
}

std::map<Service, std::vector<size_t>> with_others_as_one(
    std::map<Service, std::vector<size_t>> services) {
  constexpr size_t kMaxServices = 100;
  if (services.size() <= kMaxServices)
    return services;
  std::vector<std::pair<size_t, const Service*>> sizes;
  for (const auto& [service, samples] : services)
    sizes.emplace_back(samples.size(), &service);
  // Stable, so that of those with as many samples the same ones are told each time.
  std::ranges::stable_sort(sizes, std::greater<>(),
                           [](const auto& size) { return size.first; });
  std::map<Service, std::vector<size_t>> result;
  for (size_t i = 0; i < sizes.size(); i++) {
    const Service& service = *sizes[i].second;
    Service kept = i < kMaxServices ? service
                                    : Service{.name = "other",
                                              .host = service.host,
                                              .machine = service.machine,
                                              .container = {},
                                              .pod = {}};
    std::vector<size_t>& samples = result[std::move(kept)];
    samples.insert(samples.end(), services[service].begin(), services[service].end());
  }
  return result;
}

}  // namespace

std::map<Service, std::vector<size_t>> samples_by_service(const Profile& profile) {
  std::map<Service, std::vector<size_t>> services;
  // Owners are fewer than samples: each is asked for its service once.
  std::vector<std::vector<size_t>*> by_owner(profile.owners.size());
  for (size_t i = 0; i < profile.samples.size(); i++) {
    const SampleCount& sample = profile.samples[i];
    std::vector<size_t>*& samples = by_owner[to_index(sample.owner)];
    if (!samples)
      samples = &services[service_of(profile, profile.owner(sample))];
    samples->push_back(i);
  }
  return with_others_as_one(std::move(services));
}

std::string label_for_store(std::string_view key) {
  // The beginnings of attributes of resources and samples, and of labels of series. A key that
  // goes on otherwise, such as "hostname", is renamed as well: better than one that passes.
  constexpr std::string_view kOwners[] = {"service", "host", "process", "thread",  "container",
                                          "pod",     "k8s",  "os",      "profile", "telemetry",
                                          "pprof",   "span", "trace",   "pid",     "tid",
                                          "cgroup",  "goid", "state",   "waker",   "_"};
  bool is_reserved = key.empty() || std::ranges::any_of(kOwners, [&](std::string_view owner) {
                       return key.starts_with(owner);
                     });
  return is_reserved ? fmt::format("label.{}", key) : std::string(key);
}

std::string event_for_store(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '-', '_');
  return result;
}

std::string profile_id(const Profile& profile, const Service& service, std::string_view what) {
  return hash_of_bytes(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", service.host, service.name,
                                   service.container, service.pod, profile.start_realtime_ns,
                                   profile.duration_ns, what));
}

}  // namespace gosym
