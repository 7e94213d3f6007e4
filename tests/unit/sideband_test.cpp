#include <doctest/doctest.h>
#include <sys/sysmacros.h>

#include "bytes.h"
#include "record/perf/perf_ring.h"
#include "record/sideband_record.h"

namespace gosym::sideband_test {

namespace {

// The bytes of an integer, least significant first.
std::string u16(uint16_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
std::string u32(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
std::string u64(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
std::string padded(std::string text) {
  text.resize((text.size() / 8 + 1) * 8);
  return text;
}

constexpr uint64_t kTime = 0x1122334455667788;

std::string record(uint32_t type, uint16_t misc, const std::string& body) {
  std::string trailer = u32(1) + u32(2) + u64(kTime) + u64(5001);
  auto size = static_cast<uint16_t>(8 + body.size() + trailer.size());
  return u32(type) + u16(misc) + u16(size) + body + trailer;
}

std::string mapping() {
  return record(10, 2,
                u32(42) + u32(43) + u64(0x400000) + u64(0x84000) + u64(0x1000) + u32(0xfe) +
                    u32(1) + u64(99) + u64(7) + u32(5) + u32(2) + padded("/bin/server"));
}

template <class T>
T parse_as(const std::string& data) {
  auto parsed = parse_sideband_record(as_bytes(data));
  REQUIRE(parsed);
  REQUIRE(std::holds_alternative<T>(*parsed));
  CHECK(time_of(*parsed) == kTime);
  return std::get<T>(*parsed);
}

std::string message_of(const std::string& data) {
  auto parsed = parse_sideband_record(as_bytes(data));
  REQUIRE_FALSE(parsed);
  return parsed.error().message();
}

}  // namespace

TEST_CASE("side-band: a mapping") {
  auto parsed = parse_as<RawMapping>(mapping());
  CHECK(parsed.pid == 42);
  CHECK(parsed.start == 0x400000);
  CHECK(parsed.length == 0x84000);
  CHECK(parsed.file_offset == 0x1000);
  CHECK(parsed.file == FileKey{makedev(0xfe, 1), 99, 7});
  CHECK(parsed.path == "/bin/server");
}

TEST_CASE("side-band: names, forks, exits and losses") {
  auto comm = parse_as<CommEvent>(record(3, 0, u32(42) + u32(43) + padded("worker")));
  CHECK(comm.pid == 42);
  CHECK(comm.tid == 43);
  CHECK(comm.comm == "worker");
  CHECK_FALSE(comm.is_exec);
  CHECK(parse_as<CommEvent>(record(3, 1 << 13, u32(42) + u32(42) + padded("ls"))).is_exec);

  std::string four = u32(42) + u32(1) + u32(43) + u32(2) + u64(5);
  auto fork = parse_as<ForkEvent>(record(7, 0, four));
  CHECK(fork.pid == 42);
  CHECK(fork.parent_pid == 1);
  CHECK(fork.tid == 43);
  CHECK(fork.parent_tid == 2);
  auto exit = parse_as<ExitEvent>(record(4, 0, four));
  CHECK(exit.pid == 42);
  CHECK(exit.tid == 43);

  CHECK(parse_as<LostRecords>(record(2, 0, u64(1) + u64(17))).count == 17);
  parse_as<OtherRecord>(record(9, 0, ""));
}

TEST_CASE("side-band: the name of a thread, before a record is parsed") {
  std::string data = record(3, 0, u32(42) + u32(43) + padded("worker"));
  auto name = thread_name_in(as_bytes(data));
  REQUIRE(name);
  CHECK(name->tid == 43);
  CHECK(name->comm == "worker");
  CHECK(name->time == kTime);
  CHECK_FALSE(thread_name_in(as_bytes(mapping())));
  CHECK_FALSE(thread_name_in(as_bytes(record(3, 1 << 13, u32(42) + u32(43) + padded("ls")))));
  CHECK_FALSE(thread_name_in(as_bytes(record(3, 0, u32(42) + u32(43) + "endless!"))));
  for (size_t size = 0; size < data.size(); size++)
    if (auto cut = thread_name_in(as_bytes(data).first(size)))
      CHECK(cut->comm.size() <= size);
}

TEST_CASE("side-band: kernel code that comes and goes") {
  std::string body =
      u64(0xffffffffc0201000) + u32(0x5c) + u16(1) + u16(0) + padded("bpf_prog_1");
  auto loaded = parse_as<KernelCodeEvent>(record(17, 0, body));
  CHECK(loaded.address == 0xffffffffc0201000);
  CHECK(loaded.length == 0x5c);
  CHECK(loaded.name == "bpf_prog_1");
  CHECK_FALSE(loaded.is_removed);
  body[14] = 1;
  CHECK(parse_as<KernelCodeEvent>(record(17, 0, body)).is_removed);
}

TEST_CASE("side-band: kernel code that others were told of before") {
  for (std::string name : {"bpf_prog_1", "bpf_prog_12345"})
    for (size_t listeners : {0, 1, 2, 40}) {
      CAPTURE(listeners);
      std::string whole = record(17, 0, u64(64) + u32(8) + u16(1) + u16(0) + padded(name));
      whole += std::string(24 * listeners, '\0');
      whole.replace(6, 2, u16(static_cast<uint16_t>(whole.size())));
      CHECK(parse_as<KernelCodeEvent>(whole).name == name);
    }
  // Without the end of the text.
  CHECK_FALSE(parse_sideband_record(
      as_bytes(record(17, 0, u64(64) + u32(8) + u16(1) + u16(0) + "12345678"))));
}

TEST_CASE("side-band: cgroups that are made") {
  auto cgroup = parse_as<CgroupEvent>(record(19, 0, u64(77) + padded("/a.slice")));
  CHECK(cgroup.id == 77);
  CHECK(cgroup.path == "/a.slice");
}

TEST_CASE("side-band: where the kernel took no samples") {
  std::string body = u64(kTime) + u64(1) + u64(2);
  CHECK_FALSE(parse_as<ThrottleRecord>(record(5, 0, body)).is_over);
  CHECK(parse_as<ThrottleRecord>(record(6, 0, body)).is_over);
}

TEST_CASE("side-band: a thread that sleeps throttled loses no more than a tick") {
  constexpr uint64_t kBegin = 5'000'000'000;
  Throttling throttling;
  CHECK(throttling.ended_by({kBegin, true}) == 0);  // its start was not seen
  CHECK(throttling.ended_by({kBegin, false}) == 0);
  CHECK(throttling.ended_by({kBegin + 3'000'000, true}) == 3'000'000);
  CHECK(throttling.ended_by({kBegin, false}) == 0);
  CHECK(throttling.ended_by({kBegin + 700'000'000, true}) == 10'000'000);
  CHECK(throttling.ended_by({kBegin, false}) == 0);
  CHECK(throttling.ended_by({kBegin - 1, true}) == 0);  // rings are read side by side
}

TEST_CASE("side-band: no prefix of a record is taken for it") {
  std::string whole = mapping();
  for (size_t size = 0; size < whole.size(); size++) {
    CAPTURE(size);
    std::string prefix = whole.substr(0, size);
    CHECK_FALSE(first_record(as_bytes(prefix)));
    CHECK_FALSE(parse_sideband_record(as_bytes(prefix)));
  }
  CHECK(first_record(as_bytes(whole + "more"))->size() == whole.size());
}

TEST_CASE("side-band: a body too short for its type") {
  for (uint32_t type : {2u, 3u, 4u, 5u, 6u, 7u, 10u, 17u, 19u}) {
    CAPTURE(type);
    CHECK(message_of(record(type, 0, u32(1)))
              .starts_with(fmt::format(
                  "side-band record of type {}: malformed or cut short at byte ", type)));
  }
  CHECK(message_of(record(3, 0, u32(42) + u32(43) + "endless!")) ==
        "side-band record of type 3: malformed or cut short at byte 0x8 of 0x10");
}

TEST_CASE("side-band: a size that is not the record's") {
  std::string wrong = record(9, 0, "12345678");
  wrong[6] = 31;
  CHECK(message_of(wrong) == "side-band record: 0x28 bytes, its header says 0x1f");
  wrong = u32(9) + u16(0) + u16(24) + u64(0) + u64(0);  // no room for the trailer
  CHECK(message_of(wrong) == "side-band record: 0x18 bytes, its header says 0x18");
  wrong[6] = 7;  // less than a header: the ring could not be walked
  CHECK_FALSE(first_record(as_bytes(wrong)));
}

TEST_CASE("ring: bytes that run over its end come in one piece") {
  auto ring = bytes(0, 1, 2, 3, 4, 5, 6, 7);
  std::vector<std::byte> copy;
  auto read = [&](uint64_t from, uint64_t to) {
    Bytes piece = unwrap(ring, from, to, copy);
    return std::vector<std::byte>(piece.begin(), piece.end());
  };
  auto expect = [](auto array) { return std::vector<std::byte>(array.begin(), array.end()); };
  CHECK(read(0, 0).empty());
  CHECK(read(8, 8).empty());
  CHECK(read(2, 5) == expect(bytes(2, 3, 4)));
  CHECK(read(0, 8) == expect(ring));
  CHECK(read(14, 18) == expect(bytes(6, 7, 0, 1)));
  CHECK(read(13, 21) == expect(bytes(5, 6, 7, 0, 1, 2, 3, 4)));
  CHECK(read(UINT64_MAX - 1, 1) == expect(bytes(6, 7, 0)));
}

}  // namespace gosym::sideband_test
