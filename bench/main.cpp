// Micro-benchmarks of the library: micro PROGRAM [options of Google Benchmark], PROGRAM written
// in Go. Under callgrind the number of instructions is the same each time:
//
//   valgrind --tool=callgrind micro PROGRAM --benchmark_filter=lookup/random

#include <benchmark/benchmark.h>

#include <cstdio>

#include "program.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: micro PROGRAM [--benchmark_...]\n", stderr);
    return 2;
  }
  program_path = argv[1];
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
