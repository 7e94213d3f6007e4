#pragma once

#include <string>

#include "base/result.h"
#include "output/json.h"
#include "symbolize/image_symbols.h"

namespace gosym {

struct InspectOptions {
  std::string binary;
  std::string function;  // name or address
  std::string sort = "address";
  bool is_json = false;
  DebugFileOptions files;
};

// The views of `gosym inspect`. They print, and return the exit status.
Result<int> show_build_info(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_check(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_files(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_function(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_functions(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_header(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_module_data(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_sections(const ImageSymbols& symbols, const InspectOptions& options);
Result<int> show_summary(const ImageSymbols& symbols, const InspectOptions& options);

// One a line.
void print_functions(const std::vector<FunctionRange>& functions, bool is_json);

// All about a function that is not Go's: what its debugging information and its call frame
// information have.
void print_native_function(const ImageSymbols& symbols, const FunctionRange& function,
                           bool is_json);

// Fails if the image has no Go function table, or none that can be used.
Result<const go::Module*> require_module(const ImageSymbols& symbols);

// Texts begin in the column `indent`.
void print_lines(const Record& record, size_t indent);

// The form of addresses in JSON too, where numbers might lose digits.
inline std::string as_hex(uint64_t number) {
  return fmt::format("{:#x}", number);
}
inline std::string as_hex(ImageAddress address) {
  return as_hex(to_integer(address));
}

}  // namespace gosym
