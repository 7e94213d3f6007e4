#include "output/format.h"

#include <algorithm>

#include "output/firefox.h"
#include "output/folded.h"
#include "output/html.h"
#include "output/otlp.h"
#include "output/perf_script.h"
#include "output/pprof.h"
#include "output/pushed_series.h"
#include "output/report_json.h"
#include "output/speedscope.h"
#include "output/svg.h"
#include "output/text.h"

namespace gosym {

namespace {

// In the order in which help lists them, with the columns of Format: name, events, is_binary,
// has_views, is_for_people, is_for_tools, is_whole, is_request, next_command, write.
constexpr Format kFormats[] = {
    {"text", EventsWritten::kEach, false, true, true, false, false, false, "",
     [](const Profile& p, const ViewOptions& o, const Write& w) { w(make_text(p, o)); }},
    {"csv", EventsWritten::kFirst, false, true, false, false, false, false, "",
     [](const Profile& p, const ViewOptions& o, const Write& w) {
       w(csv_of(make_table(p, o)));
     }},
    {"md", EventsWritten::kEach, false, true, true, false, false, false, "",
     [](const Profile& p, const ViewOptions& o, const Write& w) { w(make_markdown(p, o)); }},
    {"json", EventsWritten::kFirst, false, false, false, false, false, false, "",
     [](const Profile& p, const ViewOptions& o, const Write& w) { w(make_report_json(p, o)); }},
    {"folded", EventsWritten::kFirst, false, false, false, false, false, false,
     "flamegraph.pl {} > cpu.svg",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_folded(p, w); }},
    {"pprof", EventsWritten::kTogether, true, false, false, true, false, false,
     "go tool pprof -http=: {}",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_pprof(p, w); }},
    {"html", EventsWritten::kTogether, true, false, true, false, true, false,
     "open it in a browser",
     [](const Profile& p, const ViewOptions& v, const Write& w) {
       write_html_with(v.sources, p, w);
     }},
    {"svg", EventsWritten::kFirst, false, false, true, false, false, false,
     "attach it to a ticket",
     [](const Profile& p, const ViewOptions&, const Write& w) { w(make_svg(p)); }},
    {"firefox", EventsWritten::kTogether, false, false, false, false, true, false,
     "load it in https://profiler.firefox.com, which keeps it to itself",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_firefox(p, w); }},
    {"speedscope", EventsWritten::kTogether, false, false, false, false, true, false,
     "speedscope {}",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_speedscope(p, w); }},
    {"script", EventsWritten::kTogether, false, false, false, false, true, false,
     "stackcollapse-perf.pl {} | flamegraph.pl > cpu.svg",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_perf_script(p, w); }},
    {"otlp", EventsWritten::kTogether, true, false, false, true, false, true,
     "gosym push sends such",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_otlp(p, w); }},
    {"pyroscope", EventsWritten::kTogether, true, false, false, true, false, true,
     "gosym push sends such",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_pyroscope(p, w); }},
    {"parca", EventsWritten::kTogether, false, false, false, true, false, true,
     "gosym push sends such",
     [](const Profile& p, const ViewOptions&, const Write& w) { write_parca(p, w); }},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* find_format(std::string_view name) {
  auto found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

Readers readers_of(std::string_view format, const Profile& profile) {
  bool has_kernel = std::ranges::any_of(
      profile.locations, [&](const Location& location) { return profile.is_kernel(location); });
  const Format* of = find_format(format);
  // The other formats have names and lines, or write 0 for addresses of the kernel.
  bool has_addresses = format == "pprof" || (of && of->is_request);
  return has_addresses && has_kernel ? Readers::kOwner : Readers::kUmask;
}

void write_events(const Profile& profile, const Format& format, const ViewOptions& view,
                  const Write& write) {
  size_t count = profile.info.events.size();
  if (count == 1 || format.events == EventsWritten::kTogether)
    return format.write(profile, view, write);
  for (uint32_t event = 0; event < count; event++) {
    // Forms that are written once for each event are texts, with an empty line between them.
    if (event > 0)
      write("\n");
    format.write(of_event(profile, event), view, write);
  }
}

}  // namespace gosym
