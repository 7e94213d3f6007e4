#include <doctest/doctest.h>

#include "bytes.h"
#include "go/build_info.h"
#include "go/inline_tree.h"
#include "go/module.h"
#include "go/pc_value.h"
#include "pclntab_builder.h"

using namespace gosym;

TEST_CASE("pc values: deltas add up and ranges join") {
  auto table = bytes(/*+11*/ 22, 4, /*-3*/ 5, 2, /*end*/ 0, 1);
  CHECK(go::value_at({table, 1}, 0) == 10);
  CHECK(go::value_at({table, 1}, 3) == 10);
  CHECK(go::value_at({table, 1}, 4) == 7);
  CHECK_FALSE(go::value_at({table, 1}, 6));
}

TEST_CASE("pc values: the quantum scales pc deltas") {
  auto table = bytes(22, 4, 0);
  CHECK(go::value_at({table, 4}, 15) == 10);
  CHECK_FALSE(go::value_at({table, 4}, 16));
}

TEST_CASE("pc values: a first delta of zero is a row, not the end") {
  auto table = bytes(0, 8, /*+1*/ 2, 4, 0);
  CHECK(go::value_at({table, 1}, 0) == -1);
  CHECK(go::value_at({table, 1}, 8) == 0);
}

TEST_CASE("pc values: every prefix of a table ends without a made-up row") {
  auto table = bytes(0x96, 0x01, 0x80, 0x02, 2, 4, 0);
  for (size_t size = 0; size <= table.size(); size++) {
    CAPTURE(size);
    go::PcValueRows rows(Bytes(table).first(size), 1);
    int count = 0;
    while (rows.next())
      count++;
    CHECK(count == (size < 4 ? 0 : size < 6 ? 1 : 2));
  }
}

TEST_CASE("pc values: an empty row counts, many of them end the table") {
  auto table = bytes(2, 4, 2, 0, 2, 4, 0);
  go::PcValueRows rows(table, 1);
  CHECK(rows.next().value().end == 4);
  CHECK(rows.next().value().end == 4);
  CHECK(rows.next().value().value == 2);
  CHECK_FALSE(rows.next());
  CHECK(go::value_at({table, 1}, 4) == 2);

  std::string endless;
  for (int i = 0; i < 1000; i++)
    endless += std::string("\x02\x00", 2);
  go::PcValueRows many(as_bytes(endless), 1);
  int count = 0;
  while (many.next())
    count++;
  CHECK(count == 64);
}

TEST_CASE("pc values: what runs past 2^32 ends the table") {
  auto table = bytes(2, 0xff, 0xff, 0xff, 0xff, 0x0f, 2, 1, 0);
  go::PcValueRows rows(table, 1);
  CHECK(rows.next().value().end == UINT32_MAX);
  CHECK_FALSE(rows.next());
  auto endless = bytes(0x80, 0x80, 0x80, 0x80, 0x80, 0x80);
  CHECK_FALSE(go::PcValueRows(endless, 1).next());
}

namespace {

constexpr GoLayout kLayouts[] = {GoLayout::k118, GoLayout::k120, GoLayout::k126,
                                 GoLayout::k127};

Result<go::Pclntab> parse_table(const std::string& table) {
  return go::Pclntab::parse(as_bytes(table), ByteOrder::kLittle, 8);
}

std::string message_of(const std::string& table) {
  auto parsed = parse_table(table);
  return parsed ? "" : parsed.error().message();
}

// "main.inner /src/b.go:5 < main.outer ..." for an address.
std::string calls_at(const go::Module& module, uint64_t address) {
  std::vector<Call> calls;
  go::find_calls(module, ImageAddress{address}, calls);
  std::string text;
  for (const Call& call : calls)
    text += fmt::format("{}{} {}:{}", text.empty() ? "" : " < ", call.function, call.file,
                        call.line);
  return text;
}

go::Module module_of(const elf::Image& image) {
  auto module = go::read_module(image, {});
  REQUIRE(module);
  REQUIRE(module->has_value());
  return **std::move(module);
}

elf::Image parse_image(const std::string& file) {
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  return *image;
}

std::string module_error(const ImageSpec& spec) {
  std::string file = build_image(spec);
  auto module = go::read_module(parse_image(file), {});
  return module ? "" : module.error().message();
}

}  // namespace

TEST_CASE("go: inlined calls of every layout, word width and byte order") {
  for (GoLayout layout : kLayouts) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      for (uint8_t pointer_size : {uint8_t{4}, uint8_t{8}}) {
        CAPTURE(static_cast<int>(layout));
        CAPTURE(int{pointer_size});
        GoProgram program{.order = order, .pointer_size = pointer_size, .layout = layout};
        std::string file = build_image(program.image());
        go::Module module = module_of(parse_image(file));
        CHECK(module.table.function_count() == 2);
        CHECK(module.text == ImageAddress{program.text});
        CHECK(module.found_by == "section .gopclntab");
        CHECK(calls_at(module, 0x401000) == "main.caller /src/a.go:10");
        CHECK(calls_at(module, 0x401010) ==
              "main.outer /src/b.go:21 < main.caller /src/a.go:12");
        CHECK(calls_at(module, 0x401016) ==
              "main.inner /src/b.go:5 < main.outer /src/b.go:22 < main.caller /src/a.go:12");
        CHECK(calls_at(module, 0x40102f) == "main.caller /src/a.go:13");
        CHECK(calls_at(module, 0x401030) == "main.caller :0");  // padding
        CHECK(calls_at(module, 0x401041) == "main.leaf /src/a.go:30");
        CHECK(calls_at(module, 0x400fff) == "");
        CHECK(calls_at(module, 0x401060) == "");
        CHECK(calls_at(module, 0x401000 + (uint64_t{1} << 32)) == "");
        CHECK(go::code_size(module.table, 0) == 0x30);
        CHECK(go::code_size(module.table, 1) == 0x10);
      }
    }
  }
}

TEST_CASE(
    "go: start lines are told from Go 1.20 on, before that the entry has that of its own") {
  for (GoLayout layout : kLayouts) {
    GoProgram program{.layout = layout};
    std::string file = build_image(program.image());
    std::vector<Call> calls;
    go::find_calls(module_of(parse_image(file)), ImageAddress{0x401016}, calls);
    REQUIRE(calls.size() == 3);
    bool is_told = layout != GoLayout::k118;
    CHECK(calls[0].start_line == (is_told ? 4 : 0));
    CHECK(calls[1].start_line == (is_told ? 20 : 0));
    CHECK(calls[2].start_line == 10);
  }
}

TEST_CASE("go: a table without a section of its own is found in the segments") {
  GoProgram program;
  ImageSpec spec = program.image();
  spec.parts[1].name = ".rodata";
  std::string file = build_image(spec);
  go::Module module = module_of(parse_image(file));
  CHECK(module.found_by == "scan of the segments");
  CHECK(calls_at(module, 0x401041) == "main.leaf /src/a.go:30");
}

TEST_CASE("go: a scan gives up when nothing that looks like a header is one") {
  for (size_t false_headers : {15u, 17u}) {
    GoProgram program;
    ImageSpec spec = program.image();
    std::string decoy = program.table().substr(0, 8) + std::string(8, '\0');
    spec.parts[1].name = ".rodata";
    for (size_t i = 0; i < false_headers; i++)
      spec.parts[0].contents += decoy;
    std::string file = build_image(spec);
    auto module = go::read_module(parse_image(file), {});
    REQUIRE(module);
    CHECK(module->has_value() == (false_headers < 16));
  }
}

TEST_CASE("go: a damaged section does not hide a whole table") {
  GoProgram program;
  ImageSpec spec = program.image();
  spec.parts[1].name = ".rodata";
  spec.parts.push_back({.name = ".gopclntab", .contents = "garbage garbage garbage"});
  std::string file = build_image(spec);
  CHECK(module_of(parse_image(file)).found_by == "scan of the segments");
}

TEST_CASE("go: an image without a table is not an error") {
  GoProgram program;
  ImageSpec spec = program.image();
  spec.parts.erase(spec.parts.begin() + 1);
  std::string file = build_image(spec);
  auto module = go::read_module(parse_image(file), {});
  REQUIRE(module);
  CHECK_FALSE(module->has_value());
}

TEST_CASE("go: no address is named when the text base is unknown or disputed") {
  GoProgram program;
  ImageSpec without_module = program.image();
  without_module.parts.pop_back();
  CHECK(module_error(without_module) ==
        "section .gopclntab: text base unknown: no moduledata found");

  GoProgram older{.layout = GoLayout::k120};
  ImageSpec by_header = older.image();
  by_header.parts.pop_back();
  std::string file = build_image(by_header);
  // The base is in the header, but the inline trees are not to be found.
  CHECK(calls_at(module_of(parse_image(file)), 0x401016) == "main.caller :0");

  GoProgram moved = older;
  moved.text = 0x401010;
  ImageSpec disputed = older.image();
  disputed.parts[2].contents = moved.module_data();
  CHECK(module_error(disputed) ==
        "section .gopclntab: text base is 0x401000 by the header and 0x401010 by moduledata");
}

TEST_CASE("pclntab: what is wrong with a header is told") {
  std::string table = GoProgram{}.table();
  auto with = [&](size_t offset, int value) {
    std::string changed = table;
    changed.replace(offset, 1, 1, static_cast<char>(value));
    return message_of(changed);
  };
  CHECK(with(0, 0xf1) == "");
  CHECK(with(0, 0xfc) == "header: unknown magic 0xfffffffc");
  CHECK(with(4, 1) == "header: bytes 4 and 5 are 0x1, not 0");
  CHECK(with(6, 0) == "header: instruction quantum is 0, not 1, 2 or 4");
  CHECK(with(6, 3) == "header: instruction quantum is 3, not 1, 2 or 4");
  CHECK(with(7, 4) == "header: pointer size is 4, not 8 as the image has it");
  CHECK(with(8, 0).starts_with("function table: 0 functions do not fit in"));
  CHECK(with(15, 0x80).starts_with("function table: 9223372036854775810 functions do not fit"));
  CHECK(with(8, 200).starts_with("function table: 200 functions do not fit in"));
  CHECK(with(32, 8) == "header: table at 0x8 begins before 0x48");
  CHECK(with(32, 0xff) == "header: table at 0x78 begins before 0xff");
  CHECK(with(71, 0xff).starts_with("header: table at 0x"));
}

TEST_CASE("pclntab: entries out of order are refused") {
  std::string table = GoProgram{}.table();
  auto functions = static_cast<uint8_t>(table[64]);
  table.replace(functions, 1, 1, '\x50');
  CHECK(message_of(table) == "function table: entry 0 at 0x50 lies after the next, 0x40");
}

TEST_CASE("pclntab: no prefix gives an answer that the whole table does not give") {
  GoProgram program{.layout = GoLayout::k120};
  std::string table = program.table();
  for (size_t size = 0; size < table.size(); size++) {
    CAPTURE(size);
    std::string prefix = table.substr(0, size);
    auto parsed = parse_table(prefix);
    if (size < 72)
      CHECK(parsed.error().message().starts_with("header: malformed or cut short at byte"));
    if (!parsed)
      continue;
    go::Module module{.table = *parsed, .text = ImageAddress{0x401000}};
    std::string calls = calls_at(module, 0x401041);
    CHECK((calls == "" || calls == "main.leaf /src/a.go:30"));
  }
}

TEST_CASE("pclntab: a damaged record costs its function only") {
  GoProgram program;
  std::string table = program.table();
  auto functions = static_cast<uint8_t>(table[64]);
  for (int value : {0xff, 0x04}) {
    std::string changed = table;
    changed.replace(functions + 5u, 1, 1, static_cast<char>(value));
    auto parsed = parse_table(changed);
    REQUIRE(parsed);
    go::Module module{.table = *parsed, .text = ImageAddress{0x401000}};
    CHECK(calls_at(module, 0x401000) == "");
    CHECK(calls_at(module, 0x401041) == "main.leaf /src/a.go:30");
  }
}

TEST_CASE("inline tree: an entry that cannot be read leaves the function without a line") {
  GoProgram program;
  ImageSpec spec = program.image();
  std::string& table = spec.parts[1].contents;
  table.resize(table.size() - 4);
  std::string file = build_image(spec);
  go::Module module = module_of(parse_image(file));
  module.gofunc = module.gofunc.first(28);
  CHECK(calls_at(module, 0x401016) == "main.caller :0");
  CHECK(calls_at(module, 0x401010) == "main.outer /src/b.go:21 < main.caller /src/a.go:12");
}

TEST_CASE("inline tree: a loop ends, and no call in it is believed") {
  GoProgram program;
  std::string file = build_image(program.image());
  go::Module module = module_of(parse_image(file));
  // The parent of the inner call is the inner call.
  std::string tree(as_text(module.gofunc).substr(0, 32));
  tree.replace(24, 1, 1, '\x15');
  module.gofunc = as_bytes(tree);
  std::vector<Call> calls;
  CHECK(go::find_calls(module, ImageAddress{0x401016}, calls));
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].function == "main.caller");
  CHECK(calls[0].line == 0);
}

namespace {

std::string build_info_record(std::string_view version, std::string_view modules) {
  std::string record("\xff Go buildinf:", 14);
  record += std::string("\x08\x02", 2) + std::string(16, '\0');
  record += static_cast<char>(version.size());
  record += version;
  record += static_cast<char>(modules.size() | 0x80);
  record += static_cast<char>(modules.size() >> 7);
  return record += modules;
}

ImageSpec with_build_info(const std::string& record) {
  ImageSpec spec;
  spec.parts.push_back({.name = ".go.buildinfo",
                        .contents = record,
                        .address = 0x600000,
                        .segment_flags = PF_R | PF_W});
  return spec;
}

const std::string kModules = std::string(16, '{') +
                             "path\tex.org/cmd/tool\nmod\tex.org\tv1.2.3\th1:x=\n"
                             "dep\tex.org/a\tv0.1.0\th1:a=\ndep\tex.org/b\tv2.0.0\n"
                             "=>\tex.org/fork\tv2.0.1\th1:f=\n"
                             "build\t-ldflags=\"-s -w\"\nbuild\tCGO_ENABLED=0\n" +
                             std::string(16, '}');

}  // namespace

TEST_CASE("build info: version, module and settings") {
  for (const char* section : {".go.buildinfo", ".data"}) {
    ImageSpec spec = with_build_info(build_info_record("go1.22.1", kModules));
    spec.parts[0].name = section;
    std::string file = build_image(spec);
    auto info = go::read_build_info(parse_image(file));
    REQUIRE(info);
    CHECK(info->go_version == "go1.22.1");
    CHECK(info->path == "ex.org/cmd/tool");
    CHECK(info->main.required.path == "ex.org");
    CHECK(info->main.required.version == "v1.2.3");
    CHECK(info->main.required.sum == "h1:x=");
    CHECK_FALSE(info->main.replacement);
    REQUIRE(info->dependencies.size() == 2);
    CHECK(info->dependencies[0].required.path == "ex.org/a");
    CHECK(info->dependencies[0].required.sum == "h1:a=");
    CHECK_FALSE(info->dependencies[0].replacement);
    CHECK(info->dependencies[1].required.version == "v2.0.0");
    CHECK(info->dependencies[1].required.sum == "");
    REQUIRE(info->dependencies[1].replacement);
    CHECK(info->dependencies[1].replacement->path == "ex.org/fork");
    CHECK(info->dependencies[1].replacement->version == "v2.0.1");
    REQUIRE(info->settings.size() == 2);
    CHECK(info->settings[0].first == "-ldflags");
    CHECK(info->settings[0].second == "\"-s -w\"");
    CHECK(info->settings[1].first == "CGO_ENABLED");
  }
}

TEST_CASE("build info: before Go 1.18 it points to Go strings") {
  for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    ByteWriter record(order, 8);
    record.text(std::string_view("\xff Go buildinf:", 14)).u8(8).u8(order == ByteOrder::kBig);
    record.word(0x600020).word(0x600030);         // addresses of the strings
    record.word(0x600040).word(8);                // version
    record.word(0x600050).word(kModules.size());  // modules
    record.text("go1.17.3").pad_to(0x50).text(kModules);
    ImageSpec spec = with_build_info(record.out);
    spec.order = order;
    std::string file = build_image(spec);
    auto info = go::read_build_info(parse_image(file));
    REQUIRE(info);
    CHECK(info->go_version == "go1.17.3");
    CHECK(info->main.required.path == "ex.org");
  }
}

TEST_CASE("build info: every prefix has all of it or nothing") {
  std::string record = build_info_record("go1.22.1", kModules);
  for (size_t size = 0; size < record.size(); size++) {
    CAPTURE(size);
    std::string file = build_image(with_build_info(record.substr(0, size)));
    CHECK_FALSE(go::read_build_info(parse_image(file)));
  }
}
