#include "dwarf/package.h"

#include <vector>

#include "base/reader.h"

namespace gosym::dwarf {

namespace {

// The numbers that are the same in both versions of the index.
constexpr uint32_t kInfo = 1;
constexpr uint32_t kAbbreviations = 3;
constexpr uint32_t kLines = 4;
constexpr uint32_t kTextOffsets = 6;
constexpr uint32_t kRangesOf5 = 8;  // of version 2 macros

constexpr uint32_t kGnuVersion = 2;

// Ten kinds of sections are known; each slot would be read once for each of any number.
constexpr uint32_t kMaxColumns = 64;

Bytes contents_of(const elf::Image& image, std::string_view name) {
  return image.contents(name).value_or(Bytes{});
}

}  // namespace

Result<Package> Package::read(const elf::Image& image) {
  auto index = image.contents(".debug_cu_index");
  if (!index)
    return Error("no index of units");
  Package package;
  // Sections of a package are those of object files with split DWARF, ".dwo" at their ends.
  // The table of texts is not divided among units, so that the index has no column for it.
  package.texts_ = contents_of(image, ".debug_str.dwo");
  package.sections_[kInfo] = contents_of(image, ".debug_info.dwo");
  package.sections_[kAbbreviations] = contents_of(image, ".debug_abbrev.dwo");
  package.sections_[kLines] = contents_of(image, ".debug_line.dwo");
  package.sections_[kTextOffsets] = contents_of(image, ".debug_str_offsets.dwo");
  package.sections_[kRangesOf5] = contents_of(image, ".debug_rnglists.dwo");

  Reader in(*index, image.order);
  // Two bytes of version and two of padding in DWARF 5, four bytes of version in GNU's: the
  // first half of the latter cannot be 5.
  Bytes version = in.bytes(4);
  bool is_5 = load<uint16_t>(version, 0, image.order) == 5;
  package.version_ = is_5 ? 5 : load<uint32_t>(version, 0, image.order).value_or(0);
  // A hash table of ids and row numbers, then a table of offsets and one of sizes with a column
  // for each kind of section. It is read as a list: every slot is looked at once.
  uint32_t columns = in.u32();
  uint32_t units = in.u32();
  uint32_t slots = in.u32();
  // A number that the file has no bytes for fails the reader, which is asked below.
  Reader ids(in.bytes(uint64_t{8} * slots), image.order);
  Reader rows(in.bytes(uint64_t{4} * slots), image.order);
  Bytes kinds = in.bytes(uint64_t{4} * columns);
  if (!in.ok())
    return in.error("index of units");
  // Bounded before the products below, which could wrap around.
  if (columns > kMaxColumns)
    return errorf("index of units: {} columns, where {} are allowed", columns, kMaxColumns);
  Bytes offsets = in.bytes(uint64_t{4} * columns * units);
  Bytes sizes = in.bytes(uint64_t{4} * columns * units);
  if (!in.ok())
    return in.error("index of units");
  if (!is_5 && package.version_ != kGnuVersion)
    return errorf("index of units: version {} is not known", package.version_);

  for (uint32_t slot = 0; slot < slots; slot++) {
    uint64_t id = ids.u64();
    uint32_t row = rows.u32();
    // Unused slots are empty entries of the hash table. A row that the tables do not have is
    // damage, of this slot only.
    if (row == 0 || row > units)
      continue;
    Sections parts;
    for (uint32_t column = 0; column < columns; column++) {
      uint32_t kind = load<uint32_t>(kinds, uint64_t{4} * column, image.order).value_or(0);
      uint64_t at = 4 * (uint64_t{row - 1} * columns + column);
      // Kinds that are not read, such as macros, are passed over. A part outside of its
      // section reads as empty.
      if (kind < kKinds)
        parts[kind] =
            slice(package.sections_[kind], load<uint32_t>(offsets, at, image.order).value_or(0),
                  load<uint32_t>(sizes, at, image.order).value_or(0))
                .value_or(Bytes{});
    }
    // An id that stands there twice keeps its first row.
    package.rows_.try_emplace(id, parts);
  }
  return package;
}

std::optional<PackagedParts> Package::find(uint64_t id) const {
  auto known = rows_.find(id);
  if (known == rows_.end())
    return std::nullopt;
  const Sections& parts = known->second;
  // The number that means range lists in DWARF 5 means macros in GNU's index. The older ranges
  // are in the program's own .debug_ranges, to which the skeleton leads.
  return PackagedParts{.info = parts[kInfo],
                       .abbreviations = parts[kAbbreviations],
                       .lines = parts[kLines],
                       .text_offsets = parts[kTextOffsets],
                       .ranges = version_ == kGnuVersion ? Bytes{} : parts[kRangesOf5],
                       .texts = texts_};
}

}  // namespace gosym::dwarf
