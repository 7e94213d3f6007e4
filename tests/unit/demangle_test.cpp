#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/demangle.h"
#include "symbolize/names.h"

namespace gosym::demangle_test {

namespace {

std::string shown(std::string_view name) {
  FrameSource source = FrameSource::kSymtab;
  return display_name(name, source, NameForm::kShort) + " | " +
         display_name(name, source, NameForm::kFull);
}

}  // namespace

TEST_CASE("demangle: C++ is demangled, templates and parameters only when all is shown") {
  CHECK(shown("_ZN3foo3barEi") == "foo::bar | foo::bar(int)");
  CHECK(
      shown("_ZNSt6vectorIiSaIiEE9push_backEOi") ==
      "std::vector<...>::push_back | std::vector<int, std::allocator<int> >::push_back(int&&)");
  CHECK(shown("_ZlsRSoRK3Foo") == "operator<< | operator<<(std::ostream&, Foo const&)");
  CHECK(shown("_ZN1AltIiEEbT_").starts_with("A::operator< <...> | "));
  CHECK(shown("_ZNK1AptEv") == "A::operator-> | A::operator->() const");
  CHECK(display_name("_ZN3foo3barEi", FrameSource::kDwarf, NameForm::kNone) == "_ZN3foo3barEi");
  CHECK(shown("puts") == "puts | puts");
  CHECK(shown("_Z") == "_Z | _Z");
}

TEST_CASE("demangle: Rust of both schemes, and D") {
  CHECK(shown("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE") ==
        "core::fmt::Formatter::pad | core::fmt::Formatter::pad");
  CHECK(shown("_RNvNtCs1234_7mycrate3foo3bar") == "mycrate::foo::bar | mycrate::foo::bar");
  CHECK(shown("_D3foo3barFiZv") == "foo.bar | foo.bar(int)");
  CHECK(shown("_D3foo3barFiZv.constprop.0") == "foo.bar | foo.bar(int) [clone .constprop.0]");
  std::string tuple = shown(
      "_D3std8typecons__T5TupleTAyaTQeTQhZQr6__ctorMFNaNbNcNiNfQBfQBiQBlZSQCnQCm__"
      "TQCgTQCdTQChTQClZQCw");
  CHECK(tuple.find("Tuple.this(immutable(char)[], immutable(char)[], immutable(char)[])") !=
        std::string::npos);
  CHECK(shown("_D3foo1S3getMxFZi") == "foo.S.get | foo.S.get() const");
  CHECK(shown("_D3foo3barFiZ3bazMFaZv") == "foo.bar.baz | foo.bar(int).baz(char)");
  CHECK(shown("_D3std4conv__T2toTiZ__TQjTAxaZQqFNaNfQkZi") ==
        "std.conv.to!(...).to!(...).to | std.conv.to!(int).to!(const(char)[]).to(const(char))");
  CHECK(shown("_D4core4sync5mutex5Mutex6__initZ") ==
        "initializer for core.sync.mutex.Mutex | initializer for core.sync.mutex.Mutex");
  CHECK(shown("_RINvNtCs1234_4core3mem7replacejE") ==
        "core::mem::replace::<...> | core::mem::replace::<usize>");
  CHECK(shown("_RNvXCs1234_7mycrateINtB2_3BoxjENtB2_5Shape4area") ==
        "<mycrate::Box<...> as mycrate::Shape>::area | "
        "<mycrate::Box<usize> as mycrate::Shape>::area");
}

TEST_CASE("demangle: letters of Rust's older scheme") {
  CHECK(shown("_ZN1r13gr$uf6$$udf$e17h681a46c05f68c07dE") == "r::größe | r::größe");
  CHECK(shown("_ZN1r8_$u540d$8_$u524d$17h34452e4a8b051e69E") == "r::名::前 | r::名::前");
  // A surrogate, a control, and too large a number.
  for (std::string_view number : {"$ud800$", "$u85$", "$u110000$", "$uffffffff0000f6$"}) {
    std::string name = fmt::format("r::f{}", number);
    CHECK(shown(fmt::format("_ZN1r{}f{}17h681a46c05f68c07dE", number.size() + 1, number)) ==
          name + " | " + name);
  }
}

TEST_CASE("demangle: functions of C++ in a Go table") {
  auto in_go = [](std::string_view name, NameForm form) {
    std::string room;
    return std::string(display_name(name, FrameSource::kPclntab, form, room));
  };
  CHECK(in_go("_ZN6__tsan10MemoryReadEPv", NameForm::kShort) == "__tsan::MemoryRead");
  CHECK(in_go("_ZN6__tsan10MemoryReadEPv", NameForm::kFull) == "__tsan::MemoryRead(void*)");
  CHECK(in_go("_ZN6__tsan10MemoryReadEPv", NameForm::kNone) == "_ZN6__tsan10MemoryReadEPv");
  CHECK(in_go("_Z", NameForm::kShort) == "_Z");
}

TEST_CASE("demangle: one that stands for gigabytes stays as it is") {
  // Each pair is of two of the last.
  std::string name = "_Z1fSt4pairIiiE";
  for (char index : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    name += fmt::format("S_IS{0}_S{0}_E", index);
  CHECK(demangle(name, false) == std::nullopt);
  CHECK(demangle("_ZN" + std::string(20000, '3') + "E", false) == std::nullopt);
}

TEST_CASE("demangle: lambdas tell functions that call them apart") {
  CHECK(shown("_ZZ4mainENKUlvE_clEv") ==
        "main::{lambda()#1}::operator() | main::{lambda()#1}::operator()() const");
  CHECK(shown("_ZNSt17_Function_handlerIFvvEZ4mainEUlvE_E9_M_invokeERKSt9_Any_data")
            .starts_with("std::_Function_handler<..., main::{lambda()#1}>::_M_invoke | "));
  CHECK(shown("_ZSt8__invokeIRZ4mainEUlvE0_JEET_v").starts_with("std::__invoke<"));
  auto short_form = [](std::string_view name) {
    return display_name(name, FrameSource::kDwarf, NameForm::kShort);
  };
  CHECK(short_form("std::__invoke_impl<long int, main(int, char**)::<lambda(int)>&, int>") ==
        "std::__invoke_impl<..., main(int, char**)::<lambda(int)>&>");
  CHECK(short_form("call<std::less<int>, a::{lambda(b<int>)#2}>") ==
        "call<..., a::{lambda(b<...>)#2}>");
  CHECK(short_form("one<a::{lambda()#1}>::run") == "one<a::{lambda()#1}>::run");
  CHECK(short_form("std::less<int>::operator()") == "std::less<...>::operator()");
  CHECK(short_form("Box::operator<") == "Box::operator<");
  CHECK(short_form("Box::operator<=>") == "Box::operator<=>");
  CHECK(short_form("<str as ToString>::to_string") == "<str as ToString>::to_string");
  CHECK(short_form("broken<a, {lambda>") == "broken<...>");
  CHECK(short_form("broken<lambda, b)>") == "broken<...>");
  std::string python = "py::outer.<locals>.<genexpr>:/app/p.py";
  CHECK(display_name(python, FrameSource::kPerfMap, NameForm::kShort) == python);
  std::string nested = "f";
  for (int i = 0; i < 100; i++)
    nested += "<lambda, a";
  CHECK(short_form(nested + std::string(100, '>')).starts_with("f<..., lambda"));
}

}  // namespace gosym::demangle_test
