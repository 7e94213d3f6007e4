#include <cassert>
#include <optional>

#include "exchange/page_reader.h"
#include "output/folded.h"
#include "page/make_page.h"

using namespace gosym;

namespace {

constexpr uint64_t kBudget = 64 << 20;

void try_profile(const page::Page& page, std::optional<Side> side) {
  auto profile = make_profile_of(page, kBudget, side);
  if (!profile)
    return;
  size_t folded = 0;
  write_folded(*profile, [&](std::string_view line) {
    folded += line.size();
    return folded < kBudget;
  });
  auto again = page::decode(as_bytes(page::encode(page::make_page(*profile, {}))));
  assert(again);
  auto same = make_profile_of(*again, 16 * kBudget);
  assert(same);
  assert(same->total_count() == profile->total_count());
}

}  // namespace

// corpus/page/comparison is the message of the page d.html that tests/golden/page.t makes, as
// scripts/measure-page unpacks it.
//
// Whatever a page says, the profile of it, or of a side of what it compares, refers to nothing
// that is not there, and the page of that profile has the same samples.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto page = page::decode(std::as_bytes(std::span(data, size)));
  if (!page)
    return 0;
  for (std::optional<Side> side :
       {std::optional<Side>(), std::optional(Side::kBefore), std::optional(Side::kAfter)})
    try_profile(*page, side);
  return 0;
}
