#include <doctest/doctest.h>

#include "bytes.h"
#include "record/perf/call_chain_sampler.h"

namespace gosym::call_chain_test {

namespace {

constexpr uint64_t kKernel = static_cast<uint64_t>(-128);
constexpr uint64_t kUser = static_cast<uint64_t>(-512);
constexpr uint64_t kGuest = static_cast<uint64_t>(-2048);

std::string u32(uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
std::string u64(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string record(const std::string& body, uint32_t type = 9) {
  return u32(type) + u32(static_cast<uint32_t>(8 + body.size()) << 16 | 2) + body;
}

std::string origin() {
  return u64(5001) + u32(42) + u32(43) + u64(0x1122334455667788) + u64(777);
}

std::string chain(const std::vector<uint64_t>& entries) {
  std::string text = u64(entries.size());
  for (uint64_t entry : entries)
    text += u64(entry);
  return text;
}

std::string registers(uint64_t abi, uint64_t stack_pointer = 0x7ffc00) {
  std::string general = u64(1) + u64(4) + u64(3) + u64(2) + u64(5) + u64(6);
  std::string further =
      u64(9) + u64(10) + u64(11) + u64(12) + u64(13) + u64(14) + u64(15) + u64(16);
  return u64(abi) + general + u64(0x7ffc10) + u64(stack_pointer) + u64(0x4000) + further;
}

std::string stack(uint64_t taken) {
  return u64(16) + u64(0xaa) + u64(0xbb) + u64(taken);
}

std::string good() {
  return record(origin() + chain({kKernel, 0xffffffff81000010, kUser, 0x4000, 0x4100, 0}) +
                registers(2) + stack(16));
}

CallChain parse(const std::string& data) {
  auto parsed = parse_call_chain(as_bytes(data), true);
  REQUIRE(parsed);
  return *parsed;
}

std::string message_of(const std::string& data) {
  auto parsed = parse_call_chain(as_bytes(data), true);
  REQUIRE_FALSE(parsed);
  return parsed.error().message();
}

}  // namespace

TEST_CASE("call chain: at a fixed period the kernel does not tell it") {
  std::string data = record(u64(5001) + u32(42) + u32(43) + u64(7) + chain({kUser, 0x4000}) +
                            registers(2) + stack(16));
  auto sample = parse_call_chain(as_bytes(data), false);
  REQUIRE(sample);
  CHECK(sample->period == 0);
  CHECK(sample->user_stack == std::vector<uint64_t>{0x4000});
  CHECK_FALSE(event_id_of(as_bytes(data).first(15)));
}

TEST_CASE("call chain: a sample in the kernel") {
  CHECK(is_call_chain(as_bytes(good())));
  CallChain sample = parse(good());
  CHECK(event_id_of(as_bytes(good())) == 5001);
  CHECK(sample.pid == 42);
  CHECK(sample.tid == 43);
  CHECK(sample.time == 0x1122334455667788);
  CHECK(sample.period == 777);
  CHECK(sample.kernel_stack == std::vector<uint64_t>{0xffffffff81000010});
  CHECK(sample.user_stack == std::vector<uint64_t>{0x4000, 0x4100});
  CHECK(sample.registers == std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 0x7ffc10, 0x7ffc00, 9, 10,
                                                  11, 12, 13, 14, 15, 16});
  CHECK(sample.frame_pointer == 0x7ffc10);
  CHECK(sample.stack_pointer == 0x7ffc00);
  CHECK(sample.top == std::vector<uint64_t>{0xaa, 0xbb});
}

TEST_CASE("call chain: a kernel thread has no registers and no stack") {
  CallChain sample = parse(record(origin() + chain({kKernel, 1}) + u64(0) + u64(0)));
  CHECK(sample.kernel_stack == std::vector<uint64_t>{1});
  CHECK(sample.user_stack.empty());
  CHECK(sample.stack_pointer == 0);
  CHECK(sample.top.empty());
}

TEST_CASE("call chain: only the parts of the kernel and the user count") {
  CallChain sample = parse(record(origin() + chain({7, kGuest, 8, kUser, 9, kGuest, 10}) +
                                  registers(2) + stack(16)));
  CHECK(sample.kernel_stack.empty());
  CHECK(sample.user_stack == std::vector<uint64_t>{9});
}

TEST_CASE("call chain: of the stack only what was taken counts, in words") {
  auto top = [](uint64_t abi, uint64_t taken) {
    return parse(record(origin() + chain({}) + registers(abi) + stack(taken))).top.size();
  };
  CHECK(top(2, 0) == 0);
  CHECK(top(2, 8) == 1);
  CHECK(top(2, 15) == 1);
  CHECK(top(2, 17) == 2);
  CHECK(top(2, UINT64_MAX) == 2);
  CHECK(top(1, 16) == 0);  // of 32 bits
}

TEST_CASE("call chain: words are those of the stack though its pointer is no multiple of 8") {
  std::string text = record(origin() + chain({}) + registers(2, 0x7ffc06) + u64(16) +
                            std::string(2, '\1') + u64(0xaa) + std::string(6, '\1') + u64(16));
  CallChain sample = parse(text);
  CHECK(sample.stack_pointer == 0x7ffc00);
  CHECK(sample.misaligned == 6);
  CHECK(sample.top == std::vector<uint64_t>{0x0101000000000000, 0xaa});
}

TEST_CASE("call chain: no prefix of a record is taken for it") {
  std::string whole = good();
  for (size_t size = 0; size < whole.size(); size++) {
    CAPTURE(size);
    std::string prefix = whole.substr(0, size);
    CHECK_FALSE(parse_call_chain(as_bytes(prefix), true));
    if (size < 8)
      continue;
    prefix[6] = static_cast<char>(size);  // as if that were all
    prefix[7] = static_cast<char>(size >> 8);
    CHECK(message_of(prefix).starts_with("sample: malformed or cut short at byte 0x"));
  }
}

TEST_CASE("call chain: counts and sizes that are too large") {
  std::string endless = "sample: malformed or cut short at byte ";
  CHECK(message_of(record(origin() + u64(UINT64_MAX) + u64(1))) == endless + "0x38 of 0x38");
  std::string until_stack = origin() + chain({}) + registers(2);
  CHECK(message_of(record(until_stack + u64(UINT64_MAX) + u64(1) + u64(8))) ==
        endless + "0xc8 of 0xd8");
  CHECK(message_of(record(until_stack + u64(16) + u64(1) + u64(2))) ==
        endless + "0xd8 of 0xd8");
}

TEST_CASE("call chain: a header that is not a sample's, or not this one's") {
  CHECK_FALSE(is_call_chain(as_bytes(record(origin(), 10))));
  CHECK_FALSE(is_call_chain({}));
  CHECK(message_of(record(origin(), 10)) ==
        "sample: 0x28 bytes of type 10, its header says 0x28");
  CHECK(message_of(good() + "more").starts_with("sample: 0x"));
  CHECK(message_of("") == "sample: 0x0 bytes of type 0, its header says 0x0");
}

}  // namespace gosym::call_chain_test
