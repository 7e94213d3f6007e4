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

std::string check_count(const std::string& text) {
  return parse_decimal(text) ? std::string()
                             : fmt::format("'{}' is not a count", printable(text));
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

OptionGroup output_options(ReportOptions& options) {
  auto write_pprof = [&options](const std::string& file) {
    options.format = "pprof";
    options.output = file;
  };
  return {"What is written",
          {{.names = "--top",
            .value = "N",
            .help = "Show this many functions; 0 for all (default: 20)",
            .set = into(options.page.top),
            .check = check_count},
           {.names = "-f,--format",
            .value = "FORMAT",
            .help = fmt::format("Form of the output: {} (default: text)",
                                joined(format_names(), ", ")),
            .set = into(options.format),
            .choices = format_names()},
           {.names = "-o,--output",
            .value = "FILE",
            .help = "Write to FILE instead of standard output",
            .set = into(options.output)},
           {.names = "--folded",
            .help = "Write folded stacks, for flame graphs",
            .set = [&options](const std::string& /*none*/) { options.format = "folded"; },
            .excludes = {"--format", "--pprof"}},
           {.names = "--pprof",
            .value = "FILE",
            .help = "Write a profile for go tool pprof and go build -pgo",
            .set = write_pprof,
            .excludes = {"--format", "--output"}}}};
}

OptionGroup filter_options(ReportOptions& options) {
  Filter& filter = options.filter;
  return {"Which samples",
          {{.names = "--event",
            .value = "NAME",
            .help = "Only samples of this event, of a recording that has several",
            .set = into(options.event),
            .check = check_given},
           {.names = "--pid",
            .value = "PID",
            .help = "Only these processes: 1,2 or repeated",
            .set = into(filter.pids),
            .check = check_id("process"),
            .values = Values::kCommaList},
           {.names = "--tid",
            .value = "TID",
            .help = "Only these threads",
            .set = into(filter.tids),
            .check = check_id("thread"),
            .values = Values::kCommaList},
           {.names = "--comm",
            .value = "NAME",
            .help = "Only threads of these names",
            .set = into(filter.comms),
            .values = Values::kCommaList},
           {.names = "--cgroup",
            .value = "PATH|ID",
            .help = "Only what ran in this cgroup or below it, or container of this id",
            .set = into(filter.cgroups),
            .check = check_given,
            .values = Values::kCommaList},
           {.names = "--label",
            .value = "KEY=VALUE",
            .help = "Only goroutines with this label, as runtime/pprof sets it",
            .set = into(filter.labels),
            .check = check_label,
            .values = Values::kEach},
           {.names = "--time",
            .value = "A,B",
            .help = "Only from A to B, in seconds since the start; either may be empty",
            .set = into(options.time),
            .check = check_time}}};
}

OptionGroup naming_options(ReportOptions& options) {
  return {"How it is named",
          {name_option(options.name_form),
           {.names = "--wrappers",
            .help = "Keep wrappers, which Go's runtime leaves out of its stacks",
            .set = into(options.keeps_wrappers)},
           {.names = "--goid",
            .help = "Add the goroutine id to each sample (pprof only)",
            .set = into(options.has_goids)}}};
}

}  // namespace

std::vector<OptionGroup> report_options(ReportOptions& options) {
  OptionGroup rest = {
      "Other options",
      {{.names = "-i,--input,FILE",
        .value = "FILE",
        .help = "Recording to read, - for standard input (default: cpu.raw)",
        .set = into(options.input)},
       {.names = "--strict",
        .help = "Exit with status 3 if the recording is damaged or truncated",
        .set = into(options.is_strict)},
       loss_option(options.max_loss),
       {.names = "-v,--verbose",
        .help = "Print more detail",
        .set = into(options.is_verbose),
        .excludes = {"--quiet"}},
       {.names = "-q,--quiet", .help = "Print errors only", .set = into(options.is_quiet)}}};
  return {output_options(options), filter_options(options), naming_options(options),
          debug_options(options.debug), std::move(rest)};
}

}  // namespace gosym
