#pragma once

#include <cstdint>

namespace gosym {

// The address of code in a running process, or in the kernel.
enum class RuntimeAddress : uint64_t {};

// The address of code in an image as its linker laid it out (the p_vaddr and st_value of ELF).
// The two differ by the load bias: code_at() turns an offset in the file into the second.
enum class ImageAddress : uint64_t {};

constexpr uint64_t to_integer(RuntimeAddress address) {
  return static_cast<uint64_t>(address);
}
constexpr uint64_t to_integer(ImageAddress address) {
  return static_cast<uint64_t>(address);
}

}  // namespace gosym
