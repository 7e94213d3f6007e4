// Prints the unwind rule (../unit/unwind_rule_text.h) of each address that standard input
// names, in hex, one a line:
//
//   unwind_rules dwarf|go|code FILE

#include <cstdio>
#include <iostream>
#include <string>

#include "../unit/unwind_rule_text.h"
#include "base/mapped_file.h"
#include "base/print.h"
#include "dwarf/call_frames.h"
#include "elf/return_path.h"
#include "go/unwind_rule.h"

using namespace gosym;

namespace {

template <class Find>
void answer(Find find) {
  for (std::string line; std::getline(std::cin, line);) {
    ImageAddress address{std::strtoull(line.c_str(), nullptr, 16)};
    print(stdout, "{}\n", to_text(find(address)));
  }
}

int fail(std::string_view message) {
  print(stderr, "unwind_rules: {}\n", message);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    return fail("usage: unwind_rules dwarf|go|code FILE");
  auto file = MappedFile::open(argv[2]);
  if (!file)
    return fail(file.error().message());
  auto image = elf::parse((*file)->bytes());
  if (!image)
    return fail(image.error().message());

  if (argv[1] == std::string_view("dwarf")) {
    auto frames = dwarf::CallFrames::open(*image);
    if (!frames)
      return fail("no call frame information");
    answer([&](ImageAddress address) { return frames->find(address); });
    return 0;
  }
  if (argv[1] == std::string_view("code")) {
    answer([&](ImageAddress address) { return elf::rule_by_code(*image, address); });
    return 0;
  }
  auto module = go::read_module(*image, (*file)->writable_bytes());
  if (!module || !*module)
    return fail(module ? "no Go program" : module.error().message());
  answer([&](ImageAddress address) { return go::unwind_rule(**module, address); });
  return 0;
}
