#include "base/result.h"

#include <cstring>

namespace gosym {

Error system_error(std::string_view what, int cause) {
  return errorf("{}: {}", what, std::strerror(cause));
}

}  // namespace gosym
