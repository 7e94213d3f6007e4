#include "symbolize/names.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/demangle.h"
#include "base/text.h"

namespace gosym {

namespace {

// "yaml%2ev3" -> "yaml.v3"
std::string unescape(std::string_view text) {
  std::string result;
  while (true) {
    size_t plain = text.find('%');
    result += text.substr(0, plain);
    if (plain == std::string_view::npos)
      return result;
    text.remove_prefix(plain);
    auto code = text.size() >= 3 ? parse_hex(text.substr(1, 2)) : std::nullopt;
    result += code ? static_cast<char>(*code) : '%';
    text.remove_prefix(code ? 3 : 1);
  }
}

// Bytes of the package path: up to the first dot after the last slash before any bracket.
size_t package_size(std::string_view name) {
  // A type argument may have slashes and dots of its own.
  std::string_view outside = name.substr(0, name.find('['));
  size_t slash = outside.rfind('/');
  size_t dot = outside.find('.', slash == std::string_view::npos ? 0 : slash);
  return dot == std::string_view::npos ? 0 : dot;
}

// Replaces what is in brackets by dots. A tag in a type may hold brackets that do not pair:
// then all from the first to the last goes.
std::string shorten(std::string_view name) {
  if (name.find('[') == std::string_view::npos)
    return std::string(name);
  std::string result;
  int depth = 0;
  for (char c : name) {
    if (c == ']' && depth > 0)
      depth--;
    if (depth == 0)
      result += c;
    if (c == '[' && depth++ == 0)
      result += "...";
  }
  if (depth == 0)
    return result;
  // Brackets that do not match were cut off, or are in a name.
  size_t first = name.find('[');
  size_t last = name.rfind(']');
  if (last == std::string_view::npos || last < first)
    return std::string(name);
  return fmt::format("{}[...]{}", name.substr(0, first), name.substr(last + 1));
}

std::string native_name(std::string_view name, FrameSource source, bool is_short) {
  auto demangled = demangle(name, is_short);
  if (demangled)
    return *std::move(demangled);
  // Names in perf maps are of any language: Python's have "<locals>".
  bool has_templates = source == FrameSource::kDwarf || source == FrameSource::kGsym;
  return is_short && has_templates ? shorten_native(name) : std::string(name);
}

// Go's table also has the functions of C++ that its linker took in, those of the race detector
// for one.
constexpr std::string_view kNativeInGo = "_Z";

// True if a Go function has a name that is shown unchanged, as most have.
bool is_shown_as_is(std::string_view name, bool is_short) {
  return name.find('%') == std::string_view::npos && !name.starts_with(kNativeInGo) &&
         (!is_short || name.find('[') == std::string_view::npos);
}

// Mangled by either scheme of Rust's compiler: "_RNv...", "_ZN...17h0123456789abcdefE".
bool is_mangled_rust(std::string_view name) {
  constexpr size_t kHashSize = std::string_view("17h0123456789abcdefE").size();
  return name.starts_with("_R") ||
         (name.starts_with("_ZN") && name.size() > kHashSize && name.ends_with("E") &&
          name.substr(name.size() - kHashSize).starts_with("17h"));
}

// "core" of "core::str::from_utf8", of "<core::str::Chars as core::iter::Iterator>::next" and
// of "<&mut core::str::Chars>::next".
std::string_view crate_of(std::string_view shown) {
  size_t begin = std::min(shown.find_first_not_of("<&*"), shown.size());
  shown.remove_prefix(begin);
  // The type that a method is of may be a reference or a trait object.
  for (std::string_view word : {"mut ", "dyn ", "const "})
    if (shown.starts_with(word))
      shown.remove_prefix(word.size());
  std::string_view crate = shown.substr(0, shown.find("::"));
  constexpr std::string_view kWord =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  bool is_crate = crate.size() < shown.size() && crate.find_first_not_of(kWord) == crate.npos;
  return is_crate ? crate : std::string_view();
}

constexpr std::string_view kSourceRoot = "/src/";

// "runtime" has none, "github.com/a/b" has one.
bool has_domain(std::string_view import_path) {
  return import_path.substr(0, import_path.find('/')).find('.') != std::string_view::npos;
}

// The place of the version of a module: "golang.org/x/crypto@v0.1.0/blake2b".
size_t place_of_version(std::string_view folder) {
  size_t at = folder.rfind("@v");
  bool has_number = at != folder.npos && folder.find_first_of("0123456789", at) == at + 2;
  return has_number ? at : folder.npos;
}

// True if the last root of sources in a folder is that of a release of Go: it is a module, or
// lies in a folder named "go", "go-1.19" or the like. Its packages have no domain.
bool is_of_release(std::string_view folder) {
  size_t root = folder.rfind(kSourceRoot);
  if (root == folder.npos)
    return false;
  std::string_view above = folder.substr(0, root);
  return !has_domain(folder.substr(root + kSourceRoot.size())) &&
         (above.find("golang.org/toolchain@") != above.npos ||
          (above.substr(above.rfind('/') + 1).starts_with("go") &&
           place_of_version(above) == above.npos));
}

// The import path that a folder ends with, the version of its module included; the folder
// itself if it has no root.
std::string_view below_root(std::string_view folder) {
  if (is_of_release(folder))
    return folder.substr(folder.rfind(kSourceRoot) + kSourceRoot.size());
  constexpr std::string_view kModuleRoot = "/pkg/mod/";
  if (size_t at = folder.find(kModuleRoot); at != folder.npos)
    return folder.substr(at + kModuleRoot.size());
  // Sources may lie in a folder that has the name of a root, and a package may have folders of
  // that name: the import path begins with its domain, or else behind the last root.
  // Behind the version of a module no folder is a root.
  size_t version = place_of_version(folder);
  size_t begin = 0;
  for (size_t at = folder.find(kSourceRoot); at < version && !has_domain(folder.substr(begin));
       at = folder.find(kSourceRoot, begin - 1))
    begin = at + kSourceRoot.size();
  return folder.substr(begin);
}

}  // namespace

// Functions that the compiler makes for a type are named after it: "type:.eq.net/http.header".
std::string package_of(std::string_view name, std::string_view shown, FrameSource source) {
  if (source != FrameSource::kCallFrames && is_mangled_rust(name))
    return std::string(crate_of(shown));
  if (!is_go(source) || name.starts_with(kNativeInGo))
    return {};
  for (std::string_view made : {"type:.eq.", "type:.hash.", "type..eq.", "type..hash."})
    if (name.starts_with(made))
      name.remove_prefix(made.size());
  return unescape(name.substr(0, package_size(name)));
}

// "/usr/lib/go-1.19/src/runtime/asm_amd64.s", "golang.org/x/crypto@v0.1.0/blake2b/asm.s".
std::string package_of_assembly(std::string_view file) {
  size_t slash = file.rfind('/');
  if (!file.ends_with(".s") || slash == file.npos)
    return {};
  std::string_view folder = below_root(file.substr(0, slash));
  // Neither of the roots is in it: then nothing tells where the import path begins.
  if (folder.starts_with('/'))
    return {};
  std::string package(folder.substr(0, folder.find('@')));
  if (size_t version = folder.find('@'); version != folder.npos)
    if (size_t rest = folder.find('/', version); rest != folder.npos)
      package += folder.substr(rest);
  return package;
}

std::string display_name(std::string_view name, FrameSource source, NameForm form) {
  if (form == NameForm::kNone || source == FrameSource::kCallFrames)
    return std::string(name);
  bool is_short = form == NameForm::kShort;
  constexpr std::string_view kStub = "@plt";
  // An index keeps stubs under their names with the ending.
  bool may_be_stub = source == FrameSource::kPlt || source == FrameSource::kGsym;
  if (may_be_stub && name.ends_with(kStub))
    return native_name(name.substr(0, name.size() - kStub.size()), source, is_short) +
           std::string(kStub);
  if (!is_go(source) || name.starts_with(kNativeInGo))
    return native_name(name, source, is_short);
  size_t package = package_size(name);
  std::string_view rest = name.substr(package);
  return unescape(name.substr(0, package)) + (is_short ? shorten(rest) : std::string(rest));
}

std::string_view display_name(std::string_view name, FrameSource source, NameForm form,
                              std::string& room) {
  bool is_same = form == NameForm::kNone ||
                 (is_go(source) && is_shown_as_is(name, form == NameForm::kShort));
  return is_same ? name : room = display_name(name, source, form);
}

}  // namespace gosym
