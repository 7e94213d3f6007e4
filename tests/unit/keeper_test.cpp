#include "record/keeper.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "record/bpf/ring.h"
#include "record/target.h"

namespace gosym::keeper_test {

TEST_CASE("keeper: signals the command alone, by what asks for its end") {
  auto command = HeldCommand::start({"sleep", "100"});
  REQUIRE(command);
  REQUIRE(command->release());
  Keeper keeper;
  REQUIRE(keeper.start(command->end_fd()));
  keeper.signal_command(SIGKILL);
  keeper.signal_command(0);
  keeper.signal_command(SIGTERM);
  CHECK(command->wait() == 128 + SIGTERM);
}

perf_event_attr dummy(bool is_of_thread) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.inherit = is_of_thread;
  return attr;
}

TEST_CASE("keeper: opens what it was told of, and nothing else") {
  auto command = HeldCommand::start({"sleep", "100"});
  REQUIRE(command);
  REQUIRE(command->release());
  Keeper keeper;
  keeper.keep_event(dummy(false));
  keeper.keep_event(dummy(true));
  REQUIRE(keeper.start(command->end_fd()));
  perf_event_attr other = dummy(false);
  other.config = PERF_COUNT_SW_CPU_CLOCK;
  auto is_refused = [&](const perf_event_attr& attr, pid_t thread) {
    errno = 0;
    return !keeper.open_event(attr, 0, thread) && errno == EINVAL;
  };
  CHECK(is_refused(other, kAnyThread));
  CHECK(is_refused(dummy(false), getpid()));
  CHECK(is_refused(dummy(true), kAnyThread));
  CHECK(is_refused(dummy(true), 0));
  CHECK_FALSE(is_refused(dummy(true), getpid()));
  // A map that it knows nothing of.
  keeper.put(nullptr, uint32_t{1}, uint64_t{2}, 0);
  CHECK(keeper.entries<uint32_t, uint64_t>(nullptr).empty());
  CHECK_FALSE(keeper.make_ring(0));
  command->signal_by(keeper);
  command->send(SIGTERM);
  CHECK(command->wait() == 128 + SIGTERM);
}

TEST_CASE("keeper: without anything to do there is none") {
  Keeper keeper;
  REQUIRE(keeper.start(-1));
  CHECK_FALSE(keeper.is_started());
}

constexpr uint32_t kRingSize = 4096;

// The pages that the kernel maps of a ring, in a file: where it was read and written up to, and
// the records.
class RingFile {
public:
  RingFile() {
    REQUIRE(ftruncate(file_.get(), static_cast<off_t>(2 * page_ + 2 * kRingSize)) == 0);
    all_ = MappedPart(file_.get(), 2 * page_ + 2 * kRingSize, PROT_READ | PROT_WRITE);
    REQUIRE(all_);
  }
  void add(std::string_view text, uint32_t flags = 0) {
    std::byte* record = all_.get() + 2 * page_ + written() % kRingSize;
    uint32_t header[2] = {static_cast<uint32_t>(text.size()) | flags, 0};
    std::memcpy(record, header, sizeof(header));
    std::memcpy(record + sizeof(header), text.data(), text.size());
    written() += (sizeof(header) + text.size() + 7) / 8 * 8;
  }
  uint64_t& read() { return *reinterpret_cast<uint64_t*>(all_.get()); }
  uint64_t& written() { return *reinterpret_cast<uint64_t*>(all_.get() + page_); }
  BpfRing ring() const { return *BpfRing::map(UniqueFd(dup(file_.get())), kRingSize); }

private:
  size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  UniqueFd file_{memfd_create("ring", MFD_CLOEXEC)};
  MappedPart all_;
};

std::vector<std::string> texts_in(BpfRing& ring) {
  std::vector<std::string> texts;
  ring.consume([&](Bytes record) { texts.emplace_back(as_text(record)); });
  return texts;
}

TEST_CASE("ring: records are handed over in order, but those that were discarded") {
  RingFile file;
  BpfRing ring = file.ring();
  CHECK(texts_in(ring).empty());
  file.add("one");
  file.add("gone", uint32_t{1} << 30);
  file.add("two, of more than a word");
  CHECK(texts_in(ring) == std::vector<std::string>{"one", "two, of more than a word"});
  CHECK(file.read() == file.written());
  CHECK(texts_in(ring).empty());
}

TEST_CASE("ring: a record that is being written ends the reading") {
  RingFile file;
  BpfRing ring = file.ring();
  file.add("one");
  file.add("busy", uint32_t{1} << 31);
  file.add("two");
  CHECK(texts_in(ring) == std::vector<std::string>{"one"});
  CHECK(file.read() == 16);
}

TEST_CASE("ring: the records of a moment, and none that is longer than the ring") {
  RingFile file;
  BpfRing ring = file.ring();
  file.add("one");
  std::vector<std::string> texts;
  ring.consume([&](Bytes record) {
    texts.emplace_back(as_text(record));
    file.add("more");
  });
  CHECK(texts == std::vector<std::string>{"one"});
  CHECK(texts_in(ring) == std::vector<std::string>{"more"});
  file.add("", kRingSize + 8);
  CHECK(texts_in(ring).empty());
}

}  // namespace gosym::keeper_test
