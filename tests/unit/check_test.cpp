#include "go/check.h"

#include "go/pclntab.h"
#include "go_modules.h"

namespace gosym::check_test {

namespace {

// "invariant: first failure" of each that does not hold.
std::string failures(const go::CheckReport& report) {
  std::string text;
  for (const go::Check& check : report.checks)
    if (check.failed > 0)
      text += fmt::format("{}: {}\n", check.invariant, check.first_failure);
  return text;
}

// The first failure of one invariant; empty if it holds.
std::string failure(std::string_view invariant, const go::Module& module) {
  for (const go::Check& check : go::check_module(module).checks)
    if (check.invariant == invariant)
      return check.first_failure;
  return "no such invariant";
}
std::string failure(std::string_view invariant, const BuiltGoProgram& program) {
  return failure(invariant, LoadedProgram(program).module());
}

// With the table, or another part of the image, changed by `edit`.
template <class Edit>
std::string failure_after(std::string_view invariant, Edit edit, size_t part = 1) {
  BuiltGoProgram program;
  ImageSpec spec = program.image();
  Patch patch(program, spec.parts[part].contents);
  edit(program.build_table(), patch);
  return failure(invariant, LoadedProgram(spec).module());
}
std::string failure_after_word(std::string_view invariant, uint64_t index, uint64_t value) {
  auto edit = [&](const GoTable&, Patch& patch) { patch.word(index * 8, value); };
  return failure_after(invariant, edit, 2);
}

}  // namespace

TEST_CASE("check: programs of every layout, word width and byte order are whole") {
  for (GoLayout layout : kGoLayouts) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
        CAPTURE(static_cast<int>(layout));
        CAPTURE(int{pointer_size});
        BuiltGoProgram program{.order = order, .pointer_size = pointer_size, .layout = layout};
        LoadedProgram loaded(program);
        go::CheckReport report = go::check_module(loaded.module());
        CHECK(failures(report) == "");
        CHECK(report.is_whole());
        CHECK(report.functions == 2);
        CHECK(report.holes == 0);
        if (layout == GoLayout::k127)
          for (const go::Check& check : report.checks)
            CHECK_MESSAGE(check.checked > 0, check.invariant);
      }
    }
  }
}

TEST_CASE("check: a hole is counted, and is no failure") {
  BuiltGoProgram program{.layout = GoLayout::k116};
  program.functions[1].is_hole = true;
  go::CheckReport report = go::check_module(LoadedProgram(program).module());
  CHECK(report.holes == 1);
  CHECK(failures(report) == "");
}

TEST_CASE("check: functab and records") {
  CHECK(failure_after("entries rise", [](const GoTable& table, Patch& patch) {
          patch.u32(table.functions + 16, 0x40);
        }) == "entries 1 and 2 are both 0x40");
  CHECK(failure_after("records can be read", [](const GoTable& table, Patch& patch) {
          patch.u32(table.records[0], 4);
        }) == "that of function 0, at 0x0, cannot");
  CHECK(failure_after("records follow one another, aligned",
                      [](const GoTable& table, Patch& patch) {
                        // The second record, four bytes further to the front.
                        std::string leaf = table.bytes.substr(table.records[1], 44);
                        for (size_t i = 0; i < leaf.size(); i++)
                          patch.u8(table.records[1] - 4 + i, static_cast<uint8_t>(leaf[i]));
                        patch.u32(table.functions + 12, table.records[1] - 4 - table.functions);
                      }) == "that of function 1 is at 0x5c, the last ends at 0x60");
}

TEST_CASE("check: fields of records") {
  CHECK(failure_after("functions have printable names", [](const GoTable& table, Patch& patch) {
          patch.u32(table.records[0] + 4, 0xffff);
        }) == "0x401000 : the name is at 0xffff");
  CHECK(failure_after("units lie in their table", [](const GoTable& table, Patch& patch) {
          patch.u32(table.records[0] + 32, 99);
        }) == "0x401000 main.caller: the unit is 99");
  CHECK(
      failure_after("deferreturn lies in the function", [](const GoTable& table, Patch& patch) {
        patch.u32(table.records[0] + 12, 0x41);
      }) == "0x401000 main.caller: it is at 0x41");
  CHECK(failure_after("funcdata lies in the image", [](const GoTable& table, Patch& patch) {
          patch.u32(table.records[0] + 56, 0x10000);
        }) == "0x401000 main.caller: funcdata 0 at 0x10000 does not");
  BuiltGoProgram program;
  program.functions[1].name = "main.\x1bleaf";
  CHECK(failure("functions have printable names", program) ==
        "0x401040 main.\\x1bleaf: the name is at 0xc");
}

TEST_CASE("check: an id is of one function, unless it is that of wrappers") {
  constexpr std::string_view kInvariant = "ids are of one function, or of wrappers";
  BuiltGoProgram program;
  program.functions[0].id = 9;
  LoadedProgram loaded(program);
  go::Module module = loaded.module();
  module.wrapper_id = 22;
  CHECK(failure(kInvariant, module) == "0x401040 main.leaf: main.caller has the id 9 too");
  module.wrapper_id = 9;
  CHECK(failure(kInvariant, module) == "");
}

TEST_CASE("check: pc-value tables") {
  BuiltGoProgram overrun;
  overrun.functions[0].sp = {{0, 4}, {8, 0x80}};
  CHECK(failure("pc-value tables end in the function", overrun) ==
        "0x401000 main.caller: the table at 0x1 is at pc 0x80 of 0x40 and has not ended");
  BuiltGoProgram early_files;
  early_files.functions[0].files = {{0, 0x2f}};
  CHECK(failure("pcsp, pcfile and pcln end at one pc", early_files) ==
        "0x401000 main.caller: they end at 0x30, 0x2f and 0x30");
  BuiltGoProgram early_lines;
  early_lines.functions[0].lines = {{10, 0x2c}};
  CHECK(failure("pcsp, pcfile and pcln end at one pc", early_lines) == "");
  BuiltGoProgram no_file;
  no_file.functions[0].files = {{2, 0x30}};
  CHECK(failure("files have names", no_file) ==
        "0x401000 main.caller: file 2 at pc 0x0 has none");
}

TEST_CASE("check: lines may be 0 up to Go 1.9") {
  BuiltGoProgram program;
  program.functions[0].lines = {{0, 4}, {5, 0x30}};
  program.layout = GoLayout::k110;
  CHECK(failure("lines are positive", program) ==
        "0x401000 main.caller: the line at pc 0x0 is 0");
  program.layout = GoLayout::k19;
  CHECK(failure("lines are positive", program) == "");
}

TEST_CASE("check: a row that holds for no code may have no line and no file") {
  BuiltGoProgram program{.layout = GoLayout::k12};
  program.functions[1].lines = {{-1, 0}};
  program.functions[1].files = {{-2, 0}};
  CHECK(failure("lines are positive", program) == "");
  CHECK(failure("files have names", program) == "");
  program.functions[1].files = {{-2, 1}};
  CHECK(failure("files have names", program) ==
        "0x401040 main.leaf: file -1 at pc 0x0 has none");
}

TEST_CASE("check: functions without code may have the entry of the next") {
  for (GoLayout layout : {GoLayout::k15, GoLayout::k110, GoLayout::k112}) {
    BuiltGoProgram program{.layout = layout};
    program.functions.insert(program.functions.begin(), {.name = "net(.text)", .entry = 0});
    CHECK(failure("entries rise", program) == "");
    CHECK(failure("findfunctab leads to the function", program) == "");
    program.functions[0].files = program.functions[0].lines =
        program.functions[0].sp = {{1, 4}};
    CHECK(failure("entries rise", program) == "entries 0 and 1 are both 0x401000");
  }
}

TEST_CASE("check: inlined calls") {
  constexpr std::string_view kCallers = "callers come before inlined calls";
  CHECK(failure_after("inlined calls have printable names",
                      [](const GoTable& table, Patch& patch) {
                        patch.u32(table.gofunc + 8 + 4, 0xffff);
                      }) == "0x401000 main.caller: that of inlined call 0 at pc 0x10 is ''");
  BuiltGoProgram loop;
  loop.tree[1].parent_pc = 0x15;
  CHECK(failure(kCallers, loop) ==
        "0x401000 main.caller: inlined call 1 is called by 1, at pc 0x15");
  BuiltGoProgram outside;
  outside.tree[1].parent_pc = 0x1000;
  CHECK(failure(kCallers, outside) ==
        "0x401000 main.caller: inlined call 1 is called by -1, at pc 0x1000");
  BuiltGoProgram upside_down{.layout = GoLayout::k19};
  upside_down.tree[0].parent = 1;
  CHECK(failure(kCallers, upside_down) ==
        "0x401000 main.caller: inlined call 0 is called by 1, at pc 0x0");
  // Initialisers are like this: the caller of the inner call is said to be at the entry, which
  // is its own.
  BuiltGoProgram init;
  init.functions[0].inlined = {{1, 0x10}, {0, 0x20}, {-1, 0x30}};
  init.tree[0].parent_pc = 0x2f;
  init.tree[1].parent_pc = 0;
  CHECK(failure(kCallers, init) == "");
}

TEST_CASE("check: files and units") {
  CHECK(failure_after("file names are as many as said", [](const GoTable&, Patch& patch) {
          patch.word(16, 3);
        }) == "there are 2, not 3");
  CHECK(failure_after("units lead to file names", [](const GoTable& table, Patch& patch) {
          patch.u32(table.units + 4, 3);
        }) == "element 1 is 0x3");
}

TEST_CASE("check: moduledata") {
  GoTable table = BuiltGoProgram().build_table();
  CHECK(failure_after_word("moduledata has the tables of the header", 7, 0x500001) ==
        fmt::format("filetab is at 0x500001, not {:#x}", 0x500000 + table.files));
  CHECK(failure_after_word("slices of moduledata lie in the image", 11, 9) ==
        fmt::format("pctab has 9 of {} elements at {:#x}", table.functions - table.pc_values,
                    0x500000 + table.pc_values));
  CHECK(failure_after_word("ranges of moduledata end after they begin", 26, 0x10) ==
        "data is 0x10, edata is 0x0");
  CHECK(failure_after_word("moduledata has the bounds of functab", 21, 0x401050) ==
        "maxpc is 0x401050, not 0x401060");
  CHECK(failure_after_word("findfunctab leads to the function", 48, uint64_t{1} << 32) ==
        "pc 0x0 leads to 1, not 0");
}

TEST_CASE("check: every prefix of a table ends, and none but the whole one is whole") {
  BuiltGoProgram program;
  std::string table = program.table();
  for (size_t size = 0; size <= table.size(); size++) {
    CAPTURE(size);
    ImageSpec spec = program.image();
    spec.parts[1].contents = table.substr(0, size);
    LoadedProgram loaded(spec);
    if (loaded.found)
      CHECK(go::check_module(loaded.module()).is_whole() == (size == table.size()));
  }
}

TEST_CASE("pc table: all rows, and the value at a pc") {
  LoadedProgram loaded{BuiltGoProgram()};
  const go::Pclntab& table = loaded.module().table;
  go::Function function = table.function(0).value();
  go::PcTable files = go::read_pc_table(table, function, function.pcfile);
  REQUIRE(files.rows.size() == 3);
  CHECK(files.is_whole);
  CHECK(files.end == 0x30);
  CHECK(files.at(0x0f) == 0);
  CHECK(files.at(0x10) == 1);
  CHECK(files.at(0x2f) == 0);
  CHECK_FALSE(files.at(0x30));
  CHECK_FALSE(go::read_pc_table(table, function, function.pcfile, 2).is_whole);
}

}  // namespace gosym::check_test
