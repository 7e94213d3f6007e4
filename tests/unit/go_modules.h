#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "go/inline_tree.h"
#include "go/module.h"
#include "pclntab_builder.h"

namespace gosym {

// A file of bytes, and what gosym reads of its Go module.
struct LoadedProgram {
  explicit LoadedProgram(std::string contents) : file(std::move(contents)) {
    auto parsed = elf::parse(as_bytes(file));
    REQUIRE(parsed);
    image = *std::move(parsed);
    auto read = go::read_module(image, std::as_writable_bytes(std::span(file)));
    if (!read)
      problem = read.error().message();
    else
      found = *std::move(read);
  }
  explicit LoadedProgram(const ImageSpec& spec) : LoadedProgram(build_image(spec)) {}
  explicit LoadedProgram(const BuiltGoProgram& program) : LoadedProgram(program.image()) {}
  LoadedProgram(const LoadedProgram&) = delete;  // the module has views of the file
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  const go::Module& module() const {
    REQUIRE(problem == "");
    REQUIRE(found);
    return *found;
  }

  std::string file;
  elf::Image image;
  std::optional<go::Module> found;
  std::string problem;  // why there is no module; empty where there is no table
};

// "main.inner /src/b.go:5 < main.outer ..."; empty if there is no answer.
inline std::string calls_at(const go::Module& module, uint64_t address) {
  std::vector<Call> calls;
  go::find_calls(module, ImageAddress{address}, calls);
  std::string text;
  for (const Call& call : calls)
    text += fmt::format("{}{} {}:{}", text.empty() ? "" : " < ", call.function, call.file,
                        call.line);
  return text;
}

// The two answers that tell that all of the program is read: of an inlined call, and of a
// function in another unit.
inline constexpr std::string_view kInnerCalls =
    "main.inner /src/b.go:5 < main.outer /src/b.go:22 < main.caller /src/a.go:12";
inline constexpr std::string_view kLeafCall = "main.leaf /src/a.go:30";

// The program with the entries of its records scrambled, and enough of them to find the key:
// one with an odd name offset, and another that fits.
inline BuiltGoProgram scrambled(BuiltGoProgram program) {
  program.entry_key = 0x9e3779b9;
  for (const char* name : {"main.a", "main.bc", "main.d"}) {
    auto entry = static_cast<uint32_t>(program.text_size);
    program.functions.push_back({.name = name, .entry = entry, .lines = {{1, 8}}});
    program.text_size += 0x10;
  }
  return program;
}

// Bytes of a program that are changed one after the other.
class Patch {
public:
  Patch(const BuiltGoProgram& program, std::string& bytes) : program_(program), bytes_(bytes) {}

  Patch& u8(uint64_t offset, uint64_t value) { return put(offset, writer().u8(value)); }
  Patch& u32(uint64_t offset, uint64_t value) { return put(offset, writer().u32(value)); }
  Patch& word(uint64_t offset, uint64_t value) { return put(offset, writer().word(value)); }

private:
  ByteWriter writer() const { return ByteWriter(program_.order, program_.pointer_size); }
  Patch& put(uint64_t offset, const ByteWriter& value) {
    REQUIRE(offset + value.out.size() <= bytes_.size());
    bytes_.replace(offset, value.out.size(), value.out);
    return *this;
  }

  const BuiltGoProgram& program_;
  std::string& bytes_;
};

}  // namespace gosym
