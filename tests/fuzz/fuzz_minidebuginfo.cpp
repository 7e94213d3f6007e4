#include "elf/minidebuginfo.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, and no more memory than is allowed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)elf::unpack_minidebuginfo(std::as_bytes(std::span(data, size)));
  return 0;
}
