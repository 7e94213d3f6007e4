#pragma once

#include "image_builder.h"

namespace gosym {

inline constexpr uint64_t kPlt = 0x1000;
inline constexpr uint64_t kGot = 0x3000;

// Relocations of the slots of the table at kGot: 0 for `puts`, 1 for `exit`, 2 for what lies at
// 0x1800, which is `strlen`, 3 for what lies at 0x1900, 4 for a symbol that is not there.
inline std::string build_plt_relocations(const ImageSpec& spec) {
  ByteWriter out(spec.order, spec.pointer_size);
  auto add = [&](uint64_t slot, uint64_t symbol, uint64_t addend) {
    out.word(kGot + slot * spec.pointer_size);
    out.word(symbol << (spec.pointer_size == 8 ? 32 : 8)).word(addend);
  };
  add(0, 1, 0);
  add(1, 2, 0);
  add(2, 0, 0x1800);
  add(3, 0, 0x1900);
  add(4, 9, 0);
  return out.out;
}

// An image with `code` as its .plt. `names` are those of the relocations.
inline std::string build_plt_image(
    const std::string& code, ImageSpec spec = {},
    const std::string& names = std::string("\0puts\0exit\0strlen\0", 18)) {
  std::vector<SymbolSpec> symbols = {{.name = 1, .section = SHN_UNDEF},
                                     {.name = 6, .section = SHN_UNDEF},
                                     {.name = 11,
                                      .info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
                                      .address = 0x1800,
                                      .size = 8}};
  auto load = [&](const char* name, uint64_t address, const std::string& contents) {
    spec.parts.push_back(
        {.name = name, .contents = contents, .address = address, .segment_flags = PF_R | PF_X});
  };
  load(".plt", kPlt, code);
  load(".text", 0x1800, std::string(0x200, '\x90'));
  spec.parts.push_back({.name = ".rela.plt",
                        .type = SHT_RELA,
                        .contents = build_plt_relocations(spec),
                        .address = 0x2000,
                        .segment_flags = PF_R,
                        .link = 4});
  spec.parts.push_back({.name = ".dynsym",
                        .type = SHT_DYNSYM,
                        .contents = build_symbols(spec, symbols),
                        .link = 5});
  spec.parts.push_back({.name = ".dynstr", .type = SHT_STRTAB, .contents = names});
  return build_image(spec);
}

inline const std::string kEndbr64 = "\xf3\x0f\x1e\xfa";

// A jump through a slot, for code that lies `offset` bytes behind kPlt.
inline std::string jump_x86_64(uint64_t offset, uint64_t slot) {
  return ByteWriter().text("\xff\x25").u32(kGot + 8 * slot - (kPlt + offset + 6)).out;
}

inline std::string padded(std::string code, size_t size) {
  code.resize(size, '\x90');
  return code;
}

inline const ImageSpec kArm{.machine = EM_AARCH64, .parts = {}};

// adrp x16, ldr x17, add x16, br x17
inline std::string stub_aarch64(uint64_t slot) {
  constexpr uint32_t kPages = (kGot - kPlt) >> 12;
  return ByteWriter()
      .u32(0x90000010 | (kPages & 3) << 29 | kPages >> 2 << 5)
      .u32(0xf9400211 | slot << 10)
      .u32(0x91000210 | slot * 8 << 10)
      .u32(0xd61f0220)
      .out;
}

}  // namespace gosym
