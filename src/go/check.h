#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "go/inline_tree.h"
#include "go/module.h"
#include "go/pclntab.h"

namespace gosym::go {

// Something that holds for every table that a Go linker wrote: how often it was looked at, and
// how often it did not hold.
struct Check {
  std::string_view invariant{};
  uint64_t checked = 0;
  uint64_t failed = 0;
  std::string first_failure{};  // where, and what is there; printable

  // Counts one; `describe` is asked for the first failure only.
  template <class Describe>
  bool expect(bool holds, Describe describe) {
    checked++;
    if (!holds && failed++ == 0)
      first_failure = describe();
    return holds;
  }
};

struct CheckReport {
  std::vector<Check> checks;
  uint64_t functions = 0;
  uint64_t holes = 0;  // places in functab without a function: healthy up to Go 1.17

  bool is_whole() const;
};

// Looks at all of a table: functab, functions, and what the whole program shares. The
// conditions were found to hold in programs of Go 1.3 to 1.27, on all machines.
CheckReport check_module(const Module& module);

// Conditions that each function meets:
//
//   code      all of it lies in an executable segment
//   name      is there, ends with a NUL, and is printable UTF-8
//   unit      lies in the table of units, from Go 1.16 on
//   id        is of no other function, unless it is that of wrappers
//   return    deferreturn lies in the function
//   end       each pc-value table has an end, and that lies in the function
//   code end  pcsp and pcfile end at the same pc, pcln not after it: lines of some assembly for
//             s390x leave out its last instructions
//   lines     are positive; up to Go 1.9 they are 0 in some wrappers
//   files     have names
//   inlined   each inline index has an entry, whose name is like that of a function
//   callers   of inlined calls have lower indices, and from Go 1.12 on the parent pc lies in
//             the function. From 1.20 on an index may be that of its own parent pc, if that is
//             0: the compiler does not say where initialisers call from
//   funcdata  lies in the image
//
// Rows of lines and files that hold for no code are left out: Go 1.2 has some of -1 in C code.
// Functions without any table are healthy: those that only mark a place, and trampolines.
class FunctionChecker {
public:
  explicit FunctionChecker(const Module& module);

  void check(const Function& function);
  const auto& checks() const { return checks_; }

private:
  enum Invariant : size_t {
    kCode,
    kName,
    kUnit,
    kId,
    kReturn,
    kEnd,
    kCodeEnd,
    kLines,
    kFiles,
    kInlined,
    kCallers,
    kFuncdata,
    kInvariants,
  };

  template <class Describe>
  bool expect(Invariant invariant, bool holds, Describe describe);
  std::string place() const;
  void check_record();
  void check_id(std::string_view name);
  PcTable read_table(uint32_t offset);
  void check_positions();
  void check_files(const PcTable& files);
  void check_lines(const PcTable& lines);
  void check_pcdata();
  void check_inlined_calls(const PcTable& indices);
  std::string_view take_name(uint32_t offset);
  void check_caller(const PcTable& indices, uint32_t index, const InlinedCall& call);
  void check_funcdata();

  const Module& module_;
  const Pclntab& table_;
  Function function_;  // the one that is being checked
  uint64_t rows_left_ = 0;
  uint64_t name_bytes_left_ = 0;
  std::map<uint8_t, std::string_view> names_by_id_;
  std::array<Check, kInvariants> checks_;
};

// Conditions that the parts of a program meet which its functions share:
//
//   file names   are as many as the header says
//   units        each element is ffffffff, a file that was left out, or begins a file name
//   moduledata   has the tables where the header has them; slices are full and lie in the
//                image; no end lies before its beginning; minpc and maxpc are the bounds of
//                functab
//   findfunctab  leads to the function: the runtime's index of functab, with for each 4,096
//                bytes of code from minpc on
//                    u32 base, 16 x u8
//                of which the u8 are for 256 bytes of code each. Base and u8 add up to the
//                index of the function that has the first of these bytes, or of one without
//                code that has the same entry: the runtime goes on from there
//
// Without moduledata, only what the table has itself.
std::vector<Check> check_tables(const Module& module);

}  // namespace gosym::go
