#include <cassert>

#include "gsym/gsym_file.h"

using namespace gosym;

// Whatever the bytes are: no crash, no hang, and a function is found where it begins, if that
// is known.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto file = gsym::GsymFile::parse(std::as_bytes(std::span(data, size)));
  if (!file)
    return 0;
  std::vector<Call> calls;
  constexpr uint32_t kMaxAsked = 64;
  for (uint32_t i = 0; i < file->function_count() && i < kMaxAsked; i++) {
    auto function = file->function(i);
    if (!function)
      continue;
    assert(function->name.size() < size);
    for (uint64_t offset : {uint64_t{0}, uint64_t{4}, function->size - 1, function->size}) {
      calls.clear();
      if (file->find(function->address + offset, calls))
        assert(!calls.empty() && !calls.back().is_inlined);
    }
  }
  return 0;
}
