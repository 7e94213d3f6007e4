#include "proc/setting.h"

#include "base/mapped_file.h"
#include "base/text.h"

namespace gosym::proc {

std::string setting(const std::string& path) {
  constexpr size_t kMaxSize = 65536;
  auto text = read_file(path, kMaxSize);
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  return std::string(take_line(rest));
}

}  // namespace gosym::proc
