#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dwarf/frame_program.h"
#include "elf/image.h"
#include "model/unwind_rule.h"

namespace gosym::dwarf {

// The call frame information of one file, from .eh_frame, which is loaded with the program, and
// from .debug_frame: how to find the caller at an address. For x86 and 64-bit ARM. It borrows
// from the file.
//
// Not read by libdw: a dozen bytes can have that take all memory there is, for the rules of
// 100,000,000 registers, which are remembered over and over.
class CallFrames {
public:
  // Null if the image has none. `image` must outlive it.
  static std::unique_ptr<CallFrames> open(const elf::Image& image);
  // In microseconds, whatever the size of the file: only of what .eh_frame_hdr has, which is
  // believed.
  static std::unique_ptr<CallFrames> open_by_header(const elf::Image& image);

  // None if nothing is known of the address.
  std::optional<UnwindRule> find(ImageAddress address) const;

  // The function that an address lies in, or all of them; one that was split is several.
  std::optional<elf::AddressRange> function_at(ImageAddress address) const;
  std::vector<elf::AddressRange> functions() const;

  // FrameTable::is_one_piece() over all tables. Asked before code is named by a label below it.
  bool is_one_piece(ImageAddress begin, ImageAddress address) const;

  // The caller, by a rule that has to be evaluated in `state`, that of the function at the
  // address. None if the rule needs a register or a word that is not known.
  std::optional<CallerFrame> evaluate(ImageAddress address, MachineState& state) const;

  // The place of a register of the caller. A register without a rule is unchanged, but the
  // stack pointer, which is the CFA then. `cfa` is that of the function. Lost if nothing is
  // known of the address.
  CallerRegister caller_register(ImageAddress address, uint64_t number, uint64_t cfa,
                                 MachineState& state) const;

private:
  struct Found {
    FrameEntry entry;
    FrameRow row;
  };
  // Runs the program of the entry that holds the address. `wanted` is the number of one more
  // register whose rule the row shall have; kNone: no other.
  std::optional<Found> find_row(ImageAddress address,
                                uint64_t wanted = FrameColumns::kNone) const;
  CallFrames(const elf::Image& image, const FrameColumns& columns)
      : image_(image), columns_(columns) {}

  const elf::Image& image_;
  FrameColumns columns_;
  std::vector<FrameTable> tables_;
};

}  // namespace gosym::dwarf
