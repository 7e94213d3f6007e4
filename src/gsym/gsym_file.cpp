#include "gsym/gsym_file.h"

#include <algorithm>

#include "base/reader.h"
#include "base/text.h"

// parse() bounds all tables once. A look-up searches the offsets for the function, walks its
// rows for the line and its tree for inlined calls; both are read from their start each time,
// as nothing in them can be skipped. Whatever is damaged costs one answer.

namespace gosym::gsym {

namespace {

// The deepest that compilers make are some 30 deep.
constexpr int kMaxNested = 500;
// The memory that paths may take. Any number of files may have one long name.
constexpr size_t kMaxPaths = 256 << 20;

// A node of the tree of inlined calls that holds an address.
struct Node {
  uint32_t name = 0;
  uint32_t file = 0;
  uint32_t line = 0;
};

// Looks for the nodes that hold an address, and ends when it has them.
class NodeReader {
public:
  NodeReader(Bytes tree, ByteOrder order, uint64_t address)
      : in_(tree, order), address_(address) {}

  // Outermost first; empty if the tree does not make sense.
  std::vector<Node> read(uint64_t begin) {
    (void)read_node(begin, /*may_hold=*/true, 0);
    return in_.ok() ? std::move(nodes_) : std::vector<Node>();
  }

private:
  // kEnd: no node, but the end of a list, or damage. kOther: a node that does not hold the
  // address; the next may. kFound: one that does; nothing behind it matters.
  enum class Met : uint8_t { kEnd, kOther, kFound };

  // `base` is where its ranges count from; `may_hold`: all nodes around it hold the address.
  Met read_node(uint64_t base, bool may_hold, int depth) {
    uint64_t count = in_.uvarint64();
    // A node without ranges ends a list of nodes.
    if (count == 0)
      return Met::kEnd;
    // Nothing tells where a node ends that is too deep to be read: the tree makes no sense
    // then.
    if (depth > kMaxNested) {
      in_.bytes(UINT64_MAX);
      return Met::kEnd;
    }
    uint64_t first = 0;
    bool holds = false;
    for (uint64_t i = 0; i < count && in_.ok(); i++) {
      uint64_t begin = base + in_.uvarint64();
      uint64_t size = in_.uvarint64();
      if (i == 0)
        first = begin;
      // A begin above the address wraps around to a large difference.
      holds |= address_ - begin < size;
    }
    bool has_children = in_.u8() != 0;
    Node node{in_.u32(), in_.uvarint32(), in_.uvarint32()};
    if (!in_.ok())
      return Met::kEnd;
    // A node holds the address only if all around it do.
    holds &= may_hold;
    if (holds)
      nodes_.push_back(node);
    Met met = has_children ? Met::kOther : Met::kEnd;
    // Children are read up to the one that holds the address: nothing behind it matters, as
    // all nodes around it end there, too. Where none holds it all are read, as what follows
    // the node begins behind them.
    while (met == Met::kOther)
      met = read_node(first, holds, depth + 1);
    return holds ? Met::kFound : (in_.ok() ? Met::kOther : Met::kEnd);
  }

  Reader in_;
  uint64_t address_;
  std::vector<Node> nodes_;
};

// The text behind `key` up to the next space; empty if there is none.
std::string_view value_of(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == text.npos)
    return {};
  std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

// "0x1000+0x5000@0x401000"
std::optional<Code> parse_code(std::string_view text) {
  size_t plus = text.find('+');
  size_t at = text.find('@');
  if (plus == text.npos || at == text.npos || at < plus)
    return std::nullopt;
  auto offset = parse_hex(text.substr(0, plus));
  auto size = parse_hex(text.substr(plus + 1, at - plus - 1));
  auto address = parse_hex(text.substr(at + 1));
  if (!offset || !size || !address)
    return std::nullopt;
  return Code{*offset, *size, *address};
}

}  // namespace

bool GsymFile::is_one(Bytes file) {
  auto magic = load<uint32_t>(file, 0);
  return magic == kMagic || magic == byte_swap(kMagic);
}

Result<GsymFile> GsymFile::parse(Bytes file) {
  GsymFile parsed;
  parsed.file_ = file;
  if (!is_one(file))
    return Error("not a GSYM file");
  parsed.order_ = load<uint32_t>(file, 0) == kMagic ? ByteOrder::kLittle : ByteOrder::kBig;
  Reader in(file, parsed.order_);
  in.u32();
  // The magic tells the byte order. What is wrong with the version is said before what else may
  // be, as another version may have another header.
  uint16_t version = in.u16();
  if (in.ok() && version != kVersion)
    return errorf("GSYM of version {} is not known, only version {}", version, kVersion);
  parsed.offset_size_ = in.u8();
  uint8_t id_size = in.u8();
  parsed.base_ = in.u64();
  parsed.function_count_ = in.u32();
  uint32_t texts = in.u32();
  uint32_t texts_size = in.u32();
  parsed.id_ = as_text(in.bytes(kMaxIdSize)).substr(0, id_size);
  if (!in.ok())
    return in.error("GSYM header");
  uint8_t size = parsed.offset_size_;
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return errorf("GSYM header: address offsets of {} bytes", size);
  if (id_size > kMaxIdSize)
    return errorf("GSYM header: an id of {} bytes", id_size);
  // Tables are bounded here, so that a look-up later reads nothing outside of them.
  parsed.offsets_ = in.bytes(uint64_t{parsed.function_count_} * size);
  in.bytes((4 - in.offset() % 4) % 4);
  parsed.infos_ = in.bytes(uint64_t{parsed.function_count_} * 4);
  parsed.files_ = in.bytes(uint64_t{in.u32()} * 8);
  auto all_texts = slice(file, texts, texts_size);
  if (!in.ok() || !all_texts)
    return Error("GSYM file: cut short, or its tables lie outside of it");
  parsed.texts_ = *all_texts;
  parsed.read_facts();
  return parsed;
}

// The kind of the program and the places of its code are the last text of the table, in the
// form that gsym_file.h describes: "gosym: go code=0x1000+0x5000@0x401000,...". GSYM has no
// field for them, and other readers pass over a text that no function names.
void GsymFile::read_facts() {
  std::string_view all = as_text(texts_);
  if (!all.ends_with('\0'))
    return;
  all.remove_suffix(1);
  size_t begin = all.rfind('\0');
  std::string_view last = all.substr(begin == all.npos ? 0 : begin + 1);
  // An index of another writer ends with a name.
  if (!last.starts_with(kFactsBegin) || last.size() > kMaxFacts)
    return;
  facts_.is_go = last.find(" go ") != last.npos;
  for (std::string_view part : split(value_of(last, " code="), ','))
    if (auto code = parse_code(part))
      facts_.code.push_back(*code);
}

uint64_t GsymFile::begin_of(uint32_t index) const {
  // parse() has seen that the table has an offset for each function: the 0 is never taken.
  uint64_t at = uint64_t{index} * offset_size_;
  switch (offset_size_) {
    case 1:
      return base_ + load<uint8_t>(offsets_, at).value_or(0);
    case 2:
      return base_ + load<uint16_t>(offsets_, at, order_).value_or(0);
    case 4:
      return base_ + load<uint32_t>(offsets_, at, order_).value_or(0);
    default:
      return base_ + load<uint64_t>(offsets_, at, order_).value_or(0);
  }
}

// The last that begins at or before the address; of several that begin at one place the first,
// which is told the most of.
std::optional<uint32_t> GsymFile::index_at(uint64_t address) const {
  if (address < base_)
    return std::nullopt;
  uint32_t low = 0;
  uint32_t high = function_count_;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (begin_of(middle) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return std::nullopt;
  uint32_t index = low - 1;
  // The number of equal begins is bounded, for a hostile file could have all of them equal.
  constexpr int kMaxEqual = 16;
  for (int i = 0; i < kMaxEqual && index > 0 && begin_of(index - 1) == begin_of(index); i++)
    index--;
  return index;
}

Bytes GsymFile::info_of(uint32_t index) const {
  auto offset = load<uint32_t>(infos_, uint64_t{index} * 4, order_);
  return offset ? tail(file_, *offset) : Bytes();
}

std::string_view GsymFile::text(uint32_t offset) const {
  return load_cstring(texts_, offset).value_or("");
}

// Folder and name with a slash between. Empty if there is none, or no room. Texts in the map do
// not move: the view is valid as long as this object.
std::string_view GsymFile::path(uint32_t file) {
  if (auto known = paths_.find(file); known != paths_.end())
    return known->second;
  Reader in(tail(files_, uint64_t{file} * 8), order_);
  std::string_view folder = text(in.u32());
  std::string_view name = text(in.u32());
  if (!in.ok() || (folder.empty() && name == kNoFile) || paths_size_ > kMaxPaths)
    return {};
  std::string& path = paths_[file];
  path = folder;
  if (!folder.empty() && !folder.ends_with('/'))
    path += '/';
  path += name;
  constexpr size_t kOfEntry = 64;
  paths_size_ += path.size() + kOfEntry;
  return path;
}

GsymFile::Position GsymFile::position(uint32_t file, uint32_t line) {
  return {path(file), line};
}

// None before the first row. Of several rows at the address itself the first counts, as it does
// for LLVM's reader. `lines` are the contents of a part of type 1 (gsym_file.h), of the
// function at `begin`.
std::optional<GsymFile::Row> GsymFile::find_row(Bytes lines, uint64_t begin,
                                                uint64_t address) const {
  Reader in(lines, order_);
  int64_t least = in.svarint64();
  int64_t largest = in.svarint64();
  uint32_t line = in.uvarint32();
  uint64_t steps = static_cast<uint64_t>(largest) - static_cast<uint64_t>(least) + 1;
  if (!in.ok() || largest < least || steps == 0)
    return std::nullopt;
  uint32_t file = 1;
  uint64_t at = begin;
  std::optional<Row> row;
  while (in.ok()) {
    uint8_t step = in.u8();
    if (!in.ok() || step == kEndLines)
      break;
    if (step == kSetFile) {
      file = in.uvarint32();
      continue;
    }
    if (step == kAddLine) {
      line += static_cast<uint32_t>(in.svarint64());
      continue;
    }
    if (step == kAddAddress) {
      at += in.uvarint64();
    } else {
      // One byte steps both line and address, as in DWARF's special opcodes.
      uint64_t number = step - uint64_t{kFirst};
      line += static_cast<uint32_t>(static_cast<uint64_t>(least) + number % steps);
      at += number / steps;
    }
    if (!in.ok() || at > address)
      break;
    row = Row{file, line};
    if (at == address)
      break;
  }
  return row;
}

std::optional<IndexedFunction> GsymFile::function(uint32_t index) const {
  Reader in(info_of(index), order_);
  uint32_t size = in.u32();
  std::string_view name = text(in.u32());
  if (!in.ok() || name.empty())
    return std::nullopt;
  return IndexedFunction{begin_of(index), size, name};
}

bool GsymFile::find(uint64_t address, std::vector<Call>& calls) {
  auto index = index_at(address);
  auto described = index ? function(*index) : std::nullopt;
  if (!described)
    return false;
  // A symbol without a size reaches up to the next function.
  uint64_t begin = described->address;
  if (described->size != 0 && address - begin >= described->size)
    return false;
  // 8: behind the size and the name. Parts of other types, of later writers, are passed over.
  Reader in(tail(info_of(*index), 8), order_);
  std::optional<Row> row;
  std::vector<Node> nodes;
  while (in.ok()) {
    auto part = static_cast<Part>(in.u32());
    Bytes contents = in.bytes(in.u32());
    if (!in.ok() || part == Part::kEnd)
      break;
    if (part == Part::kLines)
      row = find_row(contents, begin, address);
    else if (part == Part::kInlinedCalls)
      nodes = NodeReader(contents, order_, address).read(begin);
  }
  // A call's place is where the next inner one is called: positions move outward by one.
  Position place = row ? position(row->file, row->line) : Position();
  // Node 0 is the function itself, which comes last.
  for (size_t i = nodes.size(); i-- > 1;) {
    calls.push_back({.function = text(nodes[i].name),
                     .file = place.file,
                     .line = place.line,
                     .is_inlined = true});
    place = position(nodes[i].file, nodes[i].line);
  }
  calls.push_back({.function = described->name, .file = place.file, .line = place.line});
  return true;
}

}  // namespace gosym::gsym
