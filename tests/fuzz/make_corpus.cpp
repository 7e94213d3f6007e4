// Writes the seeds of the corpora elf and pclntab: make_corpus DIRECTORY.

#include <fstream>

#include "../unit/pclntab_builder.h"

using namespace gosym;

namespace {

void write(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

std::string image_with_symbols(ByteOrder order, uint8_t pointer_size) {
  ImageSpec spec{.order = order, .pointer_size = pointer_size, .parts = {}};
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(64, '\x90'),
                        .address = 0x401000,
                        .segment_flags = PF_R | PF_X});
  std::vector<SymbolSpec> symbols = {{.name = 1, .address = 0x401000, .size = 0x20},
                                     {.name = 7, .address = 0x401008, .size = 4}};
  spec.parts.push_back({.name = ".symtab",
                        .type = SHT_SYMTAB,
                        .contents = build_symbols(spec, symbols),
                        .link = 3});
  spec.parts.push_back(
      {.name = ".strtab", .type = SHT_STRTAB, .contents = std::string("\0outer\0inner\0", 13)});
  spec.parts.push_back({.name = ".note.gnu.build-id",
                        .type = SHT_NOTE,
                        .contents = build_note("GNU", 3, "0123456789", order)});
  return build_image(spec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  std::string folder = argv[1];
  write(folder + "/elf/symbols-64-little", image_with_symbols(ByteOrder::kLittle, 8));
  write(folder + "/elf/symbols-32-big", image_with_symbols(ByteOrder::kBig, 4));

  struct Seed {
    const char* name;
    GoProgram program;
  };
  const Seed seeds[] = {
      {"go118-64-little", {.layout = GoLayout::k118}},
      {"go120-32-little", {.pointer_size = 4, .layout = GoLayout::k120}},
      {"go126-64-little", {.layout = GoLayout::k126}},
      {"go127-64-big", {.order = ByteOrder::kBig, .layout = GoLayout::k127}},
  };
  for (const Seed& seed : seeds)
    write(folder + "/pclntab/" + seed.name, build_image(seed.program.image()));
  ImageSpec scanned = GoProgram{}.image();
  scanned.parts[1].name = ".rodata";
  write(folder + "/pclntab/go127-scan", build_image(scanned));
  return 0;
}
