#include "base/exit_status.h"
#include "base/print.h"
#include "base/text.h"
#include "commands/inspect/views.h"
#include "output/json.h"

namespace gosym {

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
    json.begin_object();
    json.field("file", file);
    json.end_object();
    print(stdout, "{}\n", json.text());
  }
  return kSuccess;
}

}  // namespace gosym
