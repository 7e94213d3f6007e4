#include "exchange/read_profile.h"

#include <cassert>

#include "exchange/folded_reader.h"
#include "exchange/page_reader.h"
#include "exchange/pprof_reader.h"

namespace gosym {

Result<Profile> read_profile(InputKind kind, std::string_view file, uint64_t memory_budget,
                             std::optional<Side> side) {
  switch (kind) {
    case InputKind::kPprof:
      return read_pprof(file, memory_budget);
    case InputKind::kPage:
      return read_page(file, memory_budget, side);
    case InputKind::kFolded:
      return read_folded(file, memory_budget);
    case InputKind::kRecording:
      break;
  }
  assert(false);
  return Error("not a profile");
}

}  // namespace gosym
