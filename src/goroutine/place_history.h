#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace gosym {

// A goroutine as one look found it.
struct SeenGoroutine {
  uint64_t number = 0;  // goid
  // Number of the place where it waits; none: it runs, and may come back to where it was.
  std::optional<uint32_t> place = {};
};

// The number of goroutines that waited at a place, look after look.
struct PlaceHistory {
  std::vector<uint64_t> counts;   // at each look
  std::vector<uint64_t> arrived;  // since the look before; of the first look, all
  uint64_t left = 0;              // goroutines that have ended, or wait elsewhere
};

enum class Growth : uint8_t {
  kNone,
  kGrows,  // more have come than have left, from each look to the next
  kLeaks,  // some have come from each look to the next, and none has left
};
// Fewer than kLeastLooks looks tell nothing.
Growth growth_of(const PlaceHistory& history);
inline constexpr size_t kLeastLooks = 3;

// Follows goroutines by their numbers, which are never given twice.
class PlaceHistories {
public:
  // In any order; places are numbered from 0 without gaps, as far as they are known by then.
  void add_look(std::span<const SeenGoroutine> look);

  // By number of the place.
  const std::vector<PlaceHistory>& places() const { return places_; }

private:
  struct Followed {
    uint32_t place = 0;
    size_t seen = 0;  // number of the look, from 1
  };
  PlaceHistory& history(uint32_t place);

  size_t looks_ = 0;
  std::map<uint64_t, Followed> followed_;  // by goid
  std::vector<PlaceHistory> places_;
};

}  // namespace gosym
