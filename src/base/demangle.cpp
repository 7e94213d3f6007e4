#include "base/demangle.h"

// libiberty.h, which it includes, would declare basename() as no other header does.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/text.h"

// demangle() asks the library that reads the scheme of a name, Rust first, and shortens what it
// gives. A name can be made to stand for gigabytes, and libiberty cannot be told to stop: so
// names are refused beforehand that would take long, and what is printed is bounded.
//
// Names are shortened by their brackets alone. Those of operators and arrows are none
// (size_without_brackets()), and what does not pair is left as it is.

namespace gosym {

namespace {

// A name of a few dozen bytes can stand for gigabytes, by referring to itself over and over.
constexpr size_t kMaxOutput = 65536;
constexpr size_t kMaxMangled = 16384;

// The target that libiberty writes to, piece by piece.
struct Output {
  std::string text;
  std::jmp_buf too_long;
};

// libiberty cannot be told to stop. It is left by a jump, over frames of C. It keeps its data
// on the stack but for the text of Rust's punycode, which is lost: hence kMaxJumps.
void append(const char* piece, size_t size, void* opaque) {
  auto* output = static_cast<Output*>(opaque);
  if (output->text.size() + size > kMaxOutput)
    std::longjmp(output->too_long, 1);
  output->text.append(piece, size);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// Real programs have none.
constexpr int kMaxJumps = 100;

std::optional<std::string> run(Demangler demangler, const char* name, int options) {
  static std::atomic<int> jumps = 0;
  if (jumps >= kMaxJumps)
    return std::nullopt;
  // On the heap: the jump leaves no local object that was changed after setjmp(3) in a known
  // state.
  auto output = std::make_unique<Output>();
  // The demangler cannot be stopped otherwise. What it had allocated is lost: so this is done a
  // number of times, and no more.
  if (setjmp(output->too_long) != 0) {
    jumps++;
    return std::nullopt;
  }
  // 0 is a name that it cannot read.
  if (demangler(name, options, append, output.get()) == 0)
    return std::nullopt;
  return std::move(output->text);
}

// Each back reference of Rust (B) may lead through the whole name again, and print nothing.
// Names of real programs have a few dozen in a few hundred bytes.
bool takes_long(std::string_view name) {
  constexpr uint64_t kMaxSteps = 500'000;
  auto references = static_cast<uint64_t>(std::ranges::count(name, 'B'));
  return name.starts_with("_R") && name.size() * references > kMaxSteps;
}

// ".constprop.0", of a copy that the compiler made; in D's own names there is no dot.
std::string_view clone_suffix(std::string_view name) {
  size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot);
}

// The most characters of a name in D that are read, those that back references lead to counted
// each time. A reference is Q and its distance in base 26, the last digit in lower case; what
// it leads to ends before it.
uint64_t steps_of_d(std::string_view name) {
  std::vector<uint64_t> until = {0};  // of the characters before each
  for (size_t i = 0; i < name.size(); i++) {
    uint64_t steps = 1;
    size_t distance = 0;
    size_t digit = i + 1;
    while (digit < name.size() && name[digit] >= 'A' && name[digit] <= 'Z' && distance < i)
      distance = 26 * distance + static_cast<size_t>(name[digit++] - 'A');
    if (name[i] == 'Q' && digit < name.size() && name[digit] >= 'a' && name[digit] <= 'z') {
      distance = 26 * distance + static_cast<size_t>(name[digit] - 'a');
      steps += distance <= i ? until[i] - until[i - distance] : 0;
    }
    constexpr uint64_t kMany = uint64_t{1} << 40;
    until.push_back(std::min(until.back() + steps, kMany));
  }
  return until.back();
}

// For D there is only this form, which allocates. Each back reference can double the text.
std::optional<std::string> demangle_d(const std::string& name) {
  constexpr uint64_t kMaxSteps = 1'000'000;
  if (steps_of_d(name) > kMaxSteps)
    return std::nullopt;
  std::unique_ptr<char, decltype(&std::free)> text(dlang_demangle(name.c_str(), DMGL_AUTO),
                                                   &std::free);
  return text ? std::optional<std::string>(text.get()) : std::nullopt;
}

// Bytes of an operator's name that look like brackets, at the start of `text`.
size_t operator_size(std::string_view text) {
  for (std::string_view symbol :
       {"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"})
    if (text.starts_with(symbol))
      return symbol.size();
  return 0;
}

// Bytes at the start of `text` that are no brackets, whatever they look like: "operator<" and
// the like are names, and "->" is an arrow. 0: neither is there.
size_t size_without_brackets(std::string_view text, bool is_rust) {
  constexpr std::string_view kOperator = "operator";
  // Asked at each byte of a name: nearly all begin neither.
  char first = text.empty() ? '\0' : text.front();
  if (first == 'o' && !is_rust && text.starts_with(kOperator))
    return kOperator.size() + operator_size(text.substr(kOperator.size()));
  return first == '-' && text.starts_with("->") ? 2 : 0;
}

// True if "<" begins the arguments of the text before it. In Rust it also begins the type that
// a method is of: "<str as ToString>::to_string", "<&mut F as FnOnce<A>>::call_once".
bool begins_arguments(std::string_view before, bool is_rust) {
  if (!is_rust)
    return true;
  if (before.ends_with("::"))
    return true;
  auto last = before.empty() ? '\0' : before.back();
  return last == '_' || last == '}' || (last >= '0' && last <= '9') ||
         (last >= 'A' && last <= 'Z') || (last >= 'a' && last <= 'z') || (last & 0x80) != 0;
}

constexpr int kMaxNesting = 4;  // of arguments that are searched for lambdas

std::string shorten_templates(std::string_view name, bool is_rust, int nesting);

// The names of g++, clang and Rust: "{lambda(int)#1}", "main::$_0", "{closure#0}".
bool has_lambda(std::string_view text) {
  return text.find("lambda") != text.npos || text.find("$_") != text.npos ||
         text.find("closure") != text.npos;
}

// The arguments of a template: at commas outside all brackets. Empty if brackets do not pair.
std::vector<std::string_view> split_arguments(std::string_view text, bool is_rust) {
  std::vector<std::string_view> arguments;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); i++) {
    std::string_view rest = text.substr(i);
    // The last byte of what is no bracket: Rust has "fn(i32) -> u8".
    if (size_t size = size_without_brackets(rest, is_rust); size > 0)
      i += size - 1;
    else if (std::string_view("<([{").find(text[i]) != std::string_view::npos)
      depth++;
    else if (std::string_view(">)]}").find(text[i]) != std::string_view::npos)
      depth--;
    if (depth == 0 && rest.starts_with(", ")) {
      arguments.push_back(text.substr(begin, i - begin));
      begin = i + 2;
    }
  }
  arguments.push_back(text.substr(begin));
  return depth == 0 ? arguments : std::vector<std::string_view>();
}

// A function that calls a lambda, of std::function for one, differs by nothing else from those
// that call others: "void (), main::{lambda()#1}" -> "..., main::{lambda()#1}". `nesting`
// counts the arguments around these.
std::string shorten_arguments(std::string_view text, bool is_rust, int nesting) {
  std::string result = "...";
  if (nesting == kMaxNesting || !has_lambda(text))
    return result;
  auto arguments = split_arguments(text, is_rust);
  if (arguments.size() == 1)
    return shorten_templates(text, is_rust, nesting + 1);
  for (std::string_view argument : arguments)
    if (has_lambda(argument))
      result += ", " + shorten_templates(argument, is_rust, nesting + 1);
  return result;
}

// "std::map<int, char>::at" -> "std::map<...>::at"
std::string shorten_templates(std::string_view name, bool is_rust, int nesting = 0) {
  std::string result;
  int depth = 0;
  int kept = 0;      // of "<" that begin a type
  size_t begin = 0;  // of the arguments
  for (size_t i = 0; i < name.size();) {
    size_t size = std::max<size_t>(1, size_without_brackets(name.substr(i), is_rust));
    std::string_view piece = name.substr(i, size);
    i += size;
    if (piece == ">" && depth > 0 && --depth == 0)
      result += shorten_arguments(name.substr(begin, i - 1 - begin), is_rust, nesting);
    else if (piece == ">" && depth == 0 && kept > 0)
      kept--;
    // Inside of arguments every "<" opens another level; outside it depends on what comes
    // before.
    bool begins = piece == "<" && (depth > 0 || begins_arguments(result, is_rust));
    if (depth == 0)
      result += piece;
    if (begins && depth++ == 0)
      begin = i;
    kept += piece == "<" && !begins ? 1 : 0;
  }
  // Brackets that do not pair: the name is no template's, and is left as it is.
  return depth == 0 && kept == 0 ? result : std::string(name);
}

// "foo.to!(int).to(char[]) const" -> "foo.to!(...).to". What stands behind parameters, up to
// the next name, goes with them; each function around it may have some.
std::string shorten_d(std::string_view name) {
  std::string result;
  int depth = 0;
  bool is_name = true;  // else it is behind parameters
  for (char c : name) {
    if (c == '(' && depth == 0) {
      is_name &= result.ends_with('!');
      result += is_name ? "(...)" : "";
    }
    if (c == '.' && depth == 0)
      is_name = true;
    depth += c == '(' ? 1 : 0;
    if (depth == 0 && is_name)
      result += c;
    depth -= c == ')' ? 1 : 0;
  }
  return depth == 0 && !result.empty() ? result : std::string(name);
}

// The older scheme of Rust has letters beyond ASCII as numbers, which its demangler leaves:
// "gr$uf6$$udf$e".
std::string with_letters(std::string_view name) {
  constexpr std::string_view kBegin = "$u";
  constexpr uint64_t kFirstLetter = 0xa0;  // controls stay numbers
  constexpr uint64_t kLastLetter = 0x10ffff;
  std::string result;
  for (size_t at = 0; (at = name.find(kBegin)) != name.npos;) {
    size_t digits = at + kBegin.size();
    size_t end = std::min(name.find('$', digits), name.size());
    uint64_t number = parse_hex(name.substr(digits, end - digits)).value_or(0);
    bool is_letter = end < name.size() && number >= kFirstLetter && number <= kLastLetter;
    std::string letter = is_letter ? utf8_of(static_cast<char32_t>(number)) : std::string();
    result += name.substr(0, at);
    result += letter.empty() ? kBegin : letter;
    name.remove_prefix(letter.empty() ? digits : end + 1);
  }
  return result.append(name);
}

}  // namespace

std::optional<std::string> demangle(std::string_view name, bool is_short) {
  bool is_mangled = name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_D");
  if (!is_mangled || name.size() > kMaxMangled || takes_long(name))
    return std::nullopt;
  std::string text(name);
  // First: the older scheme of Rust is one of C++ with a hash at its end.
  if (auto rust = run(rust_demangle_callback, text.c_str(), 0)) {
    std::string readable = with_letters(*rust);
    return is_short ? shorten_templates(readable, /*is_rust=*/true) : readable;
  }
  if (name.starts_with("_D")) {
    // D's demangler knows no clones, so their suffix is taken off and told behind the name.
    std::string_view suffix = clone_suffix(name);
    auto result = demangle_d(text.substr(0, name.size() - suffix.size()));
    if (result && is_short)
      return shorten_d(*result);
    if (result && !suffix.empty())
      *result += " [clone " + std::string(suffix) + "]";
    return result;
  }
  // DMGL_ANSI is for const and the like, DMGL_PARAMS for parameters.
  int options = DMGL_ANSI | (is_short ? 0 : DMGL_PARAMS);
  auto result = run(cplus_demangle_v3_callback, text.c_str(), options);
  return result && is_short ? shorten_templates(*result, /*is_rust=*/false) : result;
}

bool is_unreadable(std::string_view name) {
  return name.starts_with("_Z") && !demangle(name, /*is_short=*/false);
}

std::string shorten_native(std::string_view name) {
  if (name.size() > kMaxOutput || name.find('<') == name.npos)
    return std::string(name);
  // In Rust alone a type is told with its trait, "<T as Trait>::method".
  return shorten_templates(name, /*is_rust=*/name.find(" as ") != name.npos);
}

}  // namespace gosym
