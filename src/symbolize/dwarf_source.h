#pragma once

#include <memory>

#include "dwarf/debug_info.h"
#include "symbolize/symbol_source.h"

namespace gosym {

// The debugging information of a file, read when it is first asked for anything.
class DwarfSource final : public SymbolSource {
public:
  // All must outlive the source; see dwarf::DebugInfo::open.
  DwarfSource(const elf::Image& image, const dwarf::OtherFiles& others)
      : image_(image), others_(others) {}

  FrameSource kind() const override { return FrameSource::kDwarf; }
  bool find(ImageAddress address, std::vector<Call>& calls) override;
  void list(std::vector<FunctionRange>&) override {}
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    if (info())
      info()->add_edges(begin, end, edges);
  }

  // The place in the source of the code at `address`, for a function that another source names.
  dwarf::Position find_position(ImageAddress address);
  // True if some of it is in other files, made by anybody.
  bool has_split_units() { return info() && info()->has_split_units(); }
  bool has_given_up() const { return info_ && info_->has_given_up(); }
  // Why it, or some of it, cannot be read; empty if it can be.
  const std::string& problem() const { return problem_; }

private:
  dwarf::DebugInfo* info();

  const elf::Image& image_;
  dwarf::OtherFiles others_;
  bool is_open_ = false;
  std::string problem_;
  std::unique_ptr<dwarf::DebugInfo> info_;
};

}  // namespace gosym
