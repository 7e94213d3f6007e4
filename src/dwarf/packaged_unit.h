#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/reader.h"
#include "dwarf/debug_info.h"
#include "dwarf/package.h"
#include "elf/image.h"

namespace gosym::dwarf {

// The data of a unit that stays in the program, with its skeleton.
struct SkeletonParts {
  Bytes addresses;    // .debug_addr from the base of the unit on
  Bytes old_ranges;   // .debug_ranges likewise, of DWARF 4
  uint64_t base = 0;  // what its ranges are relative to
};

// A unit of a package as libdw reads a file, which does not know packages. The file that it
// gets has the parts of the one unit, which are not copied.
class PackagedUnit final : public RangeSource {
public:
  // Null if it is damaged. All that the parts lie in, and `program`, must outlive it.
  static std::unique_ptr<PackagedUnit> open(const elf::Image& program,
                                            const PackagedParts& parts,
                                            const SkeletonParts& skeleton);
  ~PackagedUnit() override;
  PackagedUnit(const PackagedUnit&) = delete;
  PackagedUnit& operator=(const PackagedUnit&) = delete;

  Dwarf_Die die() const { return die_; }

  // libdw would take 0 for the base of the unit: only the skeleton has it.
  bool has_list(Dwarf_Die& die) const override;
  void visit_list(Dwarf_Die& die, uint64_t& left, const Visitor& visit) const override;

private:
  explicit PackagedUnit(const elf::Image& program) : program_(program) {}
  uint64_t address(uint64_t number) const;
  Bytes list_5(Reader& value, bool is_number) const;
  void visit_4(Bytes list, uint64_t& left, const Visitor& visit) const;
  void visit_5(Bytes list, uint64_t& left, const Visitor& visit) const;

  const elf::Image& program_;
  PackagedParts parts_;
  SkeletonParts skeleton_;
  std::unique_ptr<std::byte[]> file_;
  Elf* elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  Dwarf_Die die_{};
  uint16_t version_ = 0;
  uint8_t address_size_ = 8;
  uint8_t offset_size_ = 4;
};

}  // namespace gosym::dwarf
