#include "go/build_info.h"
#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/views.h"
#include "output/json.h"

namespace gosym {

namespace {

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
  json.begin_object();
  write_json(json, module.required);
  if (module.replacement) {
    json.key("replacement");
    json.begin_object();
    write_json(json, *module.replacement);
    json.end_object();
  }
  json.end_object();
}

void print_json(const go::BuildInfo& info) {
  JsonWriter json;
  json.begin_object();
  json.field("version", info.go_version);
  json.field("path", info.path);
  json.key("module");
  write_json(json, info.main);
  json.key("dependencies");
  json.begin_array();
  for (const go::BuildModule& module : info.dependencies)
    write_json(json, module);
  json.end_array();
  json.key("settings");
  json.begin_object();
  for (const auto& [key, value] : info.settings)
    json.field(key, value);
  json.end_object();
  json.end_object();
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

}  // namespace gosym
