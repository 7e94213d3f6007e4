#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/image_symbols.h"
#include "symbolize/names.h"

namespace gosym {

// Tells what code is at a place that a text speaks of, in words fit for a terminal. Empty:
// nobody knows, or more than one does.
struct CodeNames {
  std::function<std::string(uint64_t address)> at;
  // `file` is a path as a program was started by; the address is that of its ELF file, or an
  // offset in `function` unless that is empty.
  std::function<std::string(std::string_view file, std::string_view function, uint64_t address)>
      in_file;
  // `position`, "main.go:12", is what the text says of the place; empty: nothing.
  std::function<std::string(std::string_view function, uint64_t offset,
                            std::string_view position)>
      in_function;
  // The code at an offset in the file of that id; null: no ids are looked for.
  std::function<std::string(std::string_view build_id, uint64_t offset)> by_build_id = {};
};

// Copies text and puts names behind the addresses in it, as in "pc=0x4a1b20 <main.main
// main.go:12>". All else stays byte for byte. Known are
//
//   prog(+0x4a1b20)[0x7f3a5c024a1b]   of backtrace_symbols() in C, whose addresses are behind
//   prog(sym+0x20) [0x7f3a5c024a1b]   the call; what is in brackets is where it ran
//   prog[0x4a1b20]
//   sym+0x20/0x100, sym+0x20          of Linux and debuggers
//   /src/main.go:12 +0x1d             of Go, where the line before names the function
//   0x4a1b20                          anywhere, if it is not part of a word
//
// In place of the following its name is put:
//
//   0123456789abcdef01234567+0x1234   of tools that keep build ids and offsets in files
class AddressFilter {
public:
  explicit AddressFilter(CodeNames names) : names_(std::move(names)) {}

  // Appends the lines that are whole by now.
  void add(std::string_view input, std::string& output);
  // Appends what came last, without the end of its line.
  void finish(std::string& output);

private:
  // Appends a line, which is given without its end.
  void annotate(std::string_view line, std::string& output);

  CodeNames names_;
  std::string pending_;        // the begin of a line
  bool is_too_long_ = false;   // the line is copied as it comes
  std::string line_function_;  // of Go, which the last line named
};

// A binary and the path by which it was asked for.
struct NamedBinary {
  std::string path;
  std::shared_ptr<ImageSymbols> symbols;
};

// Changes the calls at one address into those that are to be told.
using ChooseCalls = std::function<void(std::vector<Call>&)>;

// "inner a.c:2 in outer a.c:9", fit for a terminal; empty for nothing and for guesses.
std::string describe_code(const ImageSymbols& symbols, ImageAddress address,
                          const ChooseCalls& choose, NameForm form,
                          std::string_view position = {});

// Names of places in these binaries. Guesses are not told.
CodeNames names_of(std::vector<NamedBinary> binaries, ChooseCalls choose, NameForm form);

}  // namespace gosym
