#pragma once

#include "image_builder.h"

namespace gosym {

// Call frame information of one function at kFrameCode, 0x100 bytes long, in an .eh_frame at
// kFrames, or in .debug_frame. By default the function has no frame, on x86-64.
struct FrameSpec {
  static constexpr uint64_t kCode = 0x1000;
  static constexpr uint64_t kFrames = 0x2000;

  uint16_t machine = EM_X86_64;
  uint8_t pointer_size = 8;
  ByteOrder order = ByteOrder::kLittle;
  bool is_debug_frame = false;
  uint8_t version = 1;
  std::string augmentation = "zR";
  std::string augmentation_data = "\x1b";  // pcrel, i32
  uint8_t return_column = 16;
  std::string setup = "\x0c\x07\x08\x90\x01";  // CFA is rsp + 8, return address at CFA - 8
  std::string instructions{};

  ByteWriter writer() const { return ByteWriter(order, pointer_size); }

  // With its length.
  std::string entry(const std::string& contents) const {
    return writer().u32(contents.size()).text(contents).out;
  }

  std::string setup_entry() const {
    ByteWriter out = writer();
    out.u32(is_debug_frame ? UINT32_MAX : 0).u8(version).text(augmentation).u8(0);
    if (version == 4)
      out.u8(pointer_size).u8(0);
    out.u8(1).u8(0x78).u8(return_column);  // code alignment 1, data alignment -8
    if (augmentation.starts_with('z'))
      out.u8(augmentation_data.size()).text(augmentation_data);
    return entry(out.text(setup).out);
  }

  // `offset`: of the entry in its section; `setup_offset`: of the one that it refers to.
  std::string function_entry(uint64_t offset, uint64_t begin = kCode, uint64_t size = 0x100,
                             uint64_t setup_offset = 0) const {
    ByteWriter out = writer();
    if (is_debug_frame)
      out.u32(setup_offset).word(begin).word(size);
    else
      out.u32(offset + 4 - setup_offset).u32(begin - (kFrames + offset + 8)).u32(size);
    if (augmentation.starts_with('z'))
      out.u8(0);
    return entry(out.text(instructions).out);
  }

  std::string frames() const {
    std::string result = setup_entry();
    return result + function_entry(result.size());
  }

  ImageSpec image(const std::string& frames) const {
    ImageSpec spec{
        .order = order, .pointer_size = pointer_size, .machine = machine, .parts = {}};
    spec.parts.push_back({.name = ".text",
                          .contents = std::string(0x200, '\x90'),
                          .address = kCode,
                          .segment_flags = PF_R | PF_X});
    if (is_debug_frame)
      spec.parts.push_back({.name = ".debug_frame", .contents = frames});
    else
      spec.parts.push_back(
          {.name = ".eh_frame", .contents = frames, .address = kFrames, .segment_flags = PF_R});
    return spec;
  }
};

}  // namespace gosym
