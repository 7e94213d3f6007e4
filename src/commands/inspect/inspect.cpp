#include "commands/inspect/inspect.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/debug_options.h"
#include "commands/inspect/views.h"
#include "confine/parser.h"
#include "elf/minidebuginfo.h"
#include "elf/symbol_table.h"
#include "go/build_info.h"
#include "go/check.h"
#include "go/inline_tree.h"
#include "go/module.h"
#include "go/pclntab.h"
#include "output/json.h"
#include "symbolize/find_functions.h"

namespace gosym {

// The views of `gosym inspect` but for --function (function.cpp). run_inspect() opens the
// names of the binary once and hands them to one view. A view collects facts into a value
// (Header, Summary, CheckReport), from which a print_text() and a print_json() write; where
// both show mostly the same facts these go through a Record, which has the lines for people
// and the members for programs side by side.

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
  // The binary may be anybody's: from here on it is read by a process without rights. The
  // places of debug files have to be known before, because that process may open files below
  // these alone.
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
    views.push_back(
        {.names = view.option, .help = view.help, .take = sets(options.show, view.show)});
    names.push_back(view.option);
  }
  auto set_function = [&options](const std::string& wanted) {
    options.function = wanted;
    options.show = show_function;
    return std::string();
  };
  views.push_back({.names = "--function",
                   .value = "NAME|ADDR",
                   .help =
                       "Show a function in full: its Go function table entry, or its lines and "
                       "call frames; a part of a name or a regular expression lists the "
                       "functions that match",
                   .take = set_function});
  // Each option excludes all the names (its own does not count), so that two views are
  // refused. --function is not among the names: it is enough that it excludes them.
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

// The lines are printable already, which print() would make of them as one text.
void print_lines(const Record& record, size_t indent) {
  std::string text = record.lines(indent);
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
}

Command make_inspect() {
  auto options = std::make_shared<AskedInspection>();
  std::vector<Option> rest = {{.names = "BINARY",
                               .help = "ELF file to inspect",
                               .take = into(options->binary),
                               .is_required = true},
                              {.names = "--sort",
                               .value = "KEY",
                               .help = "Order of --functions: address, size or name",
                               .take = one_of(options->sort, {"address", "size", "name"}),
                               .needs = "--functions"},
                              {.names = "--json",
                               .help = "Print JSON, lists as one object per line",
                               .take = into(options->is_json)}};
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

namespace {

// The keys of `go version -m`: "mod" for the main module, "dep" for the others, "=>" for the
// code that stands in for the module of the line before.
void print_text(std::string_view key, const go::ModuleVersion& module) {
  print(stdout, "{}", key);
  for (std::string_view field : {module.path, module.version, module.sum})
    if (!field.empty())
      print(stdout, "\t{}", printable(field));
  print(stdout, "\n");
}

void print_text(std::string_view key, const go::BuildModule& module) {
  print_text(key, module.required);
  if (module.replacement)
    print_text("=>", *module.replacement);
}

// The lines of `go version -m`, without its indentation.
void print_text(const go::BuildInfo& info) {
  print(stdout, "go\t{}\n", printable(info.go_version));
  if (!info.path.empty())
    print(stdout, "path\t{}\n", printable(info.path));
  if (!info.main.required.path.empty())
    print_text("mod", info.main);
  for (const go::BuildModule& module : info.dependencies)
    print_text("dep", module);
  for (const auto& [key, value] : info.settings)
    print(stdout, "build\t{}={}\n", printable(key), printable(value));
}

void write_json(JsonWriter& json, const go::ModuleVersion& module) {
  json.field("path", module.path);
  json.field("version", module.version);
  json.field("sum", module.sum);
}

void write_json(JsonWriter& json, const go::BuildModule& module) {
  json.object([&] {
    write_json(json, module.required);
    if (module.replacement)
      json.object("replacement", [&] { write_json(json, *module.replacement); });
  });
}

void print_json(const go::BuildInfo& info) {
  JsonWriter json;
  json.object([&] {
    json.field("version", info.go_version);
    json.field("path", info.path);
    json.key("module");
    write_json(json, info.main);
    json.array("dependencies", info.dependencies,
               [&](const go::BuildModule& module) { write_json(json, module); });
    json.object("settings", [&] {
      for (const auto& [key, value] : info.settings)
        json.field(key, value);
    });
  });
  print(stdout, "{}\n", json.text());
}

}  // namespace

Result<int> show_build_info(const ImageSymbols& symbols, const InspectOptions& options) {
  auto info = go::read_build_info(symbols.image());
  if (!info)
    return Error("no Go build information that can be read");
  options.is_json ? print_json(*info) : print_text(*info);
  return kSuccess;
}

Result<int> show_files(const ImageSymbols& symbols, const InspectOptions& options) {
  auto module = require_module(symbols);
  if (!module)
    return std::move(module).error();
  for (std::string_view file : (*module)->table.files()) {
    if (!options.is_json) {
      print(stdout, "{}\n", printable(file));
      continue;
    }
    JsonWriter json;
    json.object([&] { json.field("file", file); });
    print(stdout, "{}\n", json.text());
  }
  return kSuccess;
}

namespace {

struct HeaderPart {
  std::string_view name;
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct Header {
  go::TablePlace place;
  std::vector<go::HeaderField> fields;
  std::vector<HeaderPart> parts;
  const go::Module* module = nullptr;  // none if the table cannot be used
};

// Pairs of entry and record offset, and behind the last pair the end of the last function. All
// three are of one width: u32 where entries are offsets, words before Go 1.18.
uint64_t functab_size(const go::Pclntab& table) {
  uint64_t entry_size = table.has_offsets() ? 4 : table.header().pointer_size;
  return (2 * table.header().function_count + 1) * entry_size;
}

// From Go 1.16 on the tables lie one after the other; before, those of names, pc-values and
// records are mixed.
std::vector<HeaderPart> parts_of(const go::Module& module) {
  const go::Pclntab& table = module.table;
  const go::PclntabHeader& header = table.header();
  if (table.format() < go::Format::kGo1_16)
    return {{"functab", header.functions, functab_size(table)},
            {"files", header.files, header.file_count * 4}};
  std::vector<HeaderPart> parts = {
      {"names", header.names, header.units - header.names},
      {"units", header.units, header.files - header.units},
      {"files", header.files, header.pc_values - header.files},
      {"pc_values", header.pc_values, header.functions - header.pc_values},
      {"functab", header.functions, functab_size(table)}};
  // Nothing in the header says where the records end. Their offsets count from the start of
  // functab, so the last record's end less functab itself is their size. Without that record,
  // in a damaged table, the part is left out.
  if (auto last = table.function(table.function_count() - 1))
    parts.push_back({"records", header.functions + functab_size(table),
                     last->offset + last->size - functab_size(table)});
  // From Go 1.26 on funcdata lies behind the records, and moduledata has the end of the whole.
  // Before, it has no field epclntab, for which value() gives 0.
  if (module.data && module.data->value("epclntab") != 0) {
    uint64_t gofunc = module.data->value("gofunc");
    parts.push_back({"gofunc", gofunc - to_integer(module.table_address),
                     module.data->value("epclntab") - gofunc});
  }
  return parts;
}

// The magic that the table has been read as: the file's may be none of Go's. One magic stands
// for each order of header words, which Go 1.18 and 1.20 have in common, as do the releases
// before 1.16.
uint32_t magic_of(const go::Pclntab& table) {
  if (table.has_offsets())
    return go::kMagic120;
  return table.format() >= go::Format::kGo1_16 ? go::kMagic116 : go::kMagic12;
}

Header whole_header(const elf::Image& image, const go::Module& module) {
  Header header;
  header.module = &module;
  header.place = {module.table_address,
                  image.loaded_from(module.table_address).value_or(Bytes{}), module.found_by};
  header.fields = go::header_fields(header.place.bytes, image.order, image.pointer_size,
                                    magic_of(module.table));
  header.parts = parts_of(module);
  return header;
}

// Header of a table that cannot be used; none if there is nothing to read.
std::optional<Header> damaged_header(const elf::Image& image) {
  // The first place is the table's section if there is one. The module could not be read, so
  // the fields go by the magic that is in the file; an unknown one yields the start of the
  // header only.
  auto places = go::find_table_places(image);
  if (places.empty())
    return std::nullopt;
  Header header;
  header.place = places[0];
  uint32_t magic = load<uint32_t>(header.place.bytes, 0, image.order).value_or(0);
  header.fields = go::header_fields(header.place.bytes, image.order, image.pointer_size, magic);
  return header;
}

std::string_view order_name(ByteOrder order) {
  return order == ByteOrder::kBig ? "big-endian" : "little-endian";
}

// The bytes of a table are a view of the file's: their distance is the offset.
uint64_t file_offset(const elf::Image& image, const Header& header) {
  return static_cast<uint64_t>(header.place.bytes.data() - image.file.data());
}

std::string value_text(const go::HeaderField& field) {
  return field.is_count ? fmt::format("{}", field.value) : as_hex(field.value);
}

Record header_record(const elf::Image& image, const Header& header,
                     const std::string& problem) {
  Record record;
  record.add("found by", "found_by", header.place.found_by);
  record.add("address", "address", as_hex(header.place.address));
  uint64_t start = file_offset(image, header);
  record.add("file offset", as_hex(start), "file_offset", start);
  record.add("byte order", "byte_order", order_name(image.order));
  if (const go::Module* module = header.module) {
    record.add("layout", "layout", releases_of(*module));
    // Without offsets the entries are addresses. People are told "none", programs have no
    // member.
    if (module->table.has_offsets())
      record.add("text base", "text", as_hex(module->text));
    else
      record.add_line("text base", "none");
    record.add("known by", "text_base", to_string(module->text_base));
    if (!module->assumption.empty())
      record.add("assumed", "assumption", module->assumption);
  }
  // People read it behind the header, as an error.
  if (!problem.empty())
    record.add_member("problem", problem);
  return record;
}

void print_text(const elf::Image& image, const Header& header) {
  uint64_t start = file_offset(image, header);
  print_lines(header_record(image, header, ""), 14);
  print(stdout, "\n{:>8} {:>10}  {:<14} VALUE\n", "OFFSET", "IN FILE", "FIELD");
  for (const go::HeaderField& field : header.fields)
    print(stdout, "{:#8x} {:#10x}  {:<14} {}\n", field.offset, start + field.offset, field.name,
          value_text(field));
  if (!header.parts.empty())
    print(stdout, "\n{:>8} {:>10} {:>10}  TABLE\n", "OFFSET", "IN FILE", "SIZE");
  for (const HeaderPart& part : header.parts)
    print(stdout, "{:#8x} {:#10x} {:#10x}  {}\n", part.offset, start + part.offset, part.size,
          part.name);
}

void print_json(const elf::Image& image, const Header& header, const std::string& problem) {
  JsonWriter json;
  json.object([&] {
    header_record(image, header, problem).write_members(json);
    json.array("fields", header.fields, [&](const go::HeaderField& field) {
      json.object([&] {
        json.field("name", field.name);
        json.field("offset", field.offset);
        // Addresses and marks are texts in hex, as everywhere in this JSON; counts and offsets
        // are numbers.
        if (field.name == "magic" || field.name == "text_start")
          json.field("value", as_hex(field.value));
        else
          json.field("value", field.value);
      });
    });
    json.array("tables", header.parts, [&](const HeaderPart& part) {
      json.object([&] {
        json.field("name", part.name);
        json.field("offset", part.offset);
        json.field("size", part.size);
      });
    });
  });
  print(stdout, "{}\n", json.text());
}

}  // namespace

// A damaged table is shown as far as its header goes, and then reported as the error that it
// is: the fields are what somebody needs to see why it is damaged.
Result<int> show_header(const ImageSymbols& symbols, const InspectOptions& options) {
  const elf::Image& image = symbols.image();
  std::optional<Header> header;
  if (symbols.go_module())
    header = whole_header(image, *symbols.go_module());
  else if (!symbols.problem().empty())
    header = damaged_header(image);
  if (header && options.is_json)
    print_json(image, *header, symbols.problem());
  else if (header)
    print_text(image, *header);
  if (auto module = require_module(symbols); !module)
    return std::move(module).error();
  return kSuccess;
}

namespace {

void sort_functions(std::vector<FunctionRange>& functions, const std::string& order) {
  // Functions come by address: equal keys stay in that order.
  if (order == "size")
    std::ranges::stable_sort(functions, std::ranges::greater{}, &FunctionRange::size);
  else if (order == "name")
    std::ranges::stable_sort(functions, {}, &FunctionRange::name);
}

// At least `width` digits or fillings, at most 16.
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
  // One write for some hundred lines. The last function writes the rest.
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
  json.object([&] {
    json.field("address", as_hex(function.address));
    json.field("size", function.size);
    json.field("name", function.name);
    if (!function.file.empty()) {
      json.field("file", function.file);
      json.field("line", function.line);
    }
  });
  print(stdout, "{}\n", json.text());
}

void print_text(const elf::Section& section, uint64_t file_size) {
  // .bss and the like have a size in memory and no bytes in the file.
  uint64_t stored = section.type == SHT_NOBITS ? 0 : section.size;
  print(stdout, "{:<26} {:#12x} {:#10x} {:>10} {:5.1f} %\n", printable(section.name),
        to_integer(section.address), section.size, human_size(section.size),
        share_of_file(stored, file_size));
}

void print_json(const elf::Section& section, uint64_t file_size) {
  JsonWriter json;
  json.object([&] { write_section(json, section, file_size); });
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
    print_warning("'{}': no functions: no Go function table and no symbols",
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

namespace {

// There is a moduledata: show_module_data() has seen to that.
void print_text(const go::Module& module) {
  const go::ModuleData& data = *module.data;
  print(stdout, "moduledata at {}, layout of {}\n", as_hex(data.address),
        to_string(data.layout));
  print(stdout, "{:>4}  {:<11}  VALUE\n", "WORD", "FIELD");
  for (const go::ModuleField& field : data.fields()) {
    print(stdout, "{:>4}  {:<11}  {:#x}", field.word, field.name, data.word(field.word));
    if (field.is_slice)
      // A slice is three words: address, length, capacity.
      print(stdout, ", length {}, capacity {}", data.word(field.word + 1u),
            data.word(field.word + 2u));
    print(stdout, "\n");
  }
  for (const go::TextPart& part : module.text_parts)
    print(stdout, "text part  {:#x}-{:#x} at {}\n", part.begin, part.end, as_hex(part.address));
}

void write_field(JsonWriter& json, const go::ModuleData& data, const go::ModuleField& field) {
  json.field("word", uint32_t{field.word});
  json.field("name", field.name);
  json.field("value", as_hex(data.word(field.word)));
  if (field.is_slice) {
    json.field("length", data.word(field.word + 1u));
    json.field("capacity", data.word(field.word + 2u));
  }
}

// There is a moduledata: show_module_data() has seen to that.
void print_json(const go::Module& module) {
  const go::ModuleData& data = *module.data;
  JsonWriter json;
  json.object([&] {
    json.field("address", as_hex(data.address));
    json.field("layout", to_string(data.layout));
    json.array("fields", data.fields(), [&](const go::ModuleField& field) {
      json.object([&] { write_field(json, data, field); });
    });
    json.array("text_parts", module.text_parts, [&](const go::TextPart& part) {
      json.object([&] {
        json.field("begin", as_hex(part.begin));
        json.field("end", as_hex(part.end));
        json.field("address", as_hex(part.address));
      });
    });
  });
  print(stdout, "{}\n", json.text());
}

}  // namespace

Result<int> show_module_data(const ImageSymbols& symbols, const InspectOptions& options) {
  auto module = require_module(symbols);
  if (!module)
    return std::move(module).error();
  if (!(*module)->data)
    return Error("no moduledata for the Go function table");
  options.is_json ? print_json(**module) : print_text(**module);
  return kSuccess;
}

namespace {

// Sections that the summary lists: the code, and the places that names and lines come from.
bool matters(const elf::Section& section) {
  static constexpr std::string_view kNames[] = {
      ".text",   ".gopclntab", ".data.rel.ro.gopclntab", ".symtab",
      ".dynsym", ".eh_frame",  ".gnu_debugdata"};
  return std::ranges::find(kNames, section.name) != std::end(kNames) ||
         section.name.starts_with(".debug_") || section.name.starts_with(".zdebug_");
}

uint64_t count_symbols(const elf::Image& image, uint32_t section_type) {
  const elf::Section* section = image.find_section(section_type);
  return section ? elf::SymbolTable::read(image, *section).functions().size() : 0;
}

uint64_t count_minidebuginfo(const elf::Image& image) {
  auto section = image.contents(".gnu_debugdata");
  // A section that cannot be unpacked counts 0 here; ImageSymbols has noted the problem.
  auto unpacked = section ? elf::unpack_minidebuginfo(*section) : std::vector<std::byte>();
  auto unpacked_image = elf::parse(unpacked ? *unpacked : Bytes{});
  return unpacked_image ? count_symbols(*unpacked_image, SHT_SYMTAB) : 0;
}

// Go 1.9 is the first to write them, in a table that is laid out as that of Go 1.5 to 1.8:
// there a function that has some decides.
bool has_inlined_calls(const go::Pclntab& table) {
  if (table.format() != go::Format::kGo1_5)
    return table.format() > go::Format::kGo1_5;
  for (uint32_t i = 0; i < table.function_count(); i++)
    if (auto function = table.function(i); function && go::inline_index_table(table, *function))
      return true;
  return false;
}

uint64_t count_nameless(const go::Pclntab& table) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < table.function_count(); i++)
    if (auto function = table.function(i);
        function && table.name(function->name_offset).empty())
      count++;
  return count;
}

// The last line of the summary: from which of its sources gosym will name the code, and what
// will be missing. The cases are in the order of evidence in which ImageSymbols asks its
// sources, so the first that is there decides.
std::string consequence(const Summary& summary) {
  // Object files and kernel modules have section offsets, no addresses, until somebody links
  // them.
  if (summary.is_relocatable)
    return "nothing: what it is linked into, or the running kernel, has names for its code";
  if (summary.table) {
    std::string_view what =
        summary.table->has_inlined_calls ? ", line and inlined calls" : " and line";
    std::string_view rest =
        summary.symtab_count > 0 ? "; .symtab names the rest" : ", stripped or not";
    if (summary.table->nameless_count > 0)
      return fmt::format(
          ".gopclntab names Go functions, but for {} whose names are empty, with "
          "file{}{}",
          with_commas(summary.table->nameless_count), what, rest);
    return fmt::format(".gopclntab names every Go function, with file{}{}", what, rest);
  }
  bool has_dwarf = summary.kind.has_dwarf || summary.has_debug_dwarf;
  bool has_symtab = summary.symtab_count > 0 || summary.debug_symtab_count > 0;
  // Debugging information with a problem is used as far as it can be read.
  if (has_dwarf && !summary.problem.empty())
    return fmt::format(
        "debugging information names a part of the code, for there is a problem{}",
        has_symtab ? "; .symtab names the rest, without files and lines" : "");
  if (has_dwarf && has_symtab)
    return "debugging information names the code it is of, with file, line and inlined calls; "
           ".symtab names the rest";
  if (has_dwarf)
    return "debugging information names the code it is of, with file, line and inlined calls";
  if (has_symtab)
    return ".symtab names every function, without files, lines and inlined calls";
  if (summary.minidebuginfo_count > 0)
    return ".gnu_debugdata and .dynsym name the functions, without files, lines and inlined "
           "calls";
  if (summary.dynsym_count > 0)
    return ".dynsym names the exported functions only; others need a separate debug file";
  return "nothing here names a function: a separate debug file would";
}

std::string describe(const Summary& summary) {
  const elf::Kind& kind = summary.kind;
  return fmt::format("{}, {}, {}, {}", kind.type, kind.machine, kind.linking,
                     kind.is_stripped ? "stripped" : "not stripped");
}

std::string describe(const Summary::GoTable& table) {
  std::string text = table.text == 0
                         ? std::string()
                         : fmt::format(", text at {:#x} by {}", table.text, table.text_base);
  return fmt::format("{} functions, layout of {} (magic {:#x}){}, found by {}",
                     with_commas(table.function_count), table.releases, table.magic, text,
                     table.found_by);
}

std::string describe_count(uint64_t functions) {
  return functions == 0 ? "no functions" : fmt::format("{} functions", with_commas(functions));
}

// Compressed sections (.zdebug_, or SHF_COMPRESSED) count with their size in the file.
std::string describe_dwarf(const Summary& summary) {
  uint64_t size = 0;
  for (const elf::Section& section : summary.sections)
    if (section.name.starts_with(".debug_") || section.name.starts_with(".zdebug_"))
      size += section.size;
  if (!summary.kind.has_dwarf)
    return "none";
  return fmt::format("{}, {:.1f} % of the file", human_size(size),
                     share_of_file(size, summary.file_size));
}

std::string describe_debug_file(const Summary& summary) {
  // An empty text: no line. Nothing is missed where the binary has all that a debug file would
  // add.
  if (summary.debug_file.empty())
    return summary.looked_in.empty() ? "" : "none; looked for were";
  return fmt::format("{}, {}, {}", summary.debug_file,
                     describe_count(summary.debug_symtab_count),
                     summary.has_debug_dwarf ? "with DWARF" : "no DWARF");
}

// Programs before Go 1.13 have the version only.
std::optional<go::BuildInfo> read_go_version(const ImageSymbols& symbols) {
  auto info = go::read_build_info(symbols.image());
  if (info || !symbols.go_module())
    return info;
  auto version = go::find_runtime_version(symbols.image(), symbols.go_module()->table);
  if (!version)
    return std::nullopt;
  info.emplace();
  info->go_version = *version;
  return info;
}

}  // namespace

std::string_view releases_of(const go::Module& module) {
  return module.data && module.data->layout >= go::ModuleDataLayout::kGo1_20
             ? go::to_string(module.data->layout)
             : go::to_string(module.table.format());
}

double share_of_file(uint64_t size, uint64_t file_size) {
  return file_size == 0 ? 0
                        : 100.0 * static_cast<double>(size) / static_cast<double>(file_size);
}

Summary summarize(const ImageSymbols& symbols, const std::string& path,
                  const DebugFileOptions& files) {
  const elf::Image& image = symbols.image();
  Summary summary;
  summary.file_size = image.file.size();
  summary.kind = elf::kind_of(image);
  summary.is_relocatable = image.type == ET_REL;
  summary.ids = elf::build_ids(image);
  summary.go = read_go_version(symbols);
  if (const auto& module = symbols.go_module())
    summary.table = {.magic = module->table.header().magic,
                     .releases = std::string(releases_of(*module)),
                     .function_count = module->table.function_count(),
                     .nameless_count = count_nameless(module->table),
                     .text = to_integer(module->text),
                     .text_base = go::to_string(module->text_base),
                     .found_by = module->found_by,
                     .assumption = module->assumption,
                     .has_inlined_calls = has_inlined_calls(module->table)};
  summary.problem = symbols.problem();
  // Debugging information is hardly ever asked where there is a Go function table.
  if (std::string problem = symbols.go_module() ? "" : symbols.debug_problem();
      !problem.empty())
    summary.problem += (summary.problem.empty() ? "" : "; ") + problem;
  summary.has_damaged_table = symbols.has_damaged_table();
  summary.symtab_count = count_symbols(image, SHT_SYMTAB);
  summary.minidebuginfo_count = count_minidebuginfo(image);
  summary.dynsym_count = count_symbols(image, SHT_DYNSYM);
  if (const auto& debug_file = symbols.debug_file()) {
    summary.debug_file = debug_file->path;
    summary.debug_symtab_count = count_symbols(debug_file->binary->image(), SHT_SYMTAB);
    summary.has_debug_dwarf = elf::kind_of(debug_file->binary->image()).has_dwarf;
  } else if (!summary.table && (!summary.kind.has_dwarf || summary.symtab_count == 0)) {
    // For one who may want to put a debug file there. Nothing is missed where there is a Go
    // table, or both DWARF and .symtab.
    summary.looked_in = debug_file_places(image, path, files);
  }
  for (const elf::Section& section : image.sections)
    if (matters(section))
      summary.sections.push_back(section);
  return summary;
}

void write_section(JsonWriter& json, const elf::Section& section, uint64_t file_size) {
  json.field("name", section.name);
  json.field("address", fmt::format("{:#x}", to_integer(section.address)));
  json.field("offset", section.offset);
  json.field("size", section.size);
  // Shares in JSON are from 0 to 1; sections without bytes in the file have none.
  json.field("share_of_file",
             share_of_file(section.type == SHT_NOBITS ? 0 : section.size, file_size) / 100);
}

namespace {

// Programs get what is not known as an empty text, people no line.
void add_if_known(std::string_view label, std::string_view name, std::string_view text,
                  Record& record) {
  if (text.empty())
    record.add_member(name, std::string());
  else
    record.add(label, name, text);
}

void add_go_version(const go::BuildInfo& info, Record& record) {
  record.begin_object("go");
  add_if_known("Go version", "version", info.go_version, record);
  add_if_known("main package", "path", info.path, record);
  const go::ModuleVersion& main = info.main.required;
  if (!main.path.empty())
    record.add_line("module", fmt::format("{} {}", main.path, main.version));
  record.add_member("module", std::string(main.path));
  record.add_member("module_version", std::string(main.version));
  record.end_object();
}

void add_table(const Summary& summary, Record& record) {
  // People get one line for the table, programs an object of its facts; a table that cannot be
  // used is no object, but has its problem as a member.
  record.add_line("pclntab", summary.table               ? describe(*summary.table)
                             : summary.has_damaged_table ? "unusable"
                                                         : "none");
  if (const auto& table = summary.table) {
    record.begin_object("pclntab");
    record.add_member("magic", as_hex(table->magic));
    record.add_member("releases", table->releases);
    record.add_member("functions", uint64_t{table->function_count});
    record.add_member("text", as_hex(table->text));
    record.add_member("text_base", std::string(table->text_base));
    record.add_member("found_by", table->found_by);
    if (!table->assumption.empty())
      record.add_member("assumption", table->assumption);
    record.end_object();
  }
  if (!summary.problem.empty())
    record.add("problem", "problem", summary.problem);
  if (summary.table && !summary.table->assumption.empty())
    record.add_line("assumed", summary.table->assumption);
}

void add_debug_file(const Summary& summary, Record& record) {
  if (std::string text = describe_debug_file(summary); !text.empty())
    record.add_line("debug file", text);
  if (!summary.debug_file.empty()) {
    record.begin_object("debug_file");
    record.add_member("path", summary.debug_file);
    record.add_member("symtab_functions", summary.debug_symtab_count);
    record.add_member("dwarf", summary.has_debug_dwarf);
    record.end_object();
  }
  for (const std::string& place : summary.looked_in)
    record.add_line("", place);
  if (!summary.looked_in.empty())
    record.add_member("debug_file_looked_for", summary.looked_in);
}

Record summary_record(const std::string& path, const Summary& summary) {
  Record record;
  record.add("file", fmt::format("{}, {}", path, human_size(summary.file_size)), "file", path);
  record.add_member("size", summary.file_size);
  record.add_line("kind", describe(summary));
  // The kind is one sentence for people and four members for programs.
  record.add_member("type", std::string(summary.kind.type));
  record.add_member("machine", std::string(summary.kind.machine));
  record.add_member("linking", std::string(summary.kind.linking));
  record.add_member("stripped", summary.kind.is_stripped);
  add_if_known("GNU build id", "gnu_build_id", hex(summary.ids.gnu), record);
  add_if_known("Go build id", "go_build_id", summary.ids.go, record);
  if (summary.go)
    add_go_version(*summary.go, record);
  add_table(summary, record);
  auto add_count = [&](std::string_view label, std::string_view name, uint64_t count) {
    record.add(label, describe_count(count), name, count);
  };
  add_count(".symtab", "symtab_functions", summary.symtab_count);
  // People get no line for what most systems' files do not have; programs always get the
  // count.
  if (summary.minidebuginfo_count > 0)
    add_count(".gnu_debugdata", "gnu_debugdata_functions", summary.minidebuginfo_count);
  else
    record.add_member("gnu_debugdata_functions", uint64_t{0});
  add_count(".dynsym", "dynsym_functions", summary.dynsym_count);
  record.add("DWARF", describe_dwarf(summary), "dwarf", summary.kind.has_dwarf);
  add_debug_file(summary, record);
  record.add("gosym uses", "consequence", consequence(summary));
  return record;
}

}  // namespace

std::string summary_text(const std::string& path, const Summary& summary) {
  std::string text = summary_record(path, summary).lines(15);
  if (!summary.sections.empty())
    text += "\n";
  for (const elf::Section& section : summary.sections)
    text += fmt::format("{:<26} {:#10x} {:>10} {:5.1f} % of the file\n",
                        printable(section.name), section.size, human_size(section.size),
                        share_of_file(section.size, summary.file_size));
  return text;
}

std::string summary_json(const std::string& path, const Summary& summary) {
  JsonWriter json;
  json.object([&] {
    summary_record(path, summary).write_members(json);
    json.array("sections", summary.sections, [&](const elf::Section& section) {
      json.object([&] { write_section(json, section, summary.file_size); });
    });
  });
  return std::string(json.text()) + "\n";
}

Result<int> show_summary(const ImageSymbols& symbols, const InspectOptions& options) {
  Summary summary = summarize(symbols, options.binary, options.files);
  std::string text = options.is_json ? summary_json(options.binary, summary)
                                     : summary_text(options.binary, summary);
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
  return kSuccess;
}

namespace {

// A table that cannot be read at all fails the first of all invariants.
Result<go::CheckReport> check(const ImageSymbols& symbols) {
  // Three answers: a module is checked; a table that could not be read is a report with a
  // single failed check, so that --json has the same form for it; and no table at all is an
  // error.
  go::Check table{"the function table can be read"};
  table.expect(symbols.problem().empty(), [&] { return symbols.problem(); });
  go::CheckReport report;
  if (symbols.go_module())
    report = go::check_module(*symbols.go_module());
  else if (symbols.problem().empty())
    return require_module(symbols).error();
  report.checks.insert(report.checks.begin(), table);
  return report;
}

void print_text(const go::CheckReport& report) {
  size_t failed = 0;
  for (const go::Check& check : report.checks) {
    print(stdout, "{:<42} checked {:>8}, failed {}\n", check.invariant, check.checked,
          check.failed);
    if (check.failed > 0)
      print(stdout, "    first: {}\n", check.first_failure);
    failed += check.failed > 0;
  }
  print(stdout, "{}: {} functions, {} holes, {} of {} invariants broken\n",
        report.is_whole() ? "whole" : "broken", report.functions, report.holes, failed,
        report.checks.size());
}

void print_json(const go::CheckReport& report) {
  JsonWriter json;
  json.object([&] {
    json.field("whole", report.is_whole());
    json.field("functions", report.functions);
    json.field("holes", report.holes);
    json.array("checks", report.checks, [&](const go::Check& check) {
      json.object([&] {
        json.field("invariant", check.invariant);
        json.field("checked", check.checked);
        json.field("failed", check.failed);
        if (check.failed > 0)
          json.field("first_failure", check.first_failure);
      });
    });
  });
  print(stdout, "{}\n", json.text());
}

}  // namespace

Result<int> show_check(const ImageSymbols& symbols, const InspectOptions& options) {
  auto report = check(symbols);
  if (!report)
    return std::move(report).error();
  options.is_json ? print_json(*report) : print_text(*report);
  return report->is_whole() ? kSuccess : kFailure;
}

}  // namespace gosym
