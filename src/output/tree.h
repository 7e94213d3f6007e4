#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "output/table.h"
#include "output/text.h"
#include "view/call_tree.h"

namespace gosym {

// Columns of numbers beside a tree.
enum class TreeColumns : uint8_t {
  kTotalAndSelf,
  kTotal,  // where the samples that end at a node mean nothing to a reader: callers
};

// The style of a key's name: faint if the code has no name.
Style style_of(const ViewKey& key);

// The outer lines of a deep node go where they would be wider than this.
std::string cut_branches(std::string_view branches, size_t width);

// Visits each node but the root, with the lines that stand before its name. What a node alone
// calls stands below it without indentation.
void for_each_line(
    const CallTree& tree,
    const std::function<void(uint32_t node, const std::string& branches)>& visit);

// A line for each node but the root. What a node alone calls stands below it without
// indentation, so that long chains of calls stay on the screen:
//
//   total %  self %  function
//     92.10    0.00  main.main
//     92.10    0.30  main.work
//     60.20   60.20  ├─ main.fib
//     31.60   31.60  └─ main.hash
std::string tree_text(const CallTree& tree, const Amounts& amounts, TreeColumns columns,
                      const Screen& screen);

}  // namespace gosym
