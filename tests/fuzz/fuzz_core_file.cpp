#include <cassert>

#include "elf/core_file.h"
#include "goroutine/core_memory.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, and what is read of the memory is of the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto core = elf::parse_core(std::as_bytes(std::span(data, size)));
  if (!core)
    return 0;
  CoreMemory memory(*core);
  for (const elf::CoreMapping& mapping : core->mappings) {
    assert(mapping.length > 0 && mapping.path.size() < size);
    assert(memory.in_core(mapping.start).size() <= size);
  }
  for (const auto& [id, registers] : core->threads) {
    std::byte room[64];
    proc::MemoryPiece piece = {registers.stack_pointer, room};
    memory.read({&piece, 1});
  }
  return 0;
}
