#include "go/unwind_rule.h"

#include "go_modules.h"
#include "unwind_rule_text.h"

namespace gosym::go_unwind_rule_test {
using namespace std::string_literals;

namespace {

// A program of one function, main.f at 0x401000, with these depths of its stack and this code.
struct Sample {
  BuiltGoProgram program{.tree = {}};
  uint16_t machine = EM_X86_64;

  explicit Sample(std::vector<PcRow> depths, std::string code = "") : code_(std::move(code)) {
    program.functions = {{.name = "main.f", .sp = std::move(depths)}};
  }

  std::string rule_at(uint64_t offset) const {
    ImageSpec spec = program.image();
    spec.machine = machine;
    spec.parts[0].contents.replace(0, code_.size(), code_);
    LoadedProgram loaded(spec);
    return to_text(go::unwind_rule(loaded.module(), ImageAddress{0x401000 + offset}));
  }

private:
  std::string code_;
};

const std::string kFrameless = "sp+8 cfa-8 same";

}  // namespace

TEST_CASE("go unwind rules: a function without a frame") {
  Sample sample({{0, 0x10}});
  CHECK(sample.rule_at(0) == kFrameless);
  CHECK(sample.rule_at(0xf) == kFrameless);
  CHECK(sample.rule_at(0x10) == "none");  // padding
  CHECK(sample.rule_at(0x1000) == "none");
}

TEST_CASE("go unwind rules: amd64 pushes the frame pointer first") {
  // cmp; push %rbp; mov %rsp, %rbp; sub $0x20, %rsp; ...; add $0x20, %rsp; pop %rbp; ret
  Sample sample({{0, 5}, {8, 12}, {40, 0x20}, {8, 0x21}, {0, 0x22}},
                "\x49\x3b\x66\x10\x55\x48\x89\xe5\x48\x83\xec\x20");
  CHECK(sample.rule_at(4) == kFrameless);
  CHECK(sample.rule_at(5) == "sp+16 cfa-8 same");
  CHECK(sample.rule_at(8) == "sp+16 cfa-8 cfa-16");
  CHECK(sample.rule_at(12) == "sp+48 cfa-8 cfa-16");
  CHECK(sample.rule_at(0x20) == "sp+16 cfa-8 cfa-16");
  CHECK(sample.rule_at(0x21) == kFrameless);
}

TEST_CASE("go unwind rules: amd64 up to Go 1.20 stores the frame pointer after the fact") {
  auto check = [](int32_t depth, const std::string& offset, const std::string& moved_back) {
    CAPTURE(depth);
    // sub; mov %rbp, offset; lea offset, %rbp; nop; mov offset, %rbp; add; ret
    std::string store = "\x48\x89" + offset;
    std::string code =
        "\x90\x90\x90\x90" + store + "\x48\x8d" + offset + "\x90\x48\x8b" + offset;
    Sample sample({{0, 4}, {depth, 0x20}, {0, 0x21}}, code + moved_back);
    std::string cfa = fmt::format("sp+{} cfa-8 ", depth + 8);
    CHECK(sample.rule_at(3) == kFrameless);
    CHECK(sample.rule_at(4) == cfa + "same");
    CHECK(sample.rule_at(4 + store.size()) == cfa + "same");
    CHECK(sample.rule_at(4 + 2 * store.size()) == cfa + "cfa-16");
    CHECK(sample.rule_at(5 + 2 * store.size()) == cfa + "cfa-16");
    CHECK(sample.rule_at(5 + 3 * store.size()) ==
          cfa + (moved_back == "\xc3" ? "cfa-16" : "same"));
    CHECK(sample.rule_at(0x20) == kFrameless);
  };
  check(8, "\x2c\x24", "\x48\x83\xc4\x08");
  check(0x70, "\x6c\x24\x68", "\x48\x83\xc4\x70");
  check(0x80, "\x6c\x24\x78", "\x48\x83\xec\x80");
  check(0x978, "\xac\x24\x70\x09\0\0"s, "\x48\x81\xc4\x78\x09\0\0"s);
  check(0x70, "\x6c\x24\x68", "\xc3");
}

TEST_CASE("go unwind rules: a frame pointer that is saved elsewhere, or not at all, is lost") {
  for (const char* code :
       {"\x90\x90\x90\x90\x90", "\x90\x90\x90\x55\x90", "\x90\x90\x90\x90\x48\x89\x6c\x24\x60",
        "\x90\x90\x90\x90\x48\x89"}) {
    CAPTURE(code);
    CHECK(Sample({{0, 4}, {0x70, 0x20}}, code).rule_at(0x10) == "sp+120 cfa-8 lost");
  }
}

TEST_CASE("go unwind rules: arm64 returns through a register until it has a frame") {
  auto code = [](uint32_t first, uint32_t second) {
    return ByteWriter().u32(first).u32(second).out;
  };
  // str x30, [sp, -0x20]!; stur x29, [sp, -8]
  Sample small({{0, 4}, {32, 0x20}, {0, 0x24}}, code(0xf81e0ffe, 0xf81f83fd));
  small.machine = EM_AARCH64;
  CHECK(small.rule_at(0) == "sp+0 link same");
  CHECK(small.rule_at(4) == "sp+32 sp+0 same");
  CHECK(small.rule_at(8) == "sp+32 sp+0 sp-8");
  CHECK(small.rule_at(0x20) == "sp+0 link same");
  // stp x29, x30, [x20, -8]; mov sp, x20
  Sample large({{0, 8}, {2432, 0x20}}, code(0xa93ffa9d, 0x9100029f));
  large.machine = EM_AARCH64;
  CHECK(large.rule_at(8) == "sp+2432 sp+0 sp-8");
  Sample other({{0, 8}, {2432, 0x20}});
  other.machine = EM_AARCH64;
  CHECK(other.rule_at(8) == "sp+2432 sp+0 lost");
}

TEST_CASE("go unwind rules: crosscall2 of arm64 keeps registers as C code wants it") {
  // sub sp, sp, #0xc0; stp x0, x1, [sp, #8]; stp x29, x30, [sp, #0xb0]
  Sample cross({{0, 4}, {192, 0x20}, {0, 0x24}},
               ByteWriter().u32(0xd10303ff).u32(0xa90087e0).u32(0xa90b7bfd).out);
  cross.machine = EM_AARCH64;
  cross.program.functions[0].name = "crosscall2";
  CHECK(cross.rule_at(0) == "sp+0 link same");
  CHECK(cross.rule_at(8) == "sp+192 link same");
  CHECK(cross.rule_at(12) == "sp+192 sp+184 sp+176");
  // str x29, [sp, #0x70]; str x30, [sp, #0x78]
  Sample old({{0, 4}, {192, 0x20}, {0, 0x24}},
             ByteWriter().u32(0xd10303ff).u32(0xf9003bfd).u32(0xf9003ffe).out);
  old.machine = EM_AARCH64;
  old.program.functions[0].name = "crosscall2";
  CHECK(old.rule_at(8) == "sp+192 link same");
  CHECK(old.rule_at(12) == "sp+192 sp+120 sp+112");
}

TEST_CASE("go unwind rules: below what is injected into code of arm64 lies a link register") {
  // str x30, [sp, -0xf0]!; stur x29, [sp, -8]
  Sample injected({{0, 4}, {240, 0x20}}, ByteWriter().u32(0xf8110ffe).u32(0xf81f83fd).out);
  injected.machine = EM_AARCH64;
  injected.program.functions[0].name = "runtime.asyncPreempt";
  CHECK(injected.rule_at(0) == "sp+16 link same signal");
  CHECK(injected.rule_at(8) == "sp+256 sp+0 sp-8 signal");
}

TEST_CASE("go unwind rules: 386 keeps no frame pointers, nor did Go up to 1.4") {
  Sample sample({{0, 4}, {12, 0x20}});
  sample.program.layout = GoLayout::k12;
  CHECK(sample.rule_at(0) == "sp+8 cfa-8 lost");
  sample.program.layout = GoLayout::k127;
  sample.program.pointer_size = 4;
  sample.machine = EM_386;
  CHECK(sample.rule_at(0) == "sp+4 cfa-4 lost");
  CHECK(sample.rule_at(4) == "sp+16 cfa-4 lost");
}

TEST_CASE("go unwind rules: flags tell roots and stack switches, up to Go 1.17 names do") {
  for (GoLayout layout : kGoLayouts) {
    CAPTURE(static_cast<int>(layout));
    auto rule = [&](const std::string& name, uint8_t flags) {
      Sample sample({{0, 0x10}}, "\x48\x89\xdc");  // mov %rbx, %rsp
      sample.program.layout = layout;
      sample.program.functions[0].name = name;
      sample.program.functions[0].flags = flags;
      return sample.rule_at(3);
    };
    bool has_names = layout < GoLayout::k118;
    std::string frameless = layout == GoLayout::k12 ? "sp+8 cfa-8 lost" : kFrameless;
    CHECK(rule("main.f", 0) == frameless);
    if (layout >= GoLayout::k116) {
      CHECK(rule("main.f", 1) == "root");
      CHECK(rule("main.f", 2) == "none");
      CHECK(rule("main.f", 4) == frameless);
    }
    CHECK(rule("runtime.goexit", 0) == (has_names ? "root" : frameless));
    CHECK(rule("runtime.systemstack", 0) == (has_names ? "none" : frameless));
    CHECK(rule("runtime.gogo", 0) == (has_names ? "root" : frameless));
  }
}

TEST_CASE("go unwind rules: functions that switch stacks are as others before and after") {
  // mov %rsp, %r12; mov 0x38(%rdx), %rsp; and $-16, %rsp; mov %r12, %rsp; ret
  const std::string code = "\x49\x89\xe4\x48\x8b\x62\x38\x48\x83\xe4\xf0\x4c\x89\xe4\xc3";
  Sample sample({{0, 0x10}}, code);
  sample.program.functions[0].name = "runtime.nanotime1";
  sample.program.functions[0].flags = 2;
  CHECK(sample.rule_at(0) == kFrameless);
  CHECK(sample.rule_at(3) == kFrameless);
  for (uint64_t at : {7u, 11u})
    CHECK(sample.rule_at(at) == "none");
  CHECK(sample.rule_at(14) == kFrameless);
  sample.program.functions[0].name = "runtime.cgocallback";
  CHECK(sample.rule_at(3) == kFrameless);
  CHECK(sample.rule_at(14) == "none");

  Sample aligned({{0, 0x10}}, "\x48\x83\xe4\xf0");
  aligned.program.functions[0].name = "runtime.nanotime1";
  aligned.program.functions[0].flags = 2;
  CHECK(aligned.rule_at(4) == "none");
}

TEST_CASE("go unwind rules: clocks that save their stack pointer in rbp are told by it") {
  // nop; mov %rsp, %rbp; mov 0x38(%rdx), %rsp; and $-16, %rsp; mov %rbp, %rsp; ret
  const std::string code = "\x90\x48\x89\xe5\x48\x8b\x62\x38\x48\x83\xe4\xf0\x48\x89\xec\xc3";
  auto rule = [&](std::string name, int32_t depth) {
    Sample sample({{depth, 0x10}}, code);
    sample.program.functions[0].name = std::move(name);
    sample.program.functions[0].flags = 2;
    return sample.rule_at(12);
  };
  CHECK(rule("runtime.nanotime", 0) == "fp+8 cfa-8 lost");
  CHECK(rule("runtime.walltime1", 24) == "fp+32 cfa-8 cfa-16");
  CHECK(rule("runtime.systemstack", 24) == "none");
}

TEST_CASE("go unwind rules: signal handlers return to the registers that were saved") {
  Sample sample({{0, 0x10}});
  for (const char* name : {"runtime.sigreturn", "runtime.sigreturn__sigaction"}) {
    sample.program.functions[0].name = name;
    CHECK(sample.rule_at(4) == "[sp+160] sp+168 sp+120 signal");
  }
  sample.machine = EM_AARCH64;
  CHECK(sample.rule_at(4) != "[sp+160] sp+168 sp+120 signal");
}

TEST_CASE(
    "go unwind rules: what the scheduler's entries have called is on a stack of its own") {
  Sample sample({{0, 0x20}}, "\x90\x90\x90\x90\x90\x90\x90\x90\xe8\1\2\3\4\x90");
  for (const char* name : {"runtime.mcall", "runtime.morestack"}) {
    CAPTURE(name);
    sample.program.functions[0].name = name;
    CHECK(sample.rule_at(8) == kFrameless);
    CHECK(sample.rule_at(12) == "root");  // the last byte of the call
    CHECK(sample.rule_at(13) == kFrameless);
  }
}

TEST_CASE("go unwind rules: deferred functions return to the call of deferreturn") {
  auto is_call = [](const char* name, uint16_t machine, const std::string& code) {
    BuiltGoProgram program{.tree = {}};
    program.functions = {{.name = name}};
    ImageSpec spec = program.image();
    spec.machine = machine;
    spec.parts[0].contents.replace(0, code.size(), code);
    LoadedProgram loaded(spec);
    return go::is_call_of_deferreturn(loaded.module(), ImageAddress{0x401000 + 2});
  };
  const std::string to_entry = "\x90\x90\xe8\xf9\xff\xff\xff";
  CHECK(is_call("runtime.deferreturn", EM_X86_64, to_entry));
  CHECK(is_call("runtime.deferreturn", EM_386, to_entry));
  CHECK_FALSE(is_call("runtime.deferreturn", EM_AARCH64, to_entry));
  CHECK_FALSE(is_call("runtime.deferproc", EM_X86_64, to_entry));
  CHECK_FALSE(is_call("runtime.deferreturn", EM_X86_64, "\x90\x90\xe9\xf9\xff\xff\xff"));
  CHECK_FALSE(is_call("runtime.deferreturn", EM_X86_64, "\x90\x90\xe8\xf0\xff\xff\x0f"));
}

TEST_CASE("go unwind rules: depths that no stack has") {
  CHECK(Sample({{-8, 0x10}}).rule_at(0) == "none");
  CHECK(Sample({{1'000'000'000, 0x10}}).rule_at(0) == "sp+1000000008 cfa-8 lost");
  CHECK(Sample({{1'000'000'001, 0x10}}).rule_at(0) == "none");
  CHECK(Sample({}).rule_at(0) == "none");
}

TEST_CASE("go unwind rules: other machines have none") {
  Sample sample({{0, 0x10}});
  sample.machine = EM_S390;
  CHECK(sample.rule_at(0) == "none");
}

}  // namespace gosym::go_unwind_rule_test
