#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/recording.h"

namespace gosym {

// Finds the lines of a perf map about the code at an address at a time. Only where code came
// into the place of other code does that depend on the time; versions of the map are numbered
// by when lines about such places were added.
class ToldCode {
public:
  static constexpr uint64_t kAll = UINT64_MAX;

  // `left` is how many pieces of code may be told apart, of this map and of others after it.
  // Code beyond that is taken for code that stays.
  ToldCode(const RecordedPerfMap& map, size_t& left);

  // 0 before there was any.
  uint32_t version_at(uint64_t time) const;
  // The size of the map then, in bytes; kAll for an address of which it does not matter.
  uint64_t size_of(uint32_t version, uint64_t address) const;

private:
  using Ranges = std::map<uint64_t, uint64_t>;  // first and last addresses, apart

  // Adds a range. Gives whether a part of it was there before, and adds that part to `common`,
  // unless it is null.
  static bool add(Ranges& ranges, uint64_t first, uint64_t last, Ranges* common);

  std::vector<PerfMapMark> versions_;
  Ranges remade_;
};

}  // namespace gosym
