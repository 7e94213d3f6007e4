#include "go/build_info.h"

#include <doctest/doctest.h>

#include "go_modules.h"

namespace gosym::build_info_test {

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

// The views of the answer last until the next call.
std::optional<go::BuildInfo> read(std::string contents) {
  static std::string file;
  file = std::move(contents);
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  return go::read_build_info(*image);
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
    auto info = read(file);
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
    auto info = read(file);
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
    CHECK_FALSE(read(file));
  }
}

TEST_CASE("build info: a length that is huge, or has no end, leaves none") {
  std::string start("\xff Go buildinf:\x08\x02", 16);
  start += std::string(16, '\0');
  for (std::string_view length : {"\xff\xff\xff\xff\x0f", "\x80\x80\x80\x80\x80\x80", "\x7f"}) {
    CHECK_FALSE(read(build_image(with_build_info(start + std::string(length) + "go1.22"))));
    std::string version = start + "\x06go1.22";
    CHECK_FALSE(read(build_image(with_build_info(version + std::string(length)))));
  }
}

TEST_CASE("build info: a string outside of the image leaves none") {
  auto version_with = [](uint64_t header, uint64_t data, uint64_t length) {
    ByteWriter record;
    record.text(std::string_view("\xff Go buildinf:", 14)).u8(8).u8(0);
    record.word(header).word(header).word(data).word(length).text("go1.17.3");
    auto info = read(build_image(with_build_info(record.out)));
    return info ? std::string(info->go_version) : "none";
  };
  CHECK(version_with(0x600020, 0x600030, 8) == "go1.17.3");
  CHECK(version_with(0x600020, 0x600030, 9) == "none");
  CHECK(version_with(0x600020, 0x600030, UINT64_MAX) == "none");
  CHECK(version_with(0x600020, 0x5fffff, 1) == "none");
  CHECK(version_with(0x600020, UINT64_MAX, 2) == "none");
  CHECK(version_with(0x600030, 0x600030, 8) == "none");
  CHECK(version_with(UINT64_MAX - 3, 0x600030, 8) == "none");
  CHECK(version_with(0, 0, 0) == "none");
}

TEST_CASE("build info: modules without their frame are left out, the version is not") {
  for (std::string_view modules :
       {"", "path\tex.org\n", "{{{{{{{{{{{{{{{{path\ta}}}}}}}}}}}}}}}}"}) {
    auto info = read(build_image(with_build_info(build_info_record("go1.22.1", modules))));
    REQUIRE(info);
    CHECK(info->go_version == "go1.22.1");
    CHECK(info->path == "");
  }
}

TEST_CASE("build info: lines with too few fields, or of unknown kinds, are skipped") {
  std::string frame(16, '{');
  std::string lines =
      "path\nmod\tex.org\nbuild\nbuild\tno equals sign\n\n\t\tx\nnew\ta\tb\n"
      "build\tGOOS=linux\n";
  auto info =
      read(build_image(with_build_info(build_info_record("go1.22", frame + lines + frame))));
  REQUIRE(info);
  CHECK(info->path == "");
  CHECK(info->main.required.path == "ex.org");
  CHECK(info->main.required.version == "");
  REQUIRE(info->settings.size() == 1);
  CHECK(info->settings[0].second == "linux");
}

namespace {

// Reads the version from a copy of the file that has only what was asked for.
std::string version_of_parts(const std::string& file) {
  std::string parts(file.size(), '\0');
  auto copy = [&](const elf::FileExtent& extent) {
    REQUIRE(extent.offset + extent.size <= file.size());
    parts.replace(extent.offset, extent.size, file, extent.offset, extent.size);
  };
  copy({0, 64});
  for (int i = 0; i < 2; i++)
    for (const elf::FileExtent& table : elf::header_tables(as_bytes(parts)))
      copy(table);
  auto image = elf::parse(as_bytes(parts));
  REQUIRE(image);
  for (int i = 0; i < go::kVersionRounds; i++)
    for (const elf::FileExtent& extent : go::version_extents(*image))
      copy(extent);
  auto info = go::read_build_info(*image);
  return info ? std::string(info->go_version) : "none";
}

}  // namespace

TEST_CASE("build info: the parts that the version needs are told") {
  CHECK(version_of_parts(build_image(
            with_build_info(build_info_record("go1.22.1", kModules)))) == "go1.22.1");

  ByteWriter record;
  record.text(std::string_view("\xff Go buildinf:", 14)).u8(8).u8(0);
  record.word(0x610000).word(0x610000);
  ImageSpec spec = with_build_info(record.out);
  spec.parts.push_back({.name = ".data",
                        .contents = ByteWriter().word(0x620000).word(8).out,
                        .address = 0x610000,
                        .segment_flags = PF_R | PF_W});
  spec.parts.push_back(
      {.name = ".rodata", .contents = "go1.17.3", .address = 0x620000, .segment_flags = PF_R});
  CHECK(version_of_parts(build_image(spec)) == "go1.17.3");
}

TEST_CASE("build info: no part is told that the file does not have") {
  CHECK(go::version_extents(elf::Image{}).empty());
  std::string record = build_info_record("go1.22.1", kModules);
  for (size_t size = 0; size < record.size(); size++)
    CHECK(version_of_parts(build_image(with_build_info(record.substr(0, size)))) == "none");
}

namespace {

// The version that is found in a program with headers of these strings in its data.
std::string runtime_version(GoLayout layout, const std::vector<std::string>& texts,
                            uint32_t flags = PF_R | PF_W) {
  BuiltGoProgram program{.layout = layout};
  ImageSpec spec = program.image();
  std::string contents;
  ByteWriter headers;
  headers.word(0x700000);
  for (const std::string& text : texts) {
    headers.word(0x700000 + contents.size()).word(text.size());
    contents += text + "rest of the strings";
  }
  spec.parts.push_back({.name = ".noptrdata",
                        .contents = headers.out,
                        .address = 0x800000,
                        .segment_flags = flags});
  spec.parts.push_back(
      {.name = ".rodata", .contents = contents, .address = 0x700000, .segment_flags = PF_R});
  LoadedProgram loaded(spec);
  auto version = go::find_runtime_version(loaded.image, loaded.module().table);
  return version ? std::string(*version) : "none";
}

}  // namespace

TEST_CASE("runtime version: the only string of the data that is a version of the release") {
  CHECK(runtime_version(GoLayout::k12, {"go1.4.3"}) == "go1.4.3");
  CHECK(runtime_version(GoLayout::k15, {"go1.5.4"}) == "go1.5.4");
  CHECK(runtime_version(GoLayout::k19, {"go", "go1.9", "1.9"}) == "go1.9");
  CHECK(runtime_version(GoLayout::k110, {"go1.11rc1"}) == "go1.11rc1");
  CHECK(runtime_version(GoLayout::k112, {"go1.12.17", "go1.12.17"}) == "go1.12.17");
}

TEST_CASE("runtime version: none where it is not sure") {
  CHECK(runtime_version(GoLayout::k110, {"go1.10.8", "go1.10.1"}) == "none");
  CHECK(runtime_version(GoLayout::k110, {"devel +1a2b3c", "go1.10.1"}) == "none");
  CHECK(runtime_version(GoLayout::k110, {"go1.9.7"}) == "none");
  CHECK(runtime_version(GoLayout::k15, {"go1.10"}) == "none");
  CHECK(runtime_version(GoLayout::k12, {"go1.3.3"}) == "none");
  CHECK(runtime_version(GoLayout::k118, {"go1.12"}) == "none");
  CHECK(runtime_version(GoLayout::k110, {"go1.", "go1.x", "go2.10", "go1.10\n"}) == "none");
  CHECK(runtime_version(GoLayout::k110, {}) == "none");
  CHECK(runtime_version(GoLayout::k110, {"go1.10"}, PF_R) == "none");
  CHECK(runtime_version(GoLayout::k110, {"go1.10" + std::string(1 << 10, ' ')}) == "none");
}

}  // namespace gosym::build_info_test
