#include "view/processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace gosym {

Hosts::Hosts(const Profile& profile) {
  for (const ProfiledRecording& recording : profile.recordings) {
    auto known = std::ranges::find(names_, recording.info.host);
    numbers_.push_back(static_cast<uint32_t>(known - names_.begin()));
    if (known == names_.end())
      names_.push_back(recording.info.host);
  }
  if (names_.empty())
    names_.push_back(profile.info.host);
}

std::string Hosts::suffix(uint32_t host) const {
  return names_.size() == 1 ? std::string() : fmt::format(" on {}", names_[host]);
}

std::vector<ProfiledProcess> find_processes(const Profile& profile,
                                            std::span<const SampleCount> samples,
                                            const Hosts& hosts) {
  std::map<std::tuple<uint32_t, uint32_t, StringId>, uint64_t> amounts;
  for (const SampleCount& sample : samples)
    amounts[{hosts.of(sample), sample.pid, sample.process_name()}] += profile.amount(sample);

  std::vector<ProfiledProcess> processes;
  uint64_t most = 0;
  // A process that ran several programs has the name that most of its samples have. The map
  // puts those of one process together.
  for (const auto& [named, amount] : amounts) {
    auto [host, pid, comm] = named;
    if (processes.empty() || processes.back().host != host || processes.back().pid != pid) {
      processes.push_back({host, pid, comm, 0});
      most = 0;
    }
    processes.back().amount += amount;
    if (amount > most)
      processes.back().comm = comm;
    most = std::max(most, amount);
  }
  std::ranges::stable_sort(processes, std::greater<>(), &ProfiledProcess::amount);
  return processes;
}

std::vector<ProfiledProgram> find_programs(const Profile& profile,
                                           std::span<const SampleCount> samples,
                                           const Hosts& hosts) {
  std::vector<ProfiledProgram> programs;
  std::map<StringId, size_t> known;
  for (const ProfiledProcess& process : find_processes(profile, samples, hosts)) {
    auto [place, is_new] = known.try_emplace(process.comm, programs.size());
    if (is_new)
      programs.push_back({.comm = process.comm});
    programs[place->second].amount += process.amount;
    programs[place->second].processes.push_back(process);
  }
  std::ranges::stable_sort(programs, std::greater<>(), &ProfiledProgram::amount);
  return programs;
}

}  // namespace gosym
