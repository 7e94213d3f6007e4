#include "record/event_type.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>

#include "base/exit_status.h"
#include "base/text.h"
#include "model/recording.h"

namespace gosym {

namespace {

struct NamedEvent {
  std::string_view name;
  std::string_view alias;  // that perf knows as well
  uint32_t type;
  uint64_t config;
};

// Names as `perf list` has them; an alias is taken as well, and stands in no list.
constexpr NamedEvent kEvents[] = {
    {"cpu-clock", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"ref-cycles", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
};

EventType make(const NamedEvent& event) {
  // Hardware counters and clocks go on while a CPU idles, and would sample the idle task.
  // A hardware event may have the same number, and goes on as well.
  bool is_clock =
      event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK;
  return {std::string(event.name), event.type, event.config,
          event.type == PERF_TYPE_HARDWARE || is_clock};
}

// "r" and up to 16 hexadecimal digits.
std::optional<uint64_t> raw_config(std::string_view name) {
  if (name.size() < 2 || name.front() != 'r')
    return std::nullopt;
  uint64_t config = 0;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), config, 16);
  if (error != std::errc() || end != name.data() + name.size())
    return std::nullopt;
  return config;
}

}  // namespace

Result<EventType> parse_event_type(std::string_view name) {
  if (name == kOffCpuEvent)
    return off_cpu();
  for (const NamedEvent& event : kEvents)
    if (name == event.name || (!name.empty() && name == event.alias))
      return make(event);
  // Names come first: "r0" and so on are none of them.
  if (auto config = raw_config(name))
    return EventType{std::string(name), PERF_TYPE_RAW, *config, true};
  return errorf("--event: '{}' is none of {}, rNNN", printable(name),
                joined(event_type_names(), ", "))
      .with_hint(name.find(':') != name.npos ? "for :u and :k see --user-only and --kernel-only"
                                             : "see 'gosym record --help'")
      .with_exit_status(kUsage);
}

Result<std::vector<EventType>> parse_event_types(std::span<const std::string> names) {
  if (names.size() > kMaxEventTypes)
    return errorf("--event: {} events, where a recording has {} at most", names.size(),
                  kMaxEventTypes)
        .with_exit_status(kUsage);
  std::vector<EventType> events;
  for (const std::string& name : names) {
    auto event = parse_event_type(name);
    if (!event)
      return std::move(event).error();
    // Two names of one event are one event: names were replaced by those of the table.
    if (std::ranges::find(events, event->name, &EventType::name) != events.end())
      return errorf("--event: {} is given twice", event->name).with_exit_status(kUsage);
    events.push_back(*std::move(event));
  }
  return events;
}

std::vector<std::string> event_type_names() {
  std::vector<std::string> names;
  for (const NamedEvent& event : kEvents)
    names.emplace_back(event.name);
  names.emplace_back(kOffCpuEvent);
  return names;
}

EventType off_cpu(uint64_t threshold) {
  return {
      .name = std::string(kOffCpuEvent), .period = threshold, .source = EventSource::kOffCpu};
}

EventType cycles() {
  return *parse_event_type("cycles");
}

EventType cpu_clock() {
  return *parse_event_type("cpu-clock");
}

}  // namespace gosym
