#include "images/binary.h"

namespace gosym {

Result<std::shared_ptr<Binary>> Binary::open(std::unique_ptr<MappedFile> file) {
  auto opened = open(file->bytes());
  if (opened)
    (*opened)->file_ = std::move(file);
  return opened;
}

Result<std::shared_ptr<Binary>> Binary::open(Bytes image) {
  auto parsed = elf::parse(image);
  if (!parsed)
    return std::move(parsed).error();
  auto binary = std::make_shared<Binary>();
  binary->image_ = *std::move(parsed);
  return binary;
}

// Some tables have to be relocated first, which takes bytes that may be changed.
void Binary::read_module() {
  // Without a file of its own, as for the vdso, there is no Go table to look for.
  if (has_read_module_ || !file_)
    return;
  has_read_module_ = true;
  auto module = go::read_module(image_, file_->writable_bytes(), &is_relocated_);
  if (module)
    go_module_ = *std::move(module);
  else
    go_problem_ = std::move(module).error().context("Go function table").message();
}

void Binary::forget_pages() const {
  // Words that were relocated are nowhere but in memory.
  if (file_ && !is_relocated_)
    file_->forget_pages();
}

const std::optional<go::Module>& Binary::go_module() {
  read_module();
  return go_module_;
}

const std::string& Binary::go_problem() {
  read_module();
  return go_problem_;
}

const dwarf::CallFrames* Binary::call_frames() {
  // Null is an answer as well, so that a flag says whether the file was asked.
  if (!has_read_frames_) {
    has_read_frames_ = true;
    call_frames_ = dwarf::CallFrames::open(image_);
  }
  return call_frames_.get();
}

const elf::SymbolTable* Binary::symbols() {
  const elf::Section* section = image_.find_section(SHT_SYMTAB);
  if (!section)
    // A stripped file still has the symbols that it exports.
    section = image_.find_section(SHT_DYNSYM);
  if (!symbols_ && section)
    symbols_ = elf::SymbolTable::read(image_, *section);
  return symbols_ ? &*symbols_ : nullptr;
}

}  // namespace gosym
