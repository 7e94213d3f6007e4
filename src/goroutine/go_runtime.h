#pragma once

#include "goroutine/go_code.h"
#include "goroutine/goroutines.h"

namespace gosym {

// Describes how to read the goroutines of a program that runs the code; a version that is not
// known is read as the newest one, without what goroutines wait for. Borrows from both.
GoRuntime make_runtime(const GoFile& file, const GoCode& code);
bool is_known_runtime(const GoFile& file);

// Names what a goroutine does or waits for: "chan receive", "running", "syscall".
std::string state_text(const Goroutine& goroutine,
                       std::span<const std::string_view> wait_reasons);

// True if the function that a goroutine began with is one of the runtime's own, and not there
// to run code of the program.
bool is_of_runtime(std::string_view start);

}  // namespace gosym
