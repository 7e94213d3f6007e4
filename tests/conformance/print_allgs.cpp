// Tells where runtime.allgs may be in a Go program: addresses in hexadecimal, or "none".

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "go/goroutine_layout.h"

using namespace gosym;

int main(int, char** arguments) {
  auto file = MappedFile::open(arguments[1]);
  auto image = file ? elf::parse((*file)->bytes()) : Result<elf::Image>(Error("no file"));
  if (!image)
    return 1;
  auto module = go::read_module(*image, (*file)->writable_bytes());
  if (!module || !*module)
    return 1;
  std::string found;
  for (ImageAddress address : go::find_allgs(**module))
    found += fmt::format("{:x} ", to_integer(address));
  fmt::print("{}\n", found.empty() ? "none" : found);
}
