#pragma once

#include <cstdint>
#include <functional>

#include "gsym/gsym_writer.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// Told from time to time how much of the code has been gone through.
using IndexProgress = std::function<void(uint64_t done, uint64_t all)>;

// Adds all that find() knows of the code of an image, but for guesses.
void add_names(const ImageSymbols& symbols, gsym::GsymWriter& writer,
               const IndexProgress& progress);

// The facts that finish() of the writer is to be given.
gsym::Facts index_facts(const ImageSymbols& symbols);

}  // namespace gosym
