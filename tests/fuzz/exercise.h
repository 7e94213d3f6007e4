#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "elf/image.h"

namespace gosym {

// The step up to which a binary could be read.
enum class Reading : uint8_t { kNotElf, kNoTable, kUnusableTable, kTable };
inline constexpr size_t kReadings = 4;

struct Answers {
  Reading reading = Reading::kNotElf;
  uint64_t named = 0;  // addresses that debugging information or a perf map names
};

// Has everything in a binary read as the commands would. What is not ELF is read as a perf map.
// Ends the program if an answer has a text that does not lie in the file.
Answers exercise(std::span<std::byte> file);

// Parts of it, each the number of addresses that have names. `exercise_program` reads a program
// and all files that belong to it.
uint64_t exercise_native(const elf::Image& image);
uint64_t exercise_perf_map(Bytes file);
uint64_t exercise_program(const std::string& path);

}  // namespace gosym
