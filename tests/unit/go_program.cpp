#include "pclntab_builder.h"

namespace gosym {

namespace {

constexpr uint64_t kTextPartsAddress = 0x680000;

// Word indices of textsectmap and gofunc in moduledata.
struct ModuleWords {
  size_t text_parts = 0;
  size_t gofunc = 0;
};
ModuleWords module_words(GoLayout layout) {
  switch (layout) {
    case GoLayout::k116:
      return {37, 0};
    case GoLayout::k118:
      return {39, 38};
    case GoLayout::k120:
      return {41, 40};
    case GoLayout::k126:
      return {42, 40};
    case GoLayout::k127:
      return {45, 43};
    default:
      return {27, 0};
  }
}

}  // namespace

std::vector<GoFunction> BuiltGoProgram::two_functions() {
  return {
      {.name = "main.caller",
       .start_line = 10,
       .sp = {{0, 4}, {8, 0x30}},
       .files = {{0, 0x10}, {1, 0x20}, {0, 0x30}},
       .lines =
           {{10, 0x0c}, {12, 0x10}, {21, 0x13}, {22, 0x14}, {5, 0x18}, {21, 0x20}, {13, 0x30}},
       .inlined = {{-1, 0x10}, {0, 0x14}, {1, 0x18}, {0, 0x20}, {-1, 0x30}}},
      {.name = "main.leaf",
       .entry = 0x40,
       .start_line = 30,
       .id = 9,
       .flags = 4,
       .first_file = 3,
       .sp = {{0, 0x10}},
       .files = {{0, 0x10}},
       .lines = {{30, 4}, {31, 0x10}}}};
}

std::vector<GoInlinedCall> BuiltGoProgram::two_inlined_calls() {
  return {{.name = "main.outer", .parent_pc = 0x0f, .file = 0, .line = 12, .start_line = 20},
          {.name = "main.inner",
           .parent = 0,
           .parent_pc = 0x13,
           .file = 1,
           .line = 22,
           .start_line = 4}};
}

std::string BuiltGoProgram::module_data() const {
  GoTable table = build_table();
  std::vector<uint64_t> words(48, 0);
  uint64_t pcs = functions.size() + 1;
  bool is_old = layout < GoLayout::k116;
  words[0] = table_address;
  if (is_old) {
    words[1] = words[2] = table.bytes.size();
    words[3] = table_address + table.functions;
    words[4] = words[5] = pcs;
    words[6] = table_address + table.files;
    words[7] = words[8] = files.size() + 1;
  } else {
    const uint64_t places[] = {table.names, table.units, table.files, table.pc_values,
                               table.functions};
    for (size_t i = 0; i < 5; i++) {
      uint64_t end = i < 4 ? places[i + 1] : table.gofunc;
      words[1 + 3 * i] = table_address + places[i];
      words[2 + 3 * i] = words[3 + 3 * i] = end - places[i];
    }
    words[16] = table_address + table.functions;
    words[17] = words[18] = pcs;
  }
  // Behind the record: all of the code is within 256 bytes of the first function.
  words[is_old ? 9 : 19] = module_address + words.size() * pointer_size;
  size_t minpc = is_old ? 10 : 20;
  words[minpc] = words[minpc + 2] = text;
  words[minpc + 1] = words[minpc + 3] = text + text_size;

  ModuleWords places = module_words(layout);
  uint64_t gofunc = table_address + table.gofunc;
  if (layout == GoLayout::k15) {
    words[25] = 0x700000;  // typelinks, a slice
    words[26] = 2;
  } else if (is_old) {
    words[25] = table_address;  // types
    words[26] = table_address + 0x10;
  } else if (layout >= GoLayout::k120) {
    words[37] = 0x700000;  // types
    words[layout == GoLayout::k127 ? 39 : 38] = 0x710000;
  }
  if (places.gofunc != 0)
    words[places.gofunc] = gofunc;
  if (layout >= GoLayout::k126)
    words[places.gofunc + 1] = table_address + table.bytes.size();
  if (!text_parts.empty()) {
    words[places.text_parts] = kTextPartsAddress;
    words[places.text_parts + 1] = words[places.text_parts + 2] = text_parts.size();
  }
  ByteWriter out(order, pointer_size);
  for (uint64_t word : words)
    out.word(word);
  return out.text(std::string(24, '\0')).out;
}

ImageSpec BuiltGoProgram::image() const {
  ImageSpec spec{.order = order, .pointer_size = pointer_size, .entry = text, .parts = {}};
  spec.parts.push_back({.name = ".text",
                        .contents = std::string(text_size + 0x20, '\xcc'),
                        .address = text,
                        .segment_flags = PF_R | PF_X});
  spec.parts.push_back({.name = ".gopclntab",
                        .contents = table(),
                        .address = table_address,
                        .segment_flags = PF_R});
  if (has_module())
    spec.parts.push_back({.name = layout >= GoLayout::k126 ? ".go.module" : ".data",
                          .contents = module_data(),
                          .address = module_address,
                          .segment_flags = PF_R | PF_W});
  if (text_parts.empty())
    return spec;
  ByteWriter parts(order, pointer_size);
  for (const GoTextPart& part : text_parts)
    parts.word(part.begin).word(part.end).word(part.address);
  spec.parts.push_back({.name = ".rodata",
                        .contents = parts.out,
                        .address = kTextPartsAddress,
                        .segment_flags = PF_R});
  return spec;
}

ImageSpec build_pie(const BuiltGoProgram& program, RelocationForm form) {
  constexpr uint64_t kDelta = 0x1000000;
  constexpr uint64_t kRelocations = 0x300000;
  constexpr uint64_t kSymbols = 0x340000;
  constexpr uint64_t kSymbolValue = 0x1000;
  bool is_64 = program.pointer_size == 8;
  bool is_rela = form != RelocationForm::kRel;
  bool is_symbolic = form == RelocationForm::kSymbolic;
  uint64_t type = is_64 ? (is_symbolic ? R_X86_64_64 : R_X86_64_RELATIVE)
                        : (is_symbolic ? R_386_32 : R_386_RELATIVE);
  uint64_t info = is_symbolic ? (is_64 ? ELF64_R_INFO(1, type) : ELF32_R_INFO(1, type)) : type;

  // Addresses are the words that differ when the program is linked elsewhere.
  BuiltGoProgram moved = program;
  for (uint64_t* address : {&moved.text, &moved.table_address, &moved.module_address})
    *address += kDelta;
  ImageSpec spec = program.image();
  ImageSpec elsewhere = moved.image();
  spec.type = ET_DYN;
  spec.machine = is_64 ? EM_X86_64 : EM_386;
  ByteWriter table(program.order, program.pointer_size);
  for (size_t i = 0; i < spec.parts.size(); i++) {
    std::string& contents = spec.parts[i].contents;
    for (size_t at = 0; at + program.pointer_size <= contents.size();
         at += program.pointer_size) {
      auto load_from = [&](const std::string& bytes) {
        return is_64 ? load<uint64_t>(as_bytes(bytes), at, program.order).value()
                     : load<uint32_t>(as_bytes(bytes), at, program.order).value();
      };
      uint64_t word = load_from(contents);
      if (load_from(elsewhere.parts[i].contents) != word + kDelta)
        continue;
      table.word(spec.parts[i].address + at).word(info);
      if (is_rela)
        table.word(is_symbolic ? word - kSymbolValue : word);
      if (form == RelocationForm::kRela || is_symbolic)
        contents.replace(at, program.pointer_size, program.pointer_size, '\0');
    }
  }
  if (form == RelocationForm::kRelr)
    return spec;

  ByteWriter dynamic(program.order, program.pointer_size);
  dynamic.word(is_rela ? DT_RELA : DT_REL).word(kRelocations);
  dynamic.word(is_rela ? DT_RELASZ : DT_RELSZ).word(table.out.size());
  dynamic.word(DT_SYMTAB).word(kSymbols).word(DT_NULL).word(0);
  spec.parts.push_back({.name = ".rela.dyn",
                        .contents = table.out,
                        .address = kRelocations,
                        .segment_flags = PF_R});
  spec.parts.push_back({.name = ".dynsym",
                        .contents = build_symbols(spec, {{.address = kSymbolValue}}),
                        .address = kSymbols,
                        .segment_flags = PF_R});
  spec.parts.push_back({.name = ".dynamic",
                        .type = SHT_DYNAMIC,
                        .contents = dynamic.out,
                        .address = 0x380000,
                        .segment_flags = PF_R,
                        .segment_type = PT_DYNAMIC});
  return spec;
}

}  // namespace gosym
