#include "view/same_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace gosym {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Behind the text in brackets that begins at `open`; npos if they do not end.
size_t end_of_brackets(std::string_view name, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < name.size(); i++) {
    depth += name[i] == '[' ? 1 : 0;
    depth -= name[i] == ']' ? 1 : 0;
    if (depth == 0)
      return i + 1;
  }
  return name.npos;
}

// A name of Go has type arguments behind a name, not as its first letter: "[kernel]" has none.
std::string without_type_arguments(std::string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size(); i++) {
    if (name[i] != '[' || i == 0) {
      text += name[i];
      continue;
    }
    size_t end = end_of_brackets(name, i);
    if (end == name.npos)  // what follows is no list of types: it is not looked through again
      return text.append(name.substr(i));
    text += "[*]";
    i = end - 1;
  }
  return text;
}

bool is_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, is_digit);
}

// Words that compilers put into names of clones of a function, after a dot; a number may follow
// after another dot.
bool is_clone(std::string_view part) {
  for (std::string_view word : {"constprop", "isra", "part", "cold", "lto_priv", "llvm"})
    if (part == word)
      return true;
  return false;
}

// "func2", "gowrap1": what Go calls functions that have no name.
bool is_closure(std::string_view part) {
  for (std::string_view word : {"func", "gowrap", "deferwrap"})
    if (part.starts_with(word) && is_number(part.substr(word.size())))
      return true;
  return false;
}

bool is_rust_hash(std::string_view part) {
  constexpr size_t kLength = 17;
  return part.size() == kLength && part[0] == 'h' &&
         std::all_of(part.begin() + 1, part.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// The end of the directories of an import path, which is where its last part begins. A slash
// behind a bracket belongs to a type argument.
size_t directories_end(std::string_view name) {
  size_t end = std::min(name.find('['), name.find('('));
  size_t slash = name.substr(0, end).rfind('/');
  return slash == name.npos ? 0 : slash + 1;
}

}  // namespace

std::string name_across_builds(std::string_view name) {
  // The address in the name of code without one is another in each build.
  if (size_t place = name.find("!fun_"); place != name.npos)
    return std::string(name.substr(0, place)) + "!fun_*";
  if (size_t colons = name.rfind("::");
      colons != name.npos && is_rust_hash(name.substr(colons + 2)))
    return std::string(name.substr(0, colons));
  std::string text = without_type_arguments(name);
  // Names are cut from the end, part by part, as compilers append to them.
  bool has_closure = false;
  for (size_t dot = text.rfind('.'); dot != text.npos && dot > 0; dot = text.rfind('.')) {
    // A number belongs to a clone's word before it, "isra.3", or is the number of a closure,
    // "func2.1".
    std::string_view part = std::string_view(text).substr(dot + 1);
    size_t before = text.rfind('.', dot - 1);
    if (is_number(part) && before != text.npos && before > 0 &&
        is_clone(std::string_view(text).substr(before + 1, dot - before - 1)))
      dot = before;
    else if (is_number(part) || is_closure(part))
      has_closure = true;
    else if (!is_clone(part))
      break;
    text.erase(dot);
  }
  return has_closure ? text + ".*" : text;
}

std::string name_without_directories(std::string_view name) {
  return std::string(name.substr(directories_end(name)));
}

std::string name_without_package(std::string_view name) {
  size_t begin = directories_end(name);
  size_t dot = name.find('.', begin);
  if (begin == 0 || dot == name.npos)
    return std::string(name);
  // " (" begins the file or source that RowNames adds to tell namesakes apart.
  // The init functions of packages are different code, whatever their names share.
  std::string_view rest = name.substr(dot);
  bool is_init = rest == ".init" || rest.starts_with(".init.") || rest.starts_with(".init (");
  return is_init ? std::string(name) : fmt::format("{}*{}", name.substr(0, begin), rest);
}

}  // namespace gosym
