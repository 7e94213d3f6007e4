#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/bytes.h"
#include "dwarf/line_table.h"
#include "dwarf/package.h"
#include "dwarf/plain_file.h"
#include "elf/image.h"
#include "model/call.h"

namespace gosym::dwarf {

class LineTable;
class PackagedUnit;
struct Unit;

// A place in the source.
struct Position {
  std::string_view file;  // empty if unknown
  uint32_t line = 0;      // 0 if unknown
};

// Other files that debugging information has parts in. They must outlive it.
struct OtherFiles {
  Bytes alternate = {};  // the file that dwz moved common parts to; empty: none
  Bytes package = {};    // of units that were split off; empty: none
  // Units that are in no package are looked for at the paths that the compiler wrote to.
  bool follows_split = false;
};

// The debugging information of one file: which functions and inlined calls code belongs to, and
// which lines it came from. DWARF 2 to 5, read by libdw.
//
// Only the extent of each unit is read at first, from the units themselves: not every producer
// writes .debug_aranges. A unit is read when an address in it is asked for. What has been read
// is dropped when it has become too much, so ask for addresses in order.
class DebugInfo {
public:
  // Null if the image has no debugging information, or none that can be unpacked, which the
  // `problem` says, as it says what is missing. `image` must outlive it.
  static std::unique_ptr<DebugInfo> open(const elf::Image& image, const OtherFiles& others,
                                         std::string* problem = nullptr);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  // Appends the calls at an address, innermost first. False, and nothing appended, if no
  // function is known there. The views live as long as this object.
  bool find(ImageAddress address, std::vector<Call>& calls);
  // The line of an address, also where no function is known: of assembly, say. None where
  // functions may be known to a part that is missing: it may be of an inlined one.
  Position find_position(ImageAddress address);
  // Appends where within [begin, end) the answers of both may change.
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges);
  // True if units were split off to other files (.dwo), found or not.
  bool has_split_units() const { return split_units_ > 0; }
  // True if reading was given up: DIEs are nested or shared so much that it would take far
  // longer than the size explains.
  bool has_given_up() const;

private:
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  using ElfHandle = std::unique_ptr<Elf, EndElf>;
  struct Session;
  struct UnitRange {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t max_end = 0;  // of this and all ranges before
    Dwarf_Off unit = 0;    // offset of its DIE
  };

  // A unit and where its code is described.
  struct CodeUnit {
    Dwarf_Die own{};
    Dwarf_Die die{};
    const PackagedUnit* packaged = nullptr;
    bool lacks_split = false;
  };

  DebugInfo(const elf::Image& image, PlainFile file, PlainFile alternate);
  static ElfHandle open_elf(Bytes file);
  bool is_code(uint64_t address) const;
  bool has_code(Dwarf_CU* unit, Dwarf_Die& own);
  bool find_code(Dwarf_CU* unit, CodeUnit& found);
  Result<> read_package(const elf::Image& file);
  const PackagedUnit* open_packaged(Dwarf_Die& own, uint64_t id);
  Bytes section(std::string_view name) const;
  std::string missing_text() const;
  bool open_session();
  bool read_unit_ranges();
  const UnitRange* range_at(uint64_t address) const;
  Unit* unit_at(ImageAddress address);
  Unit* open_unit(Dwarf_Off offset);
  std::unique_ptr<Unit> read_unit(CodeUnit& code);
  const LineTable* line_table(Dwarf* dwarf, Dwarf_Word offset);
  void read_inlined(Unit& unit, Dwarf_Die function);
  void add_edges(Unit& unit, uint64_t begin, uint64_t end, std::vector<uint64_t>& edges);
  std::vector<Dwarf_Die> scopes_at(Unit& unit, uint64_t address);
  Position call_position(Unit& unit, Dwarf_Die& inlined);
  std::string_view name_of(Dwarf_Die& function);
  std::string_view declared_in(Dwarf_Die& function);
  std::string_view source_name_of(Dwarf_Die& function);
  std::string scope_of(Dwarf_Die function);
  std::string_view keep(std::string text);

  const elf::Image& image_;
  PlainFile file_;
  PlainFile alternate_;  // empty: there is none
  PlainFile package_file_;
  std::optional<Package> package_;
  uint64_t package_size_ = 0;
  bool follows_split_ = false;
  std::vector<elf::AddressRange> code_;  // by address
  ElfHandle elf_;
  ElfHandle alternate_elf_;
  std::unique_ptr<Session> session_;  // what libdw has read; made anew now and then
  std::vector<UnitRange> ranges_;     // by begin
  std::unordered_set<std::string> texts_;
  uint64_t texts_size_ = 0;
  // The names that C++ functions are shown by, for each of their linker's names.
  tsl::robin_map<std::string_view, std::string_view> readable_;
  uint64_t split_units_ = 0;
  uint64_t missing_units_ = 0;
  std::string first_missing_;
  bool has_given_up_ = false;  // in sessions before
};

// Ways through the entries (DIEs) of debugging information that bear what strangers write
// there.

// The amount of debugging information of a file that may still be read.
struct Budget {
  uint64_t die_bytes = 0;
  uint64_t ranges = 0;
  uint64_t line_bytes = 0;
};

// Trees of DIEs are as deep as blocks are nested in the source. Compilers stop at 256 brackets.
inline constexpr int kMaxDepth = 512;

// Keeps no more of a name than shows that it is too long: strings may be as long as files.
inline std::string start_of(const char* name) {
  return {name, strnlen(name, kMaxNameSize + 1)};
}

// One who reads the lists of pieces of code of a unit where libdw cannot.
class RangeSource {
public:
  using Visitor = std::function<void(uint64_t begin, uint64_t end)>;
  virtual ~RangeSource() = default;
  virtual bool has_list(Dwarf_Die& die) const = 0;
  // Calls `visit` for each range, as for_each_range() does.
  virtual void visit_list(Dwarf_Die& die, uint64_t& left, const Visitor& visit) const = 0;
};

// Calls `visit(begin, end)` for each piece of code that a DIE has, and takes one from `left`
// for each. Any number of DIEs may be said to have the same long list: at 0 it ends. Lists are
// read by `source`, if there is one.
template <class Visitor>
void for_each_range(const RangeSource* source, Dwarf_Die& die, uint64_t& left, Visitor visit) {
  if (source != nullptr && source->has_list(die))
    return source->visit_list(die, left, visit);
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  for (; left > 0; left--) {
    offset = dwarf_ranges(&die, offset, &base, &begin, &end);
    // 0 is the end of the list, a negative offset damage.
    if (offset <= 0)
      return;
    if (begin < end)
      visit(begin, end);
  }
}

// A way through the DIEs of one unit.
struct DieWalk {
  Budget& left;
  // End of the unit; null if that is not known. Then no way is cut short.
  const char* unit_end = nullptr;
};

// Through the unit that a DIE lies in, at the cost of `left`.
DieWalk walk_unit(Dwarf_Die die, Budget& left);

// Finds what comes after a DIE of a list: 0 and the next one, 1 and where the list ends, -1 if
// neither is there. `behind` is where it begins, or null: then libdw passes over all that is
// below the DIE, and the bytes are taken from the budget.
inline int find_next(DieWalk walk, Dwarf_Die child, char* behind, Dwarf_Die& next) {
  next = {};
  int status = 0;
  uint64_t cost = 1;
  if (behind != nullptr && behind < walk.unit_end) {
    next.addr = behind;
    next.cu = child.cu;
    status = *behind == '\0' ? 1 : 0;
  } else {
    status = dwarf_siblingof(&child, &next);
  }
  // A sibling that does not lie further on would be met for ever.
  auto* from = static_cast<char*>(child.addr);
  auto* to = static_cast<char*>(next.addr);
  if (to == nullptr || to <= from)
    status = -1;
  else if (to != behind)
    cost = to - from;
  walk.left.die_bytes -= std::min(walk.left.die_bytes, cost);
  return status;
}

// Calls `visit(child)` for each child of a DIE. A sibling may be said to lie where a child
// does, so that a small tree has paths without number: each step takes from the budget, and at
// 0 it ends.
//
// Gives where the next DIE after all of these begins, null if it is not known. `visit` gives
// the same, if it went through the children of the child: else libdw passes over them to find
// the next one, at each level of a tree once more.
template <class Visitor>
char* for_each_child(DieWalk walk, Dwarf_Die parent, Visitor visit) {
  Dwarf_Die child;
  // 0: there is one.
  if (dwarf_child(&parent, &child) != 0)
    return nullptr;
  while (walk.left.die_bytes > 0) {
    char* behind = visit(child);
    Dwarf_Die next;
    int status = find_next(walk, child, behind, next);
    if (status != 0) {
      auto* end = static_cast<char*>(next.addr);
      bool ends_here = status == 1 && end < walk.unit_end && *end == '\0';
      return ends_here ? end + 1 : nullptr;
    }
    child = next;
  }
  return nullptr;
}

// Null if there is none.
inline const char* text_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  return dwarf_formstring(dwarf_attr(&die, name, &attribute));
}

// One unit of debugging information, as far as look-ups need it.
struct Unit {
  struct Function {
    uint64_t begin = 0;
    uint64_t end = 0;
    Dwarf_Die die{};
  };
  // A piece of the code of an inlined call. Those inlined into it follow, one deeper.
  struct InlinedCall {
    uint64_t begin = 0;
    uint64_t end = 0;
    int depth = 0;
    Dwarf_Die die{};
  };

  std::string directory;             // where the compiler was run
  std::vector<Function> functions;   // by begin
  const LineTable* lines = nullptr;  // null if there is none
  const LineTable* files = nullptr;  // whose numbers the calls have
  // Reads the range lists if the unit is from a package; else null.
  const RangeSource* ranges = nullptr;
  bool lacks_split = false;  // what was split off is not there
  // Inlined calls, by DIE, of the functions that were asked for.
  tsl::robin_map<void*, std::vector<InlinedCall>> inlined;
  // Paths of call sites that were asked for, made from the numbers of `files` and `lines`.
  tsl::robin_map<uint64_t, std::string_view> call_paths;
  tsl::robin_map<uint64_t, std::string_view> line_paths;

  // The innermost function at an address; null if there is none. Functions may lie in others,
  // as in D and Ada.
  const Function* function_at(uint64_t address) const;
};

// All functions below `die`.
std::vector<Unit::Function> read_functions(Dwarf_Die die, const RangeSource* ranges,
                                           Budget& left);

// All calls inlined into a function.
std::vector<Unit::InlinedCall> read_inlined_calls(Dwarf_Die function, const RangeSource* ranges,
                                                  Budget& left);

// Appends those of the calls that an address lies in, outermost first.
void add_calls_at(uint64_t address, const std::vector<Unit::InlinedCall>& inlined,
                  std::vector<Dwarf_Die>& calls);

// The namespaces, classes and functions of a unit that functions are declared in. Compilers
// note no linker's name of functions that the linker never sees; this tells them apart. And
// some of the linker's nobody can read.
//
// Only what lies on the way to a function that is asked for is read: from each DIE to its
// sibling, past all that is below it. Units of a compiler that notes no siblings are read
// whole, once.
class Scopes {
public:
  // Scopes without a unit: each prefix is empty.
  Scopes() = default;
  explicit Scopes(Dwarf_Die unit);

  // The scopes before the name of a function: "app::(anonymous namespace)::Box<int>::". Empty
  // if it is in no scope, or has a linker's name that can be read. g++ gives lambdas no name:
  // the first one in main() is "main::{lambda#1}::", as c++filt has it without parameters.
  // The bytes that are read are taken from `left`.
  std::string prefix_of(Dwarf_Die function, Budget& left);
  // Bytes of memory that it takes, about.
  uint64_t memory_size() const;

private:
  struct Scope {
    size_t outer = 0;
    const char* name = nullptr;  // libdw owns it, but of types without a name
    void* maker = nullptr;       // the first DIE that is this scope
    // Number of a type without a name among those of its kind in the scope around it, from 1.
    uint32_t number = 0;
    uint32_t lambdas = 0;  // directly in this scope
    uint32_t unnamed_types = 0;
  };
  struct Unnamed {
    bool is_lambda = false;
    uint32_t number = 0;
  };
  // The place at which a DIE was found.
  struct Place {
    size_t scope = 0;
    void* around = nullptr;  // the DIE, not a block, that it is in
  };
  // DIEs that scopes or functions may be, by where they lie: all those below one.
  using Children = std::vector<void*>;

  Dwarf_Die die_at(void* address) const;
  char* read_children(DieWalk walk, Dwarf_Die parent, bool is_deep, int depth);
  const Children& children_of(Budget& left, void* parent);
  // `hops` counts the declarations that were followed on the way to a DIE: in a damaged file
  // they may lead on and on (kMaxHops).
  std::optional<Place> find(Budget& left, void* address, int hops);
  size_t enter(Budget& left, Dwarf_Die die, Place place, int hops);
  std::optional<size_t> scope_of_declaration(Budget& left, Dwarf_Die& die, int hops);
  size_t make(Budget& left, Dwarf_Die& die, Place place);
  bool is_lambda(Budget& left, void* type);
  void number_types(Budget& left, void* around, size_t scope);
  void number_types_below(Budget& left, void* parent, size_t scope, int depth);
  static std::string text_of(const Scope& scope);

  Dwarf_Die unit_{};
  bool is_whole_ = false;      // it was read at once
  std::vector<Scope> scopes_;  // the first is that of the unit
  tsl::robin_map<void*, Children> children_;
  uint64_t child_count_ = 0;  // of all
  tsl::robin_map<void*, size_t> entered_;
  // Types without names, of the DIEs that were asked for.
  tsl::robin_map<void*, Unnamed> unnamed_;
  tsl::robin_map<void*, bool> numbered_;
};

// A section of a file that libdw has opened, by the last part of its name:
// "line". Empty if there is none.
Bytes debug_section(Elf* elf, std::string_view name);

}  // namespace gosym::dwarf
