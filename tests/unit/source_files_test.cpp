#include "commands/annotate/source_files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "temporary_directory.h"

namespace gosym::source_files_test {

namespace {

std::string write(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("a source file at its recorded path") {
  TemporaryDirectory directory;
  std::string path = write(directory / "a.go", "package a\r\n\n\tx := 1\n\ty\x1b[2J\n");
  SourceFiles files({}, geteuid());
  CHECK(files.line(path, 1) == "package a");
  CHECK(files.line(path, 2) == "");
  CHECK(files.line(path, 3) == "    x := 1");
  CHECK(files.line(path, 4) == "    y\\x1b[2J");
  CHECK(!files.line(path, 0));
  CHECK(!files.line(path, 5));
  CHECK(files.changed_after(0) == std::vector{path});
  CHECK(files.changed_after(INT64_MAX).empty());
  CHECK(problems_of(files, 1).size() == 1);
  CHECK(problems_of(files, 0).empty());  // nobody knows when the program was built
}

TEST_CASE("what is no source file") {
  TemporaryDirectory directory;
  SourceFiles files({}, std::nullopt);
  std::string binary = write(directory / "binary", std::string_view("a\0b\n", 4));
  for (const std::string& path :
       {binary, directory / "missing", directory / "", std::string("/dev/zero"),
        std::string("relative.go"), std::string(), directory / "x/../binary"}) {
    CAPTURE(path);
    CHECK(!files.line(path, 1));
    CHECK(files.changed_after(0).empty());
  }
}

TEST_CASE("source files below a directory") {
  TemporaryDirectory directory;
  write(directory / "cmd/main.go", "the nearer\n");
  write(directory / "main.go", "the other\n");
  write(directory / "secret", "not to be read\n");
  SourceFiles files({.directory = directory / ""}, std::nullopt);
  CHECK(files.line("/build/server/cmd/main.go", 1) == "the nearer");
  CHECK(files.line("example.com/server/main.go", 1) == "the other");
  SourceFiles inner({.directory = directory / "cmd"}, std::nullopt);
  CHECK(!inner.line("/build/../secret", 1));
}

TEST_CASE("source files of Go programs without paths") {
  TemporaryDirectory directory;
  write(directory / "go/src/runtime/proc.go", "runtime\n");
  write(directory / "mod/github.com/!azure/Sdk@v1.0.0-!r!c1/Blob/Client.go", "module\n");
  write(directory / "mod/github.com/!azure/!sdk@v1.0.0-!r!c1/Blob/Client.go", "escaped\n");
  SourceFiles files({.go_root = directory / "go", .module_directories = {directory / "mod"}},
                    geteuid());
  CHECK(files.line("runtime/proc.go", 1) == "runtime");
  CHECK(files.line("github.com/Azure/Sdk@v1.0.0-RC1/Blob/Client.go", 1) == "escaped");
  CHECK(!files.line("github.com/Azure/Sdk@v1.0.1/Blob/Client.go", 1));
}

namespace {

// Nobody has files of these.
constexpr uid_t kWriter = 1234567;
constexpr uid_t kCaller = 1234568;

bool is_shown(const std::string& path, std::optional<uid_t> writer, uid_t caller,
              const std::string& source = "") {
  SourceFiles files({.directory = source}, writer, caller);
  bool shown = files.line(path, 1).has_value();
  CHECK(files.withheld() == (shown ? std::vector<std::string>() : std::vector{path}));
  CHECK(withheld_note(files).empty() == shown);
  return shown;
}

}  // namespace

TEST_CASE("whose source files are shown") {
  TemporaryDirectory directory;
  std::string path = write(directory / "in/secret", "s3cret\n");
  uid_t owner = geteuid();
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  CHECK(!is_shown(path, std::nullopt, 0));
  CHECK(!is_shown(path, kWriter, 0));
  CHECK(!is_shown(path, kWriter, kCaller));
  CHECK(is_shown(path, owner, 0));  // of the program's writer
  CHECK(is_shown(path, owner, kCaller));
  CHECK(is_shown(path, kWriter, 0, directory / ""));  // below --source
  CHECK(is_shown(path, kWriter, 0, directory / "in"));
  CHECK(!is_shown(path, kWriter, 0, directory / "i"));
  if (owner != 0) {
    CHECK(is_shown(path, kWriter, owner));  // the caller's own
    CHECK(is_shown(path, std::nullopt, owner));
  }

  std::filesystem::permissions(path, std::filesystem::perms(0640));
  CHECK(!is_shown(path, kWriter, 0));
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  std::filesystem::permissions(directory / "", std::filesystem::perms(0700));
  CHECK(!is_shown(path, kWriter, 0));  // others do not come that far
  CHECK(is_shown("/etc/passwd", kWriter, 0));
  CHECK(is_shown("/etc/passwd", std::nullopt, kCaller));

  // A link below --source leads wherever its owner likes.
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  std::filesystem::create_directory(directory / "source");
  std::filesystem::create_symlink(path, directory / "source/main.c");
  SourceFiles linked({.directory = directory / "source"}, kWriter, 0);
  CHECK(!linked.line("/build/main.c", 1));
  CHECK(linked.withheld() == std::vector<std::string>{directory / "source/main.c"});
}

}  // namespace gosym::source_files_test
