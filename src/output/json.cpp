#include "output/json.h"

#include "base/text.h"

namespace gosym {

void JsonWriter::key(std::string_view name) {
  writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

void JsonWriter::value(std::string_view text) {
  std::string copy;
  std::string_view valid = is_plain(text) ? text : copy = valid_utf8(text);
  writer_.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
}

}  // namespace gosym
