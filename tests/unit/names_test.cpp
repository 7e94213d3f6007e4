#include "symbolize/names.h"

#include <doctest/doctest.h>

#include "base/text.h"

namespace gosym::names_test {

namespace {

std::string shorten(std::string_view name) {
  return display_name(name, FrameSource::kPclntab, NameForm::kShort);
}
std::string full(std::string_view name) {
  return display_name(name, FrameSource::kPclntab, NameForm::kFull);
}

}  // namespace

TEST_CASE("names: plain ones are the same in every form") {
  for (const char* name :
       {"main.main", "main.(*T).M", "ex.org/a/b.T.M-fm", "main.f.func1.2", "main.f.gowrap1",
        "type:.eq.main.T", "gogo", "_rt0_amd64_linux", "a.F-range1", "main.func\u00b7001", ""})
    for (NameForm form : {NameForm::kShort, NameForm::kFull, NameForm::kNone})
      CHECK(display_name(name, FrameSource::kPclntab, form) == name);
}

TEST_CASE("names: the types of instances are shortened") {
  CHECK(shorten("slices.Sort[go.shape.[]string,go.shape.string]") == "slices.Sort[...]");
  CHECK(full("slices.Sort[go.shape.[]string]") == "slices.Sort[go.shape.[]string]");
  CHECK(shorten("a.(*List[go.shape.map[int][]int]).Add") == "a.(*List[...]).Add");
  CHECK(shorten("a.T[int].M[go.shape.struct { A [2]string }].func1") ==
        "a.T[...].M[...].func1");
  CHECK(shorten("ex.org/a.F[ex.org/b/v2.T].func1") == "ex.org/a.F[...].func1");
  CHECK(shorten("a.F[...]") == "a.F[...]");
}

TEST_CASE("names: brackets that do not pair take all between the first and the last") {
  CHECK(shorten("a.F[struct { A int \"[\" }].G[int]") == "a.F[...]");
  CHECK(shorten("a.F]x[") == "a.F]x[");
  CHECK(shorten("a.F[") == "a.F[");
  CHECK(shorten("a.F]") == "a.F]");
}

TEST_CASE("names: assembly without a package in its name is of the one of its file") {
  CHECK(package_of_assembly("/usr/lib/go-1.19/src/internal/bytealg/compare_amd64.s") ==
        "internal/bytealg");
  CHECK(package_of_assembly("runtime/asm_amd64.s") == "runtime");
  CHECK(package_of_assembly("golang.org/x/crypto@v0.1.0/blake2b/blake2b_amd64.s") ==
        "golang.org/x/crypto/blake2b");
  CHECK(package_of_assembly("/root/go/pkg/mod/github.com/a/b@v1.2.3/asm.s") ==
        "github.com/a/b");
  for (const char* file :
       {"", "asm.s", "/home/me/asm.s", "runtime/proc.go", "/asm.s", "@/a.s", "a@b/c.s"})
    CHECK(package_of_assembly(file) == (std::string_view(file) == "a@b/c.s" ? "a" : ""));
}

TEST_CASE("names: the root that the package of assembly lies below is found among others") {
  // A package may have a folder of the name of a root.
  CHECK(package_of_assembly("/root/go/pkg/mod/github.com/a/b@v1.0.0/src/c/x.s") ==
        "github.com/a/b/src/c");
  CHECK(package_of_assembly("/root/go/pkg/mod/github.com/a/gob@v1.0.0/src/c/x.s") ==
        "github.com/a/gob/src/c");
  CHECK(package_of_assembly("/home/me@vm/go/pkg/mod/github.com/a/gob@v1.0.0/src/c/x.s") ==
        "github.com/a/gob/src/c");
  CHECK(package_of_assembly("github.com/a/b@v1.0.0/src/c/x.s") == "github.com/a/b/src/c");
  CHECK(package_of_assembly("example.com/a/src/c/x.s") == "example.com/a/src/c");
  CHECK(package_of_assembly("/home/me/go/src/github.com/a/b/src/c/x.s") ==
        "github.com/a/b/src/c");
  CHECK(package_of_assembly("/cache/github.com/a/b@v1.0.0/src/c/x.s") == "");
  // Go may lie anywhere, among modules too.
  for (const char* root :
       {"/home/me/src/go/src/", "/home/me/src/github.com/golang/go/src/",
        "external/go_sdk/src/", "/home/me/src/release/src/", "/home/me@vm/go/src/",
        "/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.22.0.linux-amd64/src/",
        "/cache/golang.org/toolchain@v0.0.1-go1.22.0.linux-amd64/src/"}) {
    CAPTURE(root);
    CHECK(package_of_assembly(std::string(root) + "runtime/asm_amd64.s") == "runtime");
    CHECK(package_of_assembly(std::string(root) + "vendor/golang.org/x/sys/cpu/cpu.s") ==
          "vendor/golang.org/x/sys/cpu");
  }
}

TEST_CASE("names: escapes of the package path are undone, others are no escapes") {
  CHECK(full("gopkg.in/yaml%2ev3.Marshal") == "gopkg.in/yaml.v3.Marshal");
  CHECK(full("ex.org/a%22b.F") == "ex.org/a\"b.F");
  CHECK(full("ex.org/%e4%b8%96.F") == "ex.org/\u4e16.F");
  CHECK(full("ex.org/a%2.F") == "ex.org/a%2.F");
  CHECK(full("ex.org/a%zz.F") == "ex.org/a%zz.F");
  CHECK(full("ex.org/a.F%2e") == "ex.org/a.F%2e");
  CHECK(full("%2e") == "%2e");  // no package path
  CHECK(full("a.F[ex.org/b%2ec.T]") == "a.F[ex.org/b%2ec.T]");
}

TEST_CASE("names: as the linker has them they are what other tools know") {
  constexpr std::string_view kName = "gopkg.in/yaml%2ev3.F[go.shape.int]";
  CHECK(display_name(kName, FrameSource::kPclntab, NameForm::kNone) == kName);
}

TEST_CASE("names: only those of Go are read as such") {
  constexpr std::string_view kName = "operator[](int)%2e.x";
  for (FrameSource source :
       {FrameSource::kSymtab, FrameSource::kDynsym, FrameSource::kKallsyms, FrameSource::kVdso})
    CHECK(display_name(kName, source, NameForm::kShort) == kName);
  CHECK(display_name("a.F[int]", FrameSource::kPclntabDerived, NameForm::kShort) == "a.F[...]");
}

TEST_CASE("names: what is no text is never printed as it is") {
  CHECK(printable(full("ex.org/%1b%5b2J.F")) == "ex.org/\\x1b[2J.F");
  CHECK(printable(full("main.\x1b[2J\x07\n\xff\x80")) == "main.\\x1b[2J\\x07\\x0a\\xff\\x80");
}

TEST_CASE("names: a stub stays one when its name is made readable") {
  auto stub = FrameSource::kPlt;
  CHECK(display_name("_ZSt9terminatev@plt", stub, NameForm::kShort) == "std::terminate@plt");
  CHECK(display_name("_ZSt9terminatev@plt", stub, NameForm::kFull) == "std::terminate()@plt");
  CHECK(display_name("_ZSt9terminatev@plt", stub, NameForm::kNone) == "_ZSt9terminatev@plt");
  CHECK(display_name("puts@plt", stub, NameForm::kShort) == "puts@plt");
}

}  // namespace gosym::names_test
