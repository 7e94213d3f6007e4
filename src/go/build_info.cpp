#include "go/build_info.h"

#include <charconv>

#include "base/reader.h"
#include "base/text.h"

// Two searches. The record of the linker has a magic and is read as it stands; the version of
// older programs is found by the shape of a Go string header anywhere in writable data, and is
// therefore believed only if nothing contradicts it.

namespace gosym::go {

namespace {

constexpr std::string_view kMagic("\xff Go buildinf:", 14);
constexpr uint8_t kInline = 2;
constexpr uint64_t kInfoAlignment = 16;
constexpr uint64_t kFrameSize = 16;

// The record begins so early in its place: Go's own debug/buildinfo looks no further either. A
// file of 4 KB can claim a segment of terabytes.
constexpr uint64_t kMaxSearch = 64 << 10;

// A version is no longer, whatever its string says.
constexpr size_t kMaxVersionSize = 256;

// Before the text of a record that holds it: magic, sizes and flags, padding, length.
constexpr uint64_t kInlineHeaderSize = 48;

std::optional<Bytes> find_record(Bytes bytes) {
  for (uint64_t i = 0; i < std::min<uint64_t>(bytes.size(), kMaxSearch); i += kInfoAlignment)
    if (as_text(bytes.subspan(i)).starts_with(kMagic))
      return bytes.subspan(i);
  return std::nullopt;
}

// The section that holds the record, or else the segment that may.
std::optional<Bytes> find_place(const elf::Image& image) {
  if (auto contents = image.contents(".go.buildinfo"))
    return contents;
  // Without sections the record lies at the start of the first writable segment.
  for (const elf::Segment& segment : image.segments)
    if (segment.type == PT_LOAD && (segment.flags & PF_W) != 0)
      if (auto bytes = slice(image.file, segment.offset, segment.file_size))
        return bytes;
  return std::nullopt;
}

std::optional<Bytes> find_record(const elf::Image& image) {
  auto place = find_place(image);
  return place ? find_record(*place) : std::nullopt;
}

elf::FileExtent extent_of(const elf::Image& image, Bytes part) {
  return {static_cast<uint64_t>(part.data() - image.file.data()), part.size()};
}

// The Go string whose header lies at `address`.
std::string_view go_string(const elf::Image& image, uint64_t address) {
  auto data = image.load_word(ImageAddress{address});
  auto length = image.load_word(ImageAddress{address + image.pointer_size});
  if (!data || !length)
    return {};
  // The text is as long as its header says, or is none: a length that leads out of the segment
  // is damage.
  auto bytes = image.loaded_from(ImageAddress{*data});
  auto text = bytes ? slice(*bytes, 0, *length) : std::nullopt;
  return text ? as_text(*text) : std::string_view();
}

ModuleVersion module_version(const std::vector<std::string_view>& fields) {
  auto field = [&](size_t i) { return i < fields.size() ? fields[i] : std::string_view(); };
  return {field(1), field(2), field(3)};
}

// Reads one line (build_info.h): `fields` are its texts between tabs, one at the least. `last`
// is the module that a replacement is for; null before the first.
void read_line(const std::vector<std::string_view>& fields, BuildInfo& info,
               BuildModule*& last) {
  std::string_view key = fields[0];
  if (fields.size() < 2)
    return;
  if (key == "path") {
    info.path = fields[1];
  } else if (key == "mod") {
    info.main = {module_version(fields), std::nullopt};
    last = &info.main;
  } else if (key == "dep") {
    info.dependencies.push_back({module_version(fields), std::nullopt});
    last = &info.dependencies.back();
  } else if (key == "=>" && last) {
    last->replacement = module_version(fields);
  } else if (key == "build") {
    size_t equals = fields[1].find('=');
    if (equals != std::string_view::npos)
      info.settings.emplace_back(fields[1].substr(0, equals), fields[1].substr(equals + 1));
  }
}

// Reads the lines between the two frames of 16 bytes, whose contents mean nothing here. A line
// has to end right before the second, as Go's debug/buildinfo asks as well: what has another
// frame is no text of lines.
void read_modules(std::string_view text, BuildInfo& info) {
  bool is_framed = text.size() > 2 * kFrameSize && text[text.size() - kFrameSize - 1] == '\n';
  if (!is_framed)
    return;
  text = text.substr(kFrameSize, text.size() - 2 * kFrameSize);
  BuildModule* last = nullptr;
  while (!text.empty())
    read_line(split(take_line(text), '\t'), info, last);
}

// Data of Go programs takes a few megabytes. What is larger is not searched at all: a second
// version might lie behind the part that was.
constexpr uint64_t kMaxVersionSearch = 64 << 20;

// True if the release that a version names, "go1.9.7" or "go1.10rc1", writes tables of a
// format.
bool may_write(std::string_view version, Format format) {
  uint32_t minor = 0;  // stays so of "devel ...", which names no release: no format is of that
  std::string_view number = version.substr(std::min<size_t>(version.size(), 4));
  std::from_chars(number.data(), number.data() + number.size(), minor);
  switch (format) {
    case Format::kGo1_2:
      return minor == 4;  // before, the version was no variable
    case Format::kGo1_5:
      return minor >= 5 && minor <= 9;
    case Format::kGo1_10:
      return minor == 10 || minor == 11;
    case Format::kGo1_12:
    case Format::kGo1_13:  // which it is follows from a part of the records only
      return minor == 12;
    default:  // from Go 1.13 on the linker's record tells
      return false;
  }
}

// Accepts versions of releases, and of what lay between them ("devel ...").
bool is_version(std::string_view text) {
  bool is_release =
      text.size() > 4 && text.starts_with("go1.") && text[4] >= '0' && text[4] <= '9';
  return (is_release || text.starts_with("devel ")) && is_printable(text);
}

// The version whose string header lies at `offset` of `data`; empty if there is none.
std::string_view version_at(const elf::Image& image, Bytes data, uint64_t offset) {
  Reader in(data.subspan(offset), image.order);
  uint64_t address = in.word(image.pointer_size);
  uint64_t length = in.word(image.pointer_size);
  if (!in.ok() || length > kMaxVersionSize)
    return {};
  auto bytes = image.loaded_from(ImageAddress{address});
  auto text = bytes ? slice(*bytes, 0, length) : std::nullopt;
  return text && is_version(as_text(*text)) ? as_text(*text) : std::string_view();
}

}  // namespace

std::optional<std::string_view> find_runtime_version(const elf::Image& image) {
  std::string_view found;
  for (const elf::LoadedBytes& part : image.loaded_segments(PF_W)) {
    if (part.bytes.size() > kMaxVersionSearch)
      return std::nullopt;
    // String headers are aligned to a pointer.
    for (uint64_t i = 0; i + image.pointer_size < part.bytes.size(); i += image.pointer_size) {
      std::string_view version = version_at(image, part.bytes, i);
      // Two different versions: one of them is a text of the program, and nothing tells which.
      if (!version.empty() && !found.empty() && version != found)
        return std::nullopt;
      if (!version.empty())
        found = version;
    }
  }
  return found.empty() ? std::nullopt : std::optional(found);
}

std::optional<std::string_view> find_runtime_version(const elf::Image& image,
                                                     const Pclntab& table) {
  auto found = find_runtime_version(image);
  return found && may_write(*found, table.format()) ? found : std::nullopt;
}

std::vector<elf::FileExtent> version_extents(const elf::Image& image) {
  auto place = find_place(image);
  if (!place)
    return {};
  constexpr uint64_t kEnough = kMaxSearch + kInlineHeaderSize + kMaxVersionSize;
  std::vector<elf::FileExtent> extents = {
      extent_of(image, place->first(std::min<uint64_t>(place->size(), kEnough)))};
  auto record = find_record(*place);
  if (!record)
    return extents;
  Reader in(*record, image.order);
  in.bytes(kMagic.size() + 1);  // and the pointer size: flags follow
  bool is_inline = (in.u8() & kInline) != 0;
  uint64_t header = in.word(image.pointer_size);
  if (is_inline || !in.ok())
    return extents;
  // Before Go 1.18 the record has the address of a Go string, whose first word is that of the
  // text.
  for (auto address : {std::optional(header), image.load_word(ImageAddress{header})})
    if (auto bytes = address ? image.loaded_from(ImageAddress{*address}) : std::nullopt)
      extents.push_back(
          extent_of(image, bytes->first(std::min<size_t>(bytes->size(), kMaxVersionSize))));
  return extents;
}

std::optional<BuildInfo> read_build_info(const elf::Image& image) {
  auto record = find_record(image);
  if (!record)
    return std::nullopt;
  Reader in(*record, image.order);
  in.bytes(kMagic.size());
  uint8_t pointer_size = in.u8();
  uint8_t flags = in.u8();

  BuildInfo info;
  std::string_view modules;
  // A record with the texts in it has no addresses: its pointer size means nothing.
  if ((flags & kInline) != 0) {
    in.bytes(16);
    info.go_version = as_text(in.bytes(in.uvarint32()));
    modules = as_text(in.bytes(in.uvarint32()));
  } else {
    if (pointer_size != image.pointer_size)
      return std::nullopt;
    info.go_version = go_string(image, in.word(pointer_size));
    modules = go_string(image, in.word(pointer_size));
  }
  if (!in.ok() || info.go_version.empty())
    return std::nullopt;
  read_modules(modules, info);
  return info;
}

}  // namespace gosym::go
