#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "go/inline_tree.h"
#include "go/module.h"
#include "go/pclntab.h"
#include "output/json.h"

namespace gosym {

// All that a function table has about one function, ready to be printed. Views borrow from the
// image.
struct FunctionView {
  struct Table {
    std::string name;          // "pcln", "pcdata 2"
    std::string_view meaning;  // "InlTreeIndex"; empty if it is not known
    uint32_t offset = 0;       // into the pc-values
    go::PcTable contents;
    std::vector<std::string_view> files;  // of the rows; only of pcfile
  };
  struct Funcdata {
    uint32_t index = 0;
    std::string_view meaning;
    ImageAddress address{};
  };
  // Calls come after their caller, which is the last before them that is less deep.
  struct InlinedCall {
    uint32_t index = 0;
    int depth = 0;
    std::string_view function;
    std::string_view file;  // of the call; empty if it is not known
    int32_t line = 0;
    std::string_view kind;
    uint64_t parent_pc = 0;
  };

  ImageAddress begin{};
  Record record;  // its name, its place, and the fields of its record in the table
  std::vector<Table> tables;
  std::vector<Funcdata> funcdata;
  std::vector<InlinedCall> inlined;
};

// None if the record of the function cannot be read.
std::optional<FunctionView> view_function(const go::Module& module, uint32_t index);

}  // namespace gosym
