#include "dwarf/debug_info.h"

#include <dwarf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tsl/robin_map.h>

#include <algorithm>

namespace gosym::dwarf {

namespace {

// Trees of DIEs are as deep as blocks are nested in the source. Compilers stop at 256 brackets.
constexpr int kMaxDepth = 512;
// What libdw may keep of the units that were read. A unit of C++ takes a few megabytes.
constexpr uint64_t kMaxKept = 128 << 20;
// What a row of a line table takes in libdw, and a function in a list of ours.
constexpr uint64_t kRowSize = 64;
constexpr uint64_t kFunctionSize = 48;

// Calls `visit(begin, end)` for each piece of code that a DIE has.
template <class Visitor>
void for_each_range(Dwarf_Die& die, Visitor visit) {
  // A hostile list of ranges may be as long as its section; nothing real comes near.
  constexpr int kMaxRanges = 1 << 20;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  for (int i = 0; i < kMaxRanges; i++) {
    offset = dwarf_ranges(&die, offset, &base, &begin, &end);
    if (offset <= 0)
      return;
    if (begin < end)
      visit(begin, end);
  }
}

// Calls `visit(child)` for each child of a DIE.
template <class Visitor>
void for_each_child(Dwarf_Die& parent, Visitor visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0)
    return;
  while (true) {
    visit(child);
    Dwarf_Die next;
    // A sibling that does not lie further on would be met for ever.
    if (dwarf_siblingof(&child, &next) != 0 || next.addr <= child.addr)
      return;
    child = next;
  }
}

bool has_address(Dwarf_Die& die, uint64_t address) {
  return dwarf_haspc(&die, address) > 0;
}

bool has_code(Dwarf_Die& die) {
  return dwarf_hasattr(&die, DW_AT_low_pc) != 0 || dwarf_hasattr(&die, DW_AT_ranges) != 0;
}

bool is_block(int tag) {
  return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

uint32_t number(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
    return 0;
  return static_cast<uint32_t>(value);
}

}  // namespace

struct FunctionDie {
  uint64_t begin = 0;
  uint64_t end = 0;
  Dwarf_Die die{};
};

struct DebugInfo::Unit {
  Dwarf_Die die{};
  std::string directory;               // where the compiler was run
  std::vector<FunctionDie> functions;  // by begin
  Dwarf_Lines* lines = nullptr;
  size_t line_count = 0;
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;

  // Functions may hold others, as in D and Ada; those have been put before them.
  void add_functions(Dwarf_Die& parent, int depth);
  const FunctionDie* function_at(uint64_t address) const;
  std::pair<const char*, int> position_at(uint64_t address) const;
};

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

void DebugInfo::Unit::add_functions(Dwarf_Die& parent, int depth) {
  if (depth == kMaxDepth)
    return;
  for_each_child(parent, [&](Dwarf_Die& child) {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        for_each_range(child, [&](uint64_t begin, uint64_t end) {
          functions.push_back({begin, end, child});
        });
        add_functions(child, depth + 1);
        break;
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        add_functions(child, depth + 1);
        break;
      default:
        break;
    }
  });
}

const FunctionDie* DebugInfo::Unit::function_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(functions, address, {}, &FunctionDie::begin);
  // The innermost of nested functions begins last. Others in between end before.
  constexpr int kMaxNested = 16;
  for (int i = 0; after != functions.begin() && i < kMaxNested; i++)
    if (--after; address < after->end)
      return &*after;
  return nullptr;
}

std::pair<const char*, int> DebugInfo::Unit::position_at(uint64_t address) const {
  size_t low = 0;
  size_t high = line_count;
  auto address_of = [&](size_t i) {
    Dwarf_Addr at = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, i), &at);
    return at;
  };
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (address_of(middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  // The last row at or before the address; none if that only ends what came before.
  Dwarf_Line* row = low == 0 ? nullptr : dwarf_onesrcline(lines, low - 1);
  bool is_end = true;
  int line = 0;
  if (row == nullptr || dwarf_lineendsequence(row, &is_end) != 0 || is_end ||
      dwarf_lineno(row, &line) != 0)
    return {nullptr, 0};
  return {dwarf_linesrc(row, nullptr, nullptr), line};
}

DebugInfo::DebugInfo(const elf::Image& image, Bytes alternate)
    : image_(image), alternate_(alternate) {}

DebugInfo::~DebugInfo() = default;

std::unique_ptr<DebugInfo> DebugInfo::open(const elf::Image& image, Bytes alternate) {
  if (!image.find_section(".debug_info") && !image.find_section(".zdebug_info"))
    return nullptr;
  std::unique_ptr<DebugInfo> info(new DebugInfo(image, alternate));
  return info->read_unit_ranges() ? std::move(info) : nullptr;
}

namespace {

// libelf takes memory that it may write to, but does so only when asked to.
Elf* open_elf(Bytes file) {
  elf_version(EV_CURRENT);
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(file.data()));
  return elf_memory(start, file.size());
}

const char* text_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(&die, name, &attribute));
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

// The DIE of a unit with its code; of split DWARF that in the other file. False if it has none.
bool code_die(Dwarf_CU* unit, Dwarf_Die& die) {
  Dwarf_Die own;
  Dwarf_Die split{};
  uint8_t type = 0;
  if (dwarf_cu_info(unit, nullptr, &type, &own, nullptr, nullptr, nullptr, nullptr) != 0)
    return false;
  if (type == DW_UT_skeleton && has_split_file(own))
    dwarf_cu_info(unit, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
  if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial)
    return false;
  bool has_split = type == DW_UT_skeleton && split.addr != nullptr;
  die = has_split ? split : own;
  int tag = dwarf_tag(&die);
  return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

}  // namespace

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

  Dwarf_CU* unit = nullptr;
  while (dwarf_get_units(session_->dwarf, unit, &unit, nullptr, nullptr, nullptr, nullptr) ==
         0) {
    Dwarf_Die die;
    if (!code_die(unit, die))
      continue;
    Dwarf_Die own;
    dwarf_cu_info(unit, nullptr, nullptr, &own, nullptr, nullptr, nullptr, nullptr);
    // The ranges of a split unit are with its skeleton. What a linker has discarded stays, at
    // addresses where no code is.
    for_each_range(own, [&](uint64_t begin, uint64_t end) {
      if (image_.is_executable_at(ImageAddress{begin}))
        ranges_.push_back({begin, end, 0, dwarf_dieoffset(&own)});
    });
  }
  std::ranges::stable_sort(ranges_, {}, &UnitRange::begin);
  uint64_t max_end = 0;
  for (UnitRange& range : ranges_)
    range.max_end = max_end = std::max(max_end, range.end);
  return !ranges_.empty();
}

DebugInfo::Unit* DebugInfo::unit_at(ImageAddress address) {
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
  auto unit = std::make_unique<Unit>();
  Dwarf_Die own;
  if (dwarf_offdie(session_->dwarf, range->unit, &own) == nullptr ||
      !code_die(own.cu, unit->die))
    return nullptr;
  if (const char* directory = text_of(own, DW_AT_comp_dir))
    unit->directory = directory;
  unit->add_functions(unit->die, 0);
  std::ranges::stable_sort(unit->functions, {}, &FunctionDie::begin);
  if (dwarf_getsrclines(&unit->die, &unit->lines, &unit->line_count) != 0)
    unit->line_count = 0;
  if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->file_count) != 0)
    unit->file_count = 0;
  session_->kept += unit->line_count * kRowSize + unit->functions.size() * kFunctionSize;
  return (session_->units[range->unit] = std::move(unit)).get();
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

namespace {

// Appends the inlined calls below `scope` that an address lies in, outermost first.
void add_inlined(Dwarf_Die& scope, uint64_t address, int depth, std::vector<Dwarf_Die>& found) {
  if (depth == kMaxDepth)
    return;
  bool is_done = false;
  for_each_child(scope, [&](Dwarf_Die& child) {
    int tag = dwarf_tag(&child);
    bool is_call = tag == DW_TAG_inlined_subroutine;
    if (is_done || (!is_call && !is_block(tag)))
      return;
    // A block without code of its own may hold calls that have some.
    is_done = has_address(child, address);
    if (!is_done && (is_call || has_code(child)))
      return;
    if (is_call)
      found.push_back(child);
    add_inlined(child, address, depth + 1, found);
  });
}

}  // namespace

bool DebugInfo::find(ImageAddress address, std::vector<Call>& calls) {
  Unit* unit = unit_at(address);
  const FunctionDie* function = unit ? unit->function_at(to_integer(address)) : nullptr;
  if (!function)
    return false;
  std::vector<Dwarf_Die> scopes = {function->die};
  add_inlined(scopes[0], to_integer(address), 0, scopes);

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
  auto [file, line] = unit->position_at(to_integer(address));
  return {keep_path(*unit, file), line > 0 ? static_cast<uint32_t>(line) : 0};
}

}  // namespace gosym::dwarf
