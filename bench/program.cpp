#include "program.h"

#include <cstdlib>
#include <random>

using namespace gosym;

std::string program_path;
uint64_t counted_scopes = 0;

std::unique_ptr<ImageSymbols> open_program() {
  auto symbols = ImageSymbols::open(program_path);
  if (!symbols || !(*symbols)->go_module())
    std::abort();
  return *std::move(symbols);
}

std::vector<ImageAddress> code_addresses(const ImageSymbols& symbols, size_t count) {
  std::vector<FunctionRange> functions = symbols.functions();
  std::vector<uint64_t> sizes;
  for (const FunctionRange& function : functions)
    sizes.push_back(function.size);
  std::mt19937 random(1);
  std::discrete_distribution<size_t> choose(sizes.begin(), sizes.end());
  std::vector<ImageAddress> addresses;
  while (addresses.size() < count) {
    const FunctionRange& function = functions[choose(random)];
    addresses.push_back(ImageAddress{to_integer(function.address) + random() % function.size});
  }
  return addresses;
}
