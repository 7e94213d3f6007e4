#include "output/perf_script.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"
#include "output/thread_samples.h"
#include "view/frame_keys.h"

// perf_script.h has the form of the text.
namespace gosym {

namespace {

// Readers take a space for the end of the name of a file, or of an event.
std::string without_spaces(std::string_view name) {
  std::string result;
  for (char c : printable(name))
    result += c == ' ' ? std::string_view("\\x20") : std::string_view(&c, 1);
  return result;
}

class ScriptWriter {
public:
  ScriptWriter(const Profile& profile, const Write& write)
      : profile_(profile), write_(write), keys_(profile, Dimension::Kind::kFunction) {
    for (const ProfileImage& image : profile.images)
      files_.push_back(image.file.path.empty() ? "[unknown]" : without_spaces(image.file.path));
  }

  // Samples of all processes are merged in order of time, as perf does.
  void write() && {
    std::vector<const SampleCount*> samples;
    for (const SampleCount& sample : profile_.samples)
      samples.push_back(&sample);
    std::ranges::stable_sort(samples, {}, &SampleCount::step);
    for (const SampleCount* sample : samples)
      if (!write_sample(*sample))
        return;
    write_(text_);
  }

private:
  // Equal samples are written one by one, and what they stand for is shared out to them.
  bool write_sample(const SampleCount& sample) {
    uint64_t value = value_of(profile_, sample);
    // A wait that lies in several steps counts in one of them: the others, of count 0, are
    // written once as well, for their part of its time.
    for (uint64_t left = std::max<uint64_t>(sample.count, 1); left > 0; left--) {
      // Each sample gets an equal share of what is left, so that the shares add up to the
      // value, whatever the rounding.
      write_head(sample, value / left);
      value -= value / left;
      for (LocationId id : profile_.stack(sample.stack))
        write_location(id);
      text_ += '\n';
      if (text_.size() > kPart) {
        if (!write_(text_))
          return false;
        text_.clear();
      }
    }
    return true;
  }

  void write_head(const SampleCount& sample, uint64_t value) {
    const Owner& owner = profile_.owner(sample);
    // The name of a thread may have spaces: readers look for the "pid/tid" behind it.
    std::string name = printable(profile_.strings[owner.comm]);
    uint64_t microseconds = time_of(profile_, sample) / 1000;
    fmt::format_to(std::back_inserter(text_), "{} {}/{} {}.{:06}: {} {}:\n",
                   name.empty() ? "[unknown]" : name, owner.pid, owner.tid,
                   microseconds / 1'000'000, microseconds % 1'000'000, value,
                   without_spaces(profile_.info.events[owner.event].name));
  }

  void write_location(LocationId id) {
    const Location& location = profile_.locations[to_index(id)];
    // 0: only root may know the addresses of the kernel's code; what is no code has none.
    uint64_t address = profile_.is_kernel(location) || is_no_code(location.unnamed)
                           ? 0
                           : to_integer(location.address);
    std::span<const KeyId> keys = keys_.of(id);
    for (size_t i = 0; i < keys.size(); i++) {
      // Inlined calls share the address with the function that they are inlined into, which is
      // the last.
      bool is_inlined = i + 1 < keys.size();
      fmt::format_to(
          std::back_inserter(text_), "\t{:16x} {} ({})\n", address, keys_[keys[i]].text,
          is_inlined ? "inlined" : files_[profile_.mappings[to_index(location.mapping)].image]);
    }
  }

  static constexpr size_t kPart = 1 << 20;  // written at once

  const Profile& profile_;
  const Write& write_;
  FrameKeys keys_;
  std::vector<std::string> files_;  // by image
  std::string text_;                // that is not written yet
};

}  // namespace

void write_perf_script(const Profile& profile, const Write& write) {
  ScriptWriter(profile, write).write();
}

}  // namespace gosym
