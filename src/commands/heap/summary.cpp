#include "commands/heap/summary.h"

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/percent.h"
#include "base/text.h"
#include "output/json.h"
#include "proc/maps.h"

namespace gosym {

// Two sides count the memory of a Go program. The runtime knows what each part is for
// (MemoryCounts, read from its memory), the kernel what of it is resident (smaps). They were
// not taken at one moment and do not count the same pages, so each row says whose figure it is
// by where it stands: resident memory has a share, the runtime's parts of the heap have none.

namespace {

// A process has `source.files`; of a core file this is not asked (read_memory_summary()).
Result<ResidentMemory> read_resident(const GoroutineSource& source,
                                     const MemoryCounts& counts) {
  auto text = source.files->read_smaps(source.pid);
  if (!text)
    return std::move(text)
        .error()
        .context(fmt::format("cannot look into process {}", source.pid))
        .with_exit_status(kUnsupported);
  std::vector<proc::MemoryUse> uses = proc::parse_smaps(*text);
  ResidentMemory memory;
  auto is_library = [](const proc::MemoryUse& use) {
    return base_name(use.mapping.path).find(".so") != std::string_view::npos;
  };
  // Memory without a name may be of C's malloc as well, once there is a C library.
  memory.has_c = std::ranges::any_of(uses, is_library);
  std::set<uint64_t> arenas(counts.arenas.begin(), counts.arenas.end());
  for (const proc::MemoryUse& use : uses) {
    const proc::MapsEntry& mapping = use.mapping;
    // A mapping is the heap's if it overlaps an arena: it may begin before the arena, or within
    // it. Arenas have 64 MiB each and are numbered by address / kArenaSize; `arena` is the
    // first one that ends behind the mapping's begin.
    auto arena = arenas.lower_bound(mapping.start / kArenaSize);
    bool is_named = !mapping.path.empty();
    // From Go 1.25 on the runtime names its mappings, where the kernel has
    // CONFIG_ANON_VMA_NAME.
    bool is_of_go = mapping.path.starts_with("[anon: Go:");
    memory.total += use.resident;
    memory.swapped += use.swapped;
    // In the order of certainty: a file, an arena, a name, and at last what can only be Go's
    // because there is no C library.
    if (mapping.inode != 0)
      memory.files += use.resident;
    else if ((!is_named || is_of_go) && arena != arenas.end() &&
             *arena * kArenaSize < mapping.end)
      memory.arenas += use.resident;
    else if (is_of_go || (!is_named && !memory.has_c))
      memory.runtime += use.resident;
    else
      memory.others += use.resident;
  }
  return memory;
}

Result<MemoryCounts> read_counts(const GoFile& file, const GoroutineSource& source) {
  auto layout = file.image->pointer_size == 8 ? go::memory_layout(file.version) : std::nullopt;
  if (!layout)
    return errorf("'{}' was built by {}: gosym knows how Go 1.{} to 1.{} count memory",
                  printable(file.path),
                  file.version.empty() ? "a Go that does not tell its version"
                                       : printable(file.version),
                  go::kFirstMemoryMinor, go::kLastMemoryMinor)
        .with_exit_status(kUnsupported);
  go::MemoryVariables found = go::find_memory_variables(*file.module, *layout);
  if (!found.statistics || !found.collector || !found.heap)
    return errorf("'{}': the code does not tell where it counts its memory",
                  printable(file.path))
        .with_exit_status(kUnsupported);
  return read_memory_counts({.layout = *layout,
                             .statistics = to_integer(*found.statistics) + file.bias,
                             .collector = to_integer(*found.collector) + file.bias,
                             .heap = to_integer(*found.heap) + file.bias},
                            source.read_memory);
}

// A use of the heap's memory; all uses together are what is committed.
struct HeapPart {
  std::string_view key;
  std::string_view what;
  uint64_t bytes;
};

std::vector<HeapPart> parts_of(const MemoryCounts& counts) {
  // The counts are read one after the other, so none may be taken to be the larger. What was
  // marked last is live; objects beyond that are new, or garbage that the sweeper has still to
  // find. Before the first collection nothing is known to be live.
  uint64_t live = counts.collections == 0 ? 0 : std::min(counts.marked, counts.object_bytes);
  return {{"live", "live, as the last collection found it", live},
          {"since", "allocated since, or garbage that is not swept yet",
           counts.object_bytes - live},
          {"free_slots", "free slots between objects",
           counts.span_bytes - std::min(counts.object_bytes, counts.span_bytes)},
          {"free_spans", "free, and not given back to the system", counts.free_spans()},
          {"stacks", "stacks of goroutines", counts.in_stacks},
          {"collector", "work of the collector", counts.in_work}};
}

uint64_t runtime_own(const MemoryCounts& counts) {
  return counts.for_spans + counts.for_profiles + counts.for_collector + counts.for_others;
}

// A row without `whole` has no share: it is a part of the row above it.
std::string summary_row(uint64_t bytes, std::optional<uint64_t> whole, std::string_view what) {
  constexpr double kMebibyte = 1 << 20;
  std::string share = whole ? fmt::format("{:5.1f} %", percent(bytes, *whole)) : "";
  return fmt::format("{:>10.2f}  {:>7}  {}\n", static_cast<double>(bytes) / kMebibyte, share,
                     what);
}

std::string table_of(const MemorySummary& summary) {
  std::string text = fmt::format("{:>10}  {:>7}\n", "MiB", summary.resident ? "share" : "");
  const MemoryCounts& counts = summary.counts;
  const auto& resident = summary.resident;
  auto whole = resident ? std::optional(resident->total) : std::nullopt;
  text +=
      summary_row(resident ? resident->arenas : counts.committed, whole, "Go's heap, of which");
  for (const HeapPart& part : parts_of(counts))
    text += summary_row(part.bytes, std::nullopt, fmt::format("  {}", part.what));
  // A core file: the runtime's figures are all there is.
  if (!resident)
    return text + summary_row(runtime_own(counts), std::nullopt, "Go's runtime itself");
  // The runtime counts what it asked for, the kernel what is in memory.
  if (counts.committed > resident->arenas)
    text += summary_row(counts.committed - resident->arenas, std::nullopt,
                        "  less what of that was never used, or is swapped out");
  if (resident->runtime > 0)
    text += summary_row(resident->runtime, whole, "Go's runtime itself");
  text += summary_row(resident->files, whole, "files that are mapped");
  // With a C library, and without names of mappings, memory without a file may be of either:
  // the row says how much of it the runtime counts as its own.
  text += summary_row(resident->others, whole,
                      resident->has_c && resident->runtime == 0
                          ? fmt::format("C code, and Go's runtime itself, which has {} at most",
                                        human_size(runtime_own(counts)))
                          : "C code, stacks of threads, and others");
  return text;
}

std::string ago_text(const MemorySummary& summary) {
  uint64_t last = summary.counts.last_collection;
  // A clock that was set back gives no answer.
  if (last == 0 || last > summary.realtime_ns)
    return {};
  return fmt::format("; the last {:.1f} s ago", to_seconds(summary.realtime_ns - last));
}

std::string milliseconds(uint64_t nanoseconds) {
  return fmt::format("{:.2f} ms", static_cast<double>(nanoseconds) / 1e6);
}

std::string collector_text(const MemorySummary& summary) {
  const MemoryCounts& counts = summary.counts;
  std::string text = fmt::format("limits       GOGC {}, GOMEMLIMIT {}\n",
                                 counts.gc_percent ? std::to_string(*counts.gc_percent) : "off",
                                 counts.limit ? human_size(*counts.limit) : "off");
  text += fmt::format(
      "next         {}; {} are now\n",
      // GOGC sets a goal; without it (off) only GOMEMLIMIT makes the collector run, or nothing
      // does.
      counts.goal    ? fmt::format("collection to end at {} in use", human_size(*counts.goal))
      : counts.limit ? "collection only for the limit"
                     : "collection never",
      human_size(counts.live));
  text += fmt::format("collections  {}, {} asked for{}; {:.2f} % of all CPU time\n",
                      with_commas(counts.collections), with_commas(counts.forced),
                      ago_text(summary), 100 * counts.cpu_share);
  if (counts.pauses.empty())
    return text;
  std::vector<uint64_t> sorted = counts.pauses;
  std::ranges::sort(sorted);
  return text +
         fmt::format("pauses       {} in all; of the last {} half below {}, longest {}\n",
                     milliseconds(counts.pause_total), sorted.size(),
                     milliseconds(sorted[sorted.size() / 2]), milliseconds(sorted.back()));
}

}  // namespace

Result<MemorySummary> read_memory_summary(const GoroutineSource& source) {
  auto found = read_first<MemoryCounts>(
      source.code, [&](const GoFile& file) { return read_counts(file, source); });
  if (!found)
    return std::move(found).error();
  MemorySummary summary = {.program = found->file->path,
                           .go_version = found->file->version,
                           .pid = source.pid,
                           .realtime_ns = source.realtime_ns,
                           .counts = std::move(found->value),
                           .resident = {}};
  // A core file does not tell which pages were resident.
  if (source.is_core)
    return summary;
  auto resident = read_resident(source, summary.counts);
  if (!resident)
    return std::move(resident).error();
  summary.resident = *resident;
  return summary;
}

std::vector<std::string> unusual_in(const MemorySummary& summary) {
  constexpr uint64_t kMuch = 64 << 20;
  const MemoryCounts& counts = summary.counts;
  std::vector<std::string> clauses;
  auto add_if = [&](bool is_so, std::string clause) {
    if (is_so)
      clauses.push_back(std::move(clause));
  };
  add_if(!counts.gc_percent && !counts.limit, "the collector is off: the heap only grows");
  uint64_t taken = counts.committed + runtime_own(counts);
  add_if(
      counts.limit && percent(taken, *counts.limit) > 90,
      fmt::format("memory is at {:.0f} % of GOMEMLIMIT: the collector runs all the more often",
                  percent(taken, counts.limit.value_or(0))));
  // The first ones count for much in a program that has just begun.
  add_if(counts.collections >= 20 && counts.cpu_share > 0.1,
         fmt::format("collecting takes {:.0f} % of all CPU time", 100 * counts.cpu_share));
  // Limits in bytes go with those in percent: a small heap is often half free, and nobody
  // minds.
  uint64_t slots = counts.span_bytes - std::min(counts.object_bytes, counts.span_bytes);
  add_if(slots > kMuch && percent(slots, counts.span_bytes) > 40,
         "much of the heap is free slots between objects that live long");
  add_if(counts.free_spans() > kMuch && percent(counts.free_spans(), counts.committed) > 50,
         "most of the heap is free, and not given back to the system yet");
  uint64_t longest = counts.pauses.empty() ? 0 : *std::ranges::max_element(counts.pauses);
  add_if(longest > 10'000'000,
         fmt::format("a collection has paused it for {}", milliseconds(longest)));
  uint64_t total = summary.resident ? summary.resident->total : counts.committed;
  add_if(counts.in_stacks > kMuch && percent(counts.in_stacks, total) > 25,
         fmt::format("stacks of goroutines are {:.0f} %; gosym goroutines counts them",
                     percent(counts.in_stacks, total)));
  if (const auto& resident = summary.resident) {
    add_if(resident->others > kMuch && percent(resident->others, total) > 50,
           "most of it is not Go's heap, but of C code and others");
    add_if(percent(resident->swapped, total) > 10,
           fmt::format("{} are swapped out", human_size(resident->swapped)));
  }
  return clauses;
}

std::string text_of(const MemorySummary& summary) {
  std::vector<std::string> unusual = unusual_in(summary);
  return fmt::format(
      "{} ({} {}, {}): {} of memory{}\n\n{}\n{}unusual      {}\n",
      printable(base_name(summary.program)), summary.resident ? "process" : "core of process",
      summary.pid, printable(summary.go_version),
      human_size(summary.resident ? summary.resident->total : summary.counts.committed),
      summary.resident && summary.resident->swapped > 0
          ? fmt::format(", and {} swapped out", human_size(summary.resident->swapped))
          : "",
      table_of(summary), collector_text(summary),
      unusual.empty() ? "nothing" : joined(unusual, "; "));
}

std::string json_of(const MemorySummary& summary) {
  const MemoryCounts& counts = summary.counts;
  JsonWriter json;
  json.begin_object();
  json.field("pid", summary.pid);
  json.field("file", summary.program);
  json.field("go_version", summary.go_version);
  if (const auto& resident = summary.resident) {
    json.key("resident");
    json.begin_object();
    json.field("total", resident->total);
    json.field("swapped", resident->swapped);
    json.field("heap", resident->arenas);
    json.field("runtime", resident->runtime);
    json.field("files", resident->files);
    json.field("others", resident->others);
    json.end_object();
  }
  json.key("heap");
  json.begin_object();
  json.field("committed", counts.committed);
  for (const HeapPart& part : parts_of(counts))
    json.field(part.key, part.bytes);
  json.end_object();
  json.field("runtime", runtime_own(counts));
  json.key("collector");
  json.begin_object();
  // A member that is missing says "off".
  if (counts.gc_percent)
    json.field("gogc", *counts.gc_percent);
  if (counts.limit)
    json.field("limit", *counts.limit);
  if (counts.goal)
    json.field("goal", *counts.goal);
  json.field("in_use", counts.live);
  json.field("collections", counts.collections);
  json.field("forced", counts.forced);
  json.field("last_ns", counts.last_collection);
  json.field("pause_total_ns", counts.pause_total);
  json.field("cpu_share", counts.cpu_share);
  json.key("pauses_ns");
  json.begin_array();
  for (uint64_t pause : counts.pauses)
    json.value(pause);
  json.end_array();
  json.end_object();
  json.key("unusual");
  json.begin_array();
  for (const std::string& clause : unusual_in(summary))
    json.value(clause);
  json.end_array();
  json.end_object();
  return fmt::format("{}\n", json.text());
}

std::string classes_text_of(const MemorySummary& summary) {
  std::string text = fmt::format("{:>10} {:>10} {:>14} {:>12} {:>12}\n", "SIZE", "SPANS",
                                 "OBJECTS", "MiB taken", "MiB free");
  auto add = [&](std::string_view size, const SizeClass& row) {
    constexpr double kMebibyte = 1 << 20;
    text +=
        fmt::format("{:>10} {:>10} {:>14} {:>12.2f} {:>12.2f}\n", size, with_commas(row.spans),
                    with_commas(row.objects), static_cast<double>(row.taken) / kMebibyte,
                    static_cast<double>(row.free()) / kMebibyte);
  };
  SizeClass all;
  // UINT64_MAX: objects that have a span of their own.
  for (const auto& [size, row] : summary.counts.classes) {
    add(size == UINT64_MAX ? "larger" : with_commas(size), row);
    all.spans += row.spans;
    all.objects += row.objects;
    all.taken += row.taken;
    all.bytes += row.bytes;
  }
  add("all", all);
  return text;
}

std::string classes_json_of(const MemorySummary& summary) {
  JsonWriter json;
  json.begin_object();
  json.field("pid", summary.pid);
  json.field("file", summary.program);
  json.field("go_version", summary.go_version);
  json.key("classes");
  json.begin_array();
  for (const auto& [size, row] : summary.counts.classes) {
    json.begin_object();
    // The row of objects that have a span of their own has no size.
    if (size != UINT64_MAX)
      json.field("size", size);
    json.field("spans", row.spans);
    json.field("objects", row.objects);
    json.field("taken", row.taken);
    json.field("free", row.free());
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return fmt::format("{}\n", json.text());
}

}  // namespace gosym
