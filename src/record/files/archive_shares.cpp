#include "record/files/archive_shares.h"

#include <unistd.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "base/text.h"
#include "proc/users.h"

namespace gosym {

namespace {

// Before compression.
constexpr uint64_t kMaxKept = uint64_t{4} << 30;
constexpr uint64_t kMaxOfUser = 512 << 20;

constexpr size_t kMaxSubordinatesFile = 1 << 20;

std::string subordinates_of_host() {
  auto text = read_file("/etc/subuid", kMaxSubordinatesFile);
  return text ? *std::move(text) : std::string();
}

}  // namespace

ArchiveShares::ArchiveShares() : ArchiveShares(subordinates_of_host(), proc::user_named) {}

// "name:100000:65536", or with a number in place of the name.
ArchiveShares::ArchiveShares(std::string_view subordinates, FindUser find_user) {
  while (!subordinates.empty()) {
    std::vector<std::string_view> fields = split(take_line(subordinates), ':');
    if (fields.size() != 3)
      continue;
    auto begin = parse_decimal(fields[1]);
    auto count = parse_decimal(fields[2]);
    auto number = parse_decimal(fields[0]);
    auto user =
        number ? std::optional(static_cast<uid_t>(*number)) : find_user(std::string(fields[0]));
    if (begin && count && user && *begin + *count <= UINT32_MAX && *begin <= UINT32_MAX)
      subordinates_.push_back({static_cast<uid_t>(*begin), static_cast<uid_t>(*count), *user});
  }
}

uid_t ArchiveShares::account_of(uid_t user) const {
  auto is_of = [user](const Subordinates& range) { return user - range.begin < range.count; };
  auto found = std::ranges::find_if(subordinates_, is_of);
  return found == subordinates_.end() ? user : found->user;
}

Result<> ArchiveShares::take(uid_t user, uint64_t size) {
  uid_t account = account_of(user);
  bool is_stranger = account != 0 && account != getuid();
  uint64_t& of_account = sizes_[account];
  if (is_stranger && (size > kMaxOfUser || of_account > kMaxOfUser - size))
    return errorf("with it more than {} of files of user {}", human_size(kMaxOfUser), account);
  if (size > kMaxKept || size_ > kMaxKept - size)
    return errorf("with it more than {} of files", human_size(kMaxKept));
  of_account += size;
  size_ += size;
  return Ok{};
}

}  // namespace gosym
