#include "allocations.h"

#include <cstdlib>
#include <new>

namespace {

uint64_t count = 0;

}  // namespace

uint64_t allocation_count() {
  return count;
}

void* operator new(size_t size) {
  count++;
  if (void* memory = std::malloc(size))
    return memory;
  std::abort();
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
