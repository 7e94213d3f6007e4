#include <doctest/doctest.h>

#include "confine/opener.h"
#include "confine/parser.h"
#include "confine/process_kind.h"

namespace gosym::confine_test {

TEST_CASE("opener: an input is what was named, and what lies below it") {
  NamedFiles files{.inputs = {"cpu.raw", "dir/", "/srv"}, .outputs = {"out.svg"}};
  for (const char* path : {"cpu.raw", "dir", "dir/a", "dir/a/b", "/srv/x", "out.svg"})
    CHECK(is_named_input(files, path));
  for (const char* path : {"cpu.rawx", "cpu", "", "dirx", "dir/../secret", "dir/a/..", "/srvx",
                           "/srv/../etc/shadow", "/etc/shadow", "./cpu.raw"})
    CHECK_FALSE(is_named_input(files, path));
  CHECK_FALSE(is_named_input({.inputs = {""}}, "/etc/shadow"));
}

TEST_CASE("opener: an output is written by a draft beside it") {
  NamedFiles files{.outputs = {"out.svg", "/tmp/a"}};
  CHECK(is_output(files, "out.svg"));
  CHECK_FALSE(is_output(files, "out.svg.1"));
  CHECK(is_draft_of_output(files, "out.svg.12.tmp"));
  CHECK(is_draft_of_output(files, "/tmp/a.12.tmp", "/tmp/a"));
  CHECK_FALSE(is_draft_of_output(files, "/tmp/a.12.tmp", "out.svg"));
  for (const char* path : {"out.svg", "out.svg.tmp", "out.svg..tmp", "out.svg.1x.tmp",
                           "other.12.tmp", ".12.tmp", "/etc/passwd", ""})
    CHECK_FALSE(is_draft_of_output(files, path));
}

TEST_CASE("opener: exports are files of one form, here") {
  NamedFiles files{.has_exports = true};
  CHECK(is_output(files, "gosym-1.svg"));
  CHECK(is_output(files, "gosym-12.pb.gz"));
  CHECK(is_draft_of_output(files, "gosym-1.svg.7.tmp", "gosym-1.svg"));
  for (const char* path : {"gosym-.svg", "gosym-x.svg", "gosym-1", "/etc/gosym-1.svg",
                           "gosym-1./../x", "a/gosym-1.svg", ""})
    CHECK_FALSE(is_output(files, path));
}

TEST_CASE("paths of an opener: indexes in a store, and the folders around them") {
  NamedFiles files{.stores = {"/names"}};
  CHECK(is_output(files, "/names/.build-id/ab/cd01.gsym"));
  CHECK(is_draft_of_output(files, "/names/.build-id/ab/cd01.gsym.7.tmp"));
  CHECK(is_folder_of_store(files, "/names/.build-id"));
  CHECK(is_folder_of_store(files, "/names/.build-id/ab"));
  for (std::string_view path :
       {"/names/.build-id/ab/cd01", "/names/.build-id/ab/../cd.gsym", "/names/a.gsym",
        "/names/.build-id/abc/d.gsym", "/names/.build-id/ab/.gsym", "/name/.build-id/ab/c.gsym",
        "/names/.build-id/ab/c/d.gsym", "/names/.build-id", "/names2/.build-id/ab/cd.gsym"})
    CHECK_FALSE(is_output(files, path));
  for (std::string_view path : {"/names", "/names/.build-id/", "/names/.build-id/abc",
                                "/names/.build-id/..", "/names/.build-id/ab/cd", "/.build-id"})
    CHECK_FALSE(is_folder_of_store(files, path));
}

TEST_CASE("opener: sources are known by the ends of their names") {
  for (const char* path : {"/src/main.go", "a.c", "/x/y.hpp"})
    CHECK(is_named_as_source(path));
  for (const char* path : {"/etc/shadow", "/root/.ssh/id_rsa", ".c", "/a.go/secret", "", "go"})
    CHECK_FALSE(is_named_as_source(path));
}

TEST_CASE(
    "front: an editor is given the path of a source from the root, as its command takes it") {
  for (const char* path : {"/src/main.go", "/a b/$(id).c", "/-c.rs"})
    CHECK(is_edited(path));
  for (const char* path : {"", "main.go", "-c.go", "+x.go", "scp://h/x.go", "/home/u/.vimrc",
                           "/etc/passwd", "/a\n.go", "/\x1b]0;.go", "/.go"})
    CHECK_FALSE(is_edited(path));
  using Words = std::vector<std::string>;
  CHECK(editor_arguments("vi", "/a b.go", 7) == Words{"+7", "/a b.go"});
  CHECK(editor_arguments("/usr/bin/code --wait", "/a.go", 7) == Words{"-g", "/a.go:7"});
  CHECK(editor_arguments("hx", "/a.go", 7) == Words{"/a.go:7"});
}

TEST_CASE("processes: who parses has nothing") {
  const ProcessRow& row = row_of(ProcessKind::kParser);
  CHECK(row.capabilities == 0);
  CHECK(row.filter == CallFilter::kParsing);
  CHECK(row.paths == PathFilter::kRefused);
  CHECK_FALSE(row.may_execute);
  CHECK_FALSE(row.has_sockets);
}

TEST_CASE("processes: who reads samples and binaries has no capability") {
  CHECK(row_of(ProcessKind::kRecorder).capabilities == 0);
  CHECK(row_of(ProcessKind::kKeeper).filter == CallFilter::kKeeping);
}

}  // namespace gosym::confine_test
