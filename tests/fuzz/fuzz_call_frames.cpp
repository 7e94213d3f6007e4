#include <cassert>

#include "dwarf/call_frames.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, and each rule is one that can be followed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = elf::parse(std::as_bytes(std::span(data, size)));
  auto frames = image ? dwarf::CallFrames::open(*image) : nullptr;
  for (uint64_t address = 0x1000; frames && address < 0x1100; address++)
    if (auto rule = frames->find(ImageAddress{address}))
      assert(rule->cfa.anchor != Anchor::kCfa);
  return 0;
}
