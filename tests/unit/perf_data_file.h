#pragma once

#include <linux/perf_event.h>
#include <zstd.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Builds perf.data files for tests, byte by byte.

namespace gosym::perf_data_test {

// Integers, least significant byte first.
inline std::string u32(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
inline std::string u64(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
inline std::string padded(std::string text) {
  text.resize((text.size() / 8 + 1) * 8);
  return text;
}

inline constexpr uint64_t kKernel = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
inline constexpr uint64_t kUser = static_cast<uint64_t>(PERF_CONTEXT_USER);
inline constexpr uint64_t kGuest = static_cast<uint64_t>(PERF_CONTEXT_GUEST);
inline constexpr uint64_t kDeferred = static_cast<uint64_t>(-640);

inline constexpr uint32_t kPid = 42;
inline constexpr uint32_t kTid = 43;
inline constexpr uint64_t kTime = 1'000'000;

inline std::string record(uint32_t type, uint16_t misc, const std::string& body) {
  auto size = static_cast<uint16_t>(8 + body.size());
  return u32(type) + std::string(reinterpret_cast<const char*>(&misc), 2) +
         std::string(reinterpret_cast<const char*>(&size), 2) + body;
}

inline perf_event_attr clock_attr() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof(attr);
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = 99;
  attr.sample_id_all = 1;
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                     PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_CALLCHAIN;
  return attr;
}

inline std::string bytes_of(const perf_event_attr& attr) {
  return {reinterpret_cast<const char*>(&attr), sizeof(attr)};
}

// A sample of an event as clock_attr() has it.
inline std::string trailer(uint64_t time = kTime, uint64_t id = 1) {
  return u32(kPid) + u32(kTid) + u64(time) + u64(3) + u64(id);
}

inline std::string sample(const std::vector<uint64_t>& chain, uint64_t id = 1,
                          const std::string& more = {}) {
  std::string body = u64(id) + u64(0x401000) + u32(kPid) + u32(kTid) + u64(kTime) + u64(3) +
                     u64(5) + u64(chain.size());
  for (uint64_t address : chain)
    body += u64(address);
  return record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body + more);
}

inline std::string mapping(const std::string& path) {
  return record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
                u32(kPid) + u32(kPid) + u64(0x400000) + u64(0x10000) + u64(0) + u32(0xfe) +
                    u32(1) + u64(99) + u64(7) + u32(5) + u32(2) + padded(path) + trailer(0));
}

struct File {
  std::vector<std::pair<perf_event_attr, std::vector<uint64_t>>> attrs = {{clock_attr(), {1}}};
  std::string records = {};
  std::map<uint32_t, std::string> features = {};

  std::string text() const {
    constexpr uint64_t kHeader = 104;
    constexpr uint64_t kEntry = sizeof(perf_event_attr) + 16;
    uint64_t ids_begin = kHeader + attrs.size() * kEntry;
    std::string entries;
    std::string ids;
    for (const auto& [attr, numbers] : attrs) {
      entries += bytes_of(attr) + u64(ids_begin + ids.size()) + u64(8 * numbers.size());
      for (uint64_t id : numbers)
        ids += u64(id);
    }
    uint64_t begin = ids_begin + ids.size();
    uint64_t end = begin + records.size();
    std::array<uint64_t, 4> bits{};
    std::string sections;
    std::string contents;
    for (const auto& [feature, bytes] : features) {
      bits[feature / 64] |= uint64_t{1} << feature % 64;
      sections += u64(end + 16 * features.size() + contents.size()) + u64(bytes.size());
      contents += bytes;
    }
    std::string header = "PERFILE2" + u64(kHeader) + u64(kEntry) + u64(kHeader) +
                         u64(entries.size()) + u64(begin) + u64(records.size()) + u64(0) +
                         u64(0);
    for (uint64_t word : bits)
      header += u64(word);
    return header + entries + ids + records + sections + contents;
  }
};

inline std::string text_feature(std::string text) {
  text = padded(std::move(text));
  return u32(static_cast<uint32_t>(text.size())) + text;
}

inline std::string packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

}  // namespace gosym::perf_data_test
