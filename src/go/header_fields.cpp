#include "go/header_fields.h"

#include <span>

#include "base/reader.h"

namespace gosym::go {

namespace {

constexpr std::string_view kWords118[] = {"file_count", "text_start", "names",  "units",
                                          "files",      "pc_values",  "functab"};
constexpr std::string_view kWords116[] = {"file_count", "names",     "units",
                                          "files",      "pc_values", "functab"};

std::span<const std::string_view> words_of(uint32_t magic) {
  switch (magic) {
    case kMagic116:
      return kWords116;
    case kMagic118:
    case kMagic120:
      return kWords118;
    default:
      return {};
  }
}

// Adds the place of the file table, behind a functab of so many functions.
void add_file_table(Bytes table, ByteOrder order, uint8_t pointer_size, uint64_t count,
                    std::vector<HeaderField>& fields) {
  uint64_t pairs = count < table.size() ? 2 * count + 1 : table.size();
  uint64_t end = 8u + pointer_size + pairs * pointer_size;
  auto files = load<uint32_t>(table, end, order);
  if (!files)
    return;
  fields.push_back({"files", end, *files});
  if (auto file_count = load<uint32_t>(table, *files, order))
    fields.push_back({"file_count", *files, *file_count, /*is_count=*/true});
}

}  // namespace

std::vector<HeaderField> header_fields(Bytes table, ByteOrder order, uint8_t pointer_size,
                                       uint32_t magic) {
  std::vector<HeaderField> fields;
  Reader in(table, order);
  auto add = [&](std::string_view name, auto read) {
    HeaderField field{.name = name, .offset = in.offset(), .value = read()};
    field.is_count = name.ends_with("_count") || name == "quantum" || name == "pointer_size";
    if (in.ok())
      fields.push_back(field);
    return field.value;
  };
  auto word = [&] { return in.word(pointer_size); };
  add("magic", [&] { return in.u32(); });
  add("padding", [&] { return in.u16(); });
  add("quantum", [&] { return in.u8(); });
  add("pointer_size", [&] { return in.u8(); });
  uint64_t function_count = add("function_count", word);
  for (std::string_view name : words_of(magic))
    add(name, word);
  if (magic == kMagic12 && in.ok())
    add_file_table(table, order, pointer_size, function_count, fields);
  return fields;
}

}  // namespace gosym::go
