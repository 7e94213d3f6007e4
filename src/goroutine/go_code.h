#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "elf/image.h"
#include "go/module.h"
#include "goroutine/core_memory.h"
#include "model/call.h"
#include "model/unwind_rule.h"
#include "record/sideband_record.h"

namespace gosym {

class FileHelper;

// A file with Go code that a process has mapped.
struct GoFile {
  std::string path;
  std::string version;  // "go1.23.4"; empty: not told
  std::unique_ptr<MappedFile> file;
  std::unique_ptr<elf::Image> image;
  std::unique_ptr<go::Module> module;
  uint64_t bias = 0;  // added to addresses of the image to get those of the process
};

// The Go code of a process: of the program, of plugins and of libraries. Addresses are those
// that it runs at.
class GoCode {
public:
  // Fails if the process may not be looked into. A file that cannot be read, or whose function
  // table is damaged, is left out. The helper opens them.
  static Result<GoCode> open(uint32_t pid, FileHelper& helper);

  // Opens the code of a process that has left a core file. Files are looked for at their paths;
  // `program`, unless it is empty, is the path of the program's file now. A file with other
  // build ids than the core, or with other constants if it has no ids, is left out. `memory`
  // gets the parts of the used files that the core lacks.
  static Result<GoCode> open(const elf::CoreFile& core, const std::string& program,
                             CoreMemory& memory);

  const std::vector<GoFile>& files() const { return files_; }

  // The problems of its files, each a clause. A process has only those of files that cannot be
  // opened.
  const std::vector<std::string>& problems() const { return problems_; }

  // Ends what says that there is no Go code: empty, or why there may be some nevertheless.
  std::string doubt() const;

  // Rule that finds the caller of the code at an address; none if it is no Go code.
  std::optional<UnwindRule> find_rule(uint64_t address) const;
  // True if a Go function begins at the address.
  bool is_entry(uint64_t address) const;
  // The calls at an address, innermost first; none if it is no Go code. The views live as long
  // as this.
  std::vector<Call> calls_at(uint64_t address) const;

private:
  struct Range {
    uint64_t start;
    uint64_t limit;
    size_t file;
  };
  const GoFile* file_at(uint64_t address) const;
  std::optional<size_t> add_file(const std::string& path, Result<UniqueFd> opened);
  void add_problem(const std::string& path, const std::string& problem);
  void add_range(const RawMapping& mapping, size_t file);

  std::vector<GoFile> files_;
  std::vector<Range> ranges_;  // by address
  std::vector<std::string> problems_;
};

}  // namespace gosym
