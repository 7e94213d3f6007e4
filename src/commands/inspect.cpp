#include <algorithm>
#include <memory>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/inspect_summary.h"
#include "output/json.h"
#include "symbolize/image_symbols.h"

namespace gosym {

namespace {

struct Options {
  std::string binary;
  bool list_functions = false;
  bool list_sections = false;
  bool is_json = false;
  std::string sort = "address";
};

void sort_functions(std::vector<FunctionRange>& functions, const std::string& order) {
  if (order == "size")
    std::ranges::stable_sort(functions, std::ranges::greater{}, &FunctionRange::size);
  else if (order == "name")
    std::ranges::stable_sort(functions, {}, &FunctionRange::name);
}

void print_text(const FunctionRange& function) {
  print(stdout, "{:016x} {:8x} {}", to_integer(function.address), function.size,
        printable(function.name));
  if (!function.file.empty())
    print(stdout, " {}:{}", printable(function.file), function.line);
  print(stdout, "\n");
}

void print_json(const FunctionRange& function) {
  JsonWriter json;
  json.begin_object();
  json.field("address", fmt::format("{:#x}", to_integer(function.address)));
  json.field("size", function.size);
  json.field("name", function.name);
  if (!function.file.empty()) {
    json.field("file", function.file);
    json.field("line", function.line);
  }
  json.end_object();
  print(stdout, "{}\n", json.text());
}

Result<int> list_functions(const ImageSymbols& symbols, const Options& options) {
  auto functions = symbols.functions();
  sort_functions(functions, options.sort);
  for (const FunctionRange& function : functions)
    options.is_json ? print_json(function) : print_text(function);
  if (functions.empty())
    print(stderr, "gosym: warning: '{}': no functions: no Go function table and no symbols\n",
          printable(options.binary));
  return kSuccess;
}

void print_text(const elf::Section& section, uint64_t file_size) {
  uint64_t stored = section.type == SHT_NOBITS ? 0 : section.size;
  print(stdout, "{:<26} {:#12x} {:#10x} {:>10} {:5.1f} %\n", printable(section.name),
        to_integer(section.address), section.size, human_size(section.size),
        share_of_file(stored, file_size));
}

void print_json(const elf::Section& section, uint64_t file_size) {
  JsonWriter json;
  json.begin_object();
  write_section(json, section, file_size);
  json.end_object();
  print(stdout, "{}\n", json.text());
}

Result<int> list_sections(const elf::Image& image, const Options& options) {
  if (!image.section_problem.empty())
    return errorf("'{}': {}", printable(options.binary), image.section_problem);
  if (!options.is_json)
    print(stdout, "{:<26} {:>12} {:>10} {:>10} {:>7}\n", "SECTION", "ADDRESS", "SIZE", "",
          "FILE");
  for (const elf::Section& section : image.sections)
    options.is_json ? print_json(section, image.file.size())
                    : print_text(section, image.file.size());
  return kSuccess;
}

Result<int> run(const Options& options) {
  auto symbols = ImageSymbols::open(options.binary);
  if (!symbols)
    return std::move(symbols).error().context(fmt::format("'{}'", printable(options.binary)));
  if (options.list_functions)
    return list_functions(**symbols, options);
  if (options.list_sections)
    return list_sections((*symbols)->image(), options);

  Summary summary = summarize(**symbols);
  print(stdout, "{}",
        options.is_json ? summary_json(options.binary, summary)
                        : summary_text(options.binary, summary));
  return kSuccess;
}

}  // namespace

Command make_inspect(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("inspect", "Show what symbol information is in a binary");
  app->add_option("BINARY", options->binary, "ELF file to look into")
      ->required()
      ->type_name("");
  CLI::Option* functions = app->add_flag("--functions", options->list_functions,
                                         "List the functions: address, size, name, file:line");
  app->add_option("--sort", options->sort, "Order of --functions: address, size or name")
      ->check(CLI::IsMember({"address", "size", "name"}))
      ->needs(functions)
      ->type_name("KEY");
  app->add_flag("--sections", options->list_sections, "List the sections with their sizes")
      ->excludes(functions);
  app->add_flag("--json", options->is_json, "Print JSON; lists have one object a line");
  app->footer(
      "Examples:\n"
      "  gosym inspect ./server\n"
      "  gosym inspect --functions --sort size ./server | head\n"
      "  gosym inspect --json ./server | python3 -m json.tool\n");
  return {app, [options] { return run(*options); }};
}

}  // namespace gosym
