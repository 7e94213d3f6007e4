#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/unwind_rule.h"
#include "dwarf/frame_program.h"
#include "elf/image.h"

namespace gosym::dwarf {

// The call frame information of one file, from .eh_frame, which is loaded with the program, and
// from .debug_frame: how to find the caller at an address. For x86 and 64-bit ARM.
//
// Not read by libdw: a dozen bytes can have that take all memory there is, for the rules of
// 100,000,000 registers, which are remembered over and over.
class CallFrames {
public:
  // Null if the image has none. `image` must outlive it.
  static std::unique_ptr<CallFrames> open(const elf::Image& image);

  // None if nothing is known of the address, or if what is known is no rule: the caller's stack
  // pointer is counted from some other register, say.
  std::optional<UnwindRule> find(ImageAddress address) const;

private:
  CallFrames(const elf::Image& image, const FrameColumns& columns)
      : image_(image), columns_(columns) {}

  const elf::Image& image_;
  FrameColumns columns_;
  std::vector<FrameTable> tables_;
};

}  // namespace gosym::dwarf
