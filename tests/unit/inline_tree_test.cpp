#include "go/inline_tree.h"

#include <doctest/doctest.h>

#include "go_modules.h"

namespace gosym::inline_tree_test {

namespace {

// The offset of an entry of the inline tree, and of its fields, in a table of Go 1.20 or later.
uint64_t entry_offset(const GoTable& table, uint64_t index) {
  return table.gofunc + 8 + index * 16;
}
constexpr uint64_t kNameField = 4;
constexpr uint64_t kParentPcField = 8;

// The program with one word of its table changed.
std::string calls_with(const BuiltGoProgram& program, uint64_t offset, uint64_t value,
                       uint64_t address) {
  ImageSpec spec = program.image();
  Patch(program, spec.parts[1].contents).u32(offset, value);
  LoadedProgram loaded(spec);
  return calls_at(loaded.module(), address);
}

}  // namespace

TEST_CASE("inline tree: the calls of every layout, word width and byte order") {
  for (GoLayout layout : kGoLayouts) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
        CAPTURE(static_cast<int>(layout));
        CAPTURE(static_cast<int>(order));
        CAPTURE(int{pointer_size});
        BuiltGoProgram program{.order = order, .pointer_size = pointer_size, .layout = layout};
        LoadedProgram loaded(program);
        const go::Module& module = loaded.module();
        CHECK(calls_at(module, 0x400fff) == "");
        CHECK(calls_at(module, 0x401000) == "main.caller /src/a.go:10");
        CHECK(calls_at(module, 0x40102f) == "main.caller /src/a.go:13");
        CHECK(calls_at(module, 0x401030) == "main.caller :0");  // padding
        CHECK(calls_at(module, 0x401041) == kLeafCall);
        CHECK(calls_at(module, 0x401060) == "");
        CHECK(calls_at(module, 0x401000 + (uint64_t{1} << 32)) == "");
        if (program.has_inlining()) {
          CHECK(calls_at(module, 0x401010) ==
                "main.outer /src/b.go:21 < main.caller /src/a.go:12");
          CHECK(calls_at(module, 0x401016) == kInnerCalls);
        } else {
          CHECK(calls_at(module, 0x401010) == "main.caller /src/b.go:21");
          CHECK(calls_at(module, 0x401016) == "main.caller /src/b.go:5");
        }
      }
    }
  }
}

TEST_CASE("inline tree: start lines are told from Go 1.20 on, before the entry has its own") {
  for (GoLayout layout : kGoLayouts) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program{.layout = layout};
    LoadedProgram loaded(program);
    std::vector<Call> calls;
    REQUIRE(go::find_calls(loaded.module(), ImageAddress{0x401016}, calls));
    CHECK(calls.back().start_line == 10);
    if (!program.has_inlining())
      continue;
    REQUIRE(calls.size() == 3);
    bool is_told = layout >= GoLayout::k120;
    CHECK(calls[0].start_line == (is_told ? 4 : 0));
    CHECK(calls[1].start_line == (is_told ? 20 : 0));
    CHECK(calls[0].is_inlined);
    CHECK(calls[1].is_inlined);
    CHECK_FALSE(calls[2].is_inlined);
  }
}

TEST_CASE("inline tree: each field of an entry, by layout") {
  for (GoLayout layout : kGoLayouts) {
    BuiltGoProgram program{.layout = layout};
    if (!program.has_inlining())
      continue;
    CAPTURE(static_cast<int>(layout));
    program.tree[1].id = 7;
    LoadedProgram loaded(program);
    const go::Pclntab& table = loaded.module().table;
    auto caller = table.function(0);
    REQUIRE(caller);
    Bytes tree = go::inline_tree_of(loaded.module(), *caller);
    auto inner = go::read_inlined_call(table, tree, 1);
    REQUIRE(inner);
    CHECK(table.name(inner->name) == "main.inner");
    CHECK(inner->id == (layout >= GoLayout::k112 ? 7 : 0));
    CHECK(inner->parent_pc == (layout >= GoLayout::k112 ? 0x13 : 0));
    if (layout < GoLayout::k120) {
      CHECK(inner->parent == 0);
      CHECK(table.file(*caller, inner->file) == "/src/b.go");
      CHECK(inner->line == 22);
      CHECK(go::read_inlined_call(table, tree, 0)->parent == -1);
    } else {
      CHECK(inner->start_line == 4);
    }
    CHECK_FALSE(go::read_inlined_call(table, tree, UINT32_MAX));
    CHECK(go::inline_tree_of(loaded.module(), *table.function(1)).empty());
  }
}

TEST_CASE("inline tree: every prefix of it leaves out what it does not have") {
  for (GoLayout layout : kGoLayouts) {
    BuiltGoProgram program{.layout = layout};
    if (!program.has_inlining())
      continue;
    bool has_short_entries = layout <= GoLayout::k110 || layout >= GoLayout::k120;
    size_t entry_size = has_short_entries ? 16 : 20;
    for (size_t size = 0; size <= 2 * entry_size; size++) {
      CAPTURE(static_cast<int>(layout));
      CAPTURE(size);
      LoadedProgram loaded(program);
      Bytes tree = go::inline_tree_of(loaded.module(), *loaded.module().table.function(0));
      const go::Pclntab& table = loaded.module().table;
      CHECK(go::read_inlined_call(table, tree.first(size), 0).has_value() ==
            (size >= entry_size));
      CHECK(go::read_inlined_call(table, tree.first(size), 1).has_value() ==
            (size >= 2 * entry_size));
    }
  }
}

TEST_CASE("inline tree: an index beyond the tree leaves the function without a line") {
  BuiltGoProgram program;
  ImageSpec spec = program.image();
  spec.parts[1].contents.resize(program.build_table().gofunc + 8 + 16 + 15);
  LoadedProgram loaded(spec);
  CHECK(calls_at(loaded.module(), 0x401016) == "main.caller :0");
  CHECK(calls_at(loaded.module(), 0x401010) ==
        "main.outer /src/b.go:21 < main.caller /src/a.go:12");
}

TEST_CASE("inline tree: a tree outside the image leaves the function without a line") {
  for (GoLayout layout : {GoLayout::k19, GoLayout::k116, GoLayout::k120}) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program{.layout = layout};
    GoTable table = program.build_table();
    ImageSpec spec = program.image();
    auto function = LoadedProgram(program).module().table.function(0);
    uint64_t record_end = table.records[0] + function->size;
    Patch patch(program, spec.parts[1].contents);
    if (program.has_offsets())
      patch.u32(record_end - 4, 0xfffffff0);
    else
      patch.word(record_end - 8, 0xfffffffffffffff0);
    LoadedProgram loaded(spec);
    CHECK(calls_at(loaded.module(), 0x401016) == "main.caller :0");
    CHECK(calls_at(loaded.module(), 0x401000) == "main.caller /src/a.go:10");
  }
}

TEST_CASE("inline tree: a name that is not there leaves the function without a line") {
  BuiltGoProgram program;
  GoTable table = program.build_table();
  CHECK(calls_with(program, entry_offset(table, 1) + kNameField, 0x7fffffff, 0x401016) ==
        "main.caller :0");
  CHECK(calls_with(program, entry_offset(table, 1) + kNameField, 0xffffffff, 0x401010) ==
        "main.outer /src/b.go:21 < main.caller /src/a.go:12");
}

TEST_CASE("inline tree: a loop ends, and no place of the function is made up") {
  for (GoLayout layout : kGoLayouts) {
    BuiltGoProgram program{.layout = layout};
    if (!program.has_inlining())
      continue;
    for (int16_t parent : {int16_t{1}, int16_t{2}, int16_t{0x7fff}}) {
      CAPTURE(static_cast<int>(layout));
      CAPTURE(parent);
      program.tree[1].parent = parent;
      program.tree[1].parent_pc = 0x16;  // in main.inner itself
      LoadedProgram loaded(program);
      std::vector<Call> calls;
      REQUIRE(go::find_calls(loaded.module(), ImageAddress{0x401016}, calls));
      CHECK(calls.size() <= 2);
      CHECK(calls.back().function == "main.caller");
      CHECK(calls.back().file == "");
      CHECK(calls.back().line == 0);
    }
  }
}

TEST_CASE("inline tree: a parent pc past the function gives a caller without a place") {
  BuiltGoProgram program;
  GoTable table = program.build_table();
  CHECK(calls_with(program, entry_offset(table, 0) + kParentPcField, 0x7fffffff, 0x401010) ==
        "main.outer /src/b.go:21 < main.caller :0");
}

TEST_CASE("inline tree: a tree may be deep") {
  constexpr int kDepth = 1000;
  for (GoLayout layout : {GoLayout::k112, GoLayout::k127}) {
    CAPTURE(static_cast<int>(layout));
    BuiltGoProgram program{.layout = layout, .text_size = 0x1100};
    GoFunction& caller = program.functions[0];
    program.functions[1].entry = 0x1000;
    program.tree.clear();
    caller.inlined.clear();
    for (int i = 0; i < kDepth; i++) {
      caller.inlined.push_back({i - 1, static_cast<uint32_t>(i + 1)});
      program.tree.push_back({.name = fmt::format("main.f{}", i),
                              .parent = static_cast<int16_t>(i - 1),
                              .parent_pc = static_cast<uint32_t>(i),
                              .line = 12});
    }
    caller.inlined.push_back({kDepth - 1, kDepth + 1});
    caller.sp = {{0, 0x1000}};
    caller.files = caller.sp;
    caller.lines = {{12, 0x1000}};
    LoadedProgram loaded(program);
    std::vector<Call> calls;
    CHECK(go::find_calls(loaded.module(), ImageAddress{0x401000 + kDepth}, calls));
    REQUIRE(calls.size() == kDepth + 1);
    CHECK(calls[0].function == "main.f999");
    CHECK(calls[999].function == "main.f0");
    CHECK(calls[1000].function == "main.caller");
  }
}

}  // namespace gosym::inline_tree_test
