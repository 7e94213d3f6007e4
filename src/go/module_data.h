#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "elf/image.h"
#include "go/pclntab.h"

namespace gosym::go {

// From Go 1.5 on the runtime keeps the addresses of its tables in a record of words,
// runtime.firstmoduledata. It lies in writable data: alone in the section .go.module from Go
// 1.26 on, before that anywhere. The fields by layout are in module_data.cpp.
enum class ModuleDataLayout : uint8_t {
  kGo1_5,   // to 1.6: no types
  kGo1_7,   // to 1.15
  kGo1_16,  // and 1.17
  kGo1_18,  // and 1.19
  kGo1_20,  // to 1.25
  kGo1_26,
  kGo1_27,
};
std::string_view to_string(ModuleDataLayout layout);  // "Go 1.20 to 1.25"

struct ModuleField {
  std::string_view name;
  uint8_t word = 0;       // index of the first
  bool is_slice = false;  // three words: address, length, capacity
};

struct ModuleData {
  const elf::Image* image = nullptr;
  ImageAddress address{};
  ModuleDataLayout layout{};

  std::span<const ModuleField> fields() const;
  // Word `index`, 0 if the image does not reach so far.
  uint64_t word(uint64_t index) const;
  // The first word of a field; 0 if the layout has no such field.
  uint64_t value(std::string_view field) const;
  uint64_t length(std::string_view slice) const;
};

// All records that fit a table; one in a whole program. `image` must outlive them.
std::vector<ModuleData> find_module_data(const elf::Image& image, const Pclntab& table,
                                         ImageAddress table_address);

}  // namespace gosym::go
