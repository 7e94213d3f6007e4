#include "symbolize/dwarf_source.h"

namespace gosym {

dwarf::DebugInfo* DwarfSource::info() {
  if (!std::exchange(is_open_, true))
    info_ = dwarf::DebugInfo::open(image_, others_, &problem_);
  return info_.get();
}

bool DwarfSource::find(ImageAddress address, std::vector<Call>& calls) {
  return info() && info()->find(address, calls);
}

dwarf::Position DwarfSource::find_position(ImageAddress address) {
  return info() ? info()->find_position(address) : dwarf::Position();
}

}  // namespace gosym
