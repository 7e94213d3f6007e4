#include "go/goroutine_layout.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "bytes.h"
#include "image_builder.h"

namespace gosym::runtime_layout_test {

namespace {

constexpr ImageAddress kCode{0x401000};

template <class Code>
std::optional<go::GoroutinePointer> find(const Code& code) {
  return go::find_goroutine_pointer(code, kCode);
}

// A nop, then each of the three forms.
const auto kExecutable = bytes(0x90, 0x64, 0x48, 0xc7, 0x04, 0x25, 0xe0, 0xff, 0xff, 0xff,  //
                               0x23, 0x01, 0x00, 0x00);
const auto kPie = bytes(0x90, 0x48, 0xc7, 0xc3, 0xf8, 0xff, 0xff, 0xff,  //
                        0x64, 0x48, 0xc7, 0x03, 0x23, 0x01, 0x00, 0x00);
const auto kLibrary = bytes(0x90, 0x48, 0x8b, 0x1d, 0xf8, 0x0f, 0x00, 0x00,  //
                            0x64, 0x48, 0xc7, 0x03, 0x23, 0x01, 0x00, 0x00);

}  // namespace

TEST_CASE("runtime layout: releases that are known") {
  auto layout = go::runtime_layout("go1.23.4");
  REQUIRE(layout);
  CHECK(layout->g_goid == 160);
  CHECK(layout->g_labels == 352);
  CHECK(layout->has_label_map);
  for (const char* version : {"go1.23", "go1.23rc1", "go1.23.12", "go1.23.4 X:boringcrypto"})
    CHECK(go::runtime_layout(version) == layout);
  CHECK_FALSE(go::runtime_layout("go1.24")->has_label_map);
  CHECK(go::runtime_layout("go1.25.1")->g_sched_bp == 96);
  CHECK(go::runtime_layout("go1.16.15")->g_labels == 344);
  CHECK(go::runtime_layout("go1.17")->g_labels == 360);
  CHECK(go::runtime_layout("go1.15.9")->callback_frame == 32);
  CHECK(go::runtime_layout("go1.16")->callback_frame == 40);
}

TEST_CASE("runtime layout: no release is left out between the oldest and the newest") {
  for (int minor = 2; minor <= 27; minor++)
    CHECK(go::runtime_layout(fmt::format("go1.{}.1", minor)));
}

TEST_CASE("runtime layout: stacks of segments before Go 1.4") {
  auto layout = go::runtime_layout(go::kVersionWithSegments);
  REQUIRE(layout);
  CHECK(layout->g_stack_guard == 120);
  CHECK(layout == go::runtime_layout("go1.2.2"));
  CHECK(go::runtime_layout("go1.4.3")->g_stack_guard == 0);
}

TEST_CASE("runtime layout: none for what nobody has looked at") {
  for (const char* version :
       {"", "go", "go1", "go1.", "go1.x", "go1.1.2", "go1.28", "go1.99999999999", "go2.23",
        "go1.-23", "go1.23-devel_1a2b3c", "go1.23beta1", "go1.23x", "1.23", "devel +1a2b3c",
        "devel go1.23-1a2b3c"}) {
    CAPTURE(version);
    CHECK_FALSE(go::runtime_layout(version));
  }
}

TEST_CASE("goroutine pointer: at an offset that the linker knew") {
  CHECK(find(kExecutable) == go::GoroutinePointer{-32, std::nullopt});
  CHECK(find(kPie) == go::GoroutinePointer{-8, std::nullopt});
}

TEST_CASE("goroutine pointer: at an offset that the dynamic linker writes down") {
  CHECK(find(kLibrary) == go::GoroutinePointer{0, ImageAddress{0x402000}});
  auto before = kLibrary;
  before[5] = before[6] = before[7] = std::byte{0xff};
  CHECK(find(before) == go::GoroutinePointer{0, ImageAddress{0x401000}});
}

TEST_CASE("goroutine pointer: no prefix has one") {
  auto check = [](Bytes code) {
    CHECK(code.size() <= go::kGoroutinePointerCode + 1);
    for (size_t size = 0; size < code.size(); size++)
      CHECK_FALSE(find(code.first(size)));
  };
  check(kExecutable);
  check(kPie);
  check(kLibrary);
}

TEST_CASE("goroutine pointer: other code is not taken for it") {
  auto check = [](auto code, size_t first, size_t last) {
    for (size_t i = first; i < last; i++) {
      auto other = code;
      other[i] ^= std::byte{0x40};
      CAPTURE(i);
      bool is_offset = find(code)->offset != 0 && find(other).has_value();
      CHECK_FALSE(is_offset);
    }
  };
  check(kExecutable, 1, 6);
  check(kExecutable, 10, 14);
  check(kPie, 1, 4);
  check(kPie, 8, 16);
  CHECK_FALSE(find(bytes(0x64, 0x48, 0xc7, 0x03, 0x23, 0x01, 0x00, 0x00)));
}

TEST_CASE("goroutine pointer: code like its beginning may come before it") {
  std::string code = "\x64\x48\xc7\x04\x25\xf0";
  code += as_text(kExecutable);
  CHECK(find(as_bytes(code)) == go::GoroutinePointer{-32, std::nullopt});
}

TEST_CASE("runtime layout: where programs for arm64 keep the pointer to g") {
  auto find_arm64 = [](std::initializer_list<uint32_t> code) {
    ByteWriter out;
    for (uint32_t instruction : code)
      out.u32(instruction);
    return go::find_goroutine_pointer_arm64(as_bytes(out.out), kCode);
  };
  constexpr uint32_t kNop = 0xd503201f;
  constexpr uint32_t kReadsThread = 0xd53bd040;
  constexpr uint32_t kLoads = 0xf87b681c;
  constexpr uint32_t kStores = 0xf83b681c;
  // movz x27, #16
  for (uint32_t use : {kLoads, kStores})
    CHECK(find_arm64({kNop, kReadsThread, 0xd280021b, use}) ==
          go::GoroutinePointer{16, std::nullopt});
  // movz x27, #1, lsl #16; movk x27, #32
  CHECK(find_arm64({kReadsThread, 0xd2a0003b, 0xf280041b, kLoads}) ==
        go::GoroutinePointer{0x10020, std::nullopt});
  // adrp x27, two pages on, or one back; ldr x27, [x27, #0x28]
  CHECK(find_arm64({kReadsThread, 0xd000001b, 0xf940177b, kStores}) ==
        go::GoroutinePointer{0, ImageAddress{0x403028}});
  CHECK(find_arm64({kReadsThread, 0xf0fffffb, 0xf940177b, kStores}) ==
        go::GoroutinePointer{0, ImageAddress{0x400028}});
  // As Go 1.15 has them: movz x27, #16; add x0, x0, x27
  for (uint32_t use : {0xf940001cU, 0xf900001cU})
    CHECK(find_arm64({kReadsThread, 0xd280021b, 0x8b1b0000, use}) ==
          go::GoroutinePointer{16, std::nullopt});
  // Another register, nothing of the thread, and no use of it.
  CHECK_FALSE(find_arm64({kReadsThread, 0xd280021b, kNop, 0xf940001c}));
  CHECK_FALSE(find_arm64({kReadsThread, 0xd280021a, kLoads}));
  CHECK_FALSE(find_arm64({kNop, 0xd280021b, kLoads}));
  CHECK_FALSE(find_arm64({kReadsThread, 0xd280021b, kNop}));
  CHECK_FALSE(find_arm64({kLoads}));
}

}  // namespace gosym::runtime_layout_test
