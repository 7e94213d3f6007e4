#pragma once

#include <map>
#include <vector>

#include "elf/image.h"

namespace gosym::elf {

// Part of a file that a process had mapped when its core was written.
struct CoreMapping {
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t file_offset = 0;
  std::string_view path;  // may end in " (deleted)"
};

struct CoreRegisters {
  uint64_t pc = 0;
  uint64_t stack_pointer = 0;
  uint64_t frame_pointer = 0;
  uint64_t link_register = 0;  // arm64: where a function that has saved nothing returns to
};

// The core of a process: an ELF file of type ET_CORE with what its memory held in PT_LOAD
// segments, and with notes in PT_NOTE segments. Read of these are, all with the name "CORE"
// (Linux, fs/binfmt_elf.c; gdb's gcore writes the same, but behind
// all memory):
//
//   1           NT_PRSTATUS  one for each thread, the one that died first: its id at 32, i32,
//                            and at 112 registers of 8 bytes each. x86-64, in the order of
//                            struct user_regs_struct: rbp is the 4th from 0, rip the 16th, rsp
//                            the 19th. arm64: x0 to x30, where x29 is the frame pointer and x30
//                            the link register, then sp and pc
//   3           NT_PRPSINFO  64 bits: id of the process at 24, i32
//   6           NT_AUXV      pairs of words; behind AT_ENTRY (9) where the program begins
//   0x46494c45  NT_FILE      not in cores of QEMU's user mode. u64 count, u64 page size, count
//                            times {u64 start, u64 end, u64 offset in pages}, count paths that
//                            end in NUL
//
// Memory that was only read from files is mostly left out: a segment may have fewer bytes in
// the file than in memory. Everything here borrows from the bytes that were parsed.
struct CoreFile {
  Image image;
  std::vector<CoreMapping> mappings;
  std::map<uint32_t, CoreRegisters> threads;  // by id; of x86-64 and arm64
  uint32_t first_thread = 0;                  // the one that the signal came to; 0: unknown
  uint32_t pid = 0;                           // 0: unknown
  uint64_t entry = 0;                         // 0: unknown
  // Bytes that the file is too short for: of notes, and of memory, which all lies in between.
  uint64_t missing_notes = 0;
  uint64_t missing = 0;
  uint64_t missing_from = 0;  // addresses
  uint64_t missing_to = 0;
};

// Fails for what is no core file of a process of 64 bits.
Result<CoreFile> parse_core(Bytes file);

}  // namespace gosym::elf
