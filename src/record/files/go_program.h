#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "go/runtime_layout.h"
#include "model/recording.h"
#include "record/files/sparse_copy.h"

namespace gosym {

// Facts about a Go program that the sampler needs to tell which goroutines its threads run.
struct GoProgram {
  std::string version;                      // "go1.23.4"
  std::optional<go::RuntimeLayout> layout;  // none: nobody has looked at this version
  // Distance from the thread pointer to the pointer to g, in bytes.
  int64_t offset = 0;
  // Place of a word that holds this offset in a process, as a distance from where the file that
  // its code is mapped from would begin. None: the linker knew the offset.
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
