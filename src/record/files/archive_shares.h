#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gosym {

// Bounds the bytes that files of each user take in a recording: a user who deletes and runs
// file after file fills neither the disk nor the time after a recording. Files of root and our
// own are bounded together only, and `--archive=all` of a host comes nowhere near.
//
// Users that a user may have in his containers (subuid(5)) are he himself.
class ArchiveShares {
public:
  // The text of /etc/subuid, and what gives the number of a user's name; none: no such user.
  using FindUser = std::optional<uid_t> (*)(const std::string& name);
  explicit ArchiveShares(std::string_view subordinates, FindUser find_user);
  // Uses /etc/subuid and the users of this host.
  ArchiveShares();

  // Fails if there is no room for so many bytes of a file of this user.
  Result<> take(uid_t user, uint64_t size);

private:
  struct Subordinates {
    uid_t begin;
    uid_t count;
    uid_t user;
  };
  uid_t account_of(uid_t user) const;

  std::vector<Subordinates> subordinates_;
  std::map<uid_t, uint64_t> sizes_;  // bytes that are kept, by user
  uint64_t size_ = 0;                // bytes that are kept of all users together
};

}  // namespace gosym
