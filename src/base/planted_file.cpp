#include "base/planted_file.h"

#include <unistd.h>

#include <filesystem>

namespace gosym {

bool is_planted(const std::string& path, const struct stat& status) {
  std::string directory = std::filesystem::path(path).parent_path();
  struct stat parent {};
  bool is_shared = stat(directory.empty() ? "." : directory.c_str(), &parent) == 0 &&
                   (parent.st_mode & S_IWOTH) != 0;
  return is_shared && status.st_uid != geteuid() && status.st_uid != getuid();
}

Error planted_error(const std::string& path, const struct stat& status) {
  return errorf("'{}' belongs to user {}, in a directory where everybody may write", path,
                status.st_uid)
      .with_hint("name another file");
}

}  // namespace gosym
