// Writes the seeds of the corpora elf, pclntab and replay: make_corpus DIRECTORY.

#include <fstream>

#include "../unit/pclntab_builder.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"

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
                                     {.name = 7, .address = 0x401008, .size = 4},
                                     {.name = 13, .address = 0x401030}};
  spec.parts.push_back({.name = ".symtab",
                        .type = SHT_SYMTAB,
                        .contents = build_symbols(spec, symbols),
                        .link = 3});
  spec.parts.push_back({.name = ".strtab",
                        .type = SHT_STRTAB,
                        .contents = std::string("\0outer\0inner\0label@@V1\0", 23)});
  spec.parts.push_back({.name = ".note.gnu.build-id",
                        .type = SHT_NOTE,
                        .contents = build_note("GNU", 3, "0123456789", order)});
  return build_image(spec);
}

// As fuzz_replay.cpp has it.
std::string replay_input(std::initializer_list<Event> events) {
  RecordedImage image;
  image.id = ImageId{1};
  image.path = "a";
  image.segments = {{0, 0x1000, 0x400000, 0x1000, PF_X}};
  std::string side_band;
  for (const Event& event : events)
    raw::append(event, side_band);

  const uint64_t user[] = {0x1010, 0x1020, 0x9000};
  const uint64_t kernel[] = {0xffffffff81000010};
  raw::SampleBatch batch;
  for (uint32_t pid = 1; pid < 4; pid++)
    batch.add({.time = 30, .pid = pid, .tid = pid, .kernel_stack = kernel, .user_stack = user});
  batch.add({.time = 5, .pid = 1, .tid = 9, .kernel_stack = {}, .user_stack = user});

  std::string input;
  for (const std::string& part : {raw::encode(image), side_band})
    input += static_cast<char>(part.size()) + part;
  return input + batch.encode();
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
      {"go12-64-little", {.layout = GoLayout::k12}},
      {"go15-32-big", {.order = ByteOrder::kBig, .pointer_size = 4, .layout = GoLayout::k15}},
      {"go19-64-little", {.layout = GoLayout::k19}},
      {"go112-64-big", {.order = ByteOrder::kBig, .layout = GoLayout::k112}},
      {"go116-32-little", {.pointer_size = 4, .layout = GoLayout::k116}},
      {"go118-64-little", {.layout = GoLayout::k118}},
      {"go120-32-little", {.pointer_size = 4, .layout = GoLayout::k120}},
      {"go126-64-little", {.layout = GoLayout::k126}},
      {"go127-64-big", {.order = ByteOrder::kBig, .layout = GoLayout::k127}},
      {"go127-text-parts", {.text_parts = {{0, 0x40, 0x401000}, {0x40, 0x60, 0x401050}}}},
      {"unknown-magic", {.layout = GoLayout::k120, .magic = 0x12345678}},
  };
  for (const Seed& seed : seeds)
    write(folder + "/pclntab/" + seed.name, build_image(seed.program.image()));
  ImageSpec scanned = GoProgram{}.image();
  scanned.parts[1].name = ".rodata";
  write(folder + "/pclntab/go127-scan", build_image(scanned));
  GoProgram pie{.layout = GoLayout::k113};
  write(folder + "/pclntab/go113-rela", build_image(build_pie(pie, RelocationForm::kRela)));
  write(folder + "/pclntab/go113-symbolic",
        build_image(build_pie(pie, RelocationForm::kSymbolic)));

  MapEvent map{10, 1, 0x1000, 0x1000, 0, ImageId{1}, ""};
  MapEvent wrapping{10, 1, 0x9000, UINT64_MAX, 0, ImageId{}, "//anon"};
  CommEvent exec{.time = 20, .pid = 2, .tid = 2, .comm = "new", .is_exec = true};
  ForkEvent fork{.time = 15, .pid = 2, .tid = 2, .parent_pid = 1, .parent_tid = 1};
  ForkEvent back{.time = 16, .pid = 1, .tid = 1, .parent_pid = 2, .parent_tid = 2};
  write(folder + "/replay/mapped-twice", replay_input({map, wrapping, map}));
  write(folder + "/replay/fork-and-exec", replay_input({map, fork, exec}));
  write(folder + "/replay/forks-in-a-loop", replay_input({map, fork, back, fork, back}));
  return 0;
}
