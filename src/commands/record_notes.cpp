#include "commands/record_notes.h"

#include <unistd.h>

#include "base/text.h"
#include "goroutine/wall_sampler.h"
#include "raw/format.h"
#include "record/rights.h"
#include "record/target.h"

namespace gosym {

namespace {

// The kernel ends the perf events of whoever executes such a file, as it would show what it is.
bool may_not_be_read(const std::string& command) {
  auto file = find_executable(command);
  return file && access(file->c_str(), R_OK) != 0;
}

std::string why_no_samples(const Recorder::Summary& summary, Stop stop,
                           const RecordingInfo& info, const RecordOptions& options) {
  // It takes a tenth of a second to make all ready. One that lived for longer was idle.
  constexpr uint64_t kAtOnce = 1'000'000'000;
  if (stop == Stop::kTargetsGone && summary.duration_ns < kAtOnce)
    return fmt::format("what was to be recorded has ended {:.1f} s after the recording began",
                       static_cast<double>(summary.duration_ns) / 1e9);
  bool is_of_command = !options.command.empty() && !options.has_stop_watch();
  if (is_of_command && may_not_be_read(options.command.front()))
    return "a program that its user may not read is sampled for root only, by BPF";
  if (info.events.front().name == kWallEvent)
    return "no goroutines were seen; does it run Go code?";
  std::vector<std::string> counted;
  for (const RecordedEvent& event : info.events)
    if (!measures_cpu_time(event.name, 0))
      counted.push_back(event.name);
  if (counted.size() == info.events.size())
    return fmt::format("{} did not occur, or not often enough", joined(counted, " and "));
  if (info.sampler == "perf" && summary.charged_ns > 0)
    return fmt::format(
        "the threads used {:.3f} s of CPU time, but each ended before its first tick, and "
        "perf_event counts for each anew; try a higher --freq, or --sampler bpf",
        static_cast<double>(summary.charged_ns) / 1e9);
  return is_of_command ? "the command used too little CPU; try a higher --freq"
                       : "what was recorded did not use the CPU; is it idle?";
}

}  // namespace

bool is_unusable(const Recorder::Summary& summary) {
  return summary.lost_events > 0 && summary.unplaced > summary.samples / 2;
}

void print_warnings(const Recorder::Summary& summary, Stop stop, const RecordingInfo& info,
                    const RecordOptions& options) {
  if (summary.lost_samples > 0)
    warn(options, "{} of {} samples lost: try a lower --freq, or --call-graph fp",
         with_commas(summary.lost_samples),
         with_commas(summary.samples + summary.lost_samples));
  if (summary.skipped_percent > 0)
    warn(options, "{} of {} ticks ({:.1f} %) gave no sample: {}", with_commas(summary.skipped),
         with_commas(summary.due_ticks), summary.skipped_percent, why_skipped(info));
  if (summary.excess_ns > 0)
    warn(options,
         "the samples stand for {:.2f} s more than the {:.2f} s that the kernel charged",
         static_cast<double>(summary.excess_ns) / 1e9,
         static_cast<double>(summary.charged_ns) / 1e9);
  if (summary.lost_events > 0)
    warn(options, "{} events lost: some functions will be unnamed",
         with_commas(summary.lost_events));
  if (is_unusable(summary))
    warn(options, "this recording cannot be used: the mappings of {} of {} samples were lost",
         with_commas(summary.unplaced), with_commas(summary.samples));
  if (summary.hung_looks > 0)
    warn(options,
         "{} files, memory maps or memories of processes not read: they did not answer in time",
         with_commas(summary.hung_looks));
  if (summary.refused_events > 0 && options.is_verbose)
    warn(options, "{} mappings not recorded: their programs map code without pause",
         with_commas(summary.refused_events));
  if (summary.unfollowed > 0)
    warn(options, "{} child processes not sampled: too many started at once",
         with_commas(summary.unfollowed));
  if (summary.untracked > 0)
    warn(options, "waits of {} threads not sampled: there are too many threads",
         with_commas(summary.untracked));
  if (summary.unreadable > 0)
    warn(options,
         "the mappings of {} sampled {} cannot be read: their functions will be unnamed",
         summary.unreadable, summary.unreadable == 1 ? "process" : "processes");
  if (summary.shortened_stacks > 0)
    warn(options, "{} samples have stacks of more than {} frames: their middle is left out",
         with_commas(summary.shortened_stacks), with_commas(raw::kMaxStackSize));
  if (summary.costly_stacks > 0)
    warn(options, "{} stacks of goroutines are cut, as they take too much to read each time",
         with_commas(summary.costly_stacks));
  if (summary.shortened_texts > 0)
    warn(options,
         "{} samples have labels or states of more than {} bytes, which end with \"...\", or "
         "more than {} labels",
         with_commas(summary.shortened_texts), raw::kMaxLabelText, raw::kMaxLabels);
  for (const std::string& problem : summary.perf_map_problems)
    warn(options, "{}", problem);
  if (!summary.archive_problems.empty())
    warn(options, "{} {} not archived, or not whole: {}", summary.archive_problems.size(),
         summary.archive_problems.size() == 1 ? "file" : "files",
         summary.archive_problems.front());
  if (!summary.unknown_go_versions.empty())
    warn(options,
         "unknown Go runtime {}: no goroutine ids or labels; stacks may stop in C code",
         printable(joined(summary.unknown_go_versions, ", ")));
  if (summary.lacks_kernel_symbols)
    warn(options, "kernel functions will have no names: /proc/kallsyms hides addresses ({})",
         why_kernel_symbols_are_hidden());
  if (summary.samples == 0)
    warn(options, "no samples: {}", why_no_samples(summary, stop, info, options));
}

void tell_start(const Sampler& sampler, const RecordingInfo& info,
                const RecordOptions& options) {
  if (std::string shortcomings = sampler.shortcomings(); !shortcomings.empty())
    warn(options, "{}", shortcomings);
  if (!options.is_verbose)
    return;
  std::vector<std::string> events;
  for (const RecordedEvent& event : info.events)
    events.push_back(event_text(event));
  print(stderr, "gosym: sampling {} on {} CPUs\n", joined(events, " and "), info.cpu_count);
}

}  // namespace gosym
