#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "go/runtime_layout.h"
#include "model/recording.h"
#include "record/files/sparse_copy.h"

namespace gosym {

// What the sampler has to know of a Go program to tell which goroutines its threads run.
struct GoProgram {
  std::string version;                      // "go1.23.4"
  std::optional<go::RuntimeLayout> layout;  // none: nobody has looked at this version
  // Of the pointer to g, from the thread pointer.
  int64_t offset = 0;
  // Where a process has a word with that offset, as a distance from where the file would begin
  // that its code is mapped from. None: the linker knew the offset.
  std::optional<uint64_t> offset_at;

  // The address of that word in a process that has the code mapped so; 0 if there is none.
  uint64_t offset_at_in(const MapEvent& code) const {
    return offset_at ? code.start - code.file_offset + *offset_at : 0;
  }
};

// None for what is no Go program for x86-64. Reads into the copy what else it needs of the file
// whose image that is.
std::optional<GoProgram> read_go_program(SparseCopy& copy, const elf::Image& image);

}  // namespace gosym
