#include "go/text_base.h"

#include <vector>

namespace gosym::go {

namespace {

// The least alignment of functions of all ports of Go (arm). Others leave gaps of up to
// twice 16.
constexpr uint64_t kFunctionAlignment = 4;
constexpr uint64_t kMaxGap = 32;
// Enough that nothing but the right place fits them by chance, and few enough to be quick.
constexpr size_t kMaxGaps = 256;
constexpr uint32_t kFewestGaps = 16;

struct Gap {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Gaps from all over the table, three bytes or longer.
std::vector<Gap> pick_gaps(const Pclntab& table) {
  std::vector<Gap> gaps;
  uint32_t step = std::max<uint32_t>(1, table.function_count() / (4 * kMaxGaps));
  for (uint32_t i = 0; i < table.function_count() && gaps.size() < kMaxGaps; i += step) {
    auto function = table.function(i);
    if (!function || function->pcfile == 0)
      continue;
    uint64_t end_of_code = function->entry + code_size(table, i);
    if (function->end >= end_of_code + 3 && function->end - end_of_code < kMaxGap)
      gaps.push_back({end_of_code, function->end});
  }
  return gaps;
}

bool is_filled(Bytes code, const std::vector<Gap>& gaps) {
  std::byte filling = code[gaps.front().begin];
  for (const Gap& gap : gaps)
    for (uint64_t i = gap.begin; i < gap.end; i++)
      if (code[i] != filling)
        return false;
  return true;
}

// Text base by the entry point of a program that Go itself linked; none if the C library starts
// the program: then Go has a function `main` for it.
std::optional<uint64_t> base_by_entry_point(const elf::Image& image, const Pclntab& table) {
  std::optional<uint64_t> start;
  for (uint32_t i = 0; i < table.function_count(); i++) {
    auto function = table.function(i);
    std::string_view name = function ? table.name(function->name_offset) : std::string_view();
    if (name == "main")
      return std::nullopt;
    if (name.starts_with("_rt0_") && name.ends_with("_linux"))
      start = function->entry;
  }
  uint64_t entry = to_integer(image.entry);
  return start && *start <= entry ? std::optional(entry - *start) : std::nullopt;
}

}  // namespace

std::optional<ImageAddress> derive_text_base(const elf::Image& image, const Pclntab& table) {
  std::vector<Gap> gaps = pick_gaps(table);
  if (!table.has_offsets() || gaps.size() < kFewestGaps)
    return std::nullopt;
  uint64_t size = table.entry(table.function_count());

  std::vector<uint64_t> places;
  for (const auto& [address, code] : image.loaded_segments(PF_X)) {
    uint64_t start = to_integer(address);
    uint64_t first = (kFunctionAlignment - start % kFunctionAlignment) % kFunctionAlignment;
    for (uint64_t i = first; i + size <= code.size() && places.size() < 2;
         i += kFunctionAlignment)
      if (is_filled(code.subspan(i, size), gaps))
        places.push_back(start + i);
  }
  if (places.size() != 1)
    return std::nullopt;
  auto by_entry_point = base_by_entry_point(image, table);
  if (by_entry_point && *by_entry_point != places[0])
    return std::nullopt;
  return ImageAddress{places[0]};
}

}  // namespace gosym::go
