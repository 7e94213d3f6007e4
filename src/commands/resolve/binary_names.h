#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "commands/resolve/address_filter.h"
#include "symbolize/image_symbols.h"
#include "symbolize/names.h"

namespace gosym {

// A binary and the path by which it was asked for.
struct NamedBinary {
  std::string path;
  std::shared_ptr<ImageSymbols> symbols;
};

// Changes the calls at one address into those that are to be told.
using ChooseCalls = std::function<void(std::vector<Call>&)>;

// What these binaries know of places. Guesses are not told.
CodeNames names_of(std::vector<NamedBinary> binaries, ChooseCalls choose, NameForm form);

}  // namespace gosym
