#include <memory>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/inspect/summary.h"
#include "commands/inspect/views.h"
#include "confine/parser.h"

namespace gosym {

namespace {

using Show = Result<int> (*)(const ImageSymbols&, const InspectOptions&);

struct AskedInspection : InspectOptions {
  DebugOptions debug;
  Show show = show_summary;
};

struct InspectView {
  const char* option;
  const char* help;
  Show show;
};

constexpr InspectView kViews[] = {
    {"--build-info", "Show Go version, modules and build settings", show_build_info},
    {"--check", "Check the whole Go function table; exit with status 1 if it is broken",
     show_check},
    {"--files", "List the source files that the Go function table names", show_files},
    {"--functions", "List functions: address, size, name, and file:line of Go functions",
     show_functions},
    {"--header", "Show the header of the Go function table and the layout of its parts",
     show_header},
    {"--module-data", "Show moduledata: where Go's runtime finds its tables", show_module_data},
    {"--sections", "List the sections with their sizes", show_sections},
};

Result<int> run_inspect(AskedInspection& options) {
  auto files = find_debug_files(options.debug, stderr);
  if (!files)
    return std::move(files).error();
  options.files = *std::move(files);
  auto confined = become_parser({.inputs = {options.binary}, .roots = roots_of(options.files)});
  if (!confined)
    return std::move(confined).error();
  auto symbols = ImageSymbols::open(options.binary, options.files);
  auto status =
      symbols ? options.show(**symbols, options) : Result<int>(std::move(symbols).error());
  if (!status)
    return std::move(status).error().context(fmt::format("'{}'", printable(options.binary)));
  return status;
}

// Each view is the answer to a question of its own.
std::vector<Option> view_options(AskedInspection& options) {
  std::vector<Option> views;
  std::vector<std::string> names;
  for (const InspectView& view : kViews) {
    views.push_back({.names = view.option, .help = view.help, .set = [&options, &view](auto&) {
                       options.show = view.show;
                     }});
    names.push_back(view.option);
  }
  auto set_function = [&options](const std::string& wanted) {
    options.function = wanted;
    options.show = show_function;
  };
  views.push_back({.names = "--function",
                   .value = "NAME|ADDR",
                   .help =
                       "Show a function in full: its Go function table entry, or its lines and "
                       "call frames; a part of a name or a regular expression lists the "
                       "functions that match",
                   .set = set_function});
  for (Option& view : views)
    view.excludes = names;
  return views;
}

}  // namespace

Result<const go::Module*> require_module(const ImageSymbols& symbols) {
  if (symbols.go_module())
    return &*symbols.go_module();
  return Error(symbols.problem().empty() ? "no Go function table" : symbols.problem());
}

Command make_inspect() {
  auto options = std::make_shared<AskedInspection>();
  std::vector<Option> rest = {{.names = "BINARY",
                               .help = "ELF file to inspect",
                               .set = into(options->binary),
                               .is_required = true},
                              {.names = "--sort",
                               .value = "KEY",
                               .help = "Order of --functions: address, size or name",
                               .set = into(options->sort),
                               .choices = {"address", "size", "name"},
                               .needs = "--functions"},
                              {.names = "--json",
                               .help = "Print JSON, lists as one object per line",
                               .set = into(options->is_json)}};
  return {.name = "inspect",
          .summary = "Show what symbol information is in a binary",
          .groups = {{"What to show (default: a summary)", view_options(*options)},
                     {"Other options", std::move(rest)},
                     debug_options(options->debug)},
          .examples =
              "  gosym inspect ./server\n"
              "  gosym inspect --functions --sort size ./server | head\n"
              "  gosym inspect --function main.main ./server\n"
              "  gosym inspect --check ./server\n"
              "  gosym inspect --json --build-info ./server | jq .settings\n",
          .run = [options] { return run_inspect(*options); }};
}

}  // namespace gosym
