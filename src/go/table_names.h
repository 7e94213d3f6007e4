#pragma once

#include <string_view>

#include "go/pclntab.h"

namespace gosym::go {

// Names, in the words of Go's own sources (internal/abi/symtab.go), of the tables that
// functions have by number; empty if the format does not tell, or where it is not known. Those
// that came later are listed with the first release of the format:
//
//   pcdata    1.5-1.12  0 StackMapIndex, 1 InlTreeIndex (1.9), 2 RegMapIndex (1.11)
//             1.13-1.15 0 RegMapIndex, from 1.15 UnsafePoint; 1 StackMapIndex, 2 InlTreeIndex
//             1.16-     0 UnsafePoint, 1 StackMapIndex, 2 InlTreeIndex, 3 ArgLiveIndex (1.18),
//                       4 PanicBounds (1.26)
//   funcdata  1.5-1.12  0 ArgsPointerMaps, 1 LocalsPointerMaps, 2 InlTree (1.9),
//                       3 RegPointerMaps (1.11), 4 StackObjects (1.12)
//             1.13-1.15 0 ArgsPointerMaps, 1 LocalsPointerMaps, 2 RegPointerMaps,
//                       3 StackObjects, 4 InlTree, 5 OpenCodedDeferInfo (1.14)
//             1.16-     0 ArgsPointerMaps, 1 LocalsPointerMaps, 2 StackObjects, 3 InlTree,
//                       4 OpenCodedDeferInfo, 5 ArgInfo (1.17), 6 ArgLiveInfo (1.18),
//                       7 WrapInfo (1.19)
//
// Go 1.2 to 1.4 had other numbers each.
std::string_view pcdata_name(Format format, uint32_t index);
std::string_view funcdata_name(Format format, uint32_t index);

}  // namespace gosym::go
