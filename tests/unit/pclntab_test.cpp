#include "go/pclntab.h"

#include <doctest/doctest.h>

#include "go_modules.h"

namespace gosym::pclntab_test {

namespace {

struct LoadedTable {
  explicit LoadedTable(const BuiltGoProgram& from)
      : program(from), parts(program.build_table()), patch(program, parts.bytes) {}

  Result<go::Pclntab> parse() const {
    return go::Pclntab::parse(as_bytes(parts.bytes), program.order, program.pointer_size);
  }
  // The error of parse(); empty if there is none.
  std::string problem() const {
    auto parsed = parse();
    return parsed ? "" : parsed.error().message();
  }

  BuiltGoProgram program;
  GoTable parts;
  Patch patch;
};

go::Format format_of(GoLayout layout) {
  switch (layout) {
    case GoLayout::k12:
      return go::Format::kGo1_2;
    case GoLayout::k15:
    case GoLayout::k19:
      return go::Format::kGo1_5;
    case GoLayout::k110:
      return go::Format::kGo1_10;
    case GoLayout::k112:
      return go::Format::kGo1_12;
    case GoLayout::k113:
      return go::Format::kGo1_13;
    case GoLayout::k116:
      return go::Format::kGo1_16;
    case GoLayout::k118:
      return go::Format::kGo1_18;
    default:
      return go::Format::kGo1_20;
  }
}

template <class Check>
void for_each_table(Check check) {
  for (GoLayout layout : kGoLayouts) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
        CAPTURE(static_cast<int>(layout));
        CAPTURE(static_cast<int>(order));
        CAPTURE(int{pointer_size});
        check(LoadedTable({.order = order, .pointer_size = pointer_size, .layout = layout}));
      }
    }
  }
}

}  // namespace

TEST_CASE("pclntab: the header of every layout, word width and byte order") {
  for_each_table([](const LoadedTable& loaded) {
    auto table = loaded.parse();
    REQUIRE(table);
    CHECK(table->format() == format_of(loaded.program.layout));
    CHECK(table->order() == loaded.program.order);
    CHECK(table->has_offsets() == loaded.program.has_offsets());
    CHECK_FALSE(table->is_obfuscated());
    const go::PclntabHeader& header = table->header();
    CHECK(header.quantum == 1);
    CHECK(header.pointer_size == loaded.program.pointer_size);
    CHECK(header.function_count == 2);
    CHECK(header.functions == loaded.parts.functions);
    bool has_text = loaded.program.has_offsets() && loaded.program.layout < GoLayout::k126;
    CHECK(header.text_start == (has_text ? 0x401000 : 0));
    CHECK(header.file_count == (loaded.program.layout < GoLayout::k116 ? 3 : 2));
    CHECK(table->files() == std::vector<std::string_view>{"/src/a.go", "/src/b.go"});
    if (loaded.program.layout < GoLayout::k116) {
      CHECK(header.files == loaded.parts.files);
      return;
    }
    CHECK(header.names == loaded.parts.names);
    CHECK(header.units == loaded.parts.units);
    CHECK(header.files == loaded.parts.files);
    CHECK(header.pc_values == loaded.parts.pc_values);
  });
}

TEST_CASE("pclntab: the records of every layout, word width and byte order") {
  for_each_table([](const LoadedTable& loaded) {
    GoLayout layout = loaded.program.layout;
    auto table = loaded.parse();
    REQUIRE(table);
    uint64_t text = loaded.program.has_offsets() ? 0 : 0x401000;
    auto caller = table->function(0);
    auto leaf = table->function(1);
    REQUIRE(caller);
    REQUIRE(leaf);
    CHECK(caller->entry == text);
    CHECK(caller->end == text + 0x40);
    CHECK(leaf->end == text + 0x60);
    CHECK(table->name(caller->name_offset) == "main.caller");
    CHECK(table->name(leaf->name_offset) == "main.leaf");
    CHECK(caller->arguments_size == 16);
    CHECK(caller->deferreturn == (layout >= GoLayout::k112 ? 0x2c : 0));
    CHECK(leaf->id == (layout >= GoLayout::k110 ? 9 : 0));
    CHECK(leaf->flags == (layout >= GoLayout::k112 ? 4 : 0));
    CHECK(leaf->start_line == (layout >= GoLayout::k120 ? 30 : 0));
    CHECK(leaf->unit == (layout >= GoLayout::k116 ? 3 : 0));

    CHECK(table->value(*caller, caller->pcsp, text + 3) == 0);
    CHECK(table->value(*caller, caller->pcsp, text + 4) == 8);
    CHECK_FALSE(table->value(*caller, caller->pcsp, text + 0x30));
    CHECK(table->value(*leaf, leaf->pcln, leaf->entry + 4) == 31);
    auto file = table->value(*leaf, leaf->pcfile, leaf->entry);
    REQUIRE(file);
    CHECK(table->file(*leaf, *file) == "/src/a.go");

    uint32_t pcdata_count = layout == GoLayout::k15 ? 1 : layout < GoLayout::k113 ? 2 : 3;
    CHECK(table->pcdata_count(*caller) == pcdata_count);
    auto last = table->pcdata_table(*caller, pcdata_count - 1);
    REQUIRE(last);
    CHECK(table->rows(*last).next());
    CHECK_FALSE(table->pcdata_table(*caller, pcdata_count));
    uint32_t funcdata_count = table->funcdata_count(*caller);
    CHECK(funcdata_count >= 2);
    CHECK_FALSE(table->funcdata(*caller, 0));
    CHECK_FALSE(table->funcdata(*caller, funcdata_count));
    uint64_t tree = loaded.program.has_offsets() ? 8 : 0x500000 + loaded.parts.gofunc + 8;
    CHECK(table->funcdata(*caller, funcdata_count - 1) == tree);
    CHECK(loaded.parts.records[0] + caller->size <= loaded.parts.records[1]);
  });
}

TEST_CASE("pclntab: a pc belongs to the function that begins last before it") {
  auto table = LoadedTable({}).parse();
  REQUIRE(table);
  LoadedTable loaded({.layout = GoLayout::k113, .text = 0x401000});
  table = loaded.parse();
  REQUIRE(table);
  CHECK_FALSE(table->find(0x400fff));
  CHECK(table->find(0x401000) == 0u);
  CHECK(table->find(0x40103f) == 0u);
  CHECK(table->find(0x401040) == 1u);
  CHECK(table->find(0x40105f) == 1u);
  CHECK_FALSE(table->find(0x401060));
  CHECK_FALSE(table->find(UINT64_MAX));
}

TEST_CASE("pclntab: the quantum of the header scales the pcs of all tables") {
  LoadedTable loaded({});
  loaded.patch.u8(6, 2);
  auto table = loaded.parse();
  REQUIRE(table);
  auto leaf = table->function(1);
  CHECK(table->value(*leaf, leaf->pcln, 0x47) == 30);
  CHECK(table->value(*leaf, leaf->pcln, 0x48) == 31);
  CHECK(go::code_size(*table, 1) == 0x20);
}

TEST_CASE("pclntab: code ends where the file table does") {
  LoadedTable loaded({});
  CHECK(go::code_size(*loaded.parse(), 0) == 0x30);
  CHECK(go::code_size(*loaded.parse(), 1) == 0x10);
  loaded.patch.u32(loaded.parts.records[1] + 20, 0);  // no file table
  CHECK(go::code_size(*loaded.parse(), 1) == 0x20);
}

TEST_CASE("pclntab: the last file has a name though the count of Go 1.2 to 1.7 leaves it out") {
  for (GoLayout layout : {GoLayout::k12, GoLayout::k15, GoLayout::k19}) {
    LoadedProgram loaded(BuiltGoProgram{.layout = layout});
    const go::Pclntab& table = loaded.module().table;
    go::Function function = table.function(1).value();
    CHECK(table.file(function, 1) == "/src/a.go");
    CHECK(table.file(function, 2) == "/src/b.go");
    CHECK(table.file(function, 0) == "");
    CHECK(table.file(function, 3) == "");
  }
}

TEST_CASE("pclntab: three tables at one offset are none in Go 1.2 to 1.4") {
  for (GoLayout layout : {GoLayout::k12, GoLayout::k15}) {
    BuiltGoProgram program{.layout = layout};
    ImageSpec spec = program.image();
    Patch patch(program, spec.parts[1].contents);
    uint64_t record = program.build_table().records[1];
    for (uint64_t field : {20, 24, 28})
      patch.u32(record + field, 0x100);
    LoadedProgram loaded(spec);
    go::Function function = loaded.module().table.function(1).value();
    CHECK(function.pcln == (layout == GoLayout::k12 ? 0 : 0x100));
    CHECK(function.pcsp == function.pcln);
    CHECK(function.pcfile == function.pcln);
  }
}

TEST_CASE("pclntab: a header cut short") {
  for_each_table([](const LoadedTable& loaded) {
    uint64_t header_size =
        loaded.program.layout < GoLayout::k116 ? loaded.parts.functions : loaded.parts.names;
    for (uint64_t size = 0; size < header_size; size++) {
      CAPTURE(size);
      auto parsed = go::Pclntab::parse(as_bytes(loaded.parts.bytes).first(size),
                                       loaded.program.order, loaded.program.pointer_size);
      REQUIRE_FALSE(parsed);
      CHECK(parsed.error().message().starts_with("header: malformed or cut short at byte "));
    }
  });
}

TEST_CASE("pclntab: a word of the header that makes no sense") {
  auto problem = [](uint64_t offset, uint64_t value) {
    LoadedTable loaded({});
    loaded.patch.u8(offset, value);
    return loaded.problem();
  };
  CHECK(problem(0, 0xf1) == "");
  CHECK(problem(0, 0xfc) == "header: unknown magic 0xfffffffc");
  CHECK(problem(4, 1) == "header: bytes 4 and 5 are 0x1, not 0");
  CHECK(problem(5, 1) == "header: bytes 4 and 5 are 0x100, not 0");
  for (int quantum : {0, 3, 255})
    CHECK(problem(6, static_cast<uint64_t>(quantum)) ==
          fmt::format("header: instruction quantum is {}, not 1, 2 or 4", quantum));
  CHECK(problem(7, 4) == "header: pointer size is 4, not 8 as the image has it");
  CHECK(problem(7, 0) == "header: pointer size is 0, not 8 as the image has it");
}

TEST_CASE("pclntab: a table in the other byte order") {
  LoadedTable loaded({});
  auto parsed = go::Pclntab::parse(as_bytes(loaded.parts.bytes), ByteOrder::kBig, 8);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message() == "header: unknown magic 0xf1ffffff");
}

TEST_CASE("pclntab: more functions than there is room for, up to what overflows") {
  for_each_table([](LoadedTable loaded) {
    uint64_t size = loaded.parts.bytes.size() - loaded.parts.functions;
    for (uint64_t count :
         {uint64_t{0}, uint64_t{size / 4}, uint64_t{1} << 27, uint64_t{1} << 31,
          uint64_t{UINT32_MAX}, uint64_t{1} << 60, uint64_t{1} << 63, UINT64_MAX}) {
      if (loaded.program.pointer_size == 4)
        count &= UINT32_MAX;
      loaded.patch.word(8, count);
      CHECK(loaded.problem() ==
            fmt::format("function table: {} functions do not fit in {:#x} bytes", count, size));
    }
  });
}

TEST_CASE("pclntab: tables that overlap, lie in the header or past the end") {
  for (GoLayout layout : {GoLayout::k116, GoLayout::k118, GoLayout::k127}) {
    LoadedTable whole({.layout = layout});
    const uint64_t offsets[] = {whole.parts.names,     whole.parts.units,
                                whole.parts.files,     whole.parts.pc_values,
                                whole.parts.functions, whole.parts.bytes.size()};
    uint64_t first_word = whole.parts.names - 5 * 8;
    for (size_t i = 0; i < 5; i++) {
      CAPTURE(i);
      auto problem = [&](uint64_t value) {
        LoadedTable loaded({.layout = layout});
        loaded.patch.word(first_word + 8 * i, value);
        return loaded.problem();
      };
      uint64_t before = i == 0 ? whole.parts.names : offsets[i - 1];
      auto message = [](uint64_t at, uint64_t begin) {
        return fmt::format("header: table at {:#x} begins before {:#x}", at, begin);
      };
      CHECK(problem(8) == message(8, before));
      CHECK(problem(before - 1) == message(before - 1, before));
      CHECK(problem(offsets[i + 1] + 1) == message(offsets[i + 1], offsets[i + 1] + 1));
      CHECK(problem(UINT64_MAX) == message(offsets[i + 1], UINT64_MAX));
    }
  }
}

TEST_CASE("pclntab: entries out of order are refused, equal ones are not") {
  for (GoLayout layout : {GoLayout::k113, GoLayout::k116, GoLayout::k127}) {
    LoadedTable loaded({.layout = layout, .text = 0x1000});
    bool has_offsets = loaded.program.has_offsets();
    uint64_t text = has_offsets ? 0 : 0x1000;
    auto set_first = [&](uint64_t entry) {
      if (has_offsets)
        loaded.patch.u32(loaded.parts.functions, entry);
      else
        loaded.patch.word(loaded.parts.functions, entry);
    };
    set_first(text + 0x41);
    CHECK(loaded.problem() ==
          fmt::format("function table: entry 0 at {:#x} lies after the next, {:#x}",
                      text + 0x41, text + 0x40));
    set_first(text + 0x40);
    auto table = loaded.parse();
    REQUIRE(table);
    CHECK(table->find(text + 0x40) == 1u);
  }
}

TEST_CASE("pclntab: no prefix gives an answer that the whole table does not give") {
  for_each_table([](const LoadedTable& loaded) {
    for (size_t size = 0; size < loaded.parts.bytes.size(); size++) {
      CAPTURE(size);
      std::string prefix = loaded.parts.bytes.substr(0, size);
      auto parsed = go::Pclntab::parse(as_bytes(prefix), loaded.program.order,
                                       loaded.program.pointer_size);
      if (!parsed)
        continue;
      ImageAddress text{loaded.program.has_offsets() ? 0x401000u : 0u};
      go::Module module{.table = *parsed, .text = text};
      std::vector<Call> calls;
      if (!go::find_calls(module, ImageAddress{0x401041}, calls))
        continue;
      REQUIRE(calls.size() == 1);
      CHECK(calls[0].function == "main.leaf");
      CHECK((calls[0].file == "" || calls[0].file == "/src/a.go"));
      CHECK((calls[0].line == 0 || calls[0].line == 30));
    }
  });
}

}  // namespace gosym::pclntab_test
