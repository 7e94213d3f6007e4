#include "record/event_queue.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "base/text.h"

namespace gosym::event_queue_test {

namespace {

// Events are told apart by their numbers, which are those of processes.
ExitEvent event(uint64_t time, uint32_t number) {
  return {time, number, number};
}
CommEvent exec(uint64_t time, uint32_t pid) {
  return {time, pid, pid, "program", true};
}

// "10:1 12:2", of events as they come.
template <class Records>
std::string text_of(const Records& records) {
  std::vector<std::string> texts;
  for (const SidebandRecord& record : records)
    texts.push_back(fmt::format("{}:{}", time_of(record), std::get<ExitEvent>(record).pid));
  return joined(texts, " ");
}

std::string all_ready(EventQueue& queue) {
  EventQueue::Records taken;
  while (queue.has_ready())
    taken.push_back(queue.take());
  return text_of(taken);
}

std::string taken_up_to(EventQueue& queue, uint64_t until) {
  queue.make_ready(until);
  return all_ready(queue);
}

}  // namespace

TEST_CASE("event queue: without events") {
  EventQueue queue;
  CHECK_FALSE(queue.has_ready());
  CHECK(queue.add({}).empty());
  CHECK(taken_up_to(queue, 10).empty());
  CHECK(queue.taken_until() == 10);
  CHECK(queue.size() == 0);
  CHECK(queue.dropped() == 0);
}

TEST_CASE("event queue: what one CPU has may be older than what another had") {
  EventQueue queue;
  // CPU 0 told until 30, then CPU 1, which was read later.
  CHECK(text_of(queue.add({event(10, 1), event(30, 2), event(5, 3), event(35, 4)})) ==
        "5:3 10:1 30:2 35:4");
  // Rings that were read once more have older ones still.
  CHECK(text_of(queue.add({event(40, 5), event(20, 6)})) == "20:6 40:5");
  CHECK_FALSE(queue.has_ready());
  CHECK(queue.size() == 6);
  CHECK(taken_up_to(queue, 100) == "5:3 10:1 20:6 30:2 35:4 40:5");
  CHECK(queue.size() == 0);
}

TEST_CASE("event queue: who is younger than the account waits") {
  EventQueue queue;
  queue.add({event(20, 1), event(30, 2), event(10, 3)});
  CHECK(taken_up_to(queue, 9).empty());
  CHECK(taken_up_to(queue, 20) == "10:3 20:1");
  CHECK(queue.taken_until() == 20);
  queue.add({event(25, 4)});
  CHECK(taken_up_to(queue, 29) == "25:4");
  CHECK(taken_up_to(queue, 30) == "30:2");
}

TEST_CASE("event queue: events of one time stay as they came") {
  EventQueue queue;
  queue.add({event(10, 1), event(10, 2), event(9, 3)});
  queue.add({event(10, 4), event(9, 5)});
  CHECK(taken_up_to(queue, 10) == "9:3 9:5 10:1 10:2 10:4");
}

TEST_CASE("event queue: what comes while others are taken is ready the next time") {
  EventQueue queue;
  queue.add({event(10, 1), event(20, 2)});
  queue.make_ready(50);
  CHECK(time_of(queue.take()) == 10);
  queue.add({event(15, 3), event(30, 4)});
  CHECK(all_ready(queue) == "20:2");
  CHECK(queue.size() == 2);
  CHECK(taken_up_to(queue, 50) == "15:3 30:4");
}

TEST_CASE("event queue: those that were not taken in time are still there") {
  EventQueue queue;
  queue.add({event(10, 1), event(20, 2), event(20, 3), event(40, 4)});
  queue.make_ready(30);
  CHECK(queue.taken_until() == 9);
  queue.take();
  CHECK(queue.taken_until() == 19);
  queue.take();
  CHECK(queue.taken_until() == 19);  // another of that time is left
  queue.add({event(15, 5)});
  CHECK(taken_up_to(queue, 30) == "15:5 20:3");
  CHECK(queue.taken_until() == 30);
  CHECK(queue.size() == 1);
}

TEST_CASE("event queue: one that comes too late is given all the same") {
  EventQueue queue;
  queue.add({event(10, 1), event(20, 2)});
  CHECK(taken_up_to(queue, 20) == "10:1 20:2");
  queue.add({event(5, 3)});
  CHECK(taken_up_to(queue, 20) == "5:3");
}

TEST_CASE("event queue: its memory is bounded, and the newest are dropped") {
  EventQueue queue(4);
  queue.add({event(30, 1), event(10, 2)});
  CHECK(text_of(queue.add({event(50, 3), event(20, 4), event(40, 5)})) == "20:4 40:5");
  CHECK(queue.dropped() == 1);
  CHECK(queue.add({event(1, 6)}).empty());
  CHECK(queue.dropped() == 2);
  CHECK(queue.size() == 4);
  // Events keep their place until the next call of make_ready().
  queue.make_ready(20);
  queue.take();
  queue.add({event(2, 7)});
  CHECK(queue.dropped() == 3);
  CHECK(all_ready(queue) == "20:4");
  queue.make_ready(20);
  CHECK(text_of(queue.add({event(25, 8), event(60, 9), event(70, 10)})) == "25:8 60:9");
  CHECK(taken_up_to(queue, 100) == "25:8 30:1 40:5 60:9");
  CHECK(queue.dropped() == 4);
}

TEST_CASE("event queue: records of what the kernel had no room for stay in order") {
  EventQueue queue;
  queue.add({event(10, 1), LostRecords{.time = 20, .count = 7}, event(15, 2)});
  queue.make_ready(20);
  queue.take();
  CHECK(time_of(queue.take()) == 15);
  CHECK(std::get<LostRecords>(queue.take()).count == 7);
  CHECK(queue.dropped() == 0);  // they were lost before they came here
}

TEST_CASE("event queue: at the end nothing is left") {
  EventQueue queue;
  queue.add({event(UINT64_MAX, 1), event(10, 2)});
  queue.make_ready(5);
  CHECK(taken_up_to(queue, UINT64_MAX) == fmt::format("10:2 {}:1", UINT64_MAX));
  CHECK(queue.taken_until() == UINT64_MAX);
  CHECK(queue.size() == 0);
}

TEST_CASE("event queue: times that no clock shows") {
  EventQueue queue;
  queue.add({event(UINT64_MAX, 1), event(0, 2), event(0, 3), event(UINT64_MAX - 1, 4)});
  queue.make_ready(0);
  CHECK(queue.taken_until() == 0);  // nothing is before it
  CHECK(all_ready(queue) == "0:2 0:3");
  CHECK(taken_up_to(queue, UINT64_MAX - 1) == fmt::format("{}:4", UINT64_MAX - 1));
  CHECK(queue.size() == 1);
  // The time that make_ready() is given may go back.
  queue.add({event(7, 5)});
  CHECK(taken_up_to(queue, 7) == "7:5");
  CHECK(queue.taken_until() == 7);
}

TEST_CASE("event queue: an exec that waits") {
  EventQueue queue;
  queue.add({exec(20, 7), CommEvent{30, 8, 8, "name", false}});
  CHECK(queue.has_exec_after(7, 19));
  CHECK_FALSE(queue.has_exec_after(7, 20));
  CHECK_FALSE(queue.has_exec_after(8, 0));  // a new name only
  CHECK_FALSE(queue.has_exec_after(9, 0));
  queue.make_ready(20);
  CHECK(queue.has_exec_after(7, 19));
  queue.take();
  CHECK_FALSE(queue.has_exec_after(7, 19));
}

TEST_CASE("event queue: many events of many CPUs come out as if sorted at once") {
  std::mt19937 random(1);  // the same in each run
  std::vector<std::pair<uint64_t, uint32_t>> expected;
  EventQueue queue;
  std::vector<std::pair<uint64_t, uint32_t>> taken;
  uint32_t number = 0;
  constexpr uint64_t kLook = 100;  // time between two looks at the rings
  for (uint64_t begin = 0; begin < 50 * kLook; begin += kLook) {
    EventQueue::Records fresh;
    // Each ring is read a little later than the one before.
    for (uint64_t cpu = 0; cpu < 8; cpu++) {
      uint64_t time = begin + cpu;
      while (random() % 8 != 0 && time < begin + kLook) {
        expected.emplace_back(time, number);
        fresh.emplace_back(event(time, number++));
        time += random() % 20;
      }
    }
    queue.add(std::move(fresh));
    queue.make_ready(begin);
    while (queue.has_ready()) {
      SidebandRecord record = queue.take();
      taken.emplace_back(time_of(record), std::get<ExitEvent>(record).pid);
    }
  }
  queue.make_ready(UINT64_MAX);
  while (queue.has_ready()) {
    SidebandRecord record = queue.take();
    taken.emplace_back(time_of(record), std::get<ExitEvent>(record).pid);
  }
  std::ranges::sort(expected);
  CHECK(taken == expected);
}

}  // namespace gosym::event_queue_test
