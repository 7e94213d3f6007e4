#pragma once

#include <span>
#include <vector>

#include "proc/maps.h"
#include "proc/process.h"
#include "record/sideband_record.h"

namespace gosym {

class FileHelper;

// Code that a process has copied out of a file, and put in the place of it: huge pages are had
// so of programs on file systems without them (node --use-largepages, Chromium, Intel's iodlr).
// For the kernel such code is memory that no file holds. It may also be made at run time, so it
// is taken for that of the file only if it is the same where it is compared.

// Memory that no file holds, with code, between two mappings of one file.
struct PlaceOfCopy {
  RawMapping memory;
  RawMapping before;
  RawMapping after;
};

// By all that a process has mapped; only the first of very many.
std::vector<PlaceOfCopy> places_of_copies(std::span<const proc::MapsEntry> entries,
                                          uint32_t pid, uint64_t time);

// The mappings that there would be if the code had not been copied. Looks into the files by the
// helper.
std::vector<RawMapping> copied_code(std::span<const PlaceOfCopy> places, FileHelper& files,
                                    const proc::ReadMemory& read_memory);

}  // namespace gosym
