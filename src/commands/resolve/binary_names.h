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

// "inner a.c:2 in outer a.c:9", fit for a terminal; empty for nothing and for guesses.
std::string describe_code(const ImageSymbols& symbols, ImageAddress address,
                          const ChooseCalls& choose, NameForm form,
                          std::string_view position = {});

// Names of places in these binaries. Guesses are not told.
CodeNames names_of(std::vector<NamedBinary> binaries, ChooseCalls choose, NameForm form);

}  // namespace gosym
