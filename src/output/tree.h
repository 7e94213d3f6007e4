#pragma once

#include <string>

#include "output/amounts.h"
#include "output/screen.h"
#include "view/call_tree.h"

namespace gosym {

// Columns of numbers beside a tree.
enum class TreeColumns : uint8_t {
  kTotalAndSelf,
  kTotal,  // where the samples that end at a node mean nothing to a reader: callers
};

// Of the name of a key: what nobody has a name for is faint.
Style style_of(const ViewKey& key);

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
