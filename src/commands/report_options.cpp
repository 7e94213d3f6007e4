#include "commands/report_options.h"

#include "base/text.h"
#include "commands/loss_option.h"
#include "commands/option_checks.h"

namespace gosym {

namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats())
    names.emplace_back(format.name);
  return names;
}

// Checks for CLI11: what is wrong with the text, or nothing.
std::string check_count(const std::string& text) {
  return parse_decimal(text) ? std::string() : fmt::format("'{}' is not a count", text);
}

std::string check_label(const std::string& text) {
  size_t equals = text.find('=');
  return equals != text.npos && equals > 0
             ? std::string()
             : fmt::format("'{}' is not KEY=VALUE", printable(text));
}

std::string check_time(const std::string& text) {
  auto range = parse_time_range(text);
  return range ? std::string() : range.error().message();
}

void add_output_options(CLI::App& app, ReportOptions& options) {
  app.add_option("--top", options.page.top, "Show this many functions; 0 for all (default 20)")
      ->check(check_count, "")
      ->type_name("N");
  CLI::Option* format =
      app.add_option("-f,--format", options.format, "Form of the output (default text)")
          ->check(CLI::IsMember(format_names()))
          ->type_name("FORMAT");
  CLI::Option* output =
      app.add_option("-o,--output", options.output, "Write to FILE, not to standard output")
          ->type_name("FILE");
  CLI::Option* folded = app.add_flag_callback(
      "--folded", [&options] { options.format = "folded"; },
      "Write folded stacks, for flame graphs");
  app.add_option_function<std::string>(
         "--pprof",
         [&options](const std::string& file) {
           options.format = "pprof";
           options.output = file;
         },
         "Write a profile for go tool pprof and go build -pgo")
      ->excludes(format)
      ->excludes(output)
      ->excludes(folded)
      ->type_name("FILE");
  folded->excludes(format);
}

void add_filter_options(CLI::App& app, ReportOptions& options) {
  auto as_list = [](CLI::Option* option, const char* type) {
    option->delimiter(',')->allow_extra_args(false)->type_name(type);
  };
  Filter& filter = options.filter;
  as_list(app.add_option("--pid", filter.pids, "Only these processes: 1,2 or repeated")
              ->check(check_id("process"), ""),
          "PID");
  as_list(
      app.add_option("--tid", filter.tids, "Only these threads")->check(check_id("thread"), ""),
      "TID");
  as_list(app.add_option("--comm", filter.comms, "Only threads of these names"), "NAME");
  as_list(app.add_option("--cgroup", filter.cgroups,
                         "Only what ran in this cgroup or below it, or container of this id")
              ->check(check_given, ""),
          "PATH|ID");
  app.add_option("--label", filter.labels,
                 "Only goroutines with this label, as runtime/pprof sets it")
      ->check(check_label, "")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.add_option("--time", options.time,
                 "Only from A to B, in seconds since the start; either may be empty")
      ->check(check_time, "")
      ->type_name("A,B");
}

}  // namespace

void add_report_options(CLI::App& app, ReportOptions& options) {
  app.add_option("-i,--input,FILE", options.input,
                 "Recording to read (default cpu.raw; - for standard input)")
      ->type_name("");
  add_output_options(app, options);
  add_filter_options(app, options);
  add_name_option(app, options.name_form);
  add_debug_options(app, options.debug);
  app.add_flag("--wrappers", options.keeps_wrappers,
               "Keep wrappers, which Go's runtime leaves out of its stacks");
  app.add_flag("--goid", options.has_goids,
               "Tell goroutines apart: their numbers are labels of the pprof output");
  app.add_flag("--strict", options.is_strict,
               "Exit with status 3 if the recording is damaged or cut short");
  add_loss_option(app, options.max_loss);
  CLI::Option* verbose = app.add_flag("-v,--verbose", options.is_verbose, "Tell more");
  app.add_flag("-q,--quiet", options.is_quiet, "Tell nothing but errors")->excludes(verbose);
}

}  // namespace gosym
