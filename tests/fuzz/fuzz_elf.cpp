#include <cassert>

#include "elf/image.h"
#include "elf/symbol_table.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, and every fact lies in the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto image = elf::parse(std::as_bytes(std::span(data, size)));
  if (!image)
    return 0;
  elf::BuildIds ids = elf::build_ids(*image);
  assert(ids.gnu.size() <= size && ids.go.size() <= size);
  if (auto link = elf::read_debug_link(*image); link && *link)
    assert((*link)->name.size() < size && (*link)->name.find('/') == std::string_view::npos);
  if (auto link = elf::read_alternate_link(*image); link && *link)
    assert((*link)->name.size() + (*link)->build_id.size() < size);
  (void)elf::kind_of(*image);
  for (const elf::Section& section : image->sections) {
    auto table = elf::SymbolTable::read(*image, section);
    for (const elf::Symbol& function : table.functions())
      assert(table.find(function.address));
    for (const elf::Symbol& label : table.labels())
      assert(table.guess(label.address) && !table.find(label.address));
  }
  return 0;
}
