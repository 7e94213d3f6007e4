#include "goroutine/moving_goroutines.h"

#include <algorithm>
#include <utility>

// Places of the list are kept in two parts of one array, `by_rank_`: those that move, then
// those that rest. A place changes its part by being swapped with the one at the border, so
// that either part can be drawn from by number. Half of a look at the most is of those that
// move.

namespace gosym {

namespace {

// A goroutine that has not moved for so many looks, a second of them, rests: one that serves a
// request waits now and then, and on a busy machine nobody runs for a while.
constexpr uint32_t kLooksUntilRest = 97;

// A longer list would take too much memory, of what is sixteen bytes a goroutine.
constexpr uint64_t kMaxPlacesKnown = 1 << 20;

}  // namespace

std::vector<Chosen> choose_evenly(uint64_t size, uint64_t wanted, double random) {
  uint64_t count = std::min(size, wanted);
  std::vector<Chosen> chosen(count);
  // Each of the chosen stands for an equal part of the list, and lies anywhere in it: the same
  // random number for all parts keeps them equally far apart.
  double part = count == 0 ? 0 : static_cast<double>(size) / static_cast<double>(count);
  for (uint64_t i = 0; i < count; i++) {
    auto index = static_cast<uint64_t>((static_cast<double>(i) + random) * part);
    chosen[i] = {count == size ? i : std::min(index, size - 1), part};
  }
  return chosen;
}

std::vector<Chosen> choose_by_weight(std::span<const Chosen> some,
                                     std::span<const double> random) {
  if (some.size() <= random.size())
    return {some.begin(), some.end()};
  double total = 0;
  for (const Chosen& one : some)
    total += one.stands_for;
  double part = total / static_cast<double>(random.size());
  // All weights in a row make a line, which is cut into equal parts; each part has one random
  // point, and who lies there is chosen. One that is longer than a part may have several
  // points.
  // The first point makes an entry, for no place equals the last then.
  std::vector<Chosen> chosen;
  size_t at = 0;
  double end = some[0].stands_for;
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < random.size(); i++) {
    double point = (static_cast<double>(i) + random[i]) * part;
    for (; point >= end && at + 1 < some.size(); end += some[at].stands_for)
      at++;
    if (std::exchange(last, at) == at)
      chosen.back().stands_for += part;
    else
      chosen.push_back({some[at].index, part});
  }
  return chosen;
}

std::vector<Chosen> MovingGoroutines::choose(uint64_t length, uint64_t most, double random) {
  looks_++;
  grow_to(length);
  uint64_t resting = length - moving_;
  uint64_t of_moving = std::min<uint64_t>(moving_, most / 2);
  std::vector<Chosen> chosen = choose_evenly(resting, most - of_moving, random);
  // Each part is chosen from by rank. Where nothing is remembered, all rest, and a rank is a
  // place.
  for (Chosen& one : chosen)
    one.index = has_given_up_ ? one.index : by_rank_[moving_ + one.index];
  for (Chosen one : choose_evenly(moving_, of_moving, random))
    chosen.push_back({by_rank_[one.index], one.stands_for});
  return chosen;
}

bool MovingGoroutines::note(uint64_t place, uint32_t mark, bool may_rest) {
  if (has_given_up_ || place >= places_.size())
    return !may_rest;
  auto number = static_cast<uint32_t>(place);
  Place& at = places_[number];
  // 0 stands for a place that was not looked at yet.
  mark = std::max<uint32_t>(mark, 1);
  bool has_moved = !may_rest || (at.mark != 0 && at.mark != mark);
  at.mark = mark;
  if (has_moved) {
    at.moved_at = looks_;
    set_moving(number);
  } else if (looks_ - at.moved_at > kLooksUntilRest) {
    set_resting(number);
  }
  return is_moving(number);
}

// Goroutines that begin move; those that were there before the first look are taken to rest
// until they are looked at.
void MovingGoroutines::grow_to(uint64_t length) {
  // A list that shrinks is another one, as allgs only grows.
  if (length < places_.size() || length > kMaxPlacesKnown) {
    uint32_t looks = looks_;
    forget();
    looks_ = looks;
    has_given_up_ = true;
  }
  if (has_given_up_)
    return;
  bool is_first = places_.empty();
  for (auto place = static_cast<uint32_t>(places_.size()); place < length; place++) {
    places_.push_back({.moved_at = looks_, .rank = place});
    by_rank_.push_back(place);
    if (!is_first)
      set_moving(place);
  }
}

void MovingGoroutines::give_rank(uint32_t place, uint32_t rank) {
  by_rank_[rank] = place;
  places_[place].rank = rank;
}

void MovingGoroutines::set_moving(uint32_t place) {
  if (is_moving(place))
    return;
  uint32_t rank = places_[place].rank;
  give_rank(by_rank_[moving_], rank);
  give_rank(place, moving_++);
}

void MovingGoroutines::set_resting(uint32_t place) {
  if (!is_moving(place))
    return;
  uint32_t rank = places_[place].rank;
  give_rank(by_rank_[--moving_], rank);
  give_rank(place, moving_);
}

}  // namespace gosym
