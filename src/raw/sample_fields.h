#pragma once

#include <cstdint>

namespace gosym::raw {

// The fields of a samples payload, as format.h numbers them.
enum SampleField : uint32_t {
  kStackSizes = 1,
  kAddresses,
  kTime,
  kPid,
  kTid,
  kCpu,
  kKernelStack,
  kUserStack,
  kUserEnd,
  kTopSizes,
  kWordOffsets,
  kWordAddresses,
  kWordPlaces,
  kTop,
  kFrame,
  kBridge,
  kGoid,
  kLabelSet,
  kLabelSets,
  kWeight,
  kCgroup,
  kTree,
  kFirstNode,
  kCallers,
  kNodeAddresses,
  kStackNodes,
  kRegisterSizes,
  kRegisters,
  kRegisterValues,
  kGap,
  kMissing,
  kEvent,
};

constexpr uint32_t kIsPlace = 1;  // in an offset of a word

// Of a register, in what its number is multiplied by.
enum RegisterKind : uint32_t { kRegisterAddress, kRegisterPlace, kRegisterNumber };
constexpr uint32_t kRegisterKinds = 4;

}  // namespace gosym::raw
