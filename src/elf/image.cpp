#include "elf/image.h"

#include <sha2.h>

#include <algorithm>

#include "base/reader.h"
#include "base/text.h"
#include "model/recording.h"

// parse() reads ident, header, segments and sections in this order; only damage to the
// sections is forgiven. All else answers questions from what parse() has stored, with the
// bytes of the file looked up through slice(), which refuses what lies outside. Numbers of the
// file are added and multiplied only behind a check that the result fits, or where wrapping
// around does no harm.

namespace gosym::elf {

namespace {

struct TableExtent {
  uint64_t offset = 0;
  uint64_t entry_size = 0;
  uint64_t count = 0;
};

struct Header {
  TableExtent segments;
  TableExtent sections;
  uint32_t name_section = 0;
};

// An entry of a header table; none if the table does not lie in the file. The product does not
// wrap around: callers have asked fits(), or take a table of one entry. `index` is below its
// count.
std::optional<Reader> entry_of(const Image& image, const TableExtent& table, uint64_t index) {
  auto entries = slice(image.file, table.offset, table.count * table.entry_size);
  if (!entries)
    return std::nullopt;
  return Reader(entries->subspan(index * table.entry_size, table.entry_size), image.order);
}

struct RawSection {
  uint32_t name_offset = 0;
  Section section;
  uint32_t info = 0;
};

// An entry as Elf32_Shdr and Elf64_Shdr have it; none if it is too short. A word is as wide as
// a pointer.
std::optional<RawSection> read_section(const Image& image, const TableExtent& table,
                                       uint64_t index) {
  auto in = entry_of(image, table, index);
  if (!in)
    return std::nullopt;
  RawSection raw;
  uint8_t word = image.pointer_size;
  raw.name_offset = in->u32();
  raw.section.type = in->u32();
  raw.section.flags = in->word(word);
  raw.section.address = ImageAddress{in->word(word)};
  raw.section.offset = in->word(word);
  raw.section.size = in->word(word);
  raw.section.link = in->u32();
  raw.info = in->u32();
  in->word(word);  // alignment
  raw.section.entry_size = in->word(word);
  if (!in->ok())
    return std::nullopt;
  return raw;
}

// An entry as Elf32_Phdr and Elf64_Phdr have it; none if it is too short.
std::optional<Segment> read_segment(const Image& image, const TableExtent& table,
                                    uint64_t index) {
  auto in = entry_of(image, table, index);
  if (!in)
    return std::nullopt;
  Segment segment;
  uint8_t word = image.pointer_size;
  segment.type = in->u32();
  // The flags of 64-bit entries come second, for the alignment of the words behind them.
  if (word == 8)
    segment.flags = in->u32();
  segment.offset = in->word(word);
  segment.address = ImageAddress{in->word(word)};
  in->word(word);  // physical address
  segment.file_size = in->word(word);
  segment.memory_size = in->word(word);
  if (word == 4)
    segment.flags = in->u32();
  if (!in->ok())
    return std::nullopt;
  return segment;
}

Result<> read_ident(Image& image) {
  Reader in(image.file);
  Bytes ident = in.bytes(EI_NIDENT);
  // The magic is asked for before the length, so that a short text file is told to be no ELF
  // file rather than a damaged one.
  if (!as_text(image.file).starts_with("\177ELF"))
    return Error("not an ELF file");
  if (!in.ok())
    return in.error("ELF header");
  auto file_class = static_cast<uint8_t>(ident[EI_CLASS]);
  auto data = static_cast<uint8_t>(ident[EI_DATA]);
  if (file_class != ELFCLASS32 && file_class != ELFCLASS64)
    return errorf("ELF header: unknown class {}", file_class);
  if (data != ELFDATA2LSB && data != ELFDATA2MSB)
    return errorf("ELF header: unknown byte order {}", data);
  image.pointer_size = file_class == ELFCLASS32 ? 4 : 8;
  image.order = data == ELFDATA2LSB ? ByteOrder::kLittle : ByteOrder::kBig;
  return Ok{};
}

// Reads the fields behind the ident, as Elf32_Ehdr and Elf64_Ehdr have them.
Result<Header> read_header(Image& image) {
  Header header;
  Reader in(tail(image.file, EI_NIDENT), image.order);
  uint8_t word = image.pointer_size;
  image.type = in.u16();
  image.machine = in.u16();
  in.u32();  // version
  image.entry = ImageAddress{in.word(word)};
  header.segments.offset = in.word(word);
  header.sections.offset = in.word(word);
  in.u32();  // flags
  in.u16();  // size of this header
  header.segments.entry_size = in.u16();
  header.segments.count = in.u16();
  header.sections.entry_size = in.u16();
  header.sections.count = in.u16();
  header.name_section = in.u16();
  if (!in.ok())
    return in.error("ELF header");
  return header;
}

// Takes the numbers that did not fit the header from section 0.
void extend(const Image& image, Header& header) {
  bool is_extended = header.sections.count == 0 || header.name_section == SHN_XINDEX ||
                     header.segments.count == PN_XNUM;
  if (header.sections.offset == 0 || !is_extended)
    return;
  // One section is read before the number of all is known.
  TableExtent first = header.sections;
  first.count = 1;
  auto zero = read_section(image, first, 0);
  if (!zero)
    return;
  // The header has 16 bits for each of these numbers; section 0 has the larger ones.
  if (header.sections.count == 0)
    header.sections.count = zero->section.size;
  if (header.name_section == SHN_XINDEX)
    header.name_section = zero->section.link;
  if (header.segments.count == PN_XNUM)
    header.segments.count = zero->info;
}

uint64_t add_or_max(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// True if the table lies in the file; also keeps count * entry_size from overflowing.
bool fits(const Image& image, const TableExtent& table) {
  return table.entry_size != 0 && table.offset <= image.file.size() &&
         table.count <= (image.file.size() - table.offset) / table.entry_size;
}

// Linux runs no file with more program headers than fit into 64 KiB (load_elf_phdrs).
constexpr uint64_t kMaxSegmentTable = 65536;
// Core files have one for each mapping: programs that raise vm.max_map_count have some 100,000.
constexpr uint64_t kMaxCoreSegmentTable = 64 << 20;
// More sections than an object file of one function a section has.
constexpr uint64_t kMaxSections = 1 << 20;

Result<> read_segments(Image& image, const TableExtent& table) {
  if (table.count == 0)
    return Ok{};
  uint64_t most = image.type == ET_CORE ? kMaxCoreSegmentTable : kMaxSegmentTable;
  // A file with more segments would not run; a core file has one for each mapping.
  if (table.count > most / std::max<uint64_t>(table.entry_size, 1))
    return errorf("program headers: {} entries, more than Linux takes", table.count);
  if (!fits(image, table))
    return errorf(
        "program headers: {} entries of {:#x} bytes at {:#x} do not fit in {:#x} bytes",
        table.count, table.entry_size, table.offset, image.file.size());
  for (uint64_t i = 0; i < table.count; i++) {
    auto segment = read_segment(image, table, i);
    if (!segment)
      return errorf("program headers: an entry of {:#x} bytes is too short", table.entry_size);
    image.segments.push_back(*segment);
  }
  return Ok{};
}

Result<> read_sections(Image& image, const Header& header) {
  const TableExtent& table = header.sections;
  if (table.offset == 0 || table.count == 0)
    return Ok{};
  if (table.count > kMaxSections)
    return errorf("section headers: {} entries, where {} are allowed", table.count,
                  kMaxSections);
  if (!fits(image, table))
    return errorf(
        "section headers: {} entries of {:#x} bytes at {:#x} do not fit in {:#x} bytes",
        table.count, table.entry_size, table.offset, image.file.size());

  std::vector<RawSection> raw;
  for (uint64_t i = 0; i < table.count; i++) {
    auto section = read_section(image, table, i);
    if (!section)
      return errorf("section headers: an entry of {:#x} bytes is too short", table.entry_size);
    raw.push_back(*section);
  }

  // Without a sound section of names all sections stay, unnamed: what is found by type is
  // still found.
  Bytes names;
  if (header.name_section < raw.size())
    names = image.contents(raw[header.name_section].section).value_or(Bytes{});
  // Section 0 is no section: `sections` leaves it out.
  for (size_t i = 1; i < raw.size(); i++) {
    raw[i].section.name = load_cstring(names, raw[i].name_offset).value_or("");
    image.sections.push_back(raw[i].section);
  }
  return Ok{};
}

}  // namespace

std::vector<FileExtent> header_tables(Bytes file) {
  Image image;
  image.file = file;
  if (auto ident = read_ident(image); !ident)
    return {};
  auto header = read_header(image);
  if (!header)
    return {};
  extend(image, *header);
  const auto& [segments, sections, name_section] = *header;
  // Extents are as the header claims them: `file` may have no more than its first bytes.
  // With no count the first section has it, so that it is always read. A count that is damage
  // is not believed.
  uint64_t count = sections.count > kMaxSections ? 1 : std::max<uint64_t>(sections.count, 1);
  std::vector<FileExtent> tables = {{segments.offset, segments.count * segments.entry_size},
                                    {sections.offset, count * sections.entry_size}};
  if (fits(image, sections) && name_section < sections.count)
    if (auto names = read_section(image, sections, name_section))
      tables.push_back({names->section.offset, names->section.size});
  return tables;
}

Result<Image> parse(Bytes file) {
  Image image;
  image.file = file;
  if (auto ident = read_ident(image); !ident)
    return std::move(ident).error();
  auto header = read_header(image);
  if (!header)
    return std::move(header).error();
  // The counts in the header are the real ones after this.
  extend(image, *header);

  if (auto segments = read_segments(image, header->segments); !segments)
    return std::move(segments).error();
  const TableExtent& table = header->sections;
  // missing_bytes() needs the end of the table, which may lie beyond the end of the file. A
  // count above kMaxSections is damage: no end is computed from it.
  if (table.count <= kMaxSections)
    image.section_table_end = add_or_max(table.offset, table.count * table.entry_size);
  // The kernel does without sections, so an image without them is still of use. The problem is
  // kept for those who miss one.
  if (auto sections = read_sections(image, *header); !sections) {
    image.sections.clear();
    image.section_problem = sections.error().message();
  }
  return image;
}

// A debug file has the segments of the program that it was made of, but sections of its own.
uint64_t Image::missing_bytes() const {
  uint64_t end = section_problem.empty() ? 0 : section_table_end;
  for (const Section& section : sections)
    // SHT_NOBITS names a place in the file but takes no bytes of it.
    if (section.type != SHT_NOBITS && section.type != SHT_NULL)
      end = std::max(end, add_or_max(section.offset, section.size));
  // A file without sections has nothing but its segments to tell its size by.
  if (end == 0)
    for (const Segment& segment : segments)
      if (segment.type == PT_LOAD)
        end = std::max(end, add_or_max(segment.offset, segment.file_size));
  return end - std::min<uint64_t>(end, file.size());
}

const Section* Image::find_section(std::string_view name) const {
  for (const Section& section : sections)
    if (section.name == name)
      return &section;
  return nullptr;
}

const Section* Image::find_section(uint32_t section_type) const {
  for (const Section& section : sections)
    if (section.type == section_type)
      return &section;
  return nullptr;
}

std::optional<Bytes> Image::contents(const Section& section) const {
  if (section.type == SHT_NOBITS || (section.flags & SHF_COMPRESSED) != 0)
    return std::nullopt;
  return slice(file, section.offset, section.size);
}

std::optional<Bytes> Image::contents(std::string_view section_name) const {
  const Section* section = find_section(section_name);
  return section ? contents(*section) : std::nullopt;
}

std::vector<LoadedCode> loaded_code(const Image& image) {
  constexpr uint64_t kPage = 4096;
  std::vector<LoadedCode> code;
  const Segment* first = nullptr;
  for (const Segment& segment : image.segments) {
    if (segment.type != PT_LOAD)
      continue;
    if (!first)
      first = &segment;
    if ((segment.flags & PF_X) == 0)
      continue;
    uint64_t address = to_integer(segment.address);
    // A segment that has bytes tells its own offset.
    if (segment.file_size > 0)
      code.push_back({segment.offset, segment.file_size, segment.address});
    // A debug file has segments of code without bytes. Their offsets are those of the program
    // if they begin a page, as the kernel requires of it.
    else if (&segment == first || address % kPage == 0)
      code.push_back({address - to_integer(first->address) + first->offset, segment.memory_size,
                      segment.address});
  }
  return code;
}

std::optional<ImageAddress> Image::code_at_offset(uint64_t offset) const {
  for (const LoadedCode& code : loaded_code(*this))
    // Differences of unsigned numbers: an offset before the code wraps around to a large one.
    if (offset - code.offset < code.size)
      return ImageAddress{to_integer(code.address) + (offset - code.offset)};
  return std::nullopt;
}

std::optional<Bytes> Image::loaded_from(ImageAddress address) const {
  for (const Segment& segment : segments) {
    uint64_t offset = to_integer(address) - to_integer(segment.address);
    if (segment.type != PT_LOAD || address < segment.address || offset >= segment.file_size)
      continue;
    // A file that is cut short has the beginning of a segment: that part still answers.
    Bytes in_file = tail(file, segment.offset);
    uint64_t size = std::min<uint64_t>(segment.file_size, in_file.size());
    if (offset < size)
      return in_file.subspan(offset, size - offset);
  }
  return std::nullopt;
}

std::vector<LoadedBytes> Image::loaded_segments(uint32_t flags) const {
  std::vector<LoadedBytes> result;
  uint64_t left = 2 * file.size();
  for (const Segment& segment : segments) {
    auto bytes = slice(file, segment.offset, segment.file_size);
    if (segment.type != PT_LOAD || (segment.flags & flags) != flags || !bytes)
      continue;
    // Overlapping segments could otherwise make a small file endless to search.
    if (bytes->size() > left)
      break;
    left -= bytes->size();
    result.push_back({segment.address, *bytes});
  }
  return result;
}

std::optional<uint64_t> Image::load_word(ImageAddress address) const {
  auto bytes = loaded_from(address);
  if (!bytes)
    return std::nullopt;
  if (pointer_size == 4)
    return load<uint32_t>(*bytes, 0, order);
  return load<uint64_t>(*bytes, 0, order);
}

bool Image::is_executable_at(ImageAddress address) const {
  for (const Segment& segment : segments)
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0 && address >= segment.address &&
        to_integer(address) - to_integer(segment.address) < segment.memory_size)
      return true;
  return false;
}

bool Image::has_code(ImageAddress address, uint64_t size) const {
  auto bytes = is_executable_at(address) ? loaded_from(address) : std::nullopt;
  return bytes && size <= bytes->size();
}

std::vector<LoadSegment> load_segments(const Image& image) {
  std::vector<LoadSegment> segments;
  for (const Segment& segment : image.segments)
    if (segment.type == PT_LOAD)
      segments.push_back({.file_offset = segment.offset,
                          .file_size = segment.file_size,
                          .address = to_integer(segment.address),
                          .memory_size = segment.memory_size,
                          .flags = segment.flags});
  return segments;
}

std::vector<AddressRange> code_ranges(const Image& image) {
  std::vector<AddressRange> pieces;
  auto add = [&](ImageAddress address, uint64_t size) {
    uint64_t begin = to_integer(address);
    if (size > 0)
      pieces.push_back({begin, begin + std::min(size, UINT64_MAX - begin)});
  };
  for (const Section& section : image.sections)
    if ((section.flags & SHF_EXECINSTR) != 0)
      add(section.address, section.size);
  // Segments count only where there are no sections: they may hold headers and read-only data
  // besides code.
  for (const Segment& segment : image.segments)
    if (image.sections.empty() && segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
      add(segment.address, segment.memory_size);

  std::ranges::sort(pieces, {}, &AddressRange::begin);
  std::vector<AddressRange> ranges;
  for (const AddressRange& piece : pieces)
    // Sections that touch become one range.
    if (!ranges.empty() && piece.begin <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, piece.end);
    else
      ranges.push_back(piece);
  return ranges;
}

namespace {

const Segment* find_segment(const Image& image, uint32_t type) {
  for (const Segment& segment : image.segments)
    if (segment.type == type)
      return &segment;
  return nullptr;
}

// The value of an entry of the dynamic section; 0 if there is none.
uint64_t dynamic_value(const Image& image, uint64_t tag) {
  const Segment* segment = find_segment(image, PT_DYNAMIC);
  auto bytes = segment ? slice(image.file, segment->offset, segment->file_size) : std::nullopt;
  if (!bytes)
    return 0;
  Reader in(*bytes, image.order);
  // The end of the section needs no DT_NULL: the reader fails there.
  while (in.ok()) {
    uint64_t entry_tag = in.word(image.pointer_size);
    uint64_t value = in.word(image.pointer_size);
    if (entry_tag == tag && in.ok())
      return value;
  }
  return 0;
}

bool has_contents(const Image& image, std::string_view section_name) {
  const Section* section = image.find_section(section_name);
  return section && section->type != SHT_NOBITS;
}

std::string type_of(const Image& image) {
  // The flag tells a program without an interpreter, static-pie, from a library.
  bool is_program = find_segment(image, PT_INTERP) != nullptr ||
                    (dynamic_value(image, DT_FLAGS_1) & DF_1_PIE) != 0;
  switch (image.type) {
    case ET_REL:
      return "relocatable object";
    case ET_EXEC:
      return "executable";
    case ET_DYN:
      return is_program ? "position-independent executable" : "shared object";
    case ET_CORE:
      return "core dump";
    default:
      return fmt::format("ELF type {}", image.type);
  }
}

// Names as GOARCH has them, where it has one, but for x86-64.
std::string machine_of(const Image& image) {
  bool is_big = image.order == ByteOrder::kBig;
  bool is_64 = image.pointer_size == 8;
  switch (image.machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "386";
    case EM_AARCH64:
      return is_big ? "arm64, big-endian" : "arm64";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return is_64 ? "riscv64" : "riscv32";
    case EM_S390:
      return is_64 ? "s390x" : "s390";
    case EM_PPC64:
      return is_big ? "ppc64" : "ppc64le";
    case EM_MIPS:
      return fmt::format("mips{}{}", is_64 ? "64" : "", is_big ? "" : "le");
    case 258:  // EM_LOONGARCH, which glibc 2.36 does not name
      return "loong64";
    default:
      return fmt::format("machine {}", image.machine);
  }
}

// The record of UPX's loader follows the program headers: a checksum, then "UPX!". UPX drops
// the sections, so that such a text in a program that has some is not taken for it.
bool is_packed(const Image& image) {
  constexpr size_t kHeaders = 4096;
  Bytes headers = image.file.first(std::min(image.file.size(), kHeaders));
  return image.sections.empty() && as_text(headers).find("UPX!") != std::string_view::npos;
}

}  // namespace

Kind kind_of(const Image& image) {
  Kind kind;
  kind.type = type_of(image);
  kind.machine = machine_of(image);
  // Static programs that are position-independent have a dynamic section as well, for their
  // own relocations.
  bool is_dynamic = find_segment(image, PT_DYNAMIC) != nullptr;
  bool is_static_program = image.type == ET_DYN && kind.type != "shared object" &&
                           find_segment(image, PT_INTERP) == nullptr;
  kind.linking = is_dynamic && !is_static_program ? "dynamically linked" : "statically linked";
  // A program without .symtab may still name its functions by .gopclntab.
  kind.is_stripped = image.find_section(uint32_t{SHT_SYMTAB}) == nullptr;
  kind.has_dwarf = has_contents(image, ".debug_info") || has_contents(image, ".zdebug_info");
  kind.is_packed = is_packed(image);
  return kind;
}

namespace {

constexpr uint32_t kGnuBuildId = 3;
constexpr uint32_t kGoBuildId = 4;
constexpr uint32_t kPackage = 0xcafe1a7e;

// Longer than any id in use: GNU ids have 8 to 64 bytes, Go's up to 83.
constexpr uint32_t kMaxIdSize = 4096;

uint64_t padding(uint64_t size) {
  return (4 - size % 4) % 4;
}

// Ids stand in the first notes. Segments and sections may all name the same bytes, so what is
// read in all is limited.
constexpr size_t kMaxNotes = 1 << 20;

// Reads notes of the layout that build_ids() has in image.h. The first id of a kind counts.
void read_notes(Bytes notes, ByteOrder order, BuildIds& ids) {
  Reader in(notes, order);
  while (in.ok() && in.remaining() > 0) {
    uint32_t name_size = in.u32();
    uint32_t description_size = in.u32();
    uint32_t type = in.u32();
    std::string_view name = as_text(in.bytes(name_size));
    name = name.substr(0, name.find('\0'));  // Go's linker counts its padding in
    in.bytes(padding(name_size));
    std::string_view description = as_text(in.bytes(description_size));
    if (!in.ok())
      return;
    if (description_size <= kMaxIdSize) {
      if (type == kGnuBuildId && name == "GNU" && ids.gnu.empty())
        ids.gnu = description;
      if (type == kGoBuildId && name == "Go" && ids.go.empty())
        ids.go = description;
      if (type == kPackage && name == "FDO" && ids.package.empty())
        ids.package = description.substr(0, description.find('\0'));
    }
    // The last note may lack its padding.
    in.bytes(std::min<uint64_t>(padding(description_size), in.remaining()));
  }
}

}  // namespace

std::vector<FileExtent> note_extents(const Image& image) {
  std::vector<FileExtent> extents;
  uint64_t left = kMaxNotes;
  auto add = [&](uint64_t offset, uint64_t size) {
    // A piece that is too large is left out, and smaller ones behind it are still read.
    if (size > left)
      return;
    extents.push_back({offset, size});
    left -= size;
  };
  for (const Segment& segment : image.segments)
    if (segment.type == PT_NOTE)
      add(segment.offset, segment.file_size);
  // Go's linker lists the GNU build id in a section alone, and the kernel looks at segments
  // alone: both are read.
  for (const Section& section : image.sections)
    if (section.type == SHT_NOTE)
      add(section.offset, section.size);
  return extents;
}

BuildIds build_ids(const Image& image) {
  BuildIds ids;
  for (const FileExtent& extent : note_extents(image))
    if (auto notes = slice(image.file, extent.offset, extent.size))
      read_notes(*notes, image.order, ids);
  return ids;
}

BuildIds build_ids(Bytes notes) {
  BuildIds ids;
  read_notes(notes, ByteOrder::kLittle, ids);
  return ids;
}

std::string store_id(const BuildIds& ids) {
  constexpr size_t kUsualSize = 20;
  if (!ids.gnu.empty() || ids.go.empty())
    return ids.gnu;
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const uint8_t*>(ids.go.data()), ids.go.size());
  SHA256Final(reinterpret_cast<uint8_t*>(digest.data()), &context);
  return digest.substr(0, kUsualSize);
}

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
  // The CRC is at the next multiple of 4, counted from the start of the section.
  in->bytes((4 - in->offset() % 4) % 4);
  link.crc = in->u32();
  if (!in->ok())
    return in->error("debug link");
  // A path would lead out of the directories that are searched.
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
