#include "dwarf/call_frames.h"

#include <doctest/doctest.h>

#include "frame_builder.h"
#include "unwind_rule_text.h"

namespace gosym::call_frames_test {
using namespace std::string_literals;

namespace {

constexpr uint64_t kCode = FrameSpec::kCode;

std::string rule_in(const ImageSpec& spec, uint64_t address) {
  std::string file = build_image(spec);
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  auto frames = dwarf::CallFrames::open(*image);
  return frames ? to_text(frames->find(ImageAddress{address})) : "no frames";
}

std::string rule_in(const FrameSpec& spec, uint64_t address = kCode) {
  return rule_in(spec.image(spec.frames()), address);
}

// The rule behind all of these instructions of an FDE.
std::string rule_of(const std::string& instructions, FrameSpec spec = {}) {
  spec.instructions = instructions;
  return rule_in(spec, kCode + 0xff);
}

// An expression as the operand of an instruction.
std::string block(const std::string& expression) {
  return static_cast<char>(expression.size()) + expression;
}

const std::string kFrameless = "sp+8 cfa-8 same";

const FrameSpec kArm{.machine = EM_AARCH64, .return_column = 30, .setup = "\x0c\x1f\0"s};

}  // namespace

TEST_CASE("call frames: a function has its rules from its first byte to its last") {
  FrameSpec spec;
  CHECK(rule_in(spec, kCode - 1) == "none");
  CHECK(rule_in(spec, kCode) == kFrameless);
  CHECK(rule_in(spec, kCode + 0xff) == kFrameless);
  CHECK(rule_in(spec, kCode + 0x100) == "none");
}

TEST_CASE("call frames: a row holds up to the next") {
  // push %rbp; mov %rsp, %rbp; ...; leave; ret
  FrameSpec spec{.instructions = "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x50\x0c\x07\x08\xc6"};
  CHECK(rule_in(spec, kCode) == kFrameless);
  CHECK(rule_in(spec, kCode + 1) == "sp+16 cfa-8 cfa-16");
  CHECK(rule_in(spec, kCode + 3) == "sp+16 cfa-8 cfa-16");
  CHECK(rule_in(spec, kCode + 4) == "fp+16 cfa-8 cfa-16");
  CHECK(rule_in(spec, kCode + 0x53) == "fp+16 cfa-8 cfa-16");
  CHECK(rule_in(spec, kCode + 0x54) == kFrameless);
}

TEST_CASE("call frames: every instruction") {
  CHECK(rule_of("\x02\x7f\x0e\x10") == "sp+16 cfa-8 same");         // advance_loc1
  CHECK(rule_of("\x03\x80\0\x0e\x10"s) == "sp+16 cfa-8 same");      // advance_loc2
  CHECK(rule_of("\x04\x80\0\0\0\x0e\x10"s) == "sp+16 cfa-8 same");  // advance_loc4
  CHECK(rule_of("\x04\0\x01\0\0\x0e\x10"s) == kFrameless);          // past the end
  CHECK(rule_of("\x05\x06\x03") == "sp+8 cfa-8 cfa-24");            // offset_extended
  CHECK(rule_of("\x86\x03\x06\x06") == kFrameless);                 // restore_extended
  CHECK(rule_of("\x07\x06") == "sp+8 cfa-8 lost");                  // undefined
  CHECK(rule_of("\x07\x10") == "root");
  CHECK(rule_of("\x86\x03\x08\x06") == kFrameless);     // same_value
  CHECK(rule_of("\x09\x06\x0c") == "sp+8 cfa-8 lost");  // register
  CHECK(rule_of("\x09\x10\x0c") == "evaluated");
  CHECK(rule_of("\x0a\x0e\x10\x86\x02\x0b") == kFrameless);  // remember_state, restore_state
  CHECK(rule_of("\x0c\x06\x20") == "fp+32 cfa-8 same");      // def_cfa
  CHECK(rule_of("\x0d\x06") == "fp+8 cfa-8 same");           // def_cfa_register
  CHECK(rule_of("\x0e\x80\x02") == "sp+256 cfa-8 same");     // def_cfa_offset
  CHECK(rule_of("\x11\x06\x7f") == "sp+8 cfa-8 cfa+8");      // offset_extended_sf
  CHECK(rule_of("\x12\x06\x7e") == "fp+16 cfa-8 same");      // def_cfa_sf
  CHECK(rule_of("\x13\x7d") == "sp+24 cfa-8 same");          // def_cfa_offset_sf
  CHECK(rule_of("\x14\x06\x03") == "sp+8 cfa-8 lost");       // val_offset
  CHECK(rule_of("\x14\x07\0"s) == kFrameless);
  CHECK(rule_of("\x15\x07\x01") == "evaluated");  // val_offset_sf
  CHECK(rule_of("\x2e\x10") == kFrameless);       // GNU_args_size
  CHECK(rule_of("\x2d") == kFrameless);
  CHECK(rule_of("\x01\x10") == "none");  // set_loc is not read
  CHECK(rule_of("\x3f") == "none");
}

TEST_CASE("call frames: other registers do not matter") {
  CHECK(rule_of("\x83\x02\x07\x03\x09\x03\x0c\xc3\x16\x03\x01\x30") == kFrameless);
  CHECK(rule_of("\x0c\x0a\x08") == "evaluated");  // but that the CFA is counted from
}

TEST_CASE("call frames: the expressions of compilers, linkers and C libraries") {
  // A stack that is aligned anew: the CFA was stored below the frame.
  CHECK(rule_of("\x0f"s + block("\x76\x78\x06") + "\x10\x06" + block("\x76\0"s)) ==
        "[fp-8] cfa-8 fp+0");
  std::string stub = block("\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"s);
  CHECK(rule_in({.instructions = "\x0f" + stub}, kCode + 0x2a) == kFrameless);
  CHECK(rule_in({.instructions = "\x0f" + stub}, kCode + 0x2b) == "sp+16 cfa-8 same");
  std::string registers = "\x0f" + block("\x77\xa0\x01\x06") + "\x10\x06" +
                          block("\x77\xf8\0"s) + "\x10\x07" + block("\x77\xa0\x01") +
                          "\x10\x10" + block("\x77\xa8\x01");
  FrameSpec signal{.augmentation = "zRS", .setup = "", .instructions = registers};
  CHECK(rule_in(signal) == "[sp+160] sp+168 sp+120 signal");
}

TEST_CASE("call frames: each operation of expressions") {
  auto frame = [](const std::string& expression) {
    return rule_of("\x10\x06" + block(expression));
  };
  CHECK(frame("\x23\x20") == "sp+8 cfa-8 cfa+32");
  CHECK(frame("\x38\x1c") == "sp+8 cfa-8 cfa-8");
  CHECK(frame("\x08\xff\x22") == "sp+8 cfa-8 cfa+255");
  CHECK(frame("\x09\xff\x22") == "sp+8 cfa-8 cfa-1");
  CHECK(frame("\x0a\xff\xff\x22") == "sp+8 cfa-8 cfa+65535");
  CHECK(frame("\x0b\xff\xff\x22") == "sp+8 cfa-8 cfa-1");
  CHECK(frame("\x0c\0\0\x01\0\x22"s) == "sp+8 cfa-8 cfa+65536");
  CHECK(frame("\x0d\xfe\xff\xff\xff\x22") == "sp+8 cfa-8 cfa-2");
  CHECK(frame("\x35\x36\x1a\x22") == "sp+8 cfa-8 cfa+4");
  CHECK(frame("\x35\x33\x24\x22") == "sp+8 cfa-8 cfa+40");
  CHECK(frame("\x35\x35\x2a\x22") == "sp+8 cfa-8 cfa+1");
  CHECK(frame("\x34\x35\x2a\x22") == "sp+8 cfa-8 cfa+0");
  CHECK(frame("\x38\x77\x08\x22") == "sp+8 cfa-8 sp+16");
}

TEST_CASE("call frames: expressions that do not come to a place") {
  for (const std::string& expression :
       {"\x06"s, "\x06\x23\x08"s, "\x30"s, "\x22"s, "\x73\0"s, "\x96"s, "\x77"s, "\x08"s,
        "\x77\0\x1a"s, "\x77\0\x1c"s, "\x0c\xff\xff\xff\xff\x22"s, std::string(18, '\x30')}) {
    CAPTURE(expression);
    CHECK(rule_of("\x10\x06" + block(expression)) == "sp+8 cfa-8 lost");
    CHECK(rule_of("\x10\x10" + block(expression)) == "evaluated");
  }
  CHECK(rule_of("\x0f"s + block("\x77\x08\x06\x06")) == "evaluated");
  CHECK(rule_of("\x0f"s + block("\x23\x08")) == "evaluated");  // has no CFA to start from
  CHECK(rule_of("\x0c\x0a\x08\x07\x10") == "root");
}

TEST_CASE("call frames: 64-bit ARM returns through a register") {
  CHECK(rule_of("", kArm) == "sp+0 link same");
  CHECK(rule_of("\x08\x1e", kArm) == "sp+0 link same");
  CHECK(rule_of("\x0e\x20\x9d\x04\x9e\x03", kArm) == "sp+32 cfa-24 cfa-32");
  CHECK(rule_of("\x2d\x0c\x1d\x20\x9d\x04\x9e\x03", kArm) == "fp+32 cfa-24 cfa-32");
  CHECK(rule_of("\x07\x1e", kArm) == "root");
  CHECK(rule_of("\x09\x1e\x05", kArm) == "evaluated");
}

TEST_CASE("call frames: other machines and files without any have none") {
  CHECK(rule_in({.machine = EM_S390}) == "no frames");
  CHECK(rule_in(FrameSpec().image(""), kCode) == "no frames");
  CHECK(rule_in({.machine = EM_386,
                 .pointer_size = 4,
                 .return_column = 8,
                 .setup = "\x0c\x04\x04\x88\x01"}) == "sp+4 cfa-8 same");
}

TEST_CASE("call frames: .debug_frame, of each version and byte order") {
  for (uint8_t version : {uint8_t{1}, uint8_t{3}, uint8_t{4}}) {
    for (auto order : {ByteOrder::kLittle, ByteOrder::kBig}) {
      CAPTURE(int{version});
      FrameSpec spec{.order = order,
                     .is_debug_frame = true,
                     .version = version,
                     .augmentation = "",
                     .instructions = order == ByteOrder::kLittle ? "\x03\x10\0\x0e\x10"s
                                                                 : "\x03\0\x10\x0e\x10"s};
      CHECK(rule_in(spec, kCode + 0xf) == kFrameless);
      CHECK(rule_in(spec, kCode + 0x10) == "sp+16 cfa-8 same");
    }
  }
}

TEST_CASE("call frames: each field of a common entry that is wrong costs the function") {
  CHECK(rule_in({.version = 2}) == "no frames");
  CHECK(rule_in({.augmentation = "zX"}) == "no frames");
  CHECK(rule_in({.augmentation = "eh"}) == "no frames");
  CHECK(rule_in({.augmentation_data = "\x3b"}) == "no frames");  // counted from what?
  CHECK(rule_in({.augmentation_data = "\x9b"}) == "no frames");  // has to be looked up
  CHECK(rule_in({.augmentation_data = "\x1d"}) == "no frames");
  CHECK(rule_in({.augmentation = "zPLR",
                 .augmentation_data = "\x9b\x01\x02\x03\x04\x1b\x1b"}) == kFrameless);
}

TEST_CASE("call frames: an entry that is cut short costs itself, a length all that follow") {
  FrameSpec spec;
  std::string setup = spec.setup_entry();
  std::string first = spec.function_entry(setup.size());
  std::string second = spec.function_entry(setup.size() + first.size(), kCode + 0x100);
  auto rules = [&](const std::string& damaged) {
    ImageSpec image = spec.image(setup + damaged + second);
    return rule_in(image, kCode) + ", " + rule_in(image, kCode + 0x100);
  };
  CHECK(rules(first) == kFrameless + ", " + kFrameless);
  std::string damaged = first;
  damaged[4]++;  // of its common entry
  CHECK(rules(damaged) == "none, " + kFrameless);
  damaged = first;
  damaged[16] = '\x40';  // size of augmentation data
  CHECK(rules(damaged) == "none, " + kFrameless);
  damaged = first;
  damaged[0]++;
  CHECK(rules(damaged) == "none, none");
  damaged = first;
  damaged[3] = '\x7f';
  CHECK(rules(damaged) == "no frames, no frames");
}

TEST_CASE("call frames: every prefix has the rules of its whole entries") {
  FrameSpec spec{.instructions = "\x41\x0e\x10\x86\x02"};
  std::string frames = spec.frames();
  for (size_t size = 0; size < frames.size(); size++) {
    CAPTURE(size);
    CHECK(rule_in(spec.image(frames.substr(0, size)), kCode) == "no frames");
  }
  CHECK(rule_in(spec.image(frames), kCode + 1) == "sp+16 cfa-8 cfa-16");
}

TEST_CASE("call frames: every prefix of the instructions, with what it says") {
  const std::string instructions = "\x41\x0e\x10\x86\x02\x0f\x03\x76\x78\x06";
  for (size_t size = 0; size <= instructions.size(); size++) {
    CAPTURE(size);
    std::string rule = rule_of(instructions.substr(0, size));
    bool is_cut = size == 2 || size == 4 || (size >= 6 && size < 10);
    CHECK(rule == (is_cut      ? "none"
                   : size < 3  ? kFrameless
                   : size < 5  ? "sp+16 cfa-8 same"
                   : size < 10 ? "sp+16 cfa-8 cfa-16"
                               : "[fp-8] cfa-8 cfa-16"));
  }
}

TEST_CASE("call frames: rows are remembered 64 deep, which bounds what they take") {
  CHECK(rule_of(std::string(64, '\x0a')) == kFrameless);
  CHECK(rule_of(std::string(65, '\x0a')) == "none");
  CHECK(rule_of("\x0b") == "none");
}

TEST_CASE("call frames: instructions of more than 64 KiB are not run") {
  CHECK(rule_of(std::string(65536, '\0')) == kFrameless);
  CHECK(rule_of(std::string(65537, '\0')) == "none");
}

TEST_CASE("call frames: without sections, .eh_frame_hdr tells where they are") {
  FrameSpec spec;
  ImageSpec image = spec.image(spec.frames() + std::string(4, '\0'));
  image.parts[1].name = ".none";
  CHECK(rule_in(image, kCode) == "no frames");
  std::string header = "\x01\x1b\x03\x3b" + ByteWriter().u32(FrameSpec::kFrames - 0x3004).out;
  image.parts.push_back(
      {.name = ".none", .contents = header, .address = 0x3000, .segment_flags = PF_R});
  image.parts.push_back({.name = ".none",
                         .contents = header,
                         .address = 0x3000,
                         .segment_flags = PF_R,
                         .segment_type = PT_GNU_EH_FRAME});
  CHECK(rule_in(image, kCode) == kFrameless);
  for (size_t field : {0u, 1u, 4u}) {
    CAPTURE(field);
    ImageSpec damaged = image;
    damaged.parts[2].contents[field] ^= '\x40';
    CHECK(rule_in(damaged, kCode) == "no frames");
  }
}

TEST_CASE("call frames: what the linker has discarded is not found at 0") {
  FrameSpec spec{.is_debug_frame = true, .augmentation = ""};
  std::string setup = spec.setup_entry();
  CHECK(rule_in(spec.image(setup + spec.function_entry(0, 0, 0x2000)), kCode) == "no frames");
}

namespace {

// Registers 0 to 15 hold 0x1000 and 0x100 times their number; the word at an address is that
// and 1.
class SomeState : public MachineState {
public:
  std::optional<uint64_t> stack_pointer() override { return 0x1700; }
  std::optional<uint64_t> frame_pointer() override { return 0x1600; }
  std::optional<uint64_t> register_value(uint64_t number) override {
    return number < 16 ? std::optional(0x1000 + 0x100 * number) : std::nullopt;
  }
  std::optional<uint64_t> word_at(uint64_t address) override { return address + 1; }
};

std::string to_text(const CallerRegister& found) {
  constexpr std::array kKinds = {"lost", "unchanged", "in register", "on stack", "value"};
  return fmt::format("{} {:x}", kKinds.at(static_cast<size_t>(found.kind)), found.value);
}

std::string evaluated(const std::string& instructions, bool by_header = false) {
  FrameSpec spec{.instructions = instructions};
  std::string file = build_image(spec.image(spec.frames()));
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  auto frames =
      by_header ? dwarf::CallFrames::open_by_header(*image) : dwarf::CallFrames::open(*image);
  REQUIRE(frames);
  SomeState state;
  auto found = frames->evaluate(ImageAddress{kCode + 0xff}, state);
  return found ? fmt::format("{:x} {:x}, {}, {}", found->cfa, found->stack_pointer,
                             to_text(found->return_address), to_text(found->frame_pointer))
               : "none";
}

std::string caller_register(const std::string& instructions, uint64_t number) {
  FrameSpec spec{.instructions = instructions};
  std::string file = build_image(spec.image(spec.frames()));
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  SomeState state;
  return to_text(dwarf::CallFrames::open(*image)->caller_register(ImageAddress{kCode}, number,
                                                                  0x2000, state));
}

}  // namespace

TEST_CASE("call frames: rules are evaluated with registers and stack") {
  // rax + 8, as OpenSSL's AES-GCM; r9 + 8, as its ChaCha20.
  CHECK(evaluated("\x0c\0\x08"s) == "1008 1008, on stack 1000, unchanged 0");
  CHECK(evaluated("\x0c\x09\x08\x86\x02") == "1908 1908, on stack 1900, on stack 18f8");
  // The word at rsp + 40, and 8; and at rsp + 8 + 8 * r9, and 8: as its RSA.
  CHECK(evaluated("\x0f"s + block("\x77\x28\x06\x23\x08")) ==
        "1731 1731, on stack 1729, unchanged 0");
  CHECK(evaluated("\x0f"s + block("\x77\x08\x79\0\x38\x1e\x22\x06\x23\x08"s)) ==
        "df11 df11, on stack df09, unchanged 0");
  // The return address in r11, rbp in rbx, lost, or the word at CFA + 8 as it is.
  CHECK(evaluated("\x09\x10\x0b\x09\x06\x03") == "1708 1708, in register b, in register 3");
  CHECK(evaluated("\x09\x10\x06\x07\x06") == "1708 1708, value 1600, lost 0");
  CHECK(evaluated("\x16\x06"s + block("\x23\x08\x06")) ==
        "1708 1708, on stack 1700, value 1711");
  // The stack pointer of the caller is not the CFA.
  CHECK(evaluated("\x15\x07\x01") == "1708 1700, on stack 1700, unchanged 0");
  CHECK(evaluated("\x05\x07\x02") == "1708 16f9, on stack 1700, unchanged 0");
  // The pc is the address.
  CHECK(evaluated("\x0f"s + block("\x80\0"s)) == "10ff 10ff, on stack 10f7, unchanged 0");
}

TEST_CASE("call frames: what is not known makes no frame") {
  CHECK(evaluated("\x0c\x12\x08") == "none");
  CHECK(evaluated("\x0f"s + block("\x82\x12"s)) == "none");
  CHECK(evaluated("\x0f"s + block("\x06")) == "none");
  CHECK(evaluated("\x09\x07\x13") == "none");
  CHECK(evaluated("\x10\x10"s + block("\x82\x12"s)) == "1708 1708, lost 0, unchanged 0");
}

TEST_CASE("call frames: the caller's registers that each row has are told as others are") {
  CHECK(caller_register("", 16) == "on stack 1ff8");
  CHECK(caller_register("\x09\x10\x0b", 16) == "in register b");
  CHECK(caller_register("\x86\x02", 6) == "on stack 1ff0");
  CHECK(caller_register("", 6) == "unchanged 0");
  CHECK(caller_register("", 7) == "value 2000");
  CHECK(caller_register("\x15\x07\x01", 7) == "value 1ff8");
}

TEST_CASE("call frames: other registers of the caller") {
  CHECK(caller_register("", 3) == "unchanged 0");
  CHECK(caller_register("\x83\x02", 3) == "on stack 1ff0");
  CHECK(caller_register("\x83\x02", 12) == "unchanged 0");
  CHECK(caller_register("\x83\x02\xc3", 3) == "unchanged 0");
  CHECK(caller_register("\x07\x03", 3) == "lost 0");
  CHECK(caller_register("\x09\x03\x08", 3) == "in register 8");
  CHECK(caller_register("\x10\x03"s + block("\x70\x08"s), 3) == "on stack 1008");
}

TEST_CASE("call frames: by the header only what it has") {
  FrameSpec spec;
  std::string frames = spec.frames();
  auto header = [&](uint64_t count, uint64_t distance) {
    constexpr uint64_t kHeader = 0x3000;
    ByteWriter out = spec.writer();
    out.u8(1).u8(0x1b).u8(0x03).u8(0x3b);
    out.u32(FrameSpec::kFrames - (kHeader + 4)).u32(count);
    out.u32(kCode - kHeader).u32(FrameSpec::kFrames + distance - kHeader);
    ImageSpec image = spec.image(frames);
    image.parts.push_back({.name = ".eh_frame_hdr",
                           .contents = out.out,
                           .address = kHeader,
                           .segment_flags = PF_R});
    image.parts.push_back({.name = ".marker",
                           .contents = "x",
                           .address = kHeader,
                           .segment_flags = PF_R,
                           .segment_type = PT_GNU_EH_FRAME});
    return build_image(image);
  };
  auto rule = [&](const std::string& file, uint64_t address) {
    auto image = elf::parse(as_bytes(file));
    REQUIRE(image);
    auto opened = dwarf::CallFrames::open_by_header(*image);
    return opened ? to_text(opened->find(ImageAddress{address})) : "no frames";
  };
  uint64_t function = spec.setup_entry().size();
  CHECK(rule(header(1, function), kCode) == kFrameless);
  CHECK(rule(header(1, function), kCode + 0xff) == kFrameless);
  CHECK(rule(header(1, function), kCode + 0x100) == "none");
  CHECK(rule(header(1, function), kCode - 1) == "none");
  CHECK(rule(header(1, 0), kCode) == "none");              // a common entry
  CHECK(rule(header(1, 0x7000'0000), kCode) == "none");    // outside of the section
  CHECK(rule(header(2, function), kCode) == "no frames");  // more than there are
  CHECK(rule(header(0, function), kCode) == "no frames");
  CHECK(rule(build_image(spec.image(frames)), kCode) == "no frames");
}

TEST_CASE("call frames: code is one piece that passes no begin or end of a function") {
  FrameSpec spec;
  std::string frames = spec.setup_entry();
  for (uint64_t begin : {0x1100, 0x1400})
    frames += spec.function_entry(frames.size(), begin);
  std::string file = build_image(spec.image(frames));
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  auto opened = dwarf::CallFrames::open(*image);
  REQUIRE(opened);
  auto is_one = [&](uint64_t begin, uint64_t address) {
    return opened->is_one_piece(ImageAddress{begin}, ImageAddress{address});
  };
  CHECK(is_one(0x1000, 0x10ff));
  CHECK_FALSE(is_one(0x1000, 0x1100));
  CHECK_FALSE(is_one(0x1000, 0x1200));
  CHECK(is_one(0x1100, 0x1100));
  CHECK(is_one(0x1180, 0x11ff));
  CHECK_FALSE(is_one(0x1180, 0x1200));
  CHECK(is_one(0x1200, 0x13ff));
  CHECK_FALSE(is_one(0x1200, 0x1400));
  CHECK_FALSE(is_one(0x1100, 0x1480));
  CHECK(is_one(0x1500, 0x9000));
}

TEST_CASE("call frames: functions are bounded, those without code are none") {
  FrameSpec spec;
  std::string frames = spec.setup_entry();
  frames += spec.function_entry(frames.size(), 0x1400);
  frames += spec.function_entry(frames.size(), 0x1100);
  frames += spec.function_entry(frames.size(), 0x1800, 0);
  std::string file = build_image(spec.image(frames));
  auto image = elf::parse(as_bytes(file));
  REQUIRE(image);
  auto opened = dwarf::CallFrames::open(*image);
  REQUIRE(opened);
  CHECK(opened->functions() ==
        std::vector<elf::AddressRange>{{0x1100, 0x1200}, {0x1400, 0x1500}});
  CHECK(opened->function_at(ImageAddress{0x10ff}) == std::nullopt);
  CHECK(opened->function_at(ImageAddress{0x1100}) == elf::AddressRange{0x1100, 0x1200});
  CHECK(opened->function_at(ImageAddress{0x11ff}) == elf::AddressRange{0x1100, 0x1200});
  CHECK(opened->function_at(ImageAddress{0x1200}) == std::nullopt);
  CHECK(opened->function_at(ImageAddress{0x1800}) == std::nullopt);
}

}  // namespace gosym::call_frames_test
