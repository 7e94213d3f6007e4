#pragma once

#include <valgrind/callgrind.h>

#include <cstdint>
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

// How often a scope of Counted was left.
extern uint64_t counted_scopes;

// Lets callgrind, started with --collect-atstart=no, count the instructions of a scope: what is
// measured once. Elsewhere it does nothing.
class Counted {
public:
  Counted() { CALLGRIND_TOGGLE_COLLECT; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() {
    CALLGRIND_TOGGLE_COLLECT;
    counted_scopes++;
  }
};
