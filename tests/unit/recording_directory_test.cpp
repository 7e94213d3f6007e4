#include "record/recording_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "temporary_directory.h"

namespace gosym::recording_directory_test {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHour = uint64_t{3600} * 1'000'000'000;

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

// A recording as far as its name and its first bytes tell, written so long ago.
void put_recording(const std::string& path, int64_t hours_ago, size_t size = 8) {
  write_file(path, "GOSYMRAW" + std::string(size, 'x'));
  timespec times[2] = {};
  times[0].tv_sec = times[1].tv_sec = std::time(nullptr) - hours_ago * 3600;
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.insert(entry.path().filename());
  return names;
}

// A directory that may be recorded into.
struct Place {
  TemporaryDirectory temporary;
  std::string path = temporary / "kept";
  Result<RecordingDirectory> directory = RecordingDirectory::open(path);

  DirectoryContents contents(Retention keep = {}) const {
    return {directory->fd().get(), keep, "web-1"};
  }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
};

std::string name_of_hours_ago(int64_t hours) {
  return make_recording_name("web-1", {std::time(nullptr) - hours * 3600, 1});
}

std::string message_of(const auto& result) {
  return result ? std::string() : result.error().message();
}

}  // namespace

TEST_CASE("how much is kept") {
  CHECK(parse_retention("24h") == Retention{24 * kHour, 0});
  CHECK(parse_retention("7d") == Retention{7 * 24 * kHour, 0});
  CHECK(parse_retention("10G") == Retention{0, uint64_t{10} << 30});
  CHECK(parse_retention("500M,90m") == Retention{kHour * 3 / 2, uint64_t{500} << 20});
  // A number alone could be either.
  CHECK(parse_retention("3600") == Retention{0, 3600});
  for (const char* wrong : {"", "0", "0h", "24h,7d", "1G,2G", "h", "-1h", "1G,", "9999999d"})
    CHECK_FALSE(parse_retention(wrong));
}

TEST_CASE("names of recordings") {
  NameOfRecording name{1'795'352'400, 1};
  CHECK(make_recording_name("web-1", name) == "web-1-20261122T130000Z.raw");
  CHECK(parse_recording_name("web-1-20261122T130000Z.raw") == name);
  CHECK(parse_recording_name("web-1.example.org-20261122T130000Z.2.raw") ==
        NameOfRecording{name.time, 2});
  name.number = 17;
  CHECK(make_recording_name("h", name) == "h-20261122T130000Z.17.raw");
  for (const char* wrong :
       {"", ".raw", "cpu.raw", "-20261122T130000Z.raw", "h-20261122T130000Z",
        "h20261122T130000Z.raw", "h-20261122T130000.raw", "h-2026x122T130000Z.raw",
        "h-20261122T130000Z.1.raw", "h-20261122T130000Z.x.raw", "h-20261122T130000Z.2.3.raw",
        ".h-20261122T130000Z.raw", "h-20261122T130000Z.raw.old"})
    CHECK_FALSE_MESSAGE(parse_recording_name(wrong), wrong);
}

TEST_CASE("a directory of ours") {
  Place place;
  REQUIRE(place.directory);
  struct stat status {};
  REQUIRE(stat(place.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0007) == 0);
  // As it is, and with a slash.
  CHECK(RecordingDirectory::open(place.path + "/"));

  SUBCASE("is not everybody's") {
    for (mode_t mode : {0755U, 0770U, 01777U, 0701U}) {
      chmod(place.path.c_str(), mode);
      CHECK(message_of(RecordingDirectory::open(place.path)).find("others") !=
            std::string::npos);
    }
  }
  SUBCASE("is no link") {
    fs::create_directory_symlink(place.path, place.temporary / "link");
    CHECK_FALSE(RecordingDirectory::open(place.temporary / "link"));
    CHECK_FALSE(RecordingDirectory::open((place.temporary / "link") + "/"));
  }
  SUBCASE("is no file") {
    write_file(place.temporary / "file", "");
    CHECK_FALSE(RecordingDirectory::open(place.temporary / "file"));
  }
  SUBCASE("has its lock where it says") {
    fs::create_symlink(place.temporary / "elsewhere", place / "recorder.lock");
    CHECK_FALSE(place.directory->lock(RecorderKind::kFlight));
    CHECK_FALSE(fs::exists(place.temporary / "elsewhere"));
  }
}

TEST_CASE("one recorder at a time") {
  Place place;
  REQUIRE(place.directory->lock(RecorderKind::kFlight));
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    auto again = RecordingDirectory::open(place.path);
    auto holder = recorder_of(place.path);
    bool is_refused = again && !again->lock(RecorderKind::kRotating) && holder &&
                      (*holder)->pid == getppid() && (*holder)->kind == RecorderKind::kFlight;
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a recording has its name when it can be read") {
  Place place;
  DirectoryContents contents = place.contents();
  std::set<std::string> names;
  for (int i = 0; i < 3; i++) {
    auto draft = contents.begin_recording();
    REQUIRE(draft.file);
    CHECK(!parse_recording_name(*names_in(place.path).begin()));
    names.insert(contents.publish());
  }
  CHECK(names.size() == 3);
  CHECK(names_in(place.path) == names);
  for (const std::string& name : names)
    CHECK(parse_recording_name(name));
  // One that is not published leaves nothing, nor does one whose recorder was killed.
  (void)contents.begin_recording();
  contents.drop_draft();
  CHECK(names_in(place.path) == names);
  (void)contents.begin_recording();
  CHECK(names_in(place.path).size() == 4);
  (void)place.contents();
  CHECK(names_in(place.path) == names);
}

TEST_CASE("the oldest go by age") {
  Place place;
  for (int64_t hours : {1, 2, 30, 40})
    put_recording(place / name_of_hours_ago(hours), hours);
  DirectoryContents contents = place.contents({.age_ns = 24 * kHour, .size = 0});
  contents.remove_old();
  CHECK(names_in(place.path) ==
        std::set<std::string>{name_of_hours_ago(1), name_of_hours_ago(2)});
}

TEST_CASE("the oldest go by size, but never the last") {
  Place place;
  constexpr size_t kLarge = 64 << 10;
  for (int64_t hours : {1, 2, 3, 4})
    put_recording(place / name_of_hours_ago(hours), hours, kLarge);
  place.contents({.age_ns = 0, .size = 3 * kLarge}).remove_old();
  CHECK(names_in(place.path) ==
        std::set<std::string>{name_of_hours_ago(1), name_of_hours_ago(2)});
  place.contents({.age_ns = 0, .size = 1}).remove_old();
  CHECK(names_in(place.path) == std::set<std::string>{name_of_hours_ago(1)});
}

TEST_CASE("nothing else is removed") {
  Place place;
  TemporaryDirectory outside;
  put_recording(outside / "victim", 100);
  std::string old = name_of_hours_ago(100);
  fs::create_symlink(outside / "victim", place / ("link-" + old));
  write_file(place / ("text-" + old), "not a recording");
  put_recording(place / "mine.raw", 100);
  put_recording(place / (old + ".old"), 100);
  fs::create_directory(place / ("folder-" + old));
  write_file(place / ".draft.tmp", "");
  mkfifo((place / ("fifo-" + old)).c_str(), 0600);
  timespec times[2] = {};
  utimensat(AT_FDCWD, (place / ("text-" + old)).c_str(), times, 0);
  auto before = names_in(place.path);
  put_recording(place / old, 100);

  Retention keep{.age_ns = kHour, .size = 1};
  DirectoryContents contents = place.contents(keep);
  contents.remove_old();
  CHECK(names_in(place.path) == before);
  CHECK(fs::exists(outside / "victim"));
}

TEST_CASE("one that is being recorded stays") {
  Place place;
  std::string old = name_of_hours_ago(100);
  DirectoryContents contents = place.contents({.age_ns = kHour, .size = 1});
  auto draft = contents.begin_recording();
  std::string name = contents.publish();
  fs::rename(place / name, place / old);
  fs::last_write_time(place / old, fs::file_time_type::clock::now() - std::chrono::hours(100));
  put_recording(place / name_of_hours_ago(2), 2);
  place.contents({.age_ns = kHour, .size = 0}).remove_old();
  CHECK(names_in(place.path) == std::set<std::string>{old});
}

TEST_CASE("files of the store are there as long as a recording needs them") {
  Place place;
  std::string id = "\x12\x34\x56\x78";
  std::string stored = place / "files/.build-id/12/345678";
  put_recording(place / name_of_hours_ago(30), 30);
  DirectoryContents contents = place.contents({.age_ns = 24 * kHour, .size = 0});
  CHECK_FALSE(contents.find_stored(id));
  UniqueFd file = contents.begin_stored(id);
  REQUIRE(file);
  CHECK_FALSE(fs::exists(stored));
  CHECK(contents.finish_stored());
  CHECK(fs::exists(stored));
  CHECK(contents.find_stored(id));

  SUBCASE("one that is used stays when older recordings go") {
    put_recording(place / name_of_hours_ago(1), 1);
    contents.remove_old();
    CHECK(fs::exists(stored));
  }
  SUBCASE("one that was used before all of them goes") {
    put_recording(place / name_of_hours_ago(1), 1);
    put_recording(stored, 30);
    contents.remove_old();
    CHECK_FALSE(fs::exists(stored));
  }
  SUBCASE("use is noted") {
    put_recording(stored, 30);
    CHECK(contents.find_stored(id));
    put_recording(place / name_of_hours_ago(1), 1);
    contents.remove_old();
    CHECK(fs::exists(stored));
  }
  SUBCASE("one that was not finished is not there") {
    REQUIRE(contents.begin_stored("\x12\xff"));
    contents.drop_stored();
    CHECK_FALSE(contents.find_stored("\x12\xff"));
    REQUIRE(contents.begin_stored("\x12\xff"));
    (void)place.contents();
    CHECK(names_in(place / "files/.build-id/12") == std::set<std::string>{"345678"});
  }
}

TEST_CASE("room is made by the oldest, if any are to be removed") {
  Place place;
  constexpr size_t kLarge = 64 << 10;
  for (int64_t hours : {1, 2, 3})
    put_recording(place / name_of_hours_ago(hours), hours, kLarge);
  CHECK_FALSE(place.contents().make_room(1));
  CHECK(names_in(place.path).size() == 3);
  CHECK(place.contents({.age_ns = 24 * kHour, .size = 0}).make_room(1));
  CHECK(names_in(place.path) ==
        std::set<std::string>{name_of_hours_ago(1), name_of_hours_ago(2)});
  CHECK(place.contents({.age_ns = 24 * kHour, .size = 0}).make_room(1 << 30));
  CHECK(names_in(place.path) == std::set<std::string>{name_of_hours_ago(1)});
}

}  // namespace gosym::recording_directory_test
