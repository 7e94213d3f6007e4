#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "output/json.h"
#include "output/table.h"
#include "profile/profile.h"

namespace gosym {

// A line through amounts at times, by least squares.
struct Slope {
  double per_second = 0;
  double error = 0;   // of that: in 95 of 100 cases it is off by less
  double chance = 1;  // that amounts which do not change look like it, or more so
};
// With fewer than kLeastHeapLooks amounts the error is infinite. Times are in seconds.
Slope slope_of(const std::vector<double>& times, const std::vector<double>& amounts);
inline constexpr size_t kLeastHeapLooks = 3;

// The memory in use of each stack, over several looks at the heap profile of one program.
class HeapGrowth {
public:
  // The first value of the profile's samples is the bytes in use. `time` is CLOCK_MONOTONIC in
  // nanoseconds, `collections` how many have ended by then.
  void add_look(const Profile& profile, uint64_t time, uint64_t collections);

  size_t looks() const { return times_.size(); }
  // One screen: what grows by more than chance, the most first.
  std::string text(const Screen& screen) const;
  // The fields of an object that was begun. This and text() need a look at least.
  void write(JsonWriter& json) const;

private:
  using Stack = std::vector<std::string>;  // functions, innermost first
  struct Row {
    const Stack* stack = nullptr;
    Slope slope;
    double last = 0;  // bytes in use at the last look
  };
  std::vector<Row> rows() const;

  std::vector<double> times_;  // seconds since the first look
  uint64_t begin_ = 0;
  std::vector<uint64_t> collections_;
  std::vector<double> totals_;
  std::map<Stack, std::vector<double>> bytes_;  // at each look
};

}  // namespace gosym
