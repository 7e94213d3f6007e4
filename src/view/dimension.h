#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gosym {

// By what a view tells things apart: what the code is, or whose sample it is.
struct Dimension {
  enum class Kind : uint8_t {
    // Dimensions of frames. All but kAddress put code without a name together by the reason.
    kFunction,
    kLine,      // the function with a line
    kFile,      // of the source
    kModule,    // the file that was mapped: program, library, kernel
    kPackage,   // of Go by the import path, of Rust the crate; else the module
    kCategory,  // category.h
    kAddress,
    // Dimensions of samples.
    kProcess,  // name and number
    kProgram,  // processes of one name
    kThread,   // name and number
    kComm,     // the thread's name
    kLabel,    // the value of a goroutine's label
    kCgroup,
    kContainer,
    kGoroutine,
    kCpu,
    kTime,  // steps of it
    kHost,
    kRecording,  // the name of its file
    kState,      // what the thread or goroutine was doing while it waited
    kWaker,      // who ended that
  };
  Kind kind = Kind::kFunction;
  std::string label = {};  // the key, of kLabel
  uint64_t step = 0;       // in nanoseconds, of kTime; 0: as many as there is room for

  bool is_of_frames() const { return kind <= Kind::kAddress; }
  // True if two recordings may share keys of this dimension.
  bool is_comparable() const { return kind != Kind::kTime && kind != Kind::kRecording; }
  bool operator==(const Dimension&) const = default;
};

// "process", "label:handler", "time:100ms". The error lists what there is.
Result<Dimension> parse_dimension(std::string_view text);
// The text that parse_dimension() parses to this dimension.
std::string to_string(const Dimension& dimension);
// All names that parse_dimension() takes, with commas between, for help.
std::string dimension_names();
// The names of the dimensions that is_comparable() holds for.
std::string comparable_dimension_names();

}  // namespace gosym
