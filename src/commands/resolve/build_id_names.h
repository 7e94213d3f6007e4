#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "commands/resolve/resolve.h"
#include "images/debug_file.h"
#include "symbolize/image_symbols.h"

namespace gosym {

// Code as tools tell of it that have no names: by the build id of a file and an offset in it,
// as the kernel's stacks by build id have it.
struct CodePlace {
  std::string build_id;  // hexadecimal digits, or Go's own id
  uint64_t offset = 0;
};

// "0123456789abcdef+0x1234", an id of 16 digits at least; or one of Go's, with four parts.
std::optional<CodePlace> parse_code_place(std::string_view word);
// Parses a place that is two words, with or without 0x, as well.
std::optional<CodePlace> parse_code_place_line(std::string_view line);

// The names of build ids: of files that were given, and of what is found by id.
class BuildIdNames {
public:
  // The options must outlive it. `warn` is told what is wrong with which file or id, once each.
  using Warn = std::function<void(const std::string&, const std::string&)>;
  BuildIdNames(const DebugFileOptions& files, Warn warn)
      : files_(files), warn_(std::move(warn)) {}

  void add(std::shared_ptr<ImageSymbols> symbols);

  // Null if there is none, which is told.
  const ImageSymbols* find(const std::string& build_id);

  // Answers places in their order; an answer is the caller's until the next.
  void ask(std::span<const CodePlace> places, const std::function<void(Answer&)>& tell);

private:
  const DebugFileOptions& files_;
  Warn warn_;
  std::map<std::string, std::shared_ptr<ImageSymbols>, std::less<>> known_;  // null: none
};

}  // namespace gosym
