#pragma once

#include "gsym/gsym_file.h"
#include "symbolize/symbol_source.h"

namespace gosym {

// An index that was made of a file, by us or by others.
class GsymSource final : public SymbolSource {
public:
  // The bytes that the index borrows from must outlive the source.
  explicit GsymSource(gsym::GsymFile index) : index_(std::move(index)) {}

  FrameSource kind() const override {
    return index_.facts().is_go ? FrameSource::kGsymGo : FrameSource::kGsym;
  }
  bool find(ImageAddress address, std::vector<Call>& calls) override;
  void list(std::vector<FunctionRange>& functions) override;
  void add_edges(uint64_t, uint64_t, std::vector<uint64_t>&) override {}

  std::string_view id() const { return index_.id(); }
  std::optional<ImageAddress> code_at_offset(uint64_t offset) const;
  bool has_offsets() const { return !index_.facts().code.empty(); }

private:
  gsym::GsymFile index_;
};

}  // namespace gosym
