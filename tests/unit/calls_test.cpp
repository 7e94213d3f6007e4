#include "elf/calls.h"

#include <doctest/doctest.h>

#include "image_builder.h"

namespace gosym::calls_test {
using namespace std::string_literals;

namespace {

// True if a return address at the end of this code is believed.
bool is_believed(const std::string& code, uint16_t machine = EM_X86_64) {
  ImageSpec spec{.machine = machine, .parts = {}};
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(8, '\x90') + code + "\x90",
                        .address = 0x1000,
                        .segment_flags = PF_R | PF_X});
  std::string file = build_image(spec);
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  return elf::may_follow_call(*image, ImageAddress{0x1008 + code.size()});
}

}  // namespace

TEST_CASE("calls: those of x86") {
  CHECK(is_believed("\xe8\1\2\3\4"));          // call rel32
  CHECK(is_believed("\xff\xd0"));              // call *%rax
  CHECK(is_believed("\x41\xff\xd4"));          // call *%r12
  CHECK(is_believed("\xff\x50\x08"));          // call *8(%rax)
  CHECK(is_believed("\xff\x54\x24\x08"));      // call *8(%rsp)
  CHECK(is_believed("\xff\x15\1\2\3\4"));      // call *x(%rip)
  CHECK(is_believed("\xff\x94\xc3\1\2\3\4"));  // call *x(%rbx, %rax, 8)
  CHECK(is_believed("\xe8\1\2\3\4", EM_386));
  CHECK_FALSE(is_believed("\xe9\1\2\3\4"));  // jmp rel32
  CHECK_FALSE(is_believed("\xff\xe0"));      // jmp *%rax
  CHECK_FALSE(is_believed("\x90\x90\x90\x90\x90\x90\x90"));
}

TEST_CASE("calls: those of 64-bit ARM") {
  CHECK(is_believed("\1\0\0\x94"s, EM_AARCH64));        // bl
  CHECK(is_believed("\x20\x02\x3f\xd6", EM_AARCH64));   // blr x17
  CHECK_FALSE(is_believed("\1\0\0\x14"s, EM_AARCH64));  // b
  CHECK_FALSE(is_believed("\x20\x02\x1f\xd6", EM_AARCH64));
}

TEST_CASE("calls: what cannot be looked at is believed") {
  ImageSpec spec{.parts = {}};
  spec.parts.push_back(
      {.name = ".text", .contents = "\x90\x90", .address = 0x1000, .segment_flags = PF_X});
  std::string file = build_image(spec);
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  for (uint64_t address : {uint64_t{0}, uint64_t{0x1000}, uint64_t{0x1002}, UINT64_MAX})
    CHECK(elf::may_follow_call(*image, ImageAddress{address}));
  CHECK(is_believed("\x90\x90\x90\x90\x90\x90\x90", EM_S390));
}

TEST_CASE("calls: what a signal handler returns to") {
  using namespace std::string_literals;
  auto count = [](const std::string& code, uint16_t machine = EM_X86_64) {
    ImageSpec spec{.machine = machine, .parts = {}};
    spec.parts.push_back({.name = ".text",
                          .contents = std::string(32, '\x90') + code,
                          .address = 0x1000,
                          .segment_flags = PF_R | PF_X});
    std::string file = build_image(spec);
    elf::Image image = *elf::parse(as_bytes(file));
    std::string offsets;
    for (uint64_t i = 0; i < 32 + code.size(); i++)
      if (elf::is_signal_return(image, ImageAddress{0x1000 + i}))
        offsets += fmt::format("{} ", i - 32);
    return offsets;
  };
  CHECK(count("\x48\xc7\xc0\x0f\0\0\0\x0f\x05\x90"s) == "0 7 9 ");
  CHECK(count("\xb8\x0f\0\0\0\x0f\x05\x90"s) == "0 5 7 ");
  CHECK(count("\xb8\x0e\0\0\0\x0f\x05\x90"s).empty());  // another call
  CHECK(count("\xb8\x0f\0\0\0\x0f\x34\x90"s).empty());
  CHECK(count("\xb8\x0f\0\0\0\x0f"s).empty());
  CHECK(count("\xb8\x0f\0\0\0\x0f\x05\x90"s, EM_386).empty());
  // mov x8, #139; svc #0; nop
  CHECK(count("\x68\x11\x80\xd2\x01\0\0\xd4\x1f\x20\x03\xd5"s, EM_AARCH64) == "0 4 8 ");
  CHECK(count("\x48\x11\x80\xd2\x01\0\0\xd4"s, EM_AARCH64).empty());
}

TEST_CASE("calls: where coroutines begin") {
  using namespace std::string_literals;
  auto is_start = [](std::string code, uint16_t machine = EM_X86_64) {
    ImageSpec spec{.machine = machine, .parts = {}};
    spec.parts.push_back({.name = ".text",
                          .contents = std::move(code),
                          .address = 0x1000,
                          .segment_flags = PF_R | PF_X});
    std::string file = build_image(spec);
    return elf::is_context_start(*elf::parse(as_bytes(file)), ImageAddress{0x1000});
  };
  CHECK(is_start("\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff"));
  CHECK(is_start("\x48\x89\xdc\x5f\x48\x85\xff"));
  CHECK(is_start("\x48\x31\xff\xe8\1\2\3\4\xf4"));
  CHECK_FALSE(is_start("\x48\x31\xff\xe8\1\2\3\4\x90"));
  CHECK_FALSE(is_start("\x48\x31\xff\xe8\1\2\3\4"));
  CHECK_FALSE(is_start("\x48\x89\xdc\x5f\x48\x85"));
  CHECK_FALSE(is_start("\x48\x89\xdc\x5f\x48\x85\xff", EM_386));
}

TEST_CASE("calls: a jump through a slot has its caller at the stack pointer") {
  auto rule = [](const std::string& code, uint16_t machine = EM_X86_64) {
    ImageSpec spec{.machine = machine, .parts = {}};
    spec.parts.push_back(
        {.name = ".text", .contents = code, .address = 0x1000, .segment_flags = PF_R | PF_X});
    std::string file = build_image(spec);
    elf::Image image = *elf::parse(as_bytes(file));
    return elf::rule_at_jump(image, ImageAddress{0x1000});
  };
  for (std::string jump : {"\xff\x25\1\2\3\4", "\xf3\x0f\x1e\xfa\xff\x25\1\2\3\4",
                           "\xf2\xff\x25\1\2\3\4", "\xf3\x0f\x1e\xfa\xf2\xff\x25\1\2\3\4"}) {
    auto found = rule(jump);
    REQUIRE(found);
    CHECK(found->cfa == StackPlace{Anchor::kStackPointer, 8});
    CHECK(found->return_address == StackPlace{Anchor::kCfa, -8});
    CHECK_FALSE(rule(jump, EM_AARCH64));
  }
  CHECK_FALSE(rule("\xff\x15\1\2\3\4"));       // call *x(%rip)
  CHECK_FALSE(rule("\x68\1\0\0\0\xff\x25"s));  // push first
  CHECK_FALSE(rule("\xff"));
  CHECK_FALSE(rule("\xf3\x0f\x1e\xfa"));
}

}  // namespace gosym::calls_test
