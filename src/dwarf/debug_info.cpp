#include "dwarf/debug_info.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <tsl/robin_map.h>

#include <algorithm>

#include "base/reader.h"
#include "dwarf/dies.h"
#include "dwarf/unit.h"

namespace gosym::dwarf {

namespace {

// What libdw may keep of the units that were read. A unit of C++ takes a few megabytes.
constexpr uint64_t kMaxKept = 128 << 20;
// What the sections may unpack to: all of them a few times what the largest programs have, and
// each so many times its size. Debugging information packs to a tenth at the best.
constexpr uint64_t kMaxUnpacked = uint64_t{4} << 30;
constexpr uint64_t kMaxRatio = 64;

uint32_t number(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
    return 0;
  return static_cast<uint32_t>(value);
}

// The bytes of a section once it is unpacked: the header of a compressed one tells.
//
//   SHF_COMPRESSED:  u32 type, in 64-bit files u32 0, word size, word alignment
//   .zdebug_*:       "ZLIB", u64 size, big-endian
uint64_t unpacked_size(const elf::Image& image, const elf::Section& section) {
  Bytes bytes = slice(image.file, section.offset, section.size).value_or(Bytes{});
  if ((section.flags & SHF_COMPRESSED) != 0) {
    Reader in(bytes, image.order);
    in.bytes(image.pointer_size);
    return in.word(image.pointer_size);
  }
  if (section.name.starts_with(".zdebug_"))
    return load<uint64_t>(bytes, 4, ByteOrder::kBig).value_or(0);
  return bytes.size();
}

bool is_bomb(const elf::Image& image) {
  uint64_t left = kMaxUnpacked;
  for (const elf::Section& section : image.sections) {
    if (!section.name.starts_with(".debug_") && !section.name.starts_with(".zdebug_"))
      continue;
    uint64_t size = unpacked_size(image, section);
    if (size > left || size / kMaxRatio > section.size)
      return true;
    left -= size;
  }
  return false;
}

}  // namespace

struct DebugInfo::Session {
  Elf* elf = nullptr;
  Elf* alternate_elf = nullptr;
  Dwarf* dwarf = nullptr;
  Dwarf* alternate = nullptr;
  tsl::robin_map<Dwarf_Off, std::unique_ptr<Unit>> units;
  uint64_t kept = 0;

  ~Session() {
    units.clear();
    dwarf_end(dwarf);
    dwarf_end(alternate);
    elf_end(elf);
    elf_end(alternate_elf);
  }
};

DebugInfo::DebugInfo(const elf::Image& image, Bytes alternate, bool follows_split)
    : image_(image), alternate_(alternate), follows_split_(follows_split) {}

DebugInfo::~DebugInfo() = default;

std::unique_ptr<DebugInfo> DebugInfo::open(const elf::Image& image, Bytes alternate,
                                           bool follows_split) {
  if (!image.find_section(".debug_info") && !image.find_section(".zdebug_info"))
    return nullptr;
  if (is_bomb(image))
    return nullptr;
  std::unique_ptr<DebugInfo> info(new DebugInfo(image, alternate, follows_split));
  return info->read_unit_ranges() ? std::move(info) : nullptr;
}

namespace {

// libelf takes memory that it may write to, but does so only when asked to.
Elf* open_elf(Bytes file) {
  elf_version(EV_CURRENT);
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(file.data()));
  return elf_memory(start, file.size());
}

// Whether the file that a unit was split off to may be opened. libdw does it for any name, and
// a FIFO would hold us for good.
bool has_split_file(Dwarf_Die& unit) {
  const char* name = text_of(unit, DW_AT_dwo_name);
  if (name == nullptr)
    name = text_of(unit, DW_AT_GNU_dwo_name);
  const char* directory = text_of(unit, DW_AT_comp_dir);
  if (name == nullptr)
    return false;
  std::string path = *name == '/' || directory == nullptr
                         ? std::string(name)
                         : fmt::format("{}/{}", directory, name);
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

// The DIE of a unit with its code; of split DWARF that in the other file. False if it has none.
bool DebugInfo::code_die(Dwarf_CU* unit, Dwarf_Die& die) const {
  Dwarf_Die own;
  Dwarf_Die split{};
  uint8_t type = 0;
  if (dwarf_cu_info(unit, nullptr, &type, &own, nullptr, nullptr, nullptr, nullptr) != 0)
    return false;
  if (type == DW_UT_skeleton && follows_split_ && has_split_file(own))
    dwarf_cu_info(unit, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
  if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial)
    return false;
  bool has_split = type == DW_UT_skeleton && split.addr != nullptr;
  die = has_split ? split : own;
  int tag = dwarf_tag(&die);
  return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

bool DebugInfo::read_unit_ranges() {
  session_ = std::make_unique<Session>();
  session_->elf = open_elf(image_.file);
  session_->dwarf = dwarf_begin_elf(session_->elf, DWARF_C_READ, nullptr);
  if (session_->dwarf == nullptr)
    return false;
  if (!alternate_.empty()) {
    session_->alternate_elf = open_elf(alternate_);
    session_->alternate = dwarf_begin_elf(session_->alternate_elf, DWARF_C_READ, nullptr);
  }
  // libdw would look for a file that it is not given by itself, and open whatever has the name:
  // -1 is its own mark for one that was not found.
  dwarf_setalt(session_->dwarf, session_->alternate != nullptr ? session_->alternate
                                                               : reinterpret_cast<Dwarf*>(-1));
  if (!ranges_.empty())
    return true;

  // A range takes three bytes at the least, which may be packed.
  uint64_t ranges_left = image_.file.size();
  Dwarf_CU* unit = nullptr;
  while (dwarf_get_units(session_->dwarf, unit, &unit, nullptr, nullptr, nullptr, nullptr) ==
         0) {
    Dwarf_Die die;
    if (!code_die(unit, die))
      continue;
    Dwarf_Die own;
    dwarf_cu_info(unit, nullptr, nullptr, &own, nullptr, nullptr, nullptr, nullptr);
    // The ranges of a split unit are with its skeleton. Those of what the linker has discarded
    // stay, at addresses where no code is.
    for_each_range(own, ranges_left, [&](uint64_t begin, uint64_t end) {
      if (image_.is_code_at(ImageAddress{begin}))
        ranges_.push_back({begin, end, 0, dwarf_dieoffset(&own)});
    });
  }
  std::ranges::stable_sort(ranges_, {}, &UnitRange::begin);
  uint64_t max_end = 0;
  for (UnitRange& range : ranges_)
    range.max_end = max_end = std::max(max_end, range.end);
  return !ranges_.empty();
}

Unit* DebugInfo::unit_at(ImageAddress address) {
  uint64_t at = to_integer(address);
  auto range = std::ranges::upper_bound(ranges_, at, {}, &UnitRange::begin);
  while (range != ranges_.begin() && (--range)->end <= at)
    if (range->max_end <= at)
      return nullptr;
  if (ranges_.empty() || at < range->begin || at >= range->end)
    return nullptr;

  if (auto known = session_->units.find(range->unit); known != session_->units.end())
    return known->second.get();
  if (session_->kept > kMaxKept && !read_unit_ranges())
    return nullptr;
  Dwarf_Die own;
  Dwarf_Die die;
  if (dwarf_offdie(session_->dwarf, range->unit, &own) == nullptr || !code_die(own.cu, die))
    return nullptr;
  // A DIE takes a byte at the least, and zlib makes of a byte a thousand at the most.
  uint64_t max_dies = std::min<uint64_t>(1000 * image_.file.size(), 1 << 26);
  auto unit = std::make_unique<Unit>(read_unit(die, own, max_dies, image_.file.size()));
  drop_discarded(*unit);
  session_->kept += unit->memory_size();
  return (session_->units[range->unit] = std::move(unit)).get();
}

// What the linker has discarded keeps its description, mostly at address 0: it covers what
// really lies there. Of its lines nothing tells them apart.
void DebugInfo::drop_discarded(Unit& unit) const {
  std::erase_if(unit.functions, [&](const Unit::Function& function) {
    bool is_discarded = !image_.is_code_at(ImageAddress{function.begin});
    if (is_discarded)
      unit.discarded.push_back(function);
    return is_discarded;
  });
}

// Paths are relative to where the compiler was run. What is no path is in angle brackets.
std::string_view DebugInfo::keep_path(const Unit& unit, const char* path) {
  if (path == nullptr)
    return {};
  bool is_relative = *path != '/' && *path != '<' && !unit.directory.empty();
  return keep(is_relative ? fmt::format("{}/{}", unit.directory, path) : path);
}

// The name that the linker knows the function by, if the compiler noted it; else that in the
// source, which is the same for C and Go.
std::string_view DebugInfo::name_of(Dwarf_Die& function) {
  for (unsigned int name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(&function, name, &attribute) != nullptr)
      if (const char* text = dwarf_formstring(&attribute))
        return keep(text);
  }
  return {};
}

Position DebugInfo::call_position(Unit& unit, Dwarf_Die& inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  Dwarf_Word line = 0;
  if (dwarf_attr(&inlined, DW_AT_call_line, &attribute) != nullptr)
    dwarf_formudata(&attribute, &line);
  bool has_file = dwarf_attr(&inlined, DW_AT_call_file, &attribute) != nullptr &&
                  dwarf_formudata(&attribute, &file) == 0 && file < unit.file_count;
  const char* path = has_file ? dwarf_filesrc(unit.files, file, nullptr, nullptr) : nullptr;
  return {keep_path(unit, path), static_cast<uint32_t>(std::min<Dwarf_Word>(line, UINT32_MAX))};
}

bool DebugInfo::find(ImageAddress address, std::vector<Call>& calls) {
  Unit* unit = unit_at(address);
  const Unit::Function* function = unit ? unit->function_at(to_integer(address)) : nullptr;
  if (!function)
    return false;
  std::vector<Dwarf_Die> scopes = {function->die};
  add_inlined_calls(function->die, to_integer(address), scopes);

  size_t first_call = calls.size();
  Position position = find_position(address);
  for (size_t i = scopes.size(); i-- > 0;) {
    std::string_view name = name_of(scopes[i]);
    if (name.empty()) {
      calls.resize(first_call);
      return false;
    }
    calls.push_back({name, position.file, position.line, number(scopes[i], DW_AT_decl_line),
                     FunctionKind::kNormal, /*is_inlined=*/i > 0});
    position = call_position(*unit, scopes[i]);
  }
  return true;
}

Position DebugInfo::find_position(ImageAddress address) {
  Unit* unit = unit_at(address);
  if (!unit)
    return {};
  auto holds = [at = to_integer(address)](const Unit::Function& function) {
    return at >= function.begin && at < function.end;
  };
  if (std::ranges::any_of(unit->discarded, holds))
    return {};
  auto [file, line] = unit->position_at(to_integer(address));
  return {keep_path(*unit, file), line > 0 ? static_cast<uint32_t>(line) : 0};
}

}  // namespace gosym::dwarf
