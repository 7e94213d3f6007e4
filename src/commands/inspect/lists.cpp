#include <algorithm>
#include <array>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/summary.h"
#include "commands/inspect/views.h"
#include "output/json.h"
#include "symbolize/find_functions.h"

namespace gosym {

namespace {

void sort_functions(std::vector<FunctionRange>& functions, const std::string& order) {
  if (order == "size")
    std::ranges::stable_sort(functions, std::ranges::greater{}, &FunctionRange::size);
  else if (order == "name")
    std::ranges::stable_sort(functions, {}, &FunctionRange::name);
}

void append_hex(uint64_t number, size_t width, char filling, std::string& text) {
  std::array<char, 16> digits;
  size_t first = digits.size();
  do
    digits[--first] = "0123456789abcdef"[number % 16];
  while ((number /= 16) != 0);
  while (first > digits.size() - width)
    digits[--first] = filling;
  text.append(digits.data() + first, digits.size() - first);
}

// By hand and without copies of names: formats and copies took a sixth of
// the time.
void append_text(const FunctionRange& function, std::string& text) {
  std::string room;
  append_hex(to_integer(function.address), 16, '0', text);
  text.push_back(' ');
  append_hex(function.size, 8, ' ', text);
  text.push_back(' ');
  text.append(printable(function.name, room));
  if (!function.file.empty()) {
    text.push_back(' ');
    text.append(printable(function.file, room));
    text.push_back(':');
    append_number(function.line, 10, text);
  }
  text.push_back('\n');
}

void print_text(const std::vector<FunctionRange>& functions) {
  constexpr size_t kPrintedAtOnce = 65536;
  std::string text;
  for (const FunctionRange& function : functions) {
    append_text(function, text);
    if (text.size() < kPrintedAtOnce && &function != &functions.back())
      continue;
    (void)std::fwrite(text.data(), 1, text.size(), stdout);
    text.clear();
  }
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

void print_functions(const std::vector<FunctionRange>& functions, bool is_json) {
  if (is_json)
    std::ranges::for_each(functions, [](const auto& function) { print_json(function); });
  else
    print_text(functions);
}

Result<int> show_functions(const ImageSymbols& symbols, const InspectOptions& options) {
  auto functions = all_functions(symbols);
  sort_functions(functions, options.sort);
  print_functions(functions, options.is_json);
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
