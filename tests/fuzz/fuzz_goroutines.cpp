#include <cassert>

#include "goroutine/goroutines.h"
#include "goroutine/labels.h"
#include "memory.h"

using namespace gosym;

// The memory of a program: what lies where its list of goroutines should be, and all that this
// leads to. No crash, no end of memory, and what is told holds together.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  proc::ReadMemory read_memory = memory_of(data, size);
  for (const char* version : {"go1.15", "go1.23", "go1.27"}) {
    GoRuntime runtime;
    runtime.allgs = {kMemoryBegin, kMemoryBegin + 8};
    runtime.layout = *go::goroutine_layout(version);
    runtime.is_entry = [](uint64_t address) { return address % 4 == 0; };
    runtime.find_rule = [](uint64_t address) -> std::optional<UnwindRule> {
      if (address % 8 == 0)
        return std::nullopt;
      bool is_root = address % 8 == 1;
      return UnwindRule{.cfa = {Anchor::kStackPointer, static_cast<int32_t>(address % 32)},
                        .return_kind = is_root ? UnwindRule::ReturnAddress::kNone
                                               : UnwindRule::ReturnAddress::kOnStack,
                        .return_address = {Anchor::kCfa, -8}};
    };
    auto read = read_goroutines(runtime, read_memory);
    if (!read)
      continue;
    assert(!read->all.empty() && read->all.size() <= size / 8);
    for (const Goroutine& goroutine : read->all) {
      assert(goroutine.stack < read->stacks.size());
      bool has_stack = goroutine.stack_state == GoroutineStack::kWhole ||
                       goroutine.stack_state == GoroutineStack::kCut;
      assert(has_stack || goroutine.stack == 0);
    }
    auto labels = read_labels(read->all, runtime.layout.runtime, read_memory);
    assert(labels && labels->size() == read->all.size());
  }
  return 0;
}
