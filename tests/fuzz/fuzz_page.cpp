#include <cassert>

#include "exchange/page_reader.h"
#include "output/folded.h"
#include "page/make_page.h"

// Whatever a page says, the profile of it refers to nothing that is not there, and the page of
// that profile has the same samples.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gosym;
  constexpr uint64_t kBudget = 64 << 20;
  auto page = page::decode(std::as_bytes(std::span(data, size)));
  if (!page)
    return 0;
  auto profile = make_profile_of(*page, kBudget);
  if (!profile)
    return 0;
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
  return 0;
}
