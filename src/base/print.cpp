#include "base/print.h"

namespace gosym {

void print_shown(std::FILE* stream, fmt::string_view format, fmt::format_args args) {
  std::string text = fmt::vformat(format, args);
  (void)std::fwrite(text.data(), 1, text.size(), stream);
}

}  // namespace gosym
