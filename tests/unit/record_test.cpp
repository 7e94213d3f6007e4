#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/exit_status.h"
#include "proc/process.h"
#include "record/event_type.h"
#include "record/files/file_helper.h"
#include "record/files/image_catalog.h"
#include "record/files/perf_maps.h"
#include "record/recorder.h"
#include "record/system_state.h"
#include "record/target.h"

namespace gosym::record_test {

namespace {

// The first executable mapping of this program's own file.
RawMapping own_mapping() {
  auto pid = static_cast<uint32_t>(getpid());
  struct stat self {};
  REQUIRE(stat("/proc/self/exe", &self) == 0);
  auto mappings = proc::mappings_of(pid);
  REQUIRE(mappings);
  for (const proc::MapsEntry& entry : *mappings)
    if (entry.is_executable && entry.inode == self.st_ino)
      return as_mapping(entry, pid, /*time=*/0);
  FAIL("this program is not mapped");
  return {};
}

}  // namespace

TEST_CASE("images: a file is identified once, by its headers") {
  ImageCatalog images;
  RawMapping mapping = own_mapping();
  ImageId id = images.identify(mapping).image;
  CHECK(id == ImageId{1});
  auto found = images.take_new();
  REQUIRE(found.size() == 1);
  CHECK(found[0].id == id);
  CHECK(found[0].path == mapping.path);
  CHECK(found[0].problem.empty());
  CHECK(found[0].segments.size() >= 2);
  CHECK_FALSE(found[0].is_deleted);

  CHECK(images.identify(mapping).image == id);
  CHECK(images.take_new().empty());
}

TEST_CASE("images: what no file backs is no image, and keeps its path") {
  ImageCatalog images;
  RawMapping mapping;
  mapping.path = "[vdso]";
  CHECK(images.identify(mapping).image == ImageId{});
  CHECK(images.take_new().empty());
  CHECK(event_of(mapping, {}).path == "[vdso]");
  CHECK(event_of(own_mapping(), ImageId{1}).path.empty());
  CHECK(event_of(own_mapping(), ImageId{1}).image == ImageId{1});
}

TEST_CASE("images: another file at the path is not taken for the mapped one") {
  ImageCatalog images;
  RawMapping mapping = own_mapping();
  mapping.start = 0;  // no such mapping: the path is all there is
  mapping.file.inode++;
  CHECK(images.identify(mapping).image == ImageId{1});
  CHECK(images.take_new().at(0).problem == "another file has its path now");

  mapping.file.inode++;
  mapping.path = "/nowhere (deleted)";
  images.identify(mapping);
  RecordedImage deleted = images.take_new().at(0);
  CHECK(deleted.problem == "deleted, and gosym cannot open it");
  CHECK(deleted.path == "/nowhere");
  CHECK(deleted.is_deleted);

  mapping.file.inode++;
  mapping.path = "/nowhere";
  images.identify(mapping);
  CHECK(images.take_new().at(0).problem == "cannot be found: No such file or directory");
}

TEST_CASE("images: only a regular file is opened") {
  RawMapping mapping = own_mapping();
  struct stat null {};
  REQUIRE(stat("/dev/null", &null) == 0);
  mapping.start = 0;
  mapping.path = "/dev/null";
  mapping.file = {.device = null.st_dev, .inode = null.st_ino};
  CHECK_FALSE(open_mapped_file(mapping));
}

namespace {

// The perf map that this process would have, which is removed at the end.
class OwnPerfMap {
public:
  ~OwnPerfMap() { std::filesystem::remove(path); }

  void write(std::string_view text) const {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << text;
  }
  std::optional<RecordedPerfMap> take() const {
    PerfMaps maps;
    std::optional<PerfMaps::Place> place;
    maps.notice(place, pid, 0);
    return maps.read(*place, pid, 7);
  }
  std::string problem() const {
    auto map = take();
    REQUIRE(map);
    CHECK(map->text.empty());
    return map->problem;
  }

  const uint32_t pid = static_cast<uint32_t>(getpid());
  const std::string path = fmt::format("/tmp/perf-{}.map", pid);
};

// A perf map of a process that, as the recorder knows, has code that no file holds.
class NoticedPerfMap : public OwnPerfMap {
public:
  NoticedPerfMap() { maps.notice(place, pid, 0); }

  PerfMaps maps;
  std::optional<PerfMaps::Place> place;
};

}  // namespace

TEST_CASE("perf maps: that of a process which may have one") {
  OwnPerfMap own;
  CHECK_FALSE(own.take());
  own.write("1000 10 f\n");
  auto map = own.take();
  REQUIRE(map);
  CHECK(map->time == 7);
  CHECK(map->pid == own.pid);
  CHECK(map->path == own.path);
  CHECK(map->text == "1000 10 f\n");
  CHECK(map->problem.empty());
}

TEST_CASE("perf maps: only a regular file of the process's own is used") {
  OwnPerfMap own;
  std::filesystem::create_symlink("/proc/self/status", own.path);
  CHECK(own.problem() == "not used: it is a symbolic link");
  std::filesystem::remove(own.path);
  REQUIRE(mkfifo(own.path.c_str(), 0600) == 0);
  CHECK(own.problem() == "not used: it is no regular file");
  std::filesystem::remove(own.path);
  REQUIRE(mkdir(own.path.c_str(), 0700) == 0);
  CHECK(own.problem() == "not used: it is no regular file");

  own.write("1000 10 f\n");
  const timespec old[] = {{1, 0}, {1, 0}};
  REQUIRE(utimensat(AT_FDCWD, own.path.c_str(), old, 0) == 0);
  CHECK(own.problem() == "not used: it is older than the process");
}

TEST_CASE("perf maps: what was written before an exec is not of the new program") {
  NoticedPerfMap own;
  own.write("1000 10 f\n");
  PerfMaps::renew(*own.place, monotonic_ns());
  CHECK_FALSE(own.maps.read(*own.place, own.pid, 7));  // it has no code yet

  PerfMaps::renew(*own.place, monotonic_ns() + 10'000'000'000);
  own.maps.notice(own.place, own.pid, 0);
  CHECK(own.maps.read(*own.place, own.pid, 7)->problem ==
        "not used: it is older than the process");
}

TEST_CASE("perf maps: only lines of a map are kept, and marks go with them") {
  NoticedPerfMap own;
  std::ofstream file(own.path, std::ios::binary);
  auto add = [&](std::string_view text) {
    file << text << std::flush;
    PerfMaps::watch(*own.place);
  };
  add("");
  add("1000 10 f\nroot:x:0:0:\n");
  add("1000 10 g\n1000");
  add(" 20 h\n");
  file << "1000 10 i\ntorn" << std::flush;
  auto map = own.maps.read(*own.place, own.pid, 7);
  REQUIRE(map);
  CHECK(map->text == "1000 10 f\n1000 10 g\n1000 20 h\n1000 10 i\n");
  std::vector<uint64_t> sizes;
  for (const PerfMapMark& mark : map->marks)
    sizes.push_back(mark.size);
  CHECK(sizes == std::vector<uint64_t>{0, 10, 20, 30, 40});
  CHECK(std::ranges::is_sorted(map->marks, {}, &PerfMapMark::time));

  // A map that is written anew has marks of its own.
  own.write("2000 10 f\n");
  PerfMaps::watch(*own.place);
  map = own.maps.read(*own.place, own.pid, 7);
  REQUIRE(map);
  CHECK(map->marks.size() == 1);
  CHECK(map->text == "2000 10 f\n");
}

TEST_CASE("perf maps: of a program that was left none is taken that was written since") {
  NoticedPerfMap own;
  own.write("1000 10 f\n");
  CHECK(own.maps.read_left(*own.place, own.pid, monotonic_ns())->text == "1000 10 f\n");
  CHECK_FALSE(own.maps.read_left(*own.place, own.pid, monotonic_ns() - 10'000'000'000));
}

TEST_CASE("perf maps: of many marks every second one is left out, and the last kept") {
  NoticedPerfMap own;
  std::ofstream file(own.path, std::ios::binary);
  for (int i = 0; i < 5000; i++) {
    file << "1000 10 f\n" << std::flush;
    PerfMaps::watch(*own.place);
  }
  CHECK(own.place->marks.size() > 500);
  CHECK(own.place->marks.size() <= 1024);
  CHECK(own.place->marks.back().size == 50'000);
}

TEST_CASE("perf maps: of a large one the end is used, from a whole line on") {
  OwnPerfMap own;
  constexpr size_t kLimit = (64 - 1) << 20;
  std::string line = "1000 10 name\n";
  std::string text;
  while (text.size() <= kLimit)
    text += line;
  own.write(text);
  auto map = own.take();
  REQUIRE(map);
  CHECK(map->problem == "too large: only the last 63.0 MiB of 63.0 MiB are used");
  CHECK(map->text.size() == kLimit / line.size() * line.size());
  CHECK(map->text.starts_with(line));
}

TEST_CASE("targets: commands are found as a shell finds them") {
  CHECK(find_executable("sh")->ends_with("/sh"));
  CHECK(*find_executable("/bin/sh") == "/bin/sh");
  CHECK(find_executable("/").error().exit_status() == kNotFound);
  auto missing = find_executable("no-such-command");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "'no-such-command': command not found");
  CHECK(missing.error().exit_status() == kNotFound);
  auto plain = find_executable("/proc/self/status");
  REQUIRE_FALSE(plain);
  CHECK(plain.error().message() == "'/proc/self/status': not executable");
  CHECK(plain.error().exit_status() == kNotExecutable);
}

TEST_CASE("targets: a process that is not there") {
  auto missing = open_process(0);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message() == "process 0 does not exist");
  CHECK(missing.error().exit_status() == kNoTarget);
  CHECK(open_process(static_cast<uint32_t>(getpid())));
}

TEST_CASE("targets: a held command runs when it is released, and tells its end") {
  auto exits = HeldCommand::start({"sh", "-c", "exit 7"});
  REQUIRE(exits);
  CHECK(exits->release());
  CHECK(exits->wait() == 7);

  auto killed = HeldCommand::start({"sh", "-c", "kill -KILL $$"});
  REQUIRE(killed);
  CHECK(killed->release());
  CHECK(killed->wait() == 128 + SIGKILL);

  CHECK_FALSE(HeldCommand::start({"no-such-command"}));
}

TEST_CASE("events: by the names that perf has for them") {
  for (const std::string& name : event_type_names()) {
    auto event = parse_event_type(name);
    REQUIRE(event);
    CHECK(event->name == name);
  }
  CHECK(parse_event_type("cs")->name == "context-switches");
  CHECK(parse_event_type("off-cpu")->source == EventSource::kOffCpu);
  CHECK(parse_event_type("off-cpu")->period == kDefaultWaitThreshold);
  CHECK(parse_event_type("r01C2")->config == 0x1c2);
  CHECK(parse_event_type("cpu-clock")->goes_on_idle);
  CHECK_FALSE(parse_event_type("page-faults")->goes_on_idle);
  for (const char* bad : {"", "r", "r0g", "r11111111111111111", "cycle", "r-1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_event_type(bad));
  }
  CHECK(parse_event_type("cycles:u").error().exit_status() == kUsage);
}

TEST_CASE("events: several of a recording, each once, and no more than four") {
  using Names = std::vector<std::string>;
  CHECK(parse_event_types(Names{})->empty());
  auto two = parse_event_types(Names{"cpu-clock", "faults"});
  REQUIRE(two);
  CHECK(two->at(0).name == "cpu-clock");
  CHECK(two->at(1).name == "page-faults");
  auto error = [](const Names& names) { return parse_event_types(names).error().message(); };
  CHECK(error({"page-faults", "faults"}) == "--event: page-faults is given twice");
  CHECK(error({"cs", "r1", "r2", "r3", "r4"}) ==
        "--event: 5 events, where a recording has 4 at most");
  CHECK(error({"cs", "sleeps"}).starts_with("--event: 'sleeps' is none of "));
}

}  // namespace gosym::record_test
