#include "elf/core_file.h"

#include <algorithm>

#include "base/reader.h"

// parse_core() goes through the segments: those of memory are counted as far as the file has
// them, and of notes the four kinds are read that core_file.h lists. A damaged note ends its
// segment or is passed over, and what it would have told stays unknown. A Reader that has run
// past its end gives 0, and ok() is false from then on.

namespace gosym::elf {

namespace {

// Linux allows 65530 mappings unless told otherwise (vm.max_map_count), and fewer threads than
// that. Of a list with more mappings nothing is read, of more threads the first.
constexpr uint64_t kMaxCoreMappings = 1 << 20;
constexpr uint64_t kMaxCoreThreads = 1 << 20;

// Numbers of registers among those of a thread, by machine.
struct RegisterNumbers {
  uint16_t machine;
  uint8_t pc;
  uint8_t stack_pointer;
  uint8_t frame_pointer;
  uint8_t link_register;  // 0: it has none
};
constexpr RegisterNumbers kRegisterNumbers[] = {{EM_X86_64, 16, 19, 4, 0},
                                                {EM_AARCH64, 32, 31, 29, 30}};

// Reads a note NT_PRSTATUS.
void read_thread(Bytes status, const Image& image, CoreFile& core) {
  // Offset of pr_reg in struct elf_prstatus of 64-bit Linux, which has pr_pid at 32.
  constexpr uint64_t kRegisters = 112;
  auto id = load<uint32_t>(status, 32, image.order);
  auto word = [&](uint64_t number) {
    return load<uint64_t>(status, kRegisters + 8 * number, image.order);
  };
  // The kernel writes the thread that the signal came to first.
  if (core.first_thread == 0)
    core.first_thread = id.value_or(0);
  const auto* numbers =
      std::ranges::find(kRegisterNumbers, image.machine, &RegisterNumbers::machine);
  if (numbers == std::end(kRegisterNumbers) || !id || core.threads.size() >= kMaxCoreThreads)
    return;
  auto pc = word(numbers->pc);
  auto stack_pointer = word(numbers->stack_pointer);
  auto frame_pointer = word(numbers->frame_pointer);
  auto link_register = numbers->link_register == 0 ? 0 : word(numbers->link_register);
  if (pc && stack_pointer && frame_pointer && link_register)
    core.threads[*id] = {*pc, *stack_pointer, *frame_pointer, *link_register};
}

// Reads a note NT_FILE.
void read_mappings(Bytes note, ByteOrder order, std::vector<CoreMapping>& mappings) {
  constexpr uint64_t kEntry = 24;
  Reader in(note, order);
  uint64_t count = in.u64();
  uint64_t page_size = in.u64();
  // A count is believed up to the limit, and only as far as the note has bytes for it.
  if (!in.ok() || count > kMaxCoreMappings)
    return;
  // The paths lie behind all entries, in their order.
  Reader entries(in.bytes(count * kEntry), order);
  // A list of paths that is cut short leaves out the mappings without one.
  while (in.ok() && entries.remaining() > 0) {
    uint64_t start = entries.u64();
    uint64_t end = entries.u64();
    // Offsets count in pages.
    uint64_t file_offset = entries.u64() * page_size;
    std::string_view path = in.cstring();
    if (in.ok() && start < end)
      mappings.push_back({start, end - start, file_offset, path});
  }
}

uint64_t find_entry(Bytes auxiliary, ByteOrder order) {
  Reader in(auxiliary, order);
  while (in.ok() && in.remaining() > 0) {
    uint64_t type = in.u64();
    uint64_t value = in.u64();
    if (in.ok() && type == AT_ENTRY)
      return value;
  }
  // 0 means that the place is not known: nothing is mapped there.
  return 0;
}

void read_core_notes(Bytes notes, CoreFile& core) {
  ByteOrder order = core.image.order;
  Reader in(notes, order);
  auto skip_padding = [&in](uint64_t size) {
    in.bytes(std::min<uint64_t>((4 - size % 4) % 4, in.remaining()));
  };
  while (in.ok() && in.remaining() > 0) {
    // A note has the sizes of its name and of its contents, its type, and both, each padded to
    // a multiple of 4.
    uint32_t name_size = in.u32();
    uint32_t size = in.u32();
    uint32_t type = in.u32();
    std::string_view name = as_text(in.bytes(name_size));
    skip_padding(name_size);
    Bytes description = in.bytes(size);
    if (!in.ok())
      return;
    // The last note may lack its padding.
    skip_padding(size);
    // Notes of other owners use the same type numbers for other things.
    if (name.substr(0, name.find('\0')) != "CORE")
      continue;
    if (type == NT_PRSTATUS)
      read_thread(description, core.image, core);
    else if (type == NT_PRPSINFO)
      core.pid = load<uint32_t>(description, 24, order).value_or(0);
    else if (type == NT_AUXV)
      core.entry = find_entry(description, order);
    // A core has one list of files; the first counts.
    else if (type == NT_FILE && core.mappings.empty())
      read_mappings(description, order, core.mappings);
  }
}

// Counts what the file lacks of a segment: it has `there` bytes of its memory.
// Segments lie in the file by address in what Linux writes, so that one range of addresses,
// from the first missing byte to the last, tells what is gone.
void add_missing(const Segment& segment, uint64_t there, CoreFile& core) {
  if (there == segment.file_size)
    return;
  uint64_t start = to_integer(segment.address);
  core.missing_from =
      core.missing == 0 ? start + there : std::min(core.missing_from, start + there);
  core.missing_to = std::max(core.missing_to, start + segment.file_size);
  core.missing += segment.file_size - there;
}

}  // namespace

Result<CoreFile> parse_core(Bytes file) {
  auto image = parse(file);
  if (!image)
    return std::move(image).error();
  if (image->type != ET_CORE)
    return Error("not a core file");
  // Offsets in the notes are those of 64-bit machines.
  if (image->pointer_size != 8)
    return Error("a core file of a process of 32 bits");
  CoreFile core;
  core.image = *std::move(image);
  uint64_t notes_left = file.size();  // segments may all name the same bytes
  for (const Segment& segment : core.image.segments) {
    // Core files are cut short when the disk is full or by ulimit -c: what is missing is told,
    // not refused.
    uint64_t there = std::min(segment.file_size, uint64_t{tail(file, segment.offset).size()});
    if (segment.type == PT_LOAD)
      add_missing(segment, there, core);
    if (segment.type == PT_NOTE)
      core.missing_notes += segment.file_size - there;
    if (segment.type != PT_NOTE || there > notes_left)
      continue;
    notes_left -= there;
    read_core_notes(tail(file, segment.offset).first(there), core);
  }
  return core;
}

}  // namespace gosym::elf
