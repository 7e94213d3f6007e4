#include <doctest/doctest.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "bytes.h"
#include "raw/messages.h"
#include "raw_files.h"

namespace gosym::raw_messages_test {

namespace {

std::string text_of(Bytes data) {
  return std::string(as_text(data));
}

template <class T>
T event_of(const Event& event) {
  REQUIRE(std::holds_alternative<T>(event));
  return std::get<T>(event);
}

std::vector<Event> decoded(const std::vector<Event>& events) {
  std::string payload;
  for (const Event& event : events)
    raw::append(event, payload);
  auto result = raw::decode_events(as_bytes(payload));
  REQUIRE(result);
  REQUIRE(result->size() == events.size());
  return *std::move(result);
}

}  // namespace

TEST_CASE("raw messages: every field of the info comes back") {
  RecordingInfo info = some_info();
  auto back = raw::decode_info(as_bytes(raw::encode(info)));
  REQUIRE(back);
  CHECK(back->gosym_version == info.gosym_version);
  CHECK(back->host == info.host);
  CHECK(back->kernel_release == info.kernel_release);
  CHECK(back->machine == info.machine);
  CHECK(back->command_line == info.command_line);
  CHECK(back->events == info.events);
  CHECK(back->cpu_count == info.cpu_count);
  CHECK(back->has_user);
  CHECK_FALSE(back->has_kernel);
  CHECK(back->is_system_wide);
  CHECK(back->targets == info.targets);
  CHECK(back->machine_id == info.machine_id);
}

TEST_CASE("raw messages: an info of too many events is refused") {
  RecordingInfo info;
  info.events.assign(raw::kMaxEvents, {"cs", 99, 0});
  CHECK(raw::decode_info(as_bytes(raw::encode(info)))->events.size() == raw::kMaxEvents);
  info.events.emplace_back();
  CHECK(raw::decode_info(as_bytes(raw::encode(info))).error().message() ==
        "65 events, where 64 are allowed");
}

TEST_CASE("raw messages: an absent field is 0, false or empty") {
  auto info = raw::decode_info({});
  REQUIRE(info);
  CHECK_FALSE(info->has_user);
  CHECK_FALSE(info->has_kernel);
  CHECK(info->events == std::vector<RecordedEvent>{{}});
  CHECK(info->targets.empty());
  CHECK(raw::decode_image({})->id == ImageId{0});
  CHECK(raw::decode_events({})->empty());
  CHECK(raw::decode_stats({})->samples == 0);
  CHECK(raw::decode_contents({})->empty());
  CHECK(*raw::decode_end({}) == 0);
}

TEST_CASE("raw messages: every field of an image comes back") {
  RecordedImage image = some_image();
  auto back = raw::decode_image(as_bytes(raw::encode(image)));
  REQUIRE(back);
  CHECK(back->id == image.id);
  CHECK(back->path == image.path);
  CHECK(back->device == image.device);
  CHECK(back->inode == image.inode);
  CHECK(back->size == image.size);
  CHECK(back->mtime_ns == image.mtime_ns);
  CHECK(back->is_deleted == image.is_deleted);
  CHECK(back->gnu_build_id == image.gnu_build_id);
  CHECK(back->go_build_id == image.go_build_id);
  CHECK(back->segments == image.segments);
  CHECK(back->problem == image.problem);
}

TEST_CASE("raw messages: every field of the events comes back, in their order") {
  std::vector<Event> events = decoded(some_events());
  auto map = event_of<MapEvent>(events[0]);
  CHECK(map.time == 10);
  CHECK(map.pid == 4242);
  CHECK(map.start == 0x400000);
  CHECK(map.length == 0x1000);
  CHECK(map.file_offset == 0x2000);
  CHECK(map.image == ImageId{7});
  CHECK(map.path == "/usr/bin/server");
  CHECK(event_of<MapEvent>(events[1]).path.empty());
  auto comm = event_of<CommEvent>(events[2]);
  CHECK(comm.time == 11);
  CHECK(comm.pid == 4242);
  CHECK(comm.tid == 4243);
  CHECK(comm.comm == "server");
  CHECK(comm.is_exec);
  auto fork = event_of<ForkEvent>(events[3]);
  CHECK(fork.time == 12);
  CHECK(fork.pid == 4244);
  CHECK(fork.tid == 4245);
  CHECK(fork.parent_pid == 4242);
  CHECK(fork.parent_tid == 4243);
  auto exit = event_of<ExitEvent>(events[4]);
  CHECK(exit.time == 13);
  CHECK(exit.pid == 4244);
  CHECK(exit.tid == 4245);
  auto code = event_of<KernelCodeEvent>(events[5]);
  CHECK(code.time == 14);
  CHECK(code.address == 0xffffffffc0201000);
  CHECK(code.length == 0x40);
  CHECK(code.name == "bpf_prog_1");
  CHECK(code.is_removed);
  auto cgroup = event_of<CgroupEvent>(events[6]);
  CHECK(cgroup.time == 15);
  CHECK(cgroup.id == 7);
  CHECK(cgroup.path == "/system.slice");
}

TEST_CASE("raw messages: the largest numbers and any bytes come back") {
  MapEvent event{UINT64_MAX,
                 UINT32_MAX,
                 UINT64_MAX,
                 UINT64_MAX,
                 UINT64_MAX,
                 ImageId{UINT32_MAX},
                 std::string("\0\xff\n", 3)};
  auto back = event_of<MapEvent>(decoded({event})[0]);
  CHECK(back.time == UINT64_MAX);
  CHECK(back.pid == UINT32_MAX);
  CHECK(back.start == UINT64_MAX);
  CHECK(back.length == UINT64_MAX);
  CHECK(back.file_offset == UINT64_MAX);
  CHECK(back.image == event.image);
  CHECK(back.path == event.path);

  RecordedImage image;
  for (int64_t mtime : {INT64_MIN, INT64_MAX}) {
    image.mtime_ns = mtime;
    CHECK(raw::decode_image(as_bytes(raw::encode(image)))->mtime_ns == mtime);
  }
}

TEST_CASE("raw messages: every field of a perf map comes back") {
  RecordedPerfMap map = some_perf_map();
  auto back = raw::decode_perf_map(as_bytes(raw::encode(map)));
  REQUIRE(back);
  CHECK(back->time == map.time);
  CHECK(back->pid == map.pid);
  CHECK(back->path == map.path);
  CHECK(back->text == map.text);
  CHECK(back->problem == map.problem);
  CHECK(back->marks == map.marks);
  CHECK(raw::decode_perf_map({})->text.empty());
}

TEST_CASE("raw messages: every field of a piece of a file comes back") {
  ImagePiece piece = some_piece();
  std::string payload = raw::encode(piece);
  auto back = raw::decode_piece(as_bytes(payload));
  REQUIRE(back);
  CHECK(back->image == piece.image);
  CHECK(back->offset == piece.offset);
  CHECK(back->bytes == piece.bytes);
  CHECK(back->total == piece.total);
  CHECK(back->problem == piece.problem);
  CHECK(back->stored_as == piece.stored_as);
  CHECK(raw::decode_piece({})->bytes.empty());
  for (size_t size = 0; size < payload.size(); size++) {
    auto prefix = raw::decode_piece(as_bytes(payload).first(size));
    CHECK((!prefix || piece.bytes == prefix->bytes || prefix->bytes.empty()));
  }
}

TEST_CASE("raw messages: statistics, kernel symbols and the end come back") {
  std::vector<CpuCounts> cpus = {{0, 1, 1, 0, 5, 6, 7}, {3, 1, 2, 4, 0}};
  auto stats = raw::decode_stats(as_bytes(raw::encode(RecordingStats{1, 2, 3, 4, cpus, 5})));
  REQUIRE(stats);
  CHECK(stats->cpus == cpus);
  CHECK(stats->time == 1);
  CHECK(stats->samples == 2);
  CHECK(stats->lost_samples == 3);
  CHECK(stats->lost_events == 4);
  CHECK(stats->charged_ns == 5);
  std::string symbols = "ffffffff81000000 T _text\n";
  CHECK(*raw::decode_contents(as_bytes(raw::encode_contents(symbols))) == symbols);
  CHECK(*raw::decode_end(as_bytes(raw::encode_end(UINT64_MAX))) == UINT64_MAX);
}

TEST_CASE("raw messages: the bytes are those of the format") {
  CHECK(raw::encode_end(300) == text_of(bytes(/*1: varint*/ 0x08, 0xac, 0x02)));
  std::string payload;
  raw::append(ExitEvent{1, 2, 3}, payload);
  CHECK(payload == text_of(bytes(/*4: bytes*/ 0x22, 6, 0x08, 1, 0x10, 2, 0x18, 3)));
  RecordedImage image;
  image.mtime_ns = -1;
  image.segments = {{.file_offset = 0, .file_size = 5}};
  CHECK(raw::encode(image) == text_of(bytes(/*6: zig-zag*/ 0x30, 1, /*10*/ 0x52, 2, 0x10, 5)));
}

TEST_CASE("raw messages: fields of a later version are skipped, old ones kept") {
  std::string payload = raw::encode(RecordingStats{1, 2, 3, 4, {}});
  protozero::pbf_writer out(payload);
  out.add_string(1, "the number of a field, but not its type");
  out.add_fixed64(2, 99);
  out.add_string(1000, "unknown");
  auto stats = raw::decode_stats(as_bytes(payload));
  REQUIRE(stats);
  CHECK(stats->time == 1);
  CHECK(stats->samples == 2);

  payload.clear();
  for (const Event& event : some_events())
    raw::append(event, payload);
  protozero::pbf_writer(payload).add_string(7, "an event of another kind");
  CHECK(raw::decode_events(as_bytes(payload))->size() == some_events().size());
}

TEST_CASE("raw messages: malformed ones are errors") {
  auto error = [](Bytes payload) { return raw::decode_stats(payload).error().message(); };
  CHECK(error(bytes(0x08)) == "malformed protobuf: end of buffer exception");
  CHECK(error(bytes(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)) ==
        "malformed protobuf: varint too long exception");
  CHECK(error(bytes(0x00, 1)) == "malformed protobuf: invalid tag exception");
  CHECK(error(bytes(0x0b)) == "malformed protobuf: unknown pbf field type exception");

  // A nested message that is longer than the one around it.
  CHECK_FALSE(raw::decode_image(bytes(0x52, 4, 0x08, 1)));
  CHECK_FALSE(raw::decode_image(bytes(0x52, 1, 0x08)));
  CHECK_FALSE(raw::decode_events(bytes(0x22, 1, 0x08)));
  CHECK_FALSE(raw::decode_info(bytes(0x5a, 1, 0x80)));
}

TEST_CASE("raw messages: no prefix gives an event that was not there") {
  std::string payload;
  std::vector<size_t> ends = {0};
  for (const Event& event : some_events()) {
    raw::append(event, payload);
    ends.push_back(payload.size());
  }
  for (size_t size = 0; size < payload.size(); size++) {
    CAPTURE(size);
    auto events = raw::decode_events(as_bytes(payload).first(size));
    auto end = std::ranges::find(ends, size);
    CHECK(bool(events) == (end != ends.end()));
    if (events)
      CHECK(static_cast<ptrdiff_t>(events->size()) == end - ends.begin());
  }
}

}  // namespace gosym::raw_messages_test
