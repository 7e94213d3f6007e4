// Tells where the variables of the heap profile of a Go program may be: a line each of the
// lists, those that can be the one of memory, the rate and the cycle, as addresses in
// hexadecimal.

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "go/heap_profile_layout.h"

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
}
