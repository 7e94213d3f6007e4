#include "commands/inspect/summary.h"

#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/views.h"
#include "elf/minidebuginfo.h"
#include "elf/symbol_table.h"
#include "go/inline_tree.h"
#include "go/module.h"

namespace gosym {

namespace {

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
  auto unpacked = section ? elf::unpack_minidebuginfo(*section) : std::vector<std::byte>();
  auto unpacked_image = elf::parse(unpacked ? *unpacked : Bytes{});
  return unpacked_image ? count_symbols(*unpacked_image, SHT_SYMTAB) : 0;
}

// Go 1.9 is the first to write them; by the table it may be a release before.
bool has_inlined_calls(const go::Pclntab& table) {
  if (table.format() != go::Format::kGo1_5)
    return table.format() > go::Format::kGo1_5;
  for (uint32_t i = 0; i < table.function_count(); i++)
    if (auto function = table.function(i); function && go::inline_index_table(table, *function))
      return true;
  return false;
}

std::string consequence(const Summary& summary) {
  if (summary.is_relocatable)
    return "nothing: what it is linked into, or the running kernel, has names for its code";
  if (summary.table) {
    std::string_view what =
        summary.table->has_inlined_calls ? ", line and inlined calls" : " and line";
    return fmt::format(
        ".gopclntab names every Go function, with file{}{}", what,
        summary.symtab_count > 0 ? "; .symtab names the rest" : ", stripped or not");
  }
  bool has_dwarf = summary.kind.has_dwarf || summary.has_debug_dwarf;
  bool has_symtab = summary.symtab_count > 0 || summary.debug_symtab_count > 0;
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

// Lines of a label and a value; a line without a value is left out.
class Lines {
public:
  void add(std::string_view label, std::string_view value) {
    if (!value.empty())
      text_ += fmt::format("{:<14} {}\n", label, printable(value));
  }
  std::string text_;
};

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
    summary.looked_in = debug_file_places(image, path, files);
  }
  for (const elf::Section& section : image.sections)
    if (matters(section))
      summary.sections.push_back(section);
  return summary;
}

std::string summary_text(const std::string& path, const Summary& summary) {
  Lines lines;
  lines.add("file", fmt::format("{}, {}", path, human_size(summary.file_size)));
  lines.add("kind", describe(summary));
  lines.add("GNU build id", hex(summary.ids.gnu));
  lines.add("Go build id", summary.ids.go);
  if (summary.go) {
    lines.add("Go version", summary.go->go_version);
    lines.add("main package", summary.go->path);
    if (const go::ModuleVersion& main = summary.go->main.required; !main.path.empty())
      lines.add("module", fmt::format("{} {}", main.path, main.version));
  }
  lines.add("pclntab", summary.table               ? describe(*summary.table)
                       : summary.has_damaged_table ? "unusable"
                                                   : "none");
  lines.add("problem", summary.problem);
  lines.add("assumed", summary.table ? summary.table->assumption : std::string());
  lines.add(".symtab", describe_count(summary.symtab_count));
  if (summary.minidebuginfo_count > 0)
    lines.add(".gnu_debugdata", describe_count(summary.minidebuginfo_count));
  lines.add(".dynsym", describe_count(summary.dynsym_count));
  lines.add("DWARF", describe_dwarf(summary));
  lines.add("debug file", describe_debug_file(summary));
  for (const std::string& place : summary.looked_in)
    lines.add("", place);
  lines.add("gosym uses", consequence(summary));
  if (!summary.sections.empty())
    lines.text_ += "\n";
  for (const elf::Section& section : summary.sections)
    lines.text_ += fmt::format("{:<26} {:#10x} {:>10} {:5.1f} % of the file\n",
                               printable(section.name), section.size, human_size(section.size),
                               share_of_file(section.size, summary.file_size));
  return lines.text_;
}

void write_section(JsonWriter& json, const elf::Section& section, uint64_t file_size) {
  json.field("name", section.name);
  json.field("address", fmt::format("{:#x}", to_integer(section.address)));
  json.field("offset", section.offset);
  json.field("size", section.size);
  json.field("share_of_file",
             share_of_file(section.type == SHT_NOBITS ? 0 : section.size, file_size) / 100);
}

std::string summary_json(const std::string& path, const Summary& summary) {
  JsonWriter json;
  json.begin_object();
  json.field("file", path);
  json.field("size", summary.file_size);
  json.field("type", summary.kind.type);
  json.field("machine", summary.kind.machine);
  json.field("linking", summary.kind.linking);
  json.field("stripped", summary.kind.is_stripped);
  json.field("gnu_build_id", hex(summary.ids.gnu));
  json.field("go_build_id", summary.ids.go);
  if (summary.go) {
    json.key("go");
    json.begin_object();
    json.field("version", summary.go->go_version);
    json.field("path", summary.go->path);
    json.field("module", summary.go->main.required.path);
    json.field("module_version", summary.go->main.required.version);
    json.end_object();
  }
  if (summary.table) {
    json.key("pclntab");
    json.begin_object();
    json.field("magic", fmt::format("{:#x}", summary.table->magic));
    json.field("releases", summary.table->releases);
    json.field("functions", summary.table->function_count);
    json.field("text", fmt::format("{:#x}", summary.table->text));
    json.field("text_base", summary.table->text_base);
    json.field("found_by", summary.table->found_by);
    if (!summary.table->assumption.empty())
      json.field("assumption", summary.table->assumption);
    json.end_object();
  }
  if (!summary.problem.empty())
    json.field("problem", summary.problem);
  json.field("symtab_functions", summary.symtab_count);
  json.field("gnu_debugdata_functions", summary.minidebuginfo_count);
  json.field("dynsym_functions", summary.dynsym_count);
  json.field("dwarf", summary.kind.has_dwarf);
  if (!summary.debug_file.empty()) {
    json.key("debug_file");
    json.begin_object();
    json.field("path", summary.debug_file);
    json.field("symtab_functions", summary.debug_symtab_count);
    json.field("dwarf", summary.has_debug_dwarf);
    json.end_object();
  }
  if (!summary.looked_in.empty()) {
    json.key("debug_file_looked_for");
    json.begin_array();
    for (const std::string& place : summary.looked_in)
      json.value(place);
    json.end_array();
  }
  json.field("consequence", consequence(summary));
  json.key("sections");
  json.begin_array();
  for (const elf::Section& section : summary.sections) {
    json.begin_object();
    write_section(json, section, summary.file_size);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::string(json.text()) + "\n";
}

Result<int> show_summary(const ImageSymbols& symbols, const InspectOptions& options) {
  Summary summary = summarize(symbols, options.binary, options.files);
  std::string text = options.is_json ? summary_json(options.binary, summary)
                                     : summary_text(options.binary, summary);
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
  return kSuccess;
}

}  // namespace gosym
