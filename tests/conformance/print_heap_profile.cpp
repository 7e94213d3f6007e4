// Tells where the variables of the heap profile of a Go program may be: a line each of the
// lists, those that can be the one of memory, the rate and the cycle, as addresses in
// hexadecimal. Then one of those that count its memory, and one of their layout, for versions
// that are known.

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "go/build_info.h"
#include "go/heap_profile_layout.h"
#include "go/memory_layout.h"

using namespace gosym;

int main(int, char** arguments) {
  auto file = MappedFile::open(arguments[1]);
  auto image = file ? elf::parse((*file)->bytes()) : Result<elf::Image>(Error("no file"));
  if (!image)
    return 1;
  auto module = go::read_module(*image, (*file)->writable_bytes());
  if (!module || !*module)
    return 1;
  go::HeapProfileVariables found = go::find_heap_profile(**module);
  for (const auto* places : {&found.lists, &found.memory_lists, &found.rate, &found.cycle}) {
    for (ImageAddress address : *places)
      fmt::print("{:x} ", to_integer(address));
    fmt::print("\n");
  }
  auto info = go::read_build_info(*image);
  auto layout = info ? go::memory_layout(info->go_version) : std::nullopt;
  if (!layout)
    return 0;
  go::MemoryVariables memory = go::find_memory_variables(**module, *layout);
  for (auto place : {memory.statistics, memory.collector, memory.heap})
    fmt::print("{:x} ", place ? to_integer(*place) : 0);
  fmt::print("\n{} {} {} {} {} {} {} {} {} {}\n", layout->count_set, layout->statistics,
             layout->live, layout->marked, layout->goal, layout->spans, layout->sweep,
             layout->span_count, layout->pauses(), layout->collections());
}
