#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "elf/image.h"

namespace gosym::dwarf {

// An ELF file in memory that has sections of debugging information and nothing else: the ELF
// header, the sections, their names, the table of sections. libdw reads it.
class SectionFile {
public:
  // The file has the class, byte order and machine of `like`, which must outlive this.
  explicit SectionFile(const elf::Image& like) : like_(like) {}

  void add(std::string_view name, uint64_t size);
  // Once all are added. Their contents are not written.
  void finish();
  // The bytes of a section, numbered from 0 in the order of add().
  std::byte* contents(size_t section) { return bytes_.get() + sections_[section].offset; }

  uint64_t size() const { return size_; }
  std::unique_ptr<std::byte[]> take() { return std::move(bytes_); }

private:
  struct Section {
    uint32_t name = 0;  // in `names_`
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  template <class Header, class Entry>
  void write_tables();

  const elf::Image& like_;
  std::vector<Section> sections_;
  std::string names_ = std::string(1, '\0');
  uint64_t table_ = 0;  // where it begins
  uint64_t size_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace gosym::dwarf
