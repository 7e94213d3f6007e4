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
};

constexpr uint32_t kIsPlace = 1;  // in an offset of a word

}  // namespace gosym::raw
