#include "live/rotation.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

#include "raw/reader.h"
#include "raw/replay_recording.h"
#include "raw/sample_batch.h"
#include "temporary_directory.h"

namespace gosym::rotation_test {

// The sink of a recorder that tells what a test says.

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kCode = 0x400000;

// Files in a directory, the first few of which may be had.
class TestFiles : public RotationFiles {
public:
  UniqueFd begin_recording(uint64_t) override {
    if (refusal != 0) {
      errno = refusal;
      return {};
    }
    names.push_back(place / fmt::format("{}.raw", names.size()));
    return UniqueFd(open(names.back().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  std::string publish() override { return names.back(); }
  void drop() override { names.pop_back(); }
  bool find_stored(std::string_view id) override {
    used.push_back(std::string(id));
    return stored.contains(std::string(id));
  }
  UniqueFd begin_stored(std::string_view id) override {
    draft = id;
    return UniqueFd(
        open((place / "draft").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  }
  bool finish_stored(bool is_whole) override {
    if (is_whole)
      stored[draft] = std::filesystem::file_size(place / "draft");
    return is_whole;
  }
  bool make_room(uint64_t) override { return false; }

  TemporaryDirectory place;
  std::vector<std::string> names;
  int refusal = 0;
  std::string draft;
  std::map<std::string, uint64_t> stored;  // sizes, by id
  std::vector<std::string> used;
};

struct Rotation {
  TestFiles files;
  std::vector<std::string> told;
  std::set<uint32_t> ended;
  RotatingSink sink{RecordingInfo{}, "DIR", files,
                    [this](const std::string& what) { told.push_back(what); },
                    [this](uint32_t pid) { return ended.contains(pid); }};

  void add_samples(const std::vector<uint32_t>& pids, uint64_t time) {
    raw::SampleBatch batch;
    const uint64_t stack[] = {kCode};
    for (uint32_t pid : pids)
      batch.add(
          {.time = time, .pid = pid, .tid = pid, .kernel_stack = {}, .user_stack = stack});
    REQUIRE(sink.write_samples(batch));
  }
  void add_events(const std::vector<Event>& events) { REQUIRE(sink.write_events(events)); }
  void reach(uint64_t time, uint64_t samples = 0) {
    REQUIRE(sink.write_stats({.time = time, .samples = samples}));
  }
  // "1 sh in /bin/sh", once for each process of a file that has samples.
  std::vector<std::string> lines_of(size_t file) const {
    auto recording = raw::read(files.names.at(file));
    REQUIRE(recording);
    auto replayed = replay(*recording, {}, {});
    REQUIRE(replayed);
    const Profile& profile = replayed->profile;
    std::vector<std::string> lines;
    for (const SampleCount& sample : profile.samples) {
      const Owner& owner = profile.owner(sample);
      std::string line = fmt::format("{} {}", owner.pid, profile.strings[owner.comm]);
      for (LocationId id : profile.stack(sample.stack)) {
        MappingId mapping = profile.locations[to_index(id)].mapping;
        line +=
            " in " + (mapping == kNoMapping ? "nothing" : profile.image_of(mapping).file.path);
      }
      lines.push_back(line);
    }
    std::ranges::sort(lines);
    return lines;
  }
};

MapEvent map_of(uint32_t pid, uint64_t time, ImageId image) {
  return {.time = time,
          .pid = pid,
          .start = kCode,
          .length = 0x1000,
          .file_offset = 0,
          .image = image,
          .path = {}};
}

RecordedImage image_of(uint32_t id, std::string path) {
  RecordedImage image;
  image.id = ImageId{id};
  image.path = std::move(path);
  image.size = 100;
  image.gnu_build_id = std::string(20, static_cast<char>('a' + id));
  return image;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("each file can be read alone") {
  Rotation rotation;
  RotatingSink& sink = rotation.sink;
  REQUIRE(sink.begin());
  REQUIRE(sink.write_image(image_of(1, "/bin/sh")));
  REQUIRE(sink.write_image(image_of(2, "/bin/cat")));
  rotation.add_events({CommEvent{kSecond, 1, 1, "sh", false}, map_of(1, kSecond, ImageId{1}),
                       CommEvent{kSecond, 2, 2, "cat", false}, map_of(2, kSecond, ImageId{2})});
  rotation.reach(2 * kSecond);
  rotation.add_samples({1, 2}, 3 * kSecond);
  rotation.reach(4 * kSecond, 2);
  REQUIRE(sink.rotate());
  // In the second file the shell has a sample, and then becomes something else.
  rotation.add_samples({1}, 5 * kSecond);
  rotation.add_events(
      {CommEvent{6 * kSecond, 1, 1, "cat", true}, map_of(1, 6 * kSecond, ImageId{2})});
  rotation.add_samples({1}, 7 * kSecond);
  rotation.reach(8 * kSecond, 4);
  REQUIRE(sink.rotate());
  rotation.add_samples({1}, 9 * kSecond);
  rotation.reach(10 * kSecond, 5);
  REQUIRE(sink.write_end(10 * kSecond));

  CHECK(rotation.lines_of(0) == Texts{"1 sh in /bin/sh", "2 cat in /bin/cat"});
  CHECK(rotation.lines_of(1) == Texts{"1 cat in /bin/cat", "1 sh in /bin/sh"});
  CHECK(rotation.lines_of(2) == Texts{"1 cat in /bin/cat"});
  // Counts and times are those of the file.
  auto second = raw::read(rotation.files.names[1]);
  CHECK(second->begin_time == 4 * kSecond);
  CHECK(second->end_time == 8 * kSecond);
  CHECK(second->stats.samples == 2);
  CHECK(second->images.size() == 2);
  CHECK(raw::read(rotation.files.names[2])->images.size() == 1);
}

TEST_CASE("a file has the time that was charged in it, if that is known of both its ends") {
  Rotation rotation;
  RotatingSink& sink = rotation.sink;
  auto count = [&](uint64_t samples, uint64_t charged_ns) {
    REQUIRE(sink.write_stats(
        {.time = samples * kSecond, .samples = samples, .charged_ns = charged_ns}));
  };
  REQUIRE(sink.begin());
  count(1, 0);
  count(2, 20);
  REQUIRE(sink.rotate());
  count(3, 0);
  count(4, 50);
  REQUIRE(sink.rotate());
  count(5, 0);
  REQUIRE(sink.rotate());
  count(6, 80);
  REQUIRE(sink.write_end(6 * kSecond));
  auto charged_in = [&](size_t file) {
    return raw::read(rotation.files.names.at(file))->stats.charged_ns;
  };
  CHECK(charged_in(0) == 20);
  CHECK(charged_in(1) == 30);
  CHECK(charged_in(2) == 0);
  CHECK(charged_in(3) == 0);
}

TEST_CASE(
    "an event of before the first sample of a file changes what was, not what comes before") {
  Rotation rotation;
  REQUIRE(rotation.sink.begin());
  REQUIRE(rotation.sink.write_image(image_of(1, "/bin/sh")));
  REQUIRE(rotation.sink.write_image(image_of(2, "/bin/cat")));
  rotation.add_events({CommEvent{kSecond, 1, 1, "sh", false}, map_of(1, kSecond, ImageId{1})});
  rotation.reach(2 * kSecond);
  REQUIRE(rotation.sink.rotate());
  // Events come before the samples of their time.
  rotation.add_events(
      {CommEvent{6 * kSecond, 1, 1, "cat", true}, map_of(1, 6 * kSecond, ImageId{2})});
  rotation.add_samples({1}, 5 * kSecond);
  rotation.add_samples({1}, 7 * kSecond);
  rotation.reach(8 * kSecond, 2);
  REQUIRE(rotation.sink.write_end(8 * kSecond));
  CHECK(rotation.lines_of(1) == Texts{"1 cat in /bin/cat", "1 sh in /bin/sh"});
}

TEST_CASE("processes that have ended are forgotten, but not those with late samples") {
  Rotation rotation;
  REQUIRE(rotation.sink.begin());
  REQUIRE(rotation.sink.write_image(image_of(1, "/bin/sh")));
  rotation.add_events({CommEvent{kSecond, 1, 1, "sh", false}, map_of(1, kSecond, ImageId{1})});
  rotation.add_samples({1}, 2 * kSecond);
  rotation.reach(3 * kSecond, 1);
  rotation.ended = {1};
  REQUIRE(rotation.sink.rotate());
  rotation.add_samples({1}, 3 * kSecond);
  rotation.reach(4 * kSecond, 2);
  REQUIRE(rotation.sink.rotate());
  rotation.reach(5 * kSecond, 2);
  REQUIRE(rotation.sink.rotate());
  rotation.add_samples({1}, 6 * kSecond);
  rotation.reach(7 * kSecond, 3);
  REQUIRE(rotation.sink.write_end(7 * kSecond));
  CHECK(rotation.lines_of(1) == Texts{"1 sh in /bin/sh"});
  CHECK(rotation.lines_of(3) == Texts{"1 :1 in nothing"});
}

TEST_CASE("files of programs go into the store, once") {
  Rotation rotation;
  RotatingSink& sink = rotation.sink;
  REQUIRE(sink.begin());
  RecordedImage known = image_of(1, "/bin/sh");
  RecordedImage without_id = image_of(2, "/bin/cat");
  without_id.gnu_build_id.clear();
  REQUIRE(sink.write_image(known));
  REQUIRE(sink.write_image(without_id));
  REQUIRE(sink.write_piece(
      {.image = known.id, .offset = 0, .bytes = "abc", .total = 6, .problem = {}}));
  CHECK(rotation.files.stored.empty());
  REQUIRE(sink.write_piece(
      {.image = known.id, .offset = 50, .bytes = "def", .total = 0, .problem = {}}));
  CHECK(rotation.files.stored == std::map<std::string, uint64_t>{{known.gnu_build_id, 100}});
  REQUIRE(sink.write_piece(
      {.image = without_id.id, .offset = 0, .bytes = "abc", .total = 3, .problem = {}}));
  // Beyond the file, or more than was announced: it is not kept.
  RecordedImage bad = image_of(3, "/bin/bad");
  REQUIRE(sink.write_image(bad));
  REQUIRE(sink.write_piece(
      {.image = bad.id, .offset = 98, .bytes = "abc", .total = 3, .problem = {}}));
  CHECK(rotation.files.stored.size() == 1);

  rotation.add_events({map_of(1, kSecond, known.id)});
  rotation.reach(2 * kSecond);
  REQUIRE(sink.rotate());
  // The next recording needs it as soon as it has the image.
  rotation.files.used.clear();
  rotation.add_samples({1}, 3 * kSecond);
  CHECK(rotation.files.used == Texts{known.gnu_build_id});
  rotation.reach(4 * kSecond, 1);
  REQUIRE(sink.write_end(4 * kSecond));
  auto first = raw::read(rotation.files.names[0]);
  CHECK(first->piece_chunks.size() == 1);
  CHECK(raw::read(rotation.files.names[1])->piece_chunks.empty());
}

TEST_CASE("a disk that is full is waited for") {
  Rotation rotation;
  RotatingSink& sink = rotation.sink;
  REQUIRE(sink.begin());
  REQUIRE(sink.write_image(image_of(1, "/bin/sh")));
  rotation.add_events({CommEvent{kSecond, 1, 1, "sh", false}, map_of(1, kSecond, ImageId{1})});
  rotation.reach(2 * kSecond);
  rotation.files.refusal = ENOSPC;
  REQUIRE(sink.rotate());
  rotation.add_samples({1, 1}, 3 * kSecond);
  rotation.reach(4 * kSecond, 2);
  CHECK(sink.dropped_samples() == 2);
  CHECK(rotation.told.size() == 1);
  REQUIRE(sink.rotate());  // still full, and said once
  CHECK(rotation.told.size() == 1);
  rotation.files.refusal = 0;
  REQUIRE(sink.rotate());
  CHECK(rotation.told.size() == 2);
  rotation.add_samples({1}, 5 * kSecond);
  rotation.reach(6 * kSecond, 3);
  REQUIRE(sink.write_end(6 * kSecond));
  CHECK(rotation.lines_of(1) == Texts{"1 sh in /bin/sh"});
  auto after = raw::read(rotation.files.names[1]);
  CHECK(after->stats.samples == 1);
  CHECK(after->stats.lost_samples == 2);
}

TEST_CASE("a file that begins by itself has what its samples need") {
  Rotation rotation;
  RotatingSink& sink = rotation.sink;
  REQUIRE(sink.begin());
  REQUIRE(sink.write_image(image_of(1, "/bin/sh")));
  rotation.add_events({CommEvent{kSecond, 1, 1, "sh", false}, map_of(1, kSecond, ImageId{1})});
  rotation.reach(2 * kSecond);
  rotation.files.refusal = ENOSPC;
  REQUIRE(sink.rotate());
  rotation.files.refusal = 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // until it is tried again
  rotation.add_samples({1}, 3 * kSecond);
  rotation.reach(4 * kSecond, 1);
  REQUIRE(sink.write_end(4 * kSecond));
  CHECK(rotation.lines_of(1) == Texts{"1 sh in /bin/sh"});
  CHECK(raw::read(rotation.files.names[1])->stats.samples == 1);
  CHECK(sink.dropped_samples() == 0);
}

TEST_CASE("a directory that is gone ends the recording") {
  Rotation rotation;
  REQUIRE(rotation.sink.begin());
  rotation.files.refusal = ENOENT;
  auto rotated = rotation.sink.rotate();
  REQUIRE_FALSE(rotated);
  CHECK(rotated.error().message().find("'DIR' is gone") != std::string::npos);
}

}  // namespace gosym::rotation_test
