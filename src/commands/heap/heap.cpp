#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/goroutines/source.h"
#include "commands/heap/growth.h"
#include "commands/heap/profile.h"
#include "commands/heap/summary.h"
#include "commands/option_values.h"
#include "commands/report_options.h"
#include "go/goroutine_layout.h"
#include "output/format.h"
#include "output/output_file.h"
#include "view/selection.h"

namespace gosym {

// The runtime of a Go program keeps profiles of its own: of allocations, and, if it is asked
// to, of waits. run_heap() chooses the source (goroutines/source.h) and reads one of four
// things from its memory: the heap profile, a profile of waits, or the counts of all memory,
// as a summary or by size of objects. Profiles go through select() and write_events() as those
// of `gosym report`; --growth compares the heap profiles of several looks.

namespace {

// The command line of `gosym heap`.
struct HeapOptions {
  std::string process;  // or a core file
  std::string program;  // of a core file; empty: at its path
  HeapView heap;
  bool is_summary = false;
  bool has_classes = false;  // objects by their sizes
  bool is_for_growth = false;
  uint64_t interval_ns = 30'000'000'000;
  size_t count = 5;  // of looks for growth
  ViewOptions view;
  Selection selection;
  ColourMode colour = ColourMode::kAuto;
  std::string format = "text";
  std::string output = "-";
};

using FoundHeap = FoundInRuntime<HeapProfile>;
using FoundWaits = FoundInRuntime<ContentionProfile>;

HeapRuntime make_heap_runtime(const GoFile& file, const go::HeapProfileLayout& layout) {
  go::HeapProfileVariables variables = go::find_heap_profile(*file.module);
  // The variables lie in the program's own image: `file.bias` makes addresses in the process of
  // those. Several places may be that of a list: read_heap_profile() tells by the buckets.
  auto at_run_time = [&](const std::vector<ImageAddress>& places) {
    std::vector<uint64_t> addresses;
    for (ImageAddress place : places)
      addresses.push_back(to_integer(place) + file.bias);
    return addresses;
  };
  return {.layout = layout,
          .lists = at_run_time(variables.lists),
          .memory_lists = at_run_time(variables.memory_lists),
          .rate = at_run_time(variables.rate),
          .cycle = at_run_time(variables.cycle),
          .is_used = variables.is_used};
}

// `first_minor` is of the first Go 1.x whose profile of the wanted kind can be read.
Result<HeapRuntime> find_heap_runtime(const GoFile& file, uint32_t first_minor) {
  if (file.image->pointer_size != 8)
    return errorf("'{}' is a 32-bit program: gosym reads heaps of 64-bit programs only",
                  printable(file.path))
        .with_exit_status(kUnsupported);
  auto layout = go::heap_profile_layout(file.version);
  // Profiles of waits can be read from a later release on than heaps.
  if (!layout || go::minor_of_release(file.version).value_or(0) < first_minor)
    return errorf("'{}' was built by {}: gosym knows the {} of Go 1.{} to 1.{}",
                  printable(file.path),
                  file.version.empty() ? "a Go that does not tell its version"
                                       : printable(file.version),
                  first_minor == go::kFirstHeapMinor ? "heaps" : "profiles of waits",
                  first_minor, go::kLastHeapMinor)
        .with_exit_status(kUnsupported);
  return make_heap_runtime(file, *layout);
}

Result<HeapProfile> read_heap_of(const GoFile& file, const GoroutineSource& source,
                                 HeapTime time) {
  auto runtime = find_heap_runtime(file, go::kFirstHeapMinor);
  if (!runtime)
    return std::move(runtime).error();
  return read_heap_profile(*runtime, time, source.read_memory);
}

Result<ContentionProfile> read_waits_of(const GoFile& file, const GoroutineSource& source,
                                        HeapWaits waits) {
  auto runtime = find_heap_runtime(file, go::kFirstContentionMinor);
  if (!runtime)
    return std::move(runtime).error();
  return read_contention_profile(
      *runtime,
      waits == HeapWaits::kMutexes ? go::BucketKind::kMutexes : go::BucketKind::kBlocking,
      source.read_memory);
}

// The part of all by which the total of the bytes that are shown may be off: in 95 of 100 cases
// it is less. Each object is sampled by chance, a large one as good as always.
double error_of(const HeapProfile& heap, bool is_allocated) {
  double total = 0;
  double variance = 0;
  for (const HeapBucket& bucket : heap.buckets) {
    // No more was freed than allocated: read_heap_profile() has seen to that.
    auto count = static_cast<double>(bucket.allocated - (is_allocated ? 0 : bucket.freed));
    auto size = static_cast<double>(bucket.size);
    // The runtime samples each byte with a chance of 1 / rate, so an object of this size by
    // this one.
    double chance = heap.rate <= 1 ? 1 : 1 - std::exp(-size / static_cast<double>(heap.rate));
    if (size == 0 || chance <= 0)
      continue;
    total += count * size / chance;
    // The number of sampled objects of a bucket is binomial: `count / chance` objects, each
    // with this chance. Its variance, count * (1 - chance), is scaled up like the number, by
    // (size / chance)².
    variance += count * size / chance * (size / chance) * (1 - chance);
  }
  // 1.96 standard deviations: 95 of 100 cases of a normal distribution.
  return total == 0 ? 0 : 1.96 * std::sqrt(variance) / total;
}

// Facts that a person needs to read the figures below it.
std::string header_of(const HeapProfile& heap, const HeapView& view) {
  uint64_t sampled = 0;
  for (const HeapBucket& bucket : heap.buckets)
    sampled += bucket.allocated - (view.is_allocated ? 0 : bucket.freed);
  std::string when;
  if (view.time == HeapTime::kNow)
    when =
        fmt::format("since the program began, {}", count_text(heap.collections, "collection"));
  else if (heap.is_before_first)
    when = "all that was allocated: no collection has ended yet";
  else
    when = fmt::format("as the last of {} left it", count_text(heap.collections, "collection"));
  return fmt::format("{}\nsampled    {}, {}; the total is right within {:.1f} % (95 %)\n", when,
                     count_text(sampled, "object"),
                     heap.rate == 0   ? "and now none any more: they stand for themselves"
                     : heap.rate == 1 ? "each one that was allocated"
                                      : fmt::format("one in {}", human_size(heap.rate)),
                     100 * error_of(heap, view.is_allocated));
}

// Torn: `what` is what changed each time.
int tell_rest(const GoroutineSource& source, bool is_torn, std::string_view what) {
  for (const std::string& note : source.notes)
    print(stderr, "gosym: note: {}\n", note);
  if (!is_torn)
    return kSuccess;
  print(stderr,
        "gosym: note: {} each time that they were read: what is shown may be of two moments\n",
        what);
  return kPartial;
}

// The number of waits and their time, since the program began.
std::string header_of(const Profile& profile, const HeapView& view) {
  uint64_t waits = 0;
  uint64_t nanoseconds = 0;
  // Values are told apart by their unit: that of the delay is a time. Of a core only the other
  // is there.
  std::vector<RecordedEvent> shown = shown_events(profile.info.events);
  for (const SampleCount& sample : profile.samples)
    for (uint32_t value = 0; value < shown.size(); value++)
      (measures_time(shown[value]) ? nanoseconds : waits) += profile.amount(sample, value);
  std::string time;
  if (shown.size() > 1)
    time = fmt::format(", {:.2f} s together", to_seconds(nanoseconds));
  bool is_of_mutexes = view.waits == HeapWaits::kMutexes;
  return fmt::format("since the program began, as it keeps it itself\n{}  {}{}, {}\n",
                     is_of_mutexes ? "mutexes " : "blocking", count_text(waits, "wait"), time,
                     is_of_mutexes ? "charged to who let go of the mutex"
                                   : "of goroutines for channels, mutexes and the like");
}

// Writes what is selected of the profile; `header` stands above text. Fails if nothing is left.
Result<> write_profile(Profile& profile, std::string_view header, HeapOptions& options) {
  select(profile, options.selection);
  const Format& format = *find_format(options.format);
  // A profile may have several values; formats that write one get the first.
  if (format.events != EventsWritten::kTogether)
    profile = of_event(profile, 0);
  if (profile.samples.empty())
    return Error("nothing that was sampled is left to show").with_exit_status(kNoTarget);
  bool is_on_screen = options.output == "-";
  // A file gets no colours and no limits.
  options.view.screen = is_on_screen ? standard_output(options.colour) : Screen();
  if (auto checked = check_samples(profile, format); !checked)
    return checked;
  auto file = OutputFile::open(options.output, readers_of(format.name, profile));
  if (!file)
    return std::move(file).error();
  if (format.name == "text")
    file->write(header);
  // Lines for people are cut and coloured as the screen has it; formats for programs are not
  // touched.
  write_events(profile, format, options.view, [&](std::string_view data) {
    return format.name == "text" ? file->write(on_screen(data, options.view.screen))
                                 : file->write(data);
  });
  return file->finish();
}

Result<int> show_heap(const FoundHeap& found, const GoroutineSource& source,
                      HeapOptions& options) {
  Profile profile = profile_of(found.value, options.heap, *found.file, source);
  auto written = write_profile(profile, header_of(found.value, options.heap), options);
  if (!written)
    return std::move(written).error();
  return tell_rest(source, found.value.is_torn, "the figures of the profile changed");
}

Result<int> show_waits(const FoundWaits& found, const GoroutineSource& source,
                       HeapOptions& options) {
  Profile profile = profile_of(found.value, options.heap, *found.file, source);
  auto written = write_profile(profile, header_of(profile, options.heap), options);
  if (!written)
    return std::move(written).error();
  if (source.is_core)
    print(stderr,
          "gosym: note: how long waits were is in ticks of the clock of the machine that the "
          "core "
          "file is of, which is not known: they are counted\n");
  return tell_rest(source, false, "");
}

Result<int> show_memory(const MemorySummary& summary, const GoroutineSource& source,
                        const HeapOptions& options) {
  auto file = OutputFile::open("-");
  if (!file)
    return std::move(file).error();
  bool is_json = options.format == "json";
  std::string text = options.has_classes
                         ? (is_json ? classes_json_of(summary) : classes_text_of(summary))
                         : (is_json ? json_of(summary) : text_of(summary));
  file->write(is_json ? text : on_screen(text, standard_output(options.colour)));
  if (auto written = file->finish(); !written)
    return std::move(written).error();
  return tell_rest(source, summary.counts.is_torn, "the spans were not what was counted");
}

Result<FoundHeap> read_first_heap(const GoroutineSource& source, HeapTime time) {
  return read_first<HeapProfile>(
      source.code, [&](const GoFile& file) { return read_heap_of(file, source, time); });
}

std::string json_of(const HeapGrowth& growth, uint32_t pid) {
  JsonWriter json;
  json.begin_object();
  json.field("pid", pid);
  growth.write(json);
  json.end_object();
  return fmt::format("{}\n", json.text());
}

// Several looks at what is in use. A process that ends after enough of them is shown as far.
Result<int> look_for_growth(const ChosenSource& chosen, const HeapOptions& options,
                            uint64_t interval_ns) {
  HeapGrowth growth;
  while (growth.looks() < options.count) {
    if (growth.looks() > 0)
      wait_for_look(growth.looks() + 1, options.count, interval_ns);
    // The process is opened at each look: it may have loaded another library of Go meanwhile.
    auto source = open_source(chosen);
    uint64_t time = monotonic_ns();
    // The heap is taken as the last collection left it: garbage that waits for the next would
    // look like growth.
    auto found = source ? read_first_heap(*source, HeapTime::kCollection)
                        : Result<FoundHeap>(Error(source.error()));
    // A process that ended while it was read looks like any error; this tells it apart.
    auto is_there = check_is_there(chosen);
    if (!is_there && growth.looks() >= kLeastHeapLooks) {
      print(stderr, "gosym: note: the process has ended before the last look\n");
      break;
    }
    if (!is_there)
      return std::move(is_there).error();
    if (!found)
      return std::move(found).error();
    Profile profile = profile_of(found->value, options.heap, *found->file, *source);
    growth.add_look(profile, time, found->value.collections);
  }
  auto file = OutputFile::open("-");
  if (!file)
    return std::move(file).error();
  Screen screen = standard_output(options.colour);
  file->write(options.format == "json" ? json_of(growth, chosen.pid)
                                       : on_screen(growth.text(screen), screen));
  if (auto written = file->finish(); !written)
    return std::move(written).error();
  return kSuccess;
}

Result<int> run_growth(const ChosenSource& chosen, const HeapOptions& options) {
  if (chosen.is_core)
    return Error("--growth: a core file does not change").with_exit_status(kUsage);
  if (options.count < kLeastHeapLooks)
    return errorf("--growth: {} looks or more tell what grows", kLeastHeapLooks)
        .with_exit_status(kUsage);
  return look_for_growth(chosen, options, options.interval_ns);
}

Result<int> run_heap(HeapOptions& options) {
  if (auto checked = check_view(options.view); !checked)
    return std::move(checked).error();
  std::string output = options.output == "-" ? std::string() : options.output;
  auto chosen = choose_source("heap", options.process, options.program, {output});
  if (!chosen)
    return std::move(chosen).error();
  if (options.is_for_growth)
    return run_growth(*chosen, options);
  auto source = open_source(*chosen);
  // Four things can be read, each from the first Go runtime of the process that has it.
  auto show = [&](auto read, auto show_it) -> Result<int> {
    auto found = source ? read(*source) : decltype(read(*source))(Error(source.error()));
    // A process that ended meanwhile may have been read in part.
    if (auto is_there = check_is_there(*chosen); !is_there)
      return std::move(is_there).error();
    if (!found)
      return std::move(found).error();
    return show_it(*found, *source, options);
  };
  if (options.is_summary || options.has_classes)
    return show(read_memory_summary, show_memory);
  if (options.heap.waits != HeapWaits::kNone)
    return show(
        [&](const GoroutineSource& from) {
          return read_first<ContentionProfile>(from.code, [&](const GoFile& file) {
            return read_waits_of(file, from, options.heap.waits);
          });
        },
        show_waits);
  return show(
      [&](const GoroutineSource& from) { return read_first_heap(from, options.heap.time); },
      show_heap);
}

// Options of `gosym report`, but those that mean nothing of a heap.
OptionGroup without(OptionGroup group, std::initializer_list<std::string_view> names) {
  std::erase_if(group.options, [&](const Option& option) {
    return std::ranges::any_of(
        names, [&](std::string_view name) { return option.names.ends_with(name); });
  });
  return group;
}

// An option that chooses the format. Flags are given the empty text, the others their file.
Option heap_format(const std::string& name, std::string help, HeapOptions& options) {
  std::vector<std::string> others = {"--json", "--folded", "--pprof", "--html"};
  std::erase(others, "--" + name);
  bool has_file = name == "pprof" || name == "html";
  return {.names = "--" + name,
          .value = has_file ? "FILE" : "",
          .help = std::move(help),
          .take =
              [&options, name, has_file](const std::string& file) {
                auto given = parse_given(file);
                if (has_file && !given)
                  return given.error().message();
                options.format = name;
                if (has_file)
                  options.output = file;
                return std::string();
              },
          .excludes = std::move(others)};
}

std::vector<OptionGroup> heap_options(HeapOptions& options) {
  OptionGroup what =
      without(view_options(options.view), {"--children", "--no-children", "--show-nr-samples"});
  std::vector<Option> own = {
      process_option(options.process),
      {.names = "--inuse",
       .help = "Show what is in use, as the last collection left it (default)",
       .excludes = {"--alloc"}},
      // All that was allocated is known at any time: it does not wait for a collection, as
      // what is in use does.
      {.names = "--alloc",
       .help = "Show all that was allocated since the program began",
       .take =
           [&options](const std::string& /*none*/) {
             options.heap.is_allocated = true;
             options.heap.time = HeapTime::kNow;
             return std::string();
           }},
      {.names = "--summary",
       .help = "Show what all memory of the process is for, and what the collector does",
       .take = into(options.is_summary),
       .excludes = {"--inuse", "--alloc", "--objects", "--tree", "--inverted", "--callers",
                    "--callees", "--lines", "--by", "--folded", "--pprof", "--html"}},
      {.names = "--classes",
       .help = "Show how many objects there are of which size, and what is free between them",
       .take = into(options.has_classes),
       .excludes = {"--inuse", "--alloc", "--summary", "--objects", "--tree", "--inverted",
                    "--callers", "--callees", "--lines", "--by", "--folded", "--pprof",
                    "--html"}},
      {.names = "--block",
       .help = "Show where goroutines waited, if the program keeps a profile of that",
       .take = sets(options.heap.waits, HeapWaits::kBlocking),
       .excludes = {"--inuse", "--alloc", "--summary", "--classes", "--mutex", "--system"}},
      {.names = "--mutex",
       .help = "Show who let others wait for a mutex, if the program keeps a profile of that",
       .take = sets(options.heap.waits, HeapWaits::kMutexes),
       .excludes = {"--inuse", "--alloc", "--summary", "--classes", "--system"}},
      {.names = "--growth",
       .help = "Look several times, and show whose memory in use grows",
       .take = into(options.is_for_growth),
       .excludes = {"--alloc", "--summary", "--classes", "--block", "--mutex", "--objects",
                    "--tree", "--inverted", "--callers", "--callees", "--lines", "--by",
                    "--folded", "--pprof", "--html"}},
      {.names = "--interval",
       .value = "TIME",
       .help = "With --growth, the time from one look to the next (default: 30s)",
       .take = into(options.interval_ns, parse_interval),
       .needs = "--growth",
       .likely = {"10s", "30s", "1m"}},
      {.names = "-n,--iterations",
       .value = "COUNT",
       .help = "With --growth, the number of looks (default: 5)",
       .take = into(options.count, parse_count),
       .needs = "--growth"},
      {.names = "--objects",
       .help = "Count objects, not bytes; of waits their number, not their time",
       .take = into(options.heap.has_objects)},
      {.names = "--system",
       .help = "Show the functions by which Go's runtime allocates as well",
       .take = into(options.heap.has_system)}};
  what.options.insert(what.options.begin(), own.begin(), own.end());
  for (Option& option : what.options)
    if (option.names == "-s,--by")  // no others tell allocations apart
      option.likely = {"function", "line",     "file",       "module",
                       "package",  "category", "label:bytes"};
  return {source_words(options.process, options.program),
          std::move(what),
          without(selection_options(options.selection),
                  {"--module", "--mine", "--no-kernel", "--no-inlines"}),
          {"What to write",
           {heap_format("json", "Write JSON, for programs", options),
            heap_format("folded", "Write folded stacks, for flame graphs", options),
            heap_format("pprof", "Write a profile for go tool pprof", options),
            heap_format("html", "Write a page for a browser", options),
            colour_option(options.colour)}}};
}

}  // namespace

Command make_heap() {
  auto options = std::make_shared<HeapOptions>();
  return {.name = "heap",
          .summary = "Show who allocated the memory, and what it is for",
          .groups = heap_options(*options),
          .examples =
              "  gosym heap 4242                    what is in use, by function and path\n"
              "  gosym heap --summary 4242          what all memory is for, and the collector\n"
              "  gosym heap --alloc prometheus      what was allocated since it began\n"
              "  gosym heap --mutex 4242            who let others wait for a mutex\n"
              "  gosym heap --growth 4242           whose memory grows, after two minutes\n"
              "  gosym heap --tree --objects 4242   how many objects, as a tree\n"
              "  gosym heap --folded 4242 | flamegraph.pl > heap.svg\n"
              "  gosym heap --pprof now.pb.gz 4242  for go tool pprof -diff_base\n"
              "  gosym heap core ./server           what was in use when it crashed\n",
          .run = [options] { return run_heap(*options); }};
}

}  // namespace gosym
