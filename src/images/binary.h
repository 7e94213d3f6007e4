#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mapped_file.h"
#include "dwarf/call_frames.h"
#include "elf/image.h"
#include "elf/symbol_table.h"
#include "go/module.h"

namespace gosym {

// An ELF file that is open, and what was read of it: once, for whoever walks stacks, names
// code or shows instructions. What is read when it is first asked for is not for two threads
// at once.
class Binary {
public:
  // An image without anything, of a file that cannot be used.
  Binary() = default;
  // Fails if it is not ELF.
  static Result<std::shared_ptr<Binary>> open(std::unique_ptr<MappedFile> file);
  // Opens an image in memory, which must outlive this.
  static Result<std::shared_ptr<Binary>> open(Bytes image);

  const elf::Image& image() const { return image_; }
  int64_t mtime_ns() const { return file_ ? file_->mtime_ns() : 0; }
  std::optional<uid_t> owner() const { return file_ ? file_->owner() : std::nullopt; }

  // See MappedFile: what was read stays valid.
  void forget_pages() const;

  // None if there is no Go function table, or one that cannot be used.
  const std::optional<go::Module>& go_module();
  // Why the Go function table cannot be used; empty if it can be, or if there is none.
  const std::string& go_problem();
  // Null if the image has no call frame information.
  const dwarf::CallFrames* call_frames();
  // .symtab, or else .dynsym; null if it has neither.
  const elf::SymbolTable* symbols();

private:
  void read_module();

  std::unique_ptr<MappedFile> file_;  // null: the image lies in memory
  elf::Image image_;
  bool has_read_module_ = false;
  bool is_relocated_ = false;
  std::optional<go::Module> go_module_;
  std::string go_problem_;
  bool has_read_frames_ = false;
  std::unique_ptr<dwarf::CallFrames> call_frames_;
  std::optional<elf::SymbolTable> symbols_;
};

}  // namespace gosym
