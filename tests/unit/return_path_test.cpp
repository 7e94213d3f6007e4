#include "elf/return_path.h"

#include <doctest/doctest.h>

#include "elf/x86_instruction.h"
#include "image_builder.h"
#include "unwind_rule_text.h"

namespace gosym::return_path_test {
using namespace std::string_literals;

namespace {

std::string file_with(const std::string& code, uint16_t machine) {
  ImageSpec spec{.machine = machine, .parts = {}};
  spec.parts.push_back(
      {.name = ".text", .contents = code, .address = 0x1000, .segment_flags = PF_R | PF_X});
  return build_image(spec);
}

std::string rule(const std::string& code, uint64_t at = 0, uint16_t machine = EM_X86_64) {
  std::string file = file_with(code, machine);
  return to_text(elf::rule_by_code(*elf::parse(as_bytes(file)), ImageAddress{0x1000 + at}));
}

uint64_t size_of(const std::string& code) {
  auto found = elf::decode_x86(as_bytes(code));
  return found ? found->size : 0;
}

}  // namespace

TEST_CASE("return path: what is pushed and taken off again") {
  // push %rbp; push %rbx; sub $24, %rsp; call; add $24, %rsp; pop %rbx; pop %rbp; ret
  std::string code = "\x55\x53\x48\x83\xec\x18\xe8\0\0\0\0\x48\x83\xc4\x18\x5b\x5d\xc3"s;
  CHECK(rule(code, 0) == "sp+8 cfa-8 same");
  CHECK(rule(code, 1) == "sp+16 cfa-8 sp+0");
  CHECK(rule(code, 2) == "sp+24 cfa-8 sp+8");
  CHECK(rule(code, 6) == "sp+48 cfa-8 sp+32");
  CHECK(rule(code, 11) == "sp+48 cfa-8 sp+32");
  CHECK(rule(code, 16) == "sp+16 cfa-8 sp+0");
  CHECK(rule(code, 17) == "sp+8 cfa-8 same");
  CHECK(rule(code, 0, EM_386) == "none");
  CHECK(rule(code, 0, EM_AARCH64) == "none");
}

TEST_CASE("return path: frames by rbp") {
  // push %rbp; mov %rsp, %rbp; sub $200, %rsp; leave; ret
  std::string code = "\x55\x48\x89\xe5\x48\x81\xec\xc8\0\0\0\xc9\xc3"s;
  CHECK(rule(code, 0) == "sp+8 cfa-8 same");
  CHECK(rule(code, 1) == "sp+16 cfa-8 sp+0");
  CHECK(rule(code, 4) == "fp+16 cfa-8 fp+0");
  CHECK(rule(code, 11) == "fp+16 cfa-8 fp+0");
  CHECK(rule(code, 12) == "sp+8 cfa-8 same");
  // lea -16(%rbp), %rsp; pop %rbx; pop %r12; pop %rbp; ret
  CHECK(rule("\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3") == "fp+16 cfa-8 fp+0");
  CHECK(rule("\x48\x89\xec\x5d\xc3") == "fp+16 cfa-8 fp+0");      // mov %rbp, %rsp; pop %rbp
  CHECK(rule("\x48\x8b\x6c\x24\x10\xc3") == "sp+8 cfa-8 sp+16");  // mov 16(%rsp), %rbp
  CHECK(rule("\x31\xed\xc3") == "sp+8 cfa-8 lost");               // xor %ebp, %ebp
}

TEST_CASE("return path: branches, jumps and slots") {
  // test; je to the pop; push, pop; pop %rbx; ret
  CHECK(rule("\x85\xc0\x74\x02\x50\x58\x5b\xc3") == "sp+16 cfa-8 same");
  CHECK(rule("\xeb\x01\x5b\xc3") == "sp+8 cfa-8 same");
  CHECK(rule("\x90\xeb\xfd") == "none");                      // a loop for ever
  CHECK(rule("\x58\xff\x25\1\2\3\4") == "sp+16 cfa-8 same");  // pop; jmp *slot
  CHECK(rule("\xff\xe0\xc3") == "none");                      // jmp *%rax
  CHECK(rule("\x0f\x0b\xc3") == "none");                      // ud2
  CHECK(rule("\x75\x01\xc3\x58\xc3") == "none");              // the ways do not agree
}

TEST_CASE("return path: calls that do not come back count least") {
  // je to pop %rbx, ret; call; push; push; pop, pop, pop, ret of another function
  CHECK(rule("\x74\x06\xe8\0\0\0\0\x50\x5b\xc3"s, 0) == "sp+16 cfa-8 same");
  CHECK(rule("\xe8\0\0\0\0\xf3\x0f\x1e\xfa\xc3"s) == "none");                    // endbr64
  CHECK(rule("\xe8\0\0\0\0\x66\x0f\x1f\x84\0\0\0\0\0\x66\x90\xc3"s) == "none");  // padding
  CHECK(rule("\xe8\0\0\0\0\x50\xc3"s) == "none");  // returns to what was pushed
}

TEST_CASE("return path: stack pointers that cannot be told") {
  CHECK(rule("\x48\x83\xe4\xf0\xc3") == "none");             // and $-16, %rsp
  CHECK(rule("\x48\x89\xc4\xc3") == "none");                 // mov %rax, %rsp
  CHECK(rule("\x48\x8b\x67\x30\xc3") == "none");             // mov 48(%rdi), %rsp
  CHECK(rule("\x5c\xc3") == "none");                         // pop %rsp
  CHECK(rule("\x48\x5c\xc3") == "none");                     // likewise
  CHECK(rule("\x41\x5c\xc3") == "sp+16 cfa-8 same");         // pop %r12
  CHECK(rule("\x31\xed\xc9\xc3") == "none");                 // leave, where rbp is not known
  CHECK(rule("\x48\x83\xfc\x10\xc3") == "sp+8 cfa-8 same");  // cmp $16, %rsp
}

TEST_CASE("return path: instructions have the sizes that they have") {
  for (std::string code : {"\x0f\x05"s,
                           "\x66\x0f\x1f\x44\0\0"s,
                           "\x48\xb8\1\2\3\4\5\6\7\x08"s,
                           "\xb8\1\2\3\4"s,
                           "\x66\xb8\1\2"s,
                           "\xc7\x44\x24\x08\1\2\3\4"s,
                           "\x48\x8d\x05\1\2\3\4"s,
                           "\x8b\x04\x25\1\2\3\4"s,
                           "\xf6\x07\1"s,
                           "\xf6\x17"s,
                           "\xf7\x07\1\2\3\4"s,
                           "\xf7\xd8"s,
                           "\x0f\xba\xe0\1"s,
                           "\x66\x0f\x3a\x0f\xc1\x04"s,
                           "\x66\x0f\x38\0\xc1"s,
                           "\xc5\xf8\x77"s,
                           "\xc5\xfd\x6f\x06"s,
                           "\xc4\xe3\x7d\x39\xc1\1"s,
                           "\xc4\xe2\x7d\x58\xc1"s,
                           "\x62\xf1\xfe\x48\x6f\x46\1"s,
                           "\x62\xf3\xf5\x48\x25\xc1\xff"s,
                           "\x0f\x84\1\2\3\4"s,
                           "\xc8\1\2\3"s,
                           "\xc2\1\2"s,
                           "\xf3\x48\xab"s,
                           "\x64\x48\x8b\x04\x25\x28\0\0\0"s,
                           "\xa1\1\2\3\4\5\6\7\x08"s}) {
    CHECK(size_of(code + "\x90\x90") == code.size());
    for (size_t size = 0; size < code.size(); size++)
      CHECK(size_of(code.substr(0, size)) == 0);
  }
  for (std::string code :
       {"\x06"s, "\x60"s, "\x9a"s, "\xce"s, "\xd4"s, "\x0f\x04"s, "\x82\xc0\1"s,
        "\x48\x48\x89\xe5"s, "\x48\x66\x89\xe5"s, "\x48\xf3\xab"s})
    CHECK(size_of(code + "\1\2\3\4\5\6\7") == 0);
}

}  // namespace gosym::return_path_test
