#include "symbolize/image_symbols.h"

#include <doctest/doctest.h>

#include <fstream>

#include "derived_program.h"
#include "frame_builder.h"
#include "go_modules.h"
#include "temporary_directory.h"

namespace gosym::image_symbols_test {

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
  BuiltGoProgram program = program_with_gaps();
  OpenedImage derived(image_without_module(program));
  CHECK(derived.symbols->problem() == "");
  CHECK(derived.answer(0x401045) == "main.f1 by pclntab, derived text base");
  CHECK(OpenedImage(program.image()).answer(0x401045) == "main.f1 by pclntab");
}

TEST_CASE("image symbols: a few symbols of C do not answer for Go code") {
  ImageSpec spec = BuiltGoProgram{}.image();
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
  BuiltGoProgram program;
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

TEST_CASE("image symbols: code without a name is that of the function around it, but no stub") {
  FrameSpec frames;
  std::string entries = frames.setup_entry();
  for (uint64_t begin : {0x1000, 0x1100, 0x3000})
    entries += frames.function_entry(entries.size(), begin);
  ImageSpec spec = frames.image(entries);
  spec.parts.push_back({.name = ".plt.sec",
                        .contents = std::string(0x100, '\x90'),
                        .address = 0x3000,
                        .segment_flags = PF_R | PF_X});
  OpenedImage opened(spec);
  auto name_at = [&](uint64_t address) {
    auto function = opened.symbols->find_nameless(ImageAddress{address});
    return function ? fmt::format("{} {:#x}", function->name, function->size) : "";
  };
  CHECK(opened.answer(0x1080) == "");
  CHECK(name_at(0x1000) == "program!fun_1000 0x100");
  CHECK(name_at(0x10ff) == "program!fun_1000 0x100");
  CHECK(name_at(0x1100) == "program!fun_1100 0x100");
  CHECK(name_at(0x1200) == "");  // no code
  CHECK(name_at(0x3000) == "");  // a stub
  REQUIRE(opened.symbols->nameless_functions().size() == 2);
  CHECK(opened.symbols->nameless_functions()[1].name == "program!fun_1100");
  CHECK(opened.symbols->functions().empty());
}

TEST_CASE("image symbols: what is not linked has no names, and says why") {
  ImageSpec spec;
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(0x100, '\x90'),
                        .address = 0x401000,
                        .segment_flags = PF_R | PF_X});
  add_c_symbols(spec);
  OpenedImage linked(spec);
  CHECK(linked.answer(0x401068) != "");
  CHECK(linked.symbols->problem() == "");
  spec.type = ET_REL;
  OpenedImage relocatable(spec);
  CHECK(relocatable.answer(0x401068) == "");
  CHECK(relocatable.symbols->problem().starts_with("relocatable: "));
}

TEST_CASE("image symbols: Go code has names or none, whatever call frames say") {
  ImageSpec spec = BuiltGoProgram{}.image();
  FrameSpec frames;
  std::string entries = frames.setup_entry();
  for (uint64_t begin : {0x401000, 0x401400})
    entries += frames.function_entry(entries.size(), begin);
  spec.parts.push_back({.name = ".eh_frame",
                        .contents = entries,
                        .address = FrameSpec::kFrames,
                        .segment_flags = PF_R});
  CHECK_FALSE(OpenedImage(spec).symbols->find_nameless(ImageAddress{0x401010}));
  CHECK(OpenedImage(spec).symbols->nameless_functions().empty());

  spec.parts[1].contents[6] = 0;  // a table that cannot be read may be of all code
  CHECK_FALSE(OpenedImage(spec).symbols->find_nameless(ImageAddress{0x401010}));
}

}  // namespace gosym::image_symbols_test
