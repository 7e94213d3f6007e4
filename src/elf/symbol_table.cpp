#include "elf/symbol_table.h"

#include <algorithm>
#include <tuple>

#include "base/reader.h"
#include "elf/calls.h"

// read() sorts the entries into functions and labels, and lays both out so that look-ups are
// binary searches: functions as ranges that do not overlap, labels with the size up to what
// comes next. Ties between names of one address are decided once, by is_before(), in both.

namespace gosym::elf {

namespace {

struct RawSymbol {
  uint32_t name_offset = 0;
  uint8_t info = 0;
  uint16_t section = 0;
  uint64_t value = 0;
  uint64_t size = 0;

  unsigned type() const { return ELF64_ST_TYPE(info); }
};

RawSymbol read_symbol(Reader& in, const Image& image) {
  RawSymbol symbol;
  symbol.name_offset = in.u32();
  // The two classes have the same fields in another order, to keep words aligned.
  if (image.pointer_size == 4) {
    symbol.value = in.u32();
    symbol.size = in.u32();
  }
  symbol.info = in.u8();
  in.u8();
  symbol.section = in.u16();
  if (image.pointer_size == 8) {
    symbol.value = in.u64();
    symbol.size = in.u64();
  }
  // Bit 0 says that the code is Thumb and is no part of the address.
  if (image.machine == EM_ARM && symbol.type() == STT_FUNC)
    symbol.value &= ~uint64_t{1};
  return symbol;
}

// A symbol of another file (SHN_UNDEF) has no code here, and the value of an absolute one is a
// number rather than an address.
bool may_be_code(const RawSymbol& symbol) {
  unsigned type = symbol.type();
  return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
         symbol.section != SHN_UNDEF && symbol.section != SHN_ABS;
}

bool is_version(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           c == '_' || c == '.' || c == '-';
  });
}

std::string_view without_version(std::string_view name) {
  size_t at = name.find('@');
  // Names may have an '@' of their own: only what reads as a version behind it is cut off.
  if (at == 0 || at == std::string_view::npos)
    return name;
  std::string_view rest = name.substr(at + 1);
  if (rest.starts_with('@'))
    rest.remove_prefix(1);
  return is_version(rest) ? name.substr(0, at) : name;
}

// Empty if there is none.
std::string_view name_of(Bytes names, const RawSymbol& symbol) {
  return without_version(load_cstring(names, symbol.name_offset).value_or(""));
}

Bytes names_of(const Image& image, const Section& section) {
  // `sections` leaves section 0 out.
  if (section.link == 0 || section.link > image.sections.size())
    return {};
  return image.contents(image.sections[section.link - 1]).value_or(Bytes{});
}

std::vector<Section> code_sections(const Image& image) {
  std::vector<Section> sections;
  for (const Section& section : image.sections)
    if ((section.flags & SHF_EXECINSTR) != 0)
      sections.push_back(section);
  std::ranges::stable_sort(sections, {}, &Section::address);
  return sections;
}

// The bytes from `address` to the end of the code section that holds it; 0 if none does.
uint64_t room_at(const std::vector<Section>& code, ImageAddress address) {
  auto next = std::ranges::upper_bound(code, address, {}, &Section::address);
  if (next == code.begin())
    return 0;
  // Code sections do not overlap: only the last that begins before the address can hold it.
  const Section& section = *std::prev(next);
  uint64_t offset = to_integer(address) - to_integer(section.address);
  return section.size - std::min(offset, section.size);
}

Binding binding_of(const RawSymbol& symbol) {
  switch (ELF64_ST_BIND(symbol.info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
      return Binding::kGlobal;
    case STB_WEAK:
      return Binding::kWeak;
    default:
      return Binding::kLocal;
  }
}

// By address. The best of several at one address comes last, so that a search from behind meets
// it first.
bool is_before(const Symbol& a, const Symbol& b) {
  if (a.address != b.address)
    return a.address < b.address;
  if (a.binding != b.binding)
    return a.binding > b.binding;
  if (a.size != b.size)
    return a.size < b.size;
  if (a.name.size() != b.name.size())
    return a.name.size() > b.name.size();
  return a.name > b.name;
}

bool is_function(const Image& image, const std::vector<Section>& code,
                 const RawSymbol& symbol) {
  // A range that wraps around would answer for every address.
  if (symbol.size == 0 || symbol.value + symbol.size < symbol.value)
    return false;
  // Untyped symbols are of assembly, in which data may carry names as well. A section of code
  // is required of them, because segments of code may hold read-only data too. A typed one is
  // believed wherever memory can run.
  ImageAddress address{symbol.value};
  return symbol.type() == STT_NOTYPE ? room_at(code, address) > 0
                                     : image.is_executable_at(address);
}

bool is_label(const std::vector<Section>& code, const RawSymbol& symbol,
              std::string_view name) {
  // Marks name nothing: '$' tells where code and data begin, '.' is the compiler's.
  bool is_mark =
      symbol.type() == STT_NOTYPE && (name.starts_with('$') || name.starts_with('.'));
  return symbol.size == 0 && !is_mark && room_at(code, ImageAddress{symbol.value}) > 0;
}

// The functions of the object that compilers put before all others, GCC's crtstuff.c: they have
// no sizes, and none needs more bytes than this on any machine. Behind the last lies the first
// code of the program.
constexpr uint64_t kMostOfCrtstuff = 128;
constexpr std::string_view kCrtstuff[] = {"__do_global_ctors_aux", "__do_global_dtors_aux",
                                          "deregister_tm_clones", "frame_dummy",
                                          "register_tm_clones"};

bool is_of_crtstuff(const Symbol& symbol) {
  return std::ranges::find(kCrtstuff, symbol.name) != std::end(kCrtstuff);
}

// Bytes of code that does nothing but go on elsewhere, as frame_dummy does: an optional mark
// that it may be jumped to (endbr64; bti c), and a jump. 0: it does more. Code of the program
// may follow the jump of frame_dummy without the padding that would tell its end.
uint64_t size_of_mere_jump(const Image& image, ImageAddress address) {
  Bytes code = image.loaded_from(address).value_or(Bytes{});
  if (image.machine == EM_AARCH64) {
    constexpr uint32_t kMark = 0xd503245f;
    // Instructions are little-endian in big-endian programs, too.
    uint64_t at = load<uint32_t>(code, 0) == kMark ? 4 : 0;
    bool is_jump = load<uint32_t>(code, at).value_or(0) >> 26 == 5;  // b
    return is_jump ? at + 4 : 0;
  }
  if (image.machine != EM_X86_64)
    return 0;
  // A short jump takes two bytes, a near one five.
  uint64_t at = as_text(code).starts_with("\xf3\x0f\x1e\xfa") ? 4 : 0;
  auto opcode = load<uint8_t>(code, at);
  return opcode == 0xeb ? at + 2 : opcode == 0xe9 ? at + 5 : 0;
}

// frame_dummy is a mere jump, and ends with it; the others end where their code seems to.
uint64_t size_in_crtstuff(const Image& image, const Symbol& label) {
  uint64_t most = std::min(label.size, kMostOfCrtstuff);
  uint64_t jump = size_of_mere_jump(image, label.address);
  return jump > 0 ? std::min(most, jump) : size_up_to_padding(image, label.address, most);
}

}  // namespace

SymbolTable SymbolTable::read(const Image& image, const Section& section) {
  SymbolTable table;
  Bytes names = names_of(image, section);
  std::vector<Section> code = code_sections(image);
  std::vector<ImageAddress> places;  // of what is no code
  Reader in(image.contents(section).value_or(Bytes{}), image.order);
  while (in.ok() && in.remaining() > 0) {
    RawSymbol raw = read_symbol(in, image);
    // A label ends at the next symbol of data, too: tables may lie between code.
    if (in.ok() && raw.type() == STT_OBJECT && raw.section != SHN_UNDEF)
      places.push_back(ImageAddress{raw.value});
    if (!in.ok() || !may_be_code(raw))
      continue;
    Symbol symbol{ImageAddress{raw.value}, raw.size, name_of(names, raw), binding_of(raw)};
    if (symbol.name.empty())
      continue;
    if (is_function(image, code, raw))
      table.functions_.push_back(symbol);
    else if (is_label(code, raw, symbol.name))
      table.labels_.push_back(symbol);
  }
  table.functions_.shrink_to_fit();
  // Functions first: labels are bounded by their ranges.
  std::sort(table.functions_.begin(), table.functions_.end(), is_before);
  table.lay_out();
  table.bound_labels(code, std::move(places));
  // Labels of .dynsym are cut at padding: the local functions that follow are not in that
  // table.
  for (Symbol& label : table.labels_) {
    if (is_of_crtstuff(label))
      label.size = size_in_crtstuff(image, label);
    else if (section.type == SHT_DYNSYM)
      label.size = size_up_to_padding(image, label.address, label.size);
  }
  return table;
}

// Goes through the functions by address with those that are open, the one that answers on top.
void SymbolTable::lay_out() {
  std::vector<uint32_t> open;
  uint64_t position = 0;
  // Functions that begin later lie on top. When one ends, the one below it answers again.
  auto answer_until = [&](uint64_t limit) {
    // Each open function that ends before the limit answers up to its end and is closed. The
    // position only moves forward, so that each is opened and closed once.
    while (!open.empty() && position < limit) {
      const Symbol& top = functions_[open.back()];
      uint64_t end = std::min(to_integer(top.address) + top.size, limit);
      if (position < end)
        ranges_.push_back({position, end, open.back()});
      position = std::max(position, end);
      if (position < limit)
        open.pop_back();
    }
    position = limit;
  };
  for (uint32_t i = 0; i < functions_.size(); i++) {
    answer_until(to_integer(functions_[i].address));
    open.push_back(i);
  }
  // No function begins any more: all that are open end.
  answer_until(UINT64_MAX);
  // Tables stay in memory for as long as their files are looked at.
  ranges_.shrink_to_fit();
}

// Drops the labels inside of functions and the aliases, and gives the others their sizes.
// `places` are where data lies.
void SymbolTable::bound_labels(const std::vector<Section>& code,
                               std::vector<ImageAddress> places) {
  std::sort(labels_.begin(), labels_.end(), is_before);
  std::ranges::sort(places);
  size_t kept = 0;
  for (size_t i = 0; i < labels_.size(); i++) {
    Symbol label = labels_[i];
    uint64_t begin = to_integer(label.address);
    // The section's end, the next function, the next datum and the next label: the first of
    // them ends the label.
    label.size = room_at(code, label.address);
    auto function = std::ranges::upper_bound(ranges_, begin, {}, &Range::begin);
    if (function != ranges_.end())
      label.size = std::min(label.size, function->begin - begin);
    if (auto next = std::ranges::upper_bound(places, label.address); next != places.end())
      label.size = std::min(label.size, to_integer(*next) - begin);
    if (i + 1 < labels_.size())
      label.size = std::min(label.size, to_integer(labels_[i + 1].address) - begin);
    // Aliases, at the address of the next label, have no room left.
    if (label.size > 0 && !find(label.address))
      labels_[kept++] = label;
  }
  labels_.resize(kept);
  labels_.shrink_to_fit();
}

void SymbolTable::add_edges(uint64_t begin, uint64_t end, std::vector<uint64_t>& edges) const {
  // A range that ends where the wanted one begins has no part in it, hence less_equal.
  auto range = std::ranges::lower_bound(ranges_, begin, std::less_equal(), &Range::end);
  for (; range != ranges_.end() && range->begin < end; range++)
    edges.insert(edges.end(), {range->begin, range->end});
}

std::optional<Symbol> SymbolTable::find(ImageAddress address) const {
  auto next = std::ranges::upper_bound(ranges_, to_integer(address), {}, &Range::begin);
  if (next == ranges_.begin() || std::prev(next)->end <= to_integer(address))
    return std::nullopt;
  return functions_[std::prev(next)->function];
}

std::optional<Symbol> SymbolTable::guess(ImageAddress address) const {
  auto next = std::ranges::upper_bound(labels_, address, {}, &Symbol::address);
  if (next == labels_.begin())
    return std::nullopt;
  const Symbol& label = *std::prev(next);
  if (to_integer(address) - to_integer(label.address) >= label.size)
    return std::nullopt;
  return label;
}

std::optional<std::string_view> symbol_name(const Image& image, const Section& section,
                                            uint64_t index) {
  uint64_t entry_size = image.pointer_size == 4 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
  Bytes entries = image.contents(section).value_or(Bytes{});
  if (index >= entries.size() / entry_size)
    return std::nullopt;
  Reader in(tail(entries, index * entry_size), image.order);
  std::string_view name = name_of(names_of(image, section), read_symbol(in, image));
  return name.empty() ? std::nullopt : std::optional(name);
}

}  // namespace gosym::elf
