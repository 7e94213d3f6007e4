#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dwarf/debug_info.h"
#include "images/binary.h"
#include "images/debug_file.h"
#include "symbolize/gsym_source.h"
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
  // Another that reads the same for itself. Null if each would have to unpack it.
  std::unique_ptr<DwarfSource> twin() const;

private:
  dwarf::DebugInfo* info();

  const elf::Image& image_;
  dwarf::OtherFiles others_;
  bool is_open_ = false;
  std::string problem_;
  std::unique_ptr<dwarf::DebugInfo> info_;
};

// Everything that names the code of one file, best evidence first: the Go function table, then
// debugging information and .symtab, its own or those of its separate debug file, or else
// MiniDebugInfo, then .dynsym, then the stubs of the procedure linkage table. Owns the files
// that the answers borrow from.
class ImageSymbols {
public:
  // Fails if the file cannot be read, or is not ELF. A damaged Go table is not a failure: it is
  // told by `problem` and the symbol tables answer.
  // A debug file that cannot be used is told in the same way.
  static Result<std::unique_ptr<ImageSymbols>> open(const std::string& path,
                                                    const DebugFileOptions& options = {});
  static Result<std::unique_ptr<ImageSymbols>> open(std::unique_ptr<MappedFile> file,
                                                    const std::string& path,
                                                    const DebugFileOptions& options);
  // For a binary that is open, and that others may use as well.
  static std::unique_ptr<ImageSymbols> open(std::shared_ptr<Binary> binary,
                                            const std::string& path,
                                            const DebugFileOptions& options);

  // Opens a GSYM file, where the binary is not there. Fails if it is of another binary than
  // that of the id; empty: of any.
  static Result<std::unique_ptr<ImageSymbols>> open_index(std::unique_ptr<MappedFile> file,
                                                          const std::string& path,
                                                          std::string_view id);

  // Appends the calls at `address`, innermost first, and says who knew them, or that it is a
  // guess. None, and nothing appended, if nobody did.
  std::optional<FrameSource> find(ImageAddress address, std::vector<Call>& calls) const;

  // The function around code that nobody has a name for, as call frame information bounds it,
  // or Go's table, which may have emptied names. It is called by the file and its begin,
  // "cc1plus!fun_6d6ad0". None if nothing is known, and for stubs and what is no code.
  std::optional<FunctionRange> find_nameless(ImageAddress address) const;

  // Another with the same answers, which another thread may ask, as it may not ask this one. It
  // shares the files. Null if that would not pay: then there is no debugging information, whose
  // units take their time to read, or each would have to unpack it.
  std::unique_ptr<ImageSymbols> twin() const;

  // Appends where within [begin, end) the answers of find() may change, in any order.
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) const;

  // The address of the code at an offset in the binary; none where there is none, or where
  // nobody tells.
  std::optional<ImageAddress> code_at_offset(uint64_t offset) const;
  // False where nothing tells offsets from addresses.
  bool has_offsets() const;

  // All functions, by address, each as the best source that knows its start tells it.
  std::vector<FunctionRange> functions() const;
  // Functions without a name, by address.
  std::vector<FunctionRange> nameless_functions() const;

  // The id that stores know the file by; empty if it has no id.
  std::string id() const;
  // See MappedFile: of the file and of those with its debugging information.
  void forget_pages() const;
  // True for an index, which stands in for the binary: the image is empty.
  bool is_index() const { return index_ != nullptr; }
  const elf::Image& image() const { return binary_->image(); }
  // The user who wrote all that the names and lines come from; none where that is not known, or
  // not one user.
  std::optional<uid_t> owner() const;
  const std::optional<DebugFile>& debug_file() const { return debug_file_; }
  const std::optional<go::Module>& go_module() const { return binary_->go_module(); }
  // True if it should know its own functions: it has a Go function table or a .symtab, not just
  // the names that it exports.
  bool has_code_names() const;
  // True if it tells of which source files the functions of native code are.
  bool has_debug_info() const { return dwarf_ != nullptr; }
  // Why a source that should be there is not; empty if there is nothing to tell.
  const std::string& problem() const { return problem_; }
  // True if reading debugging information was given up, as dwarf::DebugInfo says.
  bool has_given_up() const { return dwarf_ && dwarf_->has_given_up(); }
  // Says what went wrong when addresses were looked for; empty if nothing did.
  std::string search_problem() const;
  // The problem that its debugging information has, of which this reads the list of units.
  std::string debug_problem() const;
  // True if there is a Go function table that cannot be used.
  bool has_damaged_table() const { return !binary_->go_problem().empty(); }
  // Says what had to be assumed about the Go function table; empty if nothing was.
  std::string assumption() const { return go_module() ? go_module()->assumption : ""; }

private:
  ImageSymbols() = default;
  void open_native(const std::string& path, const DebugFileOptions& options);
  void open_dwarf(const elf::Image& image, const std::string& path,
                  const std::string& debug_path, const DebugFileOptions& options);
  bool may_guess(ImageAddress address) const;
  bool may_reach(const FunctionRange& label, ImageAddress address) const;
  FunctionRange nameless(const elf::AddressRange& range) const;
  std::optional<FunctionRange> find_nameless_go(const go::Module& module, uint64_t pc) const;
  bool is_stub(ImageAddress address) const;
  void name_by_symbol(ImageAddress address, Call& call) const;
  void open_minidebuginfo();
  void add_problem(std::string problem);

  std::shared_ptr<Binary> binary_;
  std::unique_ptr<MappedFile> index_file_;  // null: a binary is there
  GsymSource* index_ = nullptr;             // one of the sources
  std::string file_name_;                   // without folders
  std::optional<DebugFile> debug_file_;
  std::optional<DebugFile> alternate_file_;  // of the debugging information
  std::optional<DebugFile> package_file_;    // likewise
  std::vector<std::shared_ptr<SymbolSource>> sources_;
  DwarfSource* dwarf_ = nullptr;    // one of the sources; null if there is none
  SymbolSource* symtab_ = nullptr;  // as dwarf_; or MiniDebugInfo
  mutable std::map<uint64_t, std::string> nameless_;  // what functions are called, by begin
  std::string problem_;
};

}  // namespace gosym
