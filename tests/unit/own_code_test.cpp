#include "profile/own_code.h"

#include <doctest/doctest.h>

#include "demo_profile.h"
#include "symbolize/own_code.h"

namespace gosym::own_code_test {

namespace {

struct Code {
  FrameSource source = FrameSource::kPclntab;
  std::string_view package = {};
  std::string_view file = {};
  std::string_view name = "f";
};

// True if code of the demo's program is own where the file says this.
bool is_own_in(const OwnCode& own, const Code& code, std::string path = "/srv/demo") {
  Profile profile = make_demo_profile();
  profile.images[3].own = own;
  profile.images[3].file.path = std::move(path);
  StringPool& strings = profile.strings;
  profile.functions.push_back({.name = strings.intern(code.name),
                               .file = strings.intern(code.file),
                               .package = strings.intern(code.package)});
  Location location;
  location.mapping = MappingId{3};
  location.first_frame = static_cast<uint32_t>(profile.frames.size());
  location.frame_count = 1;
  profile.frames.push_back({.function = static_cast<FunctionId>(profile.functions.size() - 1),
                            .source = code.source});
  return is_own(profile, location, profile.frames.back());
}

}  // namespace

TEST_CASE("own code: the repository of a package that no module tells") {
  CHECK(repository_of("github.com/prometheus/prometheus/cmd/prometheus") ==
        "github.com/prometheus/prometheus");
  CHECK(repository_of("gitlab.com/a/b") == "gitlab.com/a/b");
  CHECK(repository_of("github.com/a").empty());
  CHECK(repository_of("example.com/a/b/c").empty());
  CHECK(repository_of("cmd/go").empty());
  CHECK(repository_of("").empty());
}

TEST_CASE("own code: packages of Go that are of a module of the program") {
  OwnCode own{.modules = {"example.com/shop", "example.com/money"}};
  for (std::string_view package : {"main", "example.com/shop", "example.com/shop/cart",
                                   "example.com/shop_test", "example.com/money/v2"}) {
    CAPTURE(package);
    CHECK(is_own_in(own, {.package = package}));
  }
  for (std::string_view package : {"", "runtime", "net/http", "example.com/shopping",
                                   "example.com", "github.com/acme/log"}) {
    CAPTURE(package);
    CHECK_FALSE(is_own_in(own, {.package = package}));
  }
}

TEST_CASE("own code: packages of Go without build information") {
  CHECK(is_own_in({}, {.package = "main"}));
  CHECK(is_own_in({}, {.package = "example.com/shop/cart", .file = "/src/cart/cart.go"}));
  CHECK_FALSE(is_own_in({}, {.package = "sort", .file = "/usr/local/go/src/sort/sort.go"}));
  CHECK_FALSE(is_own_in({}, {.package = "vendor/golang.org/x/net", .file = "a.go"}));
  for (std::string_view file :
       {"github.com/acme/log@v1.2.3/log.go", "/root/go/pkg/mod/github.com/acme/log/log.go",
        "/src/vendor/github.com/acme/log/log.go"}) {
    CAPTURE(file);
    CHECK_FALSE(is_own_in({}, {.package = "github.com/acme/log", .file = file}));
  }
}

TEST_CASE("own code: source files of other languages") {
  OwnCode own{.is_executable = true, .has_sources = true};
  auto of_file = [](std::string_view file) {
    return Code{.source = FrameSource::kDwarf, .file = file};
  };
  for (std::string_view file : {"/src/shop/cart.cpp", "src/main.rs", "../cart.c"}) {
    CAPTURE(file);
    CHECK(is_own_in(own, of_file(file)));
  }
  for (std::string_view file :
       {"", "/usr/include/c++/12/bits/stl_sort.h", "/rustc/90b35a6/library/core/src/fmt/mod.rs",
        "/root/.cargo/registry/src/index-1/serde-1.0/src/de.rs", "library/std/src/rt.rs"}) {
    CAPTURE(file);
    CHECK_FALSE(is_own_in(own, of_file(file)));
  }
  CHECK_FALSE(is_own_in({.has_sources = true}, of_file("./nptl/pthread_create.c"),
                        "/usr/lib/x86_64-linux-gnu/libc.so.6"));
  CHECK(is_own_in({.has_sources = true}, of_file("/src/shop/plugin.c"), "/srv/plugin.so"));
}

TEST_CASE("own code: all of an executable that has no source files") {
  Code code{.source = FrameSource::kSymtab};
  CHECK(is_own_in({.is_executable = true}, code));
  CHECK_FALSE(is_own_in({}, code));
  CHECK_FALSE(is_own_in({.is_executable = true}, {.source = FrameSource::kPlt}));
}

TEST_CASE("own code: scripts by the file in their names") {
  OwnCode own;
  auto named = [](std::string_view name) {
    return Code{.source = FrameSource::kPerfMap, .name = name};
  };
  CHECK(is_own_in(own, named("JS:*render /srv/app/view.js:10:3")));
  CHECK(is_own_in(own, named("py::total:/srv/app/cart.py")));
  for (std::string_view name :
       {"JS:~emit node:events:466:44", "JS:*parse /srv/app/node_modules/qs/lib/parse.js:5:1",
        "py::loads:/usr/lib/python3.12/json/__init__.py", "Builtin:ArrayMap", "Stub:x"}) {
    CAPTURE(name);
    CHECK_FALSE(is_own_in(own, named(name)));
  }
}

}  // namespace gosym::own_code_test
