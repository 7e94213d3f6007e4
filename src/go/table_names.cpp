#include "go/table_names.h"

#include <span>

namespace gosym::go {

namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kPcdata15[] = {"StackMapIndex", "InlTreeIndex", "RegMapIndex"};
constexpr std::string_view kPcdata113[] = {"RegMapIndex or UnsafePoint", "StackMapIndex",
                                           "InlTreeIndex"};
constexpr std::string_view kPcdata116[] = {"UnsafePoint", "StackMapIndex", "InlTreeIndex",
                                           "ArgLiveIndex", "PanicBounds"};
constexpr std::string_view kFuncdata15[] = {"ArgsPointerMaps", "LocalsPointerMaps", "InlTree",
                                            "RegPointerMaps", "StackObjects"};
constexpr std::string_view kFuncdata113[] = {"ArgsPointerMaps", "LocalsPointerMaps",
                                             "RegPointerMaps",  "StackObjects",
                                             "InlTree",         "OpenCodedDeferInfo"};
constexpr std::string_view kFuncdata116[] = {
    "ArgsPointerMaps",    "LocalsPointerMaps", "StackObjects", "InlTree",
    "OpenCodedDeferInfo", "ArgInfo",           "ArgLiveInfo",  "WrapInfo"};

std::string_view name_at(Names names, uint32_t index) {
  return index < names.size() ? names[index] : std::string_view();
}

Names choose(Format format, Names before_113, Names before_116, Names after) {
  if (format == Format::kGo1_2)
    return {};
  if (format < Format::kGo1_13)
    return before_113;
  return format < Format::kGo1_16 ? before_116 : after;
}

}  // namespace

std::string_view pcdata_name(Format format, uint32_t index) {
  return name_at(choose(format, kPcdata15, kPcdata113, kPcdata116), index);
}

std::string_view funcdata_name(Format format, uint32_t index) {
  return name_at(choose(format, kFuncdata15, kFuncdata113, kFuncdata116), index);
}

}  // namespace gosym::go
