#include "output/thread_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"

namespace gosym {

namespace {

struct NamesOfThread {
  std::map<std::pair<StringId, StringId>, uint64_t> amounts;  // thread, process

  std::pair<StringId, StringId> most() const {
    auto by_amount = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::ranges::max_element(amounts, by_amount)->first;
  }
};

}  // namespace

std::vector<ThreadSamples> samples_by_thread(const Profile& profile) {
  // A number of a thread may stand for another one in another recording, so the recording is
  // part of the key.
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
  std::map<Key, std::pair<ThreadSamples, NamesOfThread>> threads;
  for (const SampleCount& sample : profile.samples) {
    const Owner& owner = profile.owner(sample);
    auto& [thread, names] = threads[{owner.event, owner.recording, owner.pid, owner.tid}];
    uint64_t value = value_of(profile, sample);
    thread.amount += value;
    thread.samples.push_back(&sample);
    // A thread may change its name: it goes by the one that it had for most of its samples.
    names.amounts[{owner.comm, owner.process_name()}] += value;
  }
  std::vector<ThreadSamples> result;
  for (auto& [key, found] : threads) {
    auto& [thread, names] = found;
    std::tie(thread.event, thread.recording, thread.pid, thread.tid) = key;
    auto [name, process] = names.most();
    thread.name = printable(profile.strings[name]);
    thread.process = printable(profile.strings[process]);
    // Samples of one step of time stay in the order that the profile has.
    std::ranges::stable_sort(thread.samples, {}, &SampleCount::step);
    result.push_back(std::move(thread));
  }
  std::ranges::stable_sort(result, [](const ThreadSamples& a, const ThreadSamples& b) {
    // By event first; the amounts are swapped, so that the largest comes first.
    return std::tuple(a.event, b.amount) < std::tuple(b.event, a.amount);
  });
  return result;
}

std::string track_name(const Profile& profile, const ThreadSamples& thread) {
  std::string name = thread.name.empty() ? "samples" : thread.name;
  if (thread.tid != 0)
    name += fmt::format(" ({}/{})", thread.pid, thread.tid);
  if (profile.recordings.size() > 1)
    name += fmt::format(" on {}", printable(profile.recordings[thread.recording].info.host));
  if (profile.info.events.size() > 1)
    name += fmt::format(", {}", printable(profile.info.events[thread.event].name));
  return name;
}

uint64_t time_of(const Profile& profile, const SampleCount& sample) {
  return sample.step * profile.time_step;
}

uint64_t value_of(const Profile& profile, const SampleCount& sample) {
  return profile.amount(sample) * profile.period(profile.owner(sample).event);
}

}  // namespace gosym
