#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "model/address.h"

namespace gosym::go {

// Place where each thread of a program keeps a pointer to its g (runtime_layout.h) on x86-64:
// an offset from the thread pointer, fs. The linker knows the offset in an executable; in a
// library it is known when that is loaded, and the dynamic linker writes it to a word.
struct GoroutinePointer {
  int64_t offset = 0;
  std::optional<ImageAddress> offset_at;  // then `offset` means nothing

  bool operator==(const GoroutinePointer&) const = default;
};

// Looks for the only code that says so in the same way in every program, whatever was stripped
// from it: at the start the runtime tries thread-local storage out by storing 0x123 where g
// will be (rt0_go, in Go 1.2 to 1.27).
//
//   executable        64 48 c7 04 25 OFFSET 23 01 00 00    mov QWORD PTR fs:OFFSET, 0x123
//   PIE               48 c7 c3 OFFSET                      mov rbx, OFFSET
//                     64 48 c7 03 23 01 00 00              mov QWORD PTR fs:[rbx], 0x123
//   library           48 8b 1d DISTANCE                    mov rbx, [rip + DISTANCE]
//                     64 48 c7 03 23 01 00 00              mov QWORD PTR fs:[rbx], 0x123
//
// OFFSET and DISTANCE are i32. `code` is loaded at `address`; none if it has no such place.
std::optional<GoroutinePointer> find_goroutine_pointer(Bytes code, ImageAddress address);

// Code that the search above has to see at once.
inline constexpr size_t kGoroutinePointerCode = 15;

}  // namespace gosym::go
