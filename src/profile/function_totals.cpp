#include "profile/function_totals.h"

#include <algorithm>
#include <tuple>

#include "base/sequence_pool.h"

namespace gosym {

namespace {

class Totals {
public:
  explicit Totals(const Profile& profile)
      : profile_(profile), weights_(profile.locations.size()) {
    for (const Location& location : profile.locations)
      add_rows(location);
  }

  void add(const SampleCount& sample) {
    sample_number_++;
    uint64_t amount = profile_.amount(sample);
    std::span<const LocationId> stack = profile_.stack(sample.stack);
    if (!stack.empty()) {
      weights_[to_index(stack.front())].self += amount;
      totals_[rows_of(stack.front()).front()].self += amount;
    }
    for (LocationId location : stack) {
      weights_[to_index(location)].total += amount;
      for (uint32_t row : rows_of(location))
        if (std::exchange(last_sample_[row], sample_number_) != sample_number_)
          totals_[row].total += amount;
    }
  }

  std::vector<FunctionTotal> finish() && {
    find_hottest_lines();
    std::erase_if(totals_, [](const FunctionTotal& total) { return total.total == 0; });
    return std::move(totals_);
  }

private:
  // Not the file: a function whose code is of several, by #include, is one all the same.
  struct Key {
    StringId name;
    uint32_t is_named;  // 0 or 1: as wide as the others, for it is hashed with them
    uint32_t unnamed;
    uint32_t image;
    bool operator==(const Key&) const = default;
  };
  struct LineKey {
    uint32_t row;
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

  // Which rows a sample at this location counts for: one a frame, innermost first.
  void add_rows(const Location& location) {
    uint32_t image = profile_.mappings[to_index(location.mapping)].image;
    for (const Frame& frame : profile_.frames_of(location))
      rows_.push_back(row({name_of(frame.function), 1, 0, image}, frame.function));
    if (location.frame_count == 0 && location.unnamed != Unnamed::kLeftOut)
      rows_.push_back(row({StringId{}, 0, static_cast<uint32_t>(location.unnamed), image},
                          FunctionTotal::kNone));
    rows_begin_.push_back(rows_.size());
  }

  StringId name_of(FunctionId function) const {
    return profile_.functions[to_index(function)].name;
  }

  uint32_t row(const Key& key, FunctionId function) {
    auto [slot, is_new] = row_of_.try_emplace(key, static_cast<uint32_t>(totals_.size()));
    if (is_new) {
      totals_.push_back({function, static_cast<Unnamed>(key.unnamed), key.image});
      last_sample_.push_back(0);
    }
    return slot->second;
  }

  std::span<const uint32_t> rows_of(LocationId id) const {
    size_t begin = rows_begin_[to_index(id)];
    return std::span(rows_).subspan(begin, rows_begin_[to_index(id) + 1] - begin);
  }

  // The line with the most samples of its own; where there are none, that with the most calls.
  void find_hottest_lines() {
    tsl::robin_map<LineKey, Weight, BytesHash> lines;
    std::vector<Weight> hottest(totals_.size());
    for (size_t i = 0; i < profile_.locations.size(); i++) {
      std::span<const Frame> frames = profile_.frames_of(profile_.locations[i]);
      std::span<const uint32_t> rows = rows_of(static_cast<LocationId>(i));
      for (size_t depth = 0; depth < frames.size(); depth++) {
        Weight& weight = lines[{rows[depth], frames[depth].function, frames[depth].line}];
        weight.self += depth == 0 ? weights_[i].self : 0;
        weight.total += weights_[i].total;
        if (!(hottest[rows[depth]] < weight))
          continue;
        hottest[rows[depth]] = weight;
        totals_[rows[depth]].function = frames[depth].function;
        totals_[rows[depth]].hottest_line = frames[depth].line;
      }
    }
  }

  const Profile& profile_;
  std::vector<Weight> weights_;  // of each location
  std::vector<uint32_t> rows_;   // of location i: [rows_begin_[i], rows_begin_[i + 1])
  std::vector<size_t> rows_begin_ = {0};
  std::vector<FunctionTotal> totals_;  // a row each
  std::vector<uint64_t> last_sample_;  // that counted for the row
  tsl::robin_map<Key, uint32_t, BytesHash> row_of_;
  uint64_t sample_number_ = 0;
};

}  // namespace

std::vector<FunctionTotal> function_totals(const Profile& profile) {
  Totals totals(profile);
  for (const SampleCount& sample : profile.samples)
    totals.add(sample);
  std::vector<FunctionTotal> result = std::move(totals).finish();

  auto order = [&](const FunctionTotal& total) {
    std::string_view name;
    if (total.is_named())
      name = profile.strings[profile.functions[to_index(total.function)].name];
    return std::tuple(UINT64_MAX - total.self, UINT64_MAX - total.total, name);
  };
  std::ranges::stable_sort(result, {}, order);
  return result;
}

}  // namespace gosym
