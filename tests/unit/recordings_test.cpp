#include "commands/recordings.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "temporary_directory.h"

namespace gosym::recordings_test {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// 2026-11-22T13:00:00Z
constexpr uint64_t kNow = uint64_t{1'795'352'400} * kSecond;

// The zone is three hours ahead of UTC.
struct InZone {
  InZone() {
    setenv("TZ", "XXX-3", 1);
    tzset();
  }
  ~InZone() {
    unsetenv("TZ");
    tzset();
  }
};

std::string utc(std::string_view text) {
  auto moment = parse_moment(text, kNow);
  return moment ? moment_text(*moment) : "none";
}

}  // namespace

TEST_CASE("moments as people write them") {
  InZone zone;
  CHECK(utc("-10m") == "2026-11-22T12:50:00Z");
  CHECK(utc("-90") == "2026-11-22T12:58:30Z");
  CHECK(utc("-2d") == "2026-11-20T13:00:00Z");
  // It is four in the afternoon here.
  CHECK(utc("14:02") == "2026-11-22T11:02:00Z");
  CHECK(utc("16:00") == "2026-11-22T13:00:00Z");
  CHECK(utc("16:00:01") == "2026-11-21T13:00:01Z");
  CHECK(utc("02:00:30") == "2026-11-21T23:00:30Z");
  CHECK(utc("12:59Z") == "2026-11-22T12:59:00Z");
  CHECK(utc("13:01Z") == "2026-11-21T13:01:00Z");
  CHECK(utc("2026-11-22") == "2026-11-21T21:00:00Z");
  CHECK(utc("2026-11-22T14:02") == "2026-11-22T11:02:00Z");
  CHECK(utc("2026-11-22 14:02:30") == "2026-11-22T11:02:30Z");
  CHECK(utc("2026-11-22T14:02:30Z") == "2026-11-22T14:02:30Z");
  CHECK(utc("20261122T140230Z") == "2026-11-22T14:02:30Z");
  CHECK(utc("20261122") == "2026-11-21T21:00:00Z");
  for (const char* wrong : {"", "-", "now", "14", "14:", "24:00", "14:60", "1:30", "14:02:3",
                            "Z", "2026-13-01", "2026-11-22T", "2026-11-22X14:02", "2026-1122",
                            "-1w", "-99999d", "14:02:30x", "2026-11-22T14:02:30ZZ"})
    CHECK_MESSAGE(utc(wrong) == "none", wrong);
}

TEST_CASE("spans") {
  auto span = parse_span("12:00Z..12:10Z", kNow);
  REQUIRE(span);
  CHECK(span->until - span->since == 600 * kSecond);
  CHECK(parse_span("..12:10Z", kNow)->since == 0);
  CHECK(parse_span("-10m..", kNow)->until == UINT64_MAX);
  for (const char* wrong : {"", "12:00Z", "12:10Z..12:00Z", "12:00Z..x", "12:00Z..12:00Z"})
    CHECK_FALSE_MESSAGE(parse_span(wrong, kNow), wrong);
}

TEST_CASE("recordings of a time and a host") {
  TemporaryDirectory place;
  for (const char* name :
       {"web-1-20261122T120000Z.raw", "web-2-20261122T120000Z.raw", "mine.raw",
        "web-1-20261122T120000Z.raw.old", ".web-1-20261122T120000Z.raw"}) {
    std::ofstream(place / name) << "x";
    // They were written for a minute.
    timespec times[2] = {};
    times[0].tv_sec = times[1].tv_sec = static_cast<time_t>(kNow / kSecond) - 3540;
    utimensat(AT_FDCWD, (place / name).c_str(), times, 0);
  }
  auto count = [&](const WantedRecordings& wanted) {
    auto found = find_recordings({place / ""}, wanted);
    return found ? found->size() : 0;
  };
  uint64_t noon = kNow - 3600 * kSecond;
  CHECK(count({}) == 3);
  CHECK(count({.span = {noon + 30 * kSecond, noon + 40 * kSecond}}) == 3);
  // What a name does not tell is read.
  CHECK(count({.span = {noon + 120 * kSecond, UINT64_MAX}}) == 1);
  CHECK(count({.span = {0, noon}}) == 1);
  CHECK(count({.hosts = {"web-1"}}) == 2);
  CHECK(count({.hosts = {"web"}}) == 1);
}

TEST_CASE("the store of a directory is that of its files, too") {
  TemporaryDirectory place;
  CHECK(stores_beside({place / "a.raw", place / ""}).empty());
  std::ofstream(place / "a.raw") << "x";
  std::filesystem::create_directories(place / "files/.build-id");
  CHECK(stores_beside({place / "a.raw", place / ""}) ==
        std::vector<std::string>{place / "files"});
}

}  // namespace gosym::recordings_test
