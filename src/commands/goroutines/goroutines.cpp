#include "commands/goroutines/goroutines.h"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/pattern.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/goroutines/leaks.h"
#include "commands/option_values.h"
#include "commands/terminal.h"
#include "output/html.h"
#include "output/json.h"
#include "output/output_file.h"
#include "output/pprof.h"
#include "profile/profile.h"

namespace gosym {

// A command line becomes a ChosenSource (source.h), with which the process gives up its
// rights. Each look opens that source anew, names all goroutines of it, and chooses those that
// the options want: a Look. One look is written in one of the forms of views.h or as a
// profile; several are compared, by --watch from one to the next, by --leaks all together.

namespace {

// The options that choose goroutines.
struct GoroutineFilter {
  std::optional<Pattern> state;
  std::optional<Pattern> focus;
  std::string label_key;
  std::optional<std::string> label_value;
  uint64_t least_minutes = 0;
};

// The command line of `gosym goroutines`.
struct GoroutinesOptions {
  std::string process;  // or a core file
  std::string program;  // file of a core's program; empty: at its path
  bool is_all = false;
  bool has_system = false;
  bool is_json = false;
  bool is_folded = false;
  std::string pprof;  // files; empty: none
  std::string html;
  std::string by;  // empty: groups, or all
  GoroutineFilter filter;
  std::optional<uint64_t> watch_ns;  // none: one look
  bool is_for_leaks = false;
  uint64_t interval_ns = 30'000'000'000;  // of looks for leaks
  size_t count = 0;                       // of looks; 0: no limit, or kLooksForLeaks
};

constexpr size_t kLooksForLeaks = 5;

// Questions in the order of their costs: the stack, whose frames have to be put together,
// comes last.
bool passes(const GoroutineFilter& filter, const NamedGoroutines& named, size_t index,
            bool has_system) {
  const Goroutine& goroutine = named.goroutines.all[index];
  if (!has_system && named.is_system(goroutine))
    return false;
  if (filter.state && !filter.state->matches(named.state(goroutine)))
    return false;
  if (named.minutes(goroutine) < filter.least_minutes)
    return false;
  auto has_label = [&](const GoroutineLabel& label) {
    return label.key == filter.label_key &&
           (!filter.label_value || label.value == *filter.label_value);
  };
  if (!filter.label_key.empty() && std::ranges::none_of(named.labels[index], has_label))
    return false;
  // The focus may be a function of the runtime, so stacks are searched whole.
  auto is_focus = [&](const Call& call) { return filter.focus->matches(call.function); };
  // A goroutine that has not run yet is found by its creator.
  return !filter.focus || is_focus(named.creator(goroutine, has_system)) ||
         std::ranges::any_of(named.stack(goroutine, true), is_focus);
}

GoroutineView choose(const NamedGoroutines& named, const GoroutineFilter& filter,
                     bool has_system) {
  GoroutineView view;
  view.has_system = has_system;
  for (size_t i = 0; i < named.goroutines.all.size(); i++)
    if (passes(filter, named, i, has_system))
      view.shown.push_back(&named.goroutines.all[i]);
  return view;
}

// The texts are printable already.
void write_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// One look at the process.
struct Look {
  GoroutineSource source;
  std::vector<NamedGoroutines> all;
  std::vector<GoroutineView> views;  // one for each of these
};

std::string text_of(const Look& look, size_t runtime, const GoroutinesOptions& options) {
  const NamedGoroutines& named = look.all[runtime];
  const GoroutineView& view = look.views[runtime];
  if (options.is_folded)
    return folded_of(profile_of(named, view, look.source));
  if (!options.by.empty())
    return counts_of(named, view, options.by);
  return options.is_all ? traceback_of(named, view) : groups_of(named, view);
}

// Writes the goroutines of the first Go runtime.
Result<> write_profile(const Look& look, const GoroutinesOptions& options) {
  auto file = OutputFile::open(options.pprof.empty() ? options.html : options.pprof);
  if (!file)
    return std::move(file).error();
  Profile profile = profile_of(look.all.front(), look.views.front(), look.source);
  auto write = [&](std::string_view data) { return file->write(data); };
  if (options.pprof.empty())
    write_html(profile, write);
  else
    write_pprof(profile, write);
  return file->finish();
}

void tell(const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    print(stderr, "gosym: note: {}\n", note);
}

Result<Look> look_at(Result<GoroutineSource> source, const GoroutineFilter& filter,
                     bool has_system) {
  if (!source)
    return std::move(source).error();
  auto all = read_named_goroutines(*source);
  if (!all) {
    tell(source->notes);  // may be why
    return std::move(all).error();
  }
  Look look = {.source = *std::move(source), .all = *std::move(all), .views = {}};
  for (const NamedGoroutines& named : look.all)
    look.views.push_back(choose(named, filter, has_system));
  return look;
}

void tell_notes(const Look& look) {
  tell(look.source.notes);
  for (const NamedGoroutines& named : look.all)
    tell(named.goroutines.notes);
}

// Tells which states there are if no goroutine is in the one that is asked for.
void tell_states(const Look& look, const Pattern& wanted) {
  std::set<std::string> states;
  for (size_t i = 0; i < look.all.size(); i++) {
    // Only states of goroutines that could have been shown: a hint at those of the runtime
    // would lead nowhere without --system.
    for (const Goroutine& goroutine : look.all[i].goroutines.all)
      if (look.views[i].has_system || !look.all[i].is_system(goroutine))
        states.insert(printable(look.all[i].state(goroutine)));
  }
  bool is_found = std::ranges::any_of(
      states, [&](const std::string& state) { return wanted.matches(state); });
  if (!is_found && !states.empty())
    tell({fmt::format("no goroutine is in such a state; there are some in these states: {}",
                      joined(std::vector(states.begin(), states.end()), ", "))});
}

Result<int> show(const Look& look, const GoroutinesOptions& options) {
  uint32_t pid = look.source.pid;
  if (!options.pprof.empty() || !options.html.empty()) {
    if (auto written = write_profile(look, options); !written)
      return std::move(written).error();
  } else if (options.is_json) {
    write_text(json_of(look.all, look.views, pid));
  } else {
    for (size_t i = 0; i < look.all.size(); i++)
      write_text((i > 0 ? "\n" : "") + text_of(look, i, options));
  }
  // Notes come behind the result, so that they are the last lines on a terminal.
  tell_notes(look);
  if (options.filter.state)
    tell_states(look, *options.filter.state);
  return kSuccess;
}

// Looks that are taken at a process, one after the other.
struct Looks {
  const ChosenSource* chosen;
  uint64_t interval_ns;
  size_t count;         // 0: no limit
  size_t least;         // after so many the end of the process is no error
  bool shows_progress;  // of those that are silent until the last look
};

enum class LooksEnd : uint8_t { kAll, kProcessEnded, kEnough };

// Hands each look to `use`, which is false if it needs no more.
template <class Use>
Result<LooksEnd> look_repeatedly(const Looks& looks, const GoroutineFilter& filter,
                                 bool has_system, Use use) {
  for (size_t taken = 0; looks.count == 0 || taken < looks.count; taken++) {
    if (taken > 0)
      // A look begins one interval after the one before has ended.
      wait_for_look(taken + 1, looks.shows_progress ? looks.count : 0, looks.interval_ns);
    auto look = look_at(open_source(*looks.chosen), filter, has_system);
    // Another process may have been given the number, and be what was read.
    auto is_there = check_is_there(*looks.chosen);
    // A process that ends is the usual end of a watch, and opening it then fails with
    // kNoTarget; before `least` looks there is nothing to show.
    bool is_over = !is_there || (!look && look.error().exit_status() == kNoTarget);
    if (is_over && taken >= looks.least)
      return LooksEnd::kProcessEnded;
    if (!is_there)
      return std::move(is_there).error();
    if (!look)
      return std::move(look).error();
    // Notes are of the program, and the same in each look.
    if (taken == 0)
      tell_notes(*look);
    if (!use(*look))
      return LooksEnd::kEnough;
  }
  return LooksEnd::kAll;
}

// Until the process ends, or so many looks were taken; 0: no limit.
Result<int> watch(const ChosenSource& chosen, const GoroutinesOptions& options,
                  uint64_t interval_ns) {
  // By index of the runtime, in the order of GoCode::files().
  std::vector<GoroutineCounts> before;
  bool is_first = true;
  auto show_changes = [&](const Look& look) {
    std::vector<GoroutineCounts> now;
    for (size_t i = 0; i < look.all.size(); i++) {
      now.push_back(count_places(look.all[i], look.views[i]));
      write_text((std::exchange(is_first, false) ? "" : "\n") +
                 changes_of(i < before.size() ? &before[i] : nullptr, now[i]));
    }
    std::fflush(stdout);
    before = std::move(now);
    return std::ferror(stdout) == 0;  // else nobody reads it; what else is wrong main() tells
  };
  auto end = look_repeatedly({.chosen = &chosen,
                              .interval_ns = interval_ns,
                              .count = options.count,
                              .least = 1,
                              .shows_progress = false},
                             options.filter, options.has_system, show_changes);
  return end ? Result<int>(kSuccess) : std::move(end).error();
}

std::string json_of(const LeakFinder& finder, uint32_t pid, uint64_t interval_ns) {
  JsonWriter json;
  json.object([&] {
    json.field("pid", pid);
    json.field("interval_ns", interval_ns);
    finder.write(json);
  });
  return fmt::format("{}\n", json.text());
}

// Goroutines of the first Go runtime are followed.
Result<int> look_for_leaks(const ChosenSource& chosen, const GoroutinesOptions& options,
                           uint64_t interval_ns) {
  LeakFinder finder;
  uint64_t begin = monotonic_ns();
  uint64_t last = begin;
  auto end = look_repeatedly({.chosen = &chosen,
                              .interval_ns = interval_ns,
                              .count = options.count == 0 ? kLooksForLeaks : options.count,
                              .least = kLeastLooks,
                              .shows_progress = true},
                             options.filter, options.has_system, [&](const Look& look) {
                               finder.add_look(look.all.front(), look.views.front());
                               last = monotonic_ns();
                               return true;
                             });
  if (!end)
    return std::move(end).error();
  if (*end == LooksEnd::kProcessEnded)
    tell({"the process has ended before the last look"});
  // The time from the first look to the last, as it was: looks take time of their own.
  write_text(options.is_json ? json_of(finder, chosen.pid, interval_ns)
                             : finder.text(to_seconds(last - begin)));
  return finder.has_leaks() ? kFailure : kSuccess;
}

Result<int> run_goroutines(const GoroutinesOptions& options) {
  // Both forms of several looks have their interval in an option of their own.
  auto interval = options.is_for_leaks ? options.interval_ns : options.watch_ns;
  if (interval && names_core_file(options.process))
    return errorf("{}: a core file does not change",
                  options.is_for_leaks ? "--leaks" : "--watch")
        .with_exit_status(kUsage);
  if (options.is_for_leaks && options.count != 0 && options.count < kLeastLooks)
    return errorf("--leaks: {} looks or more tell what grows", kLeastLooks)
        .with_exit_status(kUsage);
  if (options.count != 0 && !interval)
    return Error("--iterations needs --watch or --leaks").with_exit_status(kUsage);
  // The process is opened, and rights are given up, once nothing more can be wrong with the
  // command line.
  auto chosen = choose_source("goroutines", options.process, options.program,
                              {options.pprof, options.html});
  if (!chosen)
    return std::move(chosen).error();
  // Several looks open the process again each time; the one look below is of what was chosen.
  if (options.is_for_leaks)
    return look_for_leaks(*chosen, options, *interval);
  if (interval)
    return watch(*chosen, options, *interval);
  auto look = look_at(open_source(*chosen), options.filter, options.has_system);
  // An error of reading is told as the end of the process if that is the cause.
  if (auto is_there = check_is_there(*chosen); !is_there)
    return std::move(is_there).error();
  return look ? show(*look, options) : Result<int>(std::move(look).error());
}

// An empty expression would match all.
Result<Pattern> parse_wanted(const std::string& text) {
  if (auto given = parse_given(text); !given)
    return std::move(given).error();
  return Pattern::parse(text);
}

Result<uint64_t> parse_waited_minutes(const std::string& text) {
  constexpr uint64_t kMinute = 60'000'000'000;
  auto age = parse_duration(text);
  if (!age || *age < kMinute)
    return errorf(
        "'{}' is not a duration of 1m or more: Go's runtime records whole minutes only",
        printable(text));
  // Parts of a minute are cut off: 90s is 1m, as the runtime would count it.
  return *age / kMinute;
}

// "KEY" or "KEY=VALUE"
std::string take_label(const std::string& text, GoroutineFilter& filter) {
  if (text.empty())
    return "it is empty";
  // A key without a value asks for the label, whatever its value is; the value may have a "="
  // itself.
  size_t equals = text.find('=');
  filter.label_key = text.substr(0, equals);
  filter.label_value.reset();
  if (equals != text.npos)
    filter.label_value = text.substr(equals + 1);
  return {};
}

Result<std::string> parse_goroutine_key(const std::string& key) {
  if (!is_goroutine_key(key))
    return errorf("'{}' is none of state, function, creator, label:KEY", printable(key));
  return key;
}

OptionGroup selection_of_goroutines(GoroutinesOptions& options) {
  return {
      "Select goroutines",
      {{.names = "--state",
        .value = "RE",
        .help = "Only those in a state that matches RE, such as 'chan receive'",
        .take = into(options.filter.state, parse_wanted)},
       {.names = "--focus",
        .value = "RE",
        .help = "Only those with a function that matches RE in their stack or as their creator",
        .take = into(options.filter.focus, parse_wanted)},
       {.names = "--label",
        .value = "KEY[=VALUE]",
        .help = "Only those with this label (set through runtime/pprof)",
        .take =
            [&options](const std::string& text) { return take_label(text, options.filter); }},
       {.names = "--older",
        .value = "TIME",
        .help = "Only those that have waited at least this long, in whole minutes, such as 5m",
        .take = into(options.filter.least_minutes, parse_waited_minutes),
        .likely = {"1m", "5m", "1h"}}}};
}

// Each form excludes those above it: find_conflict() needs to be told of a pair once. A number
// of looks needs one of two options, which run_goroutines() checks.
std::vector<OptionGroup> goroutines_options(GoroutinesOptions& options) {
  return {
      source_words(options.process, options.program),
      {"What to show",
       {process_option(options.process),
        {.names = "--all",
         .help = "Show each goroutine by itself, in the form of Go's tracebacks",
         .take = into(options.is_all)},
        {.names = "--by",
         .value = "KEY",
         .help = "Count by state, function (the innermost), creator, or label:KEY",
         .take = into(options.by, parse_goroutine_key),
         .excludes = {"--all"},
         .likely = {"state", "function", "creator", "label:"}},
        {.names = "--folded",
         .help = "Write stacks for flamegraph.pl, below what they wait for",
         .take = into(options.is_folded),
         .excludes = {"--all", "--by"}},
        {.names = "--json",
         .help = "Write one JSON document",
         .take = into(options.is_json),
         .excludes = {"--all", "--by", "--folded"}},
        {.names = "--pprof",
         .value = "FILE",
         .help =
             "Write a profile for go tool pprof; with several Go runtimes in the process, of "
             "the first",
         .take = into(options.pprof, parse_given),
         .excludes = {"--all", "--by", "--folded", "--json"}},
        {.names = "--html",
         .value = "FILE",
         .help = "Write a page for a browser, of the same",
         .take = into(options.html, parse_given),
         .excludes = {"--all", "--by", "--folded", "--json", "--pprof"}},
        {.names = "--watch",
         .value = "TIME",
         .help = "Look again after this time, and show what changed",
         .take = into(options.watch_ns, parse_interval),
         .excludes = {"--all", "--by", "--folded", "--json", "--pprof", "--html"},
         .likely = {"1s", "10s", "1m"}},
        {.names = "--leaks",
         .help = "Look several times, and show where goroutines come and never leave: status 1",
         .take = into(options.is_for_leaks),
         .excludes = {"--all", "--by", "--folded", "--pprof", "--html", "--watch"}},
        {.names = "--interval",
         .value = "TIME",
         .help = "With --leaks, the time from one look to the next (default: 30s)",
         .take = into(options.interval_ns, parse_interval),
         .needs = "--leaks",
         .likely = {"1s", "10s", "1m"}},
        {.names = "-n,--iterations",
         .value = "COUNT",
         .help = "With --watch stop after N looks, with --leaks take N (default: 5)",
         .take = into(options.count, parse_count)},
        {.names = "--system",
         .help = "Show the runtime's own goroutines and functions as well",
         .take = into(options.has_system)}}},
      selection_of_goroutines(options),
  };
}

}  // namespace

Command make_goroutines() {
  auto options = std::make_shared<GoroutinesOptions>();
  return {.name = "goroutines",
          .summary = "Show where the goroutines of a program wait",
          .groups = goroutines_options(*options),
          .examples =
              "  gosym goroutines 4242                    all, grouped by stack\n"
              "  gosym goroutines --by state prometheus   how many wait for what\n"
              "  gosym goroutines --older 5m 4242         what may be stuck\n"
              "  gosym goroutines --watch 10s 4242        what grows: a leak\n"
              "  gosym goroutines --leaks prometheus      what leaks, after two minutes\n"
              "  gosym goroutines --all 4242              in the form of Go's tracebacks\n"
              "  gosym goroutines --folded 4242 | flamegraph.pl > goroutines.svg\n"
              "  gosym goroutines --pprof now.pb.gz 4242  for go tool pprof\n"
              "  gosym goroutines core ./server           where they were when it crashed\n",
          .run = [options] { return run_goroutines(*options); }};
}

namespace {

// Makes a profile out of goroutines: each is a sample of count 1 with no weight of time. Its
// frames have names already, so that the locations have no addresses and no mapping of a file.
class GoroutineProfileBuilder {
public:
  GoroutineProfileBuilder(const NamedGoroutines& named, const GoroutineSource& source)
      : named_(named), pid_(source.pid) {
    profile_.start_realtime_ns = source.realtime_ns;
    utsname system{};
    // This machine is the program's own, except of a core file, which may be of any.
    if (!source.is_core && uname(&system) == 0) {
      profile_.info.host = system.nodename;
      profile_.info.kernel_release = system.release;
      profile_.info.machine = system.machine;
    }
    // No frequency, and a period of 1: a sample is one goroutine.
    profile_.info.events = {{std::string(kGoroutineEvent), 0, 1}};
    profile_.info.command_line = fmt::format("gosym goroutines {}", pid_);
    // The mappings that every profile begins with: nobody's code, and the kernel's.
    profile_.images.resize(2);
    profile_.images[0].kind = ProfileImage::Kind::kAnonymous;
    profile_.images[1].kind = ProfileImage::Kind::kKernel;
    profile_.mappings.resize(2);
    comm_ = profile_.strings.intern(base_name(named.program));
  }

  void add(const Goroutine& goroutine, bool has_system) {
    std::vector<LocationId> stack;
    for (const Call& call : named_.stack(goroutine, has_system))
      stack.push_back(location(call));
    SampleCount sample;
    // Equal stacks are not made one: views join paths themselves.
    sample.stack = StackId{static_cast<uint32_t>(profile_.stack_count())};
    profile_.add_stack(stack);
    sample.owner =
        profile_.owners.intern({.goid = goroutine.number,
                                .pid = pid_,
                                .tid = goroutine.thread,
                                .comm = comm_,
                                .label_set = label_set(goroutine),
                                .state = profile_.strings.intern(named_.state(goroutine))});
    sample.count = 1;
    profile_.samples.push_back(sample);
  }

  Profile finish() && { return std::move(profile_); }

private:
  // A call that is shown has a location of its own: those that were inlined into one that is
  // not shown are so kept.
  LocationId location(const Call& call) {
    FunctionId id = functions_.add(call);
    auto next = LocationId{static_cast<uint32_t>(profile_.locations.size())};
    auto [known, is_new] = locations_.try_emplace({to_index(id), call.line}, next);
    if (is_new) {
      Location location;
      location.first_frame = static_cast<uint32_t>(profile_.frames.size());
      location.frame_count = 1;
      profile_.frames.push_back({id, call.line, FrameSource::kPclntab, call.kind});
      profile_.locations.push_back(location);
    }
    return known->second;
  }

  uint32_t label_set(const Goroutine& goroutine) {
    const std::vector<GoroutineLabel>& labels = named_.labels_of(goroutine);
    auto next = static_cast<uint32_t>(profile_.label_sets.size());
    // Set 0, the empty one, is there from the beginning (label_sets_), as in any profile.
    auto [known, is_new] = label_sets_.try_emplace(labels, next);
    if (is_new) {
      profile_.label_sets.emplace_back();
      for (const GoroutineLabel& label : labels)
        profile_.label_sets.back().push_back(
            {profile_.strings.intern(label.key), profile_.strings.intern(label.value)});
    }
    return known->second;
  }

  const NamedGoroutines& named_;
  uint32_t pid_;
  Profile profile_;
  StringId comm_{};
  CalledFunctions functions_{profile_};
  std::map<std::pair<size_t, uint32_t>, LocationId> locations_;  // by function and line
  std::map<std::vector<GoroutineLabel>, uint32_t> label_sets_ = {{{}, 0}};
};

}  // namespace

Profile profile_of(const NamedGoroutines& named, const GoroutineView& view,
                   const GoroutineSource& source) {
  GoroutineProfileBuilder builder(named, source);
  for (const Goroutine* goroutine : view.shown)
    builder.add(*goroutine, view.has_system);
  return std::move(builder).finish();
}

}  // namespace gosym
