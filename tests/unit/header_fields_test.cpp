#include "go/pclntab.h"

#include <doctest/doctest.h>

#include "pclntab_builder.h"

namespace gosym::header_fields_test {

namespace {

std::string fields_text(Bytes table, uint32_t magic) {
  std::string text;
  for (const go::HeaderField& field : go::header_fields(table, ByteOrder::kLittle, 8, magic))
    text += fmt::format("{}{}@{:#x}={:#x}", text.empty() ? "" : " ", field.name, field.offset,
                        field.value);
  return text;
}

}  // namespace

TEST_CASE("header fields: the words of each magic, with their places") {
  ByteWriter out;
  out.u32(go::kMagic116).u16(0).u8(4).u8(8);
  for (uint64_t i = 1; i <= 8; i++)
    out.u64(i);
  CHECK(fields_text(as_bytes(out.out), go::kMagic116) ==
        "magic@0x0=0xfffffffa padding@0x4=0x0 quantum@0x6=0x4 pointer_size@0x7=0x8 "
        "function_count@0x8=0x1 file_count@0x10=0x2 names@0x18=0x3 units@0x20=0x4 "
        "files@0x28=0x5 pc_values@0x30=0x6 functab@0x38=0x7");
  CHECK(fields_text(as_bytes(out.out), go::kMagic120) ==
        "magic@0x0=0xfffffffa padding@0x4=0x0 quantum@0x6=0x4 pointer_size@0x7=0x8 "
        "function_count@0x8=0x1 file_count@0x10=0x2 text_start@0x18=0x3 names@0x20=0x4 "
        "units@0x28=0x5 files@0x30=0x6 pc_values@0x38=0x7 functab@0x40=0x8");
  CHECK(fields_text(as_bytes(out.out), 0x1234) ==
        "magic@0x0=0xfffffffa padding@0x4=0x0 quantum@0x6=0x4 pointer_size@0x7=0x8 "
        "function_count@0x8=0x1");
}

TEST_CASE("header fields: up to Go 1.15 the file table is behind functab") {
  ByteWriter out;
  out.u32(go::kMagic12).u16(0).u8(1).u8(8).u64(1);
  out.u64(0x401000).u64(0x40).u64(0x401010).u32(0x30).pad_to(0x30).u32(5);
  CHECK(fields_text(as_bytes(out.out), go::kMagic12) ==
        "magic@0x0=0xfffffffb padding@0x4=0x0 quantum@0x6=0x1 pointer_size@0x7=0x8 "
        "function_count@0x8=0x1 files@0x28=0x30 file_count@0x30=0x5");
  // A count that no table could hold leads nowhere.
  out.out.replace(8, 8, std::string(8, '\xff'));
  CHECK(fields_text(as_bytes(out.out), go::kMagic12).ends_with("=0xffffffffffffffff"));
}

TEST_CASE("header fields: every prefix has the fields that are all there") {
  std::string table = BuiltGoProgram().table();
  for (size_t size = 0; size <= 80; size++) {
    CAPTURE(size);
    auto fields =
        go::header_fields(as_bytes(table).first(size), ByteOrder::kLittle, 8, go::kMagic120);
    size_t expected = size < 4 ? 0 : size < 6 ? 1 : size < 7 ? 2 : size < 8 ? 3 : size / 8 + 3;
    CHECK(fields.size() == std::min<size_t>(expected, 12));
  }
}

TEST_CASE("table names: as the release numbers them, empty beyond") {
  using go::Format;
  CHECK(go::pcdata_name(Format::kGo1_2, 0) == "");
  CHECK(go::pcdata_name(Format::kGo1_12, 1) == "InlTreeIndex");
  CHECK(go::pcdata_name(Format::kGo1_13, 2) == "InlTreeIndex");
  CHECK(go::pcdata_name(Format::kGo1_20, 4) == "PanicBounds");
  CHECK(go::pcdata_name(Format::kGo1_20, 5) == "");
  CHECK(go::funcdata_name(Format::kGo1_12, 2) == "InlTree");
  CHECK(go::funcdata_name(Format::kGo1_13, 4) == "InlTree");
  CHECK(go::funcdata_name(Format::kGo1_16, 3) == "InlTree");
  CHECK(go::funcdata_name(Format::kGo1_20, 8) == "");
}

}  // namespace gosym::header_fields_test
