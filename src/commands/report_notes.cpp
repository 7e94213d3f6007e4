#include "commands/report_notes.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/exit_status.h"
#include "base/text.h"
#include "commands/loss_option.h"

namespace gosym {

namespace {

// So many images with a problem are told one by one, unless more was asked for.
constexpr size_t kMaxProblemsTold = 5;

// Rounded down: 100.0 is for whole recordings.
double recovered_percent(const raw::Recording& recording) {
  double share =
      static_cast<double>(recording.damaged_bytes) / static_cast<double>(recording.file_size);
  return std::floor(1000.0 * (1.0 - share)) / 10.0;
}

void tell_losses(const Profile& profile) {
  for (const Loss& loss : profile.losses)
    print(stderr,
          "lost        {:.1f} to {:.1f} s, CPU {}: {} samples, {} events; throttled {:.3f} s; "
          "{} ticks skipped\n",
          static_cast<double>(loss.begin) / 1e9, static_cast<double>(loss.end) / 1e9,
          loss.counts.cpu, with_commas(loss.counts.lost_samples),
          with_commas(loss.counts.lost_events),
          static_cast<double>(loss.counts.throttled_ns) / 1e9,
          with_commas(loss.counts.skipped));
}

void tell_cgroups(const Profile& profile) {
  std::map<std::string_view, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    counts[profile.strings[sample.cgroup]] += sample.count;
  for (const auto& [path, count] : counts)
    if (!path.empty())
      print(stderr, "cgroup      {}, {} samples\n", path, with_commas(count));
}

// Each label with the samples that have it.
void tell_labels(const Profile& profile) {
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> counts;
  for (const SampleCount& sample : profile.samples)
    for (const ProfileLabel& label : profile.label_sets[sample.label_set])
      counts[{profile.strings[label.key], profile.strings[label.value]}] += sample.count;
  for (const auto& [label, count] : counts)
    print(stderr, "goroutines  {}={}, {} samples\n", label.first, label.second,
          with_commas(count));
}

// Nothing of them is missing.
bool are_whole(const std::vector<NamedRecording>& recordings) {
  return std::ranges::all_of(recordings, [](const NamedRecording& one) {
    const raw::Recording& recording = one.recording;
    return recording.damaged_bytes == 0 && recording.damaged_chunks == 0 &&
           recording.damaged_samples == 0 && recording.end_time != 0;
  });
}

}  // namespace

std::string with_more(std::string first, size_t count) {
  return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
}

std::string name_of(const std::vector<std::string>& inputs) {
  return with_more(
      inputs.front() == "-" ? "standard input" : fmt::format("'{}'", printable(inputs.front())),
      inputs.size());
}

bool is_partial(const std::vector<NamedRecording>& recordings, const RecordingStats& stats,
                const ReportOptions& options) {
  bool is_cut = options.is_strict && !are_whole(recordings);
  return is_cut || loss_percent(stats) > *parse_loss(options.max_loss);
}

std::vector<std::string> damage_of(const NamedRecording& one) {
  const raw::Recording& recording = one.recording;
  std::vector<std::string> damage;
  auto add = [&](const std::string& what) {
    damage.push_back(fmt::format("{}: {}", name_of({one.name}), what));
  };
  bool has_end = recording.end_time != 0;
  std::string size = human_size(recording.file_size);
  // A file without its end does not tell how much was to come.
  if (recording.damaged_bytes > 0 && has_end)
    add(fmt::format("{} of {} damaged, {:.1f} % recovered", human_size(recording.damaged_bytes),
                    size, recovered_percent(recording)));
  else if (recording.damaged_bytes > 0)
    add(fmt::format("{} of {} damaged or cut short, and its end is missing",
                    human_size(recording.damaged_bytes), size));
  else if (!has_end)
    add("it has no end: the recorder was killed, or is still running");
  if (recording.damaged_chunks > 0)
    add(fmt::format("chunks that do not decode: {}", recording.damaged_chunks));
  if (recording.damaged_samples > 0)
    add(fmt::format(
        "samples left out, as they do not decode: {}{}", with_commas(recording.damaged_samples),
        recording.sample_problem.empty() ? ""
                                         : " (" + printable(recording.sample_problem) + ")"));
  for (const std::string& note : recording.notes)
    add(note);
  return damage;
}

Error no_samples(const ReportOptions& options, const std::vector<NamedRecording>& recordings,
                 const Profile& profile) {
  Error error = errorf("{}: no samples{}{}", name_of(options.inputs),
                       options.event.empty() ? "" : " of " + printable(options.event),
                       profile.filter.empty() ? "" : " with " + profile.filter);
  std::string hint = "what was recorded used no CPU: record it while it is busy, or longer";
  if (profile.stats.charged_ns > 0)
    hint = fmt::format(
        "what was recorded used {:.3f} s of CPU time: record it longer, or at a higher "
        "--freq{}",
        static_cast<double>(profile.stats.charged_ns) / 1e9,
        profile.info.sampler == "perf" ? ", or with --sampler bpf" : "");
  if (!options.filter.cgroups.empty())
    hint = "gosym report -v without filters lists all cgroups that were sampled";
  else if (!options.filter.labels.empty())
    hint = "gosym report -v without filters lists all labels with their values";
  else if (!options.event.empty() && profile.filter.empty())
    hint = "it did not occur, or not often enough";
  else if (!options.selection.keeps_all())
    hint = "gosym report --top 0 without these options lists all functions";
  else if (!options.filter.comms.empty())
    hint = "gosym report --by comm without filters lists the names of all threads";
  else if (!options.filter.tids.empty())
    hint = "gosym report --by thread without filters lists all threads that were sampled";
  else if (!options.filter.pids.empty())
    hint = "gosym report --by process without filters lists all processes that were sampled";
  else if (options.filter.time != TimeRange())
    hint = "gosym report --by time without filters tells when there are samples";
  else if (!are_whole(recordings))
    hint = "the part that held them is damaged, or was never written";
  return std::move(error).with_hint(hint).with_exit_status(kNoTarget);
}

void tell_damage(const Profile& profile, const ReportOptions& options) {
  for (const std::string& what : profile.damage)
    warn(options, "{}", what);
}

void tell_loss(const RecordingStats& stats, const ReportOptions& options) {
  if (stats.lost_samples > 0 && options.format != "text")
    warn(options, "{} of {} samples lost", with_commas(stats.lost_samples),
         with_commas(stats.lost_samples + stats.samples));
  if (stats.skipped_percent() > 0 && options.format != "text")
    warn(options, "{:.1f} % of the ticks skipped", stats.skipped_percent());
}

void tell_problems(const SymbolizerReport& symbols, const ReportOptions& options) {
  if (symbols.cut_names > 0)
    warn(options, "{} names were too long and have been shortened",
         with_commas(symbols.cut_names));
  if (symbols.remade_places > 0)
    warn(options,
         "{} addresses had different code made in turn, and are named by when perf maps told "
         "of it, to 0.1 s",
         with_commas(symbols.remade_places));
  size_t told = 0;
  for (const auto& [path, problem] : symbols.image_problems) {
    if (told == kMaxProblemsTold && !options.is_verbose) {
      warn(options, "{} more files without symbols; -v lists them",
           symbols.image_problems.size() - told);
      return;
    }
    warn(options, "'{}': {}", path, problem);
    told++;
  }
}

void tell_details(const std::vector<NamedRecording>& recordings, const Profile& profile,
                  const SymbolizerReport& symbols) {
  for (const auto& [name, recording, unchecked] : recordings)
    print(stderr, "recording   {}{}, raw format {}.{}, {} chunks of samples\n",
          recordings.size() == 1 ? "" : name_of({name}) + ", ", human_size(recording.file_size),
          recording.major, recording.minor, recording.sample_chunks.size());
  print(stderr, "profile     {} stacks, {} locations, {} mappings\n",
        with_commas(profile.stack_begin.size() - 1), with_commas(profile.locations.size()),
        with_commas(profile.mappings.size() - 1));
  print(stderr,
        "samples     {} with callers put in, {} joined to another stack, {} cut, {} with "
        "unknown ends\n",
        with_commas(profile.unwound.repaired), with_commas(profile.unwound.bridged),
        with_commas(profile.unwound.cut), with_commas(profile.unwound.unknown));
  tell_labels(profile);
  tell_cgroups(profile);
  tell_losses(profile);
  for (const auto& [source, locations] : symbols.locations_by_source)
    print(stderr, "{:<11} {} locations\n", to_string(source), with_commas(locations));
  for (const ProfileImage& image : profile.images)
    if (image.kind == ProfileImage::Kind::kFile)
      print(stderr, "image       {}\n", image.file.path);
}

}  // namespace gosym
