#include "symbolize/image_symbols.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/demangle.h"
#include "base/text.h"
#include "elf/build_ids.h"
#include "elf/kind.h"
#include "symbolize/sources.h"

namespace gosym {

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(const std::string& path,
                                                         const DebugFileOptions& options) {
  auto file = MappedFile::open(path, options.symfs);
  if (!file)
    return std::move(file).error();
  return open(*std::move(file), path, options);
}

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open(std::unique_ptr<MappedFile> file,
                                                         const std::string& path,
                                                         const DebugFileOptions& options) {
  auto binary = Binary::open(std::move(file));
  if (!binary)
    return std::move(binary).error();
  uint64_t missing = (*binary)->image().missing_bytes();
  std::unique_ptr<ImageSymbols> symbols = open(*std::move(binary), path, options);
  if (missing > 0)
    symbols->add_problem(
        fmt::format("the file is cut short: {} are missing", human_size(missing)));
  return symbols;
}

std::unique_ptr<ImageSymbols> ImageSymbols::open(std::shared_ptr<Binary> binary,
                                                 const std::string& path,
                                                 const DebugFileOptions& options) {
  std::unique_ptr<ImageSymbols> symbols(new ImageSymbols);
  symbols->binary_ = std::move(binary);
  symbols->file_name_ = base_name(path);
  // Each section begins at 0 there, and what refers to another place is not filled in.
  if (symbols->image().type == ET_REL) {
    symbols->add_problem(
        "relocatable: its code has addresses only where it is linked or loaded");
    return symbols;
  }
  // Sources are asked in this order: Go's table, debugging information, symbols of the linker,
  // and the exported ones, which know the least.
  symbols->problem_ = symbols->binary_->go_problem();
  if (symbols->go_module())
    symbols->sources_.push_back(open_pclntab_source(*symbols->go_module()));
  symbols->open_native(path, options);
  for (auto* open_source : {open_dynsym_source, open_plt_source})
    symbols->sources_.push_back(open_source(symbols->image()));
  return symbols;
}

Result<std::unique_ptr<ImageSymbols>> ImageSymbols::open_index(std::unique_ptr<MappedFile> file,
                                                               const std::string& path,
                                                               std::string_view id) {
  auto index = gsym::GsymFile::parse(file->bytes());
  if (!index)
    return std::move(index).error();
  if (!id.empty() && index->id() != id.substr(0, gsym::kMaxIdSize))
    return errorf("build id is {}, not {}", hex(index->id()), hex(id));
  std::unique_ptr<ImageSymbols> symbols(new ImageSymbols);
  symbols->binary_ = std::make_shared<Binary>();
  symbols->file_name_ = base_name(path);
  symbols->index_file_ = std::move(file);
  auto source = std::make_unique<GsymSource>(*std::move(index));
  symbols->index_ = source.get();
  symbols->sources_.push_back(std::move(source));
  return symbols;
}

// The separate debug file is asked for what this one lacks.
void ImageSymbols::open_native(const std::string& path, const DebugFileOptions& options) {
  elf::Kind kind = elf::kind_of(image());
  if (kind.is_packed)
    add_problem("packed by UPX: only what upx -d makes of it has code and names");
  bool has_dwarf = kind.has_dwarf;
  auto symtab = open_symtab_source(image());
  if (!has_dwarf || !symtab) {
    auto debug_file = open_debug_file(image(), path, options);
    if (!debug_file)
      add_problem(debug_file.error().message());
    else
      debug_file_ = *std::move(debug_file);
  }
  const elf::Image* debug_image = debug_file_ ? &debug_file_->binary->image() : nullptr;
  if (!has_dwarf && debug_image && elf::kind_of(*debug_image).has_dwarf)
    open_dwarf(*debug_image, path, debug_file_->path, options);
  else if (has_dwarf)
    open_dwarf(image(), path, path, options);
  if (!symtab && debug_image)
    symtab = open_symtab_source(*debug_image);
  if (!symtab)
    return open_minidebuginfo();
  symtab_ = symtab.get();
  sources_.push_back(std::move(symtab));
}

// Has a part of what a .symtab has.
void ImageSymbols::open_minidebuginfo() {
  auto source = open_minidebuginfo_source(image());
  if (!source)
    add_problem(source.error().message());
  if (!source || !*source)
    return;
  symtab_ = source->get();
  sources_.push_back(*std::move(source));
}

void ImageSymbols::open_dwarf(const elf::Image& image, const std::string& path,
                              const std::string& debug_path, const DebugFileOptions& options) {
  // libdw takes references to the other file for some to this one.
  if (image.find_section(".debug_sup"))
    return add_problem(
        "parts of its debugging information are in a file that .debug_sup names "
        "(dwz --dwarf-5): none of it is read");
  auto alternate = open_alternate_file(image, debug_path, options);
  if (!alternate)
    add_problem(alternate.error().message());
  else
    alternate_file_ = *std::move(alternate);
  // Skeletons have their addresses there. Go's linker splits nothing off.
  bool may_be_split = image.find_section(".debug_addr") || image.find_section(".zdebug_addr");
  if (may_be_split && !go_module())
    package_file_ = open_package(this->image(), path, debug_path, options);
  auto bytes_of = [](const std::optional<DebugFile>& file) {
    return file ? file->binary->image().file : Bytes{};
  };
  auto dwarf = std::make_unique<DwarfSource>(
      image, dwarf::OtherFiles{.alternate = bytes_of(alternate_file_),
                               .package = bytes_of(package_file_),
                               .follows_split = options.symfs.empty()});
  dwarf_ = dwarf.get();
  sources_.push_back(std::move(dwarf));
}

void ImageSymbols::add_problem(std::string problem) {
  problem_ += (problem_.empty() ? "" : "; ") + std::move(problem);
}

namespace {

// Assembly has lines, although no function of a language with a compiler.
void set_position(const dwarf::Position& position, Call& call) {
  call.file = position.file;
  call.line = position.line;
}

}  // namespace

std::optional<FrameSource> ImageSymbols::find(ImageAddress address,
                                              std::vector<Call>& calls) const {
  for (const auto& source : sources_) {
    if (!source->find(address, calls))
      continue;
    // Debugging information has the plain name, which the symbol makes exact; symbols have no
    // lines, which debugging information may add.
    FrameSource kind = source->kind();
    if (kind == FrameSource::kDwarf)
      name_by_symbol(address, calls.back());
    else if (dwarf_ && (kind == FrameSource::kSymtab || kind == FrameSource::kDynsym))
      set_position(dwarf_->find_position(address), calls.back());
    return kind;
  }
  if (!may_guess(address))
    return std::nullopt;
  for (const auto& source : sources_)
    if (auto label = source->guess(address); label && may_reach(*label, address)) {
      calls.push_back({.function = label->name, .file = {}});
      if (dwarf_)
        set_position(dwarf_->find_position(address), calls.back());
      return FrameSource::kLabel;
    }
  return std::nullopt;
}

void ImageSymbols::add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) const {
  for (const auto& source : sources_)
    source->add_edges(begin, end, edges);
}

std::optional<ImageAddress> ImageSymbols::code_at_offset(uint64_t offset) const {
  return index_ ? index_->code_at_offset(offset) : image().code_at_offset(offset);
}

std::string ImageSymbols::id() const {
  return index_ ? std::string(index_->id()) : elf::store_id(elf::build_ids(image()));
}

bool ImageSymbols::has_offsets() const {
  return index_ ? index_->has_offsets() : !elf::loaded_code(image()).empty();
}

std::optional<uid_t> ImageSymbols::owner() const {
  if (index_file_)
    return index_file_->owner();
  auto owner = binary_->owner();
  for (const auto* other : {&debug_file_, &alternate_file_, &package_file_})
    if (*other && (*other)->owner != owner)
      return std::nullopt;
  return dwarf_ && dwarf_->has_split_units() ? std::nullopt : owner;
}

// In a file that symbols were taken out of, the call frame information still tells functions
// from one another.
bool ImageSymbols::may_reach(const FunctionRange& label, ImageAddress address) const {
  const dwarf::CallFrames* frames = binary_->call_frames();
  return !frames || frames->is_one_piece(label.address, address);
}

// Linkers describe all stubs of a section as one function.
bool ImageSymbols::is_stub(ImageAddress address) const {
  return std::ranges::any_of(image().sections, [&](const elf::Section& section) {
    return to_integer(address) - to_integer(section.address) < section.size &&
           (section.name.starts_with(".plt") || section.name.starts_with(".iplt"));
  });
}

FunctionRange ImageSymbols::nameless(const elf::AddressRange& range) const {
  std::string& name = nameless_[range.begin];
  if (name.empty())
    name = fmt::format("{}!fun_{:x}", file_name_, range.begin);
  return {.address = ImageAddress{range.begin},
          .size = range.end - range.begin,
          .name = name,
          .file = {}};
}

// An obfuscator (garble -tiny) takes names away, but none of the functions out of the table.
std::optional<FunctionRange> ImageSymbols::find_nameless_go(const go::Module& module,
                                                            uint64_t pc) const {
  auto index = module.table.find(pc);
  auto function = index ? module.table.function(*index) : std::nullopt;
  auto begin = function ? module.address_of(function->entry) : std::nullopt;
  if (!begin || !module.table.name(function->name_offset).empty())
    return std::nullopt;
  uint64_t size = go::code_size(module.table, *function);
  return nameless({to_integer(*begin), to_integer(*begin) + size});
}

std::optional<FunctionRange> ImageSymbols::find_nameless(ImageAddress address) const {
  if (const auto& module = go_module())
    if (auto pc = module->pc_of(address); pc && module->table.find(*pc))
      return find_nameless_go(*module, *pc);
  if (!may_guess(address) || !image().is_executable_at(address) || !binary_->call_frames())
    return std::nullopt;
  auto range = binary_->call_frames()->function_at(address);
  return range && !is_stub(ImageAddress{range->begin}) ? std::optional(nameless(*range))
                                                       : std::nullopt;
}

std::vector<FunctionRange> ImageSymbols::nameless_functions() const {
  std::vector<FunctionRange> result;
  std::vector<Call> calls;
  auto add = [&](ImageAddress begin) {
    if (auto function = find_nameless(begin); function && !find(begin, calls))
      result.push_back(*function);
  };
  if (const auto& module = go_module())
    for (uint32_t i = 0; i < module->table.function_count(); i++)
      if (auto begin = module->address_of(module->table.entry(i)))
        add(*begin);
  if (const dwarf::CallFrames* frames = binary_->call_frames())
    for (const elf::AddressRange& range : frames->functions())
      add(ImageAddress{range.begin});
  auto is_same = [](const FunctionRange& one, const FunctionRange& other) {
    return one.address == other.address;
  };
  std::ranges::stable_sort(result, {}, &FunctionRange::address);
  result.erase(std::unique(result.begin(), result.end(), is_same), result.end());
  return result;
}

// A few labels of C that survived in a Go program say nothing of the code of Go.
bool ImageSymbols::may_guess(ImageAddress address) const {
  const std::optional<go::Module>& module = go_module();
  if (!module)
    return !has_damaged_table();
  auto pc = module->pc_of(address);
  return !pc || !module->table.find(*pc);
}

// Debugging information has the plain names of some constructors and of parts that the compiler
// split off; the linker's tell them apart, unless they are unreadable.
void ImageSymbols::name_by_symbol(ImageAddress address, Call& call) const {
  std::vector<Call> symbol;
  if (!symtab_ || !symtab_->find(address, symbol))
    return;
  std::string_view name = symbol.back().function;
  if (call.function.starts_with("_Z") || !is_unreadable(name))
    call.function = name;
}

std::vector<FunctionRange> ImageSymbols::functions() const {
  std::vector<FunctionRange> result;
  // A function is listed by the best source that finds it, and not again by others at the same
  // address.
  std::vector<SymbolSource*> better;  // that have listed theirs
  std::vector<Call> calls;
  for (const auto& source : sources_) {
    std::vector<FunctionRange> listed;
    source->list(listed);
    if (listed.empty())
      continue;
    std::erase_if(listed, [&](const FunctionRange& function) {
      auto knows = [&](SymbolSource* other) { return other->find(function.address, calls); };
      return std::ranges::any_of(better, knows);
    });
    better.push_back(source.get());
    if (result.empty())
      result = std::move(listed);
    else
      result.insert(result.end(), listed.begin(), listed.end());
  }
  if (!std::ranges::is_sorted(result, {}, &FunctionRange::address))
    std::ranges::stable_sort(result, {}, &FunctionRange::address);
  return result;
}

std::string ImageSymbols::search_problem() const {
  if (dwarf_ && !dwarf_->problem().empty())
    return dwarf_->problem();
  return dwarf_ && dwarf_->has_given_up()
             ? "its debugging information is nested too deep to be read whole"
             : "";
}

std::string ImageSymbols::debug_problem() const {
  // Looking for split units reads the list of units, and notes what is wrong with it.
  if (dwarf_)
    dwarf_->has_split_units();
  return search_problem();
}

bool ImageSymbols::has_code_names() const {
  return go_module() || dwarf_ || symtab_ || index_;
}

}  // namespace gosym
