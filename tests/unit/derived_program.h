#pragma once

#include <fmt/format.h>

#include "pclntab_builder.h"

// A program whose text base no record tells, and can be derived.

namespace gosym {

// Functions of 0x30 bytes of code each, with 0x10 bytes of filling after every other. Linked by
// Go: the entry point is the first function.
inline BuiltGoProgram program_with_gaps() {
  constexpr uint32_t kFunctions = 20;
  BuiltGoProgram program{.text_size = kFunctions * 0x40, .functions = {}};
  for (uint32_t i = 0; i < kFunctions; i++)
    program.functions.push_back(
        {.name = i == 0 ? "_rt0_amd64_linux" : fmt::format("main.f{}", i),
         .entry = i * 0x40,
         .files = {{0, 0x30}},
         .lines = {{static_cast<int>(i), 0x30}}});
  return program;
}

inline std::string code_of(const BuiltGoProgram& program) {
  std::string code;
  for (size_t i = 0; i < program.text_size; i++)
    code += static_cast<char>(i % 127);
  for (const GoFunction& function : program.functions)
    code.replace(function.entry + 0x30, 0x10, 0x10, '\xcc');
  return code;
}

// Without moduledata, the code at its place behind `before` other bytes of the segment.
inline ImageSpec image_without_module(const BuiltGoProgram& program, size_t before = 0x20) {
  ImageSpec spec = program.image();
  spec.parts.pop_back();
  spec.parts[0].address -= before;
  spec.parts[0].contents = std::string(before, '\x90') + code_of(program) + "\x90\x90\x90";
  return spec;
}

}  // namespace gosym
