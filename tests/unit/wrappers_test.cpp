#include "symbolize/symbol_source.h"

#include <doctest/doctest.h>

#include <string>

namespace gosym::wrappers_test {

namespace {

using enum FunctionKind;

Call call(std::string_view name, FunctionKind kind = kNormal) {
  return {.function = name, .file = {}, .kind = kind};
}

std::string shown(std::vector<Call> calls) {
  hide_wrappers(calls);
  std::string names;
  for (const Call& each : calls)
    names.append(each.function) += ' ';
  return names;
}

}  // namespace

TEST_CASE("wrappers: they are left out wherever they stand") {
  CHECK(shown({call("f"), call("g")}) == "f g ");
  CHECK(shown({call("w", kWrapper), call("f"), call("g")}) == "f g ");
  CHECK(shown({call("f"), call("w", kWrapper), call("g")}) == "f g ");
  CHECK(shown({call("f"), call("g"), call("w", kWrapper)}) == "f g ");
  CHECK(shown({call("v", kWrapper), call("w", kWrapper), call("f")}) == "f ");
}

TEST_CASE("wrappers: those that call a panic are shown") {
  CHECK(shown({call("gopanic", kPanic), call("w", kWrapper), call("f")}) == "gopanic w f ");
  CHECK(shown({call("sigpanic", kSigpanic), call("w", kWrapper)}) == "sigpanic w ");
  CHECK(shown({call("asyncPreempt", kInjected), call("w", kWrapper), call("f")}) ==
        "asyncPreempt f ");
  CHECK(shown({call("gopanic", kPanic), call("v", kWrapper), call("w", kWrapper)}) ==
        "gopanic v ");
}

TEST_CASE("wrappers: an address keeps the function that holds its code") {
  CHECK(shown({call("w", kWrapper)}) == "w ");
  CHECK(shown({call("inlined", kWrapper), call("outer", kWrapper)}) == "outer ");
  CHECK(shown({}) == "");
}

}  // namespace gosym::wrappers_test
