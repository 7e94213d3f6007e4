#pragma once

#include <memory>
#include <string>
#include <vector>

#include "symbolize/image_symbols.h"

// The Go program that is looked into: the first argument of the benchmark.
extern std::string program_path;

std::unique_ptr<gosym::ImageSymbols> open_program();

// Addresses in its functions, in the large ones more often; the same ones each time.
std::vector<gosym::ImageAddress> code_addresses(const gosym::ImageSymbols& symbols,
                                                size_t count);
