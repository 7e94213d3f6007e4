#include "dwarf/frame_program.h"

#include <doctest/doctest.h>

#include <string>

namespace gosym::expression_test {
using namespace std::string_literals;

namespace {

constexpr uint64_t kMinus1 = UINT64_MAX;

// Register 3 holds 0x300, others nothing; the words from 0x1000 on hold their address and the
// bytes 8070605040302010 below it.
class SomeState : public MachineState {
public:
  std::optional<uint64_t> stack_pointer() override { return std::nullopt; }
  std::optional<uint64_t> frame_pointer() override { return std::nullopt; }
  std::optional<uint64_t> register_value(uint64_t number) override {
    return number == 3 ? std::optional<uint64_t>(0x300) : std::nullopt;
  }
  std::optional<uint64_t> word_at(uint64_t address) override {
    return address >= 0x1000 ? std::optional(address ^ 0x8070605040302010) : std::nullopt;
  }
};

std::optional<uint64_t> value(const std::string& expression,
                              std::optional<uint64_t> start = std::nullopt) {
  SomeState state;
  return dwarf::evaluate(Reader(as_bytes(expression)), state, start);
}

}  // namespace

TEST_CASE("expression: constants and registers") {
  CHECK(value("\x30") == 0);
  CHECK(value("\x4f") == 31);
  CHECK(value("\x03\x01\x02\x03\x04\x05\x06\x07\x08") == 0x0807060504030201);
  CHECK(value("\x08\xff") == 255);
  CHECK(value("\x09\xff") == kMinus1);
  CHECK(value("\x0a\xfe\xff") == 65534);
  CHECK(value("\x0b\xff\xff") == kMinus1);
  CHECK(value("\x0c\xff\xff\xff\xff") == 0xffffffff);
  CHECK(value("\x0d\xff\xff\xff\xff") == kMinus1);
  CHECK(value("\x0e\x01\0\0\0\0\0\0\x80"s) == 0x8000000000000001);
  CHECK(value("\x0f\x01\0\0\0\0\0\0\x80"s) == 0x8000000000000001);
  CHECK(value("\x10\x80\x01") == 128);
  CHECK(value("\x11\x7f") == kMinus1);
  CHECK(value("\x73\x10") == 0x310);
  CHECK(value("\x73\x70") == 0x2f0);
  CHECK(value("\x92\x03\x10") == 0x310);
  CHECK_FALSE(value("\x74\0"s));
  CHECK_FALSE(value("\x92\x04\0"s));
}

TEST_CASE("expression: the stack") {
  CHECK(value("\x31\x12\x22") == 2);          // dup
  CHECK(value("\x31\x32\x13") == 1);          // drop
  CHECK(value("\x31\x32\x14") == 1);          // over
  CHECK(value("\x31\x32\x33\x15\x02") == 1);  // pick
  CHECK(value("\x31\x33\x16\x1c") == 2);      // swap: 3 - 1
  // rot: 1 2 3 becomes 3 1 2.
  CHECK(value("\x31\x32\x33\x17") == 2);
  CHECK(value("\x31\x32\x33\x17\x13") == 1);
  CHECK(value("\x31\x32\x33\x17\x13\x13") == 3);
  CHECK(value("\x31\x96") == 1);  // nop
  CHECK(value("\x23\x08", 0x100) == 0x108);
}

TEST_CASE("expression: numbers") {
  CHECK(value("\x11\x7d\x19") == 3);  // abs
  CHECK(value("\x33\x19") == 3);
  CHECK(value("\x3c\x36\x1a") == 4);                              // and
  CHECK(value("\x11\x79\x32\x1b") == static_cast<uint64_t>(-3));  // div
  CHECK(value("\x31\x33\x1c") == static_cast<uint64_t>(-2));      // minus
  CHECK(value("\x37\x33\x1d") == 1);                              // mod
  CHECK(value("\x37\x33\x1e") == 21);                             // mul
  CHECK(value("\x31\x1f") == kMinus1);                            // neg
  CHECK(value("\x30\x20") == kMinus1);                            // not
  CHECK(value("\x3c\x33\x21") == 15);                             // or
  CHECK(value("\x31\x32\x22") == 3);                              // plus
  CHECK(value("\x31\x23\x80\x01") == 129);                        // plus_uconst
  CHECK(value("\x31\x34\x24") == 16);                             // shl
  CHECK(value("\x11\x7f\x08\x3f\x25") == 1);                      // shr
  CHECK(value("\x11\x70\x32\x26") == static_cast<uint64_t>(-4));  // shra
  CHECK(value("\x3c\x36\x27") == 10);                             // xor
}

TEST_CASE("expression: numbers at their limits") {
  std::string least = "\x0e\0\0\0\0\0\0\0\x80"s;
  CHECK(value(least + "\x11\x7f\x1b") == 0x8000000000000000);
  CHECK(value(least + "\x19") == 0x8000000000000000);
  CHECK_FALSE(value("\x31\x30\x1b"));
  CHECK_FALSE(value("\x31\x30\x1d"));
  CHECK(value("\x31\x08\x40\x24") == 0);
  CHECK(value("\x31\x08\x40\x25") == 0);
  CHECK(value("\x11\x7f\x08\x40\x26") == kMinus1);
  CHECK(value("\x31\x11\x7f\x24") == 0);
}

TEST_CASE("expression: comparisons are signed") {
  const std::string kLess = "\x11\x7f\x31";  // -1, 1
  const std::string kEqual = "\x31\x31";
  const std::string kGreater = "\x31\x11\x7f";
  auto three = [&](const std::string& opcode) {
    return fmt::format("{}{}{}", *value(kLess + opcode), *value(kEqual + opcode),
                       *value(kGreater + opcode));
  };
  CHECK(three("\x29") == "010");  // eq
  CHECK(three("\x2a") == "011");  // ge
  CHECK(three("\x2b") == "001");  // gt
  CHECK(three("\x2c") == "110");  // le
  CHECK(three("\x2d") == "100");  // lt
  CHECK(three("\x2e") == "101");  // ne
}

TEST_CASE("expression: words") {
  CHECK(value("\x0a\0\x10\x06"s) == 0x8070605040303010);
  CHECK(value("\x0a\0\x10\x94\x08"s) == 0x8070605040303010);
  CHECK(value("\x0a\0\x10\x94\x04"s) == 0x40303010);
  CHECK(value("\x0a\0\x10\x94\x01"s) == 0x10);
  CHECK_FALSE(value("\x0a\0\x10\x94\0"s));
  CHECK_FALSE(value("\x0a\0\x10\x94\x09"s));
  CHECK_FALSE(value("\x0a\xff\x0f\x06"));
}

TEST_CASE("expression: jumps") {
  CHECK(value("\x2f\x01\0\x31\x32"s) == 2);      // skip
  CHECK(value("\x35\x31\x28\x01\0\x31"s) == 5);  // bra
  CHECK(value("\x35\x30\x28\x01\0\x31"s) == 1);
  // Counts down from 5.
  CHECK(value("\x35\x31\x1c\x12\x28\xfa\xff"s) == 0);
  CHECK(value("\x31\x2f\0\0"s) == 1);
  CHECK_FALSE(value("\x2f\xfd\xff"s));      // to itself, without end
  CHECK_FALSE(value("\x31\x2f\x01\0"s));    // behind the end
  CHECK_FALSE(value("\x31\x2f\xf0\xff"s));  // before the start
  CHECK_FALSE(value("\x31\x2f\0\x80"s));
  CHECK_FALSE(value("\x31\x2f\x32"));  // cut short
  CHECK_FALSE(value("\x31\x31\x28\x32"));
}

TEST_CASE("expression: what is malformed or not allowed comes to nothing") {
  for (const std::string& expression :
       {""s,         "\x06"s,         "\x12"s,     "\x13"s,
        "\x31\x14"s, "\x31\x15\x01"s, "\x31\x16"s, "\x31\x32\x17"s,
        "\x31\x22"s, "\x1f"s,         "\x08"s,     "\x0e\x01"s,
        "\x10\x80"s, "\x73"s,         "\x23"s,     "\x28\0"s,
        "\x50"s,     "\x90\x01"s,     "\x91\0"s,   "\x93\x08"s,
        "\x97"s,     "\x98\0\0"s,     "\x9c"s,     "\x9f"s,
        "\xe0"s,     "\xff"s,         "\x31\x13"s, std::string(65, '\x31')}) {
    CAPTURE(expression);
    CHECK_FALSE(value(expression));
  }
  CHECK(value(std::string(64, '\x31')) == 1);
}

}  // namespace gosym::expression_test
