#include "exercise.h"

#include <cassert>
#include <functional>

#include "commands/inspect_function_view.h"
#include "elf/build_ids.h"
#include "elf/kind.h"
#include "elf/symbol_table.h"
#include "go/build_info.h"
#include "go/check.h"
#include "go/header_fields.h"
#include "go/inline_tree.h"
#include "symbolize/names.h"
#include "symbolize/wrappers.h"

namespace gosym {

namespace {

void check(Bytes file, std::string_view text) {
  const auto* begin = reinterpret_cast<const char*>(file.data());
  bool is_in_file = std::greater_equal<>()(text.data(), begin) &&
                    std::less_equal<>()(text.data() + text.size(), begin + file.size());
  assert(text.empty() || is_in_file);
}

void exercise_elf(const elf::Image& image) {
  (void)elf::build_ids(image);
  (void)elf::kind_of(image);
  for (uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const elf::Section* section = image.find_section(type);
    if (section == nullptr)
      continue;
    auto table = elf::SymbolTable::read(image, *section);
    for (const elf::Symbol& symbol : table.symbols()) {
      check(image.file, symbol.name);
      assert(table.find(symbol.address));
    }
  }
  if (auto info = go::read_build_info(image)) {
    for (std::string_view text : {info->go_version, info->path, info->main.required.path})
      check(image.file, text);
    for (const go::BuildModule& module : info->dependencies)
      check(image.file, module.replacement ? module.replacement->sum : module.required.sum);
    for (const auto& [key, value] : info->settings)
      check(image.file, value);
  }
}

void exercise_address(const go::Module& module, ImageAddress address) {
  std::vector<Call> calls;
  if (!go::find_calls(module, address, calls))
    return;
  assert(!calls.empty());
  for (const Call& call : calls) {
    check(module.image->file, call.function);
    check(module.image->file, call.file);
  }
  hide_wrappers(calls);
  assert(!calls.empty());
}

void exercise_function(const go::Module& module, uint32_t index) {
  const go::Pclntab& table = module.table;
  uint64_t size = go::code_size(table, index);
  for (uint64_t offset : {uint64_t{0}, size / 2, size - 1})
    if (auto address = module.address_of(table.entry(index) + offset))
      exercise_address(module, *address);

  auto function = table.function(index);
  auto view = view_function(module, index);
  assert(view.has_value() <= function.has_value());
  if (!function)
    return;
  (void)display_name(table.name(function->name_offset), FrameSource::kPclntab,
                     NameForm::kShort);
  (void)table.value(*function, function->pcsp, function->end - 1);
  for (uint32_t i = 0; i < table.pcdata_count(*function); i++)
    if (auto rows = table.pcdata_table(*function, i))
      (void)table.value(*function, *rows, function->end - 1);
  for (uint32_t i = 0; i < table.funcdata_count(*function); i++)
    (void)table.funcdata(*function, i);
}

void exercise_module(const go::Module& module) {
  for (std::string_view file : module.table.files())
    check(module.image->file, file);
  for (uint32_t i = 0; i < module.table.function_count(); i++)
    exercise_function(module, i);
  (void)go::check_module(module);
  if (module.data)
    for (const go::ModuleField& field : module.data->fields())
      (void)module.data->word(field.word);
}

}  // namespace

Reading exercise(std::span<std::byte> file) {
  auto image = elf::parse(file);
  if (!image)
    return Reading::kNotElf;
  exercise_elf(*image);
  for (const go::TablePlace& place : go::find_table_places(*image))
    (void)go::header_fields(place.bytes, image->order, image->pointer_size,
                            load<uint32_t>(place.bytes, 0, image->order).value_or(0));
  auto module = go::read_module(*image, file);
  if (!module)
    return Reading::kUnusableTable;
  if (!*module)
    return Reading::kNoTable;
  exercise_module(**module);
  return Reading::kTable;
}

}  // namespace gosym
