// Writes the seeds of the corpora call_frames, elf, go_table, gsym, pclntab, perf_data, plt,
// raw and replay: make_corpus DIRECTORY.

#include <fmt/format.h>

#include <fstream>

#include "../fixtures/every_field.h"
#include "../unit/frame_builder.h"
#include "../unit/pclntab_builder.h"
#include "../unit/perf_data_file.h"
#include "../unit/plt_builder.h"
#include "base/mapped_file.h"
#include "gsym/gsym_writer.h"
#include "raw/messages.h"
#include "raw/sample_batch.h"
#include "raw/writer.h"

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

std::string image_with_links() {
  ImageSpec spec;
  spec.parts.push_back(
      {.name = ".gnu_debuglink", .contents = std::string("a.debug\0\x12\x34\x56\x78", 12)});
  spec.parts.push_back(
      {.name = ".gnu_debugaltlink", .contents = std::string("../.dwz/common\0id", 17)});
  return build_image(spec);
}

// Input in the form that fuzz_replay.cpp reads.
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
  const StackWord words[] = {{0, 0x9000}, {8, 24}, {24, 0x11030}, {32, 0x11040}};
  batch.add({.time = 5,
             .pid = 1,
             .tid = 9,
             .kernel_stack = {},
             .user_stack = user,
             .frame_offset = 8,
             .words = words});

  std::string input;
  for (const std::string& part : {raw::encode(image), side_band})
    input += static_cast<char>(part.size()) + part;
  return input + batch.encode();
}

// A recording with each field, the payloads that are in it, and what may become of it.
void write_recording_seeds(const std::string& folder) {
  auto ends = every_field::write(folder + "/whole.raw");
  auto file = read_file(folder + "/whole.raw", SIZE_MAX);
  if (!ends || !file)
    return;
  const std::string& whole = *file;
  constexpr size_t kEvents = 2;  // chunks, as they are in the file
  constexpr size_t kSamples = 4;
  write(folder + "/cut-in-samples.raw", whole.substr(0, (*ends)[kSamples] - 9));
  std::string damaged = whole;
  damaged[(*ends)[kEvents] - 9] ^= 1;
  write(folder + "/events-damaged.raw", damaged);
  std::string junk = whole;
  write(folder + "/junk-between-chunks.raw", junk.insert((*ends)[kEvents], "CHNK junk"));
  std::string newer = whole;
  newer[8]++;
  write(folder + "/newer-major.raw", newer);

  std::string side_band;
  for (const Event& event : every_field::events())
    raw::append(event, side_band);
  write(folder + "/events.payload", side_band);
  write(folder + "/image.payload", raw::encode(every_field::image()));
  write(folder + "/info.payload", raw::encode(every_field::info()));
  write(folder + "/piece.payload", raw::encode(every_field::piece()));
  write(folder + "/samples.payload", every_field::samples(100).encode());

  auto writer = raw::Writer::create(folder + "/file-in-pieces.raw", {});
  RecordedImage image;
  image.id = ImageId{1};
  image.path = "a";
  if (writer && (*writer)->write_image(image) &&
      (*writer)->write_piece({image.id, 0, "\177ELF", 10, ""}))
    (void)(*writer)->write_piece({image.id, 0x40, "second", 0, ""});
}

// Stacks that share frames, over three chunks; and without the second of them.
void write_stack_seeds(const std::string& folder) {
  const std::vector<std::vector<uint64_t>> stacks = {
      {0x1010, 0x1020, 0x9000}, {0x1018, 0x1020, 0x9000}, {0x1030, 0x1018, 0x1020, 0x9000}};
  auto writer = raw::Writer::create(folder + "/tree.raw", {});
  std::vector<uint64_t> ends;
  for (uint64_t i = 0; i < stacks.size(); i++) {
    raw::SampleBatch batch;
    batch.add({.time = i, .kernel_stack = {}, .user_stack = stacks[i]});
    if (i + 1 == stacks.size())
      write(folder + "/tree.payload", batch.encode());
    if (!(*writer)->write_samples(batch))
      return;
    ends.push_back((*writer)->bytes_written());
  }
  if (auto file = read_file(folder + "/tree.raw", SIZE_MAX))
    write(folder + "/tree-without-a-chunk.raw", file->erase(ends[0], ends[1] - ends[0]));
}

// A program of each layout, and its table by itself; in turn of each word width and byte order.
void write_go_seeds(const std::string& folder) {
  constexpr const char* kReleases[] = {"1.2",  "1.5",  "1.9",  "1.10", "1.12", "1.13",
                                       "1.16", "1.18", "1.20", "1.26", "1.27"};
  for (GoLayout layout : kGoLayouts) {
    auto i = static_cast<size_t>(layout);
    bool is_big = i % 3 == 2;
    bool is_32_bit = i % 2 == 1;
    BuiltGoProgram program{.order = is_big ? ByteOrder::kBig : ByteOrder::kLittle,
                           .pointer_size = static_cast<uint8_t>(is_32_bit ? 4 : 8),
                           .layout = layout};
    std::string name =
        fmt::format("go{}-{}-{}", kReleases[i], is_32_bit ? 32 : 64, is_big ? "big" : "little");
    write(folder + "/pclntab/" + name, build_image(program.image()));
    // The choice byte of fuzz_go_table.cpp: no magic but the table's own.
    auto choice = static_cast<char>(0x1c | (is_32_bit ? 2 : 0) | (is_big ? 1 : 0));
    write(folder + "/go_table/" + name, choice + program.table());
  }

  ImageSpec scanned = BuiltGoProgram{}.image();
  scanned.parts[1].name = ".rodata";
  write(folder + "/pclntab/scanned", build_image(scanned));
  write(folder + "/pclntab/unknown-magic",
        build_image(BuiltGoProgram{.magic = 0x12345678}.image()));
  write(
      folder + "/pclntab/text-in-parts",
      build_image(
          BuiltGoProgram{.text_parts = {{0, 0x40, 0x401000}, {0x40, 0x60, 0x401050}}}.image()));
  write(folder + "/pclntab/pie-relocated-by-addends",
        build_image(build_pie({.layout = GoLayout::k113}, RelocationForm::kRela)));
  write(folder + "/pclntab/pie-relocated-by-symbols",
        build_image(build_pie({.layout = GoLayout::k118}, RelocationForm::kSymbolic)));
}

void write_frame_seeds(const std::string& folder) {
  auto write_image = [&](const std::string& name, const FrameSpec& spec) {
    write(folder + "/" + name, build_image(spec.image(spec.frames())));
  };
  // push %rbp; mov %rsp, %rbp; an epilogue; the rest with a stack that is aligned anew
  FrameSpec rows{.instructions =
                     "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x50\x0a\x0c\x07\x08\xc6\x41"
                     "\x0b\x0f\x03\x76\x78\x06"};
  write_image("rows", rows);
  rows.is_debug_frame = true;
  rows.version = 4;
  rows.augmentation = "";
  write_image("debug-frame", rows);
  write_image("stub", {.instructions = std::string(
                           "\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22", 13)});
  write_image("evaluated", {.instructions = std::string(
                                "\x41\x0c\x09\x08\x41\x0f\x0a\x77\x08\x79\0\x38\x1e\x22\x06"
                                "\x23\x08\x41\x0f\x07\x35\x31\x1c\x12\x28\xfa\xff",
                                27)});
  write_image("aarch64", {.machine = EM_AARCH64,
                          .return_column = 30,
                          .setup = std::string("\x0c\x1f\0", 3),
                          .instructions = "\x42\x2d\x0e\x20\x9d\x04\x9e\x03"});
}

void write_perf_data_seeds(const std::string& folder) {
  using namespace perf_data_test;
  File file;
  std::string one = sample({kKernel, 0xffffffff81000010, kUser, 0x401000, 0x402000});
  std::string later =
      sample({kKernel, 0xffffffff81000010, kDeferred, 7}) +
      record(22, PERF_RECORD_MISC_USER, u64(7) + u64(1) + u64(0x401000) + trailer());
  file.records = mapping("/bin/program") + one + later +
                 record(PERF_RECORD_LOST, 0, u64(1) + u64(5) + trailer());
  file.features = {{3, text_feature("web")}, {11, u32(1) + text_feature("perf")}};
  write(folder + "/file", file.text());
  file.records = record(81, 0, packed(mapping("/bin/program") + one));
  write(folder + "/compressed", file.text());
  file.attrs[0].first.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  file.attrs[0].first.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8;
  file.records =
      mapping("/bin/program") + sample({}, 1,
                                       u64(2) + u64(0x7f0010) + u64(0x7f0000) + u64(0x401000) +
                                           u64(16) + u64(5) + u64(0x402000) + u64(16));
  write(folder + "/copied-stack", file.text());
  write(folder + "/stream",
        "PERFILE2" + u64(16) + record(64, 0, bytes_of(clock_attr()) + u64(1)) +
            record(80, 0, u64(3) + text_feature("web")) + mapping("/bin/program") + one);
}

std::string gsym_index(bool is_far) {
  gsym::GsymWriter writer;
  std::vector<Call> plain = {{.function = "main.main", .file = "/src/main.go", .line = 7}};
  std::vector<Call> nested = {
      {.function = "inner", .file = "in.c", .line = 400, .is_inlined = true},
      {.function = "middle", .file = "/mid.c", .line = 3, .is_inlined = true},
      {.function = "main.main", .file = "/src/main.go", .line = 9}};
  writer.add(0x401000, 0x401004, plain, true);
  writer.add(0x401004, 0x401010, nested, false);
  writer.add(0x401010, 0x401400, plain, false);
  writer.add(0x401400, 0x401410, nested, false);
  writer.add(is_far ? 0x7f0000000000 : 0x401500, is_far ? 0x7f0000000010 : 0x401510, plain,
             true);
  std::string file;
  gsym::Facts facts{.is_go = true, .code = {{0x1000, 0x500, 0x401000}}};
  (void)writer.finish("0123456789", facts, [&](std::string_view part) { file += part; });
  return file;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  std::string folder = argv[1];
  write(folder + "/elf/symbols-64-little", image_with_symbols(ByteOrder::kLittle, 8));
  write(folder + "/elf/symbols-32-big", image_with_symbols(ByteOrder::kBig, 4));
  write(folder + "/elf/debug-links", image_with_links());

  write_frame_seeds(folder + "/call_frames");

  std::string local_and_imported =
      padded(kEndbr64 + jump_x86_64(4, 2), 16) + padded(jump_x86_64(16, 0), 8);
  write(folder + "/plt/x86-64", build_plt_image(local_and_imported));
  write(folder + "/plt/aarch64", build_plt_image(stub_aarch64(1) + stub_aarch64(3), kArm));

  write(folder + "/gsym/near", gsym_index(/*is_far=*/false));
  write(folder + "/gsym/far", gsym_index(/*is_far=*/true));

  write_go_seeds(folder);
  write_perf_data_seeds(folder + "/perf_data");
  write_recording_seeds(folder + "/raw");
  write_stack_seeds(folder + "/raw");

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
