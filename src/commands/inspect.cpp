#include <memory>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/inspect_summary.h"
#include "commands/inspect_views.h"

namespace gosym {

namespace {

using Show = Result<int> (*)(const ImageSymbols&, const InspectOptions&);

struct Options : InspectOptions {
  Show show = show_summary;
};

struct View {
  const char* option;
  const char* help;
  Show show;
};

constexpr View kViews[] = {
    {"--build-info", "Show Go version, modules and build settings", show_build_info},
    {"--check", "Check all of the Go function table; status 1 if something is broken",
     show_check},
    {"--files", "List the source files that the Go function table names", show_files},
    {"--functions", "List the functions: address, size, name, of Go also file:line",
     show_functions},
    {"--header", "Show the header of the Go function table, and where its parts lie",
     show_header},
    {"--module-data", "Show the addresses that Go's runtime has of its tables",
     show_module_data},
    {"--sections", "List the sections with their sizes", show_sections},
};

Result<int> run(const Options& options) {
  auto symbols = ImageSymbols::open(options.binary);
  auto status =
      symbols ? options.show(**symbols, options) : Result<int>(std::move(symbols).error());
  if (!status)
    return std::move(status).error().context(fmt::format("'{}'", printable(options.binary)));
  return status;
}

// Each view is the answer to a question of its own.
void exclude_each_other(const std::vector<CLI::Option*>& options) {
  for (CLI::Option* one : options)
    for (CLI::Option* other : options)
      if (one != other)
        one->excludes(other);
}

}  // namespace

Result<const go::Module*> require_module(const ImageSymbols& symbols) {
  if (symbols.go_module())
    return &*symbols.go_module();
  return Error(symbols.problem().empty() ? "no Go function table" : symbols.problem());
}

Command make_inspect(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("inspect", "Show what symbol information is in a binary");
  app->add_option("BINARY", options->binary, "ELF file to look into")
      ->required()
      ->type_name("");
  std::vector<CLI::Option*> views;
  for (const View& view : kViews)
    views.push_back(app->add_flag_callback(
        view.option, [options, show = view.show] { options->show = show; }, view.help));
  auto set_function = [options](const std::string& wanted) {
    options->function = wanted;
    options->show = show_function;
  };
  views.push_back(app->add_option_function<std::string>(
                         "--function", set_function,
                         "Show all that the Go function table has about a function")
                      ->type_name("NAME|ADDR"));
  exclude_each_other(views);
  app->add_option("--sort", options->sort, "Order of --functions: address, size or name")
      ->check(CLI::IsMember({"address", "size", "name"}))
      ->needs(app->get_option("--functions"))
      ->type_name("KEY");
  app->add_flag("--json", options->is_json, "Print JSON; lists have one object a line");
  app->footer(
      "Examples:\n"
      "  gosym inspect ./server\n"
      "  gosym inspect --functions --sort size ./server | head\n"
      "  gosym inspect --function main.main ./server\n"
      "  gosym inspect --check ./server\n"
      "  gosym inspect --json --build-info ./server | jq .settings\n");
  return {app, [options] { return run(*options); }};
}

}  // namespace gosym
