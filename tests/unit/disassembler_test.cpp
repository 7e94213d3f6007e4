#include "code/disassembler.h"

#include <doctest/doctest.h>
#include <elf.h>

#include "base/exit_status.h"

namespace gosym::code {

namespace {

struct Case {
  std::string_view bytes;
  uint64_t size;
  std::string_view text;
};

// The first instruction of the bytes, at 0x1000.
Instruction decode(uint16_t machine, std::string_view bytes, Syntax syntax = Syntax::kAtt) {
  auto disassembler = Disassembler::open(machine, syntax);
  REQUIRE(disassembler);
  return disassembler->decode(as_bytes(bytes), ImageAddress{0x1000});
}

void check(uint16_t machine, const Case& wanted) {
  Instruction found = decode(machine, wanted.bytes);
  CAPTURE(wanted.text);
  CHECK(found.size == wanted.size);
  CHECK(found.text == wanted.text);
}

using namespace std::string_view_literals;

}  // namespace

TEST_CASE("instructions of x86-64") {
  const Case kCases[] = {
      {"\x55\x90"sv, 1, "pushq %rbp"},
      {"\x49\x3b\x66\x10\x0f"sv, 4, "cmpq 0x10(%r14), %rsp"},
      {"\xf0\x0f\xc1\x43\x0c"sv, 5, "lock xaddl %eax, 0xc(%rbx)"},
      {"\x62\xf2\x6d\x48\x8d\xdb\xc3"sv, 6, "vpermb %zmm3, %zmm2, %zmm3"},
      // None, or not all of one.
      {"\x06\x90"sv, 1, ""},
      {"\x49\x3b\x66"sv, 1, ""},
      {"\xf0"sv, 1, "lock"},
      {"\xf0\x06"sv, 1, "lock"},
  };
  for (const Case& wanted : kCases)
    check(EM_X86_64, wanted);
  CHECK(decode(EM_X86_64, "\x48\x89\xfb", Syntax::kIntel).text == "mov rbx, rdi");
}

TEST_CASE("instructions of arm64") {
  const Case kCases[] = {
      {"\xe0\x03\x10\xaa"sv, 4, "mov x0, x16"},
      {"\x20\x80\xe2\xf8"sv, 4, "swpal x2, x0, [x1]"},
      {"\x00\x00\x00\x00"sv, 4, "udf #0x0"},
      {"\xff\xff\xff\xff\xc0"sv, 4, ""},
      {"\xc0\x03\x5f"sv, 3, ""},
  };
  for (const Case& wanted : kCases)
    check(EM_AARCH64, wanted);
}

TEST_CASE("where instructions lead") {
  Instruction call = decode(EM_X86_64, "\xe8\x0b\x00\x00\x00"sv);
  CHECK(call.target == ImageAddress{0x1010});
  CHECK(call.text == "callq 0x1010");
  Instruction load = decode(EM_X86_64, "\x48\x8d\x05\x09\x00\x00\x00"sv);
  CHECK(load.data == ImageAddress{0x1010});
  CHECK(!load.target);
  Instruction branch = decode(EM_AARCH64, "\x04\x00\x00\x94"sv);
  CHECK(branch.target == ImageAddress{0x1010});
  CHECK(!decode(EM_AARCH64, "\x1f\x20\x03\xd5"sv).target);
}

TEST_CASE("machines that are not known") {
  auto disassembler = Disassembler::open(EM_S390);
  REQUIRE(!disassembler);
  CHECK(disassembler.error().exit_status() == kUnsupported);
}

}  // namespace gosym::code
