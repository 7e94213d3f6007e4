#include <cassert>

#include "elf/plt.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, and stubs that do not overlap.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = elf::parse(std::as_bytes(std::span(data, size)));
  if (!image)
    return 0;
  for (const elf::PltStub& stub : elf::read_plt(*image))
    assert(stub.size > 0 && stub.name.ends_with("@plt"));
  return 0;
}
