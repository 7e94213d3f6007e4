#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "raw/sample_batch.h"
#include "raw/writer.h"
#include "temporary_directory.h"

// Recordings for the tests of raw/: each value of a kind that some field of it could be lost.

namespace gosym {

inline std::string contents(const std::string& path) {
  auto text = read_file(path, SIZE_MAX);
  REQUIRE(text);
  return *text;
}

inline RecordingInfo some_info() {
  RecordingInfo info;
  info.gosym_version = "0.1.0";
  info.host = "build-7";
  info.kernel_release = "6.1.0-13-amd64";
  info.machine = "x86_64";
  info.command_line = "gosym record -p 4242";
  info.events = {{"cpu-clock", 99, 10}, {"page-faults", 0, 1}};
  info.cpu_count = 64;
  info.has_kernel = false;
  info.is_system_wide = true;
  info.targets = {1, 4242, UINT32_MAX};
  info.machine_id = std::string("\0\xff", 2);
  return info;
}

inline RecordedImage some_image() {
  RecordedImage image;
  image.id = ImageId{7};
  image.path = "/usr/bin/server";
  image.device = 0xfe01;
  image.inode = 123456;
  image.size = 0x3000;
  image.mtime_ns = -1;
  image.is_deleted = true;
  image.gnu_build_id = std::string("\x00\xff\x80", 3);
  image.go_build_id = "abc/def";
  image.segments = {{0, 0x1000, 0x400000, 0x1000, 5}, {}, {0x1000, 0x20, 0x401000, 0x40, 6}};
  image.problem = "Permission denied";
  return image;
}

inline std::vector<Event> some_events() {
  return {
      MapEvent{10, 4242, 0x400000, 0x1000, 0x2000, ImageId{7}, "/usr/bin/server"},
      MapEvent{},
      CommEvent{11, 4242, 4243, "server", true},
      ForkEvent{12, 4244, 4245, 4242, 4243},
      ExitEvent{13, 4244, 4245},
      KernelCodeEvent{14, 0xffffffffc0201000, 0x40, "bpf_prog_1", true},
      CgroupEvent{15, 7, "/system.slice"},
  };
}

inline RecordedPerfMap some_perf_map() {
  return {150, 4242, "/tmp/perf-7.map", "1000 10 JS:*f\n", "too large", {{140, 0}, {145, 14}}};
}

inline ImagePiece some_piece() {
  return {ImageId{7}, 0x1000, std::string("\0piece", 6), 6, "too large"};
}

inline raw::SampleBatch some_samples() {
  static constexpr uint64_t kUser[] = {0x400010, 0x400020, 0x400030};
  static constexpr uint64_t kKernel[] = {0xffffffff81000010};
  raw::SampleBatch batch;
  for (uint64_t i = 0; i < 50; i++)
    batch.add({.time = 100 + i,
               .pid = 4242,
               .tid = 4243,
               .cpu = 1,
               .user_end = StackEnd::kRoot,
               .kernel_stack = std::span(kKernel).first(i % 2),
               .user_stack = std::span(kUser).first(i % 3 + 1)});
  return batch;
}

// A recording with one chunk of each type. Gives where each chunk ends.
inline std::vector<uint64_t> write_some(const std::string& path) {
  auto created = raw::Writer::create(path, some_info());
  REQUIRE(created);
  raw::Writer& writer = **created;
  std::vector<uint64_t> ends = {writer.bytes_written()};
  auto add = [&](Result<> done) {
    REQUIRE(done);
    ends.push_back(writer.bytes_written());
  };
  add(writer.write_image(some_image()));
  add(writer.write_events(some_events()));
  add(writer.write_samples(some_samples()));
  add(writer.write_kernel_symbols("ffffffff81000000 T _text\n"));
  add(writer.write_perf_map(some_perf_map()));
  add(writer.write_piece(some_piece()));
  add(writer.write_vdso("an image"));
  add(writer.write_stats(
      {.time = 200, .samples = 50, .lost_samples = 3, .lost_events = 4, .cpus = {}}));
  add(writer.write_end(201));
  return ends;
}

}  // namespace gosym
