#include "output/format.h"

#include <algorithm>

#include "output/folded.h"
#include "output/pprof.h"
#include "output/text.h"

namespace gosym {

namespace {

constexpr Format kFormats[] = {
    {"text", EventsWritten::kEach, false, false, "",
     [](const Profile& p, const OutputOptions& o, const Write& w) { w(make_text(p, o.top)); }},
    {"folded", EventsWritten::kFirst, false, false, "flamegraph.pl {} > cpu.svg",
     [](const Profile& p, const OutputOptions&, const Write& w) { write_folded(p, w); }},
    {"pprof", EventsWritten::kTogether, true, true, "go tool pprof -http=: {}",
     [](const Profile& p, const OutputOptions&, const Write& w) { write_pprof(p, w); }},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* find_format(std::string_view name) {
  auto found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace gosym
