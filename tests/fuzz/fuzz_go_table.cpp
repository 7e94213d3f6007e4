#include <cassert>

#include "go/pclntab.h"

using namespace gosym;

namespace {

void check_function(const go::Pclntab& table, uint32_t index, size_t size) {
  assert(go::code_size(table, index) <= table.entry(index + 1) - table.entry(index));
  auto function = table.function(index);
  if (!function)
    return;
  assert(function->size <= size && table.name(function->name_offset).size() < size);
  for (uint32_t i = 0; i < table.pcdata_count(*function); i++)
    (void)table.pcdata_table(*function, i);
  for (uint32_t i = 0; i < table.funcdata_count(*function); i++)
    (void)table.funcdata(*function, i);
  for (uint32_t offset : {function->pcsp, function->pcfile, function->pcln}) {
    if (offset == 0)
      continue;
    go::PcValueRows rows = table.rows(offset);
    for (size_t count = 0; auto row = rows.next(); count++) {
      assert(row->begin <= row->end && count < size);
      assert(table.file(*function, row->value).size() < size);
    }
  }
}

}  // namespace

// A table without the image around it: a byte of which bit 0 is the byte order, bit 1 the
// pointer size, and bits 2 to 4 choose a magic to read it by; then the table.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint32_t kMagics[] = {go::kMagic12, go::kMagic116, go::kMagic118, go::kMagic120};
  if (size == 0)
    return 0;
  unsigned choice = data[0] >> 2;
  auto table = go::Pclntab::parse(
      std::as_bytes(std::span(data + 1, size - 1)),
      (data[0] & 1) == 0 ? ByteOrder::kLittle : ByteOrder::kBig, (data[0] & 2) == 0 ? 8 : 4,
      choice < std::size(kMagics) ? std::optional(kMagics[choice]) : std::nullopt);
  if (!table)
    return 0;
  for (std::string_view file : table->files())
    assert(file.size() < size);
  for (uint32_t i = 0; i < table->function_count(); i++) {
    assert(!table->find(table->entry(i)) || table->find(table->entry(i)) >= i);
    check_function(*table, i, size);
  }
  return 0;
}
