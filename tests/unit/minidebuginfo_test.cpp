#include "elf/minidebuginfo.h"

#include <doctest/doctest.h>
#include <lzma.h>

#include <string>

#include "image_builder.h"
#include "symbolize/symbol_source.h"

namespace gosym::minidebuginfo_test {

namespace {

std::string compress(const std::string& data, lzma_check check = LZMA_CHECK_CRC32) {
  std::string out(lzma_stream_buffer_bound(data.size()), '\0');
  size_t size = 0;
  lzma_ret status = lzma_easy_buffer_encode(
      1, check, nullptr, reinterpret_cast<const uint8_t*>(data.data()), data.size(),
      reinterpret_cast<uint8_t*>(out.data()), &size, out.size());
  REQUIRE(status == LZMA_OK);
  out.resize(size);
  return out;
}

std::string message_of(const std::string& section) {
  auto unpacked = elf::unpack_minidebuginfo(as_bytes(section));
  return unpacked ? "" : unpacked.error().message();
}

std::string image_with(const std::string& debugdata) {
  ImageSpec spec;
  spec.parts.push_back({.name = ".gnu_debugdata", .contents = debugdata});
  return build_image(spec);
}

std::string image_with_function() {
  ImageSpec spec;
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(16, '\x90'),
                        .address = 0x1000,
                        .segment_flags = PF_R | PF_X});
  std::vector<SymbolSpec> symbols = {{.name = 1, .address = 0x1000, .size = 8}};
  spec.parts.push_back({.name = ".symtab",
                        .type = SHT_SYMTAB,
                        .contents = build_symbols(spec, symbols),
                        .link = 3});
  spec.parts.push_back(
      {.name = ".strtab", .type = SHT_STRTAB, .contents = std::string("\0local\0", 7)});
  return build_image(spec);
}

}  // namespace

TEST_CASE("minidebuginfo: what was packed, however large") {
  for (size_t size : {size_t{0}, size_t{1}, size_t{65536}, size_t{65537}, size_t{1} << 20}) {
    CAPTURE(size);
    std::string data(size, 'x');
    auto unpacked = elf::unpack_minidebuginfo(as_bytes(compress(data)));
    REQUIRE(unpacked);
    CHECK(as_text(*unpacked) == data);
  }
}

TEST_CASE("minidebuginfo: every prefix is cut short") {
  std::string section = compress("some text that is not ELF");
  for (size_t size = 0; size < section.size(); size++) {
    CAPTURE(size);
    CHECK(message_of(section.substr(0, size)) == "cut short");
  }
  CHECK(message_of(section) == "");
  CHECK(message_of(section + "padding") == "");
}

TEST_CASE("minidebuginfo: what cannot be unpacked says why") {
  std::string section = compress("some text that is not ELF");
  std::string damaged = section;
  damaged[section.size() / 2] ^= 0x55;
  CHECK(message_of(damaged) == "damaged");
  CHECK(message_of("not xz at all") == "not in .xz format");
  CHECK(message_of(compress(std::string((size_t{128} << 20) + 1, '\0'))) ==
        "larger than 128 MiB when unpacked");
}

TEST_CASE("minidebuginfo: a dictionary that takes too much memory is refused") {
  lzma_options_lzma options;
  REQUIRE_FALSE(lzma_lzma_preset(&options, 0));
  options.dict_size = 256u << 20;
  std::string header(4096, '\0');
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  size_t size = 0;
  std::string text = "text";
  REQUIRE(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<uint8_t*>(header.data()), &size,
                                    header.size()) == LZMA_OK);
  CHECK(message_of(header.substr(0, size)) == "needs more than 128 MiB to be unpacked");
}

TEST_CASE("minidebuginfo: its functions outlive what they were unpacked to") {
  std::string file = image_with(compress(image_with_function()));
  elf::Image image = *elf::parse(as_bytes(file));
  auto source = open_minidebuginfo_source(image);
  REQUIRE(source);
  REQUIRE(*source);
  CHECK((*source)->kind() == FrameSource::kMiniDebugInfo);
  std::vector<Call> calls;
  REQUIRE((*source)->find(ImageAddress{0x1007}, calls));
  CHECK(calls[0].function == "local");
  CHECK_FALSE((*source)->find(ImageAddress{0x1008}, calls));
}

TEST_CASE("minidebuginfo: none, one without symbols, and one that is not ELF") {
  auto message = [](const std::string& file) {
    elf::Image image = *elf::parse(as_bytes(file));
    auto source = open_minidebuginfo_source(image);
    return source ? std::string(*source ? "a source" : "none") : source.error().message();
  };
  CHECK(message(build_image({})) == "none");
  CHECK(message(image_with(compress(build_image({})))) == "none");
  CHECK(message(image_with(compress("text"))) == ".gnu_debugdata: not an ELF file");
  CHECK(message(image_with("text")) == ".gnu_debugdata: cut short");
}

}  // namespace gosym::minidebuginfo_test
