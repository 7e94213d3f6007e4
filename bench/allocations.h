#pragma once

#include <cstdint>

// How often memory was allocated by `new` since the program began.
uint64_t allocation_count();
