// Micro-benchmarks of the library: micro PROGRAM [options of Google Benchmark], PROGRAM written
// in Go. Under callgrind --collect-atstart=no each leaves a file with its instructions, which
// are the same each time; `scripts/benchmark --instructions` makes a table of them.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "program.h"

namespace {

class Reporter : public benchmark::ConsoleReporter {
public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    std::string name = runs.front().benchmark_name();
    std::string note = fmt::format("{} times {}", std::exchange(counted_scopes, 0), name);
    CALLGRIND_DUMP_STATS_AT(note.c_str());
  }
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: micro PROGRAM [--benchmark_...]\n", stderr);
    return 2;
  }
  program_path = argv[1];
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return 0;
}
