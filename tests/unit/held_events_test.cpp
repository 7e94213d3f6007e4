#include <doctest/doctest.h>

#include "record/event_limits.h"
#include "record/held_events.h"

namespace gosym::held_events_test {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

RawMapping mapping(uint32_t pid, uint64_t time, uint64_t start, std::string path = "/bin/x") {
  return {.time = time,
          .pid = pid,
          .start = start,
          .length = 0x1000,
          .file_offset = 0,
          .file = {},
          .path = std::move(path)};
}

CommEvent exec(uint32_t pid, uint64_t time, std::string name) {
  return {time, pid, pid, std::move(name), true};
}
CommEvent rename(uint32_t pid, uint32_t tid, uint64_t time, std::string name) {
  return {time, pid, tid, std::move(name), false};
}
ForkEvent fork(uint32_t parent, uint32_t pid, uint64_t time) {
  return {time, pid, pid, parent, parent};
}

std::string text_of(const RawMapping& m) {
  return fmt::format("{}: {} maps {:#x} {}", m.time, m.pid, m.start, m.path);
}
std::string text_of(const CommEvent& e) {
  return fmt::format("{}: {}/{} {} {}", e.time, e.pid, e.tid, e.is_exec ? "runs" : "is",
                     e.comm);
}
std::string text_of(const ForkEvent& e) {
  return fmt::format("{}: {} forks {}", e.time, e.parent_pid, e.pid);
}
std::string text_of(const ExitEvent& e) {
  return fmt::format("{}: {}/{} ends", e.time, e.pid, e.tid);
}
template <class Other>
std::string text_of(const Other& e) {
  return fmt::format("{}: other", e.time);
}

struct Held {
  HeldEvents events;

  std::vector<std::string> add(SidebandRecord record) {
    HeldEvents::Records out;
    events.add(std::move(record), out);
    return texts(out);
  }
  std::vector<std::string> release(uint64_t until = UINT64_MAX) {
    HeldEvents::Records out;
    events.release(until, out);
    return texts(out);
  }
  static std::vector<std::string> texts(const HeldEvents::Records& records) {
    std::vector<std::string> result;
    for (const SidebandRecord& record : records)
      result.push_back(std::visit([](const auto& e) { return text_of(e); }, record));
    return result;
  }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("held events: of a process without samples nothing is given out") {
  Held held;
  held.events.give_out(1);
  CHECK(held.add(fork(1, 7, 10)).empty());
  CHECK(held.add(exec(7, 11, "ls")).empty());
  CHECK(held.add(mapping(7, 12, 0x1000)).empty());
  CHECK(held.add(ExitEvent{13, 7, 7}).empty());
  CHECK(held.release().empty());
  CHECK(held.events.is_over(7));
}

TEST_CASE("held events: with its first sample all is given out that counts") {
  Held held;
  held.events.give_out(1);
  held.add(fork(1, 7, 10));
  held.add(mapping(7, 11, 0x1000, "/bin/sh"));
  held.add(exec(7, 12, "ls"));
  held.add(mapping(7, 13, 0x1000, "/bin/ls"));
  held.add(rename(7, 7, 14, "lister"));
  held.events.want(7, 7, 15);
  CHECK(held.release(14).empty());  // what happened up to the sample is not there yet
  CHECK(held.release(15) ==
        Texts{"12: 7/7 runs ls", "13: 7 maps 0x1000 /bin/ls", "12: 7/7 is lister"});
  CHECK(held.events.take_unknown().empty());
  CHECK(held.add(mapping(7, 16, 0x5000)) == Texts{"16: 7 maps 0x5000 /bin/x"});
  CHECK(held.add(ExitEvent{17, 7, 7}) == Texts{"17: 7/7 ends"});
}

TEST_CASE("held events: a sample from before an exec has what was there then") {
  Held held;
  held.add(exec(1, 5, "sh"));
  held.add(mapping(1, 6, 0x1000, "/bin/sh"));
  held.events.want(7, 7, 11);
  CHECK(held.add(fork(1, 7, 10)).empty());
  CHECK(held.add(exec(7, 12, "ls")) == Texts{"10: 1 forks 7", "10: 7 maps 0x1000 /bin/sh",
                                             "10: 7/7 is sh", "12: 7/7 runs ls"});
}

TEST_CASE("held events: samples that come late have what was there before an exec and an end") {
  Held held;
  held.add(exec(1, 5, "sh"));
  held.add(mapping(1, 6, 0x1000, "/bin/sh"));
  held.add(fork(1, 7, 10));
  held.add(exec(7, 12, "ls"));
  held.add(mapping(7, 13, 0x1000, "/bin/ls"));
  held.add(ExitEvent{14, 7, 7});
  held.events.forget_until(10);
  held.events.want(7, 7, 11);
  CHECK(held.release() == Texts{"10: 1 forks 7", "10: 7 maps 0x1000 /bin/sh", "10: 7/7 is sh",
                                "12: 7/7 runs ls", "13: 7 maps 0x1000 /bin/ls",
                                "12: 7/7 is ls"});
  CHECK(held.events.is_over(7));

  held.add(fork(1, 8, 20));
  held.add(ExitEvent{21, 8, 8});
  held.events.want(8, 8, 20);
  CHECK(held.release() == Texts{"20: 1 forks 8", "20: 8 maps 0x1000 /bin/sh", "20: 8/8 is sh"});
  held.events.forget_until(21);
  held.events.want(8, 8, 22);
  CHECK(held.release().empty());
}

TEST_CASE("held events: samples of a program come after those of the next one") {
  Held held;
  held.add(exec(1, 5, "sh"));
  held.add(mapping(1, 6, 0x1000, "/bin/sh"));
  held.add(fork(1, 7, 10));
  held.add(exec(7, 12, "env"));
  held.add(mapping(7, 13, 0x1000, "/bin/env"));
  held.add(exec(7, 14, "ls"));
  held.add(mapping(7, 15, 0x1000, "/bin/ls"));
  held.events.want(7, 7, 16);
  CHECK(held.release() ==
        Texts{"14: 7/7 runs ls", "15: 7 maps 0x1000 /bin/ls", "14: 7/7 is ls"});
  held.events.forget_until(11);
  held.events.want(7, 7, 13);
  CHECK(held.release() ==
        Texts{"12: 7/7 runs env", "13: 7 maps 0x1000 /bin/env", "12: 7/7 is env"});
  held.events.want(7, 7, 13);
  CHECK(held.release().empty());
  SUBCASE("until all samples of it are here") {
    held.events.forget_until(12);
    held.events.want(7, 7, 11);
    CHECK(held.release().empty());
  }
  SUBCASE("of that before it as well") {
    held.events.want(7, 7, 11);
    CHECK(held.release() ==
          Texts{"10: 1 forks 7", "10: 7 maps 0x1000 /bin/sh", "10: 7/7 is sh"});
  }
}

TEST_CASE("held events: threads before an exec have their names") {
  Held held;
  held.events.give_out(1);
  held.add(ForkEvent{5, 1, 2, 1, 1});
  held.add(rename(1, 2, 6, "worker"));
  held.add(ExitEvent{9, 1, 2});
  held.add(exec(1, 10, "next"));
  held.events.want(1, 2, 7);
  CHECK(held.release() == Texts{"6: 1/2 is worker"});
}

TEST_CASE("held events: a process is named when its first thread has ended") {
  Held held;
  held.add(exec(7, 10, "server"));
  held.add(ForkEvent{11, 7, 8, 7, 7});
  held.add(rename(7, 8, 12, "worker"));
  held.add(ExitEvent{13, 7, 7});
  held.events.forget_until(20);
  CHECK_FALSE(held.events.is_over(7));
  held.events.want(7, 8, 21);
  CHECK(held.release() ==
        Texts{"10: 7/7 runs server", "10: 7/7 is server", "11: 7/8 is worker"});
}

TEST_CASE("held events: a number is that of another process soon after") {
  Held held;
  held.add(exec(1, 5, "sh"));
  held.add(fork(1, 7, 10));
  held.add(exec(7, 11, "ls"));
  held.add(mapping(7, 12, 0x1000, "/bin/ls"));
  held.add(ExitEvent{13, 7, 7});
  held.add(fork(1, 7, 20));
  held.add(exec(7, 21, "ps"));
  held.events.want(7, 7, 22);
  CHECK(held.release() == Texts{"21: 7/7 runs ps", "21: 7/7 is ps"});
  held.events.want(7, 7, 12);
  CHECK(held.release() == Texts{"11: 7/7 runs ls", "12: 7 maps 0x1000 /bin/ls", "11: 7/7 is ls",
                                "20: 1 forks 7", "20: 7/7 is sh"});
}

TEST_CASE("held events: programs that are left without end take bounded memory") {
  Held held;
  for (uint64_t time = 1; time <= 10'000; time++)
    held.add(exec(7, time, "loop"));
  held.events.want(7, 7, 1);
  CHECK(held.release().size() <= 2 * 201);
}

TEST_CASE(
    "held events: a mapping that another hides is known as long as samples may lie in it") {
  Held held;
  held.add(exec(7, 10, "x"));
  held.add(mapping(7, 11, 0x1000, "/lib/first"));
  held.add(mapping(7, 13, 0x1000, "/lib/second"));
  SUBCASE("its samples have come") {
    held.events.forget_until(13);
    held.add(mapping(7, 15, 0x5000, "/lib/other"));
    held.events.want(7, 7, 16);
    CHECK(held.release() == Texts{"10: 7/7 runs x", "13: 7 maps 0x1000 /lib/second",
                                  "15: 7 maps 0x5000 /lib/other", "10: 7/7 is x"});
  }
  SUBCASE("they have not") {
    held.events.forget_until(12);
    held.events.want(7, 7, 12);
    CHECK(held.release() == Texts{"10: 7/7 runs x", "11: 7 maps 0x1000 /lib/first",
                                  "13: 7 maps 0x1000 /lib/second", "10: 7/7 is x"});
  }
}

TEST_CASE("held events: of what a parent has mapped a child has what a part of it hides, too") {
  Held held;
  held.add(exec(1, 5, "server"));
  RawMapping large = mapping(1, 6, 0x1000, "/lib/large");
  large.length = 0x10000;
  held.add(large);
  held.add(fork(1, 7, 10));
  held.add(mapping(7, 11, 0x2000, "/lib/patch"));
  held.add(fork(7, 8, 12));
  held.events.want(8, 8, 14);
  CHECK(held.release() == Texts{"12: 7 forks 8", "12: 8 maps 0x1000 /lib/large",
                                "12: 8 maps 0x2000 /lib/patch", "12: 8/8 is server"});
}

TEST_CASE("held events: a thread has each name that it had for long enough") {
  constexpr uint64_t kLong = kShortNameTime;
  Held held;
  held.events.give_out(1);
  held.add(rename(1, 1, 0, "main"));
  held.add(ForkEvent{5, 1, 2, 1, 1});
  held.add(rename(1, 2, 6, "reader"));
  held.add(rename(1, 2, 5 + kLong, "parser"));
  held.add(rename(1, 2, 5 + 2 * kLong, "writer"));
  SUBCASE("its samples have not come") {
    held.events.want(1, 2, 7);
    CHECK(held.release() ==
          Texts{"5: 1/2 is reader", "1000005: 1/2 is parser", "2000005: 1/2 is writer"});
  }
  SUBCASE("some have") {
    held.events.forget_until(6 + kLong);
    held.add(rename(1, 2, 5 + 3 * kLong, "closer"));
    held.events.want(1, 2, 5 + 4 * kLong);
    CHECK(held.release() ==
          Texts{"1000005: 1/2 is parser", "2000005: 1/2 is writer", "3000005: 1/2 is closer"});
  }
  SUBCASE("there is no end to them") {
    for (uint64_t i = 3; i < 1000; i++)
      held.add(rename(1, 2, i * kLong, std::to_string(i)));
    held.events.want(1, 2, 7);
    Texts names = held.release();
    CHECK(names.size() == 64);
    CHECK(names.back().ends_with("is 999"));
  }
}

TEST_CASE("held events: a child that does not execute has its parent's mappings") {
  Held held;
  held.add(exec(1, 5, "server"));
  held.add(mapping(1, 6, 0x1000, "/bin/server"));
  held.add(fork(1, 7, 10));
  held.add(mapping(1, 11, 0x3000, "/lib/late"));
  held.add(fork(7, 8, 12));
  held.add(ExitEvent{13, 7, 7});
  held.events.forget(7);
  held.events.want(8, 8, 14);
  CHECK(held.release() ==
        Texts{"12: 7 forks 8", "12: 8 maps 0x1000 /bin/server", "12: 8/8 is server"});
  CHECK(held.events.take_unknown().empty());
}

TEST_CASE("held events: threads without samples have no names") {
  Held held;
  held.events.give_out(1);
  held.add(rename(1, 1, 4, "main"));
  CHECK(held.add(ForkEvent{5, 1, 2, 1, 1}).empty());
  CHECK(held.add(rename(1, 2, 6, "worker")).empty());
  held.events.want(1, 2, 7);
  CHECK(held.release() == Texts{"5: 1/2 is worker"});
  CHECK(held.add(rename(1, 2, 8, "worker")).empty());
  CHECK(held.add(rename(1, 2, 9, "writer")) == Texts{"9: 1/2 is writer"});
}

TEST_CASE("held events: what changes nothing is left out") {
  Held held;
  held.events.give_out(1);
  CHECK(held.add(mapping(1, 5, 0x1000, "/a")).size() == 1);
  CHECK(held.add(mapping(1, 6, 0x1000, "/a")).empty());
  CHECK(held.add(mapping(1, 7, 0x1000, "/b")).size() == 1);
  CHECK(held.add(mapping(1, 8, 0x1000, "/a")).size() == 1);
}

TEST_CASE("held events: who is not known, or not whole, is to be read of") {
  Held held;
  held.events.want(9, 9, 42);
  held.release();
  CHECK(held.events.take_unknown() == std::map<uint32_t, uint64_t>{{9, 42}});
  CHECK(held.events.take_unknown().empty());
  held.add(exec(3, 50, "x"));
  held.events.lose_track();
  held.events.want(3, 3, 60);
  held.release();
  CHECK(held.events.take_unknown() == std::map<uint32_t, uint64_t>{{3, 60}});
}

TEST_CASE("held events: many processes with many mappings take bounded memory") {
  Held held;
  std::string path(4000, 'x');
  for (uint32_t pid = 1; pid <= 1000; pid++) {
    held.add(exec(pid, 1, "x"));
    for (uint64_t i = 0; i < 100; i++)
      held.add(mapping(pid, 2, i << 12, path));
  }
  held.events.want(1000, 1000, 3);
  CHECK(held.release().size() < 100);
  CHECK(held.events.take_unknown().contains(1000));
}

TEST_CASE("event limits: a program with many libraries is heard, a loop is not") {
  EventLimits limits;
  int heard = 0;
  for (uint64_t i = 0; i < 100'000; i++)
    heard += limits.admit_mapping(1, kSecond + i * 1000);  // a million a second
  CHECK(heard >= 1000);
  CHECK(heard <= 1011);
  CHECK(limits.refused_count() == 100'000 - static_cast<uint64_t>(heard));
  CHECK(limits.take_refused() == std::set<uint32_t>{1});
  CHECK(limits.take_refused().empty());
  CHECK(limits.admit_mapping(1, 2 * kSecond));
  CHECK(limits.admit_mapping(2, kSecond));
}

TEST_CASE("event limits: children have no more than their parent left") {
  EventLimits limits;
  for (int i = 0; i < 2000; i++)
    limits.admit_mapping(1, kSecond);
  limits.fork(1, 2);
  CHECK_FALSE(limits.admit_mapping(2, kSecond));
  limits.exec(2);
  CHECK(limits.admit_mapping(2, kSecond));
}

}  // namespace gosym::held_events_test
