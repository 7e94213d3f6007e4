#include "base/exit_status.h"
#include "base/print.h"
#include "commands/inspect/summary.h"
#include "commands/inspect/views.h"
#include "go/header_fields.h"
#include "output/json.h"

namespace gosym {

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
  if (auto last = table.function(table.function_count() - 1))
    parts.push_back({"records", header.functions + functab_size(table),
                     last->offset + last->size - functab_size(table)});
  if (module.data && module.data->value("epclntab") != 0) {
    uint64_t gofunc = module.data->value("gofunc");
    parts.push_back({"gofunc", gofunc - to_integer(module.table_address),
                     module.data->value("epclntab") - gofunc});
  }
  return parts;
}

// The magic that the table has been read as.
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

uint64_t file_offset(const elf::Image& image, const Header& header) {
  return static_cast<uint64_t>(header.place.bytes.data() - image.file.data());
}

std::string value_text(const go::HeaderField& field) {
  return field.is_count ? fmt::format("{}", field.value) : as_hex(field.value);
}

void print_text(const elf::Image& image, const Header& header) {
  auto line = [](std::string_view label, std::string_view value) {
    print(stdout, "{:<13} {}\n", label, value);
  };
  uint64_t start = file_offset(image, header);
  line("found by", header.place.found_by);
  line("address", as_hex(header.place.address));
  line("file offset", as_hex(start));
  line("byte order", order_name(image.order));
  if (const go::Module* module = header.module) {
    line("layout", releases_of(*module));
    line("text base", module->table.has_offsets() ? as_hex(module->text) : "none");
    line("known by", to_string(module->text_base));
    if (!module->assumption.empty())
      line("assumed", module->assumption);
  }
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

void write_field(JsonWriter& json, const go::HeaderField& field) {
  json.begin_object();
  json.field("name", field.name);
  json.field("offset", field.offset);
  if (field.name == "magic" || field.name == "text_start")
    json.field("value", as_hex(field.value));
  else
    json.field("value", field.value);
  json.end_object();
}

void write_part(JsonWriter& json, const HeaderPart& part) {
  json.begin_object();
  json.field("name", part.name);
  json.field("offset", part.offset);
  json.field("size", part.size);
  json.end_object();
}

void write_module(JsonWriter& json, const go::Module& module) {
  json.field("layout", releases_of(module));
  if (module.table.has_offsets())
    json.field("text", as_hex(module.text));
  json.field("text_base", to_string(module.text_base));
  if (!module.assumption.empty())
    json.field("assumption", module.assumption);
}

void print_json(const elf::Image& image, const Header& header, const std::string& problem) {
  JsonWriter json;
  json.begin_object();
  json.field("found_by", header.place.found_by);
  json.field("address", as_hex(header.place.address));
  json.field("file_offset", file_offset(image, header));
  json.field("byte_order", order_name(image.order));
  if (header.module)
    write_module(json, *header.module);
  if (!problem.empty())
    json.field("problem", problem);
  json.key("fields");
  json.begin_array();
  for (const go::HeaderField& field : header.fields)
    write_field(json, field);
  json.end_array();
  json.key("tables");
  json.begin_array();
  for (const HeaderPart& part : header.parts)
    write_part(json, part);
  json.end_array();
  json.end_object();
  print(stdout, "{}\n", json.text());
}

}  // namespace

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

}  // namespace gosym
