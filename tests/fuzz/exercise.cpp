#include "exercise.h"

#include <cassert>
#include <functional>

#include "commands/inspect/function.h"
#include "elf/image.h"
#include "elf/plt.h"
#include "elf/symbol_table.h"
#include "go/build_info.h"
#include "go/check.h"
#include "go/inline_tree.h"
#include "go/pclntab.h"
#include "symbolize/names.h"
#include "symbolize/symbol_source.h"

namespace gosym {

namespace {

// To show all functions would take as long as everything else, and go::check_module reads the
// same of all of them.
constexpr uint32_t kShownEvery = 16;

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
    for (const elf::Symbol& function : table.functions()) {
      check(image.file, function.name);
      assert(table.find(function.address));
    }
    for (const elf::Symbol& label : table.labels())
      check(image.file, label.name);
  }
  for (const elf::PltStub& stub : elf::read_plt(image))
    assert(stub.size > 0 && stub.name.ends_with("@plt"));
  if (auto info = go::read_build_info(image)) {
    for (std::string_view text : {info->go_version, info->path, info->main.required.path})
      check(image.file, text);
    for (const go::BuildModule& module : info->dependencies)
      check(image.file, module.required.sum);
    for (const auto& [key, value] : info->settings)
      check(image.file, value);
  }
}

void exercise_address(const go::Module& module, ImageAddress address,
                      std::vector<Call>& calls) {
  calls.clear();
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

// Each function at one address: at its start, in its middle or at its end.
void exercise_function(const go::Module& module, uint32_t index, std::vector<Call>& calls) {
  uint64_t size = go::code_size(module.table, index);
  const uint64_t offsets[] = {0, size / 2, size - 1};
  uint64_t pc = module.table.entry(index) + offsets[index % std::size(offsets)];
  if (auto address = module.address_of(pc))
    exercise_address(module, *address, calls);
  if (index % kShownEvery != 0)
    return;
  if (auto view = view_function(module, index))
    (void)display_name(view->record.lines(0), FrameSource::kPclntab, NameForm::kShort);
}

void exercise_module(const go::Module& module) {
  for (std::string_view file : module.table.files())
    check(module.image->file, file);
  std::vector<Call> calls;
  for (uint32_t i = 0; i < module.table.function_count(); i++)
    exercise_function(module, i, calls);
  (void)go::check_module(module);
  if (module.data)
    for (const go::ModuleField& field : module.data->fields())
      (void)module.data->word(field.word);
}

void exercise_places(const elf::Image& image) {
  for (const go::TablePlace& place : go::find_table_places(image))
    (void)go::header_fields(place.bytes, image.order, image.pointer_size,
                            load<uint32_t>(place.bytes, 0, image.order).value_or(0));
}

}  // namespace

Answers exercise(std::span<std::byte> file) {
  auto image = elf::parse(file);
  if (!image)
    return {Reading::kNotElf, exercise_perf_map(file)};
  exercise_elf(*image);
  // Before relocations are applied to the Go table.
  uint64_t named = exercise_native(*image);
  auto module = go::read_module(*image, file);
  exercise_places(*image);
  if (!module)
    return {Reading::kUnusableTable, named};
  if (!*module)
    return {Reading::kNoTable, named};
  exercise_module(**module);
  return {Reading::kTable, named};
}

}  // namespace gosym
