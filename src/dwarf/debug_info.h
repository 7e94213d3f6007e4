#pragma once

#include <elfutils/libdw.h>
#include <tsl/robin_map.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

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
  // Whether units were split off to other files, there or not.
  bool has_split_units() const { return split_units_ > 0; }
  // Whether some of it was not read any more, because it is nested or shared so much that to
  // read it would take far longer than its size explains.
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

}  // namespace gosym::dwarf
