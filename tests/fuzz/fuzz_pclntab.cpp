#include <cassert>
#include <cstring>

#include "go/build_info.h"
#include "go/check.h"
#include "go/inline_tree.h"

using namespace gosym;

// Checks the function table of the program, if there is one in the bytes, and names an address
// of each function.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> file(size);
  std::memcpy(file.data(), data, size);
  auto image = elf::parse(file);
  if (!image)
    return 0;
  (void)go::read_build_info(*image);
  auto module = go::read_module(*image, file);
  if (!module || !*module)
    return 0;
  assert(go::check_module(**module).functions <= size);
  std::vector<Call> calls;
  for (uint32_t i = 0; i < (*module)->table.function_count(); i++) {
    auto address = (*module)->address_of((*module)->table.entry(i) + 20);
    calls.clear();
    if (address)
      go::find_calls(**module, *address, calls);
    for (const Call& call : calls)
      assert(!call.function.empty() && call.function.size() <= size);
    assert(go::code_size((*module)->table, i) <= UINT64_MAX);
  }
  return 0;
}
