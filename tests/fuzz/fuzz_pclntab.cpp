#include <cassert>

#include "go/build_info.h"
#include "go/module.h"

using namespace gosym;

// Names an address of each function of the program, if there is one in the bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = elf::parse(std::as_bytes(std::span(data, size)));
  if (!image)
    return 0;
  (void)go::read_build_info(*image);
  auto module = go::read_module(*image);
  if (!module || !*module)
    return 0;
  std::vector<Call> calls;
  for (uint32_t i = 0; i < (*module)->table.function_count(); i++) {
    uint64_t entry = to_integer((*module)->text) + (*module)->table.entry(i);
    calls.clear();
    go::find_calls(**module, ImageAddress{entry + 20}, calls);
    for (const Call& call : calls)
      assert(!call.function.empty() && call.function.size() <= size);
    assert(go::code_size((*module)->table, i) <= UINT32_MAX);
  }
  return 0;
}
