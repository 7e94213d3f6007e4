#include "dwarf/debug_info.h"

#include <fmt/core.h>
#include <gelf.h>
#include <sys/stat.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <initializer_list>
#include <map>

#include "base/bytes.h"
#include "base/demangle.h"
#include "base/text.h"
#include "dwarf/line_table.h"
#include "dwarf/packaged_unit.h"

// open() reads which addresses each unit has. A question opens the unit of its address, finds
// the function there, and then the calls that were inlined into it. A Session is what libdw has
// read of all units: it is dropped as a whole when it is too large, so that a Unit and its DIEs
// are valid until another unit is opened.
//
// Functions of libdw give 0 if they have found something, 1 where a list ends, -1 for damage;
// dwarf_attr() gives null for an attribute that is not there, and dwarf_form*() fail for null.
// dwarf_attr_integrate() asks also the DIE that a DIE is a copy of. Each walk takes from a
// Budget, so that a damaged file comes to an end: at 0 it gives what it has found.

namespace gosym::dwarf {

namespace {

// Memory for the units that were read. A unit of C++ takes a few megabytes.
constexpr uint64_t kMaxKept = 96 << 20;
// Memory for names and paths: many times those of the largest programs. A limit is needed
// because a damaged file may have any number of texts that overlap.
constexpr uint64_t kMaxTexts = 512 << 20;
// Memory that libdw takes for one more file, about, in bytes.
constexpr uint64_t kPackagedSize = 16 << 10;

// An attribute of the DIE, or of the one that it is a copy of; 0 if it has none.
uint32_t number(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
    return 0;
  return static_cast<uint32_t>(value);
}

// Each byte of a unit is passed over by those who search for its functions, for its scopes and
// for the calls inlined into each function, hardly ever twice. Tables may be shared by a few
// units.
Budget budget_for(uint64_t size) {
  return {.die_bytes = 64 * size, .ranges = 4 * size, .line_bytes = 4 * size};
}

// The first declaration of a function, the one that lies in its scope.
Dwarf_Die declaration_of(Dwarf_Die function) {
  // An inlined call names the function to be inlined, and that its declaration in a class: two
  // are usual. A damaged file may go in circles.
  constexpr int kMaxHops = 4;
  for (int i = 0; i < kMaxHops; i++) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    Dwarf_Attribute* found = dwarf_attr(&function, DW_AT_abstract_origin, &attribute);
    if (found == nullptr)
      found = dwarf_attr(&function, DW_AT_specification, &attribute);
    if (found == nullptr || dwarf_formref_die(found, &next) == nullptr)
      break;
    function = next;
  }
  return function;
}

// The path that is known by the number, or else what is made of it.
template <class Make>
std::string_view path_of(tsl::robin_map<uint64_t, std::string_view>& paths, uint64_t number,
                         Make make) {
  if (auto known = paths.find(number); known != paths.end())
    return known->second;
  return paths[number] = make();
}

}  // namespace

struct DebugInfo::Session {
  Dwarf* dwarf = nullptr;
  Dwarf* alternate = nullptr;
  tsl::robin_map<Dwarf_Off, std::unique_ptr<Unit>> units;
  // By file (this one, or one that units were split off to) and offset. Null if damaged.
  std::map<std::pair<Dwarf*, Dwarf_Word>, std::unique_ptr<LineTable>> line_tables;
  tsl::robin_map<Dwarf_CU*, Scopes> scopes;
  // By the number of a file, of each unit that functions are declared in.
  tsl::robin_map<Dwarf_CU*, tsl::robin_map<uint64_t, std::string_view>> declared;
  std::map<uint64_t, std::unique_ptr<PackagedUnit>> packaged;  // by id; null if damaged
  uint64_t kept = 0;
  Budget left;

  // Units, tables and packages have pointers into the files: they go before these are closed.
  ~Session() {
    units.clear();
    line_tables.clear();
    packaged.clear();
    dwarf_end(dwarf);
    dwarf_end(alternate);
  }
};

DebugInfo::DebugInfo(const elf::Image& image, PlainFile file, PlainFile alternate)
    : image_(image),
      file_(std::move(file)),
      alternate_(std::move(alternate)),
      code_(elf::code_ranges(image)) {}

DebugInfo::~DebugInfo() = default;

std::unique_ptr<DebugInfo> DebugInfo::open(const elf::Image& image, const OtherFiles& others,
                                           std::string* problem) {
  if (!image.find_section(".debug_info") && !image.find_section(".zdebug_info"))
    return nullptr;
  auto tell = [&](const Error& error) {
    if (problem)
      *problem = error.message();
  };
  auto file = PlainFile::make(image);
  if (!file) {
    tell(file.error());
    return nullptr;
  }
  // Without the alternate file, or the package, the rest is still of use: a problem with them
  // is told, and is no failure. Without bytes there is none.
  auto other = elf::parse(others.alternate);
  auto plain = other ? PlainFile::make(*other) : PlainFile();
  if (!plain)
    tell(plain.error());
  std::unique_ptr<DebugInfo> info(
      new DebugInfo(image, *std::move(file), plain ? *std::move(plain) : PlainFile()));
  info->follows_split_ = others.follows_split;
  if (auto packed = elf::parse(others.package); packed)
    if (auto done = info->read_package(*packed); !done)
      tell(done.error());
  bool is_open = info->open_session() && info->read_unit_ranges();
  if (info->missing_units_ > 0 && problem && problem->empty())
    *problem = info->missing_text();
  return is_open ? std::move(info) : nullptr;
}

namespace {

std::string split_name(Dwarf_Die& unit) {
  const char* name = text_of(unit, DW_AT_dwo_name);
  if (name == nullptr)
    name = text_of(unit, DW_AT_GNU_dwo_name);
  return name == nullptr ? "" : start_of(name);
}

// True if the file that a unit was split off to may be opened. libdw opens any name, and a FIFO
// would hold us for good.
bool has_split_file(Dwarf_Die& unit) {
  std::string name = split_name(unit);
  const char* directory = text_of(unit, DW_AT_comp_dir);
  if (name.empty())
    return false;
  std::string path =
      name[0] == '/' || directory == nullptr ? name : fmt::format("{}/{}", directory, name);
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The number that an attribute of a skeleton has; 0 if there is none.
uint64_t number_of_any(Dwarf_Die& die, std::initializer_list<unsigned int> names) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  for (unsigned int name : names)
    if (dwarf_attr(&die, name, &attribute) != nullptr &&
        dwarf_formudata(&attribute, &value) == 0)
      return value;
  return 0;
}

}  // namespace

std::string DebugInfo::missing_text() const {
  return fmt::format(
      "{} of the {} units that were split off its debugging information are not there "
      "('{}'{}): "
      "their inlined calls and lines are not known",
      missing_units_, split_units_, printable(first_missing_),
      missing_units_ == 1 ? "" : " and others");
}

// Gives the DIE of a unit, and counts those that were split off, and that are not there. False
// for a unit that never has code: of types, or of parts that other units import.
bool DebugInfo::has_code(Dwarf_CU* unit, Dwarf_Die& own) {
  uint8_t type = 0;
  uint64_t id = 0;
  if (dwarf_cu_info(unit, nullptr, &type, &own, nullptr, &id, nullptr, nullptr) != 0 ||
      type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial)
    return false;
  int tag = dwarf_tag(&own);
  if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
    return false;
  // A split unit is looked for now, for the warning, and opened when it is needed. To libdw
  // those of GNU's split DWARF 4 are skeletons, too.
  bool is_split = type == DW_UT_skeleton;
  split_units_ += is_split ? 1 : 0;
  if (is_split && !(package_ && package_->has(id)) && !(follows_split_ && has_split_file(own)))
    if (missing_units_++ == 0)
      first_missing_ = split_name(own);
  return true;
}

Bytes DebugInfo::section(std::string_view name) const {
  return debug_section(elf_.get(), name);
}

// Unpacks a package and reads its index. open() goes on without it if that fails.
Result<> DebugInfo::read_package(const elf::Image& file) {
  auto made = PlainFile::make(file);
  if (!made)
    return std::move(made).error();
  package_file_ = *std::move(made);
  package_size_ = package_file_.debug_size();
  auto image = elf::parse(package_file_.bytes());
  auto package = image ? Package::read(*image) : Result<Package>(std::move(image).error());
  if (!package)
    return std::move(package).error();
  package_ = *std::move(package);
  return Ok{};
}

// Null if it is in no package, or damaged. `own` is the skeleton, in the program; by `id` the
// package knows the unit.
const PackagedUnit* DebugInfo::open_packaged(Dwarf_Die& own, uint64_t id) {
  auto parts = package_ ? package_->find(id) : std::nullopt;
  if (!parts)
    return nullptr;
  auto [known, is_new] = session_->packaged.try_emplace(id);
  if (!is_new)
    return known->second.get();
  Dwarf_Addr base = 0;
  dwarf_lowpc(&own, &base);
  // Addresses and ranges of a split unit stay in the program's own sections.
  SkeletonParts skeleton{
      .addresses =
          tail(section("addr"), number_of_any(own, {DW_AT_addr_base, DW_AT_GNU_addr_base})),
      .old_ranges = tail(section("ranges"), number_of_any(own, {DW_AT_GNU_ranges_base})),
      .base = base};
  known->second = PackagedUnit::open(image_, *parts, skeleton);
  session_->kept += kPackagedSize;
  return known->second.get();
}

// Finds the DIE that describes the code of a unit: of split DWARF it is in the other file.
// False if the unit has none.
bool DebugInfo::find_code(Dwarf_CU* unit, CodeUnit& found) {
  uint8_t type = 0;
  uint64_t id = 0;
  if (dwarf_cu_info(unit, nullptr, &type, &found.own, nullptr, &id, nullptr, nullptr) != 0)
    return false;
  found.die = found.own;
  if (type != DW_UT_skeleton)
    return true;
  // A package of split units is read by us, since libdw 0.188 reads none; a single .dwo by
  // libdw.
  Dwarf_Die split{};
  found.packaged = open_packaged(found.own, id);
  if (found.packaged != nullptr)
    split = found.packaged->die();
  else if (follows_split_ && has_split_file(found.own))
    dwarf_cu_info(unit, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr);
  found.lacks_split = split.addr == nullptr;
  // The skeleton still tells which code is of the unit: it answers for that code, without
  // names.
  if (found.lacks_split)
    return true;
  found.die = split;
  return dwarf_tag(&split) == DW_TAG_compile_unit;
}

// libelf takes memory that it may write to. Ours is a private mapping.
DebugInfo::ElfHandle DebugInfo::open_elf(Bytes file) {
  elf_version(EV_CURRENT);
  auto* start = const_cast<char*>(reinterpret_cast<const char*>(file.data()));
  return ElfHandle(elf_memory(start, file.size()));
}

bool DebugInfo::has_given_up() const {
  const Budget& left = session_->left;
  return has_given_up_ || left.die_bytes == 0 || left.ranges == 0 || left.line_bytes == 0;
}

bool DebugInfo::open_session() {
  // A new session may read as much again. That an earlier one gave up stays known.
  has_given_up_ = session_ && has_given_up();
  session_ = std::make_unique<Session>();
  session_->left = budget_for(file_.debug_size() + package_size_);
  if (!elf_)
    elf_ = open_elf(file_.bytes());
  session_->dwarf = dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr);
  if (session_->dwarf == nullptr)
    return false;
  if (!alternate_.bytes().empty()) {
    if (!alternate_elf_)
      alternate_elf_ = open_elf(alternate_.bytes());
    session_->alternate = dwarf_begin_elf(alternate_elf_.get(), DWARF_C_READ, nullptr);
  }
  // libdw would look for a file that it is not given by itself, and open whatever has the name:
  // -1 is its own mark for one that was not found.
  dwarf_setalt(session_->dwarf, session_->alternate != nullptr ? session_->alternate
                                                               : reinterpret_cast<Dwarf*>(-1));
  return true;
}

bool DebugInfo::read_unit_ranges() {
  Dwarf_CU* unit = nullptr;
  while (dwarf_get_units(session_->dwarf, unit, &unit, nullptr, nullptr, nullptr, nullptr) ==
         0) {
    Dwarf_Die own;
    if (!has_code(unit, own))
      continue;
    // The ranges of a split unit are with its skeleton. Those of what the linker has discarded
    // stay, at addresses where no code is.
    for_each_range(nullptr, own, session_->left.ranges, [&](uint64_t begin, uint64_t end) {
      if (is_code(begin))
        ranges_.push_back({begin, end, 0, dwarf_dieoffset(&own)});
    });
  }
  std::ranges::stable_sort(ranges_, {}, &UnitRange::begin);
  uint64_t max_end = 0;
  for (UnitRange& range : ranges_)
    range.max_end = max_end = std::max(max_end, range.end);
  return !ranges_.empty();
}

bool DebugInfo::is_code(uint64_t address) const {
  auto after = std::ranges::upper_bound(code_, address, {}, &elf::AddressRange::begin);
  return after != code_.begin() && address < std::prev(after)->end;
}

// The last to begin of those that hold the address; null if none does.
const DebugInfo::UnitRange* DebugInfo::range_at(uint64_t address) const {
  auto range = std::ranges::upper_bound(ranges_, address, {}, &UnitRange::begin);
  // Ranges hardly ever overlap.
  constexpr int kMaxTries = 1000;
  for (int i = 0; i < kMaxTries && range != ranges_.begin(); i++) {
    if (--range; address < range->end)
      return &*range;
    // Nor does any range before reach so far.
    if (range->max_end <= address)
      break;
  }
  return nullptr;
}

Unit* DebugInfo::unit_at(ImageAddress address) {
  const UnitRange* range = range_at(to_integer(address));
  return range == nullptr ? nullptr : open_unit(range->unit);
}

// By the offset of its DIE.
Unit* DebugInfo::open_unit(Dwarf_Off offset) {
  if (auto known = session_->units.find(offset); known != session_->units.end())
    return known->second.get();
  // All units are dropped at once, with what libdw keeps of them: it frees nothing of a file
  // that is open. So who holds a unit opens no other before it is done with it.
  if (session_->kept > kMaxKept && !open_session())
    return nullptr;
  Dwarf_Die own;
  CodeUnit code;
  if (dwarf_offdie(session_->dwarf, offset, &own) == nullptr || !find_code(own.cu, code))
    return nullptr;
  auto unit = read_unit(code);
  return (session_->units[offset] = std::move(unit)).get();
}

std::unique_ptr<Unit> DebugInfo::read_unit(CodeUnit& code) {
  auto unit = std::make_unique<Unit>();
  auto& [own, die, packaged, lacks_split] = code;
  unit->ranges = packaged;
  unit->lacks_split = lacks_split;
  if (const char* directory = text_of(own, DW_AT_comp_dir))
    unit->directory = directory;
  unit->functions = read_functions(die, unit->ranges, session_->left);
  // A function that the linker has discarded keeps its DIE, mostly at address 0, where it would
  // cover the code that lies there.
  std::erase_if(unit->functions, [this](const auto& part) { return !is_code(part.begin); });
  session_->kept += unit->functions.size() * sizeof(Unit::Function);

  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_formudata(dwarf_attr(&own, DW_AT_stmt_list, &attribute), &offset) == 0)
    unit->lines = line_table(session_->dwarf, offset);
  // The file that a unit was split off to may have a table of its own, without lines.
  Dwarf* dwarf = dwarf_cu_getdwarf(die.cu);
  unit->files = dwarf != session_->dwarf ? line_table(dwarf, 0) : nullptr;
  if (unit->files == nullptr)
    unit->files = unit->lines;
  return unit;
}

// The table at an offset of a file, which is read once. Null if it is damaged: that is
// remembered, too.
const LineTable* DebugInfo::line_table(Dwarf* dwarf, Dwarf_Word offset) {
  auto [known, is_new] = session_->line_tables.try_emplace({dwarf, offset});
  if (!is_new)
    return known->second.get();
  Elf* elf = dwarf_getelf(dwarf);
  LineSections sections{.lines = debug_section(elf, "line"),
                        .line_texts = debug_section(elf, "line_str"),
                        .texts = debug_section(elf, "str"),
                        .order = image_.order};
  auto table = LineTable::read(
      sections, offset, [this](uint64_t address) { return is_code(address); },
      session_->left.line_bytes);
  if (!table)
    return nullptr;
  session_->kept += table->memory_size();
  known->second = std::make_unique<LineTable>(*std::move(table));
  return known->second.get();
}

// Empty if there is no room: to callers the name or path is not known then. The view is valid
// for as long as this object, whatever is dropped.
std::string_view DebugInfo::keep(std::string text) {
  if (text.size() > kMaxNameSize || texts_size_ > kMaxTexts)
    return {};
  auto [kept, is_new] = texts_.insert(std::move(text));
  texts_size_ += is_new ? kept->size() : 0;
  return *kept;
}

namespace {

// An attribute of the function, or of the one that it is a copy of.
const char* text_of_any(Dwarf_Die& function, std::initializer_list<unsigned int> names) {
  Dwarf_Attribute attribute;
  for (unsigned int name : names)
    if (const char* text = dwarf_formstring(dwarf_attr_integrate(&function, name, &attribute)))
      return text;
  return nullptr;
}

}  // namespace

// The name that the linker knows the function by, if the compiler noted it; else that in the
// source, which is the same for C and Go, and is taken for what is_unreadable(), too.
std::string_view DebugInfo::name_of(Dwarf_Die& function) {
  const char* linked = text_of_any(function, {DW_AT_linkage_name, DW_AT_MIPS_linkage_name});
  if (linked == nullptr)
    return source_name_of(function);
  std::string_view name = keep(start_of(linked));
  if (!name.starts_with("_Z"))
    return name;
  auto [known, is_new] = readable_.try_emplace(name, name);
  if (is_new && is_unreadable(name))
    if (std::string_view in_source = source_name_of(function); !in_source.empty())
      known.value() = in_source;
  return known->second;
}

std::string_view DebugInfo::source_name_of(Dwarf_Die& function) {
  const char* name = text_of_any(function, {DW_AT_name});
  return name != nullptr ? keep(scope_of(function) + start_of(name)) : "";
}

// The text before the name of a function, as Scopes::prefix_of() has it: "app::Box<int>::".
std::string DebugInfo::scope_of(Dwarf_Die function) {
  function = declaration_of(function);
  auto [known, is_new] = session_->scopes.try_emplace(function.cu);
  Dwarf_Die unit;
  if (is_new && dwarf_diecu(&function, &unit, nullptr, nullptr) != nullptr)
    known.value() = Scopes(unit);
  // Scopes are read as names ask for them, and take memory as they are.
  uint64_t before = known->second.memory_size();
  std::string prefix = known.value().prefix_of(function, session_->left);
  session_->kept += known->second.memory_size() - before;
  return prefix;
}

// The file of its declaration. Units of dwz's common part have line tables without lines. The
// number is one of the unit that the attribute stands in, which need not be the function's own:
// an inlined function may be declared in a unit that this one imports.
std::string_view DebugInfo::declared_in(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  if (dwarf_formudata(dwarf_attr_integrate(&function, DW_AT_decl_file, &attribute), &file) != 0)
    return {};
  Dwarf_CU* unit = attribute.cu;
  return path_of(session_->declared[unit], file, [&]() -> std::string_view {
    Dwarf_Die own;
    if (dwarf_cu_info(unit, nullptr, nullptr, &own, nullptr, nullptr, nullptr, nullptr) != 0)
      return {};
    Dwarf_Word offset = 0;  // where a unit that was split off has its own
    dwarf_formudata(dwarf_attr(&own, DW_AT_stmt_list, &attribute), &offset);
    const LineTable* files = line_table(dwarf_cu_getdwarf(unit), offset);
    const char* directory = text_of(own, DW_AT_comp_dir);
    return files ? keep(files->path(file, directory ? directory : "")) : std::string_view();
  });
}

// The place from which a call that was inlined is made.
Position DebugInfo::call_position(Unit& unit, Dwarf_Die& inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  Dwarf_Word line = 0;
  if (dwarf_attr(&inlined, DW_AT_call_line, &attribute) != nullptr)
    dwarf_formudata(&attribute, &line);
  bool has_file = unit.files != nullptr &&
                  dwarf_attr(&inlined, DW_AT_call_file, &attribute) != nullptr &&
                  dwarf_formudata(&attribute, &file) == 0;
  auto path = [&] { return keep(unit.files->path(file, unit.directory)); };
  return {has_file ? path_of(unit.call_paths, file, path) : "",
          static_cast<uint32_t>(std::min<Dwarf_Word>(line, UINT32_MAX))};
}

// All calls inlined into a function of the unit, if they have not been read.
void DebugInfo::read_inlined(Unit& unit, Dwarf_Die function) {
  auto [inlined, is_new] = unit.inlined.try_emplace(function.addr);
  if (!is_new)
    return;
  inlined.value() = read_inlined_calls(function, unit.ranges, session_->left);
  session_->kept += inlined->second.size() * sizeof(Unit::InlinedCall);
}

// The function at an address and the calls inlined there, outermost first; empty if there is
// none.
std::vector<Dwarf_Die> DebugInfo::scopes_at(Unit& unit, uint64_t address) {
  const Unit::Function* function = unit.function_at(address);
  if (function == nullptr)
    return {};
  std::vector<Dwarf_Die> scopes = {function->die};
  read_inlined(unit, function->die);
  add_calls_at(address, unit.inlined.at(function->die.addr), scopes);
  return scopes;
}

void DebugInfo::add_edges(Unit& unit, uint64_t begin, uint64_t end,
                          std::vector<uint64_t>& edges) {
  // Both ends of what reaches into the range are added, though one may lie outside: whoever
  // asked drops it.
  auto add = [&](uint64_t from, uint64_t to) {
    if (from < end && to > begin)
      edges.insert(edges.end(), {from, to});
  };
  for (const Unit::Function& function : unit.functions) {
    if (function.begin >= end || function.end <= begin)
      continue;
    add(function.begin, function.end);
    read_inlined(unit, function.die);
    for (const Unit::InlinedCall& call : unit.inlined.at(function.die.addr))
      add(call.begin, call.end);
  }
  if (unit.lines != nullptr)
    unit.lines->add_edges(begin, end, edges);
}

// Each unit is asked once, and before the next is read, which may drop it.
void DebugInfo::add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) {
  std::unordered_set<Dwarf_Off> asked;
  auto after = std::ranges::lower_bound(ranges_, end, {}, &UnitRange::begin);
  for (auto range = after; range != ranges_.begin();) {
    // No range up to here reaches further than max_end: so none before does.
    if (--range; range->max_end <= begin)
      return;
    if (range->end <= begin)
      continue;
    edges.insert(edges.end(), {range->begin, range->end});
    if (!asked.insert(range->unit).second)
      continue;
    if (Unit* unit = open_unit(range->unit))
      add_edges(*unit, begin, end, edges);
  }
}

bool DebugInfo::find(ImageAddress address, std::vector<Call>& calls) {
  Unit* unit = unit_at(address);
  if (unit == nullptr)
    return false;
  std::vector<Dwarf_Die> scopes = scopes_at(*unit, to_integer(address));
  size_t first_call = calls.size();
  // The unit is open already: this drops no session, and `scopes` stay valid.
  Position position = find_position(address);
  // Innermost first. The line table tells where the innermost call is; each call site tells
  // where the one around it is.
  for (size_t i = scopes.size(); i-- > 0;) {
    std::string_view name = name_of(scopes[i]);
    // A function without a name is no answer: another source may have one.
    if (name.empty()) {
      calls.resize(first_call);
      return false;
    }
    calls.push_back({name, position.file, position.line, number(scopes[i], DW_AT_decl_line),
                     FunctionKind::kNormal, /*is_inlined=*/i > 0, declared_in(scopes[i])});
    position = call_position(*unit, scopes[i]);
  }
  return !scopes.empty();
}

Position DebugInfo::find_position(ImageAddress address) {
  Unit* unit = unit_at(address);
  // Lines without functions would be taken for those of the function, where they may be of a
  // call inlined into it.
  if (unit != nullptr && unit->lacks_split && !unit->function_at(to_integer(address)))
    return {};
  const LineTable::Row* row = unit != nullptr && unit->lines != nullptr
                                  ? unit->lines->find(to_integer(address))
                                  : nullptr;
  if (row == nullptr)
    return {};
  auto path = [&] { return keep(unit->lines->path(row->file, unit->directory)); };
  return {path_of(unit->line_paths, row->file, path), row->line};
}

namespace {

// Compilers of C and C++ put only declarations into types, save those within a function: what
// defines a member refers to its declaration from outside. To pass over such types saves a
// fifth of the time that 10,000 addresses in 300 MB of debugging information take. A language
// that is not listed here loses that time, and no function.
bool has_code_in_types(Dwarf_Die& unit) {
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
      return false;
    default:
      return true;
  }
}

struct FunctionReader {
  DieWalk walk;
  const RangeSource* ranges;
  std::vector<Unit::Function> functions{};

  // Reads all that is below `parent`. Returns where the next DIE after all of that begins, or
  // null, as for_each_child() does. With `enters_types` code is looked for in types, too.
  char* read(Dwarf_Die parent, int depth, bool enters_types) {
    if (depth == kMaxDepth)
      return nullptr;
    return for_each_child(walk, parent, [&](Dwarf_Die& child) -> char* {
      switch (dwarf_tag(&child)) {
        case DW_TAG_subprogram:
          // A declaration has no code; what lies below it describes parameters.
          if (dwarf_hasattr(&child, DW_AT_declaration) != 0)
            return nullptr;
          for_each_range(ranges, child, walk.left.ranges, [&](uint64_t begin, uint64_t end) {
            functions.push_back({begin, end, child});
          });
          return read(child, depth + 1, true);
        // Types hold code below functions, and in languages that put all functions into them.
        // Elsewhere they hold declarations, which are most of a unit of C++.
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type:
          return enters_types ? read(child, depth + 1, true) : nullptr;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
          return read(child, depth + 1, enters_types);
        default:
          return nullptr;
      }
    });
  }
};

struct InlinedCallReader {
  DieWalk walk;
  const RangeSource* ranges;
  std::vector<Unit::InlinedCall> calls{};

  // Reads the calls below `scope`, and returns what FunctionReader::read() does. The depth of
  // DIEs bounds the recursion; that of inlined calls, without blocks, is for add_calls_at().
  char* read(Dwarf_Die scope, int die_depth, int call_depth) {
    if (die_depth == kMaxDepth)
      return nullptr;
    return for_each_child(walk, scope, [&](Dwarf_Die& child) -> char* {
      switch (dwarf_tag(&child)) {
        case DW_TAG_inlined_subroutine:
          for_each_range(ranges, child, walk.left.ranges, [&](uint64_t begin, uint64_t end) {
            calls.push_back({begin, end, call_depth, child});
          });
          return read(child, die_depth + 1, call_depth + 1);
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
          return read(child, die_depth + 1, call_depth);
        // A function in this one has calls of its own, which are read when it is asked for.
        default:
          return nullptr;
      }
    });
  }
};

}  // namespace

const Unit::Function* Unit::function_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(functions, address, {}, &Function::begin);
  // The innermost of nested functions begins last. Others in between end before.
  constexpr int kMaxNested = 16;
  for (int i = 0; after != functions.begin() && i < kMaxNested; i++)
    if (--after; address < after->end)
      return &*after;
  return nullptr;
}

std::vector<Unit::Function> read_functions(Dwarf_Die die, const RangeSource* ranges,
                                           Budget& left) {
  FunctionReader reader{.walk = walk_unit(die, left), .ranges = ranges};
  reader.read(die, 0, has_code_in_types(die));
  std::ranges::stable_sort(reader.functions, {}, &Unit::Function::begin);
  return std::move(reader.functions);
}

std::vector<Unit::InlinedCall> read_inlined_calls(Dwarf_Die function, const RangeSource* ranges,
                                                  Budget& left) {
  InlinedCallReader reader{.walk = walk_unit(function, left), .ranges = ranges};
  reader.read(function, 0, 0);
  return std::move(reader.calls);
}

void add_calls_at(uint64_t address, const std::vector<Unit::InlinedCall>& inlined,
                  std::vector<Dwarf_Die>& calls) {
  // The calls come in the order of the tree, outer ones first; the pieces of one call have the
  // same DIE and stand next to each other.
  int depth = 0;
  void* innermost = nullptr;
  for (const Unit::InlinedCall& call : inlined) {
    // Behind all that is below the innermost.
    if (call.depth < depth && call.die.addr != innermost)
      return;
    if (call.depth != depth || address < call.begin || address >= call.end)
      continue;
    calls.push_back(call.die);
    innermost = call.die.addr;
    depth++;
  }
}

namespace {

// A definition outside its class may be in another such, and so on: as few as anyone nests.
constexpr int kMaxHops = 16;

bool is_call_operator(Dwarf_Die& function) {
  const char* name = dwarf_diename(&function);
  return name != nullptr && std::string_view(name) == "operator()";
}

// True if the source's name may be asked for: there is none of the linker's, or that may be
// unreadable (is_unreadable() in base/demangle.h), so that DebugInfo::name_of() takes the
// source's. Unreadable are names with constraints of C++20, which are mangled with a Q or Tk:
// to look for these is cheaper than to demangle, and a name that has them by chance costs time
// alone.
bool is_named_by_source(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  const char* linked = dwarf_formstring(dwarf_attr(&function, DW_AT_linkage_name, &attribute));
  if (linked == nullptr)
    return true;
  std::string_view name = linked;
  return name.find('Q') != name.npos || name.find("Tk") != name.npos;
}

bool is_type(int tag) {
  return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

// True if the DIE may be or hold a scope, a function, or a type that is counted. Types that are
// only declared are most of the others.
bool may_be_scope(Dwarf_Die& die) {
  int tag = dwarf_tag(&die);
  if (tag == DW_TAG_subprogram)
    return true;
  if (tag == DW_TAG_namespace || tag == DW_TAG_lexical_block)
    return dwarf_haschildren(&die) > 0;
  return is_type(tag) && (dwarf_haschildren(&die) > 0 || dwarf_diename(&die) == nullptr);
}

// True if the first DIE of the unit that has children notes its sibling.
bool notes_siblings(Dwarf_Die unit, Budget& left) {
  Dwarf_Die child;
  if (dwarf_child(&unit, &child) != 0)
    return false;
  for (; left.die_bytes > 0; left.die_bytes--) {
    if (dwarf_haschildren(&child) > 0)
      return dwarf_hasattr(&child, DW_AT_sibling) != 0;
    void* before = child.addr;
    // Siblings lie behind one another; a damaged file may lead back.
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= before)
      return false;
  }
  return false;
}

}  // namespace

Scopes::Scopes(Dwarf_Die unit) : unit_(unit) {
  scopes_.push_back({.maker = unit.addr});
}

Dwarf_Die Scopes::die_at(void* address) const {
  Dwarf_Die die{};
  die.addr = address;
  die.cu = unit_.cu;
  return die;
}

// Reads the children of `parent`, once; with `is_deep` all that is below it. Returns where the
// next DIE after all of these begins, or null, as for_each_child() does.
char* Scopes::read_children(DieWalk walk, Dwarf_Die parent, bool is_deep, int depth) {
  if (depth == kMaxDepth || !children_.try_emplace(parent.addr).second)
    return nullptr;
  // A sound unit has no more children than bytes: each DIE takes one at least, and is the child
  // of one parent. A damaged one may lead to the same DIE from many.
  uint64_t most = walk.unit_end != nullptr && walk.unit_end > unit_.addr
                      ? walk.unit_end - static_cast<char*>(unit_.addr)
                      : walk.left.die_bytes;
  Children found;
  char* behind = for_each_child(walk, parent, [&](Dwarf_Die& child) -> char* {
    if (child_count_ >= most || !may_be_scope(child))
      return nullptr;
    child_count_++;
    found.push_back(child.addr);
    bool is_read = is_deep && dwarf_haschildren(&child) > 0;
    return is_read ? read_children(walk, child, true, depth + 1) : nullptr;
  });
  found.shrink_to_fit();
  children_[parent.addr] = std::move(found);
  return behind;
}

const Scopes::Children& Scopes::children_of(Budget& left, void* parent) {
  static const Children none;
  // The first call decides, once, whether this unit is read whole.
  if (children_.empty())
    is_whole_ = !notes_siblings(unit_, left);
  // A unit that is read whole is read by the first call: a DIE without an entry has no children
  // then.
  if (!children_.contains(parent) && (!is_whole_ || children_.empty()))
    read_children(walk_unit(unit_, left), die_at(is_whole_ ? unit_.addr : parent), is_whole_,
                  0);
  auto known = children_.find(parent);
  return known == children_.end() ? none : known->second;
}

// None if it is not below scopes and blocks only.
std::optional<Scopes::Place> Scopes::find(Budget& left, void* address, int hops) {
  // Scope 0 is that of the unit: it adds nothing to a name.
  Place place{.scope = 0, .around = unit_.addr};
  void* parent = unit_.addr;
  for (int depth = 0; depth < kMaxDepth; depth++) {
    const Children& children = children_of(left, parent);
    // DIEs lie in the file in preorder: the last child that begins before the address holds it.
    auto after = std::ranges::upper_bound(children, address);
    if (after == children.begin())
      return std::nullopt;
    parent = *std::prev(after);
    if (parent == address)
      return place;
    Dwarf_Die die = die_at(parent);
    if (dwarf_tag(&die) != DW_TAG_lexical_block)
      place = {.scope = enter(left, die, place, hops), .around = parent};
  }
  return std::nullopt;
}

// The number of the scope that a DIE is, which is made when it is first met.
size_t Scopes::enter(Budget& left, Dwarf_Die die, Place place, int hops) {
  if (auto known = entered_.find(die.addr); known != entered_.end())
    return known->second;
  auto known = scope_of_declaration(left, die, hops);
  size_t scope = known ? *known : make(left, die, place);
  entered_.emplace(die.addr, scope);
  return scope;
}

// Finds the scope of the declaration of a function that is defined outside its class, after it.
std::optional<size_t> Scopes::scope_of_declaration(Budget& left, Dwarf_Die& die, int hops) {
  Dwarf_Attribute attribute;
  Dwarf_Die declaration;
  // One of another unit is in none of these scopes; one that does not lie before its definition
  // is damage, by which a chain of declarations could come back to where it began.
  if (hops == kMaxHops || dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &declaration) == nullptr || declaration.cu != die.cu ||
      declaration.addr >= die.addr || dwarf_tag(&declaration) == DW_TAG_lexical_block)
    return std::nullopt;
  auto place = find(left, declaration.addr, hops + 1);
  return place ? std::optional(enter(left, declaration, *place, hops + 1)) : std::nullopt;
}

// Makes a scope of a DIE that was found at `place`, and gives its number.
size_t Scopes::make(Budget& left, Dwarf_Die& die, Place place) {
  Scope made = {.outer = place.scope, .name = dwarf_diename(&die), .maker = die.addr};
  int tag = dwarf_tag(&die);
  if (made.name == nullptr && tag == DW_TAG_namespace)
    made.name = "(anonymous namespace)";
  // A function without a name adds nothing to the names of what lies in it.
  if (made.name == nullptr && tag == DW_TAG_subprogram)
    return place.scope;
  if (made.name == nullptr) {
    number_types(left, place.around, place.scope);
    Unnamed unnamed = unnamed_[die.addr];
    made.name = unnamed.is_lambda ? "lambda" : "unnamed type";
    made.number = unnamed.number;
  }
  scopes_.push_back(made);
  return scopes_.size() - 1;
}

bool Scopes::is_lambda(Budget& left, void* type) {
  return std::ranges::any_of(children_of(left, type), [&](void* child) {
    Dwarf_Die die = die_at(child);
    return dwarf_tag(&die) == DW_TAG_subprogram && is_call_operator(die);
  });
}

// Types of the declaration come first if a function is defined outside its class.
void Scopes::number_types(Budget& left, void* around, size_t scope) {
  for (void* parent : {scopes_[scope].maker, around})
    if (numbered_.try_emplace(parent).second)
      number_types_below(left, parent, scope, 0);
}

// Numbers the types without a name among the children of `parent`, and in blocks below it: all
// of these are in `scope`, which counts them.
void Scopes::number_types_below(Budget& left, void* parent, size_t scope, int depth) {
  if (depth == kMaxDepth)
    return;
  // A copy: what is read below moves them.
  Children children = children_of(left, parent);
  for (void* child : children) {
    Dwarf_Die die = die_at(child);
    int tag = dwarf_tag(&die);
    if (tag == DW_TAG_lexical_block)
      number_types_below(left, child, scope, depth + 1);
    if (!is_type(tag) || dwarf_diename(&die) != nullptr || unnamed_.contains(child))
      continue;
    bool lambda = is_lambda(left, child);
    uint32_t& count = lambda ? scopes_[scope].lambdas : scopes_[scope].unnamed_types;
    unnamed_[child] = {.is_lambda = lambda, .number = ++count};
  }
}

std::string Scopes::text_of(const Scope& scope) {
  return scope.number == 0 ? start_of(scope.name)
                           : fmt::format("{{{}#{}}}", scope.name, scope.number);
}

std::string Scopes::prefix_of(Dwarf_Die function, Budget& left) {
  if (unit_.addr == nullptr || dwarf_tag(&function) != DW_TAG_subprogram ||
      !is_named_by_source(function))
    return {};
  auto place = find(left, function.addr, 0);
  std::string prefix;
  for (size_t scope = place ? place->scope : 0; scope != 0 && prefix.size() < kMaxNameSize;
       scope = scopes_[scope].outer)
    prefix.insert(0, text_of(scopes_[scope]) + "::");
  return prefix;
}

uint64_t Scopes::memory_size() const {
  // Tables of tsl are at least a quarter full, mostly half.
  return scopes_.size() * sizeof(Scope) + child_count_ * sizeof(void*) +
         2 * (children_.size() * (sizeof(Children) + 2 * sizeof(void*)) +
              (entered_.size() + unnamed_.size()) * 3 * sizeof(void*));
}

namespace {

// Null if it is not known.
const char* end_of_unit(Dwarf_Die die) {
  Dwarf_Half version = 0;
  uint8_t type = 0;
  Dwarf_Die unit;
  if (dwarf_cu_info(die.cu, &version, &type, &unit, nullptr, nullptr, nullptr, nullptr) != 0)
    return nullptr;
  // Before DWARF 5 types have a section of their own, which dwarf_next_unit() below does not
  // look into.
  bool is_elsewhere = version < 5 && (type == DW_UT_type || type == DW_UT_split_type);
  if (unit.addr == nullptr || is_elsewhere)
    return nullptr;
  Dwarf_Off header_size = dwarf_cuoffset(&unit);
  Dwarf_Off begin = dwarf_dieoffset(&unit) - header_size;
  Dwarf_Off end = 0;
  // `end` becomes the offset of the unit behind.
  if (dwarf_next_unit(dwarf_cu_getdwarf(die.cu), begin, &end, nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr, nullptr) != 0)
    return nullptr;
  return static_cast<const char*>(unit.addr) - header_size + (end - begin);
}

}  // namespace

DieWalk walk_unit(Dwarf_Die die, Budget& left) {
  return {.left = left, .unit_end = end_of_unit(die)};
}

namespace {

// A section as libdw has it: unpacked.
Bytes section_bytes(Elf* elf, std::string_view name) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS)
      continue;
    const char* text = elf_strptr(elf, names, header.sh_name);
    if (text == nullptr || name != text)
      continue;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr)
      return {};
    return std::as_bytes(std::span(static_cast<const char*>(data->d_buf), data->d_size));
  }
  return {};
}

}  // namespace

Bytes debug_section(Elf* elf, std::string_view name) {
  for (auto form : {".debug_{}", ".zdebug_{}", ".debug_{}.dwo"})
    if (Bytes bytes = section_bytes(elf, fmt::format(fmt::runtime(form), name)); !bytes.empty())
      return bytes;
  return {};
}

}  // namespace gosym::dwarf
