#pragma once

#include <optional>
#include <string>

#include "output/notes.h"
#include "output/table.h"
#include "output/text.h"
#include "output/tree.h"
#include "view/call_tree.h"

namespace gosym {

// A report as values: which rows, calls and notes it has, but not how they are written. Texts
// have the ends of their lines.
struct Document {
  struct Tree {
    CallTree calls;
    TreeColumns columns;
  };

  Amounts amounts;  // of all numbers
  About about = {};
  std::string heading = {};  // what a tree is around, or all there is to say
  std::optional<Table> table = {};
  std::string below_table = {};  // rows that are left out
  std::optional<Tree> tree = {};
  std::string below_tree = {};  // likewise
};

}  // namespace gosym
