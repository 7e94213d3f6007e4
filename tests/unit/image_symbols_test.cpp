#include "symbolize/image_symbols.h"

#include <doctest/doctest.h>

#include <fstream>

#include "derived_program.h"
#include "go_modules.h"
#include "temporary_directory.h"

using namespace gosym;

namespace {

// The symbols of a spec, written to a file.
struct OpenedImage {
  explicit OpenedImage(const ImageSpec& spec) {
    std::ofstream(folder / "program", std::ios::binary) << build_image(spec);
    auto opened = ImageSymbols::open(folder / "program");
    REQUIRE(opened);
    symbols = *std::move(opened);
  }
  // "main.leaf by .gopclntab"; empty if nobody knows.
  std::string answer(uint64_t address) const {
    std::vector<Call> calls;
    auto source = symbols->find(ImageAddress{address}, calls);
    return source ? fmt::format("{} by {}", calls.back().function, to_string(*source)) : "";
  }

  TemporaryDirectory folder;
  std::unique_ptr<ImageSymbols> symbols;
};

// Adds a .symtab with a C function of 0x10 bytes behind the Go text, and one without a size.
void add_c_symbols(ImageSpec& spec) {
  std::vector<SymbolSpec> symbols = {{.name = 1, .address = 0x401060, .size = 0x10},
                                     {.name = 1, .address = 0x401000, .size = 0}};
  auto strings = static_cast<uint32_t>(spec.parts.size() + 2);
  spec.parts.push_back({.name = ".symtab",
                        .type = SHT_SYMTAB,
                        .contents = build_symbols(spec, symbols),
                        .link = strings});
  spec.parts.push_back(
      {.name = ".strtab", .type = SHT_STRTAB, .contents = std::string("\0_start\0leaf\0", 13)});
}

}  // namespace

TEST_CASE("image symbols: a name by a text base that is derived says so") {
  GoProgram program = program_with_gaps();
  OpenedImage derived(image_without_module(program));
  CHECK(derived.symbols->problem() == "");
  CHECK(derived.answer(0x401045) == "main.f1 by pclntab, derived text base");
  CHECK(OpenedImage(program.image()).answer(0x401045) == "main.f1 by pclntab");
}

TEST_CASE("image symbols: a few symbols of C do not answer for Go code") {
  ImageSpec spec = GoProgram{}.image();
  add_c_symbols(spec);
  OpenedImage whole(spec);
  CHECK(whole.answer(0x401000) == "main.caller by pclntab");
  CHECK(whole.answer(0x40105f) == "main.leaf by pclntab");
  CHECK(whole.answer(0x401060) == "_start by symtab");
  CHECK(whole.answer(0x401070) == "");

  // Nor where the Go table is of no use.
  spec.parts[1].contents[6] = 0;
  OpenedImage damaged(spec);
  CHECK(
      damaged.symbols->problem() ==
      "Go function table: section .gopclntab: header: instruction quantum is 0, not 1, 2 or 4");
  CHECK(damaged.answer(0x401000) == "");
  CHECK(damaged.answer(0x401041) == "");
  CHECK(damaged.answer(0x40105f) == "");
  CHECK(damaged.answer(0x401060) == "_start by symtab");
}

TEST_CASE("image symbols: what one damaged record leaves unnamed the next source names") {
  GoProgram program;
  ImageSpec spec = program.image();
  add_c_symbols(spec);
  spec.parts[3].contents =
      build_symbols(spec, {{.name = 8, .address = 0x401040, .size = 0x10}});
  Patch(program, spec.parts[1].contents).u32(program.build_table().records[1] + 4, 0x7fffffff);
  OpenedImage damaged(spec);
  CHECK(damaged.symbols->problem() == "");
  CHECK(damaged.answer(0x401000) == "main.caller by pclntab");
  CHECK(damaged.answer(0x401041) == "leaf by symtab");
  CHECK(damaged.answer(0x401051) == "");
}
