#include "goroutine/place_history.h"

namespace gosym {

Growth growth_of(const PlaceHistory& history) {
  if (history.counts.size() < kLeastLooks)
    return Growth::kNone;
  // A leak is told only if no goroutine ever left: one that leaves and is replaced by two
  // grows.
  bool arrives = true;
  bool grows = true;
  for (size_t i = 1; i < history.counts.size(); i++) {
    arrives = arrives && history.arrived[i] > 0;
    grows = grows && history.counts[i] > history.counts[i - 1];
  }
  if (arrives && history.left == 0)
    return Growth::kLeaks;
  return grows ? Growth::kGrows : Growth::kNone;
}

PlaceHistory& PlaceHistories::history(uint32_t place) {
  if (place >= places_.size())
    places_.resize(size_t{place} + 1);
  PlaceHistory& found = places_[place];
  found.counts.resize(looks_);
  found.arrived.resize(looks_);
  return found;
}

void PlaceHistories::add_look(std::span<const SeenGoroutine> look) {
  looks_++;  // history() gives each place room for this look, so that back() is its count
  for (const SeenGoroutine& seen : look) {
    auto known = followed_.find(seen.number);
    if (known == followed_.end()) {
      // A goroutine that runs is at no place, but has not left the one where it was seen last.
      if (!seen.place)
        continue;
      followed_[seen.number] = {*seen.place, looks_};
      history(*seen.place).arrived.back()++;
      continue;
    }
    known->second.seen = looks_;
    if (!seen.place || *seen.place == known->second.place)
      continue;
    // It waits elsewhere now: one less there, one more here.
    history(known->second.place).left++;
    history(*seen.place).arrived.back()++;
    known->second.place = *seen.place;
  }
  // A goroutine that was not seen in this look has ended: numbers are not used again.
  for (auto entry = followed_.begin(); entry != followed_.end();) {
    PlaceHistory& there = history(entry->second.place);
    bool has_ended = entry->second.seen != looks_;
    there.left += has_ended ? 1 : 0;
    there.counts.back() += has_ended ? 0 : 1;
    entry = has_ended ? followed_.erase(entry) : std::next(entry);
  }
  // history() adds a look to places that nobody is at.
  for (uint32_t place = 0; place < places_.size(); place++)
    history(place);
}

}  // namespace gosym
