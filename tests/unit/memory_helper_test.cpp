#include "record/memory_helper.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>

#include "base/exit_status.h"
#include "base/mapped_file.h"
#include "confine/channel.h"

namespace gosym::memory_helper_test {

namespace {

uint64_t address_of(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

}  // namespace

TEST_CASE("memory helper: gives what is there, and says of which pieces nothing is") {
  MemoryHelper helper(MemoryHelper::kPatienceOfCommand);
  std::vector<uint32_t> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  // More pieces than one system call reads, one in seven of them nowhere.
  constexpr size_t kCount = 3000;
  std::vector<uint32_t> copies(kCount, UINT32_MAX);
  std::vector<proc::MemoryPiece> pieces;
  for (size_t i = 0; i < kCount; i++)
    pieces.push_back({i % 7 == 0 ? 8 : address_of(&numbers[i]),
                      std::as_writable_bytes(std::span(&copies[i], 1))});
  std::vector<uint32_t> all(numbers.size());
  pieces.push_back({address_of(numbers.data()), std::as_writable_bytes(std::span(all))});
  pieces.push_back({address_of(numbers.data()), {}});
  REQUIRE(helper.read(static_cast<uint32_t>(getpid()), pieces));
  for (size_t i = 0; i < kCount; i++) {
    CHECK(pieces[i].is_read == (i % 7 != 0));
    CHECK(copies[i] == (i % 7 != 0 ? i : UINT32_MAX));
  }
  CHECK(all == numbers);
  CHECK(pieces.back().is_read);
}

TEST_CASE("memory helper: a piece beyond its room stays unread, those around it do not") {
  MemoryHelper helper(MemoryHelper::kPatienceOfCommand);
  std::vector<std::byte> much(20 << 20);
  std::vector<std::byte> too_much(40 << 20);
  uint64_t word = 7;
  uint64_t copy = 0;
  proc::MemoryPiece pieces[] = {
      {address_of(much.data()), much},  // two of these do not fit together
      {address_of(much.data()), much},
      {address_of(too_much.data()), too_much},
      {address_of(&word), std::as_writable_bytes(std::span(&copy, 1))}};
  REQUIRE(helper.read(static_cast<uint32_t>(getpid()), pieces));
  CHECK(pieces[0].is_read);
  CHECK(pieces[1].is_read);
  CHECK_FALSE(pieces[2].is_read);
  CHECK(pieces[3].is_read);
  CHECK(copy == 7);
}

TEST_CASE("memory helper: says that a process has ended, and reads others afterwards") {
  MemoryHelper helper(MemoryHelper::kPatienceOfCommand);
  int pid = fork();
  if (pid == 0)
    _exit(0);
  REQUIRE(waitpid(pid, nullptr, 0) == pid);
  uint64_t word = 7;
  uint64_t copy = 0;
  proc::MemoryPiece piece = {address_of(&word), std::as_writable_bytes(std::span(&copy, 1))};
  auto gone = helper.read(static_cast<uint32_t>(pid), {&piece, 1});
  REQUIRE_FALSE(gone);
  CHECK(gone.error().exit_status() == kNoTarget);
  REQUIRE(helper.read(static_cast<uint32_t>(getpid()), {&piece, 1}));
  CHECK(copy == 7);
  CHECK(helper.hung_count() == 0);
}

TEST_CASE("memory helper: those that were ended do not stay in the table of processes") {
  auto count_children = [] {
    auto text = read_file("/proc/thread-self/children", 1 << 16);
    REQUIRE(text);
    return std::ranges::count(*text, ' ');
  };
  auto before = count_children();
  for (int i = 0; i < 5; i++) {
    MemoryHelper helper(MemoryHelper::kPatienceOfCommand);
    uint64_t word = 7;
    uint64_t copy = 0;
    proc::MemoryPiece piece = {address_of(&word), std::as_writable_bytes(std::span(&copy, 1))};
    REQUIRE(helper.read(static_cast<uint32_t>(getpid()), {&piece, 1}));
  }
  // The last one may not have ended yet, and those of other tests have.
  CHECK(count_children() <= before + 1);
}

TEST_CASE("memory helper: reads nothing once the time of a recording is over") {
  MemoryHelper helper(MemoryHelper::kPatienceOfRecording);
  helper.hurry(0);
  auto done = helper.read(static_cast<uint32_t>(getpid()), {});
  CHECK(done);
  proc::MemoryPiece piece;
  CHECK_FALSE(helper.read(static_cast<uint32_t>(getpid()), {&piece, 1}));
}

TEST_CASE("memory helper: who asks for what cannot be gets an answer, and no more") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  // The most questions that the number can tell, of any size, about a process that does not
  // exist.
  constexpr size_t kSize = 64 << 20;
  UniqueFd file(memfd_create("arena", MFD_CLOEXEC));
  REQUIRE(ftruncate(file.get(), kSize) == 0);
  std::vector<char> ones(1 << 20, '\xff');
  REQUIRE(pwrite(file.get(), ones.data(), ones.size(), 0) == static_cast<ssize_t>(ones.size()));
  int child = fork();
  if (child == 0) {
    ours = UniqueFd();
    MemoryHelper::serve(theirs.get());
    _exit(0);
  }
  theirs = UniqueFd();
  char signal = 0;
  REQUIRE(send_message(ours.get(), signal, sizeof(signal), file.get()));
  for (int i = 0; i < 2; i++) {
    CHECK(send(ours.get(), &signal, sizeof(signal), MSG_NOSIGNAL) == sizeof(signal));
    CHECK(recv(ours.get(), &signal, sizeof(signal), 0) == sizeof(signal));
  }
  ours = UniqueFd();
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace gosym::memory_helper_test
