#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gsym/gsym_file.h"
#include "model/call.h"

namespace gosym::gsym {

// Makes a GSYM file (gsym_file.h) of what is known of code, piece by piece in the order of
// addresses. The same pieces make the same bytes. Each function is packed as soon as the next
// begins: what it takes in memory is about the size of the file.
class GsymWriter {
public:
  GsymWriter();

  // The calls at all of [begin, end), innermost first, are these. A function ends where the
  // next piece does not follow at once, is of one of another name, or `begins_function`.
  void add(uint64_t begin, uint64_t end, std::span<const Call> calls, bool begins_function);

  // Hands the file over, part by part. Fails if it is too large for the format. Of a longer id
  // the first 20 bytes are kept.
  Result<> finish(std::string_view id, const Facts& facts,
                  const std::function<void(std::string_view)>& write);

  size_t function_count() const { return begins_.size(); }

private:
  // A call that was inlined, wherever in the function; the first is the function.
  struct Node {
    uint32_t name = 0;
    uint32_t file = 0;
    uint32_t line = 0;
    std::vector<std::pair<uint64_t, uint64_t>> ranges{};  // begin and end
    std::vector<size_t> inner{};
  };
  struct Row {
    uint64_t address = 0;
    uint32_t file = 0;
    uint32_t line = 0;
  };
  using NodeKey = std::tuple<size_t, uint32_t, uint32_t, uint32_t>;

  uint32_t text(std::string_view text);
  uint32_t file(std::string_view path);
  void extend(size_t node, uint64_t begin, uint64_t end);
  void add_row(uint64_t address, const Call& innermost);
  void end_function();
  void pack_lines(std::string& out) const;
  void pack_node(size_t node, uint64_t base, std::string& out) const;

  std::string texts_;
  std::unordered_map<std::string, uint32_t> text_offsets_;
  std::string files_;
  std::unordered_map<std::string, uint32_t> file_numbers_;
  std::vector<uint64_t> begins_;
  std::vector<uint64_t> infos_;  // offsets from the first
  std::string packed_;

  // The function that has not ended; it has no nodes: there is none.
  uint64_t end_ = 0;
  std::vector<Node> nodes_;
  std::map<NodeKey, size_t> known_;
  std::vector<Row> rows_;
  bool has_lines_ = false;
};

}  // namespace gosym::gsym
