#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "allocations.h"
#include "go/inline_tree.h"
#include "program.h"

using namespace gosym;

namespace {

constexpr size_t kAddresses = 100000;

void open_program_file(benchmark::State& state) {
  for (auto _ : state) {
    Counted counted;
    benchmark::DoNotOptimize(open_program());
  }
}
BENCHMARK(open_program_file)->Name("open")->Unit(benchmark::kMicrosecond);

// Up to the answer: closing the file again, a fifth more, does not keep anyone waiting.
void open_and_find(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  ImageAddress address = code_addresses(*open_program(), 1).front();
  std::vector<Call> calls;
  for (auto _ : state) {
    decltype(open_program()) symbols;
    calls.clear();
    auto begin = Clock::now();
    {
      Counted counted;
      symbols = open_program();
      benchmark::DoNotOptimize(symbols->find(address, calls));
    }
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}
BENCHMARK(open_and_find)
    ->Name("open, first look-up")
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();

// One after the other, from the first again after the last.
void look_up(benchmark::State& state, const std::vector<ImageAddress>& addresses,
             const ImageSymbols& symbols) {
  std::vector<Call> calls;
  calls.reserve(100);
  size_t next = 0;
  uint64_t allocations = allocation_count();
  for (auto _ : state) {
    Counted counted;
    calls.clear();
    benchmark::DoNotOptimize(symbols.find(addresses[next], calls));
    next = next + 1 == addresses.size() ? 0 : next + 1;
  }
  allocations = allocation_count() - allocations;
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(allocations), benchmark::Counter::kAvgIterations);
}

void random_addresses(benchmark::State& state) {
  auto symbols = open_program();
  look_up(state, code_addresses(*symbols, kAddresses), *symbols);
}
BENCHMARK(random_addresses)->Name("lookup/random")->Iterations(kAddresses);

void sorted_addresses(benchmark::State& state) {
  auto symbols = open_program();
  auto addresses = code_addresses(*symbols, kAddresses);
  std::ranges::sort(addresses);
  look_up(state, addresses, *symbols);
}
BENCHMARK(sorted_addresses)->Name("lookup/sorted")->Iterations(kAddresses);

void hot_addresses(benchmark::State& state) {
  auto symbols = open_program();
  look_up(state, code_addresses(*symbols, 100), *symbols);
}
BENCHMARK(hot_addresses)->Name("lookup/hot")->Iterations(kAddresses);

// Each address alone: the least of a few times that it takes, so that neither what else the
// machine does counts nor the clock, whose own time is taken off. Others come in between.
void latencies(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  auto symbols = open_program();
  auto addresses = code_addresses(*symbols, kAddresses);
  std::vector<Clock::duration> least(addresses.size(), Clock::duration::max());
  Clock::duration clock_time = Clock::duration::max();
  std::vector<Call> calls;
  for (auto _ : state)
    for (size_t i = 0; i < addresses.size(); i++) {
      calls.clear();
      auto begin = Clock::now();
      auto ready = Clock::now();
      benchmark::DoNotOptimize(symbols->find(addresses[i], calls));
      least[i] = std::min(least[i], Clock::now() - ready);
      clock_time = std::min(clock_time, ready - begin);
    }
  std::ranges::sort(least);
  auto share = [&](size_t percent) {
    return static_cast<double>((least[least.size() * percent / 100] - clock_time).count());
  };
  state.counters["median_ns"] = share(50);
  state.counters["p99_ns"] = share(99);
}
BENCHMARK(latencies)->Name("lookup/each")->Iterations(5)->Unit(benchmark::kMillisecond);

// The function that holds the code, and its line: the tables alone, without the calls.
void find_function_and_line(benchmark::State& state) {
  auto symbols = open_program();
  const go::Module& module = *symbols->go_module();
  auto addresses = code_addresses(*symbols, kAddresses);
  size_t next = 0;
  for (auto _ : state) {
    Counted counted;
    auto pc = module.pc_of(addresses[next++]);
    auto function = module.table.function(*module.table.find(*pc));
    benchmark::DoNotOptimize(module.table.value(*function, function->pcln, *pc));
  }
}
BENCHMARK(find_function_and_line)->Name("lookup/no inlines")->Iterations(kAddresses);

void decode_rows(benchmark::State& state) {
  auto symbols = open_program();
  const go::Pclntab& table = symbols->go_module()->table;
  int64_t rows = 0;
  for (auto _ : state) {
    Counted counted;
    for (uint32_t i = 0; i < table.function_count(); i++)
      if (auto function = table.function(i); function && function->pcln != 0)
        for (auto walk = table.rows(function->pcln); auto row = walk.next();)
          rows++;
  }
  state.SetItemsProcessed(rows);
}
BENCHMARK(decode_rows)->Name("pc values, all lines")->Unit(benchmark::kMillisecond);

void list_functions(benchmark::State& state) {
  auto symbols = open_program();
  for (auto _ : state) {
    Counted counted;
    benchmark::DoNotOptimize(symbols->functions());
  }
}
BENCHMARK(list_functions)->Name("list functions")->Unit(benchmark::kMillisecond);

}  // namespace
