#include "record/stacks/code_rules.h"

#include <fcntl.h>

#include <fstream>

#include "base/mapped_file.h"
#include "base/sigbus_handler.h"
#include "dwarf/call_frames.h"
#include "elf/image.h"
#include "pclntab_builder.h"
#include "record/stacks/time_budget.h"
#include "temporary_directory.h"
#include "unwind_rule_text.h"

namespace gosym::code_rules_test {

namespace {

// A file with a program whose main.f, without a frame, lies at 0x401000.
struct ProgramFile {
  explicit ProgramFile(std::string section = ".gopclntab") {
    BuiltGoProgram program{.tree = {}};
    program.functions = {{.name = "main.f", .sp = {{0, 0x10}}}};
    ImageSpec spec = program.image();
    spec.parts[1].name = std::move(section);
    std::string path = folder / "program";
    std::ofstream(path, std::ios::binary) << build_image(spec);
    fd = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    auto mapped = MappedFile::open(fd);
    REQUIRE(mapped);
    auto image = elf::parse((*mapped)->bytes());
    REQUIRE(image);
    for (const elf::Segment& segment : image->segments)
      if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0)
        code = segment;
  }

  // The event of a process that maps the program's code at an address.
  MapEvent mapping(uint32_t pid, uint64_t start) const {
    return {.time = 1,
            .pid = pid,
            .start = start,
            .length = code.file_size,
            .file_offset = code.offset,
            .image = ImageId{1},
            .path = ""};
  }

  uint64_t function() const { return 0x401000 - to_integer(code.address); }

  TemporaryDirectory folder;
  UniqueFd fd;
  elf::Segment code;
};

// Processes, by their numbers, with the rules of their code.
struct Code {
  CodeRules rules;
  std::map<uint32_t, CodeRules::Places> places;

  void map(const MapEvent& mapping, bool is_go, const UniqueFd& file) {
    rules.map(places[mapping.pid], mapping, is_go, file);
  }
};

std::string rule_at(Code& code, uint32_t pid, uint64_t address) {
  return to_text(code.rules.go_rule(code.places[pid], address));
}

}  // namespace

TEST_CASE("code rules: the rule of an address, wherever a process has mapped it") {
  ProgramFile file;
  Code code;
  code.map(file.mapping(1, 0x400000), true, file.fd);
  code.map(file.mapping(2, 0x7f0000000000), true, file.fd);
  for (int turn = 0; turn < 2; turn++) {  // the second is remembered
    CHECK(rule_at(code, 1, 0x400000 + file.function()) == "sp+8 cfa-8 same");
    CHECK(rule_at(code, 2, 0x7f0000000000 + file.function()) == "sp+8 cfa-8 same");
    CHECK(rule_at(code, 1, 0x400000 + file.function() + 0x10) == "none");
  }
  CHECK(rule_at(code, 1, 0x3fffff) == "none");
  CHECK(rule_at(code, 1, 0x400000 + file.code.file_size) == "none");
  CHECK(rule_at(code, 2, 0x400000 + file.function()) == "none");
  CHECK(rule_at(code, 3, 0x400000 + file.function()) == "none");
}

TEST_CASE("code rules: what is known of a process ends with its program") {
  ProgramFile file;
  Code code;
  code.map(file.mapping(1, 0x400000), true, file.fd);
  code.map(file.mapping(2, 0x400000), true, file.fd);
  code.places.erase(1);
  CHECK(rule_at(code, 1, 0x400000 + file.function()) == "none");
  CHECK(rule_at(code, 2, 0x400000 + file.function()) == "sp+8 cfa-8 same");
  // Something else lies there now.
  code.map(file.mapping(2, 0x400000 + file.code.file_size - 1), false, file.fd);
  CHECK(rule_at(code, 2, 0x400000 + file.function()) == "none");
}

TEST_CASE("code rules: nothing of what is no Go program, or has no section with its table") {
  ProgramFile file;
  Code code;
  code.map(file.mapping(1, 0x400000), false, file.fd);
  CHECK(rule_at(code, 1, 0x400000 + file.function()) == "none");
  code.map(file.mapping(1, 0x400000), true, UniqueFd());
  CHECK(rule_at(code, 1, 0x400000 + file.function()) == "none");
  ProgramFile other(".other");
  code.map(other.mapping(2, 0x400000), true, other.fd);
  CHECK(rule_at(code, 2, 0x400000 + other.function()) == "none");
}

TEST_CASE("code rules: what would take long is not known") {
  ProgramFile file;
  Code code;
  code.map(file.mapping(1, 0x400000), true, file.fd);
  // A process that maps it over and over is followed to some of the places only.
  for (uint64_t i = 1; i < 5000; i++)
    code.map(file.mapping(1, 0x400000 + i * 0x100000), true, file.fd);
  CHECK(rule_at(code, 1, 0x400000 + file.function()) == "sp+8 cfa-8 same");
  CHECK(rule_at(code, 1, 0x400000 + uint64_t{4999} * 0x100000 + file.function()) == "none");
  ProgramFile large;
  REQUIRE(ftruncate(large.fd.get(), off_t{1} << 30) == 0);
  Code other;
  other.map(large.mapping(1, 0x400000), true, large.fd);
  CHECK(rule_at(other, 1, 0x400000 + large.function()) == "none");
}

TEST_CASE("code rules: a child has its parent's code") {
  ProgramFile file;
  Code code;
  code.map(file.mapping(1, 0x400000), true, file.fd);
  code.places[2] = code.places[1];
  CHECK(rule_at(code, 2, 0x400000 + file.function()) == "sp+8 cfa-8 same");
  code.places.erase(1);
  CHECK(rule_at(code, 2, 0x400000 + file.function()) == "sp+8 cfa-8 same");
  CHECK(rule_at(code, 1, 0x400000 + file.function()) == "none");
}

TEST_CASE("code rules: native code by its .eh_frame_hdr") {
  // This program's own, which the linker made.
  UniqueFd self(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  auto mapped = MappedFile::open(self);
  REQUIRE(mapped);
  auto image = elf::parse((*mapped)->bytes());
  REQUIRE(image);
  auto frames = dwarf::CallFrames::open(*image);
  REQUIRE(frames);
  Code code;
  for (const elf::Segment& segment : image->segments) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0)
      continue;
    code.map({.time = 1,
              .pid = 1,
              .start = 0x500000,
              .length = segment.file_size,
              .file_offset = segment.offset,
              .image = ImageId{1},
              .path = ""},
             false, self);
    size_t known = 0;
    for (uint64_t at = 0; at < segment.file_size; at += segment.file_size / 1000 + 1) {
      auto rule = frames->find(ImageAddress{to_integer(segment.address) + at});
      CHECK(to_text(code.rules.rule(code.places[1], 0x500000 + at)) == to_text(rule));
      CHECK(to_text(code.rules.go_rule(code.places[1], 0x500000 + at)) == "none");
      known += rule.has_value();
    }
    CHECK(known > 500);
  }
}

TEST_CASE("time budget: it comes to an end") {
  TimeBudget budget;
  CHECK(budget.has_left());
  volatile uint64_t sum = 0;
  while (budget.has_left())
    budget.spend([&] {
      for (uint64_t i = 0; i < 100000; i++)
        sum = sum + i;
    });
  CHECK(sum > 0);
}

TEST_CASE("cut files: what is gone reads as zeros, and no rule is believed of that file") {
  install_sigbus_handler();
  ProgramFile file;
  ProgramFile other;
  Code code;
  code.map(file.mapping(1, 0x400000), true, file.fd);
  MapEvent mapping = other.mapping(2, 0x400000);
  mapping.image = ImageId{2};
  code.map(mapping, true, other.fd);
  auto mapped = MappedFile::open(file.fd);
  REQUIRE(mapped);
  uint64_t cut_before = cut_page_count();
  REQUIRE(ftruncate(file.fd.get(), 0) == 0);
  CHECK((*mapped)->bytes()[0] == std::byte{0});
  CHECK(cut_page_count() == cut_before + 1);
  CHECK(rule_at(code, 1, 0x400000 + file.function()) == "none");
  CHECK(cut_page_count() > cut_before + 1);
  uint64_t cut_twice = cut_page_count();
  CHECK(rule_at(code, 1, 0x400000 + file.function() + 1) == "none");
  CHECK(cut_page_count() == cut_twice);  // it was not looked at again
  CHECK(rule_at(code, 2, 0x400000 + other.function()) == "sp+8 cfa-8 same");
}

}  // namespace gosym::code_rules_test
