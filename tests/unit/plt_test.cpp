#include "elf/plt.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "plt_builder.h"

namespace gosym::plt_test {

namespace {

struct Sample {
  explicit Sample(std::string contents)
      : file(std::move(contents)), image(*elf::parse(as_bytes(file))) {}
  Sample(const Sample&) = delete;

  std::string file;
  elf::Image image;
};

// "puts@plt 0+10 exit@plt 10+10": offsets in the section and sizes, in hexadecimal.
std::string show(const std::vector<elf::PltStub>& stubs) {
  std::string text;
  for (const elf::PltStub& stub : stubs)
    text += fmt::format("{}{} {:x}+{:x}", text.empty() ? "" : " ", stub.name,
                        to_integer(stub.address) - kPlt, stub.size);
  return text;
}

std::string stubs_of(const std::string& code, const ImageSpec& form = {}) {
  return show(elf::read_plt(Sample(build_plt_image(code, form)).image));
}

}  // namespace

TEST_CASE("plt: stubs of x86-64 in the order of their slots, not of the relocations") {
  std::string first = ByteWriter().text("\xff\x35").u32(0).text("\xff\x25").u32(0).u32(0).out;
  std::string lazy = first;
  lazy += padded(jump_x86_64(0x10, 1) + "\x68", 16);
  lazy += padded(jump_x86_64(0x20, 0) + "\x68", 16);
  CHECK(stubs_of(lazy) == "exit@plt 10+10 puts@plt 20+10");
}

TEST_CASE("plt: stubs of x86-64 of 8 bytes, with endbr64, bnd, and an index before the jump") {
  CHECK(stubs_of(padded(jump_x86_64(0, 0), 8) + padded(jump_x86_64(8, 1), 8)) ==
        "puts@plt 0+8 exit@plt 8+8");
  CHECK(stubs_of(padded(kEndbr64 + jump_x86_64(4, 0), 16)) == "puts@plt 0+10");
  CHECK(stubs_of(padded(kEndbr64 + "\xf2" + jump_x86_64(5, 0), 16)) == "puts@plt 0+10");
  std::string index("\x41\xbb\x07\x00\x00\x00", 6);
  CHECK(stubs_of(kEndbr64 + index + jump_x86_64(10, 0)) == "puts@plt 0+10");
}

TEST_CASE("plt: stubs of ARM, with and without a landing pad") {
  std::string nop = ByteWriter().u32(0xd503201f).out;
  std::string landing = ByteWriter().u32(0xd503245f).out;
  CHECK(stubs_of(stub_aarch64(1) + stub_aarch64(0), kArm) == "exit@plt 0+10 puts@plt 10+10");
  CHECK(stubs_of(nop + landing + stub_aarch64(0) + nop + landing + stub_aarch64(1) + nop,
                 kArm) == "puts@plt 4+18 exit@plt 1c+18");
  // Instructions stay little endian where data is big.
  ImageSpec big{.order = ByteOrder::kBig, .machine = EM_AARCH64, .parts = {}};
  CHECK(stubs_of(stub_aarch64(0), big) == "puts@plt 0+10");
}

TEST_CASE("plt: a page before that of the stub") {
  Sample sample(
      build_plt_image(ByteWriter().u32(0xf0fffff0).u32(0xf9400211).out, kArm));  // adrp x16, -1
  sample.image.sections[0].address = ImageAddress{kGot + 0x1000};
  auto stubs = elf::read_plt(sample.image);
  REQUIRE(stubs.size() == 1);
  CHECK(stubs[0].name == "puts@plt");
}

TEST_CASE("plt: a function of the image itself is named by its symbol, or by its address") {
  CHECK(stubs_of(padded(jump_x86_64(0, 2), 8)) == "strlen@plt 0+8");
  CHECK(stubs_of(padded(jump_x86_64(0, 3), 8)) == "*ABS*+0x1900@plt 0+8");
}

TEST_CASE("plt: a stub of a slot that nobody fills, or with nothing, has no name") {
  CHECK(stubs_of(padded(jump_x86_64(0, 4), 8)) == "");
  CHECK(stubs_of(padded(jump_x86_64(0, 5), 8)) == "");
  // It still ends the stub before it.
  CHECK(stubs_of(padded(jump_x86_64(0, 0), 8) + padded(jump_x86_64(8, 5), 8)) ==
        "puts@plt 0+8");
}

TEST_CASE("plt: code cut anywhere gives whole jumps only") {
  std::string code = kEndbr64 + jump_x86_64(4, 0);
  for (size_t size = 0; size <= code.size(); size++) {
    CAPTURE(size);
    CHECK(stubs_of(code.substr(0, size)) == (size < code.size() ? "" : "puts@plt 0+a"));
  }
  for (size_t size = 0; size <= 8; size++)
    CHECK(stubs_of(stub_aarch64(0).substr(0, size), kArm) == (size < 8 ? "" : "puts@plt 0+8"));
}

TEST_CASE("plt: relocations cut anywhere give whole names only") {
  Sample sample(build_plt_image(padded(jump_x86_64(0, 0), 8) + padded(jump_x86_64(8, 1), 8)));
  for (uint64_t size = 0; size <= 48; size++) {
    CAPTURE(size);
    sample.image.sections[2].size = size;
    CHECK(elf::read_plt(sample.image).size() == size / 24);
  }
}

TEST_CASE("plt: other sections, machines and links have no stubs") {
  std::string code = padded(jump_x86_64(0, 0), 8);
  CHECK(stubs_of(code, {.machine = EM_S390, .parts = {}}) == "");
  auto without = [&](auto&& damage) {
    Sample sample(build_plt_image(code));
    damage(sample.image.sections);
    return show(elf::read_plt(sample.image));
  };
  using Sections = std::vector<elf::Section>&;
  CHECK(without([](Sections) {}) == "puts@plt 0+8");
  CHECK(without([](Sections s) { s[0].name = ".text"; }) == "");
  CHECK(without([](Sections s) { s[0].flags = SHF_ALLOC; }) == "");
  CHECK(without([](Sections s) { s[0].size = UINT64_MAX; }) == "");
  CHECK(without([](Sections s) { s[2].flags = 0; }) == "");
  CHECK(without([](Sections s) { s[2].type = SHT_REL; }) == "");
  CHECK(without([](Sections s) { s[2].link = 0; }) == "");
  CHECK(without([](Sections s) { s[2].link = 99; }) == "");
  CHECK(without([](Sections s) { s[4].size = 3; }) == "");
}

TEST_CASE("plt: names are not longer than the file that has them") {
  std::string code = padded(jump_x86_64(0, 0), 8) + padded(jump_x86_64(8, 1), 8);
  std::string name(4000, 'f');
  Sample sample(build_plt_image(code, {}, '\0' + name + '\0'));
  auto stubs = elf::read_plt(sample.image);
  REQUIRE(stubs.size() == 1);
  CHECK(stubs[0].name == name + "@plt");
}

}  // namespace gosym::plt_test
