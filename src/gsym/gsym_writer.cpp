#include "gsym/gsym_writer.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

// Pieces come by address; all pieces of a function build its rows and the tree of its inlined
// calls, which are packed when the next function begins. Texts and files get numbers as they
// are met. finish() puts the tables together once their sizes, and so all offsets, are known.

namespace gosym::gsym {

namespace {

// Nearly all steps from row to row are within these: then both numbers take one byte.
constexpr int64_t kLeastStep = -4;
constexpr int64_t kLargestStep = 10;
constexpr uint64_t kSteps = kLargestStep - kLeastStep + 1;

template <class T>
void put(T value, std::string& out) {
  for (size_t i = 0; i < sizeof(T); i++)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}

void put_uleb(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_sleb(int64_t value, std::string& out) {
  while (value < -64 || value > 63) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value & 0x7f);
}

void put_part(Part part, std::string_view contents, std::string& out) {
  put(static_cast<uint32_t>(part), out);
  put(static_cast<uint32_t>(contents.size()), out);
  out += contents;
}

void pad(std::string& out, size_t multiple) {
  out.resize((out.size() + multiple - 1) / multiple * multiple);
}

// The fewest bytes that hold all offsets, of the sizes that the format has.
uint8_t size_of_offsets(uint64_t largest) {
  for (uint8_t size : {uint8_t{1}, uint8_t{2}, uint8_t{4}})
    if (largest >> (8 * size) == 0)
      return size;
  return 8;
}

// The text that gsym_file.h describes: "gosym: go code=0x1000+0x5000@0x401000,...".
std::string text_of(const Facts& facts) {
  std::string text = fmt::format("{} {} code=", kFactsBegin, facts.is_go ? "go" : "native");
  for (size_t i = 0; i < facts.code.size(); i++) {
    const Code& code = facts.code[i];
    std::string piece = fmt::format("{}{:#x}+{:#x}@{:#x}", i == 0 ? "" : ",", code.offset,
                                    code.size, code.address);
    // A longer text is not read, and the kind of the program would be lost with it.
    if (text.size() + piece.size() > kMaxFacts)
      break;
    text += piece;
  }
  return text;
}

}  // namespace

// Text 0 is the empty one, and file 0 none. File 1 is "??", for rows without a file.
GsymWriter::GsymWriter() : texts_(1, '\0'), text_offsets_{{"", 0}}, files_(8, '\0') {
  (void)file("");
}

uint32_t GsymWriter::text(std::string_view text) {
  auto [known, is_new] =
      text_offsets_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  // A text that begins past 4 GiB is left out, and its number is wrong: finish() fails then.
  if (is_new && texts_.size() <= UINT32_MAX) {
    texts_ += text;
    texts_ += '\0';
  }
  return known->second;
}

// The number of a file: its place in the table, whose entries are u32 folder and u32 name.
uint32_t GsymWriter::file(std::string_view path) {
  auto [known, is_new] =
      file_numbers_.try_emplace(std::string(path), static_cast<uint32_t>(files_.size() / 8));
  if (!is_new)
    return known->second;
  size_t slash = path.rfind('/');
  size_t folder = slash == 0 ? 1 : slash;  // "/" itself
  put(slash == path.npos ? 0 : text(path.substr(0, folder)), files_);
  put(text(path.empty() ? kNoFile : path.substr(slash == path.npos ? 0 : slash + 1)), files_);
  return known->second;
}

void GsymWriter::extend(size_t node, uint64_t begin, uint64_t end) {
  // Pieces that touch are one range.
  auto& ranges = nodes_[node].ranges;
  if (!ranges.empty() && ranges.back().second == begin)
    ranges.back().second = end;
  else
    ranges.emplace_back(begin, end);
}

void GsymWriter::add_row(uint64_t address, const Call& innermost) {
  Row row{address, file(innermost.file), innermost.line};
  has_lines_ |= !innermost.file.empty() || innermost.line != 0;
  if (rows_.empty() || rows_.back().file != row.file || rows_.back().line != row.line)
    rows_.push_back(row);
}

void GsymWriter::add(uint64_t begin, uint64_t end, std::span<const Call> calls,
                     bool begins_function) {
  if (calls.empty() || begin >= end || calls.back().function.empty())
    return;
  // The last call is the function itself, into which the others are inlined.
  uint32_t name = text(calls.back().function);
  // A range goes on with the function before it if it follows it, has its name, and begins none
  // itself; sizes have 32 bits.
  bool is_same = !nodes_.empty() && !begins_function && end_ == begin &&
                 nodes_[0].name == name && end - nodes_[0].ranges[0].first <= UINT32_MAX;
  if (!is_same) {
    end_function();
    nodes_.push_back({.name = name});
  }
  end_ = end;
  size_t node = 0;
  extend(node, begin, end);
  // Only the innermost call has a row: the lines of callers are in the tree.
  add_row(begin, calls.front());
  // From the outermost call inward, so that each finds the node of the call that it is inlined
  // into.
  for (size_t i = calls.size() - 1; i-- > 0;) {
    const Call& site = calls[i + 1];
    NodeKey key{node, text(calls[i].function), file(site.file), site.line};
    // One call, by its name and place, is one node, however many pieces it has.
    auto [known, is_new] = known_.try_emplace(key, nodes_.size());
    if (is_new) {
      nodes_[node].inner.push_back(nodes_.size());
      nodes_.push_back({std::get<1>(key), std::get<2>(key), std::get<3>(key)});
    }
    node = known->second;
    extend(node, begin, end);
  }
}

// There is a row: add() makes one of the first piece of each function.
void GsymWriter::pack_lines(std::string& out) const {
  put_sleb(kLeastStep, out);
  put_sleb(kLargestStep, out);
  put_uleb(rows_[0].line, out);
  // Readers begin with this state.
  Row last{nodes_[0].ranges[0].first, 1, rows_[0].line};
  for (const Row& row : rows_) {
    if (row.file != last.file) {
      out += static_cast<char>(kSetFile);
      put_uleb(row.file, out);
    }
    int64_t lines = int64_t{row.line} - int64_t{last.line};
    uint64_t bytes = row.address - last.address;
    // A step that is too large is made on its own, and the rest of the row has none.
    if (lines < kLeastStep || lines > kLargestStep) {
      out += static_cast<char>(kAddLine);
      put_sleb(lines, out);
      lines = 0;
    }
    // One byte stands for a step of both numbers, if it is large enough for them.
    uint64_t step = bytes > UINT8_MAX ? bytes
                                      : static_cast<uint64_t>(lines - kLeastStep) +
                                            bytes * kSteps + uint64_t{kFirst};
    if (step <= UINT8_MAX) {
      out += static_cast<char>(step);
    } else {
      if (lines != 0) {
        out += static_cast<char>(kAddLine);
        put_sleb(lines, out);
      }
      out += static_cast<char>(kAddAddress);
      put_uleb(bytes, out);
    }
    last = row;
  }
  out += static_cast<char>(kEndLines);
}

// `base` is what its ranges count from: the begin of the function, or of the first range of the
// node around it.
void GsymWriter::pack_node(size_t number, uint64_t base, std::string& out) const {
  const Node& node = nodes_[number];
  put_uleb(node.ranges.size(), out);
  for (auto [begin, end] : node.ranges) {
    put_uleb(begin - base, out);
    put_uleb(end - begin, out);
  }
  out += static_cast<char>(!node.inner.empty());
  put(node.name, out);
  put_uleb(node.file, out);
  put_uleb(node.line, out);
  for (size_t inner : node.inner)
    pack_node(inner, node.ranges[0].first, out);
  if (!node.inner.empty())
    out += '\0';
}

void GsymWriter::end_function() {
  if (nodes_.empty())
    return;
  uint64_t begin = nodes_[0].ranges[0].first;
  begins_.push_back(begin);
  // Readers expect the descriptions at multiples of four.
  pad(packed_, 4);
  infos_.push_back(packed_.size());
  put(static_cast<uint32_t>(end_ - begin), packed_);
  put(nodes_[0].name, packed_);
  // The first node is the function itself.
  bool has_inlined = nodes_.size() > 1;
  // Readers look for inlined calls only where there are lines.
  if (has_lines_ || has_inlined) {
    std::string lines;
    pack_lines(lines);
    put_part(Part::kLines, lines, packed_);
  }
  if (has_inlined) {
    std::string tree;
    pack_node(0, begin, tree);
    put_part(Part::kInlinedCalls, tree, packed_);
  }
  put_part(Part::kEnd, "", packed_);
  nodes_.clear();
  known_.clear();
  rows_.clear();
  has_lines_ = false;
}

Result<> GsymWriter::finish(std::string_view id, const Facts& facts,
                            const std::function<void(std::string_view)>& write) {
  end_function();
  // The facts are the last text of the table, where read_facts() looks for them.
  texts_ += text_of(facts);
  texts_ += '\0';
  uint64_t base = begins_.empty() ? 0 : begins_.front();
  // Functions come by address: the last offset is the largest.
  uint8_t size = size_of_offsets(begins_.empty() ? 0 : begins_.back() - base);
  std::string head;
  std::string tables;
  for (uint64_t begin : begins_)
    for (uint8_t i = 0; i < size; i++)
      tables += static_cast<char>((begin - base) >> (8 * i));
  pad(tables, 4);
  uint64_t texts = kHeaderSize + tables.size() + 4 * begins_.size() + 4 + files_.size();
  uint64_t first = (texts + texts_.size() + 3) / 4 * 4;
  // Offsets in the file have 32 bits.
  if (first + packed_.size() > UINT32_MAX)
    return Error("its names and lines take more than the 4 GiB that GSYM has room for");
  for (uint64_t info : infos_)
    put(static_cast<uint32_t>(first + info), tables);
  put(static_cast<uint32_t>(files_.size() / 8), tables);
  id = id.substr(0, kMaxIdSize);
  put(kMagic, head);
  put(kVersion, head);
  put(size, head);
  put(static_cast<uint8_t>(id.size()), head);
  put(base, head);
  put(static_cast<uint32_t>(begins_.size()), head);
  put(static_cast<uint32_t>(texts), head);
  put(static_cast<uint32_t>(texts_.size()), head);
  head += id;
  head.resize(kHeaderSize);
  // Padded after the header has their size: within the texts it would stand behind the facts,
  // which have to be the last.
  texts_.resize(first - texts);
  for (std::string_view part :
       {std::string_view(head), std::string_view(tables), std::string_view(files_),
        std::string_view(texts_), std::string_view(packed_)})
    write(part);
  return Ok{};
}

}  // namespace gosym::gsym
