#include "pclntab_builder.h"

#include <map>

#include "go/pclntab.h"

namespace gosym {

namespace {

constexpr uint32_t kNone = 0xffffffff;

uint32_t magic_of(const BuiltGoProgram& program) {
  if (program.magic)
    return *program.magic;
  if (program.layout < GoLayout::k116)
    return go::kMagic12;
  if (program.layout < GoLayout::k118)
    return go::kMagic116;
  return program.layout < GoLayout::k120 ? go::kMagic118 : go::kMagic120;
}

std::string aligned(std::string bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

// NUL-terminated strings, each once.
class Strings {
public:
  explicit Strings(bool begins_with_nul) : bytes(begins_with_nul ? 1 : 0, '\0') {}
  uint32_t add(const std::string& text) {
    auto [known, is_new] = offsets_.try_emplace(text, static_cast<uint32_t>(bytes.size()));
    if (is_new)
      bytes += text + '\0';
    return known->second;
  }
  std::string bytes;

private:
  std::map<std::string, uint32_t> offsets_;
};

// Everything that records point to.
class TableBuilder {
public:
  explicit TableBuilder(const BuiltGoProgram& program)
      : program_(program), names_(program.layout < GoLayout::k116) {
    for (const GoFunction& function : program.functions)
      names_.add(function.name);
    for (const GoInlinedCall& call : program.tree)
      names_.add(call.name);
  }

  GoTable build() {
    return program_.layout < GoLayout::k116 ? build_before_116() : build_since_116();
  }

private:
  bool is_since(GoLayout layout) const { return program_.layout >= layout; }
  ByteWriter writer() const { return ByteWriter(program_.order, program_.pointer_size); }
  uint8_t pc_size() const { return program_.has_offsets() ? 4 : program_.pointer_size; }

  uint64_t pc_of(uint64_t offset) const {
    return program_.has_offsets() ? offset : program_.text + offset;
  }
  void pc(ByteWriter& out, uint64_t value) const {
    pc_size() == 4 ? out.u32(value) : out.u64(value);
  }

  // The number of a file, as pc-value tables and inline trees have it.
  int32_t file_number(int32_t file) const { return is_since(GoLayout::k116) ? file : file + 1; }

  uint32_t add_rows(std::vector<PcRow> rows, bool are_files = false) {
    if (rows.empty())
      return 0;
    if (are_files)
      for (PcRow& row : rows)
        row.value = file_number(row.value);
    auto offset = static_cast<uint32_t>(pc_values_.size());
    pc_values_ += build_pc_values(rows);
    return pc_values_base_ + offset;
  }

  std::vector<uint32_t> pcdata_of(const GoFunction& function) {
    // Registers, but nothing inlined: by this Go 1.12 differs from later releases.
    if (function.inlined.empty())
      return program_.layout == GoLayout::k112 ? std::vector<uint32_t>{0, 0, 1}
                                               : std::vector<uint32_t>{};
    uint32_t stack_map = add_rows({{0, 0x10}});
    if (!is_since(GoLayout::k15))
      return {stack_map, add_rows({{1, 0x30}})};
    if (!is_since(GoLayout::k19))
      return {stack_map};
    uint32_t inlined = add_rows(function.inlined);
    if (!is_since(GoLayout::k113))
      return {stack_map, inlined};
    return {0, stack_map, inlined};
  }

  // Data of a function comes to its end with the inline tree, or where that later is. `tree` is
  // where it lies: an address, or an offset from gofunc.
  std::vector<uint64_t> funcdata_of(const GoFunction& function, uint64_t tree) const {
    if (function.inlined.empty())
      return {};
    size_t count = is_since(GoLayout::k116)   ? 4
                   : is_since(GoLayout::k113) ? 5
                   : is_since(GoLayout::k19)  ? 3
                   : is_since(GoLayout::k15)  ? 2
                                              : 4;
    std::vector<uint64_t> result(count, program_.has_offsets() ? kNone : 0);
    result.back() = tree;
    return result;
  }

  // The field before the pc-value tables: the frame size, or what replaced it.
  uint32_t third_field(const GoFunction& function) const {
    if (!is_since(GoLayout::k15))
      return 0x40;
    if (!is_since(GoLayout::k110))
      return 0x01234567;
    return is_since(GoLayout::k112) ? (function.inlined.empty() ? 0 : 0x2c) : function.id;
  }

  std::string record(const GoFunction& function, uint64_t tree) {
    ByteWriter out = writer();
    uint32_t name = names_base_ + names_.add(function.name);
    pc(out, pc_of(function.entry) ^ uint32_t{name * program_.entry_key});
    out.u32(name).u32(16).u32(third_field(function));
    out.u32(add_rows(function.sp)).u32(add_rows(function.files, true));
    out.u32(add_rows(function.lines));
    std::vector<uint32_t> pcdata = pcdata_of(function);
    std::vector<uint64_t> funcdata = funcdata_of(function, tree);
    out.u32(pcdata.size());
    if (is_since(GoLayout::k116))
      out.u32(function.first_file);
    if (is_since(GoLayout::k120))
      out.u32(static_cast<uint32_t>(function.start_line));
    if (is_since(GoLayout::k112))
      out.u8(function.id).u8(function.flags).u8(0).u8(funcdata.size());
    else
      out.u32(funcdata.size());
    for (uint32_t table : pcdata)
      out.u32(table);
    if (!funcdata.empty())
      out.pad_to((out.out.size() + pc_size() - 1) / pc_size() * pc_size());
    for (uint64_t data : funcdata)
      pc(out, data);
    return aligned(out.out);
  }

  std::string functab(const std::vector<uint64_t>& records) const {
    ByteWriter out = writer();
    for (size_t i = 0; i < records.size(); i++) {
      pc(out, pc_of(program_.functions[i].entry));
      pc(out, program_.functions[i].is_hole ? UINT64_MAX : records[i]);
    }
    pc(out, pc_of(program_.text_size));
    return out.out;
  }

  // The records, of which the first is to lie at `start`, and where each is. Makes the pc-value
  // tables anew.
  std::string add_records(uint64_t start, uint64_t tree, std::vector<uint64_t>& places) {
    pc_values_.assign(1, '\0');
    places.clear();
    std::string out;
    for (const GoFunction& function : program_.functions) {
      places.push_back(start + out.size());
      out += record(function, tree);
    }
    return out;
  }

  std::string tree() {
    ByteWriter out = writer();
    for (const GoInlinedCall& call : program_.tree) {
      uint32_t name = names_base_ + names_.add(call.name);
      auto parent = static_cast<uint32_t>(call.parent);
      auto file = static_cast<uint32_t>(file_number(call.file));
      auto line = static_cast<uint32_t>(call.line);
      if (is_since(GoLayout::k120)) {
        out.u8(call.id).u8(0).u16(0).u32(name).u32(call.parent_pc);
        out.u32(static_cast<uint32_t>(call.start_line));
      } else if (is_since(GoLayout::k112)) {
        out.u16(parent).u8(call.id).u8(0).u32(file).u32(line).u32(name).u32(call.parent_pc);
      } else {
        out.u32(parent).u32(file).u32(line).u32(name);
      }
    }
    return out.out;
  }

  // All is counted from the header, and the tables come before the records that they are added
  // by: the first round only tells their size.
  GoTable build_before_116() {
    std::vector<uint64_t> unused;
    add_records(0, 1, unused);
    GoTable table;
    table.functions = 8 + program_.pointer_size;
    uint64_t functab_size = functab(unused).size();
    table.names = (table.functions + functab_size + 4 + 7) / 8 * 8;
    table.pc_values = table.names + aligned(names_.bytes).size();
    uint64_t first_record = table.pc_values + aligned(pc_values_).size();
    names_base_ = static_cast<uint32_t>(table.names);
    pc_values_base_ = static_cast<uint32_t>(table.pc_values);

    table.files = first_record + add_records(first_record, 1, table.records).size();
    Strings file_names(false);
    ByteWriter files = writer();
    files.u32(program_.files.size() + (is_since(GoLayout::k19) ? 1 : 0));
    for (const std::string& file : program_.files)
      files.u32(table.files + 4 * (program_.files.size() + 1) + file_names.add(file));
    files.text(aligned(file_names.bytes));
    table.gofunc = (table.files + files.out.size() + 7) / 8 * 8;

    uint64_t tree_address = program_.table_address + table.gofunc + 8;
    std::string records = add_records(first_record, tree_address, table.records);
    ByteWriter out = writer();
    out.u32(magic_of(program_)).u16(0).u8(1).u8(program_.pointer_size);
    out.word(program_.functions.size()).text(functab(table.records)).u32(table.files);
    out.pad_to(table.names).text(names_.bytes).pad_to(table.pc_values).text(pc_values_);
    out.pad_to(first_record).text(records).text(files.out);
    out.pad_to(table.gofunc + 8).text(tree());
    table.bytes = out.out;
    return table;
  }

  GoTable build_since_116() {
    Strings files(false);
    ByteWriter units = writer();
    for (const std::string& file : program_.files)
      units.u32(files.add(file));
    units.u32(kNone);  // a file that was dropped
    for (const std::string& file : program_.files)
      units.u32(files.add(file));

    GoTable table;
    table.names = 8u + program_.pointer_size * (program_.has_offsets() ? 8u : 7u);
    table.units = table.names + aligned(names_.bytes).size();
    table.files = table.units + aligned(units.out).size();
    table.pc_values = table.files + aligned(files.bytes).size();
    auto layout_records = [&](uint64_t tree_place) {
      uint64_t functab_size = functab(std::vector<uint64_t>(program_.functions.size())).size();
      return add_records((functab_size + 7) / 8 * 8, tree_place, table.records);
    };
    std::string records = layout_records(8);
    table.functions = table.pc_values + aligned(pc_values_).size();
    table.gofunc = table.functions + table.records[0] + records.size();
    if (!program_.has_offsets())
      records = layout_records(program_.table_address + table.gofunc + 8);

    bool has_text_start = program_.has_offsets() && !is_since(GoLayout::k126);
    ByteWriter out = writer();
    out.u32(magic_of(program_)).u16(0).u8(1).u8(program_.pointer_size);
    out.word(program_.functions.size()).word(program_.files.size());
    if (program_.has_offsets())
      out.word(has_text_start ? program_.text : 0);
    out.word(table.names).word(table.units).word(table.files).word(table.pc_values);
    out.word(table.functions).text(aligned(names_.bytes)).text(aligned(units.out));
    out.text(aligned(files.bytes)).text(aligned(pc_values_)).text(functab(table.records));
    out.pad_to(table.functions + table.records[0]).text(records);
    out.pad_to(table.gofunc + 8).text(tree());
    for (uint64_t& place : table.records)
      place += table.functions;
    table.bytes = out.out;
    return table;
  }

  const BuiltGoProgram& program_;
  Strings names_;
  std::string pc_values_ = std::string(1, '\0');
  uint32_t names_base_ = 0;
  uint32_t pc_values_base_ = 0;
};

}  // namespace

std::string build_pc_values(const std::vector<PcRow>& rows) {
  std::string out;
  auto varint = [&](uint32_t value) {
    for (; value >= 0x80; value >>= 7)
      out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  PcRow last{-1, 0};
  for (const PcRow& row : rows) {
    uint32_t delta = static_cast<uint32_t>(row.value) - static_cast<uint32_t>(last.value);
    varint(delta << 1 ^ -(delta >> 31));
    varint(row.end - last.end);
    last = row;
  }
  return out + '\0';
}

GoTable BuiltGoProgram::build_table() const {
  return TableBuilder(*this).build();
}

}  // namespace gosym
