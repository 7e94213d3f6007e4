#include "symbolize/make_index.h"

#include <algorithm>

namespace gosym {

namespace {

// So much code is gone through at once: each part of debugging information is then read about
// once, and what is kept stays small.
constexpr uint64_t kIndexedAtOnce = 256 << 10;

// The begins of the functions that a source lists, in order: two functions of one name that
// follow one another are told apart by them.
std::vector<uint64_t> function_begins(const ImageSymbols& symbols) {
  std::vector<uint64_t> begins;
  for (const FunctionRange& function : symbols.functions())
    begins.push_back(to_integer(function.address));
  return begins;
}

// Adds the names of [begin, end).
void add_part(const ImageSymbols& symbols, uint64_t begin, uint64_t end,
              const std::vector<uint64_t>& begins, gsym::GsymWriter& writer) {
  // Between two edges all addresses have the same calls, so that asking for the first is
  // enough.
  std::vector<uint64_t> edges = {begin, end};
  symbols.add_edges(begin, end, edges);
  std::erase_if(edges, [&](uint64_t edge) { return edge < begin || edge > end; });
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<Call> calls;
  for (size_t i = 0; i + 1 < edges.size(); i++) {
    calls.clear();
    auto source = symbols.find(ImageAddress{edges[i]}, calls);
    // A guess is not written: an index is read as the file's own word.
    if (source && *source != FrameSource::kLabel)
      writer.add(edges[i], edges[i + 1], calls, std::ranges::binary_search(begins, edges[i]));
  }
}

}  // namespace

void add_names(const ImageSymbols& symbols, gsym::GsymWriter& writer,
               const IndexProgress& progress) {
  std::vector<elf::AddressRange> code = elf::code_ranges(symbols.image());
  // Progress is told in bytes of code.
  uint64_t all = 0;
  for (const elf::AddressRange& range : code)
    all += range.end - range.begin;
  std::vector<uint64_t> begins = function_begins(symbols);
  uint64_t done = 0;
  for (const elf::AddressRange& range : code)
    for (uint64_t at = range.begin; at < range.end;) {
      uint64_t end = at + std::min(kIndexedAtOnce, range.end - at);
      add_part(symbols, at, end, begins, writer);
      done += end - at;
      at = end;
      progress(done, all);
    }
}

gsym::Facts index_facts(const ImageSymbols& symbols) {
  gsym::Facts facts{.is_go = symbols.go_module().has_value()};
  for (const elf::LoadedCode& code : elf::loaded_code(symbols.image()))
    facts.code.push_back({code.offset, code.size, to_integer(code.address)});
  return facts;
}

}  // namespace gosym
