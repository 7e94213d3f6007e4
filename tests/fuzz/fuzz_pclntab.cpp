#include <cassert>
#include <cstring>

#include "go/build_info.h"
#include "go/check.h"
#include "go/inline_tree.h"
#include "go/module.h"

using namespace gosym;

// A program: whatever its bytes are, every name and every byte of code lies in it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> file(size);
  if (size > 0)
    std::memcpy(file.data(), data, size);
  auto image = elf::parse(file);
  if (!image)
    return 0;
  (void)go::read_build_info(*image);
  auto read = go::read_module(*image, file);
  if (!read || !*read)
    return 0;
  const go::Module& module = **read;
  assert(go::check_module(module).functions <= size);
  (void)go::derive_text_base(*image, module.table);
  if (module.data)
    for (const go::ModuleField& field : module.data->fields())
      assert(module.data->value(field.name) == module.data->word(field.word));
  std::vector<Call> calls;
  for (uint32_t i = 0; i < module.table.function_count(); i++)
    for (uint64_t pc : {uint64_t{0}, uint64_t{20}, go::code_size(module.table, i)})
      if (auto address = module.address_of(module.table.entry(i) + pc))
        go::find_calls(module, *address, calls);
  for (const Call& call : calls)
    assert(!call.function.empty() && call.function.size() + call.file.size() <= size);
  return 0;
}
