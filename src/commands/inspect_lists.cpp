#include <fmt/compile.h>

#include <algorithm>
#include <iterator>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect_summary.h"
#include "commands/inspect_views.h"
#include "output/json.h"

namespace gosym {

namespace {

void sort_functions(std::vector<FunctionRange>& functions, const std::string& order) {
  if (order == "size")
    std::ranges::stable_sort(functions, std::ranges::greater{}, &FunctionRange::size);
  else if (order == "name")
    std::ranges::stable_sort(functions, {}, &FunctionRange::name);
}

// Compiled formats: to interpret them would be a third of the time.
void print_text(const FunctionRange& function) {
  fmt::memory_buffer line;
  auto out = std::back_inserter(line);
  fmt::format_to(out, FMT_COMPILE("{:016x} {:8x} {}"), to_integer(function.address),
                 function.size, printable(function.name));
  if (!function.file.empty())
    fmt::format_to(out, FMT_COMPILE(" {}:{}"), printable(function.file), function.line);
  line.push_back('\n');
  (void)std::fwrite(line.data(), 1, line.size(), stdout);
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

}  // namespace

Result<int> show_functions(const ImageSymbols& symbols, const InspectOptions& options) {
  auto functions = symbols.functions();
  sort_functions(functions, options.sort);
  for (const FunctionRange& function : functions)
    options.is_json ? print_json(function) : print_text(function);
  if (functions.empty())
    print(stderr, "gosym: warning: '{}': no functions: no Go function table and no symbols\n",
          printable(options.binary));
  return kSuccess;
}

Result<int> show_sections(const ImageSymbols& symbols, const InspectOptions& options) {
  const elf::Image& image = symbols.image();
  if (!image.section_problem.empty())
    return Error(image.section_problem);
  if (!options.is_json)
    print(stdout, "{:<26} {:>12} {:>10} {:>10} {:>7}\n", "SECTION", "ADDRESS", "SIZE", "",
          "FILE");
  for (const elf::Section& section : image.sections)
    options.is_json ? print_json(section, image.file.size())
                    : print_text(section, image.file.size());
  return kSuccess;
}

}  // namespace gosym
