#include "symbolize/image_symbols.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/demangle.h"
#include "base/text.h"
#include "elf/image.h"
#include "elf/minidebuginfo.h"
#include "elf/plt.h"
#include "elf/symbol_table.h"
#include "go/inline_tree.h"
#include "symbolize/symbol_source.h"

// `sources_` has the best evidence first, and whatever is asked goes down that list. Each
// source is a class of this file or of gsym_source.h that knows one table; ImageSymbols alone
// knows about several: it opens them in their order, joins names of symbols with lines of
// debugging information, guesses where no source has an answer, and keeps the files open that
// they read.
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
  // A file that is cut short may still have most of its tables. The names are used, and the
  // problem is told.
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
  // Sections of an object file all begin at 0, and its references to others are not filled in.
  if (symbols->image().type == ET_REL) {
    symbols->add_problem(
        "relocatable: its code has addresses only where it is linked or loaded");
    return symbols;
  }
  // Sources are asked in this order, the best evidence first: Go's table, debugging
  // information, symbols of the linker, the exported ones, and stubs, which are called by what
  // they call.
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
  // The binary is not there: an image without anything stands for it, and the index is the
  // only source.
  symbols->binary_ = std::make_shared<Binary>();
  symbols->file_name_ = base_name(path);
  symbols->index_file_ = std::move(file);
  auto source = std::make_unique<GsymSource>(*std::move(index));
  symbols->index_ = source.get();
  symbols->sources_.push_back(std::move(source));
  return symbols;
}

void ImageSymbols::forget_pages() const {
  binary_->forget_pages();
  for (const auto* file : {&debug_file_, &alternate_file_, &package_file_})
    if (*file)
      (*file)->binary->forget_pages();
  if (index_file_)
    index_file_->forget_pages();
}

// Opens the sources of code that is not Go's, the best first. The separate debug file is asked
// for what this one lacks; without one there is nothing to tell.
void ImageSymbols::open_native(const std::string& path, const DebugFileOptions& options) {
  elf::Kind kind = elf::kind_of(image());
  if (kind.is_packed)
    add_problem("packed by UPX: only what upx -d makes of it has code and names");
  // The program may have lost either of the two alone: `strip -g` leaves .symtab, and a debug
  // file may have one only. Each is taken from the program first.
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
  // Debugging information is read from one file. The program's own comes first, as it surely
  // belongs to it.
  if (!has_dwarf && debug_image && elf::kind_of(*debug_image).has_dwarf)
    open_dwarf(*debug_image, path, debug_file_->path, options);
  else if (has_dwarf)
    open_dwarf(image(), path, path, options);
  if (!symtab && debug_image)
    symtab = open_symtab_source(*debug_image);
  // .gnu_debugdata, of Fedora, has what .symtab lacks: it is of use only without that.
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
  // Functions that are inlined are told there: without it their lines would be their callers'.
  if (!alternate)
    return add_problem(alternate.error().message() +
                       ": none of its debugging information is read");
  alternate_file_ = *std::move(alternate);
  // Skeletons have their addresses there. Go's linker splits nothing off.
  bool may_be_split = image.find_section(".debug_addr") || image.find_section(".zdebug_addr");
  if (may_be_split && !go_module())
    package_file_ = open_package(this->image(), path, debug_path, options);
  // Units that are in no package lie at the paths that the compiler wrote to. These are
  // followed on this machine alone: below --symfs are the files of another one.
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

std::unique_ptr<ImageSymbols> ImageSymbols::twin() const {
  auto dwarf = dwarf_ ? dwarf_->twin() : nullptr;
  if (!dwarf)
    return nullptr;
  std::unique_ptr<ImageSymbols> twin(new ImageSymbols);
  twin->binary_ = binary_;
  twin->file_name_ = file_name_;
  twin->debug_file_ = debug_file_;
  twin->alternate_file_ = alternate_file_;
  twin->package_file_ = package_file_;
  twin->problem_ = problem_;
  // Tables that are read when they are first asked for are read before there are two who ask.
  (void)binary_->call_frames();
  if (go_module())
    twin->sources_.push_back(open_pclntab_source(*go_module()));
  twin->dwarf_ = dwarf.get();
  twin->sources_.push_back(std::move(dwarf));
  // A table of symbols that is read does not change any more: all have the same one.
  for (const auto& source : sources_)
    if (source.get() == symtab_)
      twin->sources_.push_back(source);
  twin->symtab_ = symtab_;
  for (auto* open_source : {open_dynsym_source, open_plt_source})
    twin->sources_.push_back(open_source(image()));
  return twin;
}

void ImageSymbols::add_problem(std::string problem) {
  problem_ += (problem_.empty() ? "" : "; ") + std::move(problem);
}

namespace {

// True for tables of symbols, which have no lines.
bool has_names_alone(FrameSource kind) {
  return kind == FrameSource::kSymtab || kind == FrameSource::kMiniDebugInfo ||
         kind == FrameSource::kDynsym;
}

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
    else if (dwarf_ && has_names_alone(kind))
      set_position(dwarf_->find_position(address), calls.back());
    return kind;
  }
  // Nobody has a function there. A label without a size before the address may be that of the
  // code, if nothing says that other code begins between.
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
  // Names that come from files of several users are of none, and so are those in split units,
  // which may lie anywhere.
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
  // A function counts as nameless only if no source, a label among them, has a name for its
  // begin.
  auto add = [&](ImageAddress begin) {
    calls.clear();
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
  // Both tables may have a function: Go's comes first, and stays.
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
    // Sources are in the order of their evidence, so each is asked what the better ones know.
    std::erase_if(listed, [&](const FunctionRange& function) {
      auto knows = [&](SymbolSource* other) {
        calls.clear();
        return other->find(function.address, calls);
      };
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

std::unique_ptr<DwarfSource> DwarfSource::twin() const {
  if (dwarf::has_packed_sections(image_))
    return nullptr;
  for (Bytes other : {others_.alternate, others_.package})
    if (auto file = elf::parse(other); file && dwarf::has_packed_sections(*file))
      return nullptr;
  return std::make_unique<DwarfSource>(image_, others_);
}

dwarf::DebugInfo* DwarfSource::info() {
  if (!std::exchange(is_open_, true))
    info_ = dwarf::DebugInfo::open(image_, others_, &problem_);
  return info_.get();
}

bool DwarfSource::find(ImageAddress address, std::vector<Call>& calls) {
  return info() && info()->find(address, calls);
}

dwarf::Position DwarfSource::find_position(ImageAddress address) {
  return info() ? info()->find_position(address) : dwarf::Position();
}

namespace {

class PclntabSource final : public SymbolSource {
public:
  explicit PclntabSource(const go::Module& module) : module_(module) {}

  FrameSource kind() const override {
    return module_.text_base == go::TextBase::kDerived ? FrameSource::kPclntabDerived
                                                       : FrameSource::kPclntab;
  }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    return go::find_calls(module_, address, calls, walk_);
  }

  void list(std::vector<FunctionRange>& functions) override {
    std::vector<Call> calls;
    functions.reserve(functions.size() + module_.table.function_count());
    for (uint32_t i = 0; i < module_.table.function_count(); i++) {
      auto function = module_.table.function(i);
      auto address = module_.address_of(module_.table.entry(i));
      calls.clear();
      if (!function || !address ||
          !go::find_calls(module_, *function, function->entry, calls, walk_))
        continue;
      const Call& call = calls.back();  // what was inlined at its entry comes before
      functions.push_back({*address, go::code_size(module_.table, *function), call.function,
                           call.file, call.start_line == 0 ? call.line : call.start_line});
    }
  }

  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    for (uint32_t i = first_function(begin); i < module_.table.function_count(); i++) {
      auto entry = module_.address_of(module_.table.entry(i));
      // The table has one entry more than functions: the end of the last one.
      auto next = module_.address_of(module_.table.entry(i + 1));
      if (entry && to_integer(*entry) >= end)
        return;
      // A function's end is an edge as well: code without a name may follow.
      for (auto place : {entry, next})
        if (place)
          edges.push_back(to_integer(*place));
      if (auto function = module_.table.function(i); function && entry)
        add_rows(*function, to_integer(*entry), end, edges);
    }
  }

private:
  // The function that holds the address; of one before or between all code the next.
  uint32_t first_function(uint64_t address) const {
    uint32_t low = 0;
    uint32_t high = module_.table.function_count();
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      auto next = module_.address_of(module_.table.entry(middle + 1));
      if (next && to_integer(*next) <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // Appends the edges within a function, whose code begins at address `entry`: rows count from
  // there.
  void add_rows(const go::Function& function, uint64_t entry, uint64_t end,
                std::vector<uint64_t>& edges) const {
    auto indices = go::inline_index_table(module_.table, function);
    // An answer is made of the file, the line and the inlined calls: it may change where any
    // of these does.
    for (uint32_t table : {function.pcfile, function.pcln, indices.value_or(0)}) {
      if (table == 0)
        continue;
      auto rows = module_.table.rows(table);
      uint64_t size = function.end - function.entry;
      for (auto row = rows.next(); row && row->begin < size && entry + row->begin < end;
           row = rows.next())
        edges.insert(edges.end(), {entry + row->begin, entry + row->end});
    }
  }

  const go::Module& module_;
  go::CallWalk walk_;
};

}  // namespace

std::unique_ptr<SymbolSource> open_pclntab_source(const go::Module& module) {
  return std::make_unique<PclntabSource>(module);
}

namespace {

class SymtabSource final : public SymbolSource {
public:
  // `storage` is what the table borrows from, where that is not the image.
  SymtabSource(FrameSource kind, elf::SymbolTable table, std::vector<std::byte> storage)
      : kind_(kind), storage_(std::move(storage)), table_(std::move(table)) {}

  FrameSource kind() const override { return kind_; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    auto symbol = table_.find(address);
    if (!symbol)
      return false;
    calls.push_back({.function = symbol->name, .file = {}});
    return true;
  }

  std::optional<FunctionRange> guess(ImageAddress address) override {
    auto label = table_.guess(address);
    if (!label)
      return std::nullopt;
    return FunctionRange{label->address, label->size, label->name, {}, 0};
  }

  void list(std::vector<FunctionRange>& functions) override {
    for (const elf::Symbol& symbol : table_.functions())
      functions.push_back({symbol.address, symbol.size, symbol.name, {}, 0});
  }

  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    table_.add_edges(begin, end, edges);
  }

private:
  FrameSource kind_;
  std::vector<std::byte> storage_;
  elf::SymbolTable table_;
};

// A source that is read when it is asked. Where there is a better one it may never be, and the
// exported symbols alone of a program of 75 MB take 30 ms to read.
class LazySource final : public SymbolSource {
public:
  using Open = std::unique_ptr<SymbolSource>(const elf::Image&);

  LazySource(const elf::Image& image, FrameSource kind, Open* open)
      : image_(image), kind_(kind), open_(open) {}

  FrameSource kind() const override { return kind_; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    return source() && source()->find(address, calls);
  }
  std::optional<FunctionRange> guess(ImageAddress address) override {
    return source() ? source()->guess(address) : std::nullopt;
  }
  void list(std::vector<FunctionRange>& functions) override {
    if (source())
      source()->list(functions);
  }
  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    if (source())
      source()->add_edges(begin, end, edges);
  }

private:
  SymbolSource* source() {
    if (open_)
      source_ = std::exchange(open_, nullptr)(image_);
    return source_.get();
  }

  const elf::Image& image_;
  FrameSource kind_;
  Open* open_;  // null once it has been called
  std::unique_ptr<SymbolSource> source_;
};

// Its stubs are no functions of the image: it lists none.
class PltSource final : public SymbolSource {
public:
  explicit PltSource(std::vector<elf::PltStub> stubs) : stubs_(std::move(stubs)) {}

  FrameSource kind() const override { return FrameSource::kPlt; }

  bool find(ImageAddress address, std::vector<Call>& calls) override {
    // The last stub that begins at the address or before; there may be gaps behind it.
    auto next = std::ranges::upper_bound(stubs_, address, {}, &elf::PltStub::address);
    if (next == stubs_.begin())
      return false;
    const elf::PltStub& stub = *std::prev(next);
    if (to_integer(address) - to_integer(stub.address) >= stub.size)
      return false;
    calls.push_back({.function = stub.name, .file = {}});
    return true;
  }

  void list(std::vector<FunctionRange>&) override {}

  void add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) override {
    for (const elf::PltStub& stub : stubs_)
      if (to_integer(stub.address) < end && to_integer(stub.address) + stub.size > begin)
        edges.insert(edges.end(),
                     {to_integer(stub.address), to_integer(stub.address) + stub.size});
  }

private:
  std::vector<elf::PltStub> stubs_;
};

// The symbol table in the section of that type (SHT_*); null: the image has none. `storage` are
// the bytes of the image, if nobody else keeps them.
std::unique_ptr<SymbolSource> open(const elf::Image& image, uint32_t section_type,
                                   FrameSource kind, std::vector<std::byte> storage = {}) {
  const elf::Section* section = image.find_section(section_type);
  if (!section)
    return nullptr;
  auto table = elf::SymbolTable::read(image, *section);
  // A table without functions is like none: the caller then looks for another.
  if (table.functions().empty() && table.labels().empty())
    return nullptr;
  return std::make_unique<SymtabSource>(kind, std::move(table), std::move(storage));
}

}  // namespace

std::unique_ptr<SymbolSource> open_symtab_source(const elf::Image& image) {
  return open(image, SHT_SYMTAB, FrameSource::kSymtab);
}

std::unique_ptr<SymbolSource> open_dynsym_source(const elf::Image& image) {
  auto read = [](const elf::Image& from) {
    return open(from, SHT_DYNSYM, FrameSource::kDynsym);
  };
  return std::make_unique<LazySource>(image, FrameSource::kDynsym, read);
}

Result<std::unique_ptr<SymbolSource>> open_minidebuginfo_source(const elf::Image& image) {
  auto section = image.contents(".gnu_debugdata");
  if (!section)
    return std::unique_ptr<SymbolSource>();
  auto unpacked = elf::unpack_minidebuginfo(*section);
  if (!unpacked)
    return std::move(unpacked).error().context(".gnu_debugdata");
  auto unpacked_image = elf::parse(*unpacked);
  if (!unpacked_image)
    return std::move(unpacked_image).error().context(".gnu_debugdata");
  // The names borrow from the unpacked bytes, which the source keeps.
  return open(*unpacked_image, SHT_SYMTAB, FrameSource::kMiniDebugInfo, *std::move(unpacked));
}

std::unique_ptr<SymbolSource> open_plt_source(const elf::Image& image) {
  auto read = [](const elf::Image& from) -> std::unique_ptr<SymbolSource> {
    return std::make_unique<PltSource>(elf::read_plt(from));
  };
  return std::make_unique<LazySource>(image, FrameSource::kPlt, read);
}

}  // namespace gosym
