#include "elf/debug_link.h"

#include "base/reader.h"
#include "base/text.h"

namespace gosym::elf {

namespace {

// A section that has no bytes in the file reads as an empty one.
std::optional<Reader> open_section(const Image& image, std::string_view name) {
  const Section* section = image.find_section(name);
  if (!section)
    return std::nullopt;
  return Reader(image.contents(*section).value_or(Bytes{}), image.order);
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

}  // namespace

Result<std::optional<DebugLink>> read_debug_link(const Image& image) {
  auto in = open_section(image, ".gnu_debuglink");
  if (!in)
    return std::optional<DebugLink>();
  DebugLink link;
  link.name = in->cstring();
  in->bytes((4 - in->offset() % 4) % 4);
  link.crc = in->u32();
  if (!in->ok())
    return in->error("debug link");
  if (!is_file_name(link.name))
    return errorf("debug link: '{}' is not the name of a file", printable(link.name));
  return std::optional(link);
}

Result<std::optional<AlternateLink>> read_alternate_link(const Image& image) {
  auto in = open_section(image, ".gnu_debugaltlink");
  if (!in)
    return std::optional<AlternateLink>();
  AlternateLink link;
  link.name = in->cstring();
  link.build_id = as_text(in->bytes(in->remaining()));
  if (!in->ok())
    return in->error("alternate debug link");
  if (link.name.empty() || link.build_id.empty())
    return Error("alternate debug link: no name or no build id");
  return std::optional(link);
}

}  // namespace gosym::elf
