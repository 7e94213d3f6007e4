#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/exit_status.h"
#include "base/unique_fd.h"
#include "commands/command_line.h"
#include "goroutine/core_memory.h"
#include "goroutine/go_code.h"
#include "goroutine/goroutines.h"
#include "record/files/file_helper.h"
#include "record/memory_helper.h"

namespace gosym {

// Source of goroutines: a process that runs, or its core file.
struct GoroutineSource {
  uint32_t pid = 0;
  bool is_core = false;
  uint64_t realtime_ns = 0;  // since 1970: now, or when the core file was written
  // For a core file. The others borrow from these.
  std::unique_ptr<MappedFile> core;
  std::unique_ptr<CoreMemory> memory;
  // For a process.
  std::unique_ptr<FileHelper> files;
  std::unique_ptr<MemoryHelper> helper;
  GoCode code;
  proc::ReadMemory read_memory;
  std::map<uint32_t, ThreadRegisters> threads;  // of a core file, by id
  uint32_t crashed = 0;                         // likewise, the one that the signal came to
  std::vector<std::string> notes;               // what is not told, and why; each a clause
};

// Fails if the process may not be looked into, or runs no Go code.
Result<GoroutineSource> open_process_source(uint32_t pid);

// `program`: where the file of the program lies, if not at its path; else empty. Fails for what
// is no core file, and if none of its files that can be found has Go code.
Result<GoroutineSource> open_core_source(const std::string& path, const std::string& program);

// The words that name a process or a core file, and its program; and -p, which does as well.
OptionGroup source_words(std::string& process, std::string& program);
Option process_option(std::string& process);

// The source that the command line names, once it is certain that it can be read from here.
struct ChosenSource {
  bool is_core = false;
  std::string core;
  std::string program;  // likewise
  uint32_t pid = 0;
  UniqueFd process;  // pidfd
};

// Finds the process or the core file that the words name, and makes this process a parser,
// which may write these files. `program`, as above. `command` is for the hint: "goroutines".
Result<ChosenSource> choose_source(std::string_view command, const std::string& word,
                                   const std::string& program,
                                   std::vector<std::string> outputs);
Result<GoroutineSource> open_source(const ChosenSource& chosen);
// Fails if the process has ended: else what was read might be of another that was given its
// number.
Result<> check_is_there(const ChosenSource& chosen);

// A value that was read from one Go runtime of a process, which may have several.
template <class T>
struct FoundInRuntime {
  const GoFile* file;
  T value;
};

// The answer of the first Go runtime that has one; else why the first has none.
template <class T, class Read>
Result<FoundInRuntime<T>> read_first(const GoCode& code, Read read) {
  std::optional<Error> problem;
  for (const GoFile& file : code.files()) {
    Result<T> value = read(file);
    if (value)
      return FoundInRuntime<T>{&file, *std::move(value)};
    if (!problem)
      problem = std::move(value).error();
  }
  return problem ? *std::move(problem)
                 : Error("it runs no Go code").with_exit_status(kNoTarget);
}

// True if the word is meant for a core file, not for the name of a process: it is a path with a
// slash, or that of a core file.
bool names_core_file(const std::string& word);

}  // namespace gosym
