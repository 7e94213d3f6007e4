#pragma once

#include <span>

#include "base/bytes.h"

namespace gosym {

enum class Reading { kNotElf, kNoTable, kUnusableTable, kTable };
inline constexpr int kReadings = 4;

// Has a binary read as the commands would, and says how far that went. Ends the program if an
// answer has a text that does not lie in the file.
Reading exercise(std::span<std::byte> file);

}  // namespace gosym
