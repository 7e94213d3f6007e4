#include "dwarf/packaged_unit.h"

#include "dwarf/section_file.h"

// libdw knows files, and no parts of them. A unit therefore gets an ELF file in memory whose
// sections have the right names and a byte each, and libelf is then told that their contents
// lie elsewhere: in the mapped package, and in the mapped program for what the unit left
// there. Range lists are read here and not by libdw: see has_list().

namespace gosym::dwarf {

std::unique_ptr<PackagedUnit> PackagedUnit::open(const elf::Image& program,
                                                 const PackagedParts& parts,
                                                 const SkeletonParts& skeleton) {
  std::unique_ptr<PackagedUnit> unit(new PackagedUnit(program));
  unit->parts_ = parts;
  unit->skeleton_ = skeleton;
  struct Part {
    std::string_view name;
    Bytes bytes;
  };
  std::vector<Part> sections = {
      {".debug_info", parts.info},  {".debug_abbrev", parts.abbreviations},
      {".debug_line", parts.lines}, {".debug_str_offsets", parts.text_offsets},
      {".debug_str", parts.texts},  {".debug_addr", skeleton.addresses}};
  std::erase_if(sections, [](const Part& part) { return part.bytes.empty(); });
  SectionFile file(program);
  // One byte each: an empty section would be none for libelf. The real bytes come below.
  for (const Part& part : sections)
    file.add(part.name, 1);
  file.finish();
  uint64_t size = file.size();
  unit->file_ = file.take();
  elf_version(EV_CURRENT);
  unit->elf_ = elf_memory(reinterpret_cast<char*>(unit->file_.get()), size);
  for (size_t i = 0; i < sections.size(); i++) {
    // Releases of libdw take one or the other; they only read there.
    // Section 0 of a file is none.
    Elf_Scn* section = elf_getscn(unit->elf_, i + 1);
    for (Elf_Data* data : {elf_rawdata(section, nullptr), elf_getdata(section, nullptr)}) {
      if (data == nullptr)
        return nullptr;
      data->d_buf = const_cast<std::byte*>(sections[i].bytes.data());
      data->d_size = sections[i].bytes.size();
    }
  }
  unit->dwarf_ = dwarf_begin_elf(unit->elf_, DWARF_C_READ, nullptr);
  Dwarf_CU* cu = nullptr;
  if (unit->dwarf_ == nullptr || dwarf_get_units(unit->dwarf_, nullptr, &cu, &unit->version_,
                                                 nullptr, &unit->die_, nullptr) != 0)
    return nullptr;
  dwarf_setalt(unit->dwarf_, reinterpret_cast<Dwarf*>(-1));  // it shall look for none
  dwarf_cu_info(cu, nullptr, nullptr, nullptr, nullptr, nullptr, &unit->address_size_,
                &unit->offset_size_);
  bool is_unit = dwarf_tag(&unit->die_) == DW_TAG_compile_unit &&
                 (unit->address_size_ == 4 || unit->address_size_ == 8);
  return is_unit ? std::move(unit) : nullptr;
}

PackagedUnit::~PackagedUnit() {
  dwarf_end(dwarf_);
  elf_end(elf_);
}

// Only the attribute is asked for: libdw would look for the list itself, with a base that it
// does not have.
bool PackagedUnit::has_list(Dwarf_Die& die) const {
  return dwarf_hasattr(&die, DW_AT_ranges) != 0;
}

uint64_t PackagedUnit::address(uint64_t number) const {
  Reader in(skeleton_.addresses, program_.order);
  // Address 0 for a number outside of the table: no code lies there.
  if (number >= skeleton_.addresses.size() / address_size_)
    return 0;
  in.bytes(number * address_size_);
  return in.word(address_size_);
}

void PackagedUnit::visit_list(Dwarf_Die& die, uint64_t& left, const Visitor& visit) const {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&die, DW_AT_ranges, &attribute) == nullptr)
    return;
  // libdw hands out where the value lies in the section, which is checked before it is read
  // here: pointers that it makes of damaged data may lead elsewhere.
  auto* value = reinterpret_cast<const std::byte*>(attribute.valp);
  const std::byte* start = parts_.info.data();
  if (value < start || value >= start + parts_.info.size())
    return;
  Reader in(tail(parts_.info, static_cast<uint64_t>(value - start)), program_.order);
  // DWARF 4 has the lists in the program, by offset from the unit's part; DWARF 5 in the
  // package, by offset or by number.
  if (version_ < 5)
    visit_4(tail(skeleton_.old_ranges, in.word(offset_size_)), left, visit);
  else
    visit_5(list_5(in, attribute.form == DW_FORM_rnglistx), left, visit);
}

// The list that an attribute names, by its offset or by its number in the table of offsets:
//
//   u32 length (64-bit DWARF: 0xffffffff, u64), u16 version, u8 size of addresses, u8 0,
//   u32 count, so many offsets, from here on
Bytes PackagedUnit::list_5(Reader& value, bool is_number) const {
  if (!is_number)
    return tail(parts_.ranges, value.word(offset_size_));
  uint64_t number = value.uvarint64();
  // The bytes of the header before the table of offsets, by the size of a length.
  uint64_t header = offset_size_ == 8 ? 20 : 12;
  Bytes offsets = tail(parts_.ranges, header);
  if (!value.ok() || number >= offsets.size() / offset_size_)
    return {};
  Reader in(tail(offsets, number * offset_size_), program_.order);
  return tail(offsets, in.word(offset_size_));
}

// Pairs of begin and end; both 0: no more; the greatest of all and another: the base is that.
void PackagedUnit::visit_4(Bytes list, uint64_t& left, const Visitor& visit) const {
  Reader in(list, program_.order);
  uint64_t greatest = address_size_ == 4 ? UINT32_MAX : UINT64_MAX;
  uint64_t base = skeleton_.base;
  for (; left > 0; left--) {
    uint64_t begin = in.word(address_size_);
    uint64_t end = in.word(address_size_);
    if (!in.ok() || (begin == 0 && end == 0))
      return;
    if (begin == greatest)
      base = end;
    else if (begin < end)
      visit(base + begin, base + end);
  }
}

// Entries, each u8 its kind and its operands (DWARF 5, 7.25).
void PackagedUnit::visit_5(Bytes list, uint64_t& left, const Visitor& visit) const {
  Reader in(list, program_.order);
  uint64_t base = skeleton_.base;
  // Each entry is paid for, for any number of DIEs may have the same long list.
  for (; left > 0; left--) {
    uint64_t begin = 0;
    uint64_t end = 0;
    switch (in.u8()) {
      case DW_RLE_base_addressx:
        base = address(in.uvarint64());
        continue;
      case DW_RLE_base_address:
        base = in.word(address_size_);
        continue;
      case DW_RLE_startx_endx:
        begin = address(in.uvarint64());
        end = address(in.uvarint64());
        break;
      case DW_RLE_startx_length:
        begin = address(in.uvarint64());
        end = begin + in.uvarint64();
        break;
      case DW_RLE_offset_pair:
        begin = base + in.uvarint64();
        end = base + in.uvarint64();
        break;
      case DW_RLE_start_end:
        begin = in.word(address_size_);
        end = in.word(address_size_);
        break;
      case DW_RLE_start_length:
        begin = in.word(address_size_);
        end = begin + in.uvarint64();
        break;
      default:
        // The end of the list, or a kind that is not known.
        return;
    }
    if (!in.ok())
      return;
    if (begin < end)
      visit(begin, end);
  }
}

}  // namespace gosym::dwarf
