#include "go/check_tables.h"

#include <algorithm>

namespace gosym::go {

namespace {

Check check_file_names(const Pclntab& table) {
  Check check{"file names are as many as said"};
  auto files = table.files();
  // Up to Go 1.15 the first of them is the count itself.
  uint64_t expected = table.header().file_count;
  if (table.format() < Format::kGo1_16 && expected > 0)
    expected--;
  auto named = static_cast<uint64_t>(
      std::ranges::count_if(files, [](auto file) { return !file.empty(); }));
  check.expect(named == expected,
               [&] { return fmt::format("there are {}, not {}", named, expected); });
  return check;
}

Check check_units(const Module& module, Bytes table) {
  const PclntabHeader& header = module.table.header();
  Check check{"units lead to file names"};
  Bytes units = slice(table, header.units, header.files - header.units).value_or(Bytes{});
  Bytes files = slice(table, header.files, header.pc_values - header.files).value_or(Bytes{});
  for (uint64_t i = 0; i + 4 <= units.size(); i += 4) {
    auto offset = load<uint32_t>(units, i, module.table.order());
    bool is_left_out = offset == 0xffffffff;
    bool is_start =
        *offset < files.size() && (*offset == 0 || files[*offset - 1] == std::byte{0});
    check.expect(is_left_out || is_start,
                 [&] { return fmt::format("element {} is {:#x}", i / 4, *offset); });
  }
  return check;
}

Check check_places(const Module& module) {
  Check check{"moduledata has the tables of the header"};
  const PclntabHeader& header = module.table.header();
  auto expect = [&](std::string_view field, uint64_t offset) {
    uint64_t address = to_integer(module.table_address) + offset;
    uint64_t found = module.data->value(field);
    check.expect(found == address, [&] {
      return fmt::format("{} is at {:#x}, not {:#x}", field, found, address);
    });
  };
  expect("ftab", header.functions);
  expect("filetab", header.files);
  bool is_old = module.table.format() < Format::kGo1_16;
  expect("pclntable", is_old ? 0 : header.functions);
  if (!is_old) {
    expect("funcnametab", header.names);
    expect("cutab", header.units);
    expect("pctab", header.pc_values);
  }
  return check;
}

Check check_slices(const ModuleData& data) {
  Check check{"slices of moduledata lie in the image"};
  for (const ModuleField& field : data.fields()) {
    if (!field.is_slice)
      continue;
    uint64_t length = data.word(field.word + 1u);
    uint64_t capacity = data.word(field.word + 2u);
    auto bytes = data.image->loaded_from(ImageAddress{data.word(field.word)});
    bool is_inside = length == 0 || (bytes && length <= bytes->size());
    check.expect(is_inside && length == capacity, [&] {
      return fmt::format("{} has {} of {} elements at {:#x}", field.name, length, capacity,
                         data.word(field.word));
    });
  }
  return check;
}

Check check_ranges(const ModuleData& data) {
  struct Range {
    std::string_view begin;
    std::string_view end;
  };
  static constexpr Range kRanges[] = {
      {"minpc", "maxpc"},      {"text", "etext"},   {"noptrdata", "enoptrdata"},
      {"data", "edata"},       {"bss", "ebss"},     {"noptrbss", "enoptrbss"},
      {"covctrs", "ecovctrs"}, {"types", "etypes"}, {"gofunc", "epclntab"},
  };
  Check check{"ranges of moduledata end after they begin"};
  auto has = [&](std::string_view name) {
    return std::ranges::find(data.fields(), name, &ModuleField::name) != data.fields().end();
  };
  for (const Range& range : kRanges)
    if (has(range.begin) && has(range.end))
      check.expect(data.value(range.begin) <= data.value(range.end), [&] {
        return fmt::format("{} is {:#x}, {} is {:#x}", range.begin, data.value(range.begin),
                           range.end, data.value(range.end));
      });
  return check;
}

Check check_bounds(const Module& module) {
  Check check{"moduledata has the bounds of functab"};
  auto expect = [&](std::string_view field, uint64_t pc) {
    uint64_t address = to_integer(module.address_of(pc).value_or(ImageAddress{0}));
    uint64_t found = module.data->value(field);
    check.expect(found == address,
                 [&] { return fmt::format("{} is {:#x}, not {:#x}", field, found, address); });
  };
  expect("minpc", module.table.entry(0));
  expect("maxpc", module.table.entry(module.table.function_count()));
  return check;
}

Check check_index(const Module& module) {
  constexpr uint64_t kBucketBytes = 20;
  constexpr uint64_t kBucketCode = 4096;
  constexpr uint64_t kPartCode = 256;
  Check check{"findfunctab leads to the function"};
  const Pclntab& table = module.table;
  ImageAddress address{module.data->value("findfunctab")};
  Bytes index = module.image->loaded_from(address).value_or(Bytes{});
  uint64_t begin = table.entry(0);
  uint64_t end = table.entry(table.function_count());
  for (uint64_t pc = begin; pc < end; pc += kPartCode) {
    uint64_t bucket = (pc - begin) / kBucketCode * kBucketBytes;
    uint64_t part = (pc - begin) % kBucketCode / kPartCode;
    auto base = load<uint32_t>(index, bucket, table.order());
    auto offset = load<uint8_t>(index, bucket + 4 + part);
    uint64_t found = uint64_t{base.value_or(0)} + offset.value_or(0);
    uint32_t function = table.find(pc).value_or(0);
    bool leads =
        found <= function && table.entry(static_cast<uint32_t>(found)) == table.entry(function);
    check.expect(base && offset && leads, [&] {
      return fmt::format("pc {:#x} leads to {}, not {}", pc, found, function);
    });
    if (!base || !offset)  // and so on up to the end, which need not be near
      break;
  }
  return check;
}

}  // namespace

std::vector<Check> check_tables(const Module& module) {
  std::vector<Check> checks = {check_file_names(module.table)};
  if (module.table.format() >= Format::kGo1_16)
    checks.push_back(
        check_units(module, module.image->loaded_from(module.table_address).value_or(Bytes{})));
  if (!module.data)
    return checks;
  for (const Check& check :
       {check_places(module), check_slices(*module.data), check_ranges(*module.data),
        check_bounds(module), check_index(module)})
    checks.push_back(check);
  return checks;
}

}  // namespace gosym::go
