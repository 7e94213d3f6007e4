#include "go/module.h"

#include <doctest/doctest.h>

#include "derived_program.h"
#include "go_modules.h"

namespace gosym::text_base_test {

namespace {

constexpr uint64_t kText = 0x401000;
constexpr std::string_view kUnknown =
    "section .gopclntab: text base unknown: no moduledata found";

}  // namespace

TEST_CASE("text base: it is where the gaps between functions fall on filling") {
  BuiltGoProgram program = program_with_gaps();
  for (size_t before : {0u, 0x10u, 0x20u, 0x110u}) {
    CAPTURE(before);
    LoadedProgram loaded(image_without_module(program, before));
    CHECK(loaded.module().text_base == go::TextBase::kDerived);
    CHECK(to_string(loaded.module().text_base) == "the gaps between functions (derived)");
    CHECK(loaded.module().text == ImageAddress{kText});
    CHECK(calls_at(loaded.module(), kText + 0x47) == "main.f1 /src/a.go:1");
  }
}

TEST_CASE("text base: with it, the inline trees are found behind the records") {
  for (GoLayout layout : {GoLayout::k126, GoLayout::k127}) {
    BuiltGoProgram program = program_with_gaps();
    program.layout = layout;
    GoFunction& last = program.functions.back();
    last.inlined = {{-1, 0x10}, {0, 0x14}, {-1, 0x30}};
    program.tree.resize(1);
    LoadedProgram loaded(image_without_module(program));
    CHECK(calls_at(loaded.module(), kText + last.entry + 0x12) ==
          "main.outer /src/a.go:19 < main.f19 /src/a.go:19");
  }
}

TEST_CASE("text base: two places that fit are none") {
  BuiltGoProgram program = program_with_gaps();
  ImageSpec spec = image_without_module(program);
  spec.entry = 0;
  spec.parts[0].contents += std::string(13, '\x90') + code_of(program);
  CHECK(LoadedProgram(spec).problem == kUnknown);
}

TEST_CASE("text base: no place that fits is none") {
  BuiltGoProgram program = program_with_gaps();
  ImageSpec spec = image_without_module(program);
  spec.parts[0].contents[0x20 + 0x40 * 7 + 0x35] = '\x90';
  CHECK(LoadedProgram(spec).problem == kUnknown);
  spec = image_without_module(program);
  spec.parts[0].segment_flags = PF_R;
  CHECK(LoadedProgram(spec).problem == kUnknown);
  spec = image_without_module(program);
  spec.parts[0].contents.resize(0x20 + program.text_size - 1);
  CHECK(LoadedProgram(spec).problem == kUnknown);
}

TEST_CASE("text base: fewer than 16 gaps prove nothing") {
  BuiltGoProgram program = program_with_gaps();
  auto remove = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
      program.functions[i].files.clear();
  };
  remove(0, 4);
  CHECK(LoadedProgram(image_without_module(program)).problem == "");
  remove(0, 5);
  CHECK(LoadedProgram(image_without_module(program)).problem == kUnknown);
}

TEST_CASE("text base: an entry point of Go's that lies elsewhere is a contradiction") {
  BuiltGoProgram program = program_with_gaps();
  ImageSpec spec = image_without_module(program);
  spec.entry = kText + 0x10;
  CHECK(LoadedProgram(spec).problem == kUnknown);
  // The C library begins a program that has a function for it to call.
  program.functions[3].name = "main";
  spec = image_without_module(program);
  spec.entry = kText + 0x10;
  CHECK(LoadedProgram(spec).module().text == ImageAddress{kText});
}

TEST_CASE("text base: what the file says comes before what can be derived") {
  BuiltGoProgram program = program_with_gaps();
  CHECK(LoadedProgram(program).module().text_base == go::TextBase::kModuleData);
  program.layout = GoLayout::k120;
  CHECK(LoadedProgram(image_without_module(program)).module().text_base ==
        go::TextBase::kHeader);
}

TEST_CASE("text base: tables of addresses need none") {
  BuiltGoProgram program = program_with_gaps();
  program.layout = GoLayout::k116;
  LoadedProgram loaded(image_without_module(program));
  CHECK(loaded.module().text_base == go::TextBase::kAbsolute);
  CHECK_FALSE(go::derive_text_base(loaded.image, loaded.module().table));
}

}  // namespace gosym::text_base_test
