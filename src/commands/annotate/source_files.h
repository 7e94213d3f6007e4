#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace gosym {

// Finds the source files that debugging information and Go's tables name.
class SourceFiles {
public:
  // Where they may be besides at the path that is recorded.
  struct Places {
    std::string directory = {};  // has the end of the path below it, "cmd/main.go"; empty: none
    std::string root = {};       // every recorded path is one below it; empty: the system's own
    // Of Go programs built with -trimpath; empty: not known. The first has the standard
    // library, the others "example.com/module@v1.2.3".
    std::string go_root = {};
    std::vector<std::string> module_directories = {};
  };

  explicit SourceFiles(Places places) : places_(std::move(places)) {}

  // The line as it may be printed, tabs as spaces. None if there is no such file, no such line,
  // or if the file is no text.
  std::optional<std::string> line(std::string_view path, uint32_t number);
  // Where those files are of which a line was asked for and that were changed after a time,
  // since 1970: their lines may be others than those that were compiled.
  std::vector<std::string> changed_after(int64_t time_ns) const;

private:
  struct File {
    std::unique_ptr<MappedFile> mapped;  // null: not found
    std::string path;
    std::vector<std::string_view> lines;
  };
  const File& find(std::string_view path);
  std::vector<std::string> candidates(std::string_view path) const;
  bool open(const std::string& path, const std::string& root, File& file) const;

  Places places_;
  std::map<std::string, File, std::less<>> files_;  // by recorded path
};

// As the environment has them: GOROOT, GOMODCACHE, GOPATH.
SourceFiles::Places source_places(const std::string& directory, const std::string& root);

}  // namespace gosym
