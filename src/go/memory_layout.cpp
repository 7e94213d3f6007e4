#include "go/memory_layout.h"

#include <initializer_list>

#include "go/code_operands.h"
#include "go/goroutine_layout.h"

namespace gosym::go {

namespace {

constexpr ReleaseRow<MemoryLayout> kMemoryReleases[] = {
    {kFirstMemoryMinor, {1176, 3544, 136, 184, 104, 65856, 65848, 96, true}},
    {20, {1176, 3544, 80, 128, 48, 65824, 65816, 96, true}},
    {21, {1176, 3544, 104, 152, 72, 65864, 65856, 104, true}},
    {22, {1176, 3544, 104, 152, 72, 65864, 65856, 96, true}},
    {25, {1168, 3520, 104, 152, 72, 65864, 65856, 96, false}},
};

// A function that names a place in a variable, and how far from the variable's begin that is.
struct NamedPlace {
  std::string_view function;
  uint32_t offset;
};

// The address of which each function names its place; none: no address, or more than one.
std::optional<ImageAddress> find_variable(std::map<std::string_view, CodeOperands>& operands,
                                          std::initializer_list<NamedPlace> places) {
  // Operands are sorted by address first: any size will do.
  auto names = [&](const NamedPlace& place, uint64_t base) {
    const CodeOperands& of = operands[place.function];
    auto next = of.lower_bound({base + place.offset, 0});
    return next != of.end() && next->address == base + place.offset;
  };
  std::optional<ImageAddress> found;
  const NamedPlace& first = *places.begin();
  // The first function gives candidates, and each has to be named by all the others too.
  for (const CodeOperand& operand : operands[first.function]) {
    uint64_t base = operand.address - first.offset;
    bool is_it = true;
    for (const NamedPlace& place : places)
      is_it = is_it && names(place, base);
    // Two candidates are none: a wrong one would show figures of something else.
    if (is_it && found && to_integer(*found) != base)
      return std::nullopt;
    if (is_it)
      found = ImageAddress{base};
  }
  return found;
}

}  // namespace

std::optional<MemoryLayout> memory_layout(std::string_view go_version) {
  auto minor = minor_of_release(go_version);
  return minor && *minor <= kLastMemoryMinor ? value_in(kMemoryReleases, *minor) : std::nullopt;
}

MemoryVariables find_memory_variables(const Module& module, const MemoryLayout& layout) {
  constexpr std::string_view kAllocate = "runtime.(*mheap).allocSpan";
  constexpr std::string_view kMarkEnd = "runtime.gcMarkTermination";
  constexpr std::string_view kCommit = "runtime.gcControllerCommit";
  constexpr std::string_view kStart = "runtime.gcStart";
  constexpr std::string_view kInit = "runtime.mallocinit";
  constexpr std::string_view kSweep = "runtime.sweepone";
  auto operands = code_operands(module, {kAllocate, kMarkEnd, kCommit, kStart, kInit, kSweep});
  // Each variable is a place that all of these functions use at the distances of its fields.
  return {.statistics = find_variable(
              operands,
              {{kAllocate, 0}, {kMarkEnd, layout.pauses()}, {kMarkEnd, layout.collections()}}),
          .collector =
              find_variable(operands, {{kCommit, 0}, {kAllocate, 8}, {kStart, layout.live}}),
          .heap = find_variable(operands, {{kInit, 0}, {kSweep, layout.sweep}})};
}

}  // namespace gosym::go
