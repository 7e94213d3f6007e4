#include <cassert>

#include "dwarf/call_frames.h"

using namespace gosym;

namespace {

class SomeState : public MachineState {
public:
  std::optional<uint64_t> stack_pointer() override { return 0x7000; }
  std::optional<uint64_t> frame_pointer() override { return std::nullopt; }
  std::optional<uint64_t> register_value(uint64_t number) override {
    return number % 2 == 0 ? std::optional(number) : std::nullopt;
  }
  std::optional<uint64_t> word_at(uint64_t address) override { return ~address; }
};

void ask(const dwarf::CallFrames& frames) {
  SomeState state;
  for (uint64_t address = 0x1000; address < 0x1100; address++) {
    auto rule = frames.find(ImageAddress{address});
    if (rule)
      assert(rule->cfa.anchor != Anchor::kCfa);
    if (rule && rule->is_evaluated)
      (void)frames.evaluate(ImageAddress{address}, state);
    (void)frames.caller_register(ImageAddress{address}, address % 16, 0x8000, state);
    if (auto function = frames.function_at(ImageAddress{address}))
      assert(function->begin <= address && address < function->end);
  }
  for (const elf::AddressRange& function : frames.functions())
    assert(function.begin < function.end);
}

}  // namespace

// Whatever the bytes are: no crash, no hang, and each rule is one that can be followed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = elf::parse(std::as_bytes(std::span(data, size)));
  if (!image)
    return 0;
  if (auto frames = dwarf::CallFrames::open(*image))
    ask(*frames);
  if (auto frames = dwarf::CallFrames::open_by_header(*image))
    ask(*frames);
  return 0;
}
