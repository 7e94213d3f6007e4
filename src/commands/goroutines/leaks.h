#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "commands/goroutines/views.h"
#include "goroutine/place_history.h"
#include "output/json.h"

namespace gosym {

// Looks for goroutines that leak: that come and never leave again. Those that wait at one place
// are followed, by state, stack and place of birth; and those of one birth, wherever they wait,
// for one that goes on working in a loop leaks as well.
class LeakFinder {
public:
  // A look at the goroutines of one Go runtime, the same each time.
  void add_look(const NamedGoroutines& named, const GoroutineView& view);

  size_t looks() const { return totals_.size(); }
  bool has_leaks() const { return has_leaks(find()); }
  // The places that leak and that grow, the most first; `seconds` from the first look to the
  // last.
  std::string text(double seconds) const;
  void write(JsonWriter& json) const;

private:
  // Calls by their addresses, which are the same in each look.
  using PlaceKey = std::tuple<std::string, std::vector<uint64_t>, uint64_t>;
  struct Place {
    std::string state;                        // of one that was seen there last
    std::string stack;                        // as groups have it, with who created it
    std::vector<std::string> functions = {};  // innermost first
    std::string creator = {};
    uint64_t minutes = 0;  // that the one who waits longest has waited
    uint64_t birth = 0;
  };
  struct Found {
    Growth growth;
    const PlaceHistory* history;
    const Place* place;
  };
  // Places that leak stand first.
  std::vector<Found> find() const;
  static bool has_leaks(const std::vector<Found>& found);
  // The number of the place where it waits, in places_.
  uint32_t place_of(const NamedGoroutines& named, const Goroutine& goroutine, bool has_system);

  std::vector<uint64_t> totals_;  // of goroutines, at each look
  std::map<PlaceKey, uint32_t> place_numbers_;
  std::vector<Place> places_;
  PlaceHistories by_place_;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> birth_numbers_;  // by creator and start
  std::vector<std::optional<uint32_t>> births_;  // the place where one of it waited last
  PlaceHistories by_birth_;
};

}  // namespace gosym
