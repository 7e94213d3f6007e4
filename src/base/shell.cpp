#include "base/shell.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace gosym {

namespace {

bool is_for_shell(char c) {
  constexpr std::string_view kSafe = "%+,-./:=@_";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kSafe.find(c) != kSafe.npos;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_for_shell))
    return std::string(text);
  bool is_shown = is_printable(text);
  std::string result = is_shown ? "'" : "$'";
  for (char c : text) {
    if (c == '\'')
      result += is_shown ? "'\\''" : "\\'";
    else if (c == '\\' && !is_shown)
      result += "\\\\";
    else
      result += c;
  }
  return is_shown ? result + '\'' : printable(result) + '\'';
}

std::string as_operand(std::string_view path) {
  return (path.starts_with('-') ? "./" : "") + std::string(path);
}

int exit_status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace gosym
