#pragma once

#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "images/recorded_binary.h"
#include "output/text.h"
#include "output/view_options.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

namespace gosym {

// A line of a file.
struct SourcePlace {
  std::string path = {};
  uint32_t line = 0;
};

// Finds the source files that debugging information and Go's tables name.
//
// These names come from a program that anybody may have written, "/etc/shadow" for one, and
// what is shown may be passed on. So a file is opened only if everybody may read it, if it
// belongs to who wrote the program, or to a caller who is not root, or if it lies below
// --source.
class SourceFiles {
public:
  // Places of files besides the path that is recorded.
  struct Places {
    std::string directory = {};  // has the end of the path below it, "cmd/main.go"; empty: none
    std::string root = {};       // every recorded path is one below it; empty: the system's own
    // Directories for Go programs built with -trimpath; empty: not known. The first has the
    // standard library, the others "example.com/module@v1.2.3".
    std::string go_root = {};
    std::vector<std::string> module_directories = {};
  };

  // `writer` of the program, or none if that is not known; `caller` is who will see the lines.
  SourceFiles(Places places, std::optional<uid_t> writer, uid_t caller = geteuid());

  // The line as it may be printed, tabs as spaces. None if there is no such file, no such line,
  // or if the file is no text.
  std::optional<std::string> line(std::string_view path, uint32_t number);
  // The path of the file that lines of this one are shown of; empty: of none.
  std::string place(std::string_view path);
  // Places of the files from which a line was asked for and that were changed after a time,
  // since 1970: their lines may be others than those that were compiled.
  std::vector<std::string> changed_after(int64_t time_ns) const;
  // Recorded paths that were asked for, and there is no such file, or no text.
  std::vector<std::string> missing() const;
  // Files that were asked for and are there, but are not shown.
  std::vector<std::string> withheld() const;

private:
  struct File {
    std::unique_ptr<MappedFile> mapped;  // null: not found, or withheld
    std::string path;
    std::string place;  // the path, below the root
    std::vector<std::string_view> lines;
    bool is_withheld = false;
  };
  // The file of a recorded path, looked for once. One that is not shown has no lines.
  const File& find(std::string_view path);
  // Paths at which it may lie, in the order in which they are tried.
  std::vector<std::string> candidates(std::string_view path) const;
  // Reads the file at a path below the root. False: it is not there, or not to be shown.
  bool open(const std::string& path, const std::string& root, File& file) const;
  bool may_show(const UniqueFd& found, const std::string& root) const;

  Places places_;
  std::vector<uid_t> trusted_;                      // whose files are shown
  std::map<std::string, File, std::less<>> files_;  // by recorded path
};

// A warning that names the files that are withheld; empty if none is.
std::string withheld_note(const SourceFiles& sources);

// Likewise, of those that are missing.
std::string missing_note(const SourceFiles& sources);

// Reads the places from the environment: GOROOT, GOMODCACHE, GOPATH.
SourceFiles::Places source_places(const std::string& directory, const std::string& root);

// The source files of a file of a recording.
struct ImageSources {
  SourceFiles sources;
  int64_t built = 0;  // when that was last written, ns since 1970; 0: not known
};

// They are looked for below the directory first, unless that is empty. Which may be shown
// depends on who wrote the program; the copy in a recording is of nobody that is known.
ImageSources sources_of(const RecordedImage& image, const std::string& directory,
                        const DebugFileOptions& files, const HeldFiles& held);

// A sentence on each file that was asked for and is not shown, or not as it was.
std::vector<std::string> problems_of(const SourceFiles& sources, int64_t built);

// The source lines of functions of a profile, with what each has, as `gosym report --lines`
// shows them: no code is read, so that all calls of a function are there, whoever has inlined
// it.
class FunctionLines {
public:
  // Source files are looked for below the directory first, unless that is empty. The others
  // must live longer than this.
  FunctionLines(std::string directory, const DebugFileOptions& files, const HeldFiles& held)
      : directory_(std::move(directory)), files_(files), held_(held) {}

  // The lines of the functions that ViewOptions::function matches, in the order of their
  // source.
  std::string text(const Profile& profile, const ViewOptions& options, const Amounts& amounts);

  // A sentence on each file that is not shown, or not as it was.
  const std::vector<std::string>& notes() const { return notes_; }

private:
  std::string directory_;
  const DebugFileOptions& files_;
  const HeldFiles& held_;
  std::vector<std::string> notes_;
};

}  // namespace gosym
