#include "proc/machine_id.h"

#include <algorithm>
#include <cctype>

#include "base/file_tree.h"
#include "base/mapped_file.h"
#include "base/sequence_pool.h"

namespace gosym::proc {

namespace {

constexpr size_t kDigits = 32;  // of an id, by machine-id(5)

}  // namespace

std::string hashed_machine_id(std::string_view text) {
  std::string_view id = text.substr(0, kDigits);
  bool is_id = id.size() == kDigits && std::ranges::all_of(id, [](char digit) {
                 return std::isxdigit(static_cast<unsigned char>(digit)) != 0;
               });
  if (!is_id)
    return {};
  // The salt makes the hash another than that of other programs for the same id.
  return hash_of_bytes("gosym " + std::string(id));
}

std::string machine_id() {
  constexpr size_t kLongest = 64;
  auto text = read_file("/etc/machine-id", kLongest);
  return text ? hashed_machine_id(*text) : std::string();
}

}  // namespace gosym::proc
