#include "go/module.h"

#include <doctest/doctest.h>

#include "go_modules.h"

namespace gosym::module_test {

namespace {

std::string build_info(std::string_view version) {
  std::string record("\xff Go buildinf:\x08\x02", 16);
  record += std::string(16, '\0') + static_cast<char>(version.size());
  return record.append(version) + '\0';
}

BuiltGoProgram with_runtime(BuiltGoProgram program) {
  program.functions[1].name = "runtime.leaf";
  return program;
}

}  // namespace

TEST_CASE("module: the table of a position-independent image, however it is relocated") {
  for (GoLayout layout : kGoLayouts) {
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
      for (auto form :
           {RelocationForm::kRela, RelocationForm::kRelaInPlace, RelocationForm::kRel,
            RelocationForm::kSymbolic, RelocationForm::kRelr}) {
        CAPTURE(static_cast<int>(layout));
        CAPTURE(int{pointer_size});
        CAPTURE(static_cast<int>(form));
        BuiltGoProgram program{.pointer_size = pointer_size, .layout = layout};
        LoadedProgram loaded(build_pie(program, form));
        const go::Module& module = loaded.module();
        CHECK(calls_at(module, 0x401041) == kLeafCall);
        if (program.has_inlining())
          CHECK(calls_at(module, 0x401016) == kInnerCalls);
        CHECK(module.data.has_value() == program.has_module());
      }
    }
  }
}

TEST_CASE("module: words that are zero and have no relocation leave the text base unknown") {
  ImageSpec spec = build_pie({}, RelocationForm::kRela);
  spec.parts.erase(spec.parts.begin() + 3);  // .rela.dyn
  CHECK(LoadedProgram(spec).problem ==
        "section .gopclntab: text base unknown: no moduledata found");
}

TEST_CASE("module: bytes that are not the image's own are not relocated") {
  std::string file = build_image(build_pie({}, RelocationForm::kRela));
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  CHECK_FALSE(go::read_module(*image, {}));
}

TEST_CASE("module: a table without a section of its own is found in the segments") {
  for (GoLayout layout : kGoLayouts) {
    for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
      CAPTURE(static_cast<int>(layout));
      BuiltGoProgram program = with_runtime(
          {.pointer_size = pointer_size, .layout = layout, .table_address = 0x500008});
      ImageSpec spec = program.image();
      spec.parts[1].name = ".data.rel.ro";
      spec.parts[1].address = 0x500000;
      spec.parts[1].contents.insert(0, 8, '\x11');
      LoadedProgram loaded(spec);
      CHECK(loaded.module().found_by == "scan of the segments");
      CHECK(loaded.module().table_address == ImageAddress{0x500008});
      CHECK(calls_at(loaded.module(), 0x401041) == "runtime.leaf /src/a.go:30");
    }
  }
}

TEST_CASE("module: code and constants of a C program are not looked through") {
  BuiltGoProgram program = with_runtime({.layout = GoLayout::k120});
  struct Case {
    std::string table;
    std::string other;
    bool is_found;
  };
  for (const Case& one :
       {Case{".rodata", ".eh_frame", false}, Case{".rodata.cst", ".eh_frame", false},
        Case{".gcc_except_table", ".eh_frame", false}, Case{".constants", ".eh_frame", true},
        Case{".rodata", ".eh_frame_hdr", true}}) {
    CAPTURE(one.table);
    CAPTURE(one.other);
    ImageSpec spec = program.image();
    spec.parts[1].name = one.table;
    spec.parts.push_back({.name = one.other, .contents = "rules"});
    CHECK(LoadedProgram(spec).found.has_value() == one.is_found);
    // One of Go's own: it is a Go program, wherever the table has come to lie.
    for (std::string_view own : {".go.buildinfo", ".note.go.buildid"}) {
      spec.parts.back() = {.name = std::string(own), .contents = "go"};
      spec.parts.push_back({.name = one.other, .contents = "rules"});
      CHECK(LoadedProgram(spec).found);
    }
  }
}

TEST_CASE("module: it is said whether words were relocated, which are in memory alone") {
  for (auto form : {RelocationForm::kRela, RelocationForm::kRelr}) {
    std::string file = build_image(build_pie({}, form));
    auto image = elf::parse(as_bytes(file));
    REQUIRE(image);
    bool has_relocated = form == RelocationForm::kRelr;
    std::string before = file;
    REQUIRE(go::read_module(*image, std::as_writable_bytes(std::span(file)), &has_relocated));
    CHECK(has_relocated == (file != before));
  }
}

TEST_CASE("module: the section of a position-independent image has another name") {
  BuiltGoProgram program{.layout = GoLayout::k120};
  ImageSpec spec = program.image();
  spec.parts[1].name = ".data.rel.ro.gopclntab";
  CHECK(LoadedProgram(spec).module().found_by == "section .data.rel.ro.gopclntab");
}

TEST_CASE("module: an image without a table is not an error") {
  ImageSpec spec = BuiltGoProgram{}.image();
  spec.parts.erase(spec.parts.begin() + 1);
  LoadedProgram loaded(spec);
  CHECK_FALSE(loaded.found);
  CHECK(loaded.problem == "");
}

TEST_CASE("module: no address is named when the text base is unknown") {
  ImageSpec spec = BuiltGoProgram{}.image();
  spec.parts.pop_back();
  CHECK(LoadedProgram(spec).problem ==
        "section .gopclntab: text base unknown: no moduledata found");
}

TEST_CASE("module: no address is named when the text base is disputed") {
  BuiltGoProgram program{.layout = GoLayout::k120};
  BuiltGoProgram moved = program;
  moved.text = 0x401010;
  ImageSpec spec = program.image();
  spec.parts[2].contents = moved.module_data();
  CHECK(LoadedProgram(spec).problem ==
        "section .gopclntab: text base is 0x401000 by the header and 0x401010 by moduledata");
}

TEST_CASE("module: up to Go 1.25 the header has the text base, but not the inline trees") {
  ImageSpec spec = BuiltGoProgram{.layout = GoLayout::k120}.image();
  spec.parts.pop_back();
  LoadedProgram loaded(spec);
  CHECK(loaded.module().text_base == go::TextBase::kHeader);
  CHECK(calls_at(loaded.module(), 0x401041) == kLeafCall);
  CHECK(calls_at(loaded.module(), 0x401016) == "main.caller :0");
}

TEST_CASE("module: a text base outside of the code is none") {
  BuiltGoProgram program{.layout = GoLayout::k120};
  for (uint64_t text : {uint64_t{0x400fff}, uint64_t{0x401080}, UINT64_MAX}) {
    program.text = text;
    ImageSpec spec = program.image();
    spec.parts[0].address = 0x401000;
    CHECK(LoadedProgram(spec).problem ==
          "section .gopclntab: text base unknown: no moduledata found");
  }
  ImageSpec not_code = BuiltGoProgram{}.image();
  not_code.parts[0].segment_flags = PF_R | PF_W;
  CHECK(LoadedProgram(not_code).problem ==
        "section .gopclntab: text base unknown: no moduledata found");
}

TEST_CASE("module: a table of code that is not in the image is refused") {
  for (size_t size : {0x5f, 0x60}) {
    BuiltGoProgram program;
    ImageSpec spec = program.image();
    spec.parts[0].contents.resize(size);
    CHECK(LoadedProgram(spec).problem ==
          (size == 0x60 ? ""
                        : "section .gopclntab: the code of its functions is not in the image"));
  }
}

TEST_CASE("module: the parts of a text that was divided, and what lies between them") {
  for (GoLayout layout : {GoLayout::k118, GoLayout::k120, GoLayout::k126, GoLayout::k127}) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program{.layout = layout,
                           .text_parts = {{0, 0x40, 0x401000}, {0x40, 0x60, 0x401050}}};
    LoadedProgram loaded(program);
    const go::Module& module = loaded.module();
    CHECK(module.text_parts.size() == 2);
    CHECK(calls_at(module, 0x401016) == kInnerCalls);
    CHECK(calls_at(module, 0x401041) == "");
    CHECK(calls_at(module, 0x401051) == kLeafCall);
    CHECK(calls_at(module, 0x401070) == "");
    CHECK_FALSE(module.pc_of(ImageAddress{0x400fff}));
    CHECK_FALSE(module.pc_of(ImageAddress{0x401040}));
    CHECK(module.pc_of(ImageAddress{0x401050}) == 0x40u);
    CHECK(module.address_of(0x3f) == ImageAddress{0x40103f});
    CHECK(module.address_of(0x40) == ImageAddress{0x401050});
    CHECK(module.address_of(0x60) == ImageAddress{0x401070});
    CHECK_FALSE(module.address_of(0x61));
  }
}

TEST_CASE("module: parts of the text that contradict each other") {
  auto problem = [](std::vector<GoTextPart> parts) {
    return LoadedProgram(BuiltGoProgram{.text_parts = std::move(parts)}).problem;
  };
  auto message = [](size_t part, size_t count) {
    return fmt::format(
        "section .gopclntab: moduledata: part {} of {} of the text makes no sense", part,
        count);
  };
  CHECK(problem({{0, 0x40, 0x401000}, {0x40, 0x60, 0x401050}}) == "");
  CHECK(problem({{0, 0x40, 0x401000}, {0x3f, 0x60, 0x401050}}) == message(1, 2));
  CHECK(problem({{0, 0x40, 0x401000}, {0x60, 0x40, 0x401050}}) == message(1, 2));
  CHECK(problem({{0, 0x40, 0x500000}, {0x40, 0x60, 0x401050}}) == message(0, 2));
  std::vector<GoTextPart> many(5000, {0, 0, 0x401000});
  CHECK(problem(many) == message(4096, 5000));
}

TEST_CASE("module: more parts of the text than the image can hold") {
  BuiltGoProgram program{.text_parts = {{0, 0x40, 0x401000}, {0x40, 0x60, 0x401050}}};
  ImageSpec spec = program.image();
  Patch(program, spec.parts[2].contents).word(46 * 8, uint64_t{1} << 40);
  CHECK(LoadedProgram(spec).problem ==
        "section .gopclntab: moduledata: part 2 of 1099511627776 of the text makes no sense");
}

TEST_CASE("module: a release that is not known yet is read, and this is told") {
  auto assumption = [](std::string_view version) {
    ImageSpec spec = BuiltGoProgram{}.image();
    spec.parts.push_back({.name = ".go.buildinfo",
                          .contents = build_info(version),
                          .address = 0x610000,
                          .segment_flags = PF_R | PF_W});
    return LoadedProgram(spec).module().assumption;
  };
  CHECK(assumption("go1.27.4") == "");
  CHECK(assumption("go1.28") == "Go 1.28 is newer than what is known: read as Go 1.27");
  CHECK(assumption("devel go1.30-abcdef") ==
        "Go 1.30 is newer than what is known: read as Go 1.27");
  CHECK(assumption("something else") == "");
}

}  // namespace gosym::module_test
