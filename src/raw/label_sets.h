#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <vector>

#include "model/recording.h"

namespace gosym::raw {

// The distinct sets of labels of a chunk of samples, as raw.proto has them. Set 0 is empty.
class LabelSets {
public:
  uint32_t intern(std::span<const Label> labels);

  // Valid until the next call of another function.
  std::span<const Label> operator[](uint32_t number) const { return sets_[number]; }
  uint32_t size() const { return static_cast<uint32_t>(sets_.size()); }
  // At least what write() takes.
  size_t size_in_memory() const { return encoded_size_; }

  void write(protozero::pbf_writer& out, uint32_t field) const;
  // Appends a set as the reader has it.
  void read(protozero::pbf_reader in);
  void clear(uint32_t number) { sets_[number].clear(); }

private:
  std::vector<std::vector<Label>> sets_ = {{}};
  std::map<std::vector<Label>, uint32_t> numbers_;  // of those that intern() has seen
  size_t encoded_size_ = 0;
};

}  // namespace gosym::raw
