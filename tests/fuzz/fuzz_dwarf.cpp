#include <cassert>

#include "dwarf/debug_info.h"

using namespace gosym;

// An ELF file with debugging information, which may be the package of what was split off it as
// well: whatever it says, no crash, no hang, and no call without a name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = elf::parse(std::as_bytes(std::span(data, size)));
  auto info = image ? dwarf::DebugInfo::open(*image, {.package = image->file}) : nullptr;
  if (!info)
    return 0;
  for (const elf::AddressRange& range : elf::code_ranges(*image))
    for (uint64_t part = 0; part < 32; part++) {
      ImageAddress address{range.begin + (range.end - range.begin) / 32 * part};
      std::vector<Call> calls;
      assert(info->find(address, calls) == !calls.empty());
      for (const Call& call : calls)
        assert(!call.function.empty());
      (void)info->find_position(address);
    }
  return 0;
}
