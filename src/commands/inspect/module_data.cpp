#include "base/exit_status.h"
#include "base/print.h"
#include "commands/inspect/views.h"
#include "output/json.h"

namespace gosym {

namespace {

void print_text(const go::Module& module) {
  const go::ModuleData& data = *module.data;
  print(stdout, "moduledata at {}, layout of {}\n", as_hex(data.address),
        to_string(data.layout));
  print(stdout, "{:>4}  {:<11}  VALUE\n", "WORD", "FIELD");
  for (const go::ModuleField& field : data.fields()) {
    print(stdout, "{:>4}  {:<11}  {:#x}", field.word, field.name, data.word(field.word));
    if (field.is_slice)
      print(stdout, ", length {}, capacity {}", data.word(field.word + 1u),
            data.word(field.word + 2u));
    print(stdout, "\n");
  }
  for (const go::TextPart& part : module.text_parts)
    print(stdout, "text part  {:#x}-{:#x} at {}\n", part.begin, part.end, as_hex(part.address));
}

void write_field(JsonWriter& json, const go::ModuleData& data, const go::ModuleField& field) {
  json.begin_object();
  json.field("word", uint32_t{field.word});
  json.field("name", field.name);
  json.field("value", as_hex(data.word(field.word)));
  if (field.is_slice) {
    json.field("length", data.word(field.word + 1u));
    json.field("capacity", data.word(field.word + 2u));
  }
  json.end_object();
}

void write_part(JsonWriter& json, const go::TextPart& part) {
  json.begin_object();
  json.field("begin", as_hex(part.begin));
  json.field("end", as_hex(part.end));
  json.field("address", as_hex(part.address));
  json.end_object();
}

void print_json(const go::Module& module) {
  JsonWriter json;
  json.begin_object();
  json.field("address", as_hex(module.data->address));
  json.field("layout", to_string(module.data->layout));
  json.key("fields");
  json.begin_array();
  for (const go::ModuleField& field : module.data->fields())
    write_field(json, *module.data, field);
  json.end_array();
  json.key("text_parts");
  json.begin_array();
  for (const go::TextPart& part : module.text_parts)
    write_part(json, part);
  json.end_array();
  json.end_object();
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

}  // namespace gosym
