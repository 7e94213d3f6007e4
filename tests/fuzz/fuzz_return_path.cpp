#include <cassert>

#include "elf/return_path.h"
#include "elf/x86_instruction.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, no instruction longer than there are bytes, and no
// caller below the stack pointer. Where they are no ELF file they are code.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes = std::as_bytes(std::span(data, size));
  for (size_t at = 0; at < size; at++)
    if (auto found = elf::decode_x86(bytes.subspan(at)))
      assert(found->size > 0 && found->size <= 15 && found->size <= size - at);
  auto image = elf::parse(bytes);
  if (!image)
    return 0;
  auto rule = elf::rule_by_code(*image, image->entry);
  assert(!rule || rule->cfa.anchor == Anchor::kFramePointer || rule->cfa.offset >= 8);
  return 0;
}
