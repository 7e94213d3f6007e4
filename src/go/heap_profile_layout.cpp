#include "go/heap_profile_layout.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "go/code_operands.h"
#include "go/goroutine_layout.h"

namespace gosym::go {

namespace {

constexpr ReleaseRow<HeapProfileLayout> kProfileReleases[] = {
    {kFirstHeapMinor, {4, 0}}, {19, {4, 1}}, {27, {2, 1}}};

constexpr uint64_t kDefaultRate = 512 << 10;

// Operands of code are also constants and texts; a variable lies where the program may write.
bool is_variable(const elf::Image& image, uint64_t address) {
  return std::ranges::any_of(image.segments, [&](const elf::Segment& segment) {
    return segment.type == PT_LOAD && (segment.flags & PF_W) != 0 &&
           address - to_integer(segment.address) < segment.memory_size;
  });
}

// The operands that are variables and of one of the sizes, in order. Size 0 is that of an
// operand whose address is taken (CodeOperand).
std::vector<ImageAddress> variables_of(const Module& module, const CodeOperands& operands,
                                       std::initializer_list<uint8_t> sizes) {
  std::vector<ImageAddress> found;
  for (const CodeOperand& operand : operands) {
    // Operands are sorted by address: one that is used with two sizes is given once.
    bool is_meant = std::ranges::find(sizes, operand.size) != sizes.end() &&
                    is_variable(*module.image, operand.address);
    if (is_meant && (found.empty() || to_integer(found.back()) != operand.address))
      found.push_back(ImageAddress{operand.address});
  }
  return found;
}

std::vector<ImageAddress> in_both(const std::vector<ImageAddress>& one,
                                  const std::vector<ImageAddress>& other) {
  std::vector<ImageAddress> both;
  std::ranges::set_intersection(one, other, std::back_inserter(both));
  return both;
}

// Finds runtime.MemProfileRate. The linker sets it, or in some releases the program when it
// begins: then it is what two functions have in common that choose the next sample, whose
// operands are `one` and `other`.
std::vector<ImageAddress> find_rate(const Module& module, const std::vector<ImageAddress>& one,
                                    const std::vector<ImageAddress>& other) {
  // Every program that does not set MemProfileRate begins with one sample in 512 KiB.
  auto is_set = [&](ImageAddress address) {
    return module.image->load_word(address) == kDefaultRate;
  };
  auto set = std::ranges::find_if(one, is_set);
  return set != one.end() ? std::vector{*set} : in_both(one, other);
}

}  // namespace

std::optional<HeapProfileLayout> heap_profile_layout(std::string_view go_version) {
  auto minor = minor_of_release(go_version);
  return minor && *minor <= kLastHeapMinor ? value_in(kProfileReleases, *minor) : std::nullopt;
}

uint64_t bucket_hash(Bytes stack, uint64_t size) {
  uint64_t hash = 0;
  // The mixing of runtime.stkbucket, by which the runtime itself finds a bucket again: a wrong
  // stack does not pass for one.
  auto mix = [&](uint64_t word) {
    hash += word;
    hash += hash << 10;
    hash ^= hash >> 6;
  };
  for (uint64_t at = 0; at + 8 <= stack.size(); at += 8)
    mix(*load<uint64_t>(stack, at));
  mix(size);
  hash += hash << 3;
  return hash ^ hash >> 11;
}

HeapProfileVariables find_heap_profile(const Module& module) {
  constexpr std::string_view kMakers[] = {"runtime.MemProfile", "runtime.memProfileInternal"};
  auto operands = code_operands(
      module, {"runtime.stkbucket", "runtime.mProf_Flush", "runtime.mProf_FlushLocked",
               "runtime.nextSample", "runtime.profilealloc", "runtime.allocmcache",
               "runtime.mProf_Malloc", "runtime.mProf_Free", kMakers[0], kMakers[1]});
  auto variables = [&](std::string_view function, std::initializer_list<uint8_t> sizes) {
    return variables_of(module, operands[function], sizes);
  };
  // A variable is known by the functions that use it and by how much of memory they move: one
  // that two functions have in common is the one, whatever the compiler has made of either.
  HeapProfileVariables found;
  found.is_used = operands.contains(kMakers[0]) || operands.contains(kMakers[1]);
  // Lists are words; instructions that change them at once, or take their address, have size 0.
  found.lists = variables("runtime.stkbucket", {0, 8});
  // The compiler has put mProf_FlushLocked into mProf_Flush, or not.
  operands["runtime.mProf_Flush"].merge(operands["runtime.mProf_FlushLocked"]);
  found.memory_lists = in_both(found.lists, variables("runtime.mProf_Flush", {0, 8}));
  // profilealloc calls nextSample, and has its code where that was inlined.
  operands["runtime.nextSample"].merge(operands["runtime.profilealloc"]);
  found.rate = find_rate(module, variables("runtime.nextSample", {8}),
                         variables("runtime.allocmcache", {8}));
  found.cycle =
      in_both(variables("runtime.mProf_Malloc", {4}), variables("runtime.mProf_Free", {4}));
  return found;
}

}  // namespace gosym::go
