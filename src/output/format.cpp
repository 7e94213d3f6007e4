#include "output/format.h"

#include <algorithm>

#include "base/text.h"
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

// In the order in which help lists them.
constexpr Format kFormats[] = {
    {.name = "text",
     .events = EventsWritten::kEach,
     .has_views = true,
     .is_for_people = true,
     .write = [](const Profile& p, const ViewOptions& o,
                 const Write& w) { w(make_text(p, o)); }},
    {.name = "json",
     .events = EventsWritten::kFirst,
     .help = "Write JSON, for programs",
     .write = [](const Profile& p, const ViewOptions& o,
                 const Write& w) { w(make_report_json(p, o)); }},
    {.name = "md",
     .events = EventsWritten::kEach,
     .has_views = true,
     .is_for_people = true,
     .help = "Write Markdown, for a message",
     .write = [](const Profile& p, const ViewOptions& o,
                 const Write& w) { w(make_markdown(p, o)); }},
    {.name = "csv",
     .events = EventsWritten::kFirst,
     .has_views = true,
     .help = "Write the table as CSV",
     .write = [](const Profile& p, const ViewOptions& o,
                 const Write& w) { w(csv_of(make_table(p, o))); }},
    {.name = "folded",
     .events = EventsWritten::kFirst,
     .help = "Write folded stacks, for flame graphs",
     .next_command = "flamegraph.pl {} > cpu.svg",
     .write = [](const Profile& p, const ViewOptions&, const Write& w) { write_folded(p, w); }},
    {.name = "script",
     .events = EventsWritten::kTogether,
     .is_whole = true,
     .help = "Write each sample as perf script does",
     .max_samples = kMaxScriptSamples,
     .next_command = "stackcollapse-perf.pl {} | flamegraph.pl > cpu.svg",
     .write = [](const Profile& p, const ViewOptions&,
                 const Write& w) { write_perf_script(p, w); }},
    {.name = "pprof",
     .events = EventsWritten::kTogether,
     .is_binary = true,
     .has_values = true,
     .is_for_tools = true,
     .help = "Write a profile for go tool pprof and go build -pgo",
     .names_file = true,
     .next_command = "go tool pprof -http=: {}",
     .write = [](const Profile& p, const ViewOptions&, const Write& w) { write_pprof(p, w); }},
    {.name = "html",
     .events = EventsWritten::kTogether,
     .is_binary = true,
     .is_for_people = true,
     .is_whole = true,
     .help = "Write a page for a browser: flame graph, samples over time, table",
     .names_file = true,
     .next_command = "open it in a browser",
     .write = [](const Profile& p, const ViewOptions& o,
                 const Write& w) { write_html_with(o.sources, p, w); }},
    {.name = "svg",
     .events = EventsWritten::kFirst,
     .is_for_people = true,
     .help = "Write a flame graph as a picture, for a ticket",
     .names_file = true,
     .next_command = "attach it to a ticket",
     .write = [](const Profile& p, const ViewOptions&, const Write& w) { w(make_svg(p)); }},
    {.name = "firefox",
     .events = EventsWritten::kTogether,
     .is_whole = true,
     .help = "Write a profile for profiler.firefox.com",
     .names_file = true,
     .next_command = "load it in https://profiler.firefox.com, which keeps it to itself",
     .write = [](const Profile& p, const ViewOptions&,
                 const Write& w) { write_firefox(p, w); }},
    {.name = "speedscope",
     .events = EventsWritten::kTogether,
     .is_whole = true,
     .help = "Write a profile for speedscope",
     .names_file = true,
     .next_command = "speedscope {}",
     .write = [](const Profile& p, const ViewOptions&,
                 const Write& w) { write_speedscope(p, w); }},
    {.name = "otlp",
     .events = EventsWritten::kTogether,
     .is_binary = true,
     .is_for_tools = true,
     .is_request = true,
     .next_command = "gosym push sends such",
     .write = [](const Profile& p, const ViewOptions&, const Write& w) { write_otlp(p, w); }},
    {.name = "pyroscope",
     .events = EventsWritten::kTogether,
     .is_binary = true,
     .has_values = true,
     .is_for_tools = true,
     .is_request = true,
     .next_command = "gosym push sends such",
     .write = [](const Profile& p, const ViewOptions&,
                 const Write& w) { write_pyroscope(p, w); }},
    {.name = "parca",
     .events = EventsWritten::kTogether,
     .has_values = true,
     .is_for_tools = true,
     .is_request = true,
     .next_command = "gosym push sends such",
     .write = [](const Profile& p, const ViewOptions&, const Write& w) { write_parca(p, w); }},
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

Result<> check_samples(const Profile& profile, const Format& format) {
  uint64_t count = profile.total_count();
  if (count <= format.max_samples)
    return Ok{};
  return errorf("{} writes each sample by itself: {} are more than {}", format.name,
                with_commas(count), with_commas(format.max_samples))
      .with_hint("--folded has a line for each stack, with its number");
}

void write_events(const Profile& profile, const Format& format, const ViewOptions& view,
                  const Write& write) {
  bool is_together = format.events == EventsWritten::kTogether;
  if (is_together && !format.has_values && has_values(profile.info.events))
    return format.write(with_values_apart(profile), view, write);
  // The profile of a format with kFirst has one event here: choose_event() of the command has
  // left the others out, and warned of it.
  uint32_t count = shown_count(profile.info.events);
  if (count == 1 || is_together)
    return format.write(profile, view, write);
  for (uint32_t shown = 0; shown < count; shown++) {
    // Forms that are written once for each event are texts, with an empty line between them.
    if (shown > 0)
      write("\n");
    format.write(of_event(profile, shown), view, write);
  }
}

}  // namespace gosym
