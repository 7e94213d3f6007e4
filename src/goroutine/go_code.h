#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "base/unwind_rule.h"
#include "elf/image.h"
#include "go/module.h"

namespace gosym {

// A file with Go code that a process has mapped.
struct GoFile {
  std::string path;
  std::string version;  // "go1.23.4"; empty: not told
  std::unique_ptr<MappedFile> file;
  std::unique_ptr<elf::Image> image;
  std::unique_ptr<go::Module> module;
  uint64_t bias = 0;  // what is added to addresses of the image
};

// The Go code of a process: of the program, of plugins and of libraries. Addresses are those
// that it runs at.
class GoCode {
public:
  // Fails if the process may not be looked into. A file that cannot be read, or whose function
  // table is damaged, is left out.
  static Result<GoCode> open(uint32_t pid);

  const std::vector<GoFile>& files() const { return files_; }

  // How to find the caller of the code at an address; none if it is no Go code.
  std::optional<UnwindRule> find_rule(uint64_t address) const;
  // Whether a Go function begins at an address.
  bool is_entry(uint64_t address) const;

private:
  struct Range {
    uint64_t start;
    uint64_t limit;
    size_t file;
  };
  const GoFile* file_at(uint64_t address) const;

  std::vector<GoFile> files_;
  std::vector<Range> ranges_;  // by address
};

}  // namespace gosym
