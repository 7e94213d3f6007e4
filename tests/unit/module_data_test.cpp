#include "go/module_data.h"

#include <doctest/doctest.h>

#include "go_modules.h"

namespace gosym::module_data_test {

namespace {

go::ModuleDataLayout layout_of(GoLayout layout) {
  using Layout = go::ModuleDataLayout;
  switch (layout) {
    case GoLayout::k15:
      return Layout::kGo1_5;
    case GoLayout::k116:
      return Layout::kGo1_16;
    case GoLayout::k118:
      return Layout::kGo1_18;
    case GoLayout::k120:
      return Layout::kGo1_20;
    case GoLayout::k126:
      return Layout::kGo1_26;
    case GoLayout::k127:
      return Layout::kGo1_27;
    default:
      return Layout::kGo1_7;
  }
}

// True if moduledata is found when one of its words is another.
bool is_found_with(const BuiltGoProgram& program, size_t word, uint64_t value) {
  ImageSpec spec = program.image();
  Patch(program, spec.parts[2].contents).word(word * program.pointer_size, value);
  LoadedProgram loaded(spec);
  auto table =
      go::Pclntab::parse(as_bytes(spec.parts[1].contents), program.order, program.pointer_size);
  REQUIRE(table);
  return !find_module_data(loaded.image, *table, ImageAddress{program.table_address}).empty();
}

}  // namespace

TEST_CASE("moduledata: the fields of every layout, word width and byte order") {
  for (GoLayout layout : kGoLayouts) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
        CAPTURE(static_cast<int>(layout));
        CAPTURE(static_cast<int>(order));
        CAPTURE(int{pointer_size});
        BuiltGoProgram program{.order = order, .pointer_size = pointer_size, .layout = layout};
        LoadedProgram loaded(program);
        const auto& data = loaded.module().data;
        REQUIRE(data.has_value() == program.has_module());
        if (!data)
          continue;
        CHECK(data->address == ImageAddress{0x600000});
        CHECK(data->layout == layout_of(layout));
        CHECK(data->value("text") == 0x401000);
        CHECK(data->value("minpc") == 0x401000);
        CHECK(data->value("maxpc") == 0x401060);
        CHECK(data->value("etext") == 0x401060);
        CHECK(data->length("ftab") == 3);
        CHECK(data->value("no such field") == 0);
        CHECK(data->length("text") == 0);  // not a slice
        GoTable table = program.build_table();
        uint64_t gofunc = program.has_offsets() ? 0x500000 + table.gofunc : 0;
        CHECK(data->value("gofunc") == gofunc);
        bool has_end = layout >= GoLayout::k126;
        CHECK(data->value("epclntab") == (has_end ? 0x500000 + table.bytes.size() : 0));
      }
    }
  }
}

TEST_CASE("moduledata: fields lie one after the other") {
  for (GoLayout layout : kGoLayouts) {
    BuiltGoProgram program{.layout = layout};
    LoadedProgram loaded(program);
    if (!program.has_module())
      continue;
    unsigned next = 0;
    for (const go::ModuleField& field : loaded.module().data->fields()) {
      CAPTURE(field.name);
      CHECK(field.word == next);
      next = field.word + (field.is_slice ? 3 : 1);
    }
  }
}

TEST_CASE("moduledata: a record that fits the table in all but one word is none") {
  BuiltGoProgram older{.layout = GoLayout::k113};
  CHECK(is_found_with(older, 47, 1));
  for (size_t word : {0, 3, 4, 5, 10, 11, 12, 13}) {
    CAPTURE(word);
    CHECK_FALSE(is_found_with(older, word, 0));
    if (word != 13)  // the end of the text, which may be later than that of its last function
      CHECK_FALSE(is_found_with(older, word, 0x404040));
  }
  for (GoLayout layout : {GoLayout::k116, GoLayout::k120, GoLayout::k127}) {
    BuiltGoProgram program{.layout = layout};
    CHECK(is_found_with(program, 47, 1));
    for (size_t word : {0, 1, 2, 3, 17, 20, 21, 22, 23}) {
      CAPTURE(static_cast<int>(layout));
      CAPTURE(word);
      CHECK_FALSE(is_found_with(program, word, 0));
      if (word != 23)
        CHECK_FALSE(is_found_with(program, word, 0x404040));
    }
  }
}

TEST_CASE("moduledata: every prefix of it is none, or all that is needed") {
  BuiltGoProgram program;
  std::string whole = program.module_data();
  for (size_t size = 0; size < whole.size(); size += 4) {
    CAPTURE(size);
    ImageSpec spec = program.image();
    spec.parts[2].contents.resize(size);
    LoadedProgram loaded(spec);
    auto table = go::Pclntab::parse(as_bytes(spec.parts[1].contents), program.order, 8);
    auto found = find_module_data(loaded.image, *table, ImageAddress{0x500000});
    CHECK(found.size() == (size >= 24 * 8 ? 1 : 0));
    if (!found.empty())
      CHECK(found[0].value("text") == 0x401000);
  }
}

TEST_CASE("moduledata: it lies anywhere in writable data, but only there") {
  BuiltGoProgram program{.layout = GoLayout::k120};
  ImageSpec spec = program.image();
  std::string& data = spec.parts[2].contents;
  data = std::string(24, '\0') + data + std::string(40, '\xff');
  CHECK(LoadedProgram(spec).module().data->address == ImageAddress{0x600018});
  spec.parts[2].segment_flags = PF_R;
  CHECK_FALSE(LoadedProgram(spec).module().data);
  spec.parts[2].segment_flags = PF_R | PF_W;
  data.insert(0, 4, '\0');  // not at a word
  CHECK_FALSE(LoadedProgram(spec).module().data);
}

TEST_CASE("moduledata: two records that disagree about the text are both refused") {
  BuiltGoProgram program{.layout = GoLayout::k120};
  BuiltGoProgram moved = program;
  moved.text = 0x401010;
  ImageSpec spec = program.image();
  spec.parts[2].contents += program.module_data();
  CHECK(LoadedProgram(spec).problem == "");
  spec.parts[2].contents += moved.module_data();
  CHECK(LoadedProgram(spec).problem ==
        "section .gopclntab: text base is 0x401000 by one moduledata and 0x401010 by another");
}

}  // namespace gosym::module_data_test
