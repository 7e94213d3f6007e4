#include "goroutine/place_history.h"

#include <doctest/doctest.h>

namespace gosym::place_history_test {

namespace {

constexpr uint32_t kQueue = 0;
constexpr uint32_t kTimer = 1;

}  // namespace

TEST_CASE("place history: what comes from each look to the next and never leaves is a leak") {
  PlaceHistories histories;
  for (uint64_t look = 1; look <= 4; look++) {
    std::vector<SeenGoroutine> seen;
    for (uint64_t number = 1; number <= 10 * look; number++)
      seen.push_back({number, kQueue});
    CHECK((look == 1 || growth_of(histories.places()[kQueue]) ==
                            (look > kLeastLooks ? Growth::kLeaks : Growth::kNone)));
    histories.add_look(seen);
  }
  const PlaceHistory& queue = histories.places()[kQueue];
  CHECK(queue.counts == std::vector<uint64_t>{10, 20, 30, 40});
  CHECK(queue.arrived == std::vector<uint64_t>{10, 10, 10, 10});
  CHECK(queue.left == 0);
  CHECK(growth_of(queue) == Growth::kLeaks);
}

TEST_CASE(
    "place history: one that runs is where it was, and one that goes elsewhere has left") {
  PlaceHistories histories;
  histories.add_look(std::vector<SeenGoroutine>{{1, kQueue}, {2, kQueue}});
  histories.add_look(std::vector<SeenGoroutine>{{1, {}}, {2, kTimer}, {3, {}}, {4, kQueue}});
  histories.add_look(
      std::vector<SeenGoroutine>{{1, kQueue}, {2, kTimer}, {3, kQueue}, {4, kQueue}});
  const PlaceHistory& queue = histories.places()[kQueue];
  CHECK(queue.counts == std::vector<uint64_t>{2, 2, 3});
  CHECK(queue.left == 1);
  CHECK(growth_of(queue) == Growth::kNone);
  CHECK(histories.places()[kTimer].counts == std::vector<uint64_t>{0, 1, 1});
}

TEST_CASE(
    "place history: what grows though some leave is told apart, what comes and goes is not "
    "told") {
  PlaceHistories histories;
  uint64_t first = 1;
  for (uint64_t look = 1; look <= 4; look++) {
    std::vector<SeenGoroutine> seen;
    for (uint64_t number = first; number < first + 10 * look; number++)
      seen.push_back({number, kQueue});
    for (uint64_t number = 0; number < 5; number++)
      seen.push_back({1000 * look + number, kTimer});
    histories.add_look(seen);
    first++;
  }
  CHECK(growth_of(histories.places()[kQueue]) == Growth::kGrows);
  CHECK(growth_of(histories.places()[kTimer]) == Growth::kNone);
  CHECK(histories.places()[kTimer].left == 15);
}

TEST_CASE("place history: what came at once, or not in each of the times, is no leak") {
  PlaceHistories histories;
  std::vector<SeenGoroutine> seen = {{1, kQueue}, {2, kTimer}};
  for (int look = 0; look < 4; look++) {
    histories.add_look(seen);
    if (look == 1)
      seen.push_back({3, kTimer});
  }
  CHECK(growth_of(histories.places()[kQueue]) == Growth::kNone);
  CHECK(growth_of(histories.places()[kTimer]) == Growth::kNone);
}

}  // namespace gosym::place_history_test
