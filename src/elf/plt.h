#pragma once

#include <string>
#include <vector>

#include "elf/image.h"

namespace gosym::elf {

// A piece of code that the linker made to call one function: "puts@plt".
struct PltStub {
  ImageAddress address{};
  uint64_t size = 0;
  std::string name;
};

// The stubs of the procedure linkage table, by address, of x86-64 and 64-bit ARM. No symbol
// names them, so each is read for the slot of the global offset table it jumps through, and the
// relocation of that slot tells the function.
//
// Stubs are in executable sections named .plt, .plt.got, .plt.sec, .iplt and the like; a first
// stub, which calls the dynamic linker, has no such slot. What is in [brackets] may be missing,
// what follows the jump does not matter here:
//
//   x86-64   at multiples of 8, up to 16 bytes
//            [endbr64]  [mov $index, %r11d]  [bnd] jmp *slot(%rip)
//   ARM      at multiples of 4, up to 24 bytes
//            [bti c]    adrp x16, page of the slot    ldr x17, [x16, offset in the page]
//
// The relocations are the entries of loaded sections of type RELA, word offset, info, addend.
// One with a symbol names the function. One without tells by its addend where the function, or
// for IRELATIVE the one that chooses it, lies in this image: if a symbol is there, that is the
// name ("strlen@plt"), else it is as objdump(1) has it, "*ABS*+0x9dcd0@plt".
std::vector<PltStub> read_plt(const Image& image);

}  // namespace gosym::elf
