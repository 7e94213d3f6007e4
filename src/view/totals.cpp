#include "view/totals.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/sequence_pool.h"
#include "base/text.h"
#include "profile/rewrite_stacks.h"

// Totals goes through the samples once, and adds up by key and by location. The hottest lines
// follow from the amounts of locations, when all samples are in. NestedTotals does the same
// for paths of keys, ProgramShares finds out which program has most of each key.
namespace gosym {

namespace {

class Totals {
public:
  Totals(const Profile& profile, const FrameKeys& keys, Charge charge)
      : profile_(profile),
        keys_(keys),
        weights_(profile.locations.size()),
        totals_(keys.size()),
        last_sample_(keys.size()) {
    for (size_t i = 0; i < totals_.size(); i++)
      totals_[i].key = KeyId{static_cast<uint32_t>(i)};
    if (charge == Charge::kWaiting && keys.has_places())
      waits_.emplace(profile);
  }

  void add(const SampleCount& sample) {
    sample_number_++;
    uint64_t amount = profile_.amount(sample);
    std::span<const LocationId> stack = profile_.stack(sample.stack);
    add_self(stack, amount, sample.count);
    for (LocationId location : stack) {
      Weight& weight = weights_[to_index(location)];
      if (weight.total == 0)
        locations_.push_back(location);
      weight.total += amount;
      // A key counts once per sample, however often it is in the stack: a recursive function
      // has no more than the whole.
      for (KeyId key : keys_.of(location))
        if (std::exchange(last_sample_[to_index(key)], sample_number_) != sample_number_)
          totals_[to_index(key)].total += amount;
    }
  }

  std::vector<Total> finish() && {
    find_hottest_lines();
    find_waited_in();
    std::erase_if(totals_, [&](const Total& total) {
      return total.total == 0 || keys_[total.key].is_gap;
    });
    return std::move(totals_);
  }

private:
  void add_self(std::span<const LocationId> stack, uint64_t amount, uint64_t count) {
    if (stack.empty())
      return;
    if (waits_) {
      add_wait(stack, amount, count);
      return;
    }
    weights_[to_index(stack.front())].self += amount;
    // If neighbours merge, append() also decides which entry a sample is charged to, so the
    // whole path is needed; else the innermost frame is enough.
    path_.clear();
    if (keys_.merges_neighbours())
      keys_.append(stack, path_);
    std::span<const KeyId> ran = path_.empty() ? keys_.of(stack.front()) : path_;
    if (ran.empty())
      return;
    totals_[to_index(ran.front())].self += amount;
    totals_[to_index(ran.front())].samples += count;
  }

  void add_wait(std::span<const LocationId> stack, uint64_t amount, uint64_t count) {
    // Dimensions with places have a key for each location, gaps included, so that none is
    // missing.
    WaitFrames::Place place = waits_->find(stack);
    weights_[to_index(stack[place.location])].self += amount;
    KeyId waited = keys_.of(stack[place.location])[place.depth];
    // The innermost function tells where in the kernel the thread waited.
    KeyId innermost = keys_.of(stack.front()).front();
    totals_[to_index(waited)].self += amount;
    totals_[to_index(waited)].samples += count;
    if (innermost != waited)
      waited_in_[{waited, innermost}] += amount;
  }

  // The innermost function in which most of a function's waits were. Of equal amounts the
  // first key stays.
  void find_waited_in() {
    std::vector<uint64_t> most(totals_.size());
    for (const auto& [keys, amount] : waited_in_) {
      auto& [waited, innermost] = keys;
      if (amount <= most[to_index(waited)])
        continue;
      most[to_index(waited)] = amount;
      totals_[to_index(waited)].waited_in = innermost;
    }
  }

  struct LineKey {
    KeyId key;
    FunctionId function;  // that has the file of the line
    uint32_t line;
    bool operator==(const LineKey&) const = default;
  };
  struct Weight {
    uint64_t self = 0;
    uint64_t total = 0;
    bool operator<(const Weight& other) const {
      return std::tie(self, total) < std::tie(other.self, other.total);
    }
  };

  // The frame of a location that its own samples are charged to: the innermost, 0, unless
  // waits are charged to what waited.
  size_t charged_depth(LocationId location) const {
    return waits_ ? waits_->depth(location) : 0;
  }

  // The line with the most samples of its own; where there are none, that with the most calls.
  void find_hottest_lines() {
    tsl::robin_map<LineKey, Weight, BytesHash> lines;
    std::vector<Weight> hottest(totals_.size());
    std::ranges::sort(locations_);
    // Samples may have an amount of 0.
    locations_.erase(std::unique(locations_.begin(), locations_.end()), locations_.end());
    for (LocationId location : locations_) {
      size_t i = to_index(location);
      std::span<const Frame> frames = profile_.frames_of(profile_.locations[i]);
      std::span<const KeyId> keys = keys_.of(location);
      // Each frame has a key, in the same order.
      for (size_t depth = 0; depth < frames.size(); depth++) {
        Weight& weight = lines[{keys[depth], frames[depth].function, frames[depth].line}];
        // Only the frame that samples are charged to has samples of its own; those it is
        // inlined in were on the way.
        weight.self += depth == charged_depth(location) ? weights_[i].self : 0;
        weight.total += weights_[i].total;
        Total& total = totals_[to_index(keys[depth])];
        Weight& most = hottest[to_index(keys[depth])];
        // Equally hot lines: the first in the source wins, so that the order of locations does
        // not matter.
        bool is_first = !(weight < most) && total.function == frames[depth].function &&
                        frames[depth].line < total.line;
        if (!(most < weight) && !is_first)
          continue;
        most = weight;
        total.function = frames[depth].function;
        total.line = frames[depth].line;
      }
    }
  }

  const Profile& profile_;
  const FrameKeys& keys_;
  std::vector<Weight> weights_;        // of each location
  std::vector<LocationId> locations_;  // that samples pass through
  std::vector<Total> totals_;          // of each key
  std::vector<uint64_t> last_sample_;  // that counted for the key
  uint64_t sample_number_ = 0;
  std::vector<KeyId> path_;          // scratch of add_self()
  std::optional<WaitFrames> waits_;  // if samples are charged to what waited
  std::map<std::pair<KeyId, KeyId>, uint64_t> waited_in_;  // by the function and the innermost
};

// Adds samples up by paths of keys: a tree whose nodes are totals.
class NestedTotals {
public:
  NestedTotals(const Profile& profile, std::span<const FrameKeys> dimensions)
      : profile_(profile), dimensions_(dimensions) {}

  void add(const SampleCount& sample) {
    sample_number_++;
    uint64_t amount = profile_.amount(sample);
    std::span<const LocationId> stack = profile_.stack(sample.stack);
    if (stack.empty())
      return;
    for (LocationId location : stack)
      for (uint32_t inner : nodes_of(location))
        add_total(inner, amount);
    // FrameKeys::append() charges some samples to the category of a caller. Within the outer
    // keys of the innermost frame that category may be a node of no frame, so that its total is
    // added here.
    uint32_t ran = node_that_ran(stack);
    add_total(ran, amount);
    for (; ran != NestedTotal::kNoParent; ran = totals_[ran].parent) {
      totals_[ran].self += amount;
      totals_[ran].samples += sample.count;
    }
  }

  std::vector<NestedTotal> take() && { return std::move(totals_); }

private:
  // For a node and all that it is within, once a sample.
  void add_total(uint32_t node, uint64_t amount) {
    for (; node != NestedTotal::kNoParent; node = totals_[node].parent)
      if (std::exchange(last_sample_[node], sample_number_) != sample_number_)
        totals_[node].total += amount;
  }

  uint32_t child(uint32_t parent, KeyId key) {
    auto [slot, is_new] =
        children_.try_emplace({parent, key}, static_cast<uint32_t>(totals_.size()));
    if (is_new) {
      totals_.push_back({.parent = parent, .key = key});
      last_sample_.push_back(0);
    }
    return slot->second;
  }

  // The innermost node of each frame; none of a gap, which not all dimensions know.
  const std::vector<uint32_t>& nodes_of(LocationId location) {
    auto [known, is_new] = nodes_.try_emplace(location);
    if (!is_new || std::ranges::any_of(dimensions_, [&](const FrameKeys& keys) {
          return keys.of(location).empty();
        }))
      return known.value();
    // Dimensions agree on the number of keys of a location, but for gaps.
    // Each frame is a path of its own, one node a dimension.
    for (size_t depth = 0; depth < dimensions_.front().of(location).size(); depth++) {
      uint32_t node = NestedTotal::kNoParent;
      for (const FrameKeys& keys : dimensions_)
        node = child(node, keys.of(location)[depth]);
      known.value().push_back(node);
    }
    return known.value();
  }

  // Charges each dimension as Totals::add_self() does, so that both tables agree.
  uint32_t node_that_ran(std::span<const LocationId> stack) {
    uint32_t node = NestedTotal::kNoParent;
    for (const FrameKeys& keys : dimensions_) {
      path_.clear();
      keys.append(keys.merges_neighbours() ? stack : stack.first(1), path_);
      if (path_.empty())
        break;
      node = child(node, path_.front());
    }
    return node;
  }

  struct Place {
    uint32_t parent;
    KeyId key;
    bool operator==(const Place&) const = default;
  };
  const Profile& profile_;
  std::span<const FrameKeys> dimensions_;
  std::vector<NestedTotal> totals_;
  std::vector<uint64_t> last_sample_;  // that counted for the total
  tsl::robin_map<Place, uint32_t, BytesHash> children_;
  tsl::robin_map<LocationId, std::vector<uint32_t>> nodes_;
  uint64_t sample_number_ = 0;
  std::vector<KeyId> path_;  // scratch of node_that_ran()
};

// The program that has the most of each key: samples are added program by program.
class ProgramShares {
public:
  ProgramShares(const Profile& profile, const FrameKeys& keys)
      : profile_(profile), keys_(keys), shares_(keys.size()) {}

  void add(const SampleCount& sample) {
    sample_number_++;
    // An amount of 0 would list the key in `touched_` once a sample.
    uint64_t amount = profile_.amount(sample);
    if (amount == 0)
      return;
    for (LocationId location : profile_.stack(sample.stack))
      for (KeyId key : keys_.of(location))
        add(key, amount);
  }

  // All samples of the program have been added.
  void end_program(size_t program) {
    for (KeyId key : touched_) {
      Share& share = shares_[to_index(key)];
      // The program is compared with the best one before it; its own amount starts again at 0
      // for the next.
      share.has_others |= share.most > 0;
      if (share.amount > share.most) {
        share.most = share.amount;
        share.program = program;
      }
      share.amount = 0;
    }
    touched_.clear();
  }

  std::vector<std::string> names(std::span<const ViewKey> programs) const {
    std::vector<std::string> names;
    for (const Share& share : shares_)
      names.push_back(share.most == 0
                          ? ""
                          : programs[share.program].text + (share.has_others ? ", …" : ""));
    return names;
  }

private:
  struct Share {
    uint64_t amount = 0;       // of the program whose samples are added
    uint64_t last_sample = 0;  // that counted for the key
    uint64_t most = 0;         // of those before
    size_t program = 0;        // that has it
    bool has_others = false;
  };

  void add(KeyId key, uint64_t amount) {
    Share& share = shares_[to_index(key)];
    if (std::exchange(share.last_sample, sample_number_) == sample_number_)
      return;
    if (share.amount == 0)
      touched_.push_back(key);
    share.amount += amount;
  }

  const Profile& profile_;
  const FrameKeys& keys_;
  std::vector<Share> shares_;   // of each key
  std::vector<KeyId> touched_;  // that the program has
  uint64_t sample_number_ = 0;
};

}  // namespace

Charge charge_for_people(const Profile& profile) {
  return is_of_waits(profile.event()) ? Charge::kWaiting : Charge::kInnermost;
}

std::vector<NestedTotal> nested_totals(const Profile& profile,
                                       std::span<const SampleCount> samples,
                                       std::span<const FrameKeys> dimensions) {
  NestedTotals totals(profile, dimensions);
  for (const SampleCount& sample : samples)
    totals.add(sample);
  return std::move(totals).take();
}

std::vector<Total> frame_totals(const Profile& profile, std::span<const SampleCount> samples,
                                const FrameKeys& keys, Charge charge) {
  Totals totals(profile, keys, charge);
  for (const SampleCount& sample : samples)
    totals.add(sample);
  // Amounts are subtracted from the largest number, so that the largest comes first; equal
  // ones are sorted by name, and do not depend on the order of samples.
  std::vector<Total> result = std::move(totals).finish();
  auto order = [&](const Total& total) {
    return std::tuple(UINT64_MAX - total.self, UINT64_MAX - total.total,
                      std::string_view(keys[total.key].text));
  };
  std::ranges::stable_sort(result, {}, order);
  return result;
}

std::vector<std::string> programs_of_keys(const Profile& profile,
                                          std::span<const SampleCount> samples,
                                          const FrameKeys& keys) {
  std::vector<SampleKeys> groups = program_groups(profile, samples);
  if (groups.empty())
    return {};
  const SampleKeys& programs = groups.front();
  // Program by program, one amount per key is enough: a table of keys by programs could have
  // millions of entries.
  std::vector<std::vector<uint32_t>> of_program(programs.keys.size());
  for (uint32_t i = 0; i < samples.size(); i++)
    of_program[to_index(programs.ids[i])].push_back(i);
  ProgramShares shares(profile, keys);
  for (size_t program = 0; program < of_program.size(); program++) {
    for (uint32_t sample : of_program[program])
      shares.add(samples[sample]);
    shares.end_program(program);
  }
  return shares.names(programs.keys);
}

std::string hottest_line(const Profile& profile, const Total& total) {
  if (total.function == ViewKey::kNoFunction)
    return {};
  std::string_view file = profile.strings[profile.functions[to_index(total.function)].file];
  if (file.empty())
    return {};
  // Builds of C have paths like "./malloc/./malloc.c": their "." and ".." only take room.
  std::string path = printable(std::filesystem::path(file).lexically_normal().native());
  return total.line == 0 ? path : fmt::format("{}:{}", path, total.line);
}

}  // namespace gosym
