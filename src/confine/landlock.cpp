#include "confine/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

namespace gosym {

namespace {

// Headers are older than the kernels that we run on, so these are ours: numbers of system calls
// are the same on all machines.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr uint32_t kTellVersion = 1;  // a flag of the first: tell it

// struct landlock_ruleset_attr. A kernel that knows fewer fields takes them if they are 0.
struct Refused {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

// Each version's numbers of bits that it knows, from bit 0 on.
constexpr struct {
  int files;
  int network;
  int scoped;
} kKnown[] = {{13, 0, 0}, {14, 0, 0}, {15, 0, 0}, {15, 2, 0}, {16, 2, 0}, {16, 2, 2}};

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kToReadFile = 1 << 2;
constexpr uint64_t kToRead = kToReadFile | 1 << 3;  // and directories
constexpr uint64_t kScopedSignals = 1 << 1;         // of `scoped`
// Rights that a rule for a file, and not for a directory, may have: to execute, write (bit 1),
// read, cut (14) and control (15, of devices) it.
constexpr uint64_t kOfFiles = kExecute | 1 << 1 | kToReadFile | 1 << 14 | 1 << 15;

// struct landlock_path_beneath_attr.
struct [[gnu::packed]] Below {
  uint64_t allowed;
  int32_t directory;
};

// Without rules, as where the kernel has made none, the call fails, and nothing is changed.
void allow(const UniqueFd& rules, const std::string& path, uint64_t allowed) {
  // O_PATH needs no right to read the file.
  UniqueFd found(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!found || fstat(found.get(), &status) != 0)
    return;
  Below rule{S_ISDIR(status.st_mode) ? allowed : allowed & kOfFiles, found.get()};
  constexpr int kPathBeneath = 1;
  syscall(kAddRule, rules.get(), kPathBeneath, &rule, 0);
}

constexpr uint64_t first_bits(int count) {
  return (uint64_t{1} << count) - 1;
}

}  // namespace

int landlock_version() {
  return static_cast<int>(std::max(0L, syscall(kCreateRuleset, nullptr, 0, kTellVersion)));
}

PathRules::PathRules(const ReachablePaths* paths, bool is_to_read, bool may_signal) {
  // A kernel knows the rights of its version, and refuses a set with others.
  int version = std::min(landlock_version(), static_cast<int>(std::size(kKnown)));
  if (!paths || version == 0)
    return;
  const auto& known = kKnown[version - 1];
  // One who is given paths may have to connect, as a fetcher: the network is refused here to
  // those alone that are given none, and to most others by their filter of calls.
  bool is_alone = paths->read.empty() && paths->written.empty() && !is_to_read;
  Refused refused{
      first_bits(known.files) & (is_to_read ? ~kToRead : UINT64_MAX),
      is_alone ? first_bits(known.network) : 0,
      is_alone ? first_bits(known.scoped) & (may_signal ? ~kScopedSignals : UINT64_MAX) : 0};
  rules_ = UniqueFd(static_cast<int>(syscall(kCreateRuleset, &refused, sizeof(refused), 0)));
  for (const std::string& path : paths->read)
    // A rule may not give a right that the set does not refuse.
    allow(rules_, path, kToRead & refused.files);
  for (const std::string& path : paths->executed)
    allow(rules_, path, kExecute | (kToReadFile & refused.files));
  for (const std::string& path : paths->written)
    allow(rules_, path, refused.files & ~kExecute);
}

void PathRules::apply() const {
  if (rules_)
    syscall(kRestrictSelf, rules_.get(), 0);
}

}  // namespace gosym
