#include "record/files/found_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file_tree.h"

namespace gosym {

UniqueFd find_root_of(uint32_t pid) {
  return UniqueFd(
      open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

UniqueFd find_in(const UniqueFd& directory, const std::string& name) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV;
  return UniqueFd(
      static_cast<int>(syscall(SYS_openat2, directory.get(), name.c_str(), &how, sizeof(how))));
}

Result<UniqueFd> open_found(const UniqueFd& found) {
  auto file = reopen(found);
  if (!file)
    return std::move(file).error().context("cannot be opened");
  return file;
}

}  // namespace gosym
