#include "record/trigger.h"

#include <fstream>

#include "temporary_directory.h"

namespace gosym::trigger_test {

TEST_CASE("pressure") {
  constexpr std::string_view kText =
      "some avg10=0.00 avg60=0.00 avg300=0.00 total=4711\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
  CHECK(parse_pressure(kText, false) == 4711);
  CHECK(parse_pressure(kText, true) == 12);
  CHECK_FALSE(parse_pressure(kText.substr(0, kText.find('\n') + 1), true));
  CHECK_FALSE(parse_pressure("", false));
  CHECK_FALSE(parse_pressure("some total=", false));
  CHECK_FALSE(parse_pressure("some total=x", false));
}

TEST_CASE("ticks of CPUs") {
  CHECK(parse_cpu_ticks("cpu  1 2 3 40 50 6 7 8 9 10\ncpu0 1 1 1 1 1\n") == CpuTicks{27, 117});
  CHECK(parse_cpu_ticks("cpu  1 2 3 40 50") == CpuTicks{6, 96});
  for (const char* wrong :
       {"", "cpu", "cpu ", "cpu0 1 2 3 4 5 6", "cpu  1 2 3 4", "cpu  1 2 x 4 5"})
    CHECK_FALSE(parse_cpu_ticks(wrong));
}

TEST_CASE("what is waited for") {
  for (const char* good : {"cpu>80%", "cpu>0.5%", "file:/tmp/x"})
    CHECK_MESSAGE(Trigger::open(good), good);
  for (const char* wrong :
       {"", "cpu", "cpu>", "cpu>80", "cpu>x%", "cpu>-1%", "cpu<80%", "psi.cpu>30%",
        "psi.disk.some>30%", "psi.cpu.most>30%", "cgroup:x.cpu>2%", "cgroup:.cpu>2",
        "cgroup:x>2", "file:", "memory>1G", "cpu>nan%", "cpu>1e9%"})
    CHECK_FALSE_MESSAGE(Trigger::open(wrong), wrong);
}

TEST_CASE("a file that appears") {
  TemporaryDirectory place;
  auto trigger = Trigger::open("file:" + (place / "now"));
  REQUIRE(trigger);
  CHECK_FALSE(trigger->has_happened(1));
  std::ofstream(place / "now") << "";
  CHECK(trigger->has_happened(2));
  CHECK_FALSE(trigger->has_happened(3));
  std::filesystem::remove(place / "now");
  CHECK_FALSE(trigger->has_happened(4));
  std::ofstream(place / "now") << "";
  CHECK(trigger->has_happened(5));
}

}  // namespace gosym::trigger_test
