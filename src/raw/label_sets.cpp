#include "raw/label_sets.h"

namespace gosym::raw {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr uint32_t kLabel = 1;
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;

// Of a message or string without its contents: a tag of up to two bytes, a length of up to
// five.
constexpr size_t kMaxOverhead = 7;

}  // namespace

uint32_t LabelSets::intern(std::span<const Label> labels) {
  if (labels.empty())
    return 0;
  std::vector<Label> set(labels.begin(), labels.end());
  auto [known, is_new] = numbers_.try_emplace(set, size());
  if (is_new) {
    encoded_size_ += kMaxOverhead;
    for (const Label& label : set)
      encoded_size_ += 3 * kMaxOverhead + label.key.size() + label.value.size();
    sets_.push_back(std::move(set));
  }
  return known->second;
}

void LabelSets::write(pbf_writer& out, uint32_t field) const {
  for (const std::vector<Label>& set : std::span(sets_).subspan(1)) {
    pbf_writer labels(out, field);
    for (const Label& label : set) {
      pbf_writer texts(labels, kLabel);
      texts.add_string(kKey, label.key);
      texts.add_string(kValue, label.value);
    }
  }
}

void LabelSets::read(pbf_reader in) {
  std::vector<Label>& set = sets_.emplace_back();
  while (in.next(kLabel, pbf_wire_type::length_delimited)) {
    Label& label = set.emplace_back();
    pbf_reader texts = in.get_message();
    while (texts.next()) {
      if (texts.tag_and_type() == tag_and_type(kKey, pbf_wire_type::length_delimited))
        label.key = texts.get_string();
      else if (texts.tag_and_type() == tag_and_type(kValue, pbf_wire_type::length_delimited))
        label.value = texts.get_string();
      else
        texts.skip();
    }
  }
}

}  // namespace gosym::raw
