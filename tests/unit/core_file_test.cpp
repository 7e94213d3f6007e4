#include "elf/core_file.h"

#include <doctest/doctest.h>

#include "goroutine/core_memory.h"
#include "image_builder.h"

namespace gosym::core_file_test {

namespace {

std::string note(uint32_t type, const std::string& description,
                 std::string_view name = "CORE") {
  ByteWriter out;
  out.u32(name.size() + 1).u32(description.size()).u32(type).text(name).u8(0);
  out.pad_to((out.out.size() + 3) & ~size_t{3}).text(description);
  return out.pad_to((out.out.size() + 3) & ~size_t{3}).out;
}

// The prstatus note of a thread on x86-64.
std::string status_of(uint32_t id, uint64_t rbp, uint64_t rip, uint64_t rsp) {
  ByteWriter out;
  out.pad_to(32).u32(id).pad_to(112);
  for (uint64_t i = 0; i < 27; i++)
    out.u64(i == 4 ? rbp : i == 16 ? rip : i == 19 ? rsp : 0);
  return out.out;
}

// Likewise on arm64.
std::string status_of_arm64(uint32_t id, uint64_t x29, uint64_t x30, uint64_t sp, uint64_t pc) {
  ByteWriter out;
  out.pad_to(32).u32(id).pad_to(112);
  for (uint64_t i = 0; i < 34; i++)
    out.u64(i == 29 ? x29 : i == 30 ? x30 : i == 31 ? sp : i == 32 ? pc : 0);
  return out.out;
}

std::string notes() {
  ByteWriter process;
  process.pad_to(24).u32(4242).pad_to(136);
  ByteWriter auxiliary;
  auxiliary.u64(AT_PAGESZ).u64(4096).u64(AT_ENTRY).u64(0x401000).u64(AT_NULL).u64(0);
  ByteWriter files;
  files.u64(2).u64(4096);
  files.u64(0x400000).u64(0x402000).u64(0).u64(0x402000).u64(0x403000).u64(2);
  files.text("/bin/server").u8(0).text("/bin/server").u8(0);
  return note(NT_PRSTATUS, status_of(7, 1, 2, 3)) + note(NT_PRPSINFO, process.out) +
         note(NT_AUXV, auxiliary.out) + note(NT_FILE, files.out) +
         note(NT_PRSTATUS, status_of(8, 4, 5, 6)) +
         note(NT_PRSTATUS, status_of(9, 0, 0, 0), "X");
}

struct CoreSegment {
  uint32_t type;
  uint32_t flags;
  uint64_t address;
  std::string bytes;
  uint64_t memory_size;
};

std::string core_of(const std::vector<CoreSegment>& segments, uint16_t type = ET_CORE,
                    uint16_t machine = EM_X86_64) {
  ByteWriter out;
  out.text("\177ELF").u8(ELFCLASS64).u8(ELFDATA2LSB).u8(1).pad_to(16);
  out.u16(type).u16(machine).u32(1).u64(0).u64(64).u64(0).u32(0);
  out.u16(64).u16(56).u16(segments.size()).u16(0).u16(0).u16(0);
  uint64_t offset = 64 + 56 * segments.size();
  for (const CoreSegment& segment : segments) {
    out.u32(segment.type).u32(segment.flags).u64(offset).u64(segment.address).u64(0);
    out.u64(segment.bytes.size()).u64(segment.memory_size).u64(1);
    offset += segment.bytes.size();
  }
  for (const CoreSegment& segment : segments)
    out.text(segment.bytes);
  return out.out;
}

std::string good_core() {
  return core_of({{PT_NOTE, 0, 0, notes(), 0},
                  {PT_LOAD, PF_R | PF_X, 0x400000, "", 0x2000},
                  {PT_LOAD, PF_R | PF_W, 0x402000, std::string(0x1000, 'd'), 0x1000},
                  {PT_LOAD, PF_R | PF_W, 0x403000, std::string(0x800, 'e'), 0x1000}});
}

std::string read(const CoreMemory& memory, uint64_t address, size_t size) {
  std::string text(size, '-');
  proc::MemoryPiece piece = {address, std::as_writable_bytes(std::span(text))};
  memory.read({&piece, 1});
  return piece.is_read ? text : "unread";
}

}  // namespace

TEST_CASE("core file: threads, files and the process are read of its notes") {
  std::string file = good_core();
  auto core = elf::parse_core(as_bytes(file));
  REQUIRE(core);
  CHECK(core->pid == 4242);
  CHECK(core->entry == 0x401000);
  CHECK(core->first_thread == 7);
  REQUIRE(core->threads.size() == 2);
  CHECK(core->threads.at(7).frame_pointer == 1);
  CHECK(core->threads.at(7).pc == 2);
  CHECK(core->threads.at(7).stack_pointer == 3);
  CHECK(core->threads.at(8).pc == 5);
  REQUIRE(core->mappings.size() == 2);
  CHECK(core->mappings[1].start == 0x402000);
  CHECK(core->mappings[1].length == 0x1000);
  CHECK(core->mappings[1].file_offset == 0x2000);
  CHECK(core->mappings[1].path == "/bin/server");
  CHECK(core->missing == 0);
}

TEST_CASE("core file: of one that is cut short it is told which part is missing") {
  std::string file =
      core_of({{PT_LOAD, PF_R | PF_W, 0x402000, std::string(0x1000, 'd'), 0x1000},
               {PT_LOAD, PF_R | PF_W, 0x405000, std::string(0x800, 'e'), 0x1000},
               {PT_NOTE, 0, 0, notes(), 0}});
  size_t memory_end = file.size() - notes().size();
  auto without_notes = elf::parse_core(as_bytes(file).first(memory_end));
  REQUIRE(without_notes);
  CHECK(without_notes->missing_notes == notes().size());
  CHECK(without_notes->missing == 0);
  auto half = elf::parse_core(as_bytes(file).first(memory_end - 0x900));
  REQUIRE(half);
  CHECK(half->missing_notes == notes().size());
  CHECK(half->missing == 0x900);
  CHECK(half->missing_from == 0x402f00);
  CHECK(half->missing_to == 0x405800);
}

TEST_CASE("core file: registers of arm64") {
  std::string status = status_of_arm64(7, 1, 2, 3, 4);
  for (size_t size : {status.size(), size_t{112 + 32 * 8}}) {
    std::string file = core_of({{PT_NOTE, 0, 0, note(NT_PRSTATUS, status.substr(0, size)), 0}},
                               ET_CORE, EM_AARCH64);
    auto core = elf::parse_core(as_bytes(file));
    REQUIRE(core);
    CHECK(core->first_thread == 7);
    CHECK(core->threads.size() == (size == status.size() ? 1 : 0));
    for (const auto& [id, registers] : core->threads) {
      CHECK(registers.frame_pointer == 1);
      CHECK(registers.link_register == 2);
      CHECK(registers.stack_pointer == 3);
      CHECK(registers.pc == 4);
    }
  }
}

TEST_CASE("core file: whatever it is cut short to, what is told is there") {
  std::string file = good_core();
  auto whole = elf::parse_core(as_bytes(file));
  REQUIRE(whole);
  for (size_t size = 0; size < file.size(); size++) {
    auto core = elf::parse_core(as_bytes(file).first(size));
    if (!core)
      continue;
    CHECK(core->missing > 0);
    CHECK(core->mappings.size() <= whole->mappings.size());
    for (const auto& [id, registers] : core->threads)
      CHECK(whole->threads.at(id).pc == registers.pc);
    CoreMemory memory(*core);
    std::string end = read(memory, 0x4037f8, 8);
    CHECK((end == "unread" || end == "eeeeeeee"));
  }
}

TEST_CASE("core file: what is none is refused") {
  auto message = [](const std::string& file) {
    auto core = elf::parse_core(as_bytes(file));
    return core ? "" : core.error().message();
  };
  CHECK(message(core_of({}, ET_EXEC)) == "not a core file");
  CHECK(message("core") == "not an ELF file");
  std::string narrow = good_core();
  narrow[EI_CLASS] = ELFCLASS32;
  CHECK(!message(narrow).empty());
}

TEST_CASE("core file: notes that lie are left out") {
  auto parse = [](const std::string& notes, uint16_t machine = EM_X86_64) {
    static std::string file;
    file = core_of({{PT_NOTE, 0, 0, notes, 0}}, ET_CORE, machine);
    auto core = elf::parse_core(as_bytes(file));
    REQUIRE(core);
    return *std::move(core);
  };
  // Registers of another machine have other places.
  CHECK(parse(notes(), EM_RISCV).threads.empty());
  CHECK(parse(notes(), EM_RISCV).mappings.size() == 2);
  for (uint64_t count : {uint64_t{3}, uint64_t{1} << 20, UINT64_MAX, UINT64_MAX / 24 + 1}) {
    ByteWriter files;
    files.u64(count).u64(4096).u64(0x1000).u64(0x2000).u64(0).text("/a").u8(0);
    CHECK(parse(note(NT_FILE, files.out)).mappings.empty());
  }
  ByteWriter backward;
  backward.u64(1).u64(4096).u64(0x2000).u64(0x1000).u64(0).text("/a").u8(0);
  CHECK(parse(note(NT_FILE, backward.out)).mappings.empty());
  ByteWriter unended;
  unended.u64(1).u64(4096).u64(0x1000).u64(0x2000).u64(0).text("/a");
  CHECK(parse(note(NT_FILE, unended.out)).mappings.empty());
  CHECK(parse(note(NT_PRSTATUS, "short")).threads.empty());
  CHECK(parse(note(NT_PRPSINFO, "short")).pid == 0);
  CHECK(parse(note(NT_AUXV, "short")).entry == 0);
}

TEST_CASE(
    "core memory: pieces come of several segments, and of files where the core has none") {
  std::string file = good_core();
  auto core = elf::parse_core(as_bytes(file));
  REQUIRE(core);
  CoreMemory memory(*core);
  CHECK(read(memory, 0x402ffe, 4) == "ddee");
  CHECK(read(memory, 0x4037fe, 4) == "unread");  // zero in memory or not: nobody knows
  CHECK(read(memory, 0x401ffe, 4) == "unread");
  CHECK(read(memory, 0x400000, 0).empty());
  CHECK(read(memory, UINT64_MAX - 1, 4) == "unread");
  CHECK(memory.is_executable_at(0x401fff));
  CHECK_FALSE(memory.is_executable_at(0x402000));

  std::string text(0x2000, 't');
  std::string changed(0x1000, 'x');
  memory.set_files({{0x402000, as_bytes(changed)}, {0x400000, as_bytes(text)}});
  CHECK(read(memory, 0x401ffe, 4) == "ttdd");
  CHECK(read(memory, 0x3fffff, 2) == "unread");
}

TEST_CASE("core memory: segments that lie have an end") {
  std::string file = core_of({{PT_LOAD, PF_R, UINT64_MAX - 7, "12345678", 16},
                              {PT_LOAD, PF_R, 0x1000, "1234", 2},
                              {PT_LOAD, PF_R, 0x1001, "abcd", 4},
                              {PT_LOAD, PF_R, 0x2000, "", 0}});
  auto core = elf::parse_core(as_bytes(file));
  REQUIRE(core);
  CoreMemory memory(*core);
  CHECK(read(memory, UINT64_MAX - 7, 8) == "unread");
  CHECK(read(memory, 0x1000, 1) == "1");
  CHECK(read(memory, 0x1001, 4) == "abcd");
  CHECK(read(memory, 0x2000, 1) == "unread");
}

}  // namespace gosym::core_file_test
